"""Playing one life."""

from __future__ import annotations

from collections import Counter

from tests.lives.world import World
from tests.simulation.audit import Violation

NEVER_ZERO = (
    *("admitted", "agent_crashes", "broker_crashes", "buried", "clock_jumps", "control_crashes"),
    *("cut_links", "delivered", "done_append_broker", "done_detach_broker", "done_set_flow_rate"),
    *("done_set_population", "done_shift_link", "evicted", "failed_syncs", "fenced", "freezes"),
    *("full_disks", "lost_in_network", "oversize", "partitions", "power_failures", "published"),
    *("repeated_in_network", "retried", "rolled_back", "slow_disks", "strange_orders"),
    *("lost_directories", "restored_directories", "twins", "lost_broker_data"),
    "control_clock_jumps",
)
"""A fault that never happened in all those lives has tested nothing."""


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
