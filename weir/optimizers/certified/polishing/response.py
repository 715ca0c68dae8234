"""What one flow does at a price: its best rate, its worth, and how fast the rate yields.

A flow's worth is W(r) = sum of n_j U_j(r) over its classes; at price q per message it takes
the rate that makes W(r) - q r largest. Where W has straight pieces that rate jumps, so a
*pull* towards an anchor can be added (a proximal term): W(r) - q r - pull (r - anchor)^2 / 2.
"""

from __future__ import annotations

from weir.allocation.layout import Layout
from weir.allocation.shapes import POWER, rate_where, slope_at, value_at
from weir.compiled import compiled
from weir.optimizers.certified.polishing.grid import Grid
from weir.utility import Family, FloatArray

LOG = int(Family.LOG)
KNOTS = int(Family.KNOTS)

MAX_STEPS = 200
RELATIVE = 1e-15
"""A rate is found once its bracket is this narrow, relative to it."""

WIDE = 16.0
"""Brackets wider than this ratio are cut at the geometric mean."""


@compiled
def bend_at(at: Layout, s: int, rate: float) -> float:
    """Return the second derivative of shape s, never positive; 0 on straight pieces."""
    if at.family[s] == LOG:
        return -1.0 / ((1.0 + rate) * (1.0 + rate))
    if at.family[s] == POWER:
        k = at.exponent[s]
        if k == 1.0:
            return 0.0
        bending: float = max(k * (k - 1.0) * max(rate, 1e-300) ** (k - 2.0), -1e300)
        return bending
    return 0.0


@compiled
def worth(grid: Grid, weight: FloatArray, i: int, rate: float) -> float:
    """Return W of flow i; `weight` holds consumers times scale, per term."""
    total = 0.0
    for t in range(grid.term_start[i], grid.term_start[i + 1]):
        if weight[t] > 0.0:
            total += weight[t] * value_at(grid.at, grid.term_shape[t], rate)
    return total


@compiled
def marginal(grid: Grid, weight: FloatArray, i: int, rate: float) -> float:
    """Return W' of flow i, to the right of the rate."""
    total = 0.0
    for t in range(grid.term_start[i], grid.term_start[i + 1]):
        if weight[t] > 0.0:
            total += weight[t] * slope_at(grid.at, grid.term_shape[t], rate)
    return total


@compiled
def curvature(grid: Grid, weight: FloatArray, i: int, rate: float) -> float:
    """Return -W'' of flow i: the negative second derivative of its weighted utility at `rate`."""
    total = 0.0
    for t in range(grid.term_start[i], grid.term_start[i + 1]):
        if weight[t] > 0.0:
            total -= weight[t] * bend_at(grid.at, grid.term_shape[t], rate)
    return total


@compiled
def best_rate(
    grid: Grid,
    weight: FloatArray,
    i: int,
    price: float,
    low: float,
    top: float,
    pull: float,
    anchor: float,
) -> tuple[float, float]:
    """Return the best rate from `low` to `top` and -dr/dq there (0 where an end or a kink holds
    it)."""
    if top <= low:
        return low, 0.0
    first = grid.term_start[i]
    if pull == 0.0 and grid.term_start[i + 1] == first + 1:
        if weight[first] <= 0.0:
            return low, 0.0
        if price <= 0.0:
            return top, 0.0
        s = grid.term_shape[first]
        rate = rate_where(grid.at, s, price / weight[first])
        if rate <= low:
            return low, 0.0
        if rate >= top:
            return top, 0.0
        bending = -weight[first] * bend_at(grid.at, s, rate)
        return rate, (1.0 / bending if bending > 0.0 else 0.0)
    return _searched(grid, weight, i, price, low, top, pull, anchor)


@compiled
def _searched(
    grid: Grid,
    weight: FloatArray,
    i: int,
    price: float,
    low: float,
    top: float,
    pull: float,
    anchor: float,
) -> tuple[float, float]:
    """Newton's method within a bracket on the falling gain W'(r) - q - pull (r - anchor)."""
    a, b = low, top
    gain_a = marginal(grid, weight, i, a) - price - pull * (a - anchor)
    if gain_a <= 0.0:
        return a, 0.0
    gain_b = marginal(grid, weight, i, b) - price - pull * (b - anchor)
    if gain_b >= 0.0:
        return b, 0.0
    rate = min(max(anchor, a), b) if pull > 0.0 else 0.5 * (a + b)
    was = b - a
    for _ in range(MAX_STEPS):
        if b - a <= RELATIVE * b:
            break
        if not a < rate < b:
            rate = 0.5 * (a + b)
        gain = marginal(grid, weight, i, rate) - price - pull * (rate - anchor)
        bending = curvature(grid, weight, i, rate) + pull
        if gain > 0.0:
            a, gain_a = rate, gain
        else:
            b, gain_b = rate, gain
        step = gain / bending if bending > 0.0 else 0.0
        if abs(step) <= RELATIVE * rate and step != 0.0:
            break
        width = b - a
        if step != 0.0 and a < rate + step < b and width <= 0.9 * was:
            rate = rate + step
        elif a > 0.0 and b > WIDE * a:
            rate = (a * b) ** 0.5
        elif a == 0.0 and b > 1e-200:
            rate = b / WIDE
        else:
            rate = 0.5 * (a + b)
        was = width
    rate = min(max(rate, a), b)
    if b - a <= 4.0 * RELATIVE * b and gain_a - gain_b > 1e-7 * (abs(price) + gain_a - gain_b):
        return a if gain_a <= -gain_b else b, 0.0  # a kink holds the rate
    bending = curvature(grid, weight, i, rate) + pull
    return rate, (1.0 / bending if bending > 0.0 else 0.0)
