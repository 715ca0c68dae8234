"""Lives of production agents on simulated ports: every invariant, the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.lives.faults import KINDS
from tests.lives.mutants import MUTANTS
from tests.lives.runs import NEVER_ZERO, flaw_seen, run_seed
from tests.lives.world import World
from weir.coordination.termination import DOUBT_S

LIVES = (*range(100), 116)
"""Seeds; in 116 an action is buried, as in one of sixty. `make thorough` plays 100,000."""
ALL = ",".join(KINDS[:19])
"""The kinds of faults that there were then."""
MENDED = (
    ("erased", 1),  # what an empty disk lost was made again by no agent that lived
    ("erased", 2),
    ("erased", 3),
    ("erased", 6),  # interest was never told again to a broker that had forgotten it
    ("lost", 8),  # an outbox for a link that a forgotten attempt had begun stayed for ever
    ("lost", 48),  # the audit looked at an agent that did not know its links yet
    ("twin", 12),  # a restart by forgotten tables took a neighbour's outbox with all in it
    ("twin", 13),  # tables of a directory that others had acted after were believed
    (ALL, 1870),  # after a lost disk, what was on its way to former consumers held up a link
    (ALL, 3985),  # a switch was remembered whose tables were doubted: its order changed nothing
    (ALL, 4850),  # a document of before a switch took the link away that it had made
    (ALL, 2633),  # the model's driver settled nothing more once a lost disk had not known it
    (ALL, 2797),  # the audit wanted of a consumer what had gone past before he was let in
)
"""(fault, seed) of lives that once violated an invariant."""


@pytest.mark.slow
def test_every_invariant_holds_in_every_life() -> None:
    total: Counter[str] = Counter()
    for seed in LIVES:
        _, counts, violation = run_seed(seed)
        assert not violation, f"{violation}\nreplay: python -m tests.lives --seed {seed} --trace"
        total += counts
    assert total["done_shift_link"] > len(LIVES)
    assert total["delivered"] > 50 * len(LIVES)
    assert [name for name in NEVER_ZERO if not total[name]] == []


@pytest.mark.parametrize(("fault", "seed"), MENDED)
def test_what_was_mended_stays_mended(fault: str, seed: int) -> None:
    kinds = tuple(fault.split(","))
    # Nobody asked his peers sooner than in production then.
    then = type("Then", (World,), {"kinds": kinds, "doubts_s": (DOUBT_S,)})
    assert not flaw_seen(then, seed)


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


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_broken_variant_is_caught(name: str) -> None:
    seed = MUTANTS[name].caught_by
    flaw = flaw_seen(MUTANTS[name], seed)
    assert flaw, f"seed {seed} sees nothing; one that does: python -m tests.lives --mutants"
    assert "Error:" not in flaw, "a variant that does not even run proves nothing"
