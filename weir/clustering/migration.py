"""The way from the map in force to another one, flow by flow and stream by stream.

Moves come in an order in which whoever stops halfway has gained most: flows without a stream first,
then what saves most at its place. A stream has its group before a flow enters it.

Taking the whole of something (a flow, or a stream with all its flows) with rate r and audience a
out of a cluster (a stream, or a group) with rate R and audience A lowers the cluster's rate times
audience, which `cost.py` is made of, by

    r |A| + (R - r) |u|      u: who wants nothing of the cluster but what is taken out

so a move costs as much as what moves has users, given how many flows of each stream and group each
user wants. Those are counted for the streams and groups that a move touches alone.

What a move saves depends on those before it, and may grow by them. So each is computed again when
its turn has come, and makes way to the next where it saves less than it did; all that are left are
computed again whenever a share of them (`AFRESH`) has gone. That is close to the best move each
time, and is no promise that no other order would gain more by the middle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heapify, heappop, heappushpop
from typing import TYPE_CHECKING, Literal

import numpy as np

from weir.clustering.cost import exact_sums, filtering_cost, map_in_force, whole_weights
from weir.model.mapping import NOWHERE, FormerMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from weir.model.mapping import FlowMap, MappingProblem

    What = Literal["flow", "stream"]
    Ints = NDArray[np.int64]

AFRESH = 0.03
"""Part of the moves that is made before all that are left are computed again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One flow that changes its stream, or one stream that changes its group."""

    what: What
    place: int
    """Of the flow among the problem's flows, or the number of the stream."""
    before: int
    """Its stream, or group; NOWHERE where it has none."""
    after: int
    saves: float
    """By how much the cost falls at its place in the order, work per second; negative: it rises."""


def moves_between(former: FormerMap, target: FlowMap) -> tuple[int, int]:
    """Return how many flows, and how many streams, move between two maps."""
    flows = np.count_nonzero(former.stream_of != target.stream_of)
    streams = (target.group_of != NOWHERE) & (former.group_of != target.group_of)
    return int(flows), int(np.count_nonzero(streams))


def migration(
    problem: MappingProblem, former: FormerMap | None, target: FlowMap
) -> tuple[Move, ...]:
    """Return the moves that make the target of the map in force, in the order to make them.

    First streams get their first group, then flows that somebody wants and that reach nobody get a
    stream; then come all others, flows and streams mixed. Within each of the three what saves most
    comes first; of equals flows before streams, then the lower place. A stream that the target does
    not use keeps its group, and a flow that nobody wants any more leaves its stream.
    """
    former = former or _nowhere(problem)
    flows = np.flatnonzero(former.stream_of != target.stream_of)
    streams = np.flatnonzero(
        (target.group_of != NOWHERE) & (former.group_of != target.group_of)
    ).tolist()
    clusters = _Clusters(problem, former, flows, streams, target)
    first = [stream for stream in streams if former.group_of[stream] == NOWHERE]
    moves = list(clusters.greedily([("stream", stream) for stream in first]))
    lacking = {flow for flow in flows.tolist() if clusters.is_lacking(flow)}
    moves += clusters.greedily([("flow", flow) for flow in lacking])
    given = {*first}
    others: list[tuple[What, int]] = [("flow", at) for at in flows.tolist() if at not in lacking]
    others += [("stream", at) for at in streams if at not in given]
    moves += clusters.greedily(others)
    return tuple(moves)


def costs_along(
    problem: MappingProblem,
    former: FormerMap | None,
    moves: Sequence[Move],
    ends: Sequence[int],
) -> list[float]:
    """Return what the map costs after the first `ends[k]` moves, each work per second, exactly.

    Each map is priced by itself, whatever its moves say that they save. Cost: sorting the interests
    for each end.
    """
    former = former or _nowhere(problem)
    now = FormerMap(stream_of=former.stream_of.copy(), group_of=former.group_of.copy())
    costs: dict[int, float] = {}
    begin = 0
    for end in sorted({*ends}):
        for move in moves[begin:end]:
            (now.stream_of if move.what == "flow" else now.group_of)[move.place] = move.after
        begin = end
        in_force = map_in_force(replace(problem, former=now))
        assert in_force is not None
        costs[end] = filtering_cost(problem, in_force.stream_of, in_force.group_of).total
    return [costs[end] for end in ends]


def _nowhere(problem: MappingProblem) -> FormerMap:
    return FormerMap(
        stream_of=np.full(len(problem.flows), NOWHERE, dtype=np.int64),
        group_of=np.full(problem.max_streams, NOWHERE, dtype=np.int64),
    )


@dataclass(slots=True)
class _Cluster:
    """A flow, a stream, or a group: what flows through it and who wants it."""

    rate: int
    own: int
    """Sum of its flows' rates times their audiences."""
    flows_of: dict[int, int]
    """How many of its flows each user of its audience wants."""

    @property
    def work(self) -> int:
        """Return rate times audience."""
        return self.rate * len(self.flows_of)

    def added(self, part: _Cluster) -> int:
        """Return by how much the work would rise if it took in a part."""
        new = len(part.flows_of) - len(part.flows_of.keys() & self.flows_of.keys())
        return self.rate * new + part.rate * (len(self.flows_of) + new)

    def freed(self, part: _Cluster) -> int:
        """Return by how much the work would fall if a part that it has left it."""
        alone = len(part.flows_of.items() & self.flows_of.items())
        return part.rate * len(self.flows_of) + (self.rate - part.rate) * alone

    def take_in(self, part: _Cluster) -> None:
        self.rate += part.rate
        self.own += part.own
        flows_of = self.flows_of
        for user, flows in part.flows_of.items():
            flows_of[user] = flows_of.get(user, 0) + flows

    def let_go(self, part: _Cluster) -> None:
        self.rate -= part.rate
        self.own -= part.own
        flows_of = self.flows_of
        for user, flows in part.flows_of.items():
            left = flows_of[user] - flows
            if left:
                flows_of[user] = left
            else:
                del flows_of[user]


class _Clusters:
    """The map on its way: streams and groups that its moves touch. All rates and costs in it are
    whole multiples of one number each."""

    def __init__(
        self,
        problem: MappingProblem,
        former: FormerMap,
        flows: Ints,
        streams: list[int],
        target: FlowMap,
    ) -> None:
        """Take the map in force, what moves out of it, and where that goes."""
        self._stream_of = dict(zip(flows.tolist(), former.stream_of[flows].tolist(), strict=True))
        self._group_of: list[int] = former.group_of.tolist()
        self._to_stream = dict(zip(flows.tolist(), target.stream_of[flows].tolist(), strict=True))
        self._to_group = {stream: int(target.group_of[stream]) for stream in streams}
        touched = {*self._stream_of.values(), *self._to_stream.values(), *streams} - {NOWHERE}
        groups = {*self._to_group.values(), *(self._group_of[at] for at in touched)} - {NOWHERE}
        group_of = np.append(former.group_of, NOWHERE)[former.stream_of]  # the last is NOWHERE's
        self._streams, exponent = _counted(problem, former.stream_of, touched)
        self._groups, _ = _counted(problem, group_of, groups)
        scale = Fraction(2) ** exponent
        self._flows = _flows(problem, flows, scale)
        self._transport, self._messaging, unit = whole_weights(problem)
        self._unit = unit * scale

    def is_lacking(self, flow: int) -> bool:
        """Return whether somebody wants a flow that reaches nobody, and is to get it."""
        stream = self._stream_of[flow]
        served = stream != NOWHERE and self._group_of[stream] != NOWHERE
        return not served and self._to_stream[flow] != NOWHERE and bool(self._flows[flow].flows_of)

    def greedily(self, moves: Iterable[tuple[What, int]]) -> Iterator[Move]:
        """Make these moves, each time the one that seems to save most, and return each as it is
        made."""
        heap = [(-self._saving(what, place), what, place) for what, place in moves]
        heapify(heap)
        afresh = (1.0 - AFRESH) * len(heap)
        while heap:
            if len(heap) < afresh:
                heap = [(-self._saving(what, place), what, place) for _, what, place in heap]
                heapify(heap)
                afresh = (1.0 - AFRESH) * len(heap)
            _, what, place = heappop(heap)
            while True:
                again = (-self._saving(what, place), what, place)
                if not heap or again < heap[0]:
                    break
                _, what, place = heappushpop(heap, again)
            yield self._make(what, place, saves=float(-again[0] * self._unit))

    def _saving(self, what: What, place: int) -> int:
        """Return by how much the cost would fall if a flow, or a stream, moved now."""
        if what == "flow":
            flow = self._flows[place]
            before, after = self._stream_of[place], self._to_stream[place]
            old = NOWHERE if before == NOWHERE else self._group_of[before]
            new = NOWHERE if after == NOWHERE else self._group_of[after]
            saved = self._between_groups(flow, old, new)
            within = self._messaging - self._transport
            if old != NOWHERE:
                saved += within * self._streams[before].freed(flow)
            if new != NOWHERE:
                saved -= within * self._streams[after].added(flow)
            return saved
        stream = self._streams[place]
        old, new = self._group_of[place], self._to_group[place]
        saved = self._between_groups(stream, old, new)
        if old == NOWHERE:
            saved -= (self._messaging - self._transport) * stream.work
        return saved

    def _between_groups(self, part: _Cluster, old: int, new: int) -> int:
        """Return what is saved where a part comes from one group into another, all but the work
        of streams."""
        if old == new:
            return 0
        saved = 0
        if old != NOWHERE:
            saved += self._transport * self._groups[old].freed(part) - self._messaging * part.own
        if new != NOWHERE:
            saved -= self._transport * self._groups[new].added(part) - self._messaging * part.own
        return saved

    def _make(self, what: What, place: int, *, saves: float) -> Move:
        if what == "flow":
            before, after = self._stream_of[place], self._to_stream[place]
            self._stream_of[place] = after
            part = self._flows[place]
            old = NOWHERE if before == NOWHERE else self._group_of[before]
            new = NOWHERE if after == NOWHERE else self._group_of[after]
            _hand_over(part, self._streams.get(before), self._streams.get(after))
        else:
            before, after = self._group_of[place], self._to_group[place]
            self._group_of[place] = after
            part, old, new = self._streams[place], before, after
        if old != new:
            _hand_over(part, self._groups.get(old), self._groups.get(new))
        return Move(what=what, place=place, before=before, after=after, saves=saves)


def _hand_over(part: _Cluster, giver: _Cluster | None, taker: _Cluster | None) -> None:
    if giver is not None:
        giver.let_go(part)
    if taker is not None:
        taker.take_in(part)


def _counted(
    problem: MappingProblem, cluster_of: Ints, wanted: set[int]
) -> tuple[dict[int, _Cluster], int]:
    """Return the clusters of these numbers, given the one of each flow, and the power of two that
    all rates are multiples of."""
    numbers = np.array(sorted(wanted), dtype=np.int64)
    places = np.searchsorted(numbers, cluster_of)
    places[~np.isin(cluster_of, numbers)] = len(numbers)
    audiences, users = problem.interests.audiences, problem.interests.user_count
    rates, exponent = exact_sums(
        problem.rates_per_s, np.ones_like(audiences), places, len(numbers) + 1
    )
    own, _ = exact_sums(problem.rates_per_s, audiences, places, len(numbers) + 1)
    keys = np.repeat(places, audiences) * users + problem.interests.users
    keys, counts = np.unique(keys[keys < len(numbers) * users], return_counts=True)
    bounds = np.searchsorted(keys, np.arange(len(numbers) + 1) * users).tolist()
    clusters = {
        number: _Cluster(
            rate=rates[at],
            own=own[at],
            flows_of=dict(
                zip(
                    (keys[begin:end] - at * users).tolist(), counts[begin:end].tolist(), strict=True
                )
            ),
        )
        for at, (number, begin, end) in enumerate(
            zip(numbers.tolist(), bounds[:-1], bounds[1:], strict=True)
        )
    }
    return clusters, exponent


def _flows(problem: MappingProblem, flows: Ints, scale: Fraction) -> dict[int, _Cluster]:
    """Return flows as clusters of their own."""
    interests = problem.interests
    clusters = {}
    for flow, rate_per_s in zip(flows.tolist(), problem.rates_per_s[flows].tolist(), strict=True):
        first, last = interests.starts[flow : flow + 2].tolist()
        rate = int(Fraction(rate_per_s) / scale)
        users = interests.users[first:last].tolist()
        clusters[flow] = _Cluster(
            rate=rate, own=rate * len(users), flows_of=dict.fromkeys(users, 1)
        )
    return clusters
