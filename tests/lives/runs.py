"""Playing one life."""

from __future__ import annotations

from collections import Counter

from tests.lives.world import World
from tests.simulation.audit import Violation


def run_seed(seed: int, world: World | None = None) -> tuple[int, Counter[str], str]:
    """(seed, what happened, the violation or nothing)."""
    world = world or World(seed)
    try:
        return seed, world.run(), ""
    except Violation as violation:
        return seed, world.counts, str(violation)
