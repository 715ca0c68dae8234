"""The whole allocation problem as a mixed-integer nonlinear program for SCIP.

Rates are continuous, populations whole, loads and worths contain their products: SCIP solves it to
global optimality where it can. An oracle for tests and an alternative in `benchmarks.alternatives`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyscipopt

from weir.utility.latency import Latency
from weir.utility.linear import Linear
from weir.utility.log import Log
from weir.utility.piecewise import Piecewise
from weir.utility.power import Power

if TYPE_CHECKING:
    from weir.model import Problem
    from weir.utility import Utility


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What SCIP found; empty where it found nothing in its time."""

    rates: dict[str, float]
    populations: dict[str, int]
    upper_bound: float
    status: str


def solve(problem: Problem, *, seconds: float, gap: float = 1e-7) -> Answer:
    """The best allocation within the time; feasible to SCIP's own tolerance of 1e-6."""
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/time", seconds)
    model.setParam("limits/gap", gap)
    rates = {
        flow.id: model.addVar(f"r_{flow.id}", lb=flow.rate_min, ub=flow.rate_max)
        for flow in problem.flows
    }
    populations = {
        consumers.id: model.addVar(
            f"n_{consumers.id}", vtype="I", lb=0, ub=consumers.population_max
        )
        for consumers in problem.classes
    }
    _add_capacities(model, problem, rates, populations)
    worths = []
    for consumers in problem.classes:
        admitted = populations[consumers.id]
        worth = model.addVar(f"z_{consumers.id}", lb=None, ub=None)
        height = _height(model, consumers.utility, rates[consumers.flow], consumers.id)
        model.addCons(worth <= admitted * height)
        worths.append(worth)
    model.setObjective(pyscipopt.quicksum(worths), "maximize")
    model.optimize()
    found = model.getNSols() > 0
    return Answer(
        rates={key: model.getVal(var) for key, var in rates.items()} if found else {},
        populations={key: round(model.getVal(var)) for key, var in populations.items()}
        if found
        else {},
        upper_bound=model.getDualbound(),
        status=model.getStatus(),
    )


def _add_capacities(
    model: Any, problem: Problem, rates: dict[str, Any], populations: dict[str, Any]
) -> None:
    for node in problem.nodes:
        for resource in problem.resources:
            load = [
                flow.node_costs[node.id].get(resource, 0.0) * rates[flow.id]
                for flow in problem.flows
                if node.id in flow.node_costs
            ]
            load += [
                consumers.costs.get(resource, 0.0)
                * populations[consumers.id]
                * rates[consumers.flow]
                for consumers in problem.classes
                if consumers.node == node.id
            ]
            if load:
                model.addCons(pyscipopt.quicksum(load) <= node.capacity[resource])
    for link in problem.links:
        load = [
            flow.link_costs[link.id] * rates[flow.id]
            for flow in problem.flows
            if link.id in flow.link_costs
        ]
        if load:
            model.addCons(pyscipopt.quicksum(load) <= link.capacity)


def _height(model: Any, utility: Utility, rate: Any, name: str) -> Any:
    """Worth of one consumer, as an expression in the rate."""
    if isinstance(utility, Log):
        return utility.weight * pyscipopt.log(1 + rate)
    if isinstance(utility, Power):
        return utility.weight * rate**utility.exponent
    if isinstance(utility, Linear):
        return utility.weight * rate
    assert isinstance(utility, Piecewise | Latency)
    knots = utility.points if isinstance(utility, Piecewise) else utility.knots
    height = model.addVar(f"u_{name}", lb=None, ub=knots[-1][1])
    for (x0, y0), (x1, y1) in pairwise(knots):
        model.addCons(height <= y0 + (y1 - y0) / (x1 - x0) * (rate - x0))
    return height
