"""Branch and bound over whole populations: the optimum with proof, for small problems.

A box of populations is closed if its bound (`box`) does not exceed what is known by more than
EXACT, or if it is a single point, whose rates are solved exactly. Else it is cut in the middle
of the class that spans the largest share of capacity, the half nearest to the best known
populations first.

Cost: exponential in the classes that stay near their margin; tried on problems of up to
MAX_CLASSES movable classes, with a limit on the boxes.

References:
    A. H. Land, A. G. Doig. An automatic method of solving discrete programming problems.
    Econometrica 28(3), 1960. doi:10.2307/1910129
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.allocation.layout import IntArray
from weir.compiled import compiled, compiled_inside
from weir.optimizers.certified.polishing.box import box_bound
from weir.optimizers.certified.polishing.grid import Grid, Point
from weir.optimizers.certified.polishing.rates import best_rates, refresh
from weir.optimizers.certified.polishing.trial import ITERATIONS
from weir.utility import FloatArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.optimizers.certified.polishing.state import State

EXACT = 5e-10
"""Boxes that could improve the utility by no more than this share of it are closed."""

MAX_CLASSES = 16
MAX_BOXES = 40_000
BOXES_PER_CALL = 1_000
FEW_FLOWS = 16
"""Problems with more flows than this open fewer boxes between two questions whether to stop."""

DEPTH = 2048
"""Boxes that may wait; halving 16 populations of 2^53 consumers leaves 848 at most."""


class Boxes(NamedTuple):
    """Boxes of populations that wait, as a stack of D places. Sizes as in `Grid`."""

    low: FloatArray
    """D x C: fewest consumers of each class."""
    high: FloatArray
    """D x C: most."""
    price: FloatArray
    """D x M: prices to begin with."""


@compiled_inside
def _widest(grid: Grid, low: FloatArray, high: FloatArray, rate: FloatArray, free: IntArray) -> int:
    """Return the class whose interval spans the largest share of a row; -1 if all are points."""
    found, widest = -1, -1.0
    for j in free:
        if high[j] <= low[j]:
            continue
        share = 1e-300
        for k in range(grid.part_entry.shape[1]):
            share = max(share, grid.part_cost[j, k] * rate[grid.class_flow[j]])
        width = (high[j] - low[j]) * share
        if width > widest:
            found, widest = j, width
    return found


@compiled
def branch(
    grid: Grid, free: IntArray, point: Point, value: float, stack: Boxes, waiting: int, boxes: int
) -> tuple[float, int]:
    """Return the best value after so many boxes, and how many boxes wait on the stack."""
    wanted, at = np.zeros(len(point.population)), np.zeros(len(point.rate))
    trial = Point(
        point.population.copy(), point.coef, point.weight, point.price.copy(), point.rate.copy()
    )
    for _ in range(boxes):
        if waiting == 0:
            break
        waiting -= 1
        low, high = stack.low[waiting].copy(), stack.high[waiting].copy()
        price = stack.price[waiting].copy()
        target = value + EXACT * abs(value)
        if box_bound(grid, price, low, high, target, wanted, at) <= target:
            continue
        j = _widest(grid, low, high, at, free)
        for c in range(len(wanted)):  # in the middle; who costs nothing gets what it wants
            costs = False
            for k in range(grid.part_entry.shape[1]):
                costs = costs or grid.part_entry[c, k] >= 0
            trial.population[c] = np.floor(0.5 * (low[c] + high[c])) if costs else wanted[c]
        refresh(grid, trial)
        trial.price[:] = price
        trial.rate[:] = at
        found, _ = best_rates(grid, trial, value, int(np.int64(ITERATIONS)))
        if found > value:
            value = found
            point.population[:] = trial.population
            point.price[:] = trial.price
            point.rate[:] = trial.rate
        if j < 0 or waiting + 2 > len(stack.low):
            continue
        middle = np.floor(0.5 * (low[j] + high[j]))
        lower_first = point.population[j] > middle  # the last one on the stack is opened first
        for half in range(2):
            stack.low[waiting], stack.high[waiting], stack.price[waiting] = low, high, price
            if (half == 0) == lower_first:
                stack.high[waiting, j] = middle
            else:
                stack.low[waiting, j] = middle + 1.0
            waiting += 1
    refresh(grid, point)
    return value, waiting


def prove(state: State, stop: Callable[[], bool]) -> float | None:
    """Improve the state to the optimum; return the bound it proves, None if boxes are left."""
    grid = state.grid
    free = np.flatnonzero(~grid.is_fixed & (grid.most > 0))
    if len(free) > MAX_CLASSES:
        return None
    low, high = (np.zeros((DEPTH, len(state.population))) for _ in range(2))
    stack = Boxes(low, high, np.zeros((DEPTH, len(state.price))))
    stack.low[0] = np.where(grid.is_fixed, state.population, 0.0)
    stack.high[0] = np.where(grid.is_fixed, state.population, grid.most)
    stack.price[0] = state.price
    waiting, boxes = 1, 0
    per_call = max(1, BOXES_PER_CALL * FEW_FLOWS // max(FEW_FLOWS, len(state.rate)))
    while waiting and boxes < MAX_BOXES and not stop():
        state.value, waiting = branch(
            grid, free, state.point, state.value, stack, waiting, per_call
        )
        boxes += per_call
    return None if waiting else state.value + EXACT * abs(state.value)
