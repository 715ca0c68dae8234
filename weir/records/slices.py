"""Slices of a log: the rows of some span of time, column by column, without an object per row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SLICE_RECORDS = 250_000
"""Records of a slice, about: what is in memory at once is in proportion to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A column of texts: each row has the place of its own in `names`."""

    names: tuple[str, ...]
    """The same in every slice of a log."""
    codes: NDArray[np.int32]


Column = NDArray[np.float64] | NDArray[np.int64] | Text
Columns = Mapping[str, Column]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The rows of one span of time: none is before a row of an earlier slice."""

    tables: Mapping[str, Columns]
    """By name of the table; `at_s` is in Unix seconds, a `delay_s` that is not known is nan."""

    @property
    def records(self) -> int:
        """Return the rows of all tables together."""
        return sum(rows_of(columns) for columns in self.tables.values())


def rows_of(columns: Columns) -> int:
    """Return how many rows these columns have."""
    column = columns["at_s"]
    return len(column.codes if isinstance(column, Text) else column)


def first_records(slices: Iterator[Slice], records: int) -> Iterator[Slice]:
    """Yield the log up to its record of this number, in order of time over all tables.

    Raises ValueError where it has fewer.
    """
    left = records
    for each in slices:
        if each.records >= left:
            yield _earliest(each, left)
            return
        left -= each.records
        yield each
    raise ValueError(f"the log ends {left:,} records too early")


def _earliest(whole: Slice, count: int) -> Slice:
    sizes = [rows_of(columns) for columns in whole.tables.values()]
    at_s = np.concatenate([columns["at_s"] for columns in whole.tables.values()])
    kept = np.zeros(len(at_s), dtype=np.bool_)
    kept[np.argsort(at_s, kind="stable")[:count]] = True
    parts = np.split(kept, np.cumsum(sizes)[:-1])
    return Slice(
        tables={
            name: {key: _where(column, part) for key, column in columns.items()}
            for (name, columns), part in zip(whole.tables.items(), parts, strict=True)
        }
    )


def _where(column: Column, kept: NDArray[np.bool_]) -> Column:
    if isinstance(column, Text):
        return Text(names=column.names, codes=column.codes[kept])
    return column[kept]


class Ahead:
    """Rows that were made in one span of time and lie behind its end."""

    def __init__(self) -> None:
        self._rows: dict[str, NDArray[Any]] = {}

    def exchange(self, rows: dict[str, NDArray[Any]], until_s: float) -> dict[str, NDArray[Any]]:
        """Return what is due before `until_s` of these rows and of those kept; keep the others."""
        if self._rows:
            rows = {key: np.concatenate([self._rows[key], column]) for key, column in rows.items()}
        late = np.flatnonzero(rows["at_s"] >= until_s)
        self._rows = {key: column[late] for key, column in rows.items()}
        if not len(late):
            return rows
        # Rows come almost in order: those before the first late one are not looked through again.
        first = int(late[0])
        due = first + np.flatnonzero(rows["at_s"][first:] < until_s)
        return {key: np.concatenate([column[:first], column[due]]) for key, column in rows.items()}
