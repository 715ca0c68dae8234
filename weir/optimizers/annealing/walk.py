"""Simulated annealing over rates and whole populations, compiled.

A step picks a flow or a class, moves it a little or a lot (the width is drawn log-uniformly over
WIDTHS decades of its range), and keeps the move if everything still fits and

    gain >= 0   or   a uniform draw lies below exp(gain / temperature).

The paper does not say how a neighbour is made; this is ours. Loads are kept up to date by the
differences and added up anew each round, so that rounding does not gather.

The generator is splitmix64 with its state in an array: the same seed gives the same bits whatever
thread runs it, and nothing is shared.

Cost: a step on a class is O(K), on a flow O(its classes).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from weir.allocation.layout import IntArray, Layout
from weir.allocation.shapes import value_at
from weir.compiled import compiled
from weir.utility import FloatArray

Chance = npt.NDArray[np.uint64]
"""One number: the state of the generator."""

WIDTHS = 4.0
"""Decades of move widths: from the whole range down to a ten-thousandth of it."""

ROOM = 1e-11
"""Load that may exceed capacity, relative to it: decimal costs are rounded in binary."""


@compiled
def uniform(state: Chance) -> float:
    """Return the next number in [0, 1)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def add_up(at: Layout, rates: FloatArray, populations: FloatArray, load: FloatArray) -> None:
    """Compute the load of every row afresh into `load`."""
    load[:] = 0.0
    for i in range(len(rates)):
        _add_flow(at, i, rates[i], populations, load)


@compiled
def _add_flow(at: Layout, i: int, by: float, populations: FloatArray, load: FloatArray) -> None:
    """What a change of a flow's rate by `by` loads."""
    for e in range(at.cost_start[i], at.cost_start[i + 1]):
        load[at.cost_row[e]] += at.cost[e] * by
    for j in range(at.class_start[i], at.class_start[i + 1]):
        if populations[j] > 0:
            for k in range(at.unit_costs.shape[1]):
                load[at.class_row[j] + k] += at.unit_costs[j, k] * populations[j] * by


@compiled
def _flow_fits(
    at: Layout, i: int, populations: FloatArray, load: FloatArray, capacity: FloatArray
) -> bool:
    for e in range(at.cost_start[i], at.cost_start[i + 1]):
        row = at.cost_row[e]
        if at.cost[e] > 0 and load[row] > capacity[row] * (1.0 + ROOM):
            return False
    for j in range(at.class_start[i], at.class_start[i + 1]):
        if populations[j] > 0:
            for k in range(at.unit_costs.shape[1]):
                row = at.class_row[j] + k
                if at.unit_costs[j, k] > 0 and load[row] > capacity[row] * (1.0 + ROOM):
                    return False
    return True


@compiled
def _kept(state: Chance, gain: float, temperature: float) -> bool:
    return gain >= 0.0 or uniform(state) < math.exp(gain / temperature)


@compiled
def _move_rate(
    at: Layout,
    i: int,
    capacity: FloatArray,
    load: FloatArray,
    rates: FloatArray,
    populations: FloatArray,
    state: Chance,
    temperature: float,
) -> float:
    low, high, rate = at.rate_min[i], at.rate_max[i], rates[i]
    width = (high - low) * 10.0 ** (-WIDTHS * uniform(state))
    moved = min(max(rate + (2.0 * uniform(state) - 1.0) * width, low), high)
    if moved == rate:
        return 0.0
    gain = 0.0
    for j in range(at.class_start[i], at.class_start[i + 1]):
        if populations[j] > 0:
            s = at.shape[j]
            rise = value_at(at, s, moved) - value_at(at, s, rate)
            gain += populations[j] * at.scale[j] * rise
    if not _kept(state, gain, temperature):
        return 0.0
    _add_flow(at, i, moved - rate, populations, load)
    if moved > rate and not _flow_fits(at, i, populations, load, capacity):
        _add_flow(at, i, rate - moved, populations, load)
        return 0.0
    rates[i] = moved
    return gain


@compiled
def _move_population(
    at: Layout,
    j: int,
    rate: float,
    capacity: FloatArray,
    load: FloatArray,
    populations: FloatArray,
    state: Chance,
    temperature: float,
) -> float:
    most = at.population_max[j]
    width = max(1.0, most * 10.0 ** (-WIDTHS * uniform(state)))
    by = math.ceil(uniform(state) * width)
    if uniform(state) < 0.5:
        by = -by
    by = min(max(populations[j] + by, 0.0), most) - populations[j]
    if by == 0.0:
        return 0.0
    gain = by * at.scale[j] * value_at(at, at.shape[j], rate)
    if not _kept(state, gain, temperature):
        return 0.0
    for k in range(at.unit_costs.shape[1]):
        row = at.class_row[j] + k
        more = at.unit_costs[j, k] * rate * by
        if more > 0 and load[row] + more > capacity[row] * (1.0 + ROOM):
            return 0.0
    for k in range(at.unit_costs.shape[1]):
        load[at.class_row[j] + k] += at.unit_costs[j, k] * rate * by
    populations[j] += by
    return float(gain)


@compiled
def anneal(
    at: Layout,
    class_flow: IntArray,
    capacity: FloatArray,
    rates: FloatArray,
    populations: FloatArray,
    state: Chance,
    temperature: float,
    steps: int,
) -> float:
    """Some steps at one temperature; changes rates and populations, gives the gain."""
    flows, classes = len(rates), len(populations)
    load = np.zeros(len(capacity))
    add_up(at, rates, populations, load)
    gained = 0.0
    for _ in range(steps):
        chosen = int(uniform(state) * (flows + classes))
        if chosen < flows:
            gained += _move_rate(at, chosen, capacity, load, rates, populations, state, temperature)
        else:
            j = chosen - flows
            gained += _move_population(
                at, j, rates[class_flow[j]], capacity, load, populations, state, temperature
            )
    return gained
