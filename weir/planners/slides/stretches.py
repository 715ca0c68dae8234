"""Plans of small overlays, stretch by stretch made as short as can be.

The slides are put into another order that means the same (brokers draw a rank, and of the slides
that may come next the one of the least rank does), the row is cut into stretches, and each stretch
is planned anew from the tree before it to the tree after it. The new stretch is one of the shortest
by proof, unless the search runs out of states; equal ones are taken, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled, compiled_inside
from weir.planners.slides.astar_window import MOST_SLIDES, Stretch, least
from weir.planners.slides.bits import chance
from weir.planners.slides.local import slide_local

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.planners.slides.arrays import Arrays
    from weir.planners.slides.search_table import SearchTable

    Ints = NDArray[np.int64]
    Int32s = NDArray[np.int32]
    Int8s = NDArray[np.int8]
    Masks = NDArray[np.uint64]

SHORTEST, LONGEST = 8, 24
"""Slides of a stretch; drawn anew each time."""
LOOKED_AT = 4000
"""States looked at for a stretch before it is left as it is."""


def stays_of(arrays: Arrays) -> Int8s:
    """Which links of the goal never move once they are there, as a matrix."""
    brokers = len(arrays.after)
    stays = np.zeros((brokers, brokers), np.int8)
    below = np.flatnonzero((arrays.ground.stays != 0) & (arrays.after >= 0))
    stays[below, arrays.after[below]] = stays[arrays.after[below], below] = 1
    return stays


@compiled_inside
def _depend(plan: Int32s, one: int, other: int, by_broker: bool) -> bool:
    """Whether two slides have to keep their order."""
    i, j, k = plan[one, 0], plan[one, 1], plan[one, 2]
    a, b, c = plan[other, 0], plan[other, 1], plan[other, 2]
    if by_broker:
        return (i in (a, b, c)) or (j in (a, b, c)) or (k in (a, b, c))
    for u, v in ((i, j), (i, k)):  # what one writes, the other reads or writes
        for x, y in ((a, b), (a, c), (b, c)):
            if (u == x and v == y) or (u == y and v == x):
                return True
    one_way = j == a and k in (b, c)
    return one_way or (k == a and j in (b, c))


@compiled_inside
def _in_another_order(plan: Int32s, brokers: int, by_broker: bool, random: Masks) -> Int32s:
    size = len(plan)
    rank = np.empty(brokers, np.float64)
    for v in range(brokers):
        rank[v] = chance(random)
    by_first = chance(random) < 0.5
    key = np.empty(size, np.float64)
    before = np.zeros(size, np.int64)  # slides that have to come before and have not yet
    for at in range(size):
        one, two, three = rank[plan[at, 0]], rank[plan[at, 1]], rank[plan[at, 2]]
        key[at] = min(one, two, three) if by_first else max(one, two, three)
        for earlier in range(at):
            if _depend(plan, earlier, at, by_broker):
                before[at] += 1
    done = np.zeros(size, np.int64)
    made = np.empty_like(plan)
    for at in range(size):
        best = -1
        for other in range(size):
            if not done[other] and before[other] == 0 and (best < 0 or key[other] < key[best]):
                best = other
        done[best] = 1
        made[at] = plan[best]
        for later in range(best + 1, size):
            if not done[later] and _depend(plan, best, later, by_broker):
                before[later] -= 1
    return made


@compiled
def shortened(
    plan: Int32s, before: Ints, degree: Ints, stays: Int8s, cap: int, by_broker: bool,
    table: SearchTable, random: Masks,
) -> Int32s:  # fmt: skip
    """The plan, never longer, after all of its stretches were planned anew once.

    `before` is the tree before the plan, rooted; stays[a, b]: this link never moves once made.
    """
    plan = _in_another_order(plan, len(before), by_broker, random)
    longest = SHORTEST + int(np.int64(chance(random) * (LONGEST - SHORTEST + 1)))
    end = int(np.int64(chance(random) * longest))
    # what is written to these arrays is the next stretch's
    stretch = Stretch(before.copy(), before.copy(), stays, degree.copy(), cap)
    made = np.empty_like(plan)
    out = np.empty((MOST_SLIDES, 3), np.int64)
    size, start = 0, 0
    while start < len(plan):
        end = min(end, len(plan))
        for at in range(start, end):
            slide_local(stretch.after, plan[at, 0], plan[at, 1], plan[at, 2])
        count = end - start
        found = -1
        if count > 2:
            found = least(stretch, count + 1, LOOKED_AT, table, random, out)
        if found < 0:
            found = count
            for at in range(count):
                for part in range(3):
                    out[at, part] = plan[start + at, part]
        for at in range(found):
            for part in range(3):
                made[size, part] = out[at, part]
            size += 1
        for at in range(start, end):
            stretch.degree[plan[at, 1]] -= 1
            stretch.degree[plan[at, 2]] += 1
        stretch.before[:] = stretch.after
        start, end = end, end + longest
    return made[:size].copy()
