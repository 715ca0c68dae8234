"""Whole publishers per group and broker: sums are kept, no cell is a publisher off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.placement._cells import proportional_cells


@st.composite
def sums(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    rows = draw(st.lists(st.integers(0, 30), min_size=1, max_size=25))
    whole = sum(rows)
    count = draw(st.integers(1, 7))
    cuts = sorted(draw(st.lists(st.integers(0, whole), min_size=count - 1, max_size=count - 1)))
    columns = np.diff([0, *cuts, whole])
    return np.array(rows, dtype=np.int64), columns.astype(np.int64)


@settings(deadline=None, max_examples=400)
@given(sums())
def test_sums_are_kept_and_no_cell_is_a_whole_publisher_off(
    drawn: tuple[np.ndarray, np.ndarray],
) -> None:
    rows, columns = drawn
    cells = proportional_cells(rows, columns)
    assert cells.sum(axis=1).tolist() == rows.tolist()
    assert cells.sum(axis=0).tolist() == columns.tolist()
    if rows.sum():
        proportional = np.outer(rows, columns) / rows.sum()
        assert (np.abs(cells - proportional) < 1).all()
        assert (cells >= 0).all()


def test_many_small_groups_are_dealt_exactly() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 4, 20_000)
    columns = np.array([7, 11, 13, 0, 2]) * (rows.sum() // 33)
    columns[0] += rows.sum() - columns.sum()
    cells = proportional_cells(rows, columns.astype(np.int64))
    assert cells.sum(axis=0).tolist() == columns.tolist()
    assert (np.abs(cells - np.outer(rows, columns) / rows.sum()) < 1).all()


def test_different_sums_are_refused() -> None:
    with pytest.raises(ValueError, match="same sum"):
        proportional_cells(np.array([1]), np.array([2]))
