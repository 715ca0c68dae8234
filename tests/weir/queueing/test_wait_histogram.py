"""Percentiles out of bins, beside those of the sorted waits."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.queueing.wait_histogram import (
    RATIO,
    SLICE_S,
    WINDOW_S,
    WaitWindow,
    bin_of,
    upper_edge_s,
)

pieces = st.lists(
    st.tuples(
        st.floats(0.0, 20.0),
        st.lists(st.one_of(st.just(0.0), st.floats(0.0, 30.0)), min_size=1, max_size=60),
    ),
    min_size=1,
    max_size=30,
)
"""Seconds since the last piece left, and what its messages have waited."""


def exact(waits: list[float], probability: float) -> float:
    """The longest wait that more than 1 - `probability` of them reach or exceed."""
    allowed = math.floor((1.0 - probability) * len(waits))
    return sorted(waits, reverse=True)[min(allowed, len(waits) - 1)]


@given(pieces)
def test_percentiles_of_the_window_are_those_of_sorting(
    left: list[tuple[float, list[float]]],
) -> None:
    window, now = WaitWindow(), 1_000.0
    counted: list[tuple[float, list[float]]] = []
    for gap, waits in left:
        now += gap
        arrived_at = sorted(now - wait for wait in waits)
        window.count(now, arrived_at)
        counted.append((now, [now - at for at in arrived_at]))
        first = (math.floor(now / SLICE_S) + 1) * SLICE_S - WINDOW_S
        within = [wait for then, waits in counted if then >= first for wait in waits]
        assert window.messages(now) == len(within)
        assert window.longest_s(now) == max(within)
        assert window.mean_s(now) == pytest.approx(sum(within) / len(within), abs=1e-9)
        for probability in (0.1, 0.5, 0.9, 0.99):
            truth = exact(within, probability)
            counted_s = window.quantile_s(now, probability)
            # Rounding may put what lies on an edge on either side of it.
            assert counted_s >= truth * (1 - 1e-9)
            assert counted_s <= truth * RATIO * (1 + 1e-9)


@given(st.floats(1e-9, 1e6))
def test_a_bin_holds_what_is_above_its_lower_edge(wait_s: float) -> None:
    bin_ = bin_of(wait_s)
    assert upper_edge_s(bin_ - 1) * (1 - 1e-12) <= wait_s <= upper_edge_s(bin_) * (1 + 1e-12)


def test_a_large_piece_counts_like_its_messages_one_by_one() -> None:
    arrived_at = [1_000.0 + 0.001 * number for number in range(5_000)]
    together, apart = WaitWindow(), WaitWindow()
    together.count(1_005.0, arrived_at)
    for at in arrived_at:
        apart.count(1_005.0, [at])
    assert together.messages(1_005.0) == apart.messages(1_005.0) == 5_000
    for probability in (0.0, 0.3, 0.5, 0.99):
        assert together.quantile_s(1_005.0, probability) == apart.quantile_s(1_005.0, probability)
    assert together.mean_s(1_005.0) == pytest.approx(apart.mean_s(1_005.0), rel=1e-9)


def test_what_left_before_the_window_is_forgotten() -> None:
    window = WaitWindow()
    window.count(1_000.0, [990.0] * 100)
    window.count(1_050.0, [1_049.9] * 100)
    assert window.quantile_s(1_050.0, 0.99) == pytest.approx(10.0, rel=0.05)
    assert window.quantile_s(1_000.0 + WINDOW_S, 0.99) == pytest.approx(0.1, rel=0.05)
    assert window.messages(1_000.0 + WINDOW_S) == 100
    assert window.longest_s(1_000.0 + WINDOW_S) == pytest.approx(0.1)
    assert window.messages(1_050.0 + WINDOW_S) == 0
    assert window.quantile_s(1_050.0 + WINDOW_S, 0.99) == 0.0
    assert window.mean_s(1_050.0 + WINDOW_S) == 0.0


def test_a_message_that_did_not_wait_counts_as_one() -> None:
    window = WaitWindow()
    window.count(10.0, [10.0, 10.0, 10.5])
    window.count(10.0, [])
    assert (window.messages(10.0), window.longest_s(10.0), window.mean_s(10.0)) == (3, 0.0, 0.0)
    assert window.quantile_s(10.0, 0.99) == 0.0
