"""Running sums inside many segments at once, each as exact as if it stood alone.

One running sum over everything minus its value at each start would carry the rounding of
large segments into small ones. Instead segments of similar length are laid out as rows of
one table and summed along the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from weir.utility import FloatArray


def summed(at: np.ndarray, amounts: FloatArray, length: int) -> FloatArray:
    """Entry i of the answer is the sum of the amounts whose place is i."""
    return np.bincount(at, amounts, length).astype(np.float64)  # an empty input counts in int


class Segments:
    """Consecutive segments of given sizes, some possibly empty."""

    def __init__(self, sizes: np.ndarray) -> None:
        self.count = len(sizes)
        self.length = int(sizes.sum())
        starts = np.cumsum(sizes) - sizes
        self.filled = np.flatnonzero(sizes)
        self._starts = starts[self.filled]
        bits = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
        self._tables = []
        for bit in np.unique(bits[self.filled]):
            rows = self.filled[bits[self.filled] == bit]
            column = np.arange(sizes[rows].max())
            inside = column < sizes[rows][:, None]
            at = np.where(inside, starts[rows][:, None] + column, 0)
            self._tables.append((at, inside))

    def sum_before(self, values: FloatArray) -> FloatArray:
        """For each place the sum of the values before it in its segment."""
        sums = np.empty(self.length)
        for at, inside in self._tables:
            table = np.where(inside, values[at], 0.0)
            before = np.zeros_like(table)
            np.cumsum(table[:, :-1], axis=1, out=before[:, 1:])
            sums[at[inside]] = before[inside]
        return sums

    def maximum(self, values: FloatArray, empty: float) -> FloatArray:
        """The largest value of each segment."""
        largest = np.full(self.count, empty)
        if len(self.filled):
            largest[self.filled] = np.maximum.reduceat(values, self._starts)
        return largest
