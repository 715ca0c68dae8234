"""Playing one life, and what must have happened at least once in many of them."""

from __future__ import annotations

from collections import Counter

from tests.lives.audit import Violation
from tests.lives.world import World

NEVER_ZERO = (
    *("admitted", "agent_crashes", "broker_crashes", "buried", "clock_jumps", "control_crashes"),
    *("cut_links", "delivered", "done_append_broker", "done_detach_broker", "done_set_flow_rate"),
    *("done_set_population", "done_shift_link", "evicted", "failed_syncs", "fenced", "freezes"),
    *("full_disks", "lost_in_network", "oversize", "partitions", "power_failures", "published"),
    *("repeated_in_network", "retried", "rolled_back", "slow_disks", "strange_orders"),
    *("lost_directories", "restored_directories", "twins", "lost_broker_data"),
    *("control_clock_jumps", "answered_ready", "answered_released", "answered_switched"),
    *("away", "blocked", "carried_over", "command_pause", "command_resume", "command_roll_back"),
    *("command_stop", "destroyed", "done_remove_broker", "excused", "execution_fail"),
    "execution_succeed",
)
"""What never happened in all those lives has tested nothing."""


def run_seed(
    seed: int, world: World | None = None, *, kinds: tuple[str, ...] = ()
) -> tuple[int, Counter[str], str]:
    """(seed, what happened, the violation or nothing); `kinds`: other faults than usual."""
    if world is None:
        chosen = type("Chosen", (World,), {"kinds": kinds}) if kinds else World
        world = chosen(seed)
    try:
        return seed, world.run(), ""
    except Violation as violation:
        return seed, world.counts, str(violation)


def flaw_seen(world: type[World], seed: int) -> str:
    """What the audit says of one life in such a world; empty when it sees nothing."""
    return run_seed(seed, world(seed))[2].partition(": ")[2]


def caught_at(world: type[World], seeds: int) -> tuple[int | None, str]:
    """(the first seed that catches this variant, what the audit said); None when none does."""
    for seed in range(seeds):
        if flaw := flaw_seen(world, seed):
            return seed, flaw
    return None, f"not caught by {seeds} seeds"
