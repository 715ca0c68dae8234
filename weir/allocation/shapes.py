"""The families of utility shapes, evaluated inside compiled kernels.

Argument `s` is the index of a shape in the layout. Values agree with the plug-in's own
numpy functions up to rounding (a test compares them).
"""

from __future__ import annotations

import math

from weir.allocation.layout import Layout
from weir.compiled import compiled
from weir.utility import Family

LOG = int(Family.LOG)
POWER = int(Family.POWER)


@compiled
def value_at(at: Layout, s: int, rate: float) -> float:
    """Return the utility shape `s` at this rate, without the scale of a class."""
    family = at.family[s]
    if family == LOG:
        return math.log1p(rate)
    if family == POWER:
        exponent = at.exponent[s]
        if exponent == 1.0:
            return rate
        if exponent == 0.5:
            return math.sqrt(rate)
        return rate**exponent
    k = _knot(at, s, rate)
    return at.knot_y[k] + at.knot_slope[k] * (rate - at.knot_x[k])


@compiled
def slope_at(at: Layout, s: int, rate: float) -> float:
    """Slope of shape s just right of the rate; at most 1e300."""
    family = at.family[s]
    if family == LOG:
        return 1.0 / (1.0 + rate)
    if family == POWER:
        exponent = at.exponent[s]
        if exponent == 1.0:
            return 1.0
        return min(exponent * max(rate, 1e-300) ** (exponent - 1.0), 1e300)
    return at.knot_slope[_knot(at, s, rate)]


@compiled
def rate_where(at: Layout, s: int, marginal: float) -> float:
    """The rate from which on shape s gains no more than `marginal` (>= 0); may be inf."""
    family = at.family[s]
    if family == LOG:
        return max(1.0 / marginal - 1.0, 0.0)
    if family == POWER:
        exponent = at.exponent[s]
        if exponent == 1.0:
            return math.inf if marginal < 1.0 else 0.0
        if exponent == 0.5:
            return 0.25 / (marginal * marginal)
        return (exponent / marginal) ** (1.0 / (1.0 - exponent))
    low, high = at.knot_first[s], at.knot_last[s]
    first = low
    while low < high:
        middle = (low + high) // 2
        if at.knot_slope[middle] > marginal:
            low = middle + 1
        else:
            high = middle
    return 0.0 if low == first else at.knot_x[low]


@compiled
def _knot(at: Layout, s: int, rate: float) -> int:
    """The last knot at or below the rate, the first one where there is none."""
    low, high = at.knot_first[s], at.knot_last[s]
    while low < high:
        middle = (low + high + 1) // 2
        if at.knot_x[middle] <= rate:
            low = middle
        else:
            high = middle - 1
    return low
