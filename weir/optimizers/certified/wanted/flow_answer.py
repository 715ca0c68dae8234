"""What one flow makes of given prices where a way costs only while somebody behind it is admitted.

h_i = max over r of W(r), where W is the worth of the source and, for every vertex v of the way,

    W_v(r) = [sum over classes j at v: N_j [U_j(r) - P_j r]^+ + sum over children: W_c(r) - Q_v r]^+

P_j is what a message to one consumer of class j costs, N_j the population, Q_v what a message costs
on the way to v. W is no concave function of r. Branch and bound over intervals of rates finds its
maximum: on an interval no class brings more than at its own best rate there, and no way costs less
than at the lower end, which bounds W from above. Where every class and every vertex is worth its
price at both ends, or nowhere, W is concave on the interval and its slope is bisected. Intervals
that cannot beat the best rate known are dropped. What is dropped or not divided further enters the
value found, so it is never too low.

Cost: O(n + v) per interval for n classes and v vertices; some tens to hundreds of intervals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weir.allocation.layout import Layout
from weir.allocation.shapes import rate_where, slope_at, value_at
from weir.compiled import compiled_inside
from weir.optimizers.certified.flow_answer import CLOSE, MAX_HALVINGS, middle_of
from weir.optimizers.certified.wanted.tree import Tree
from weir.utility import FloatArray

HIDDEN = 1e-13
"""Intervals that may hide no more than this, relative to the best value, are dropped."""

NOISE = 1e-14
"""The same, relative to the size of what is added up, which rounding hides anyway."""

STEEPEST = 1e200

SMALLEST_SHARE = 1e-18
"""Rates below this share of the largest are not told apart."""

DEEPEST = 4096
MAX_INTERVALS = 20_000


class Asked(NamedTuple):
    """What is asked of one flow of n classes and v vertices."""

    own: FloatArray
    """v: what a message costs on the way to each vertex."""
    price: FloatArray
    """n: what a message to one consumer costs."""


class Marks(NamedTuple):
    """Room for what is found out on an interval of rates; n classes, v vertices."""

    peak: FloatArray
    """n: each class's own best rate, the same on all intervals."""
    table: FloatArray
    """7 x v: the sum of what each class brings at most; the decided part's values and slopes at
    either end; a bound on the undecided part; whether there is one."""
    inside: np.ndarray
    """n bool: classes worth their price on all of the interval."""
    passed: np.ndarray
    """v bool: vertices passed on all of it."""


class Served(NamedTuple):
    """Answers of all flows. Sizes: C classes, V vertices."""

    net: FloatArray
    """v: room for the worth of each vertex of the flow at hand."""
    wanted: np.ndarray
    """C uint8: classes that their flow wants."""
    served: np.ndarray
    """V uint8: vertices that their flow then passes."""


@compiled_inside
def worth_at(
    at: Layout, tree: Tree, i: int, asked: Asked, rate: float, net: FloatArray
) -> tuple[float, float]:
    """W at the rate, and the size of its summands; `net` then holds the worth of every vertex."""
    own, price = asked.own, asked.price
    first, base = at.class_start[i], tree.start[i]
    count = tree.start[i + 1] - base
    size = 0.0
    for v in range(count):
        net[v] = -own[v] * rate
        size += own[v] * rate
    for j in range(first, at.class_start[i + 1]):
        if at.scale[j] <= 0.0 or at.population_max[j] <= 0.0:
            continue
        worth = at.scale[j] * value_at(at, at.shape[j], rate)
        surplus = worth - price[j - first] * rate
        if surplus > 0.0:
            net[tree.class_vertex[j] - base] += at.population_max[j] * surplus
            size += at.population_max[j] * (abs(worth) + price[j - first] * rate)
    for v in range(count - 1, 0, -1):
        if net[v] > 0.0:
            net[tree.parent[base + v] - base] += net[v]
    return max(net[0], 0.0), size


@compiled_inside
def _concave_bound(
    low: float, high: float, at_low: float, at_high: float, slope_low: float, slope_high: float
) -> float:
    """A bound on a concave function, from its values and slopes at both ends."""
    if slope_low <= 0.0:
        return at_low
    if slope_high >= 0.0:
        return at_high
    from_high = at_high - slope_high * (high - low)
    if not slope_low < STEEPEST:
        return from_high
    meet = (at_high - at_low + slope_low * low - slope_high * high) / (slope_low - slope_high)
    return min(at_low + slope_low * max(meet - low, 0.0), from_high)


@compiled_inside
def _sum_up(
    at: Layout, tree: Tree, i: int, asked: Asked, marks: Marks, low: float, high: float
) -> float:
    """Enter what every vertex and every class brings between two rates; the size of all that."""
    own, price, table, inside = asked.own, asked.price, marks.table, marks.inside
    first, base = at.class_start[i], tree.start[i]
    count = tree.start[i + 1] - base
    size = 0.0
    for v in range(count):
        table[0, v] = -own[v] * low
        table[1, v] = -own[v] * low
        table[2, v] = -own[v] * high
        table[3, v] = -own[v]
        table[4, v] = -own[v]
        table[5, v] = 0.0
        table[6, v] = 0.0
        size += own[v] * high
    for j in range(first, at.class_start[i + 1]):
        k = j - first
        inside[k] = False
        if at.scale[j] <= 0.0 or at.population_max[j] <= 0.0:
            continue
        s = at.shape[j]
        best = min(max(marks.peak[k], low), high)
        at_low = at.scale[j] * value_at(at, s, low) - price[k] * low
        at_high = at.scale[j] * value_at(at, s, high) - price[k] * high
        most = max(at_low, at_high)
        if low < best < high:
            most = max(most, at.scale[j] * value_at(at, s, best) - price[k] * best)
        if most <= 0.0:
            continue
        people = at.population_max[j]
        size += people * (abs(at_high) + 2.0 * price[k] * high)
        v = tree.class_vertex[j] - base
        table[0, v] += people * most
        if at_low >= 0.0 and at_high >= 0.0:
            inside[k] = True
            table[1, v] += people * at_low
            table[2, v] += people * at_high
            table[3, v] += people * (at.scale[j] * slope_at(at, s, low) - price[k])
            table[4, v] += people * (at.scale[j] * slope_at(at, s, high) - price[k])
        else:
            table[5, v] += people * most
            table[6, v] = 1.0
    return size


@compiled_inside
def _bound(
    at: Layout, tree: Tree, i: int, asked: Asked, marks: Marks, low: float, high: float
) -> tuple[float, bool, float]:
    """A bound on W between two rates, whether W is concave there, and the size of its summands.

    Then `inside` marks the classes and `passed` the vertices that make it up.
    """
    size = _sum_up(at, tree, i, asked, marks, low, high)
    table, inside, passed = marks.table, marks.inside, marks.passed
    first, base = at.class_start[i], tree.start[i]
    count = tree.start[i + 1] - base
    most = 0.0
    for v in range(count - 1, -1, -1):
        passed[v] = False
        decided = _concave_bound(low, high, table[1, v], table[2, v], table[3, v], table[4, v])
        most = min(table[0, v], decided + table[5, v])
        if most <= 0.0:
            continue
        passed[v] = table[6, v] == 0.0 and table[1, v] >= 0.0 and table[2, v] >= 0.0
        if v == 0:
            break
        up = tree.parent[base + v] - base
        table[0, up] += most
        if passed[v]:
            for part in range(1, 5):
                table[part, up] += table[part, v]
        else:
            table[5, up] += most
            table[6, up] = 1.0
    if most <= 0.0:
        return 0.0, True, size
    for v in range(1, count):
        passed[v] = passed[v] and passed[tree.parent[base + v] - base]
    for j in range(first, at.class_start[i + 1]):
        inside[j - first] = inside[j - first] and passed[tree.class_vertex[j] - base]
    return most, passed[0], size


@compiled_inside
def _slope(at: Layout, tree: Tree, i: int, asked: Asked, marks: Marks, rate: float) -> float:
    """The slope of the part of W that is marked."""
    own, price, inside, passed = asked.own, asked.price, marks.inside, marks.passed
    first = at.class_start[i]
    slope = 0.0
    for v in range(tree.start[i + 1] - tree.start[i]):
        if passed[v]:
            slope -= own[v]
    for j in range(first, at.class_start[i + 1]):
        if inside[j - first]:
            gain = at.scale[j] * slope_at(at, at.shape[j], rate) - price[j - first]
            slope += at.population_max[j] * gain
    return slope


@compiled_inside
def _new_marks(at: Layout, tree: Tree, i: int, price: FloatArray) -> Marks:
    first, classes = at.class_start[i], at.class_start[i + 1] - at.class_start[i]
    count = tree.start[i + 1] - tree.start[i]
    peak = np.empty(classes)
    for k in range(classes):
        j = first + k
        usable = at.scale[j] > 0.0 and at.population_max[j] > 0.0
        own_best = rate_where(at, at.shape[j], price[k] / at.scale[j]) if usable else at.rate_min[i]
        peak[k] = own_best
    inside = np.zeros(classes, dtype=np.bool_)
    return Marks(peak, np.empty((7, count)), inside, np.zeros(count, dtype=np.bool_))


@compiled_inside
def _bisect(
    at: Layout, tree: Tree, i: int, asked: Asked, marks: Marks, low: float, high: float
) -> tuple[float, float]:
    """The bracket in which the marked part, which is concave, turns; a point where it does not."""
    if _slope(at, tree, i, asked, marks, high) >= 0.0:
        return high, high
    if _slope(at, tree, i, asked, marks, low) <= 0.0:
        return low, low
    for _ in range(MAX_HALVINGS):
        if high - low <= CLOSE * high:
            break
        middle = middle_of(low, high)
        if _slope(at, tree, i, asked, marks, middle) > 0.0:
            low = middle
        else:
            high = middle
    return low, high


@compiled_inside
def _note(at: Layout, tree: Tree, i: int, price: FloatArray, rate: float, out: Served) -> None:
    """Mark the vertices that the flow passes at the rate, and the classes that it wants there.

    `net` holds the worth of its vertices.
    """
    first, base = at.class_start[i], tree.start[i]
    for v in range(tree.start[i + 1] - base):
        before = v == 0 or out.served[tree.parent[base + v]] > 0
        out.served[base + v] = 1 if before and out.net[v] > 0.0 else 0
    for j in range(first, at.class_start[i + 1]):
        surplus = at.scale[j] * value_at(at, at.shape[j], rate) - price[j - first] * rate
        goes = out.served[tree.class_vertex[j]] > 0
        out.wanted[j] = 1 if goes and surplus > 0.0 and at.population_max[j] > 0.0 else 0


@compiled_inside
def tree_answer(
    at: Layout, tree: Tree, i: int, asked: Asked, out: Served
) -> tuple[float, float, float]:
    """Value (an upper bound to rounding), rate and summand size of flow i.

    Marks the classes that it wants and the vertices that it then passes.
    """
    lowest, highest, net = at.rate_min[i], at.rate_max[i], out.net
    marks = _new_marks(at, tree, i, asked.price)
    left, right = np.empty(DEEPEST), np.empty(DEEPEST)
    value, size = worth_at(at, tree, i, asked, lowest, net)
    rate = lowest
    found, found_size = worth_at(at, tree, i, asked, highest, net)
    if found > value:
        value, rate, size = found, highest, found_size
    bound = value
    left[0], right[0] = lowest, highest
    depth, intervals = 1, 0
    while depth > 0:
        depth -= 1
        low, high = left[depth], right[depth]
        intervals += 1
        most, concave, gross = _bound(at, tree, i, asked, marks, low, high)
        if most <= value * (1.0 + HIDDEN) + NOISE * gross:
            bound = max(bound, most)
            continue
        if concave:
            low, high = _bisect(at, tree, i, asked, marks, low, high)
            if low < high:
                # By concavity the bracket hides no more than this above its upper end.
                hidden = -_slope(at, tree, i, asked, marks, high) * (high - low)
                bound = max(bound, worth_at(at, tree, i, asked, high, net)[0] + hidden)
        elif high - low > CLOSE * high and high > SMALLEST_SHARE * highest:
            if depth + 2 > DEEPEST or intervals > MAX_INTERVALS:
                bound = max(bound, most)
            else:
                middle = middle_of(low, high)
                if low > 0.0 or middle > SMALLEST_SHARE * highest:
                    low_most = worth_at(at, tree, i, asked, 0.5 * (low + middle), net)[0]
                    high_most = worth_at(at, tree, i, asked, 0.5 * (middle + high), net)[0]
                else:
                    low_most, high_most = 0.0, 1.0
                # The half that promises more is looked at first.
                if low_most > high_most:
                    left[depth], right[depth] = middle, high
                    left[depth + 1], right[depth + 1] = low, middle
                else:
                    left[depth], right[depth] = low, middle
                    left[depth + 1], right[depth + 1] = middle, high
                depth += 2
                low = high = middle
        else:
            bound = max(bound, most)
        for candidate in (low, high):
            found, found_size = worth_at(at, tree, i, asked, candidate, net)
            if found > value:
                value, rate, size = found, candidate, found_size
    bound = max(bound, value)
    if value <= 0.0:
        rate = lowest
    worth_at(at, tree, i, asked, rate, net)
    _note(at, tree, i, asked.price, rate, out)
    return bound, rate, size


@compiled_inside
def shared_price(at: Layout, tree: Tree, i: int, prices: FloatArray, own: FloatArray) -> None:
    """What a message of flow i costs on the way to each vertex."""
    base = tree.start[i]
    for v in range(tree.start[i + 1] - base):
        own[v] = 0.0
    for c in range(at.cost_start[i], at.cost_start[i + 1]):
        own[tree.cost_vertex[c] - base] += at.cost[c] * prices[at.cost_row[c]]
