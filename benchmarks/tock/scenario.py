"""The slides' first scenario, some 100,000 topics and 1,000 subscribers, mapped once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.plain_clustering import cost_of
from benchmarks.statements import Statement
from benchmarks.tock.algorithms import GF, WEIR
from benchmarks.tock.settings import mapped
from weir.clustering import groups_first, joint
from weir.clustering.cost import random_cost
from weir.clustering.loads import fan_out, large_load

if TYPE_CHECKING:
    from benchmarks.tock.settings import Effort

STREAMS, GROUPS = 1000, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What two methods make of it."""

    topics: int
    users: int
    of_user: int
    fan_out: float
    shares: dict[str, float]
    """Cost in that of random, by method."""
    seconds: dict[str, float]


def scenario(effort: Effort) -> Scenario:
    """Return the figures of one load of that size."""
    topics, users, of_user = effort.scenario
    problem = large_load(1, topics, users, of_user, max_streams=STREAMS, max_groups=GROUPS)
    chance = random_cost(problem)
    shares, seconds = {}, {}
    for name, method in ((GF, groups_first), (WEIR, joint)):
        began = time.process_time()
        flow_map = mapped(method, problem, 1)
        seconds[name] = time.process_time() - began
        shares[name] = cost_of(problem, flow_map) / chance
    return Scenario(
        topics=topics,
        users=users,
        of_user=of_user,
        fan_out=fan_out(problem),
        shares=shares,
        seconds=seconds,
    )


def statements(measured: Scenario) -> list[Statement]:
    """Return the slides' scenario beside what two methods make of it."""
    return [
        Statement(
            key="scenario",
            paper="~100K topics, ~1K subscribers; a limited number of groups and streams.",
            measured=f"{measured.topics:,} topics, {measured.users:,} users, {measured.of_user} "
            f"topics a user, fan-out {measured.fan_out:.1f}; {STREAMS:,} streams, {GROUPS} groups: "
            + ", ".join(
                f"{name} {share:.2f} of random in {measured.seconds[name]:.1f} CPU s"
                for name, share in measured.shares.items()
            )
            + ". The slides give no result for it",
            holds=None,
        )
    ]
