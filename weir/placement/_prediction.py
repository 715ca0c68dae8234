"""Predict what a placement costs: each broker's part of the bucket, and the wait in it.

Parts are in proportion to the rates, as the paper has them (SRTM, section 2.1), so that every
broker's bucket is equally busy. Publishers of one correlation group at one broker send at the
same moment: together they are one sender of larger batches. All others send on their own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from weir.model.placement import NOWHERE, Placement, Share
from weir.placement._quotas import brokers_needed
from weir.queueing.bucket_delay import SubBucket, split_mean_s, split_quantile_s
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.work_ahead import StretchedWork

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from weir.model.placement import Contract, PlacementProblem
    from weir.queueing.work_ahead import WorkAhead

PERCENTILE = 0.99

NEARLY_ONE = 1e-9
"""What rounding may lack for a contract to be as large as what is sent: then there is no bound."""

LEAST_BURSTINESS = 1e-6

MOST_SIZES = 2048
"""Units of the largest batch up to which sizes are taken as they are, their common divisor being
the unit; beyond, so many multiples of a coarser one are left."""


def predicted(problem: PlacementProblem, places: NDArray[np.int64], *, method: str) -> Placement:
    """Return the placement with its buckets and what messages wait in them."""
    loads = problem.loads()
    contract = problem.contract
    served = places != NOWHERE
    carried = np.bincount(places[served], weights=loads[served], minlength=len(problem.brokers))
    counts = np.bincount(places[served], minlength=len(problem.brokers))
    whole = float(carried.sum())
    shares: dict[int, Share] = {}
    parts: list[SubBucket] = []
    utilisation = whole / contract.token_rate_per_s
    burstiness = burstiness_of(problem)
    for at in np.flatnonzero(counts).tolist():
        messages = float(carried[at])
        p99_s = mean_s = None
        if utilisation < 1 - NEARLY_ONE:
            batches = batches_at(problem, places == at, loads)
            part = part_of(contract, messages, whole, batches, burstiness)
            parts.append(part)
            p99_s, mean_s = part.quantile_s(PERCENTILE), part.mean_s()
        shares[at] = Share(
            publishers=int(counts[at]),
            messages_per_s=messages,
            token_rate_per_s=contract.token_rate_per_s * (messages / whole),
            bucket=contract.bucket * (messages / whole),
            p99_s=p99_s,
            mean_s=mean_s,
        )
    largest = max((broker.most_per_s for broker in problem.brokers), default=0.0)
    # No further broker holds a publisher that is pinned to one without room.
    pinned = bool((problem.publishers.pinned[~served] != NOWHERE).any())
    return Placement(
        method=method,
        broker_of=places,
        shares=shares,
        p99_s=split_quantile_s(parts, PERCENTILE) if parts else None,
        mean_s=split_mean_s(parts) if parts else None,
        need_brokers=None if pinned else brokers_needed(loads[~served], largest),
    )


def part_of(
    contract: Contract,
    messages_per_s: float,
    whole_per_s: float,
    batches: Mapping[int, float],
    burstiness: float = 1.0,
) -> SubBucket:
    """Return the part of the bucket of a broker that takes so many of all messages."""
    share = messages_per_s / whole_per_s
    work: WorkAhead = PoissonWork(whole_per_s / contract.token_rate_per_s, batches)
    if burstiness != 1.0:
        work = StretchedWork(work, burstiness)
    return SubBucket(
        rate_per_s=contract.token_rate_per_s * share,
        size=contract.bucket * share,
        messages_per_s=messages_per_s,
        work=work,
    )


def burstiness_of(problem: PlacementProblem) -> float:
    """Return how many times as much work was recorded ahead of the topic's messages as its batches
    would bring if they came at random; 1 where nothing was recorded.

    Periodic publishers, or groups that are only nearly in lockstep, are less bursty than that. The
    factor is that of the whole topic at one broker; that its parts are as bursty is an
    approximation. A topic whose batches at random would find no work at all has none.
    """
    recorded, at_random = problem.contract.recorded_bucket, _work_at_random(problem)
    if recorded is None or not at_random:
        return 1.0
    return max(LEAST_BURSTINESS, (recorded - 1.0) / at_random)


def as_bursty_as(problem: PlacementProblem, recorded: PlacementProblem) -> PlacementProblem:
    """Return the problem with the bucket that would have been recorded of it, were it as bursty as
    the other one, of which one was recorded; without one where nothing can be said of that."""
    if problem.contract.recorded_bucket is None:
        return problem
    bucket = None
    if _work_at_random(recorded) and (at_random := _work_at_random(problem)):
        bucket = 1.0 + burstiness_of(recorded) * at_random
    return replace(problem, contract=replace(problem.contract, recorded_bucket=bucket))


def _work_at_random(problem: PlacementProblem) -> float | None:
    """Return the 99th percentile of the work ahead of the topic's messages, were its batches to
    come at random; None: no recording asks for it, or it has no bound."""
    loads = problem.loads()
    utilisation = float(loads.sum()) / problem.contract.token_rate_per_s
    if problem.contract.recorded_bucket is None or not 0.0 < utilisation < 1 - NEARLY_ONE:
        return None
    batches = batches_at(problem, np.ones(len(loads), dtype=bool), loads)
    return work_quantile(utilisation, tuple(sorted(batches.items())))


@lru_cache(maxsize=64)
def work_quantile(utilisation: float, batches: tuple[tuple[int, float], ...]) -> float:
    """Return the 99th percentile of the work ahead of a message where batches come at random."""
    return PoissonWork(utilisation, dict(batches)).quantile(PERCENTILE)


def batches_at(
    problem: PlacementProblem, here: NDArray[np.bool_], loads: NDArray[np.float64]
) -> dict[int, float]:
    """Return the share of each size among the batches that reach one broker."""
    batch, groups = problem.contract.batch, problem.publishers.groups
    alone = here & (groups == NOWHERE)
    rates: dict[int, float] = {}
    if alone.any():
        rates[batch] = float(loads[alone].sum()) / batch
    together = here & (groups != NOWHERE)
    if together.any():
        members = np.bincount(groups[together])
        carried = np.bincount(groups[together], weights=loads[together])
        for size in np.unique(members[members > 0]).tolist():
            events = float(carried[members == size].sum()) / (size * batch)
            rates[size * batch] = rates.get(size * batch, 0.0) + events
    return coarse_enough(rates)


def coarse_enough(rates: dict[int, float]) -> dict[int, float]:
    """Return the batches as they are, or rounded up where their sizes take too many units."""
    largest = max(rates)
    if largest // math.gcd(*rates) <= MOST_SIZES:
        return rates
    return rounded_up(rates, math.ceil(largest / MOST_SIZES))


def rounded_up(rates: Mapping[int, float], grid: int) -> dict[int, float]:
    """Return the same messages a second in batches whose sizes are rounded up to multiples of
    `grid`.

    The work ahead of a message becomes no smaller at any percentile: U is a geometric sum of terms
    that exceed y with the share sum_s e_s (s - y)+ / sum_s e_s s (Pollaczek and Khinchine), and V
    adds a place uniform in a batch of the message's size. Both grow where e_s batches of s become
    e_s s / t of t > s.
    """
    rounded: dict[int, float] = {}
    for size, events in rates.items():
        upper = math.ceil(size / grid) * grid
        rounded[upper] = rounded.get(upper, 0.0) + events * size / upper
    return rounded
