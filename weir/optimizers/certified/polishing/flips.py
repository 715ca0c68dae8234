"""Large changes: a class opened or closed, a flow moved to another of its good rates.

Because a class joins its flow only where a consumer is worth its price, the worth of a flow at
given prices has several humps over its rate, each with its own set of classes. Hill climbing
stays on its hump; a *flip* sets a flow's classes to those of another hump (or one class to
nobody or everybody) and lets the search start from there.
"""

from __future__ import annotations

import numpy as np

from weir.allocation.layout import IntArray
from weir.allocation.shapes import value_at
from weir.compiled import compiled
from weir.optimizers.certified.polishing.grid import Grid
from weir.optimizers.certified.polishing.rates import HEADROOM
from weir.utility import FloatArray

RATES = 96
"""Rates per flow at which its worth is looked at."""

HUMPS = 8
"""Humps per flow that are kept, the highest first."""


@compiled
def humps(
    grid: Grid, price: FloatArray, i: int, classes: IntArray, found: FloatArray
) -> tuple[int, FloatArray]:
    """Rates of the humps of flow i, and in row h of `found` the populations of its classes."""
    low, high = grid.at.rate_min[i], grid.high[i]
    base = 0.0
    for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
        base += grid.entry_base[e] * price[grid.entry_row[e]]
        if grid.entry_base[e] > 0.0:
            room = grid.limit[grid.entry_row[e]] / grid.entry_base[e]
            high = min(high, low + HEADROOM * room)
    cost = np.zeros(len(classes))
    for a in range(len(classes)):
        for k in range(grid.part_entry.shape[1]):
            e = grid.part_entry[classes[a], k]
            if e >= 0:
                cost[a] += grid.part_cost[classes[a], k] * price[grid.entry_row[e]]
                high = min(
                    high,
                    low + HEADROOM * grid.limit[grid.entry_row[e]] / grid.part_cost[classes[a], k],
                )
    start = max(low, 1e-6 * high)
    height, rates = np.zeros(RATES), np.zeros(RATES)
    for s in range(RATES):
        r = start * (high / start) ** (s / (RATES - 1.0)) if start > 0.0 else 0.0
        rates[s] = r
        height[s] = -base * r
        for a in range(len(classes)):
            height[s] += grid.most[classes[a]] * max(0.0, _margin(grid, classes[a], cost[a], r))
    kept, heights = np.zeros(HUMPS), np.full(HUMPS, -np.inf)
    count = 0
    for s in range(RATES):
        is_top = (s == 0 or height[s] > height[s - 1]) and (
            s == RATES - 1 or height[s] >= height[s + 1]
        )
        if not is_top:
            continue
        place = min(count, HUMPS - 1)
        if count == HUMPS and height[s] <= heights[place]:
            continue
        while place > 0 and heights[place - 1] < height[s]:
            heights[place], kept[place] = heights[place - 1], kept[place - 1]
            place -= 1
        heights[place], kept[place] = height[s], rates[s]
        count = min(count + 1, HUMPS)
    for h in range(count):
        for a in range(len(classes)):
            is_worth = _margin(grid, classes[a], cost[a], kept[h]) > 0.0
            found[h, a] = grid.most[classes[a]] if is_worth else 0.0
    return count, kept


@compiled
def _margin(grid: Grid, j: int, cost: float, rate: float) -> float:
    shape = grid.term_shape[grid.class_term[j]]
    margin: float = grid.at.scale[j] * value_at(grid.at, shape, rate) - cost * rate
    return margin
