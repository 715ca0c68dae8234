"""Lives of production agents on simulated ports: every invariant, the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.lives.runs import run_seed

SEEDS = 100


@pytest.mark.slow
def test_every_invariant_holds_in_every_life() -> None:
    total: Counter[str] = Counter()
    for seed in range(SEEDS):
        _, counts, violation = run_seed(seed)
        assert not violation, f"{violation}\nreplay: python -m tests.lives --seed {seed} --trace"
        total += counts
    assert total["done_shift_link"] > SEEDS
    assert total["delivered"] > 100 * SEEDS


def test_a_seed_plays_the_same_in_every_process() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-m", "tests.lives", "--seed", "11", "--trace"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(told[0].splitlines()) > 30
