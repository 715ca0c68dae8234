"""The slides' prototype under wild cards: copies that a transmitter sends, drops at receivers.

Its throughput is a measurement of a product. What a transmitter that is the bottleneck sends for a
message follows from the subscriptions alone, and 1/n is one over that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.statements import Statement
from benchmarks.tock.settings import mapped, span
from weir.clustering import joint
from weir.clustering.cost import filtering_cost
from weir.clustering.loads import wildcard_load
from weir.model.mapping import Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.tock.settings import Effort

TOPICS_PER_USER, USERS = 7.0, 10
BREADTHS = (3, 4, 6)
"""Names a level: how large the hierarchy is, the slides do not say."""
STREAMS = ((20, 5), (50, 20))
RATE_PER_S = 100.0
"""Of each topic (`wildcard_load`)."""
APPROXIMATELY = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """What is sent and dropped in one wild-card load."""

    breadth: int
    streams: int
    groups: int
    seed: int
    users: int
    topics_per_user: float
    unicast: float
    """Messages a second that are sent one by one to each user."""
    by_subscription: float
    """The same with a multicast stream for each different subscription."""
    mapped: float
    """The same with a map: each message once."""
    dropped: float
    """Messages that users drop for each one that they want."""


def copies(effort: Effort) -> list[Copies]:
    """Return a row for each hierarchy, size, seed and number of users."""
    rows = []
    for breadth in BREADTHS:
        for streams, groups in STREAMS:
            for seed in effort.seeds:
                for users in effort.wildcard_users:
                    rows.append(_copies(breadth, streams, groups, seed, users))
    return rows


def _copies(breadth: int, streams: int, groups: int, seed: int, users: int) -> Copies:
    problem = wildcard_load(
        seed,
        users,
        TOPICS_PER_USER,
        breadth=breadth,
        max_streams=streams,
        max_groups=groups,
        # Both layers drop messages here, so that the cost is how many.
        weights=Weights(transport=1.0, messaging=1.0, aggregation=1.0),
    )
    audiences, rates = problem.interests.audiences, problem.rates_per_s
    flow_map = mapped(joint, problem, seed)
    starts, flows = problem.interests.by_user
    streams_of = {
        name: float(rates[flows[low:high]].sum())
        for name, low, high in zip(problem.users, starts[:-1], starts[1:], strict=True)
    }
    delivered = float(rates @ audiences)
    cost = filtering_cost(problem, flow_map.stream_of, flow_map.group_of).total
    return Copies(
        breadth=breadth,
        streams=streams,
        groups=groups,
        seed=seed,
        users=users,
        topics_per_user=float(np.diff(starts).mean()),
        unicast=delivered,
        by_subscription=sum(streams_of.values()),
        mapped=float(rates[audiences > 0].sum()),
        dropped=cost / delivered,
    )


def statements(rows: Sequence[Copies]) -> list[Statement]:
    """Return what the slides say of wild cards beside ours."""
    ten = [row for row in rows if row.users == USERS]
    most = max(row.users for row in rows)
    many = [row for row in rows if row.users >= USERS // 2]
    # One user alone may want more topics than another.
    unicast = [row.unicast / row.users / (RATE_PER_S * TOPICS_PER_USER) for row in many]
    duplicated = [row.unicast / row.by_subscription for row in rows]
    fewer = [row.mapped / row.unicast for row in rows if row.users == most]
    return [
        Statement(
            key="topics",
            paper="~7 topics/user @ 10 users.",
            measured=f"{span([row.topics_per_user for row in ten], 1)} at {USERS} users: the mean "
            "over all subscriptions is taken",
            holds=all(abs(row.topics_per_user - TOPICS_PER_USER) <= 1.0 for row in ten),
        ),
        Statement(
            key="unicast",
            paper="Unicast approx. 1/n.",
            measured=f"copies that are sent: {span(unicast)} of n times those of a user with 7 "
            f"topics, {USERS // 2} to {most} users",
            holds=all(abs(each - 1.0) <= APPROXIMATELY for each in unicast),
        ),
        Statement(
            key="duplication",
            paper="A multicast stream per unique subscription causes data duplication; performance "
            "degradation is almost like unicast.",
            measured=f"as many copies as by unicast: {span(duplicated)}; no two users have the "
            "same subscription",
            holds=all(abs(each - 1.0) <= APPROXIMATELY for each in duplicated),
        ),
        Statement(
            key="scalable",
            paper="Multicast mapping is scalable, and applicable.",
            measured=f"{span(fewer)} of unicast's copies at {most} users; for each message that "
            f"it wants a user drops {span([row.dropped for row in ten])} at {USERS} users, "
            f"{span([row.dropped for row in rows if row.users == most])} at {most}. Their curve "
            "of throughput is not in the text",
            holds=None,
        ),
    ]
