"""The direction in which prices move: Newton's, on the rows that are congested or priced."""

from __future__ import annotations

import numpy as np

from weir.allocation.layout import IntArray
from weir.compiled import compiled
from weir.optimizers.certified.polishing.grid import Grid
from weir.utility import FloatArray

DENSE_ROWS = 96
MAX_GRADIENT_STEPS = 60
ACCURACY = 1e-8
"""Conjugate gradients end at this share of the first residual: Newton need not be exact."""

FAR = 8.0
"""A price moves by this many times its own size at most where the load does not yield."""

REGULAR = 1e-11
"""Added to the diagonal, relative to it: rows may be copies of each other."""


@compiled
def direction(
    grid: Grid,
    coef: FloatArray,
    price: FloatArray,
    slack: FloatArray,
    rate: FloatArray,
    yielding: FloatArray,
    scale: float,
) -> FloatArray:
    """Movement of every price; rows without price and with room left stay."""
    rows = len(price)
    diagonal, extra = np.zeros(rows), np.zeros(rows)
    for i in range(len(rate)):
        if yielding[i] > 0.0:
            for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
                diagonal[grid.entry_row[e]] += yielding[i] * coef[e] * coef[e]
    place = np.full(rows, -1, dtype=np.int64)
    step = np.zeros(rows)
    count = 0
    for m in range(rows):
        if price[m] <= 0.0 and slack[m] >= 0.0:
            continue
        # Where the load hardly yields a price moves by a few times its own size at most. The
        # damping fades with the slack, so the last steps are Newton's.
        reach = FAR * max(price[m], 0.01 * scale / rows)
        damping = abs(slack[m]) / reach if reach > 0.0 else 0.0
        extra[m] = max(diagonal[m] * REGULAR + damping, 1e-300)
        diagonal[m] += extra[m]
        place[m] = count
        count += 1
    if count > DENSE_ROWS:
        _sparse(grid, coef, slack, yielding, diagonal, extra, place, step)
        return step
    goal = np.zeros(rows)
    for _ in range(count):
        # The quadratic model is minimised over prices >= 0 by an active set: go towards the
        # minimum until the first price is 0, hold that one, ask again.
        _dense(grid, coef, slack, yielding, diagonal, place, step, goal)
        length, first = 1.0, -1
        for m in range(rows):
            if place[m] >= 0 and price[m] + goal[m] < 0.0:
                share = (price[m] + step[m]) / (step[m] - goal[m])
                if share < length:
                    length, first = max(share, 0.0), m
        for m in range(rows):
            if place[m] >= 0:
                step[m] += length * (goal[m] - step[m])
        if first < 0:
            break
        step[first] = -price[first]
        place[first] = -1
    return step


@compiled
def _dense(
    grid: Grid,
    coef: FloatArray,
    slack: FloatArray,
    yielding: FloatArray,
    diagonal: FloatArray,
    place: IntArray,
    step: FloatArray,
    goal: FloatArray,
) -> None:
    """Cholesky, scaled to a unit diagonal, on the rows with a place; the others move as they do."""
    count = 0
    for m in range(len(place)):
        if place[m] >= 0:
            place[m] = count
            count += 1
    matrix, right, root = np.zeros((count, count)), np.zeros(count), np.zeros(count)
    for m in range(len(place)):
        if place[m] >= 0:
            root[place[m]] = np.sqrt(diagonal[m])
            right[place[m]] = -slack[m] / root[place[m]]
    for i in range(len(yielding)):
        if yielding[i] > 0.0:
            through = 0.0
            for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
                if place[grid.entry_row[e]] < 0:
                    through += coef[e] * step[grid.entry_row[e]]
            if through != 0.0:
                for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
                    a = place[grid.entry_row[e]]
                    if a >= 0:
                        right[a] -= yielding[i] * coef[e] * through / root[a]
            for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
                a = place[grid.entry_row[e]]
                if a < 0:
                    continue
                for f in range(grid.entry_start[i], e):
                    b = place[grid.entry_row[f]]
                    if b >= 0:
                        part = yielding[i] * (coef[e] / root[a]) * (coef[f] / root[b])
                        matrix[max(a, b), min(a, b)] += part
    for a in range(count):
        for b in range(a + 1):
            total = matrix[a, b]
            for c in range(b):
                total -= matrix[a, c] * matrix[b, c]
            if a == b:
                matrix[a, a] = np.sqrt(max(1.0 + total, REGULAR))
            else:
                matrix[a, b] = total / matrix[b, b]
    for a in range(count):
        for b in range(a):
            right[a] -= matrix[a, b] * right[b]
        right[a] /= matrix[a, a]
    for a in range(count - 1, -1, -1):
        for b in range(a + 1, count):
            right[a] -= matrix[b, a] * right[b]
        right[a] /= matrix[a, a]
    for m in range(len(place)):
        if place[m] >= 0:
            goal[m] = right[place[m]] / root[place[m]]


@compiled
def _sparse(
    grid: Grid,
    coef: FloatArray,
    slack: FloatArray,
    yielding: FloatArray,
    diagonal: FloatArray,
    extra: FloatArray,
    place: IntArray,
    step: FloatArray,
) -> None:
    """Solve by conjugate gradients, preconditioned by the diagonal."""
    rows = len(place)
    x, left, image = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    for m in range(rows):
        if place[m] >= 0:
            left[m] = -slack[m]
    ahead, size = np.zeros(rows), 0.0
    for m in range(rows):
        if place[m] >= 0:
            ahead[m] = left[m] / diagonal[m]
            size += left[m] * ahead[m]
    first = size
    for _ in range(MAX_GRADIENT_STEPS):
        if size <= ACCURACY * first:
            break
        image[:] = 0.0
        for i in range(len(yielding)):
            if yielding[i] > 0.0:
                through = 0.0
                for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
                    through += coef[e] * ahead[grid.entry_row[e]]
                through *= yielding[i]
                for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
                    image[grid.entry_row[e]] += coef[e] * through
        along = 0.0
        for m in range(rows):
            if place[m] >= 0:
                image[m] += extra[m] * ahead[m]
                along += ahead[m] * image[m]
        if not along > 0.0:
            break
        length = size / along
        new_size = 0.0
        for m in range(rows):
            if place[m] >= 0:
                x[m] += length * ahead[m]
                left[m] -= length * image[m]
                new_size += left[m] * left[m] / diagonal[m]
        for m in range(rows):
            if place[m] >= 0:
                ahead[m] = left[m] / diagonal[m] + (new_size / size) * ahead[m]
        size = new_size
    for m in range(rows):
        if place[m] >= 0:
            step[m] = x[m]
