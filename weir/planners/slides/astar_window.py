"""A stretch of a plan re-planned with as few slides as there can be, proven by `astar`.

Broker numbers and goal links are shuffled, so that of several plans of the fewest slides one or the
other comes out: equal plans are what lets the next window find more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
    Int8s = NDArray[np.int8]
    Codes = NDArray[np.uint16]
    Masks = NDArray[np.uint64]

STATES, WIDTH, MOST_SLIDES = 1 << 13, 32, 64
"""States that a stretch's table has room for, links that go, slides of a stretch."""
U1 = np.uint64(1)


class Stretch(NamedTuple):
    """A stretch of a plan as a problem of its own; both trees are rooted. B brokers."""

    before: Ints
    """(B,) parents in the tree before it; -1 for the root."""
    after: Ints
    """(B,) parents in the tree after it."""
    stays: Int8s
    """(B, B) 1 where a link is never removed: if it is not in `after`, it is never made."""
    degree: Ints
    """(B,) links of each broker before."""
    cap: int
    """Links that a broker may have."""


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
def _without_idle_leaves(stretch: Stretch) -> Ints:
    """Per broker, 1 where it matters to a plan of the fewest slides.

    A leaf at a link that stays, with no link that goes or comes, is no help: where a plan slides an
    end onto it, the end may as well wait at its neighbour. Nor is a broker that such leaves leave a
    leaf. With a maximum degree the neighbour may have no room, so all brokers matter.
    """
    before, after = stretch.before, stretch.after
    size = len(before)
    matters = np.ones(size, np.int64)
    if stretch.cap < size:
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


@compiled_inside
def _renumbered(stretch: Stretch, random: Masks) -> tuple[Ints, Ints, Ints]:
    """An order of the brokers; the broker of each number of the case; the number of each broker.

    A broker that does not matter has the number -1.
    """
    matters = _without_idle_leaves(stretch)
    size = len(matters)
    order = _shuffled(size, random)
    name = np.empty(size, np.int64)
    number = np.full(size, -1, np.int64)
    brokers = 0
    for at in range(size):
        if matters[order[at]]:
            name[brokers] = order[at]
            number[order[at]] = brokers
            brokers += 1
    return order, name[:brokers], number


@compiled_inside
def _links_that_stay(
    stretch: Stretch, order: Ints, number: Ints, brokers: int
) -> tuple[Ints, Ints]:
    """Per broker of the case, places into the second array; there its neighbours for good."""
    before, after = stretch.before, stretch.after
    first = np.zeros(brokers + 1, np.int64)
    for v in order:
        p = before[v]
        if p >= 0 and number[v] >= 0 and number[p] >= 0 and is_link(after, v, p):
            first[number[v] + 1] += 1
            first[number[p] + 1] += 1
    for a in range(brokers):
        first[a + 1] += first[a]
    others = np.empty(first[brokers] + 1, np.int64)
    filled = first.copy()
    for v in order:
        p = before[v]
        if p >= 0 and number[v] >= 0 and number[p] >= 0 and is_link(after, v, p):
            a, b = number[v], number[p]
            others[filled[a]] = b
            others[filled[b]] = a
            filled[a] += 1
            filled[b] += 1
    return first, others


@compiled_inside
def _case(stretch: Stretch, order: Ints, name: Ints, number: Ints) -> tuple[Case, Codes]:
    """The stretch for `astar`, and the links that go, in order; its width is -1 where these, or
    those that come, are too many."""
    before, after, brokers = stretch.before, stretch.after, len(name)
    bit = np.full((brokers, brokers), NO_GOAL, np.int8)
    marks = np.zeros(brokers, np.uint64)
    staying = np.empty(brokers, np.int64)
    for a in range(brokers):
        staying[a] = stretch.degree[name[a]]
        for b in range(brokers):
            if stretch.stays[name[a], name[b]] and not is_link(after, name[a], name[b]):
                bit[a, b] = BARRED
    codes = np.empty(WIDTH, np.uint16)
    comes, goes = 0, 0
    for v in order:
        p = after[v]
        if p >= 0 and not is_link(before, v, p):
            if comes == WIDTH:
                goes = -1
                break
            a, b = number[v], number[p]
            bit[a, b] = bit[b, a] = comes
            marks[a] ^= U1 << np.uint64(comes)
            marks[b] ^= U1 << np.uint64(comes)
            comes += 1
        p = before[v]
        if p >= 0 and number[v] >= 0 and number[p] >= 0 and not is_link(after, v, p):
            if goes == WIDTH:
                goes = -1
                break
            a, b = number[v], number[p]
            codes[goes] = (min(a, b) << 6) | max(a, b)
            staying[a] -= 1
            staying[b] -= 1
            goes += 1
    codes[: max(goes, 0)].sort()
    first, others = _links_that_stay(stretch, order, number, brokers)
    locked = np.zeros(brokers, np.int64)
    return Case(brokers, goes, first, others, marks, bit, stretch.cap, staying, locked), codes


@compiled
def least(
    stretch: Stretch, below: int, states: int, table: SearchTable, random: Masks, out: Ints
) -> int:
    """Fewer slides than `below` through the stretch, the fewest, in `out`; -1: none found.

    Gives up after so many states.
    """
    order, name, number = _renumbered(stretch, random)
    case, codes = _case(stretch, order, name, number)
    if case.width <= 0:
        return case.width
    open_table(table, codes, case.width)
    node = new_expansion(case.brokers, case.width)
    if look(case, table, node, min(below, MOST_SLIDES), states) != DONE:
        return -1
    slides = slides_to(table, case.width, table.control[FOUND], out)
    for at in range(slides):
        for part in range(3):
            out[at, part] = name[out[at, part]]
    return slides
