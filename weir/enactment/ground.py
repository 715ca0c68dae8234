"""Hold the state that changes are tried on: values and loads, updated with every change.

A change updates only the places that its flow or class loads, so its cost does not grow with the
size of the problem.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from weir.enactment.terms import POPULATION, RATE, Change, Judgement, Values
from weir.model import loads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.model import Problem

Place = tuple[str, str]
"""A node and its resource, or ("", link)."""

MARGIN = 5e-10
"""Relative room above a capacity that sums of floats may take; answers hold to 1e-9."""


class Ground:
    """Hold the problem's structure, and the limits that no enacted state may exceed."""

    def __init__(self, problem: Problem, proposal: Values) -> None:
        self.problem = problem
        self.flows = {flow.id: flow for flow in problem.flows}
        self.classes = {row.id: row for row in problem.classes}
        self.of_flow: dict[str, list[str]] = {flow: [] for flow in self.flows}
        for row in problem.classes:
            self.of_flow[row.flow].append(row.id)
        self.flow_work: dict[str, dict[Place, float]] = {
            flow.id: {
                **{
                    (node, resource): cost
                    for node, costs in flow.node_costs.items()
                    for resource, cost in costs.items()
                },
                **{("", link): cost for link, cost in flow.link_costs.items()},
            }
            for flow in problem.flows
        }
        self.class_work: dict[str, dict[Place, float]] = {
            row.id: {(row.node, resource): cost for resource, cost in row.costs.items()}
            for row in problem.classes
        }
        capacity: dict[Place, float] = {
            (node.id, resource): amount
            for node in problem.nodes
            for resource, amount in node.capacity.items()
        }
        capacity.update({("", link.id): link.capacity for link in problem.links})
        proposed = self.loads(proposal)
        # The proposal itself must fit, even where rounding lifts a load above a capacity.
        self.limit = {
            place: max(amount * (1 + MARGIN), proposed.get(place, 0.0))
            for place, amount in capacity.items()
        }
        self._worth: dict[tuple[str, float], float] = {}

    def loads(self, values: Values) -> dict[Place, float]:
        """Compute the load of every node resource and link afresh from the values."""
        nodes, links = loads(self.problem, values.rates, values.populations)
        found: dict[Place, float] = {
            (node, resource): load for node, of in nodes.items() for resource, load in of.items()
        }
        found.update({("", link): load for link, load in links.items()})
        return found

    def worth(self, name: str, rate: float) -> float:
        """Return the utility of one consumer of the class at this rate."""
        key = name, rate
        if key not in self._worth:
            self._worth[key] = float(self.classes[name].utility.value(rate))
        return self._worth[key]

    def utility(self, values: Values) -> float:
        """Return the utility of all admitted consumers, summed exactly."""
        return math.fsum(
            values.populations[row.id] * self.worth(row.id, values.rates[row.flow])
            for row in self.problem.classes
            if values.populations[row.id]
        )

    def fits(self, values: Values) -> bool:
        """Return whether no load exceeds its limit."""
        found = self.loads(values)
        return all(found.get(place, 0.0) <= limit for place, limit in self.limit.items())


class State:
    """Hold values with their loads and work per flow; `set` changes one value."""

    def __init__(self, ground: Ground, values: Values) -> None:
        self.ground = ground
        self.rates = dict(values.rates)
        self.populations = dict(values.populations)
        self.loads = ground.loads(values)
        self.work = {
            flow: _sum(
                ground.flow_work[flow],
                ((ground.class_work[c], self.populations[c]) for c in ground.of_flow[flow]),
            )
            for flow in ground.flows
        }

    def value(self, change: Change) -> float:
        """Return the current value of what the change concerns."""
        table: Mapping[str, float] = self.rates if change.kind == RATE else self.populations
        return table[change.id]

    def effect(self, change: Change, value: float) -> tuple[float, dict[Place, float]]:
        """Return the utility and the loads that setting the value would add."""
        ground = self.ground
        if change.kind == RATE:
            old = self.rates[change.id]
            gain = math.fsum(
                self.populations[c] * (ground.worth(c, value) - ground.worth(c, old))
                for c in ground.of_flow[change.id]
                if self.populations[c]
            )
            return gain, {p: (value - old) * w for p, w in self.work[change.id].items() if w}
        rate = self.rates[ground.classes[change.id].flow]
        more = value - self.populations[change.id]
        work = ground.class_work[change.id]
        return (
            more * ground.worth(change.id, rate) if more else 0.0,
            {p: more * rate * w for p, w in work.items() if w and rate},
        )

    def set(self, change: Change, value: float) -> None:
        """Set the value and update the loads that it affects."""
        _, added = self.effect(change, value)
        if change.kind == POPULATION:
            flow = self.ground.classes[change.id].flow
            more = int(value) - self.populations[change.id]
            for place, cost in self.ground.class_work[change.id].items():
                self.work[flow][place] = self.work[flow].get(place, 0.0) + more * cost
            self.populations[change.id] = int(value)
        else:
            self.rates[change.id] = value
        for place, load in added.items():
            self.loads[place] = self.loads.get(place, 0.0) + load

    def over(self, added: Mapping[Place, float] | None = None) -> list[Place]:
        """List the places above their limit. With `added`, list only the places where it adds load,
        after adding it."""
        if added is None:
            return [p for p, limit in self.ground.limit.items() if self.loads.get(p, 0.0) > limit]
        return [
            p
            for p, load in added.items()
            if load > 0 and self.loads.get(p, 0.0) + load > self.ground.limit.get(p, math.inf)
        ]

    def room(self, work: Mapping[Place, float]) -> float:
        """Return how many units of this work fit into the free capacity."""
        return min(
            (
                max(0.0, self.ground.limit.get(p, math.inf) - self.loads.get(p, 0.0)) / w
                for p, w in work.items()
                if w > 0
            ),
            default=math.inf,
        )

    def values(self) -> Values:
        """Return a copy of the current values."""
        return Values(rates=dict(self.rates), populations=dict(self.populations))


def charge(policy: Judgement, change: Change, value: float) -> float:
    """Return what changing the value from `change.before` to `value` costs."""
    if change.kind == POPULATION:
        return policy.charge_per_consumer * abs(value - change.before)
    larger = max(value, change.before)
    return policy.charge_per_rate_change * (abs(value - change.before) / larger if larger else 0.0)


def _sum(base: Mapping[Place, float], others: object) -> dict[Place, float]:
    total = dict(base)
    for work, count in others:  # type: ignore[attr-defined]
        for place, cost in work.items():
            total[place] = total.get(place, 0.0) + count * cost
    return total
