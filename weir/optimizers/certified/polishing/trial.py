"""One change of some populations, judged exactly: the rates are solved anew and both are kept
or both are taken back.

`gain_bound` is what makes searches cheap. At the present prices p the value after a change n'
is at most d(p; n') by weak duality, and d is a sum over flows: a change of one class costs one
flow's one-dimensional problem, and a change that cannot pay is refused without solving anything.
"""

from __future__ import annotations

import numpy as np

from weir.allocation.layout import IntArray
from weir.allocation.shapes import value_at
from weir.compiled import compiled, compiled_inside
from weir.optimizers.certified.polishing.grid import Grid, Point
from weir.optimizers.certified.polishing.rates import HEADROOM, best_rates, refresh
from weir.optimizers.certified.polishing.response import best_rate, worth
from weir.utility import FloatArray

BETTER = 1e-12
"""A change is kept if it brings more than this share of the utility."""

ITERATIONS = 40
"""Newton steps at most per solution of the rates; it takes about five from near prices."""


@compiled_inside
def add(grid: Grid, point: Point, j: int, more: float) -> None:
    """Change one population, and the entries and the term that feel it."""
    point.population[j] += more
    point.weight[grid.class_term[j]] += more * grid.at.scale[j]
    for k in range(grid.part_entry.shape[1]):
        if grid.part_entry[j, k] >= 0:
            point.coef[grid.part_entry[j, k]] += more * grid.part_cost[j, k]


@compiled_inside
def flow_dual(grid: Grid, point: Point, i: int) -> float:
    """Return worth minus cost of flow i at its best rate."""
    coef, weight, price = point.coef, point.weight, point.price
    cost, low, top = 0.0, grid.at.rate_min[i], grid.high[i]
    for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
        cost += coef[e] * price[grid.entry_row[e]]
        if coef[e] > 0.0:
            top = min(top, low + HEADROOM * grid.limit[grid.entry_row[e]] / coef[e])
    rate, _ = best_rate(grid, weight, i, cost, low, top, 0.0, 0.0)
    return worth(grid, weight, i, rate) - cost * rate


@compiled_inside
def gain_bound(grid: Grid, point: Point, classes: IntArray, more: FloatArray) -> float:
    """Return an upper bound of what the change gains at these prices; classes may share a flow."""
    before, after = 0.0, 0.0
    for a in range(len(classes)):
        i, is_first = grid.class_flow[classes[a]], True
        for b in range(a):
            is_first = is_first and grid.class_flow[classes[b]] != i
        if is_first:
            before += flow_dual(grid, point, i)
    for a in range(len(classes)):
        add(grid, point, classes[a], more[a])
    for a in range(len(classes)):
        i, is_first = grid.class_flow[classes[a]], True
        for b in range(a):
            is_first = is_first and grid.class_flow[classes[b]] != i
        if is_first:
            after += flow_dual(grid, point, i)
    for a in range(len(classes)):
        add(grid, point, classes[a], -more[a])
    return after - before


@compiled_inside
def attempt(grid: Grid, point: Point, value: float, classes: IntArray, more: FloatArray) -> float:
    """The value after the change if that is better, with everything updated; else as before."""
    before = point.population.copy()
    for a in range(len(classes)):
        add(grid, point, classes[a], more[a])
    price, rate = point.price.copy(), point.rate.copy()
    new = Point(point.population, point.coef, point.weight, price, rate)
    target = value + BETTER * abs(value)
    # As a number of its type: for a constant numba would compile `best_rates` once more.
    iterations = int(np.int64(ITERATIONS))
    found, _ = best_rates(grid, new, target, iterations)
    is_better = found > target
    if is_better:
        point.price[:] = new.price
        point.rate[:] = new.rate
    else:
        point.population[:] = before
    refresh(grid, point)  # from scratch: sums of changes would drift
    return found if is_better else value


@compiled
def margins(
    grid: Grid, price: FloatArray, rate: FloatArray, gain: FloatArray, share: FloatArray
) -> None:
    """Per class: worth of one consumer minus its cost, and the share of a row that it takes."""
    for j in range(len(gain)):
        i = grid.class_flow[j]
        r = rate[i]
        cost, most = 0.0, 0.0
        for k in range(grid.part_entry.shape[1]):
            if grid.part_entry[j, k] >= 0:
                load = grid.part_cost[j, k] * r
                cost += price[grid.entry_row[grid.part_entry[j, k]]] * load
                most = max(most, load)
        worth_of_one = grid.at.scale[j] * value_at(grid.at, grid.term_shape[grid.class_term[j]], r)
        gain[j] = worth_of_one - cost
        share[j] = most
