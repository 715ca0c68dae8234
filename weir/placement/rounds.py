"""Mend a placement by what was measured: shed, mark full, place what was shed.

The iterative workload distribution of SRTM (section 4.2). Rates alone do not say what a broker
can take, so each is measured with the publishers it was given. One that misses the objective
keeps as many as it can serve, gives up the others, and is full. They are placed anew, over as few
further brokers as have room, until every broker keeps the objective or no room is left. A broker
that kept its objective is measured again only when it is given more, so that every round that
follows has fewer brokers to measure.

Whoever measures is a function: the profiler on real brokers, a model of one, a test.

Reference: C. Li, J. Liu, C. Lu, R. Guerin, C. D. Gill. Impact of distributed rate limiting on
load distribution in a latency-sensitive messaging service (SRTM), sections 4.2 and 6.5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from weir.model.placement import NOWHERE
from weir.placement._assigning import assign
from weir.placement._prediction import predicted
from weir.placement.srtm import NAME, RULE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from weir.model.placement import Placement, PlacementProblem

    Places = NDArray[np.int64]


NEAR = 0.8
"""Of the objective: where the search of the paper has served enough."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Round:
    """One round: what was placed, and what measuring it left."""

    places: Places
    kept: dict[int, int]
    """Publishers that each measured broker can serve, by index of the broker."""
    unassigned_rate_per_s: float
    """What was shed and has to be placed in the next round."""


def placed_in_rounds(
    problem: PlacementProblem,
    can_serve: Callable[[int, Places], int],
    *,
    seed: int = 0,
) -> tuple[Placement, list[Round]]:
    """Return the placement in which every broker serves what it has, and the rounds that led there.

    `can_serve(broker, publishers)` measures a broker with these publishers, as indices, and
    returns how many of them, from the first on, it serves within the objective. Who has no room
    at the end is left without a broker.
    """
    loads = problem.loads()
    places = assign(problem, RULE, seed=seed, keep=False)
    full: set[int] = set()
    measured = np.zeros(len(problem.brokers), dtype=np.int64)
    rounds: list[Round] = []
    while True:
        counts = np.bincount(places[places != NOWHERE], minlength=len(problem.brokers))
        kept: dict[int, int] = {}
        after = places.copy()
        for at in np.flatnonzero(counts > measured).tolist():
            here = shedding_order(problem, np.flatnonzero(places == at))
            kept[at] = min(can_serve(at, here), len(here))
            if kept[at] < len(here):
                full.add(at)
                after[here[kept[at] :]] = NOWHERE
            measured[at] = kept[at]
        shed = (places != NOWHERE) & (after == NOWHERE)
        rate = float(loads[shed].sum())
        rounds.append(Round(places=places, kept=kept, unassigned_rate_per_s=rate))
        if not shed.any():
            return predicted(problem, places, method=NAME), rounds
        rest = remaining(problem, after, full)
        places = assign(rest, RULE, seed=seed, keep=True)
        if (places == after).all():
            return predicted(problem, places, method=NAME), rounds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Searched:
    """What the paper's search took and where it ended."""

    placement: Placement
    rounds: int
    """Rounds of measuring; brokers that are measured at the same time share one."""


def searched_by_halves(
    problem: PlacementProblem, ratio: Callable[[int, Places], float], *, seed: int = 0
) -> Searched:
    """Return what the procedure of the paper takes where `ratio` measures a broker with some
    publishers, as indices: the delay over its objective, of several objectives the largest.

    A broker that misses the objective searches by halves how many it can serve, until it is within
    20 % below the objective (SRTM, section 6.5, footnote 11) or one publisher is the difference.
    """
    tries: list[int] = []

    def can_serve(at: int, here: Places) -> int:
        serves, most = 0, len(here)
        tried = most
        tries.append(0)
        while True:
            tries[-1] += 1
            late = ratio(at, here[:tried])
            if late > 1.0:
                most = tried
            else:
                serves = tried
                if tried == len(here) or late >= NEAR:
                    return serves
            if most - serves <= 1:
                return serves
            tried = (serves + most) // 2

    placement, rounds = placed_in_rounds(problem, can_serve, seed=seed)
    each = iter(tries)
    # All brokers of a round search at the same time: the slowest of them counts.
    total = sum(max((next(each) for _ in one.kept), default=0) for one in rounds)
    return Searched(placement=placement, rounds=total)


def shedding_order(problem: PlacementProblem, here: Places) -> Places:
    """Return the publishers of a broker in the order in which it keeps them.

    Groups are kept in proportion: the n-th of a group of m comes at (n + 1/2) / m, pinned ones
    first.
    """
    publishers = problem.publishers
    order = np.argsort(publishers.groups[here], kind="stable")
    ordered = publishers.groups[here][order]
    starts = np.flatnonzero(np.diff(ordered, prepend=NOWHERE - 1))
    members = np.diff(starts, append=len(here))
    place = np.empty(len(here))
    nth = np.arange(len(here)) - np.repeat(starts, members)
    place[order] = (nth + 0.5) / np.repeat(members, members)
    pinned = publishers.pinned[here] != NOWHERE
    return here[np.lexsort((here, place, ~pinned))]


def remaining(problem: PlacementProblem, places: Places, full: set[int]) -> PlacementProblem:
    """Return the problem of the next round: full brokers have room for whom they keep alone."""
    loads = problem.loads()
    carried = np.bincount(places[places != NOWHERE], loads[places != NOWHERE], len(problem.brokers))
    brokers = tuple(
        replace(broker, max_rate_per_s=broker.allocated_rate_per_s + float(carried[at]))
        if at in full
        else broker
        for at, broker in enumerate(problem.brokers)
    )
    publishers = replace(problem.publishers, today=places)
    return replace(problem, brokers=brokers, publishers=publishers)
