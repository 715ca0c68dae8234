"""Gather the rows of a program piece by piece and stack them into one sparse matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from weir.utility import FloatArray


class TooLarge(Exception):
    """Signal that the program would have more coefficients than allowed."""


class Rows:
    """Ask for `new` rows, `put` coefficients in, `limit` them; columns below 0 are left out."""

    def __init__(self, most_terms: int | None = None) -> None:
        self._count = 0
        self._most_terms = most_terms
        self._rows: list[np.ndarray] = []
        self._columns: list[np.ndarray] = []
        self._factors: list[FloatArray] = []
        self._least: list[FloatArray] = []
        self._most: list[FloatArray] = []
        self._place = np.zeros(0, dtype=np.int64)

    def new(self, count: int, *, of: np.ndarray | None = None, among: int = 0) -> np.ndarray:
        """Numbers of so many new rows; `of` remembers what each is about, for `row_of`."""
        row = np.arange(self._count, self._count + count)
        self._count += count
        if of is not None:
            self._place = np.zeros(among, dtype=np.int64)
            self._place[of] = row
        return row

    def row_of(self, what: np.ndarray) -> np.ndarray:
        """Return the row about each of these, among the rows remembered last."""
        found: np.ndarray = self._place[what]
        return found

    def put(self, rows: np.ndarray, columns: np.ndarray, factor: float) -> None:
        """Add one coefficient at each row and column; negative columns are skipped."""
        there = columns >= 0
        self._rows.append(rows[there])
        self._columns.append(columns[there])
        self._factors.append(np.full(int(there.sum()), factor))

    def limit(self, least: FloatArray, most: FloatArray) -> None:
        """Set the lower and upper limits of the newest rows."""
        self._least.append(least)
        self._most.append(most)

    def expect(self, terms: int) -> None:
        """Raise TooLarge where `terms` more coefficients would exceed the limit. Call it before
        building them."""
        have = sum(map(len, self._columns))
        if self._most_terms is not None and have + terms > self._most_terms:
            raise TooLarge

    def stacked(self, columns: int) -> tuple[sparse.csr_array, FloatArray, FloatArray]:
        """Return the sparse matrix of all rows with their lower and upper limits."""
        where = (np.concatenate(self._rows), np.concatenate(self._columns))
        shape = (self._count, columns)
        matrix = sparse.coo_array((np.concatenate(self._factors), where), shape=shape)
        return sparse.csr_array(matrix), np.concatenate(self._least), np.concatenate(self._most)
