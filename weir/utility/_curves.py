"""Many concave piecewise-linear curves evaluated at once; shared by two kinds.

Below its first knot a curve goes on along its first segment, above its last it is flat:
the only continuation that keeps it concave and non-decreasing everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from weir.utility._arrays import FloatArray

Knots = tuple[tuple[float, float], ...]

FEW_KNOTS = 32
SMALL_TABLE = 16_384
"""Comparing a rate with every knot is faster than searching among them where no curve has more than
`FEW_KNOTS`, or where all comparisons are no more than this."""


def upper_hull(knots: Knots) -> Knots:
    """The smallest concave curve above the knots (given in increasing order of rate)."""
    hull: list[tuple[float, float]] = []
    for x, y in knots:
        while len(hull) >= 2:
            (x0, y0), (x1, y1) = hull[-2], hull[-1]
            if (y1 - y0) * (x - x0) > (y - y0) * (x1 - x0):
                break
            hull.pop()
        hull.append((x, y))
    return tuple(hull)


def _segments(knots: Knots, rates: FloatArray) -> tuple[FloatArray, FloatArray, np.ndarray]:
    x, y = np.array(knots).T
    slopes = np.append(np.diff(y) / np.diff(x), 0.0)
    return y, slopes, np.maximum(np.searchsorted(x, rates, side="right") - 1, 0)


def evaluate(knots: Knots, rate: npt.ArrayLike) -> FloatArray:
    """Height of one curve at one rate or an array of rates."""
    rates = np.asarray(rate, dtype=np.float64)
    y, slopes, k = _segments(knots, rates)
    return np.asarray(y[k] + slopes[k] * (rates - np.array(knots)[k, 0]))


def slope_at(knots: Knots, rate: npt.ArrayLike) -> FloatArray:
    """Slope of one curve just right of one rate or of an array of rates."""
    _, slopes, k = _segments(knots, np.asarray(rate, dtype=np.float64))
    return np.asarray(slopes[k])


class Curves:
    """Struct of arrays: knots of all curves behind each other."""

    def __init__(self, curves: Sequence[Knots]) -> None:
        sizes = np.array([len(curve) for curve in curves], dtype=np.int64)
        flat = np.array([point for curve in curves for point in curve], dtype=np.float64)
        self._x, self._y = flat.reshape(-1, 2).T.copy() if len(flat) else np.empty((2, 0))
        stop = np.cumsum(sizes)
        self._first = stop - sizes
        self._last = stop - 1
        # slope of the segment that starts at each knot; 0 after a curve's last knot
        self._slope = np.zeros(len(self._x))
        inner = np.ones(len(self._x), dtype=bool)
        inner[self._last] = False
        at = np.flatnonzero(inner)
        self._slope[at] = (self._y[at + 1] - self._y[at]) / (self._x[at + 1] - self._x[at])
        self._steps = int(sizes.max(initial=1)).bit_length()
        widest = int(sizes.max(initial=1))
        compares = widest <= FEW_KNOTS or widest * len(sizes) <= SMALL_TABLE
        self._later = self._x_of_later(sizes, widest - 1) if compares else None

    def _x_of_later(self, sizes: np.ndarray, rows: int) -> FloatArray:
        """Row k holds the x of knot k + 1 of every curve, infinity where a curve has fewer."""
        later = np.full((rows, len(sizes)), np.inf)
        for k in range(rows):
            has = np.flatnonzero(sizes > k + 1)
            later[k, has] = self._x[self._first[has] + k + 1]
        return later

    def _segment(self, rates: FloatArray) -> np.ndarray:
        """Index of the last knot at or below the rate, the first knot where there is none."""
        if self._later is not None:
            below = (self._later <= rates).sum(axis=0)
            # an infinite rate lies above the infinite knots that fill the table, too
            return np.asarray(np.minimum(self._first + below, self._last))
        low, high = self._first.copy(), self._last.copy()
        for _ in range(self._steps):
            middle = (low + high + 1) // 2
            right = self._x[middle] <= rates
            low = np.where(right, middle, low)
            high = np.where(right, high, np.maximum(middle - 1, self._first))
        return low

    def value(self, rates: FloatArray) -> FloatArray:
        """Height of curve i at rate i."""
        k = self._segment(rates)
        return np.asarray(self._y[k] + self._slope[k] * (rates - self._x[k]))

    def derivative(self, rates: FloatArray) -> FloatArray:
        """Slope to the right of rate i."""
        return np.asarray(self._slope[self._segment(rates)])

    def rate_at(self, marginal: FloatArray) -> FloatArray:
        """The end of the last segment steeper than the marginal value; 0 if none is."""
        low, high = self._first.copy(), self._last.copy()
        for _ in range(self._steps):  # first knot whose outgoing slope is not steeper
            middle = (low + high) // 2
            steeper = self._slope[middle] > marginal
            low = np.where(steeper, np.minimum(middle + 1, self._last), low)
            high = np.where(steeper, high, middle)
        steep = self._slope[low] > marginal  # only where even the flat end is (marginal < 0)
        ends = np.where(steep, np.inf, self._x[low])
        return np.asarray(np.where(low == self._first, np.where(steep, np.inf, 0.0), ends))
