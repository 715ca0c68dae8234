"""Hill climbing over whole populations: one class, or two at once, by exact trials.

Moves are a class up or down by 1, 2, 4, ... consumers, and pairs of such moves; a pair at one
node also in amounts that balance the load. A move is tried if its bound says that it can pay,
most promising first (by the margins), and the first that pays is taken.
"""

from __future__ import annotations

import numpy as np

from weir.allocation.layout import IntArray
from weir.compiled import compiled, compiled_inside
from weir.optimizers.certified.polishing.grid import Grid, Point
from weir.optimizers.certified.polishing.trial import BETTER, attempt, gain_bound, margins
from weir.utility import FloatArray

MAX_PAIRS = 100_000
"""Pairs that are weighed at most per round."""

WEIGHING = 0.02
"""What the bound of a move costs, in trials."""


@compiled_inside
def singles(
    grid: Grid, population: FloatArray, chosen: IntArray, largest: float
) -> tuple[IntArray, FloatArray]:
    """Moves of one class each: by powers of two, and all the way."""
    count = 0
    classes, more = np.zeros(140 * len(chosen), dtype=np.int64), np.zeros(140 * len(chosen))
    for j in chosen:
        for sign in (1.0, -1.0):
            room = grid.most[j] - population[j] if sign > 0.0 else population[j]
            size = 1.0
            while size < room and size <= largest:
                classes[count], more[count] = j, sign * size
                count += 1
                size *= 2.0
            if room >= 1.0:
                classes[count], more[count] = j, sign * room
                count += 1
    return classes[:count], more[:count]


@compiled
def climb_singles(
    grid: Grid,
    point: Point,
    value: float,
    chosen: IntArray,
    trials: float,
) -> tuple[float, bool]:
    """Return the value after so many trials, and whether no single move pays any more."""
    gain, share = np.zeros(len(point.population)), np.zeros(len(point.population))
    while trials > 0.0:
        margins(grid, point.price, point.rate, gain, share)
        classes, more = singles(grid, point.population, chosen, np.inf)
        improved = False
        for a in np.argsort(-gain[classes] * more):
            if trials <= 0.0:
                return value, False
            j, m = classes[a : a + 1], more[a : a + 1]
            trials -= WEIGHING
            if gain_bound(grid, point, j, m) <= BETTER * abs(value):
                continue
            trials -= 1.0
            found = attempt(grid, point, value, j, m)
            if found > value:
                value = found
                improved = True
                break
        if not improved:
            return value, True
    return value, False


@compiled_inside
def _pairs(
    grid: Grid,
    population: FloatArray,
    chosen: IntArray,
    gain: FloatArray,
    share: FloatArray,
    largest: float,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Two classes each, with what the margins promise."""
    first, steps = singles(grid, population, chosen, largest)
    room = max(1, min(MAX_PAIRS, len(first) * (len(first) + 2 * len(chosen))))
    classes, more = np.zeros((room, 2), dtype=np.int64), np.zeros((room, 2))
    count = 0
    for a in range(len(first)):
        j = first[a]
        for k in chosen:  # at the same node, so that the load stays
            if k == j or grid.class_node[k] != grid.class_node[j] or share[k] <= 0.0:
                continue
            exact = -steps[a] * share[j] / share[k]
            for amount in (np.floor(exact), np.ceil(exact)):
                fits = -population[k] <= amount <= grid.most[k] - population[k]
                if fits and amount != 0.0 and count < room:
                    classes[count, 0], classes[count, 1] = j, k
                    more[count, 0], more[count, 1] = steps[a], amount
                    count += 1
    for a in range(len(first)):
        for b in range(a):
            if first[b] != first[a] and count < room:
                classes[count, 0], classes[count, 1] = first[a], first[b]
                more[count, 0], more[count, 1] = steps[a], steps[b]
                count += 1
    promise = np.zeros(count)
    for a in range(count):
        promise[a] = gain[classes[a, 0]] * more[a, 0] + gain[classes[a, 1]] * more[a, 1]
    return classes[:count], more[:count], promise


@compiled
def climb_pairs(
    grid: Grid,
    point: Point,
    value: float,
    chosen: IntArray,
    largest: float,
    begin: int,
    trials: float,
) -> tuple[float, int]:
    """Return the value and where to begin next: 0 after a pair that pays, -1 if none is left."""
    gain, share = np.zeros(len(point.population)), np.zeros(len(point.population))
    margins(grid, point.price, point.rate, gain, share)
    classes, more, promise = _pairs(grid, point.population, chosen, gain, share, largest)
    order = np.argsort(-promise)
    for at in range(begin, len(order)):
        if trials <= 0.0:
            return value, at
        j, m = classes[order[at]], more[order[at]]
        trials -= WEIGHING
        if gain_bound(grid, point, j, m) <= BETTER * abs(value):
            continue
        trials -= 1.0
        found = attempt(grid, point, value, j, m)
        if found > value:
            return found, 0
    return value, -1
