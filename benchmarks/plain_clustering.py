"""The slides' groups first (GF) as a straightforward numpy version, to measure others against.

It draws the same random numbers as `weir.clustering.groups_first`, so that both give the same map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.model.mapping import NOWHERE, FlowMap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.model.mapping import MappingProblem

MAX_EPOCHS = 100


def groups_first(problem: MappingProblem, seed: int) -> FlowMap:
    """Return the map of GF for a load without pins: K-means into groups, then within each."""
    rng = np.random.default_rng(seed)
    interests = problem.interests
    wanted = np.flatnonzero(interests.audiences)
    audiences = [interests.users[low:high] for low, high in _rows(problem, wanted)]
    rates = problem.rates_per_s[wanted]
    drawn = rng.integers(0, min(problem.max_streams, len(wanted)), len(wanted))
    group_of = np.arange(problem.max_streams) % problem.max_groups
    groups = min(problem.max_groups, problem.max_streams)
    users = interests.user_count
    labels = k_means(audiences, rates, groups, group_of[drawn], users, rng)
    stream_of = np.full(len(problem.flows), NOWHERE, dtype=np.int64)
    for group in range(groups):
        flows = np.flatnonzero(labels == group)
        if not len(flows):
            continue
        here = np.flatnonzero(group_of == group)
        stays = group_of[drawn[flows]] == group
        if len(here) > len(flows):
            used = np.unique(drawn[flows[stays]])
            others = np.setdiff1d(here, used)
            here = np.sort(np.concatenate([used, others[: max(len(flows) - len(used), 0)]]))
        start = rng.integers(0, len(here), len(flows))
        start[stays] = np.searchsorted(here, drawn[flows[stays]])
        own = [audiences[flow] for flow in flows]
        stream_of[wanted[flows]] = here[k_means(own, rates[flows], len(here), start, users, rng)]
    used = np.unique(stream_of[wanted])
    placed = np.full(problem.max_streams, NOWHERE, dtype=np.int64)
    placed[used] = group_of[used]
    return FlowMap(stream_of=stream_of, group_of=placed)


def k_means(
    audiences: list[NDArray[np.int32]],
    rates: NDArray[np.float64],
    clusters: int,
    start: NDArray[np.int64],
    users: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return clusters in which no single move costs less, from this start.

    Users are the rows: those of an audience are then read one after another, which takes numpy half
    the time that columns do. Whether a cluster serves a user is kept beside the counts, and so are
    rates and sizes.
    """
    labels = start.copy()
    if clusters < 2:
        return labels
    counts = np.zeros((users, clusters), dtype=np.int32)
    for audience, label in zip(audiences, labels, strict=True):
        counts[audience, label] += 1
    served = counts > 0
    sizes = served.sum(axis=0)
    members = np.bincount(labels, minlength=clusters)
    for _ in range(MAX_EPOCHS):
        totals = np.bincount(labels, weights=rates, minlength=clusters)
        moved = 0
        for item in rng.permutation(len(labels)):
            audience, rate, old = audiences[item], rates[item], labels[item]
            left = counts[audience, old] - 1
            counts[audience, old] = left
            served[audience, old] = left > 0
            sizes[old] -= len(audience) - np.count_nonzero(left)
            members[old] -= 1
            totals[old] = totals[old] - rate if members[old] else 0.0
            overlap = served[audience].sum(axis=0)
            costs = totals * (len(audience) - overlap) + rate * (sizes - overlap)
            best = costs.argmin()
            if costs[best] >= costs[old] * (1 - 1e-9):
                best = old
            else:
                labels[item] = best
                moved += 1
            sizes[best] += len(audience) - overlap[best]
            counts[audience, best] += 1
            served[audience, best] = True
            members[best] += 1
            totals[best] += rate
        if not moved:
            break
    return labels


def cost_of(problem: MappingProblem, mapped: FlowMap) -> float:
    """Return the cost of a map in work per second, up to rounding."""
    interests, weights = problem.interests, problem.weights
    audiences = interests.audiences
    stream_of = np.repeat(mapped.stream_of, audiences)
    pairs = np.unique(stream_of * interests.user_count + interests.users)
    streams, users = pairs // interests.user_count, pairs % interests.user_count
    joined = np.unique(mapped.group_of[streams] * interests.user_count + users)
    used = audiences > 0
    stream_rate = np.bincount(
        mapped.stream_of[used], weights=problem.rates_per_s[used], minlength=problem.max_streams
    )
    carried = mapped.group_of != NOWHERE
    group_rate = np.bincount(mapped.group_of[carried], weights=stream_rate[carried])
    by_group = float(group_rate[joined // interests.user_count].sum())
    by_stream = float(stream_rate[streams].sum())
    by_flow = float(problem.rates_per_s @ audiences)
    packets = weights.packet_share * (by_group - by_stream)
    return packets + weights.messaging * (by_stream - by_flow)


def random_cost_of(problem: MappingProblem) -> float:
    """Return the expected cost where each wanted flow goes to a uniform stream."""
    interests, weights = problem.interests, problem.weights
    wants = np.diff(interests.by_user[0])[:, None].astype(float)
    share = np.bincount(
        np.arange(problem.max_streams) % problem.max_groups, minlength=problem.max_groups
    )
    share = share[share > 0] / problem.max_streams
    group = -(share * np.expm1(wants * np.log1p(-np.minimum(share, 1 - 1e-16)))).sum(axis=1)
    single = 1.0 / problem.max_streams
    stream = -np.expm1(wants[:, 0] * np.log1p(-min(single, 1 - 1e-16)))
    used = interests.audiences > 0
    flow_rates = np.repeat(problem.rates_per_s, interests.audiences)
    own = np.bincount(interests.users, weights=flow_rates, minlength=interests.user_count)
    unwanted = problem.rates_per_s[used].sum() - own
    per_message = weights.packet_share * (group - stream) + weights.messaging * stream
    return float(unwanted @ per_message)


def _rows(problem: MappingProblem, flows: NDArray[np.int64]) -> list[tuple[int, int]]:
    starts = problem.interests.starts
    return list(zip(starts[flows].tolist(), starts[flows + 1].tolist(), strict=True))
