"""Algorithms 1 to 3 of Lumezanu et al. (ICDCS 2006) word by word, one flow and class at a time.

The baseline of the benchmark and the oracle of the tests. It shares no code with the kernel's
LRGP. One resource, no links in need of a price, one shape of utility per flow (log or power).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weir.model import ConsumerClass, Flow, Problem

GAMMA_LOW, GAMMA_HIGH, GAMMA_INCREMENT = 0.001, 0.1, 0.001


def rate_of(flow: Flow, weight: float, exponent: float | None, price: float) -> float:
    """Algorithm 1, step 2: the derivative of equation 7 set to 0, within the bounds."""
    if weight == 0:
        return flow.rate_min
    if price == 0:
        return flow.rate_max
    if exponent is None:
        rate = weight / price - 1
    else:
        rate = (weight * exponent / price) ** (1 / (1 - exponent))
    return min(max(rate, flow.rate_min), flow.rate_max)


def lrgp(problem: Problem, iterations: int) -> tuple[list[float], dict[str, float], dict[str, int]]:
    """Utility after each iteration, the last rates and the last populations."""
    (resource,) = problem.resources
    classes_of: dict[str, list[ConsumerClass]] = {flow.id: [] for flow in problem.flows}
    classes_at: dict[str, list[ConsumerClass]] = {node.id: [] for node in problem.nodes}
    flow_cost: dict[str, list[tuple[str, float]]] = {node.id: [] for node in problem.nodes}
    for consumers in sorted(problem.classes, key=lambda entry: entry.id):
        classes_of[consumers.flow].append(consumers)
        classes_at[consumers.node].append(consumers)
    for flow in problem.flows:
        for node_id, costs in flow.node_costs.items():
            flow_cost[node_id].append((flow.id, costs[resource]))
    price = {node.id: 0.0 for node in problem.nodes}
    gamma = {node.id: GAMMA_HIGH for node in problem.nodes}
    last_move = {node.id: 0.0 for node in problem.nodes}
    population = {consumers.id: 0 for consumers in problem.classes}
    rate: dict[str, float] = {}
    trace = []
    for _ in range(iterations):
        for flow in problem.flows:  # Algorithm 1 at each source
            weight, exponent = 0.0, None
            per_message = sum(costs[resource] * price[b] for b, costs in flow.node_costs.items())
            for consumers in classes_of[flow.id]:
                admitted = population[consumers.id]
                weight += admitted * consumers.utility.scale
                exponent = getattr(consumers.utility, "exponent", None)
                per_message += consumers.costs[resource] * admitted * price[consumers.node]
            rate[flow.id] = rate_of(flow, weight, exponent, per_message)
        utility = 0.0
        for node in problem.nodes:  # Algorithm 2 at each node
            used = sum(cost * rate[flow_id] for flow_id, cost in flow_cost[node.id])
            ranked = []
            for consumers in classes_at[node.id]:
                r = rate[consumers.flow]
                exponent = getattr(consumers.utility, "exponent", None)
                worth = consumers.utility.scale * (
                    math.log(1 + r) if exponent is None else r**exponent
                )
                ranked.append((-worth / (consumers.costs[resource] * r), consumers, worth))
            ranked.sort(key=lambda entry: entry[0])
            best_waiting, full = 0.0, False
            for minus_ratio, consumers, worth in ranked:
                load = consumers.costs[resource] * rate[consumers.flow]
                room = 0 if full else math.floor(max(node.capacity[resource] - used, 0) / load)
                admitted = min(room, consumers.population_max)
                population[consumers.id] = admitted
                used += admitted * load
                utility += admitted * worth
                if admitted < consumers.population_max:
                    best_waiting, full = max(best_waiting, -minus_ratio), True
            if used <= node.capacity[resource]:  # equation 12
                move = gamma[node.id] * (best_waiting - price[node.id])
            else:
                move = gamma[node.id] * (used - node.capacity[resource])
            turned = move * last_move[node.id] < 0
            step = gamma[node.id] / 2 if turned else gamma[node.id] + GAMMA_INCREMENT
            gamma[node.id] = min(max(step, GAMMA_LOW), GAMMA_HIGH)
            price[node.id] += move
            last_move[node.id] = move
        trace.append(utility)
    return trace, rate, population
