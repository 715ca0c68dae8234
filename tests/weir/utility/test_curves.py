"""Many curves at once: each lies on the segment that a plain search finds."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.utility._curves import FEW_KNOTS, SMALL_TABLE, Curves

if TYPE_CHECKING:
    from weir.utility import FloatArray

ODD = (-0.0, 0.0, -1.0, 5e-324, 1e308, math.inf, -math.inf, math.nan)


def searched(curves: list[list[tuple[float, float]]], rates: FloatArray) -> np.ndarray:
    """Search every curve's knots by halving, as `Curves` does where one has many."""
    sizes = np.array([len(curve) for curve in curves], dtype=np.int64)
    x = np.array([knot[0] for curve in curves for knot in curve])
    first, last = np.cumsum(sizes) - sizes, np.cumsum(sizes) - 1
    low, high = first.copy(), last.copy()
    for _ in range(int(sizes.max(initial=1)).bit_length()):
        middle = (low + high + 1) // 2
        right = x[middle] <= rates
        low = np.where(right, middle, low)
        high = np.where(right, high, np.maximum(middle - 1, first))
    return low


@st.composite
def concave(draw: st.DrawFn, most: int) -> list[tuple[float, float]]:
    numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
    x = sorted(draw(st.lists(numbers, min_size=1, max_size=most, unique=True)))
    heights = sorted(draw(st.lists(numbers, min_size=len(x), max_size=len(x))))
    return list(zip(x, heights, strict=True))


def rates_about(curves: list[list[tuple[float, float]]], data: st.DataObject) -> FloatArray:
    """One rate for each curve: on a knot, one step beside it, between two, or an odd one."""
    chosen = []
    for curve in curves:
        x = [knot[0] for knot in curve]
        beside = [math.nextafter(at, way) for at in x for way in (-math.inf, math.inf)]
        between = [(a + b) / 2 for a, b in pairwise(x)]
        chosen.append(data.draw(st.sampled_from([*x, *beside, *between, *ODD])))
    return np.array(chosen)


@pytest.mark.parametrize("most", [1, 4, 40])
@given(data=st.data())
def test_comparing_finds_what_a_search_finds(most: int, data: st.DataObject) -> None:
    curves = data.draw(st.lists(concave(most), min_size=1, max_size=6))
    made = Curves([tuple(curve) for curve in curves])
    rates = rates_about(curves, data)
    with np.errstate(all="ignore"):
        k = searched(curves, rates)
        assert np.array_equal(made._segment(rates), k)
        value = made._y[k] + made._slope[k] * (rates - made._x[k])
        assert made.value(rates).tobytes() == value.tobytes()
        assert made.derivative(rates).tobytes() == made._slope[k].tobytes()


@pytest.mark.parametrize(
    ("knots", "compares"),
    [(1, True), (2, True), (FEW_KNOTS, True), (FEW_KNOTS + 1, False), (256, False)],
)
def test_every_knot_and_both_its_neighbours(knots: int, compares: bool) -> None:
    curve = [(math.sqrt(n), math.log1p(n)) for n in range(knots)]
    about = [
        rate
        for x, _ in curve
        for rate in (x, math.nextafter(x, -math.inf), math.nextafter(x, math.inf))
    ]
    chosen = [*about, *ODD]
    rates = np.array(chosen * (SMALL_TABLE // (knots * len(chosen)) + 1))
    # a longer and a shorter neighbour: the table is filled up for some of them
    curves = [curve if n % 2 else curve[:1] for n in range(len(rates))]
    for several in (curves, curves[::-1]):
        made = Curves([tuple(curve) for curve in several])
        assert (made._later is not None) == compares
        assert np.array_equal(made._segment(rates), searched(several, rates))


def test_few_long_curves_are_compared_too() -> None:
    curves = [[(float(n), math.log1p(n)) for n in range(256)], [(0.0, 1.0)]]
    made = Curves([tuple(curve) for curve in curves])
    assert made._later is not None
    for rate in (*range(-1, 258), 0.5, *ODD):
        rates = np.array([rate, rate])
        assert np.array_equal(made._segment(rates), searched(curves, rates))


def test_no_curve_has_no_segment() -> None:
    assert Curves([])._segment(np.empty(0)).shape == (0,)
