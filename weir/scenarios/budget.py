"""A budget of capacity: so much of a resource over several nodes, in proportion or where best.

`best` is exact, not a search. If capacity may be divided freely, the only constraint left is
that the nodes' loads add up to the budget; that is a problem in which these nodes are one node
("the pool"), with the flows' and classes' costs added there. The optimum of the pooled problem
is the optimum over all divisions, its price is what one more unit of budget is worth, and the
load of each former node is the capacity that it should get (`division`).

Other resources of the pooled nodes stay apart: each becomes a resource of the pool under the
name `<resource> at <node>`.

With `unit_costs` the budget is money: a unit of capacity costs so much at each node (1 where
none is given), and what is limited is the sum of cost times capacity. The pool then holds
money, and every cost of work at a node counts times the node's unit cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from weir.codec.problem import MAX_ID_LENGTH, MAX_RESOURCES
from weir.errors import InvalidProblem, join_path
from weir.model import Forwarding, Node, loads
from weir.reading import amount, members, number, shown
from weir.scenarios._protocol import Measure
from weir.scenarios._reading import ids_or_all, text, within_range
from weir.scenarios.capacities import priced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from weir.model import Problem, Result

SPREADS = ("best", "in_proportion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Divide `total` (or `scale` times what today's capacity costs) of a resource over nodes."""

    KIND: ClassVar[str] = "budget"
    NUMBERS: ClassVar[tuple[str, ...]] = ("total", "scale")
    NAMES: ClassVar[tuple[str, ...]] = ("spread",)

    resource: str
    nodes: tuple[str, ...] | None = None
    """None: all."""
    total: float | None = None
    scale: float | None = None
    spread: str = "best"
    unit_costs: Mapping[str, float] = field(default_factory=dict)
    """By node id; a node left out costs 1 per unit, so that the budget is in units."""

    @classmethod
    def read(cls, obj: dict[str, Any], path: str) -> Budget:
        members(obj, path, ("resource", "nodes"), ("total", "scale", "spread", "unit_costs"))
        if ("total" in obj) == ("scale" in obj):
            raise InvalidProblem(path, 'give either "total" or "scale", a factor on today\'s sum')
        spread = obj.get("spread", "best")
        if spread not in SPREADS:
            known = ", ".join(SPREADS)
            raise InvalidProblem(join_path(path, "spread"), f"must be one of {known}")
        return cls(
            resource=text(obj["resource"], join_path(path, "resource")),
            nodes=ids_or_all(obj["nodes"], join_path(path, "nodes")),
            total=amount(obj["total"], join_path(path, "total")) if "total" in obj else None,
            scale=amount(obj["scale"], join_path(path, "scale")) if "scale" in obj else None,
            spread=spread,
            unit_costs=_unit_costs(obj.get("unit_costs", {}), join_path(path, "unit_costs")),
        )

    def plain(self) -> dict[str, Any]:
        size = {"total": self.total} if self.total is not None else {"scale": self.scale}
        return {
            "resource": self.resource,
            "nodes": "all" if self.nodes is None else list(self.nodes),
            "spread": self.spread,
            **({"unit_costs": dict(self.unit_costs)} if self.unit_costs else {}),
            **size,
        }

    def refers_to(self) -> Iterator[tuple[str, str, str]]:
        yield "resource", "resource", self.resource
        for index, name in enumerate(self.nodes or ()):
            yield f"nodes[{index}]", "node", name
        for name in self.unit_costs:
            yield f"unit_costs.{name}", "node", name

    def _chosen(self, problem: Problem) -> tuple[Node, ...]:
        if self.nodes is None:
            return problem.nodes
        chosen = frozenset(self.nodes)
        return tuple(node for node in problem.nodes if node.id in chosen)

    def _cost(self, node: str) -> float:
        return self.unit_costs.get(node, 1.0)

    def _worth(self, nodes: tuple[Node, ...]) -> float:
        """What the capacity of these nodes costs, in the budget's unit."""
        return math.fsum(node.capacity[self.resource] * self._cost(node.id) for node in nodes)

    def _total(self, nodes: tuple[Node, ...]) -> float:
        if self.total is not None:
            return self.total
        size = self._worth(nodes) * (self.scale or 0.0)
        return within_range(size, "scale", f"{self.resource} budget")

    def apply(self, problem: Problem) -> Problem:
        nodes = self._chosen(problem)
        if not nodes:
            raise InvalidProblem("nodes", "there is no node to divide the budget over")
        total = self._total(nodes)
        if self.spread == "best":
            return _pooled(problem, nodes, self, total)
        now = self._worth(nodes)
        if now <= 0:
            raise InvalidProblem(
                "spread", f"these nodes have no {self.resource} to be in proportion to; use best"
            )
        gets = {
            node.id: {
                **node.capacity,
                self.resource: within_range(
                    total * (node.capacity[self.resource] / now),
                    "total" if self.scale is None else "scale",
                    f"{self.resource} capacity of node {node.id}",
                ),
            }
            for node in nodes
        }
        return replace(
            problem,
            nodes=tuple(
                replace(node, capacity=gets[node.id]) if node.id in gets else node
                for node in problem.nodes
            ),
        )

    def measure(self, problem: Problem, result: Result) -> Measure:
        pool = next((node for node in problem.nodes if node.id == pool_id(self.resource)), None)
        if pool is not None:
            price = result.node_prices.get(pool.id, {}).get(self.resource, 0.0)
            return Measure(quantity=pool.capacity[self.resource], marginal=price)
        # Prices per unit of capacity become prices per unit of the budget.
        held = [
            (
                node.capacity[self.resource] * self._cost(node.id),
                result.node_prices.get(node.id, {}).get(self.resource, 0.0) / self._cost(node.id),
            )
            for node in self._chosen(problem)
        ]
        if self.spread == "best" and held:
            # The model as it is has no pool: one more unit goes where it is worth most.
            quantity = math.fsum(cost for cost, _ in held)
            return Measure(quantity=quantity, marginal=max(price for _, price in held))
        return priced(held)

    def capacities(self, problem: Problem) -> dict[str, float]:
        """What each of its nodes that `problem` still has holds; empty without the resource."""
        if self.resource not in problem.resources:
            return {}
        chosen = self._chosen(problem)
        return {
            node.id: node.capacity[self.resource]
            for node in chosen
            if node.id != pool_id(self.resource)
        }

    def division(self, before: Problem, result: Result) -> dict[str, float]:
        """What each node of the pool should get: its load in the pooled problem's answer."""
        node_loads, _ = loads(before, result.rates, result.populations)
        return {
            node.id: node_loads[node.id].get(self.resource, 0.0) for node in self._chosen(before)
        }


def _unit_costs(obj: object, path: str) -> dict[str, float]:
    if not isinstance(obj, dict):
        raise InvalidProblem(path, f"must be an object of node and cost, not {shown(obj)}")
    costs = {}
    for name, value in obj.items():
        at = f"{path}.{name}"
        costs[name] = number(value, at)
        if costs[name] <= 0:
            raise InvalidProblem(at, f"must be above 0, but is {costs[name]:g}; leave it out for 1")
    return costs


def pool_id(resource: str) -> str:
    """The name of the node that stands for all nodes of the pool."""
    return f"pool of {resource}"


def _pooled(problem: Problem, nodes: tuple[Node, ...], budget: Budget, total: float) -> Problem:
    if problem.forwarding is Forwarding.WANTED:
        raise InvalidProblem(
            "forwarding",
            "nodes cannot be pooled where flows go only where they are wanted: what a flow costs "
            'at the pool depends on which of its nodes it goes to; set it to "always"',
        )
    resource = budget.resource
    pool = pool_id(resource)
    gone = frozenset(node.id for node in nodes)
    if any(node.id == pool and pool not in gone for node in problem.nodes):
        raise InvalidProblem("nodes", f"a node is already called {shown(pool)}; rename it")
    others = tuple(name for name in problem.resources if name != resource)
    apart = [f"{name} at {node.id}" for node in nodes for name in others]
    resources = tuple(dict.fromkeys([*problem.resources, *apart]))
    if len(resources) != len(problem.resources) + len(apart):
        raise InvalidProblem("nodes", f"a resource is already called like one of {apart[0]!r}")
    if len(resources) > MAX_RESOURCES:
        raise InvalidProblem(
            "nodes",
            f"{len(nodes)} nodes with {len(others) + 1} resources need {len(resources)} names; "
            f"a problem has at most {MAX_RESOURCES}. Pool fewer nodes",
        )
    longest = max([*apart, pool], key=len)
    if len(longest) > MAX_ID_LENGTH:
        raise InvalidProblem("nodes", f"the name {shown(longest)} would be too long")
    nothing = dict.fromkeys(resources, 0.0)
    capacity = nothing | {resource: total}
    for node in nodes:
        capacity |= {f"{name} at {node.id}": node.capacity[name] for name in others}
    return replace(
        problem,
        resources=resources,
        nodes=(
            *(
                replace(node, capacity=nothing | dict(node.capacity))
                for node in problem.nodes
                if node.id not in gone
            ),
            Node(id=pool, capacity=capacity),
        ),
        flows=tuple(
            flow
            if gone.isdisjoint(flow.node_costs)
            else replace(flow, node_costs=_joined(flow.node_costs, gone, pool, budget))
            for flow in problem.flows
        ),
        classes=tuple(
            replace(row, node=pool, costs=_renamed(row.costs, row.node, budget))
            if row.node in gone
            else row
            for row in problem.classes
        ),
    )


def _renamed(costs: Mapping[str, float], node: str, budget: Budget) -> dict[str, float]:
    """Costs of work at a node as costs at the pool: the budget's resource in the budget's unit."""
    unit = budget.unit_costs.get(node, 1.0)
    what = f"{budget.resource} cost of work at {node}"
    return {
        **{f"{name} at {node}": cost for name, cost in costs.items() if name != budget.resource},
        **{
            name: within_range(cost * unit, f"unit_costs.{node}", what)
            for name, cost in costs.items()
            if name == budget.resource
        },
    }


def _joined(
    node_costs: Mapping[str, Mapping[str, float]], gone: frozenset[str], pool: str, budget: Budget
) -> dict[str, Mapping[str, float]]:
    kept = {node: costs for node, costs in node_costs.items() if node not in gone}
    at_pool: dict[str, float] = {}
    what = f"{budget.resource} cost of a flow at the pool"
    for node, costs in node_costs.items():
        if node in gone:
            for name, cost in _renamed(costs, node, budget).items():
                at_pool[name] = within_range(at_pool.get(name, 0.0) + cost, "nodes", what)
    return {**kept, pool: at_pool}
