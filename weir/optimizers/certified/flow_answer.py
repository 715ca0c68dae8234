"""What one flow makes of given prices: its best rate and the classes it then wants.

h_i = max over r in [rate_min, rate_max] of sum_j N_j [U_j(r) - P_j r]^+ - Q_i r, where P_j is
what a message to one consumer of class j costs, N_j the population and Q_i what a message costs
the flow itself. [.]^+ is not concave, so there may be several local maxima.

*One shape u* (`one_shape`). U_j = w_j u. At any rate the classes worth their price are those with
P_j / w_j < u(r) / r: the first few in the order of P_j / w_j. For a fixed set S the sum is
concave, A_S u(r) - (Q_i + B_S) r with A_S = sum N_j w_j and B_S = sum N_j P_j, and its best rate is
a closed form. As [x]^+ >= x, no set gives more than h_i, so h_i is the best over the prefixes
of that order. This holds for every u, also one that is negative at low rates.

*Several shapes* (`many_shapes`). U_j - P_j r is concave, so class j is worth its price on one
interval of rates. Between the ends of all intervals the set is fixed and the sum concave: its
ends and, where its slope turns, the root of the slope are looked at. The value found is
raised by what the last bracket of the bisection could still hide, so it is never too low.

Cost: O(n log n) for n classes of one shape, O(n^2) for n classes of several.
"""

from __future__ import annotations

import math

import numpy as np

from weir.allocation.layout import Layout
from weir.allocation.shapes import rate_where, slope_at, value_at
from weir.compiled import compiled
from weir.utility import FloatArray

FEW = 32
"""Classes up to which insertion sorts faster."""

CLOSE = 1e-15
"""Width of a bracket, relative to its upper end, at which a bisection ends."""

MAX_HALVINGS = 200


@compiled
def sort_by_ratio(ratio: FloatArray, order: np.ndarray, count: int) -> None:
    """Places of the first `count` ratios in rising order; ties keep their order."""
    if count > FEW:
        order[:count] = np.argsort(ratio[:count], kind="mergesort")
        return
    for place in range(count):
        key = ratio[place]
        at = place
        while at > 0 and ratio[order[at - 1]] > key:
            order[at] = order[at - 1]
            at -= 1
        order[at] = place


@compiled
def one_shape(
    at: Layout,
    i: int,
    own: float,
    price: FloatArray,
    ratio: FloatArray,
    order: np.ndarray,
    wanted: np.ndarray,
) -> tuple[float, float, float]:
    """Return value, rate and size of the summands of flow i, whose classes share one shape."""
    first, last = at.class_start[i], at.class_start[i + 1]
    count = last - first
    low, high = at.rate_min[i], at.rate_max[i]
    s = at.shape[first]
    for j in range(count):
        scale = at.scale[first + j]
        idle = scale <= 0.0 or at.population_max[first + j] <= 0.0
        ratio[j] = math.inf if idle else price[j] / scale
        wanted[first + j] = 0
    sort_by_ratio(ratio, order, count)
    best, best_rate, best_size, best_count = -own * low, low, own * low, 0
    gain, cost = 0.0, own
    for place in range(count):
        j = order[place]
        if ratio[j] == math.inf:
            break
        gain += at.population_max[first + j] * at.scale[first + j]
        cost += at.population_max[first + j] * price[j]
        rate = min(max(rate_where(at, s, cost / gain), low), high)
        worth = gain * value_at(at, s, rate)
        if worth - cost * rate > best:
            best, best_rate, best_count = worth - cost * rate, rate, place + 1
            best_size = abs(worth) + cost * rate
    for place in range(best_count):
        wanted[first + order[place]] = 1
    return best, best_rate, best_size


@compiled
def middle_of(low: float, high: float) -> float:
    """Halves a bracket; in proportion where its ends differ by orders of magnitude."""
    if low <= 0.0:
        return high * (1.0 / 1024.0)
    return math.sqrt(low) * math.sqrt(high) if high > 4.0 * low else 0.5 * (low + high)


@compiled
def _surplus(at: Layout, j: int, price: float, rate: float) -> float:
    return at.scale[j] * value_at(at, at.shape[j], rate) - price * rate


@compiled
def _end(at: Layout, j: int, price: float, outside: float, inside: float) -> float:
    """Where the surplus turns, seen from a rate that is not worth its price to one that is."""
    for _ in range(MAX_HALVINGS):
        if abs(inside - outside) <= CLOSE * max(inside, outside):
            break
        middle = middle_of(min(inside, outside), max(inside, outside))
        if _surplus(at, j, price, middle) > 0.0:
            inside = middle
        else:
            outside = middle
    return outside


@compiled
def _sum(at: Layout, i: int, own: float, price: FloatArray, rate: float) -> tuple[float, float]:
    """Return the sum over all classes worth their price at the rate, and its summand size."""
    first = at.class_start[i]
    total, size = -own * rate, own * rate
    for j in range(first, at.class_start[i + 1]):
        worth = at.scale[j] * value_at(at, at.shape[j], rate)
        surplus = worth - price[j - first] * rate
        if surplus > 0.0:
            total += at.population_max[j] * surplus
            size += at.population_max[j] * (abs(worth) + price[j - first] * rate)
    return total, size


@compiled
def _slope(
    at: Layout, i: int, own: float, price: FloatArray, inside: np.ndarray, rate: float
) -> float:
    """Return the slope of the sum over the classes marked in `inside`."""
    first = at.class_start[i]
    slope = -own
    for j in range(first, at.class_start[i + 1]):
        if inside[j - first]:
            gain = at.scale[j] * slope_at(at, at.shape[j], rate) - price[j - first]
            slope += at.population_max[j] * gain
    return slope


@compiled
def many_shapes(
    at: Layout, i: int, own: float, price: FloatArray, wanted: np.ndarray
) -> tuple[float, float, float]:
    """Return value (an upper bound to rounding), rate and summand size of flow i."""
    first, last = at.class_start[i], at.class_start[i + 1]
    count = last - first
    low, high = at.rate_min[i], at.rate_max[i]
    begin = np.full(count, math.inf)
    end = np.full(count, -math.inf)
    inside = np.zeros(count, dtype=np.bool_)
    cuts = np.empty(2 * count + 2)
    cuts[0], cuts[1] = low, high
    used = 2
    for k in range(count):
        j = first + k
        if at.scale[j] <= 0.0 or at.population_max[j] <= 0.0:
            continue
        peak = min(max(rate_where(at, at.shape[j], price[k] / at.scale[j]), low), high)
        at_low = _surplus(at, j, price[k], low) > 0.0
        at_high = _surplus(at, j, price[k], high) > 0.0
        if not (at_low or at_high or _surplus(at, j, price[k], peak) > 0.0):
            continue
        begin[k] = low if at_low else _end(at, j, price[k], low, peak)
        end[k] = high if at_high else _end(at, j, price[k], high, peak)
        cuts[used], cuts[used + 1] = begin[k], end[k]
        used += 2
    ordered = np.sort(cuts[:used])
    rate = low
    value, size = _sum(at, i, own, price, low)
    bound = value
    for place in range(1, used):
        left, right = ordered[place - 1], ordered[place]
        if right <= left:
            continue
        for k in range(count):
            inside[k] = begin[k] <= left and end[k] >= right
        slope = _slope(at, i, own, price, inside, right)
        if slope < 0.0 and _slope(at, i, own, price, inside, left) <= 0.0:
            right = left
        elif slope < 0.0:
            for _ in range(MAX_HALVINGS):
                if right - left <= CLOSE * right:
                    break
                middle = middle_of(left, right)
                if _slope(at, i, own, price, inside, middle) > 0.0:
                    left = middle
                else:
                    right = middle
            # By concavity the bracket hides no more than this above its upper end.
            hidden = -_slope(at, i, own, price, inside, right) * (right - left)
            bound = max(bound, _sum(at, i, own, price, right)[0] + hidden)
        for candidate in (left, right):
            found, found_size = _sum(at, i, own, price, candidate)
            if found > value:
                value, rate, size = found, candidate, found_size
    for j in range(first, last):
        worth = at.scale[j] * value_at(at, at.shape[j], rate) - price[j - first] * rate
        wanted[j] = worth > 0.0 and at.population_max[j] > 0.0
    return max(bound, value), rate, size
