"""An upper bound on every allocation whose populations lie in a box.

With prices p the Lagrangian separates by flow; inside a flow each class takes the end of its
interval that its margin v_j(r) = U_j(r) - cost_j r asks for:

    bound = sum of p + sum over i of max over r of [
                sum over j of max(low_j v_j, high_j v_j) - cost_i r ]

The bracket is not concave, but between two neighbouring zeros of the margins the set of
classes that want to be at their high end is fixed and it is. Each v_j is concave and has two
zeros at most, so a flow of c classes is 2 c + 1 concave problems in one variable.
"""

from __future__ import annotations

import numpy as np

from weir.allocation.shapes import rate_where, value_at
from weir.compiled import compiled
from weir.optimizers.certified.polishing.grid import Grid
from weir.optimizers.certified.polishing.rates import HEADROOM
from weir.optimizers.certified.polishing.response import best_rate, worth
from weir.utility import FloatArray

ZERO_STEPS = 60
POLYAK_STEPS = 12
RISE = 1e-13
"""Added to every bound, relative to it: sums are rounded."""


@compiled
def _margin(grid: Grid, j: int, cost: float, rate: float) -> float:
    shape = grid.term_shape[grid.class_term[j]]
    margin: float = grid.at.scale[j] * value_at(grid.at, shape, rate) - cost * rate
    return margin


@compiled
def _zero(grid: Grid, j: int, cost: float, negative: float, positive: float) -> float:
    """A zero of the margin between a rate where it is negative and one where it is not."""
    for _ in range(ZERO_STEPS):
        middle = 0.5 * (negative + positive)
        if _margin(grid, j, cost, middle) < 0.0:
            negative = middle
        else:
            positive = middle
    return 0.5 * (negative + positive)


@compiled
def _flow_bound(
    grid: Grid,
    i: int,
    price: FloatArray,
    low: FloatArray,
    high: FloatArray,
    weight: FloatArray,
    wanted: FloatArray,
) -> tuple[float, float]:
    """The largest bracket of flow i and its rate; `wanted` gets the populations there."""
    first, last = grid.at.class_start[i], grid.at.class_start[i + 1]
    least, top, base = grid.at.rate_min[i], grid.high[i], 0.0
    for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
        base += grid.entry_base[e] * price[grid.entry_row[e]]
        if grid.entry_base[e] > 0.0:
            room = grid.limit[grid.entry_row[e]] / grid.entry_base[e]
            top = min(top, least + HEADROOM * room)
    cost = np.zeros(last - first)
    for j in range(first, last):
        for k in range(grid.part_entry.shape[1]):
            e = grid.part_entry[j, k]
            if e >= 0:
                cost[j - first] += grid.part_cost[j, k] * price[grid.entry_row[e]]
                if low[j] > 0.0:
                    room = grid.limit[grid.entry_row[e]] / (low[j] * grid.part_cost[j, k])
                    top = min(top, least + HEADROOM * room)
    top = max(top, least)
    cuts = np.zeros(2 * (last - first) + 2)
    cuts[0], cuts[1], count = least, top, 2
    for j in range(first, last):
        if high[j] <= low[j] or (cost[j - first] <= 0.0 and grid.at.scale[j] <= 0.0):
            continue
        peak = top
        if cost[j - first] > 0.0 and grid.at.scale[j] > 0.0:
            shape = grid.term_shape[grid.class_term[j]]
            peak = rate_where(grid.at, shape, cost[j - first] / grid.at.scale[j])
        peak = min(max(peak, least), top)
        if _margin(grid, j, cost[j - first], peak) <= 0.0:
            continue
        for end in (least, top):
            if _margin(grid, j, cost[j - first], end) < 0.0:
                cuts[count] = _zero(grid, j, cost[j - first], end, peak)
                count += 1
    cuts = np.sort(cuts[:count])
    best, best_at = -np.inf, least
    for piece in range(count - 1):
        a, b = cuts[piece], cuts[piece + 1]
        if b <= a and piece > 0:
            continue
        middle, per_message = 0.5 * (a + b), base
        for t in range(grid.term_start[i], grid.term_start[i + 1]):
            weight[t] = 0.0
        for j in range(first, last):
            is_worth = _margin(grid, j, cost[j - first], middle) > 0.0
            n = high[j] if is_worth else low[j]
            weight[grid.class_term[j]] += n * grid.at.scale[j]
            per_message += n * cost[j - first]
        rate, _ = best_rate(grid, weight, i, per_message, a, b, 0.0, 0.0)
        height = worth(grid, weight, i, rate) - per_message * rate
        if height > best:
            best, best_at = height, rate
            for j in range(first, last):
                is_worth = _margin(grid, j, cost[j - first], middle) > 0.0
                wanted[j] = high[j] if is_worth else low[j]
    return best, best_at


@compiled
def box_bound(
    grid: Grid,
    price: FloatArray,
    low: FloatArray,
    high: FloatArray,
    target: float,
    wanted: FloatArray,
    rate: FloatArray,
) -> float:
    """The least bound found; ends once it is at most `target`. `price` is improved in place.

    Steps as Polyak's: as long as would reach the target if the bound were a plane. `wanted`
    and `rate` belong to the last prices looked at.
    """
    weight = np.zeros(len(grid.term_shape))
    slope, trial, best = np.zeros(len(price)), price.copy(), np.inf
    for _ in range(POLYAK_STEPS):
        total = np.sum(trial * grid.limit)
        slope[:] = grid.limit
        for i in range(len(rate)):
            height, r = _flow_bound(grid, i, trial, low, high, weight, wanted)
            total += height
            rate[i] = r
            for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
                slope[grid.entry_row[e]] -= grid.entry_base[e] * r
            for j in range(grid.at.class_start[i], grid.at.class_start[i + 1]):
                for k in range(grid.part_entry.shape[1]):
                    if grid.part_entry[j, k] >= 0:
                        m = grid.entry_row[grid.part_entry[j, k]]
                        slope[m] -= grid.part_cost[j, k] * wanted[j] * r
        total += RISE * abs(total)
        if total < best:
            best = total
            price[:] = trial
        if best <= target:
            break
        size = 0.0
        for m in range(len(slope)):
            if trial[m] <= 0.0 and slope[m] > 0.0:
                slope[m] = 0.0
            size += slope[m] * slope[m]
        if size <= 0.0:
            break
        for m in range(len(slope)):
            trial[m] = max(0.0, trial[m] - (total - target) / size * slope[m])
    return best
