"""Playing one seed, and what must have happened at least once in many of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.simulation.audit import Violation
from tests.simulation.world import World

NEVER_ZERO = (
    "admitted",
    "agent_crashes",
    "answered_ready",
    "answered_released",
    "answered_switched",
    "asked",
    "blocked",
    "away",
    "broker_crashes",
    "buried",
    "carried_over",
    "command_pause",
    "command_resume",
    "command_roll_back",
    "command_stop",
    "control_crashes",
    "deduplicated",
    "delivered",
    "destroyed",
    "done_append_broker",
    "done_detach_broker",
    "done_remove_broker",
    "done_set_flow_rate",
    "done_set_population",
    "done_shift_link",
    "evicted",
    "execution_fail",
    "execution_succeed",
    "fenced",
    "ghost_writes",
    "lost_in_network",
    "lost_with_the_gone",
    "partitions",
    "pauses",
    "published",
    "repeated_in_network",
    "retried",
    "rolled_back",
)
"""A check that never had anything to check proves nothing."""


def run_seed(seed: int, world: World | None = None) -> tuple[int, Counter[str], str]:
    """(seed, what happened, the violation or nothing)."""
    world = world or World(seed)
    try:
        return seed, world.run(), ""
    except Violation as violation:
        return seed, world.counts, str(violation)


def flaw_seen(world: Callable[[int], Any], seed: int) -> str:
    """What the audit says of one run, of `world` for this seed; empty when it sees nothing."""
    try:
        world(seed).run()
    except Violation as violation:
        return str(violation).partition(": ")[2]
    return ""


def caught_at(world: Callable[[int], Any], seeds: int) -> tuple[int | None, str]:
    """(the first seed that catches this variant, what the audit said); None when none does."""
    for seed in range(seeds):
        if flaw := flaw_seen(world, seed):
            return seed, flaw
    return None, f"not caught by {seeds} seeds"
