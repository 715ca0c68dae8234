"""Work ahead of a message with batches at random: exact series, means, quantiles, shapes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from tests.weir.queueing.exact_work import exact_tail
from weir.errors import InvalidProblem
from weir.queueing.poisson_work import PoissonWork

UTILISATIONS = [0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999]
PLACES = [0.0, 0.25, 1.0, 1.5, 2.75, 5.0, 9.5, 17.3, 30.0]
BATCHES: list[dict[int, float]] = [{1: 1.0}, {2: 1.0}, {1: 0.5, 2: 0.5}, {1: 0.2, 3: 0.5, 7: 0.3}]


def exact_ahead(x: float, utilisation: float, batches: dict[int, float]) -> float:
    """Return P(V > x) from the exact tail of U and the places within a batch."""
    mean = math.fsum(size * share for size, share in batches.items())
    return math.fsum(
        share / mean * (exact_tail(x - before, utilisation, batches) if x >= before else 1.0)
        for size, share in batches.items()
        for before in range(size)
    )


@pytest.mark.parametrize("utilisation", UTILISATIONS)
@pytest.mark.parametrize("batches", BATCHES, ids=str)
def test_tail_is_the_exact_series(utilisation: float, batches: dict[int, float]) -> None:
    work = PoissonWork(utilisation, batches)
    for x in PLACES:
        assert work.tail(x) == pytest.approx(
            exact_ahead(x, utilisation, batches), rel=1e-9, abs=1e-280
        )


@pytest.mark.parametrize("utilisation", UTILISATIONS)
def test_quantile_and_smallest_bucket_are_where_the_exact_series_falls_to_one_percent(
    utilisation: float,
) -> None:
    value = PoissonWork(utilisation).quantile(0.99)
    assert exact_tail(value, utilisation, {1: 1.0}) == pytest.approx(0.01, rel=1e-9)


@pytest.mark.parametrize("utilisation", UTILISATIONS)
def test_mean_is_that_of_the_formula_of_pollaczek_and_khinchine(utilisation: float) -> None:
    work = PoissonWork(utilisation)
    assert work.mean == pytest.approx(utilisation / (2 * (1 - utilisation)), rel=1e-12)
    # Added up from the tail alone.
    assert work.excess_mean(0.0) == work.mean
    assert work._integral(0.0) == pytest.approx(work.mean, rel=1e-9)


@pytest.mark.parametrize("batches", BATCHES, ids=str)
@pytest.mark.parametrize("value", [0.0, 0.5, 3.0, 8.25, 40.0])
def test_mean_excess_is_the_integral_of_the_tail(batches: dict[int, float], value: float) -> None:
    work = PoissonWork(0.7, batches)
    edges = [value, *range(math.floor(value) + 1, 300)]
    pieces = [
        quad(work.tail, low, high, epsabs=0.0, epsrel=1e-12)[0] for low, high in pairwise(edges)
    ]
    assert work.excess_mean(value) == pytest.approx(math.fsum(pieces), rel=1e-9)
    assert work.excess_mean(-2.0) == pytest.approx(work.mean + 2.0, rel=1e-12)


def test_batches_of_ten_are_batches_of_one_ten_times_as_large() -> None:
    ten, one = PoissonWork(0.9, 10), PoissonWork(0.9)
    for x in (0.5, 4.0, 12.5, 80.0):
        expected = sum(one.tail((x - before) / 10) for before in range(10)) / 10
        assert ten.tail(x) == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(
    st.floats(0.02, 0.995),
    st.dictionaries(st.integers(1, 12), st.floats(0.05, 1.0), min_size=1, max_size=4),
    st.lists(st.floats(0.0, 200.0), min_size=2, max_size=6),
)
def test_tail_falls_and_the_quantile_inverts_it(
    utilisation: float, batches: dict[int, float], places: list[float]
) -> None:
    work = PoissonWork(utilisation, batches)
    tails = work.tails(sorted(places))
    assert ((tails >= 0) & (tails <= 1)).all()
    assert (np.diff(tails) <= 1e-12).all()
    value = work.quantile(0.99)
    assert work.tail(value) <= 0.01 * (1 + 1e-9)
    assert value == 0 or work.tail(value * (1 - 1e-6) - 1e-9) > 0.01 * (1 - 1e-9)


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12])
def test_near_saturation_the_quantile_is_that_of_heavy_traffic(gap: float) -> None:
    # V (1 - rho) tends to an exponential of mean 1/2.
    value = PoissonWork(1 - gap).quantile(0.99) * (1 - (1 - gap))
    assert value == pytest.approx(math.log(100) / 2, rel=1e-4 if gap > 1e-7 else 1e-6)


@pytest.mark.parametrize("batches", [{1: 0.5, 2_000: 0.5}, {10: 0.9, 10_000: 1e-5}, 1_000_000])
def test_long_batches_are_computed_in_seconds(batches: dict[int, float] | int) -> None:
    work = PoissonWork(0.9, batches)
    value = work.quantile(0.99)
    assert work.tail(value) == pytest.approx(0.01, rel=1e-6)
    assert work._integral(0.0) == pytest.approx(work.mean, rel=1e-3)


@pytest.mark.parametrize("utilisation", [0.0, 1.0, 1.5, -0.1, math.nan])
def test_an_unstable_bucket_is_refused(utilisation: float) -> None:
    with pytest.raises(InvalidProblem, match="utilisation"):
        PoissonWork(utilisation)


@pytest.mark.parametrize("batches", [{}, {0: 1.0}, {2: -1.0}, {1: 0.0}])
def test_batches_that_are_none_are_refused(batches: dict[int, float]) -> None:
    with pytest.raises(InvalidProblem, match="batches"):
        PoissonWork(0.5, batches)
