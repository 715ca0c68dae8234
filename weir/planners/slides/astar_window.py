"""A stretch of a plan re-planned with as few slides as there can be, proven by `astar`.

Broker numbers and goal links are shuffled, so that of several plans of the fewest slides one or the
other comes out: equal plans are what lets the next window find more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled, compiled_inside
from weir.planners.slides.astar import DONE, look
from weir.planners.slides.bits import chance
from weir.planners.slides.expansion import BARRED, NO_GOAL, Case, new_expansion
from weir.planners.slides.local import is_link
from weir.planners.slides.search_table import FOUND, SearchTable, new_table, open_table, slides_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Small = NDArray[np.int8]
    Masks = NDArray[np.uint64]

STATES, WIDTH, MOST_SLIDES = 1 << 13, 32, 64
"""States that a stretch's table has room for, links that go, slides of a stretch."""
U1 = np.uint64(1)


def stretch_table() -> SearchTable:
    """Room for the search of one stretch; every stretch can use it anew."""
    return new_table(STATES, WIDTH, MOST_SLIDES)


@compiled_inside
def _shuffled(size: int, random: Masks) -> Ints:
    order = np.arange(size)
    for at in range(size - 1, 0, -1):
        other = int(np.int64(chance(random) * (at + 1)))
        order[at], order[other] = order[other], order[at]
    return order


@compiled_inside
def _without_idle_leaves(size: int, before: Ints, after: Ints, cap: int) -> Ints:
    """Per broker, 1 where it matters to a plan of the fewest slides.

    A leaf at a link that stays, with no link that goes or comes, is no help: where a plan slides an
    end onto it, the end may as well wait at its neighbour. Nor is a broker that such leaves leave a
    leaf. With a maximum degree the neighbour may have no room, so all brokers matter.
    """
    matters = np.ones(size, np.int64)
    if cap < size:
        return matters
    around = np.zeros(size, np.int64)
    held = np.zeros(size, np.int64)
    for v in range(size):
        if before[v] >= 0:
            around[v] += 1
            around[before[v]] += 1
            if not is_link(after, v, before[v]):
                held[v] = held[before[v]] = 1
        if after[v] >= 0 and not is_link(before, v, after[v]):
            held[v] = held[after[v]] = 1
    more = True
    while more:
        more = False
        for v in range(size):
            if matters[v] and around[v] == 1 and not held[v]:
                matters[v] = 0
                around[v] = 0
                more = True
                for u in range(size):
                    if matters[u] and is_link(before, u, v):
                        around[u] -= 1
    return matters


@compiled
def least(
    size: int, before: Ints, after: Ints, stays: Small, degree: Ints, cap: int, below: int,
    states: int, table: SearchTable, random: Masks, out: Ints,
) -> int:  # fmt: skip
    """Fewer slides than `below` from `before` to `after`, the fewest, in `out`; -1: none found.

    Both trees are rooted; a link that stays and is not in `after` is never made, because it could
    not be removed. `degree` counts the links of each broker before.
    """
    matters = _without_idle_leaves(size, before, after, cap)
    order = _shuffled(size, random)
    name = np.empty(size, np.int64)  # the broker of each broker of the case
    number = np.full(size, -1, np.int64)
    brokers = 0
    for at in range(size):
        if matters[order[at]]:
            name[brokers] = order[at]
            number[order[at]] = brokers
            brokers += 1
    bit = np.full((brokers, brokers), NO_GOAL, np.int8)
    marks = np.zeros(brokers, np.uint64)
    staying = np.empty(brokers, np.int64)
    for a in range(brokers):
        staying[a] = degree[name[a]]
        for b in range(brokers):
            if stays[name[a], name[b]] and not is_link(after, name[a], name[b]):
                bit[a, b] = BARRED
    first = np.zeros(brokers + 1, np.int64)
    codes = np.empty(WIDTH, np.uint16)
    comes, goes, kept = 0, 0, 0
    for at in range(size):
        v = order[at]
        p = after[v]
        if p >= 0 and not is_link(before, v, p):
            if comes == WIDTH:
                return -1
            a, b = number[v], number[p]
            bit[a, b] = bit[b, a] = comes
            marks[a] ^= U1 << np.uint64(comes)
            marks[b] ^= U1 << np.uint64(comes)
            comes += 1
        p = before[v]
        if p < 0 or number[v] < 0 or number[p] < 0:
            continue
        a, b = number[v], number[p]
        if is_link(after, v, p):
            first[a + 1] += 1
            first[b + 1] += 1
            kept += 2
        elif goes == WIDTH:
            return -1
        else:
            codes[goes] = (min(a, b) << 6) | max(a, b)
            staying[a] -= 1
            staying[b] -= 1
            goes += 1
    if goes == 0:
        return 0
    for a in range(brokers):
        first[a + 1] += first[a]
    others = np.empty(kept + 1, np.int64)
    filled = first.copy()
    for at in range(size):
        v = order[at]
        p = before[v]
        if p >= 0 and number[v] >= 0 and number[p] >= 0 and is_link(after, v, p):
            a, b = number[v], number[p]
            others[filled[a]] = b
            others[filled[b]] = a
            filled[a] += 1
            filled[b] += 1
    codes[:goes].sort()
    locked = np.zeros(brokers, np.int64)
    case = Case(brokers, goes, first, others, marks, bit, cap, staying, locked)
    open_table(table, codes, goes)
    if look(case, table, new_expansion(brokers, goes), min(below, MOST_SLIDES), states) != DONE:
        return -1
    slides = slides_to(table, goes, table.control[FOUND], out)
    for at in range(slides):
        for part in range(3):
            out[at, part] = name[out[at, part]]
    return slides
