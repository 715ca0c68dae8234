"""A map that follows its load: which moves from the former map are worth what they are charged.

Every flow moves on its own here, since of two with the same audience the busy one may be worth
moving and the quiet one not. A map is taken only where it is cheaper with all its charges than to
keep the former one, which is the hysteresis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from weir.clustering import iterative
from weir.clustering._construct import anew
from weir.clustering._improve import RESTARTS, Best, cool, improve, insert_all, layer_weights
from weir.clustering._items import index_among, items_of
from weir.clustering._state import load, state_of
from weir.clustering.cost import filtering_cost, moved, moved_streams
from weir.model.mapping import NOWHERE, FlowMap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from weir.clustering._improve import Annealing, Watch
    from weir.clustering._items import Items
    from weir.clustering._state import State
    from weir.model.mapping import MappingProblem

    Ints = NDArray[np.int64]

RUNGS, LOWEST = 40, 1e-7
"""Charges that a curve is drawn with, and the lowest of them in parts of the highest."""

CURVE_SHARE = 0.6
"""About the part of the time of a curve in which its charges fall."""

MOST_BY_TURNS = 100_000
"""Interests up to which the slides' IT makes a map to begin with, too; its time grows faster."""

ADAPTING = 0.3
"""Of all trials, those that begin at the former map."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Point:
    """A map on the curve of cost against moves."""

    move_cost: float
    """Work per second that a moved flow was charged; a moved stream in proportion."""
    flow_map: FlowMap


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """What ever more moves bring."""

    points: tuple[Point, ...]
    complete: bool
    """Whether it was drawn to its end."""


def adapted(
    problem: MappingProblem, *, trials: int, seed: int, watch: Watch, annealing: Annealing = cool
) -> FlowMap:
    """Return the map that is cheapest with what its moves are charged, as far as was seen.

    It is looked for from the former map on; one made anew, with the numbers of streams and groups
    that leave most where it is, is taken where it is cheaper. `annealing` cools the latter alone.
    """
    adaptation = _Adaptation(problem, watch)
    stays = adaptation.flow_map(*adaptation.map(), complete=False)
    adaptation.charge(problem.move_cost, problem.stream_move_cost)
    best = Best(adaptation.state)
    first = int(trials * ADAPTING)
    part = watch.part(0.0, ADAPTING)
    complete = adaptation.search(best, trials=first, seed=seed, watch=part)
    candidates = [stays, adaptation.flow_map(*best.map(), complete=complete)]
    if complete:
        fresh = made_anew(
            problem,
            trials=trials - first,
            seed=seed,
            watch=watch.part(ADAPTING, 1.0),
            annealing=annealing,
        )
        candidates.append(fresh)
        complete = fresh.complete
    # By exact costs: beside what is delivered, a charge may drown in a double.
    cheapest = min(candidates, key=lambda each: charged_cost(problem, each))
    return replace(cheapest, complete=complete)


def charged_cost(problem: MappingProblem, flow_map: FlowMap) -> float:
    """Return the cost of a map, in work per second, with what its moves are charged, but for flows
    that pins tear away whatever the map."""
    cost, former = _cost(problem, flow_map), problem.former
    if former is None:
        return cost
    torn = (flow_map.stream_of != NOWHERE) & (former.stream_of != NOWHERE)
    torn &= (problem.pinned_stream != NOWHERE) & (problem.pinned_stream != former.stream_of)
    flows = moved(problem, flow_map) - int(np.count_nonzero(torn))
    streams = moved_streams(problem, flow_map)
    return cost + problem.move_cost * flows + problem.stream_move_cost * streams


def made_anew(
    problem: MappingProblem, *, trials: int, seed: int, watch: Watch, annealing: Annealing = cool
) -> FlowMap:
    """Return a map that was looked for without a former one; its streams and groups have the
    numbers with which most flows stay."""
    items = items_of(problem, collapse=layer_weights(problem.weights)[0] >= 0.0)

    def other(watch: Watch) -> tuple[Ints, Ints]:
        return _by_turns(problem, items, seed=seed, watch=watch)

    found = anew(
        items,
        problem.weights,
        trials=trials,
        seed=seed,
        watch=watch,
        annealing=annealing,
        other=other if trials and len(problem.interests.users) <= MOST_BY_TURNS else None,
    )
    flow_map = items.flow_map(problem, found[0], found[1], complete=found[2])
    return flow_map if problem.former is None else _renumbered(problem, flow_map)


def _by_turns(
    problem: MappingProblem, items: Items, *, seed: int, watch: Watch
) -> tuple[Ints, Ints]:
    """Return the map of the slides' IT, as stream by item and group by stream; an item of several
    streams goes where the fastest of its flows is."""
    flow_map = iterative.cluster(
        problem,
        iterative.Params(),
        seed=seed,
        stop=watch.stop,
        report=lambda progress: watch.passed(progress["done"] / progress["total"]),
    )
    flows = np.flatnonzero(items.item_of != NOWHERE)
    flows = flows[np.argsort(problem.rates_per_s[flows], kind="stable")]
    stream_of = np.full(len(items.rates), NOWHERE, dtype=np.int64)
    stream_of[items.item_of[flows]] = index_among(flow_map.stream_of[flows], items.streams)
    group_of = index_among(flow_map.group_of[items.streams], items.groups)
    return stream_of, np.where(items.pinned_group != NOWHERE, items.pinned_group, group_of)


def kept(problem: MappingProblem, watch: Watch) -> Point:
    """Return the former map with only what must move: flows without a stream, and those that pins
    tear away."""
    adaptation = _Adaptation(problem, watch)
    flow_map = adaptation.flow_map(*adaptation.map(), complete=True)
    return Point(move_cost=np.inf, flow_map=flow_map)


def curve(
    problem: MappingProblem, *, trials: int, seed: int, watch: Watch, rungs: int = RUNGS
) -> Curve:
    """Return maps with falling cost and growing moves, from the former map to one made anew.

    The first moves only what must move: flows without a stream, and those that pins tear away. Each
    of the others was found by charging less for a move than before, at last nothing.
    """
    adaptation = _Adaptation(problem, watch)
    of_stream = problem.stream_move_cost / problem.move_cost if problem.move_cost > 0.0 else 1.0
    flow_map = adaptation.flow_map(*adaptation.map(), complete=True)
    points = [Point(move_cost=np.inf, flow_map=flow_map)]
    highest, share = adaptation.dearest_item(), trials // (rungs + 1)
    for rung in range(rungs + 1):
        fee = highest * LOWEST ** (rung / rungs) if rung < rungs else 0.0
        adaptation.charge(fee, fee * of_stream)
        best = Best(adaptation.state)
        part = watch.part(*(CURVE_SHARE * (rung + step) / (rungs + 1) for step in (0, 1)))
        complete = adaptation.search(best, trials=share, seed=seed + rung, watch=part, restarts=1)
        load(adaptation.state, *best.map())
        flow_map = adaptation.flow_map(*best.map(), complete=complete)
        points.append(Point(move_cost=fee, flow_map=flow_map))
        part.passed(1.0)
        if not complete:
            return Curve(points=_undominated(problem, points), complete=False)
    part = watch.part(CURVE_SHARE, 1.0)
    fresh = made_anew(problem, trials=trials, seed=seed, watch=part)
    points.append(Point(move_cost=0.0, flow_map=fresh))
    return Curve(points=_undominated(problem, points), complete=fresh.complete)


def _undominated(problem: MappingProblem, points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the points that are cheaper than every one with as few moves, in order of moves."""
    kept: list[Point] = []
    lowest = np.inf
    maps = [point.flow_map for point in points]
    moves = [moved(problem, each) + moved_streams(problem, each) for each in maps]
    costs = [_cost(problem, each) for each in maps]
    # The first point is the former map, which everything is compared with.
    for at in sorted(range(len(points)), key=lambda at: (at > 0, moves[at], costs[at])):
        if costs[at] < lowest:
            kept.append(points[at])
            lowest = costs[at]
    return tuple(kept)


def _cost(problem: MappingProblem, flow_map: FlowMap) -> float:
    return filtering_cost(problem, flow_map.stream_of, flow_map.group_of).total


class _Adaptation:
    """A search that begins at the former map and can charge what leaves its place."""

    def __init__(self, problem: MappingProblem, watch: Watch) -> None:
        self._problem = problem
        self._items = items = items_of(problem, collapse=False)
        in_stream, in_group = layer_weights(problem.weights)
        self.state: State = state_of(
            items,
            streams=len(items.streams),
            groups=len(items.groups),
            weights=(in_stream, in_group, 0.0),
            fixed=items.pinned_stream != NOWHERE,
            # A pinned item cannot avoid its charge, which would only hide what others cost.
            home=np.where(items.pinned_stream != NOWHERE, NOWHERE, items.home),
            pinned_group=items.pinned_group,
            home_group=items.home_group,
        )
        self._order = items.order()
        load(self.state, *_former(items))
        left = np.flatnonzero(self.state.stream_of == NOWHERE)
        weight = items.rates * np.diff(items.starts)
        self.charge(np.inf, 0.0)  # what has a home goes there
        insert_all(self.state, left[np.argsort(-weight[left], kind="stable")], watch)
        self.charge(0.0, 0.0)

    def charge(self, fee: float, stream_fee: float) -> None:
        """Charge so much for each flow, and for each stream, that is not where it was."""
        at_home = self.state.home != NOWHERE
        self.state.fees[at_home] = fee * self._items.flows[at_home]
        self.state.weights[2] = stream_fee

    def dearest_item(self) -> float:
        """Return what the dearest item costs in the worst case: no move of one saves more."""
        users = int(self.state.group_users.max(initial=0))
        own = float(users) * float(self._items.rates.max(initial=0.0))
        size = float(np.diff(self._items.starts).max(initial=0))
        in_stream, in_group = self.state.weights[:2]
        largest = own + float(self.state.group_rates.max(initial=0.0)) * size
        return float(abs(in_stream) + in_group) * largest

    def search(
        self, best: Best, *, trials: int, seed: int, watch: Watch, restarts: int = RESTARTS
    ) -> bool:
        """Look for moves that pay; return False where stopped."""
        return improve(
            self.state,
            self._order,
            best,
            trials=trials,
            seed=seed,
            watch=watch,
            restarts=restarts,
        )

    def map(self) -> tuple[Ints, Ints]:
        """Return stream by item and group by stream, as indices."""
        return self.state.stream_of.copy(), self.state.group_of.copy()

    def flow_map(self, stream_of: Ints, group_of: Ints, *, complete: bool) -> FlowMap:
        return self._items.flow_map(self._problem, stream_of, group_of, complete=complete)


def _former(items: Items) -> tuple[Ints, Ints]:
    """Return the former map with the pins of today; items without a place in it are NOWHERE."""
    pinned = items.pinned_stream != NOWHERE
    group_of = np.where(items.pinned_group != NOWHERE, items.pinned_group, items.home_group)
    stream_of = np.where(pinned, items.pinned_stream, items.home)
    lost = (stream_of != NOWHERE) & (group_of[stream_of] == NOWHERE)
    stream_of[lost & ~pinned] = NOWHERE
    group_of[stream_of[lost & pinned]] = 0
    return stream_of, group_of


def _renumbered(problem: MappingProblem, flow_map: FlowMap) -> FlowMap:
    """Return the same map with the numbers of the former one where most flows agree with it."""
    former = problem.former
    assert former is not None
    stream_of, group_of = flow_map.stream_of, flow_map.group_of
    both = (stream_of != NOWHERE) & (former.stream_of != NOWHERE)
    tied = problem.pinned_group != NOWHERE
    tied[problem.pinned_stream[problem.pinned_stream != NOWHERE]] = True
    stream = _matching(stream_of[both], former.stream_of[both], tied)
    moved = np.full(problem.max_streams, NOWHERE, dtype=np.int64)
    used = np.flatnonzero(group_of != NOWHERE)
    moved[stream[used]] = group_of[used]
    both = (moved != NOWHERE) & (former.group_of != NOWHERE)
    tied = np.zeros(problem.max_groups, dtype=bool)
    tied[problem.pinned_group[problem.pinned_group != NOWHERE]] = True
    group = _matching(moved[both], former.group_of[both], tied)
    return replace(
        flow_map,
        stream_of=np.where(stream_of == NOWHERE, NOWHERE, stream[stream_of]),
        group_of=np.where(moved == NOWHERE, NOWHERE, group[moved]),
    )


def _matching(now: Ints, before: Ints, tied: NDArray[np.bool_]) -> Ints:
    """Return a new number for each number, so that many of `now` become those of `before`.

    Greedily: the pair in which most agree comes first. What is tied keeps its number, and what
    agrees with nothing gets one that was not used before, where there is one.
    """
    count = len(tied)
    pairs, agreeing = np.unique(now * count + before, return_counts=True)
    number = np.where(tied, np.arange(count), NOWHERE)
    given = tied.copy()
    for pair in pairs[np.argsort(-agreeing, kind="stable")].tolist():
        old, new = divmod(pair, count)
        if number[old] == NOWHERE and not given[new]:
            number[old], given[new] = new, True
    left = np.flatnonzero(number == NOWHERE)
    free = np.flatnonzero(~given)
    fresh = ~np.isin(free, before)
    order = np.argsort(~np.isin(left, now), kind="stable")  # those in use choose first
    number[left[order]] = np.concatenate([free[fresh], free[~fresh]])
    return number
