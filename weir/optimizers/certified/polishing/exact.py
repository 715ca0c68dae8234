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

from typing import TYPE_CHECKING

import numpy as np

from weir.allocation.layout import IntArray
from weir.compiled import compiled
from weir.optimizers.certified.polishing.box import box_bound
from weir.optimizers.certified.polishing.grid import Grid
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


@compiled
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
    grid: Grid,
    free: IntArray,
    population: FloatArray,
    coef: FloatArray,
    weight: FloatArray,
    price: FloatArray,
    rate: FloatArray,
    value: float,
    lows: FloatArray,
    highs: FloatArray,
    prices: FloatArray,
    waiting: int,
    boxes: int,
) -> tuple[float, int]:
    """Return the best value after so many boxes, and how many boxes wait in the three stacks."""
    wanted, at = np.zeros(len(population)), np.zeros(len(rate))
    n, p, r = population.copy(), price.copy(), rate.copy()
    for _ in range(boxes):
        if waiting == 0:
            break
        waiting -= 1
        low, high, p_box = lows[waiting].copy(), highs[waiting].copy(), prices[waiting].copy()
        target = value + EXACT * abs(value)
        if box_bound(grid, p_box, low, high, target, wanted, at) <= target:
            continue
        j = _widest(grid, low, high, at, free)
        for c in range(len(n)):  # a trial in the middle; who costs nothing gets what it wants
            costs = False
            for k in range(grid.part_entry.shape[1]):
                costs = costs or grid.part_entry[c, k] >= 0
            n[c] = np.floor(0.5 * (low[c] + high[c])) if costs else wanted[c]
        refresh(grid, n, coef, weight)
        p[:] = p_box
        r[:] = at
        found, _ = best_rates(grid, coef, weight, p, r, value, int(np.int64(ITERATIONS)))
        if found > value:
            value = found
            population[:] = n
            price[:] = p
            rate[:] = r
        if j < 0 or waiting + 2 > len(lows):
            continue
        middle = np.floor(0.5 * (low[j] + high[j]))
        lower_first = population[j] > middle  # the last one put on the stack is opened first
        for half in range(2):
            lows[waiting], highs[waiting], prices[waiting] = low, high, p_box
            if (half == 0) == lower_first:
                highs[waiting, j] = middle
            else:
                lows[waiting, j] = middle + 1.0
            waiting += 1
    refresh(grid, population, coef, weight)
    return value, waiting


def prove(state: State, stop: Callable[[], bool]) -> float | None:
    """Improve the state to the optimum; return the bound it proves, None if boxes are left."""
    grid = state.grid
    free = np.flatnonzero(~grid.is_fixed & (grid.most > 0))
    if len(free) > MAX_CLASSES:
        return None
    lows = np.zeros((DEPTH, len(state.population)))
    highs, prices = lows.copy(), np.zeros((DEPTH, len(state.price)))
    lows[0] = np.where(grid.is_fixed, state.population, 0.0)
    highs[0] = np.where(grid.is_fixed, state.population, grid.most)
    prices[0] = state.price
    waiting, boxes = 1, 0
    per_call = max(1, BOXES_PER_CALL * FEW_FLOWS // max(FEW_FLOWS, len(state.rate)))
    while waiting and boxes < MAX_BOXES and not stop():
        state.value, waiting = branch(
            grid,
            free,
            state.population,
            state.coef,
            state.weight,
            state.price,
            state.rate,
            state.value,
            lows,
            highs,
            prices,
            waiting,
            per_call,
        )
        boxes += per_call
    return None if waiting else state.value + EXACT * abs(state.value)
