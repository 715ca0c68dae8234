"""What each number of brokers would cost a topic, and which of them to take.

Few brokers wait for processing, many for tokens (SRTM, section 3): the 99th percentile of both
together, against the number of brokers, falls and rises again, and so does the mean. The fewest
brokers that keep the objectives of both are taken; where none do, those with the least delay beside
its objective. Of each number those
that serve the topic today are looked at first, then those with most room.

Publishers of one rate and group can stand in for each other, so that whoever can stays where it is:
a placement moves no more of them than its numbers ask for. Where all stay whose brokers can keep
them, and that keeps the objective, only the others move.

Rates are messages per second, delays seconds.

Reference: C. Li, J. Liu, C. Lu, R. Guerin, C. D. Gill. Impact of distributed rate limiting on load
distribution in a latency-sensitive messaging service (SRTM), sections 3 and 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.compiled import compiled
from weir.model.placement import NOWHERE
from weir.placement._assigning import Rule, assign
from weir.placement._prediction import (
    NEARLY_ONE,
    PERCENTILE,
    batches_at,
    burstiness_of,
    part_of,
)
from weir.placement._quotas import by_room
from weir.placement.srtm import RULE
from weir.queueing.broker_delay import BrokerDelay, Tail, mixed_quantile_s, processing
from weir.queueing.bucket_delay import smallest_free_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from weir.model.placement import BrokerRoom, Objectives, PlacementProblem
    from weir.queueing.bucket_delay import SubBucket

    Places = NDArray[np.int64]

OVER_ALL = Rule(fewest_brokers=False, even_totals=False, by_group=True)

BEYOND, BELOW = 11, 3
"""Numbers of brokers looked at beyond the fewest with room, and below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """What 99 % of some messages stay within, and their mean; None where it grows without bound."""

    p99_s: float | None = None
    """Wait for tokens and processing together."""
    processing_p99_s: float | None = None
    """Processing alone, had the topic no bucket."""
    wait_p99_s: float | None = None
    """The wait for tokens alone; of one broker's messages only."""
    mean_s: float | None = None
    """Wait for tokens and processing together, on average."""

    @property
    def penalty_s(self) -> float | None:
        """What the bucket's parts add."""
        if self.p99_s is None or self.processing_p99_s is None:
            return None
        return max(0.0, self.p99_s - self.processing_p99_s)

    def meets(self, objectives: Objectives) -> bool | None:
        """Return whether that keeps all objectives; None where there are none."""
        return objectives.kept(self.p99_s, self.mean_s)

    def ratio(self, objectives: Objectives) -> float:
        """Return the delay over its objective, of the one nearer to be missed."""
        return objectives.ratio(self.p99_s, self.mean_s)


UNBOUNDED = Delays()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Option:
    """Publishers over some brokers, with what their messages wait."""

    brokers: tuple[int, ...]
    """Those that may be used, by index."""
    places: Places
    """The broker of each publisher, NOWHERE where none has room."""
    whole: Delays = UNBOUNDED
    by_broker: Mapping[int, Delays] = field(default_factory=dict)
    free_bucket: float | None = None
    """The smallest bucket with which 99 % of every broker's messages find a token; None: none."""

    @property
    def fits(self) -> bool:
        return bool((self.places != NOWHERE).all())

    def keeps(self, objectives: Objectives) -> bool:
        """Return whether all have room, and the objectives, if there are any, are kept."""
        return self.fits and self.whole.meets(objectives) is not False

    @property
    def used(self) -> int:
        """Return how many brokers serve somebody."""
        return len(np.unique(self.places[self.places != NOWHERE]))


def option(problem: PlacementProblem, brokers: tuple[int, ...], places: Places) -> Option:
    """Return what these places cost."""
    loads = problem.loads()
    contract = problem.contract
    served = places != NOWHERE
    carried = np.bincount(places[served], loads[served], len(problem.brokers))
    whole = float(carried.sum())
    utilisation = whole / contract.token_rate_per_s
    burstiness = burstiness_of(problem)
    free_bucket = 0.0
    totals: list[Tail] = []
    queues: list[Tail] = []
    means: list[float] = []
    by_broker: dict[int, Delays] = {}
    serving = np.flatnonzero(carried > 0).tolist()
    for at in serving:
        rate = float(carried[at])
        batches = batches_at(problem, places == at, loads)
        by_broker[at] = UNBOUNDED
        if utilisation >= 1 - NEARLY_ONE:
            continue
        bucket = part_of(contract, rate, whole, batches, burstiness)
        free_bucket = max(free_bucket, smallest_free_size(bucket.work, PERCENTILE) * whole / rate)
        part = behind(bucket, problem.brokers[at], batches)
        if part is None:
            continue
        totals.append(part.late(PERCENTILE))
        queues.append(part.processing.late(PERCENTILE))
        mean_s = part.mean_s()
        means.append(rate * mean_s)
        by_broker[at] = Delays(
            p99_s=totals[-1].quantile_s(PERCENTILE),
            processing_p99_s=part.processing.quantile_s(PERCENTILE),
            wait_p99_s=part.bucket.quantile_s(PERCENTILE),
            mean_s=mean_s,
        )
    delays = UNBOUNDED
    if serving and len(totals) == len(serving):
        rates = carried[serving].tolist()
        delays = Delays(
            p99_s=mixed_quantile_s(totals, rates, PERCENTILE),
            processing_p99_s=mixed_quantile_s(queues, rates, PERCENTILE),
            mean_s=math.fsum(means) / whole,
        )
    return Option(
        brokers=brokers,
        places=places,
        whole=delays,
        by_broker=by_broker,
        free_bucket=free_bucket or None,
    )


def behind(
    bucket: SubBucket, broker: BrokerRoom, batches: Mapping[int, float]
) -> BrokerDelay | None:
    """Return a broker's part of the bucket with its queue; None where that has no bound."""
    sent = bucket.messages_per_s + broker.allocated_rate_per_s
    if sent >= broker.processes_per_s * (1 - NEARLY_ONE):
        return None
    queue = processing(
        max_rate_per_s=broker.processes_per_s,
        others_per_s=broker.allocated_rate_per_s,
        batches_per_s=batches,
    )
    return BrokerDelay(bucket=bucket, processing=queue)


def ratio_at(problem: PlacementProblem, at: int, here: Places) -> float:
    """Return the delay of these publishers' messages, as indices, at one broker over its objective,
    of the one nearer to be missed; infinite where it grows without bound.

    The broker's part of the bucket is theirs of the whole topic.
    """
    loads, objectives = problem.loads(), problem.contract.objectives
    whole = float(loads.sum())
    if not len(here) or whole / problem.contract.token_rate_per_s >= 1 - NEARLY_ONE:
        return math.inf
    mask = np.zeros(len(loads), dtype=bool)
    mask[here] = True
    batches = batches_at(problem, mask, loads)
    rate = float(loads[here].sum())
    bucket = part_of(problem.contract, rate, whole, batches, burstiness_of(problem))
    part = behind(bucket, problem.brokers[at], batches)
    if part is None:
        return math.inf
    p99_s = None if objectives.p99_s is None else part.late(PERCENTILE).quantile_s(PERCENTILE)
    return objectives.ratio(p99_s, None if objectives.mean_s is None else part.mean_s())


def option_with_needed_moves(problem: PlacementProblem, *, seed: int = 0) -> Option | None:
    """Return the placement in which only they move whose broker cannot keep them, or who have
    none; None where nobody has a broker, or some find no room."""
    if not (problem.publishers.today != NOWHERE).any():
        return None
    places = assign(problem, RULE, seed=seed, keep=True)
    if (places == NOWHERE).any():
        return None
    return option(problem, tuple(np.unique(places).tolist()), places)


def option_of_today(problem: PlacementProblem) -> Option | None:
    """Return the placement of today as it is; None where nobody has a broker."""
    today = problem.publishers.today
    used = np.unique(today[today != NOWHERE])
    return option(problem, tuple(used.tolist()), today) if len(used) else None


def options(
    problem: PlacementProblem,
    *,
    stay: bool = True,
    seed: int = 0,
    go_on: Callable[[int, int], bool] = lambda done, total: True,
) -> list[Option]:
    """Return what each number of brokers costs, from a few below the fewest with room on.

    `stay`: the brokers of today come first where that keeps the objective, and whoever can keeps
    its own. `go_on(done, total)` is
    called between two numbers; once it is False, no more are looked at than one that fits needs.
    """
    order, roomy = (broker_order(problem, stay=each) for each in (stay, False))
    objectives = problem.contract.objectives
    out: list[Option] = []
    first = fewest_with_room(problem, order)
    counts = range(max(1, first - BELOW), min(len(order), first + BEYOND) + 1)
    for done, count in enumerate(counts):
        wanted = go_on(done, len(counts))
        if not wanted and any(each.fits for each in out):
            break
        out.append(option_over(problem, order[:count], stay=stay, seed=seed))
        if set(order[:count]) != set(roomy[:count]) and not out[-1].keeps(objectives):
            out[-1] = better(
                out[-1], option_over(problem, roomy[:count], stay=stay, seed=seed), objectives
            )
    if counts and counts[-1] < len(order) and not any(each.fits for each in out):
        # Whole publishers that hardly fit may need more brokers than their rates say.
        out.append(option_over(problem, order, stay=stay, seed=seed))
    return out


def option_over(problem: PlacementProblem, chosen: list[int], *, stay: bool, seed: int) -> Option:
    """Return what these brokers cost; nothing is computed of the delays where they lack room."""
    only = with_brokers(problem, set(chosen))
    places = assign(only, OVER_ALL, seed=seed, keep=False)
    if stay:
        places = with_fewest_moves(problem, places)
    brokers = tuple(chosen)
    if (places == NOWHERE).any():
        return Option(brokers=brokers, places=places)
    return option(problem, brokers, places)


def better(one: Option, other: Option, objectives: Objectives) -> Option:
    """Return the one that fits and waits less; the first where there is nothing between them."""
    return best([one, other], objectives) or one


def best(choices: list[Option], objectives: Objectives) -> Option | None:
    """Return the first that fits and keeps the objectives, else the one with the least delay beside
    its objective, else the first that fits."""
    fitting = [choice for choice in choices if choice.fits]
    if not objectives:
        return fitting[0] if fitting else None
    for choice in fitting:
        if choice.keeps(objectives):
            return choice

    def how_late(choice: Option) -> tuple[float, float]:
        # Two percentiles may differ by so little that their ratios are alike.
        return choice.whole.ratio(objectives), choice.whole.p99_s or 0.0

    return min(fitting, key=how_late, default=None)


def broker_order(problem: PlacementProblem, *, stay: bool) -> list[int]:
    """Return the brokers with room in the order in which they are taken: those with pins, those
    of today, then those with most room."""
    publishers = problem.publishers
    pinned = set(publishers.pinned.tolist())
    today = set(publishers.today.tolist()) if stay else set()
    room = np.array([broker.room_per_s for broker in problem.brokers])
    names = [broker.broker for broker in problem.brokers]
    return sorted(by_room(room, names), key=lambda at: (at not in pinned, at not in today))


def fewest_with_room(problem: PlacementProblem, order: list[int]) -> int:
    """Return how many of the first brokers have room for the topic's rate and for every pin."""
    room = np.cumsum([problem.brokers[at].room_per_s for at in order])
    enough = np.flatnonzero(room * (1.0 + NEARLY_ONE) >= float(problem.loads().sum()))
    pins = len(set(problem.publishers.pinned.tolist()) - {NOWHERE})
    return max(1, pins, int(enough[0]) + 1 if len(enough) else len(order))


def with_brokers(problem: PlacementProblem, chosen: set[int]) -> PlacementProblem:
    """Return the problem in which no other broker takes anybody."""
    brokers = tuple(
        broker if at in chosen else replace(broker, drained=True)
        for at, broker in enumerate(problem.brokers)
    )
    return replace(problem, brokers=brokers)


def with_fewest_moves(problem: PlacementProblem, places: Places) -> Places:
    """Return places that cost the same and change the fewest brokers.

    Within a group, publishers of one rate swap their places until as many as possible have the
    broker of today.
    """
    publishers = problem.publishers
    out = places.copy()
    free = np.flatnonzero((publishers.pinned == NOWHERE) & (places != NOWHERE))
    if not len(free) or not (publishers.today[free] != NOWHERE).any():
        return out
    order = free[np.lexsort((publishers.rates_per_s[free], publishers.groups[free]))]
    keys = np.stack((publishers.groups[order].astype(float), publishers.rates_per_s[order]))
    borders = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    edges = np.concatenate(([0], borders, [len(order)]))
    swap_alike(edges, order, publishers.today, places, len(problem.brokers), out)
    return out


@compiled
def swap_alike(edges: Any, order: Any, today: Any, places: Any, brokers: int, out: Any) -> None:
    """Deal the places of those alike, between two edges of `order`, anew, so that as many as
    possible are those of today."""
    left = np.zeros(brokers, np.int64)
    for block in range(len(edges) - 1):
        first, end = edges[block], edges[block + 1]
        for at in range(first, end):
            left[places[order[at]]] += 1
        for at in range(first, end):
            broker = today[order[at]]
            out[order[at]] = -1
            if broker >= 0 and left[broker] > 0:
                out[order[at]] = broker
                left[broker] -= 1
        broker = 0
        for at in range(first, end):
            if out[order[at]] < 0:
                while left[broker] == 0:
                    broker += 1
                out[order[at]] = broker
                left[broker] -= 1
