"""The protocol cores under loss, delays and crashes, and the proof that we would notice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.simulation.mutants import MUTANTS
from tests.simulation.runs import NEVER_ZERO, flaw_seen, run_seed

RUNS = 100
"""`make thorough` plays 100,000."""


@pytest.mark.slow
def test_every_invariant_holds_at_every_event_of_every_run() -> None:
    total: Counter[str] = Counter()
    for seed in range(RUNS):
        _, counts, violation = run_seed(seed)
        assert not violation, (
            f"{violation}\nreplay: python -m tests.simulation --seed {seed} --trace"
        )
        total += counts
    assert [name for name in NEVER_ZERO if not total[name]] == []
    assert total["done_shift_link"] > RUNS
    assert total["delivered"] > 100 * RUNS


def test_a_seed_plays_the_same_in_every_process() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-m", "tests.simulation", "--seed", "17", "--trace"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(told[0].splitlines()) > 30


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_broken_variant_is_caught(name: str) -> None:
    seed = MUTANTS[name].caught_by
    flaw = flaw_seen(MUTANTS[name], seed)
    assert flaw, f"seed {seed} sees nothing; one that does: python -m tests.simulation --mutants"
    assert "Error:" not in flaw, "a variant that does not even run proves nothing"
