"""Compiled parts of the primal: loads, rates in balance with capacities, greedy admission."""

from __future__ import annotations

import math

from weir.allocation.layout import Layout
from weir.allocation.shapes import rate_where, slope_at, value_at
from weir.compiled import compiled
from weir.optimizers.certified.flow_answer import CLOSE, MAX_HALVINGS, middle_of
from weir.utility import FloatArray


@compiled
def flow_loads(at: Layout, rates: FloatArray, loads: FloatArray) -> None:
    """Compute what the flows alone load on every row."""
    loads[:] = 0.0
    for i in range(len(at.rate_min)):
        for c in range(at.cost_start[i], at.cost_start[i + 1]):
            loads[at.cost_row[c]] += at.cost[c] * rates[i]


@compiled
def add_class_loads(
    at: Layout, rates: FloatArray, populations: FloatArray, loads: FloatArray
) -> None:
    """Adds what the admitted consumers load on every row."""
    kinds = at.unit_costs.shape[1]
    for i in range(len(at.rate_min)):
        for j in range(at.class_start[i], at.class_start[i + 1]):
            if populations[j] > 0.0:
                messages = populations[j] * rates[i]
                for k in range(kinds):
                    loads[at.class_row[j] + k] += at.unit_costs[j, k] * messages


@compiled
def scale_rates(at: Layout, rates: FloatArray, factor: FloatArray, most: FloatArray) -> None:
    """Each rate times the smallest factor on its way: down to its minimum, up to `most`."""
    for i in range(len(at.rate_min)):
        smallest = math.inf
        for c in range(at.cost_start[i], at.cost_start[i + 1]):
            if at.cost[c] > 0.0:
                smallest = min(smallest, factor[at.cost_row[c]])
        for j in range(at.class_start[i], at.class_start[i + 1]):
            for k in range(at.unit_costs.shape[1]):
                if at.unit_costs[j, k] > 0.0:
                    smallest = min(smallest, factor[at.class_row[j] + k])
        if smallest < 1.0:
            rates[i] = max(rates[i] * smallest, at.rate_min[i])
        elif 0.0 < rates[i] < most[i]:  # from 0 on no factor tells how far
            rates[i] = most[i] if smallest == math.inf else min(rates[i] * smallest, most[i])


@compiled
def desired_rates(
    at: Layout, prices: FloatArray, populations: FloatArray, rates: FloatArray
) -> None:
    """The best rate of each flow at these prices for these consumers, whoever else may wait."""
    for i in range(len(at.rate_min)):
        cost, gain = 0.0, 0.0
        for c in range(at.cost_start[i], at.cost_start[i + 1]):
            cost += at.cost[c] * prices[at.cost_row[c]]
        begin, end = at.class_start[i], at.class_start[i + 1]
        for j in range(begin, end):
            if populations[j] > 0.0:
                gain += populations[j] * at.scale[j]
                for k in range(at.unit_costs.shape[1]):
                    price = prices[at.class_row[j] + k]
                    cost += populations[j] * at.unit_costs[j, k] * price
        low, high = at.rate_min[i], at.rate_max[i]
        if gain <= 0.0:
            rates[i] = low
        elif not at.mixed[i]:
            rate = rate_where(at, at.shape[begin], cost / gain)
            rates[i] = min(max(rate, low), high)
        else:
            rates[i] = _mixed_rate(at, i, cost, populations)


@compiled
def _mixed_rate(at: Layout, i: int, cost: float, populations: FloatArray) -> float:
    """Where the falling marginal worth of several shapes meets the cost."""
    low, high = at.rate_min[i], at.rate_max[i]
    if marginal_worth(at, i, populations, high) >= cost:
        return high
    if marginal_worth(at, i, populations, low) <= cost:
        return low
    for _ in range(MAX_HALVINGS):
        if high - low <= CLOSE * high:
            break
        middle = middle_of(low, high)
        if marginal_worth(at, i, populations, middle) > cost:
            low = middle
        else:
            high = middle
    return high


@compiled
def marginal_worth(at: Layout, i: int, populations: FloatArray, rate: float) -> float:
    """Return what one more message per second of flow i is worth to these consumers."""
    total = 0.0
    for j in range(at.class_start[i], at.class_start[i + 1]):
        if populations[j] > 0.0:
            total += populations[j] * at.scale[j] * slope_at(at, at.shape[j], rate)
    return total


@compiled
def worths(at: Layout, rates: FloatArray, worth: FloatArray) -> None:
    """Compute what one consumer of each class gains at the present rates."""
    for i in range(len(at.rate_min)):
        last, height = -1, 0.0
        for j in range(at.class_start[i], at.class_start[i + 1]):
            if at.shape[j] != last:
                last = at.shape[j]
                height = value_at(at, last, rates[i])
            worth[j] = at.scale[j] * height


@compiled
def total_utility(populations: FloatArray, worth: FloatArray) -> float:
    """Return the sum of population times worth, with Neumaier's compensated summation."""
    total, lost = 0.0, 0.0
    for j in range(len(worth)):
        value = populations[j] * worth[j]
        after = total + value
        if abs(total) >= abs(value):
            lost += (total - after) + value
        else:
            lost += (value - after) + total
        total = after
    return total + lost
