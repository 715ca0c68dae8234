"""One run of the greedy of Gryphon under given weights of the constraints.

Everything begins at its minimum: rates at r_min, populations at 0. Again and again what has the
highest benefit-cost ratio grows:

* a class:  U_j(r) / (w . load of one consumer),
* a rate:   sum_j n_j U_j'(r) / (w . load of one message per second).

Why whole steps. While a class grows its ratio does not change, and the ratio of its flow's rate
moves towards U_j' / B_j, which for concave U_j with U_j(0) >= 0 lies below U_j / (B_j r): the
rate never overtakes. While a rate grows along a segment its ratio does not change and those of its
classes fall. So a step ends only where a population is complete, a segment ends or a
constraint is used up, and there are at most m + S steps for m classes and S segments.

Ties (within TIE of each other) grow together, each taking the same share of the weighted
resource, until one of them is complete or something is used up. A flow's rate does not grow
together with its own classes.

A class that is worth nothing yet at the present rate (request-response flows at r_min) is judged
by the best ratio it could reach together with its rate.

`operations` counts ratios computed, entries moved in the queue and members of steps.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from weir.allocation.growth.model import GreedyModel, Loads
    from weir.utility import FloatArray

TIE = 1e-9
"""Ratios closer than this, relative to them, count as equal."""

USED_UP = 1e-12
"""Room below this share of the capacity is none."""

CANCELLED = 1e-6
"""What is left of a sum after a subtraction is added up anew below this share: it is rounding."""


@dataclass(slots=True, kw_only=True)
class _Growing:
    """A class (`index` j) or a rate (`index` i) that takes part in a step."""

    is_rate: bool
    index: int
    flow: int
    loads: Loads
    range_left: float
    speed: float
    done: bool = False


class GreedyRun:
    """The state of one run; `weights` turn loads on constraints into one cost."""

    def __init__(self, model: GreedyModel, weights: FloatArray) -> None:
        self._model = model
        self._weights: list[float] = weights.tolist()
        arrays = model.arrays
        self.rates: list[float] = arrays.rate_min.tolist()
        self.populations: list[float] = [0.0] * len(arrays.class_ids)
        self.prices = [0.0] * len(model.capacity)
        """Ratio at which a constraint was used up, times its weight: utility per unit of it."""
        self.operations = 0
        self.steps = 0
        self._segment = [0] * len(self.rates)
        self._rate_stuck = [len(knots) < 2 for knots in model.knots]
        self._per_message: list[dict[int, float]] = [dict(loads) for loads in model.flow_loads]
        self._gain = [0.0] * len(self.rates)
        """What one more message per second is worth along the present segment."""
        self._flow_cost = [0.0] * len(self.rates)
        self._open: list[list[tuple[float, int]]] = [[] for _ in self.rates]
        """Classes that still may grow, (-ratio, class), the best last."""
        self._stuck = [False] * len(self.populations)
        self._classes_grow = True
        self.measure_room()

    def measure_room(self) -> None:
        """Room at every constraint, from the rates and populations as they are."""
        load = np.zeros(len(self._model.capacity))
        self._per_message = [dict(loads) for loads in self._model.flow_loads]
        for j, i in enumerate(self._model.arrays.class_flow.tolist()):
            for c, cost in self._model.class_loads[j]:
                per = self._per_message[i]
                per[c] = per.get(c, 0.0) + cost * self.populations[j]
        for i, loads in enumerate(self._per_message):
            for c, cost in loads.items():
                load[c] += cost * self.rates[i]
        self._room: list[float] = np.maximum(self._model.capacity - load, 0.0).tolist()

    def run(self) -> None:
        """Grow classes and rates until nothing of positive worth can grow."""
        queue: list[tuple[float, int]] = []
        for i in range(len(self.rates)):
            self._rank_classes(i)
            self._queue(queue, i)
        while queue:
            best = -queue[0][0]
            flows = []
            while queue and -queue[0][0] >= best * (1 - TIE):
                _, i = heapq.heappop(queue)
                flows.append(i)
                self.operations += 1
            moved = self._step(best, sorted(flows))
            for i in flows:
                if i in moved:
                    self._rank_classes(i)
                self._queue(queue, i)

    def drop_worthless(self) -> None:
        """Whoever was admitted for a worth that its rate did not reach leaves again."""
        for j, i in enumerate(self._model.arrays.class_flow.tolist()):
            if self.populations[j] > 0 and self._height(j, i) < 0:
                self.populations[j] = 0.0

    def ratio(self, j: int) -> float:
        """Return the benefit-cost ratio of a class at the present rate."""
        return self._class_ratio(j, int(self._model.arrays.class_flow[j]))

    def admit_one(self, j: int, *, slack: float) -> None:
        """One more consumer, if the room (and `slack` of the capacity, for rounding) holds it."""
        rate = self.rates[int(self._model.arrays.class_flow[j])]
        loads = [(c, cost * rate) for c, cost in self._model.class_loads[j]]
        if self.populations[j] < self._model.population_max[j] and all(
            load <= self._room[c] + slack * self._model.capacity[c] for c, load in loads
        ):
            self.populations[j] += 1.0
            for c, load in loads:
                self._room[c] = max(0.0, self._room[c] - load)

    def idle_at_minimum(self) -> None:
        """Put rates that nobody is left to receive back to their minimum; others may grow."""
        for i, classes in enumerate(self._model.classes_of):
            if not any(self.populations[j] > 0 for j in classes):
                self.rates[i] = self._model.knots[i][0]
                self._segment[i] = 0
                self._gain[i] = 0.0

    def grow_rates_only(self) -> None:
        """Populations stay; rates take what is left."""
        self._classes_grow = False
        self._open = [[] for _ in self.rates]
        for i, knots in enumerate(self._model.knots):
            at = self._segment[i]
            if at + 1 < len(knots) and self.rates[i] >= knots[at + 1]:
                self._segment[i] = at + 1
            self._rate_stuck[i] = self._segment[i] + 1 >= len(knots)
        self.measure_room()
        self.run()

    def _queue(self, queue: list[tuple[float, int]], i: int) -> None:
        ratio = self._rate_ratio(i)
        if self._open[i]:
            ratio = max(ratio, -self._open[i][-1][0])
        self.operations += 1
        if ratio > 0:
            heapq.heappush(queue, (-ratio, i))

    def _rank_classes(self, i: int) -> None:
        """The open classes of a flow by their ratio at its present rate."""
        if not self._classes_grow:
            return
        ranked = []
        for j in self._model.classes_of[i]:
            if self._stuck[j] or self.populations[j] >= self._model.population_max[j]:
                continue
            self.operations += 1
            ratio = self._class_ratio(j, i)
            if ratio > 0:
                ranked.append((-ratio, j))
        ranked.sort(reverse=True)
        self._open[i] = ranked

    def _cost(self, loads: Loads) -> float:
        return sum(self._weights[c] * load for c, load in loads)

    def _class_ratio(self, j: int, i: int) -> float:
        rate = self.rates[i]
        worth = self._model.scale[j] * self._height(j, i)
        if worth > 0:
            cost = self._cost(self._model.class_loads[j]) * rate
            return worth / cost if cost > 0 else np.inf
        count = self._model.population_max[j]
        per_class = self._cost(self._model.class_loads[j]) * count
        per_flow = self._flow_cost[i]
        best = 0.0
        for knot, height in zip(self._model.knots[i], self._model.heights(j), strict=True):
            gain = count * self._model.scale[j] * height
            if knot > rate and gain > 0:
                cost = per_class * knot + per_flow * (knot - rate)
                best = max(best, gain / cost if cost > 0 else np.inf)
        return best

    def _height(self, j: int, i: int) -> float:
        heights, at = self._model.heights(j), self._segment[i]
        left = self.rates[i] - self._model.knots[i][at]
        return heights[at] + left * self._slope(j, i) if left > 0 else heights[at]

    def _slope(self, j: int, i: int) -> float:
        """Of one consumer's shape along the present segment."""
        knots, at = self._model.knots[i], self._segment[i]
        if at + 1 >= len(knots):
            return 0.0
        heights = self._model.heights(j)
        return (heights[at + 1] - heights[at]) / (knots[at + 1] - knots[at])

    def _rate_ratio(self, i: int) -> float:
        if self._rate_stuck[i] or self._gain[i] <= 0:
            return 0.0
        cost = self._flow_cost[i]
        return self._gain[i] / cost if cost > 0 else np.inf

    def _measure_gain(self, i: int) -> None:
        gain = 0.0
        for j in self._model.classes_of[i]:
            self.operations += 1
            if self.populations[j] > 0:
                gain += self.populations[j] * self._model.scale[j] * self._slope(j, i)
        self._gain[i] = gain

    def _members(self, best: float, flows: list[int]) -> list[_Growing]:
        members = []
        for i in flows:
            tied = []
            while self._open[i] and -self._open[i][-1][0] >= best * (1 - TIE):
                tied.append(self._open[i].pop()[1])
            for j in tied:
                loads = [(c, cost * self.rates[i]) for c, cost in self._model.class_loads[j]]
                left = self._model.population_max[j] - self.populations[j]
                members.append(self._growing(False, j, i, loads, left))
            if not tied:
                end = self._model.knots[i][self._segment[i] + 1]
                loads = [(c, load) for c, load in self._per_message[i].items() if load > 0]
                members.append(self._growing(True, i, i, loads, end - self.rates[i]))
        return members

    def _growing(self, is_rate: bool, index: int, flow: int, loads: Loads, left: float) -> _Growing:
        cost = self._cost(loads)
        return _Growing(
            is_rate=is_rate,
            index=index,
            flow=flow,
            loads=[(c, load) for c, load in loads if load > 0],
            range_left=left,
            speed=1.0 / cost if 0 < cost < np.inf else left,
        )

    def _step(self, best: float, flows: list[int]) -> set[int]:
        """Grow everything that ties; the flows whose rate moved."""
        members = self._members(best, flows)
        self.steps += 1
        flow_of_load: dict[int, float] = {}
        users: dict[int, list[_Growing]] = {}
        for member in members:
            for c, load in member.loads:
                flow_of_load[c] = flow_of_load.get(c, 0.0) + load * member.speed
                users.setdefault(c, []).append(member)
        ends = [(member.range_left / member.speed, at) for at, member in enumerate(members)]
        heapq.heapify(ends)
        now, left = 0.0, len(members)
        for c in list(flow_of_load):
            if self._room[c] <= USED_UP * self._model.capacity[c]:
                left -= self._use_up(c, best, users, flow_of_load, now)
        while left:
            while members[ends[0][1]].done:
                heapq.heappop(ends)
            until, first = ends[0]
            exhausted = -1
            for c, pace in flow_of_load.items():
                self.operations += 1
                if pace > 0 and now + self._room[c] / pace < until:
                    until, exhausted = now + self._room[c] / pace, c
            for c, pace in flow_of_load.items():
                self._room[c] = max(0.0, self._room[c] - pace * (until - now))
            now = until
            if exhausted >= 0:
                left -= self._use_up(exhausted, best, users, flow_of_load, now)
            else:
                heapq.heappop(ends)
                left -= self._finish(members[first], None, users, flow_of_load)
        self.operations += len(members)
        return {member.flow for member in members if member.is_rate}

    def _use_up(
        self,
        c: int,
        best: float,
        users: dict[int, list[_Growing]],
        flow_of_load: dict[int, float],
        now: float,
    ) -> int:
        """Nothing that loads this constraint can grow any more; how many that ends."""
        self._room[c] = 0.0
        if self.prices[c] == 0 and best < np.inf:
            self.prices[c] = best * self._weights[c]
        ended = 0
        for member in users[c]:
            if not member.done:
                ended += self._finish(member, now, users, flow_of_load)
        flow_of_load[c] = 0.0
        return ended

    def _finish(
        self,
        member: _Growing,
        now: float | None,
        users: dict[int, list[_Growing]],
        flow_of_load: dict[int, float],
    ) -> int:
        """Settle a member at its end, or where it got to by `now`."""
        member.done = True
        self.operations += 1
        for c, load in member.loads:
            rest = flow_of_load[c] - load * member.speed
            if rest < CANCELLED * flow_of_load[c]:
                growing = (each for each in users[c] if not each.done)
                rest = sum(
                    used * each.speed for each in growing for at, used in each.loads if at == c
                )
            flow_of_load[c] = rest
        grown = member.range_left
        if now is not None:
            grown = min(grown, member.speed * now)
        if member.is_rate:
            self._grow_rate(member.index, grown, whole=now is None)
        else:
            self._grow_class(member.index, member.flow, grown, whole=now is None)
        return 1

    def _grow_rate(self, i: int, grown: float, *, whole: bool) -> None:
        knots = self._model.knots[i]
        if whole:
            self._segment[i] += 1
            self.rates[i] = knots[self._segment[i]]
            self._rate_stuck[i] = self._segment[i] + 1 >= len(knots)
            self._measure_gain(i)
        else:
            self.rates[i] = min(self.rates[i] + grown, knots[self._segment[i] + 1])
            self._rate_stuck[i] = True

    def _grow_class(self, j: int, i: int, grown: float, *, whole: bool) -> None:
        most = self._model.population_max[j]
        self.populations[j] = most if whole else min(self.populations[j] + grown, most)
        self._stuck[j] = True
        self._gain[i] += grown * self._model.scale[j] * self._slope(j, i)
        for c, cost in self._model.class_loads[j]:
            self._per_message[i][c] = self._per_message[i].get(c, 0.0) + cost * grown
            self._flow_cost[i] += self._weights[c] * cost * grown
