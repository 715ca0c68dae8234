"""Price a list of slides, count its steps and check that it leads to the goal by the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled
from weir.planners.slides.local import is_link, slide_local
from weir.planners.slides.window import Ground, price_of_slide, stays_put

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.planners.slides.arrays import Arrays

    Ints = NDArray[np.int64]
    Int32s = NDArray[np.int32]


@compiled
def cost_of(ground: Ground, plan: Int32s) -> float:
    """Return the total price of the slides."""
    total = 0.0
    for at in range(len(plan)):
        total += price_of_slide(ground, plan[at, 0], plan[at, 1], plan[at, 2])
    return total


@compiled
def busy_steps(brokers: int, plan: Int32s) -> int:
    """Count the steps with disjoint brokers when every slide runs as early as its order allows."""
    free = np.zeros(brokers, np.int64)
    steps = 0
    for at in range(len(plan)):
        i, j, k = plan[at, 0], plan[at, 1], plan[at, 2]
        then = max(free[i], free[j], free[k]) + 1
        free[i] = free[j] = free[k] = then
        steps = max(steps, then)
    return steps


@compiled
def _follows(
    plan: Int32s, parent: Ints, degree: Ints, locked: Ints, ground: Ground, goal: Ints
) -> bool:
    for at in range(len(plan)):
        i, j, k = int(np.int64(plan[at, 0])), int(np.int64(plan[at, 1])), int(np.int64(plan[at, 2]))
        if i == k or not is_link(parent, i, j) or not is_link(parent, j, k):
            return False
        if stays_put(ground, i, j) or locked[i] or locked[j] or locked[k]:
            return False
        if degree[k] >= ground.cap:
            return False
        slide_local(parent, i, j, k)
        degree[j] -= 1
        degree[k] += 1
    return bool(np.all(parent == goal))


def replays(arrays: Arrays, plan: Int32s) -> bool:
    """Return whether the slides lead from today's tree to the goal by the rules."""
    parent, degree = arrays.before.copy(), arrays.degree_before.copy()
    return bool(_follows(plan, parent, degree, arrays.locked, arrays.ground, arrays.after))
