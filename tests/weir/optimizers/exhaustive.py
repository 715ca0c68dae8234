"""Every whole population there is, each with its best rates: an oracle for tiny problems.

Independent of the kernel: for up to two flows the best rates at given populations are a concave
problem in one variable (the second flow takes what the first leaves), searched by thirds for all
populations at once. Utilities never fall, so a flow that is alone takes all it can.
"""

from __future__ import annotations

import itertools

import numpy as np

from weir.model import Problem

STEPS = 160


def brute_force(problem: Problem) -> float:
    """The largest utility of any feasible allocation; two flows at most, minimum rates fit."""
    flows, classes = problem.flows, problem.classes
    assert 1 <= len(flows) <= 2
    populations = np.array(
        list(itertools.product(*[range(c.population_max + 1) for c in classes])), dtype=float
    )
    rows: list[tuple[float, list[np.ndarray]]] = []
    for node in problem.nodes:
        for resource in problem.resources:
            costs = []
            for flow in flows:
                cost = np.full(
                    len(populations), flow.node_costs.get(node.id, {}).get(resource, 0.0)
                )
                for j, c in enumerate(classes):
                    if c.flow == flow.id and c.node == node.id:
                        cost += c.costs.get(resource, 0.0) * populations[:, j]
                costs.append(cost)
            rows.append((node.capacity[resource], costs))
    for link in problem.links:
        costs = [np.full(len(populations), flow.link_costs.get(link.id, 0.0)) for flow in flows]
        rows.append((link.capacity, costs))

    def most(of: int, others: list[np.ndarray]) -> np.ndarray:
        top = np.full(len(populations), flows[of].rate_max)
        for capacity, costs in rows:
            left = capacity - sum(
                (costs[i] * others[i] for i in range(len(flows)) if i != of),
                np.zeros(len(populations)),
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                top = np.minimum(top, np.where(costs[of] > 0, left / costs[of], np.inf))
        return top

    def utility(rates: list[np.ndarray]) -> np.ndarray:
        total = np.zeros(len(populations))
        at = {flow.id: i for i, flow in enumerate(flows)}
        for j, c in enumerate(classes):
            total += populations[:, j] * c.utility.value(np.maximum(rates[at[c.flow]], 0.0))
        return total

    least = [np.full(len(populations), flow.rate_min) for flow in flows]
    top = most(0, least)
    fits = top >= flows[0].rate_min * (1 - 1e-12)
    if len(flows) == 1:
        return float(np.max(utility([top])[fits]))
    fits &= most(1, least) >= flows[1].rate_min * (1 - 1e-12)

    def both(first: np.ndarray) -> np.ndarray:
        return utility([first, np.maximum(most(1, [first, least[1]]), flows[1].rate_min)])

    low, high = least[0], np.maximum(top, least[0])
    for _ in range(STEPS):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        rising = both(a) < both(b)
        low, high = np.where(rising, a, low), np.where(rising, high, b)
    ends = [both(least[0]), both(low), both(np.maximum(top, least[0]))]
    return float(np.max(np.maximum.reduce(ends)[fits]))
