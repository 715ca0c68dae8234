"""Consumers against rates, at all nodes at once.

At solved rates each class has a margin: what one consumer is worth minus what it costs at the
prices. Where the best waiting class has a positive margin its node admits more of it, where
the worst admitted one has a negative margin its node lets go; the rates are then solved anew.
Each node moves a share of its capacity that grows while it moves one way and is halved when
it turns (steps by sign, as in Rprop), so that any number of nodes settles in some tens of
rounds. The best round is kept: never worse than the start.

Cost: one pass over the classes and one solution of the rates per round.

References:
    M. Riedmiller, H. Braun. A direct adaptive method for faster backpropagation learning: the
    RPROP algorithm. ICNN 1993. doi:10.1109/ICNN.1993.298623
"""

from __future__ import annotations

import numpy as np

from weir.allocation.layout import IntArray
from weir.compiled import compiled, compiled_inside
from weir.optimizers.certified.polishing.grid import Grid, Point
from weir.optimizers.certified.polishing.rates import best_rates, refresh
from weir.optimizers.certified.polishing.trial import add, margins
from weir.utility import FloatArray

GROW, SHRINK = 1.3, 0.5
LARGEST_STEP = 0.2
LEVEL = 1e-9
"""Margins within this share of the price count as zero."""


@compiled_inside
def _choices(
    grid: Grid,
    point: Point,
    gain: FloatArray,
    share: FloatArray,
    up: IntArray,
    down: IntArray,
) -> None:
    """Per node the best class to admit and the worst to let go, -1 where there is none."""
    population, price = point.population, point.price
    best, worst = np.zeros(len(up)), np.zeros(len(up))
    up[:] = -1
    down[:] = -1
    for j in range(len(population)):
        if grid.is_fixed[j] or grid.most[j] <= 0.0 or share[j] <= 0.0:
            continue  # who costs nothing here is no matter of capacity
        b = grid.class_node[j]
        ratio = gain[j] / share[j]
        level = 0.0
        for k in range(grid.part_entry.shape[1]):
            if grid.part_entry[j, k] >= 0:
                level = max(level, LEVEL * price[grid.entry_row[grid.part_entry[j, k]]])
        if population[j] < grid.most[j] and ratio > max(best[b], level):
            best[b], up[b] = ratio, j
        if population[j] > 0.0 and ratio < min(worst[b], -level):
            worst[b], down[b] = ratio, j


@compiled_inside
def _move(
    grid: Grid,
    point: Point,
    share: FloatArray,
    up: IntArray,
    down: IntArray,
    step: FloatArray,
    last: FloatArray,
) -> bool:
    """Every node moves its step; False if no step is as large as a consumer."""
    moved = False
    for b in range(len(up)):
        way = 0.0
        if up[b] >= 0:
            way += 1.0
        if down[b] >= 0:
            way -= 1.0
        if way != 0.0 and last[b] != 0.0:
            step[b] = min(step[b] * (GROW if way == last[b] else SHRINK), LARGEST_STEP)
        elif up[b] >= 0 and down[b] >= 0:
            step[b] *= 0.9  # an exchange of two classes has no direction that could turn
        if way != 0.0:
            last[b] = way
        for j, sign in ((up[b], 1.0), (down[b], -1.0)):
            if j < 0:
                continue
            room = grid.most[j] - point.population[j] if sign > 0.0 else point.population[j]
            more = min(np.floor(step[b] / share[j] + 0.5), room)
            if more >= 1.0:
                add(grid, point, j, sign * more)
                moved = True
    return moved


@compiled
def shift(
    grid: Grid,
    point: Point,
    value: float,
    step: FloatArray,
    last: FloatArray,
    rounds: int,
    iterations: int,
) -> tuple[float, bool]:
    """The best value found and whether moves are left; the point holds the best allocation.

    `step` and `last` carry over from call to call.
    """
    nodes, classes = len(step), len(point.population)
    gain, share = np.zeros(classes), np.zeros(classes)
    up, down = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    coef, weight = point.coef, point.weight
    now = Point(point.population.copy(), coef, weight, point.price.copy(), point.rate.copy())
    goes_on = True
    for _ in range(rounds):
        margins(grid, now.price, now.rate, gain, share)
        _choices(grid, now, gain, share, up, down)
        kept = now.population.copy()
        if not _move(grid, now, share, up, down, step, last):
            goes_on = False
            break
        then = Point(now.population, coef, weight, now.price.copy(), now.rate.copy())
        found, _ = best_rates(grid, then, -np.inf, iterations)
        if found == -np.inf:
            now.population[:] = kept
            refresh(grid, now)
            step *= SHRINK
            continue
        now.price[:] = then.price
        now.rate[:] = then.rate
        if found > value:
            value = found
            point.population[:] = now.population
            point.price[:] = now.price
            point.rate[:] = now.rate
    refresh(grid, point)
    return value, goes_on
