"""Percentiles out of bins, beside those of the sorted waits, and their intervals."""

from __future__ import annotations

import math
import pickle
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from tests.suites import effort
from weir.queueing import traces
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.wait_histogram import (
    FIRST_STRETCH,
    LEAST_STRETCHES,
    MOST_CORRELATION,
    MOST_STRETCHES,
    RATIO,
    SLICE_S,
    STEPS,
    TAIL_EVENTS,
    WINDOW_S,
    Piece,
    WaitRecord,
    WaitWindow,
    bin_of,
    student_s_t,
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
        window.count(now, Piece.of(now, arrived_at))
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
    together.count(1_005.0, Piece.of(1_005.0, arrived_at))
    for at in arrived_at:
        apart.count(1_005.0, Piece.of(1_005.0, [at]))
    assert together.messages(1_005.0) == apart.messages(1_005.0) == 5_000
    for probability in (0.0, 0.3, 0.5, 0.99):
        assert together.quantile_s(1_005.0, probability) == apart.quantile_s(1_005.0, probability)
    assert together.mean_s(1_005.0) == pytest.approx(apart.mean_s(1_005.0), rel=1e-9)


def test_what_left_before_the_window_is_forgotten() -> None:
    window = WaitWindow()
    window.count(1_000.0, Piece.of(1_000.0, [990.0] * 100))
    window.count(1_050.0, Piece.of(1_050.0, [1_049.9] * 100))
    assert window.quantile_s(1_050.0, 0.99) == pytest.approx(10.0, rel=0.05)
    assert window.quantile_s(1_000.0 + WINDOW_S, 0.99) == pytest.approx(0.1, rel=0.05)
    assert window.messages(1_000.0 + WINDOW_S) == 100
    assert window.longest_s(1_000.0 + WINDOW_S) == pytest.approx(0.1)
    assert window.messages(1_050.0 + WINDOW_S) == 0
    assert window.quantile_s(1_050.0 + WINDOW_S, 0.99) == 0.0
    assert window.mean_s(1_050.0 + WINDOW_S) == 0.0


def test_a_message_that_did_not_wait_counts_as_one() -> None:
    window = WaitWindow()
    window.count(10.0, Piece.of(10.0, [10.0, 10.0, 10.5]))
    window.count(10.0, Piece.of(10.0, []))
    assert (window.messages(10.0), window.longest_s(10.0), window.mean_s(10.0)) == (3, 0.0, 0.0)
    assert window.quantile_s(10.0, 0.99) == 0.0


# --- records


def record_of(waits_s: np.ndarray, *, together: int = 50) -> WaitRecord:
    """A record of waits in this order; `together` leave at a time."""
    record = WaitRecord()
    bins = np.where(waits_s > 0, np.ceil(np.log2(np.maximum(waits_s, 1e-300)) * STEPS) - 1, 0)
    waits, places = waits_s.tolist(), bins.astype(int).tolist()
    for start in range(0, len(waits), together):
        piece = waits[start : start + together]
        runs = [(places[start + n], 1) for n, wait in enumerate(piece) if wait > 0.0]
        record.count(Piece(len(piece), runs, sum(piece), max(piece)))
    return record


def queue_waits_s(count: int, utilisation: float, draw: np.random.Generator) -> np.ndarray:
    """What messages wait that come at random for a server that takes 1 ms for each."""
    arrivals_s = np.cumsum(draw.exponential(0.001 / utilisation, count))
    work, _ = traces.work_over(arrivals_s, 1000.0)
    return np.where(work > 1e-6, work, 0.0) / 1000.0


@given(pieces)
def test_percentiles_of_a_record_are_those_of_sorting(
    left: list[tuple[float, list[float]]],
) -> None:
    record, now = WaitRecord(), 1_000.0
    counted: list[float] = []
    for gap, waits in left:
        now += gap
        arrived_at = sorted(now - wait for wait in waits)
        record.count(Piece.of(now, arrived_at))
        counted += [now - at for at in arrived_at]
    assert record.messages == len(counted)
    assert record.longest_s == max(counted)
    assert record.mean_s() == pytest.approx(sum(counted) / len(counted), abs=1e-9)
    for probability in (0.1, 0.5, 0.9, 0.99):
        truth = exact(counted, probability)
        assert truth * (1 - 1e-9) <= record.quantile_s(probability) <= truth * RATIO * (1 + 1e-9)


@pytest.mark.parametrize("together", [1, 7, 1_000, 50_000])
def test_stretches_hold_equally_many_messages_however_they_leave(together: int) -> None:
    waits_s = queue_waits_s(50_000, 0.8, np.random.default_rng(3))
    apart, record = record_of(waits_s, together=1), record_of(waits_s, together=together)
    assert record.interval(0.99).value_s == apart.interval(0.99).value_s
    # Within a piece those that did not wait count after the others.
    assert record.interval(0.99).independent == pytest.approx(
        apart.interval(0.99).independent, rel=0.0 if together == 1 else 0.7
    )
    stretches, length = record._stretches, record._length
    assert LEAST_STRETCHES <= len(stretches) < MOST_STRETCHES
    assert len(waits_s) // length == len(stretches)
    assert all(sum(bins.values()) <= length for bins in stretches)
    total = sum((bins.total() for bins in [*stretches, record._current]), 0)
    assert total == np.count_nonzero(waits_s) == record._bins.total()


@pytest.mark.parametrize("count", [70_000, 131_072, 250_000])
@pytest.mark.parametrize("utilisation", [0.5, 0.8])
def test_an_interval_is_that_of_the_whole_trace(count: int, utilisation: float) -> None:
    """The number of stretches differs, so that both are estimates of the same numbers."""
    draw = np.random.default_rng(round(count * utilisation))
    waits_s = queue_waits_s(count, utilisation, draw)
    interval = record_of(waits_s).interval(0.99)
    known = traces.quantile_of(waits_s, 0.99)
    assert known.value <= interval.value_s <= known.value * RATIO * (1 + 1e-9)
    assert interval.independent == pytest.approx(known.independent, rel=0.6)
    assert known.low * 0.85 <= interval.low_s <= known.low * 1.15
    if known.conclusive and interval.high_s is not None:
        assert known.high * 0.8 <= interval.high_s <= known.high * 1.25
    assert interval.high_s is None or interval.low_s < interval.value_s <= interval.high_s


@pytest.mark.slow
@pytest.mark.parametrize(("utilisation", "count"), [(0.6, 60_000), (0.8, 200_000)])
def test_intervals_hold_the_true_percentile_of_a_queue(utilisation: float, count: int) -> None:
    truth = PoissonWork(utilisation).quantile(0.99) / 1000.0
    draw = np.random.default_rng(17)
    bounded, held, queues = 0, 0, effort(50, 100)
    for _ in range(queues):
        interval = record_of(queue_waits_s(count, utilisation, draw)).interval(0.99)
        if interval.high_s is not None:
            bounded += 1
            held += interval.low_s <= truth <= interval.high_s
    assert bounded >= 0.8 * queues, "this many messages are enough to say so"
    assert held >= 0.92 * bounded


def test_too_few_messages_bound_nothing() -> None:
    record = WaitRecord()
    for _ in range(LEAST_STRETCHES * FIRST_STRETCH - 1):
        record.count(Piece.of(1.0, [0.9]))
    interval = record.interval(0.99)
    assert interval.value_s == pytest.approx(0.1)
    assert (interval.low_s, interval.high_s, interval.independent) == (0.0, None, 0.0)
    assert WaitRecord().interval(0.99).value_s == 0.0


def test_waits_that_grow_without_end_are_not_bounded() -> None:
    """An overloaded gate: the wait of each message is longer than that of the one before."""
    for count in (5_000, 60_000, 100_000):
        interval = record_of(np.arange(1, count + 1) / count).interval(0.99)
        assert interval.high_s is None
        assert 0.5 < interval.low_s < 0.99, "the latest ones all waited longer than this"


def test_waits_that_are_all_alike_are_known_at_once() -> None:
    draw = np.random.default_rng(5)
    for waits_s in (np.full(3_000, 0.1), np.zeros(3_000), draw.uniform(0.0996, 0.1005, 3_000)):
        interval = record_of(waits_s).interval(0.99)
        assert interval.high_s is not None
        assert interval.low_s <= waits_s.min()
        assert waits_s.max() <= interval.high_s * (1 + 1e-12)
        assert interval.high_s <= waits_s.max() * RATIO


def test_a_few_messages_that_waited_among_many_that_did_not() -> None:
    waits_s = np.zeros(100_000)
    waits_s[::331] = 0.2
    interval = record_of(waits_s).interval(0.99)
    assert (interval.value_s, interval.low_s, interval.high_s) == (0.0, 0.0, 0.0)


def test_a_week_takes_no_more_memory_than_an_hour() -> None:
    draw = random.Random(2)
    record, sizes, lengths = WaitRecord(), [], []
    for _ in range(24 * 7):
        for _ in range(360):
            # Ten seconds of 1,000 messages a second, which leave in pieces of 5,000.
            longest = -int(draw.expovariate(1.0) * STEPS)
            runs = [(longest - step, 500) for step in range(10)]
            for _ in range(2):
                record.count(Piece(5_000, runs, 1.0, upper_edge_s(longest)))
        sizes.append(len(pickle.dumps(record)))
        lengths.append(len(record._stretches))
    assert record.messages == 24 * 7 * 3_600_000
    assert max(lengths) < MOST_STRETCHES
    assert min(lengths) >= LEAST_STRETCHES
    assert max(sizes) < 60_000


@pytest.mark.parametrize("together", [1, 7, 1_000])
@pytest.mark.parametrize("count", [70_000, 131_072])
def test_the_ends_of_a_mean_are_those_of_the_means_of_stretches(count: int, together: int) -> None:
    """Whatever leaves together: what ends a stretch is divided by its bins."""
    waits_s = queue_waits_s(count, 0.6, np.random.default_rng(count))
    record = record_of(waits_s, together=together)
    length, number = record._length, len(record._stretches)
    assert record.mean_s() == pytest.approx(float(waits_s.mean()))
    means = waits_s[: number * length].reshape(number, length).mean(axis=1)
    totals = np.array(record._totals_s) / length
    # Within a piece those that did not wait count after the others.
    assert totals == pytest.approx(means, rel={1: 1e-9, 7: 0.01, 1_000: 0.5}[together])
    half = student.ppf(0.975, number - 1) * totals.std(ddof=1) / np.sqrt(number)
    low_s, high_s = record.mean_ends_s()
    assert high_s is not None
    assert low_s == pytest.approx(float(waits_s.mean() - half), rel=2e-3)
    assert high_s == pytest.approx(float(waits_s.mean() + half), rel=2e-3)


def test_the_sum_of_a_piece_is_divided_over_the_stretches_that_it_ends() -> None:
    draw = np.random.default_rng(9)
    record, now, waits_s = WaitRecord(), 0.0, []
    for _ in range(400):
        now += 1.0
        piece = np.sort(draw.exponential(0.1, 50))[::-1]
        waits_s.append(piece)
        record.count(Piece.of(now, (now - piece).tolist()))
    number, length = len(record._totals_s), record._length
    means = np.concatenate(waits_s)[: number * length].reshape(number, length).mean(axis=1)
    assert np.array(record._totals_s) / length == pytest.approx(means, rel=0.02)
    total = sum(record._totals_s) + record._current_s
    assert total == pytest.approx(float(np.concatenate(waits_s).sum()))


def test_intervals_hold_the_true_mean_of_a_queue() -> None:
    truth = PoissonWork(0.6).mean / 1000.0
    draw = np.random.default_rng(23)
    bounded, held = 0, 0
    for _ in range(80):
        low_s, high_s = record_of(queue_waits_s(20_000, 0.6, draw)).mean_ends_s()
        if high_s is not None:
            bounded += 1
            held += low_s <= truth <= high_s
    assert bounded >= 70, "some look as if they correlated"
    assert 0.88 * bounded <= held < bounded, "19 of 20 are meant, not all"


def test_a_mean_has_no_bound_before_there_are_stretches_nor_while_it_grows() -> None:
    record = WaitRecord()
    assert record.mean_ends_s() == (0.0, None)
    for _ in range(LEAST_STRETCHES * FIRST_STRETCH - 1):
        record.count(Piece.of(1.0, [0.9]))
    assert record.mean_ends_s() == (0.0, None)
    record.count(Piece.of(1.0, [0.9]))
    low_s, high_s = record.mean_ends_s()
    assert low_s == pytest.approx(0.1)
    assert high_s == pytest.approx(0.1)
    for count in (5_000, 60_000, 100_000):
        growing = record_of(np.arange(1, count + 1) / count)
        low_s, high_s = growing.mean_ends_s()
        assert high_s is None
        assert low_s < 0.2, "stretches that resemble each other say less of it"
    assert record_of(np.zeros(3_000)).mean_ends_s() == (0.0, 0.0)
    low_s, high_s = record_of(0.1 + 1e-15 * np.arange(5_000), together=9).mean_ends_s()
    assert low_s == high_s == pytest.approx(0.1), "rounding is no drift"


def test_the_rule_is_that_of_traces() -> None:
    """Which agents cannot import, as it needs numpy."""
    assert (TAIL_EVENTS, MOST_CORRELATION) == (traces.TAIL_EVENTS, traces.MOST_CORRELATION)
    assert MOST_STRETCHES == traces.STRETCHES


def test_student_s_t_is_that_of_scipy() -> None:
    for freedom in range(LEAST_STRETCHES - 1, MOST_STRETCHES):
        assert student_s_t(freedom) == pytest.approx(student.ppf(0.975, freedom), rel=1e-3)
