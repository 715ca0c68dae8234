"""The protocol cores under loss, delays and crashes, and the proof that we would notice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.simulation.mutants import MUTANTS, caught_at
from tests.simulation.runs import NEVER_ZERO, run_seed

SEEDS = 1000
CAUGHT_WITHIN = 400
"""Seeds; the slowest variant needs about half of them (`python -m tests.simulation --mutants`)."""


@pytest.mark.slow
def test_every_invariant_holds_at_every_event_of_a_thousand_seeds() -> None:
    total: Counter[str] = Counter()
    for seed in range(SEEDS):
        _, counts, violation = run_seed(seed)
        assert not violation, (
            f"{violation}\nreplay: python -m tests.simulation --seed {seed} --trace"
        )
        total += counts
    assert [name for name in NEVER_ZERO if not total[name]] == []
    assert total["done_shift_link"] > SEEDS
    assert total["delivered"] > 100 * SEEDS


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


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_broken_variant_is_caught(name: str) -> None:
    seed, how = caught_at(MUTANTS[name], CAUGHT_WITHIN)
    assert seed is not None, f"{name}: {how}"
