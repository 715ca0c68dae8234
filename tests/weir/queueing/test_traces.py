"""Token buckets over traces: the event-driven bucket, partitions, intervals of percentiles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.errors import InvalidProblem
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.token_bucket import TokenBucket
from weir.queueing.traces import (
    TraceState,
    delays_s,
    lowest_of,
    mean_of,
    quantile_of,
    smallest_size,
    work_of_batches,
    work_over,
)

traces = st.lists(st.floats(0.0, 4.0), min_size=1, max_size=80).map(np.cumsum)


def one_by_one(times: np.ndarray, rate: float, size: float) -> list[float]:
    """Return the delays by the bucket that agents use: each message waits for its turn."""
    bucket = TokenBucket(rate_per_s=rate, burst=size, now=float(times[0]))
    clock, waited = float(times[0]), []
    for at in times.tolist():
        clock = max(clock, at)
        clock += bucket.wait_s(clock)
        assert bucket.take(clock) == 1
        waited.append(clock - at)
    return waited


@settings(deadline=None)
@given(traces, st.floats(0.2, 3.0), st.floats(1.0, 6.0))
def test_delays_are_those_of_the_bucket_that_agents_use(
    times: np.ndarray, rate: float, size: float
) -> None:
    work, _ = work_over(times, rate)
    delays = delays_s(work, rate_per_s=rate, size=size)
    assert delays.tolist() == pytest.approx(one_by_one(times, rate, size), abs=1e-6)


@settings(deadline=None)
@given(traces, st.lists(st.integers(0, 80), max_size=4))
def test_every_partition_gives_the_same_numbers_to_the_last_digit(
    times: np.ndarray, cuts: list[int]
) -> None:
    whole, end = work_over(times, 0.7)
    edges = sorted({0, len(times), *(cut for cut in cuts if cut < len(times))})
    # One after another ...
    state, pieces = None, []
    for low, high in pairwise(edges):
        piece, state = work_over(times[low:high], 0.7, state)
        pieces.append(piece)
    assert np.concatenate(pieces).tolist() == whole.tolist()
    assert state == end
    # ... and side by side: the minima first, then each part from its own state.
    start = float(times[0])
    minima = [lowest_of(times[low:high], 0.7, start, low) for low, high in pairwise(edges)]
    running = np.minimum.accumulate([np.inf, *minima])
    aside = [
        work_over(
            times[low:high], 0.7, TraceState(start_s=start, messages=low, lowest=float(running[at]))
        )[0]
        for at, (low, high) in enumerate(pairwise(edges))
    ]
    assert np.concatenate(aside).tolist() == whole.tolist()


@settings(deadline=None)
@given(traces)
def test_smallest_size_delays_one_percent_at_most_and_no_smaller_one_does(
    times: np.ndarray,
) -> None:
    work, _ = work_over(times, 0.9)
    size = smallest_size(work, 0.9).value

    def late(of: float) -> float:
        return float((delays_s(work, rate_per_s=0.9, size=of) > 1e-9).mean())

    assert late(size) <= 0.1
    assert size == 1.0 or late(size - 1e-6) > 0.1


def test_interval_holds_the_exact_percentile_about_as_often_as_it_says() -> None:
    exact = PoissonWork(0.8).quantile(0.99)
    rng = np.random.default_rng(3)
    held = conclusive = 0
    for _ in range(100):
        work, _ = work_over(np.cumsum(rng.exponential(1 / 0.8, 200_000)), 1.0)
        estimate = quantile_of(work, 0.99)
        held += estimate.low <= exact <= estimate.high
        conclusive += estimate.conclusive
    assert held >= 85
    assert conclusive >= 90


def test_a_short_or_restless_trace_is_inconclusive() -> None:
    rng = np.random.default_rng(4)
    short, _ = work_over(np.cumsum(rng.exponential(1 / 0.95, 2_000)), 1.0)
    assert not quantile_of(short, 0.99).conclusive
    # Overloaded: what waits at the end has nothing to do with what waited at first.
    rising, _ = work_over(np.cumsum(rng.exponential(0.8, 100_000)), 1.0)
    assert not quantile_of(rising, 0.99).conclusive


def test_a_short_trace_that_saw_no_long_busy_period_is_hardly_ever_conclusive() -> None:
    rng = np.random.default_rng(6)
    conclusive = 0
    for _ in range(100):
        work, _ = work_over(np.cumsum(rng.exponential(1 / 0.9, 100_000)), 1.0)
        conclusive += quantile_of(work, 0.99).conclusive
    assert conclusive <= 5


def test_interval_holds_the_exact_mean_about_as_often_as_it_says() -> None:
    truth = PoissonWork(0.7).mean
    rng = np.random.default_rng(31)
    conclusive = held = 0
    for _ in range(100):
        work, _ = work_over(np.cumsum(rng.exponential(1.0 / 0.7, 60_000)), 1.0)
        estimate = mean_of(work)
        assert estimate.value == pytest.approx(float(work.mean()))
        if estimate.conclusive:
            conclusive += 1
            held += estimate.low <= truth <= estimate.high
    assert conclusive >= 90
    assert 0.88 * conclusive <= held < conclusive


def test_a_mean_of_a_short_or_restless_trace_is_inconclusive() -> None:
    few = mean_of(np.array([1.0, 2.0, 6.0]))
    assert (few.value, few.low, few.high, few.conclusive) == (3.0, 1.0, 6.0, False)
    rising = np.linspace(0.0, 1.0, 64_000)
    known = mean_of(rising)
    assert not known.conclusive
    # Neighbours are alike: shuffled they would say a lot more of the mean.
    shuffled = mean_of(np.random.default_rng(2).permutation(rising))
    assert shuffled.conclusive
    assert known.high - known.low > 20.0 * (shuffled.high - shuffled.low)
    assert known.low < 0.4
    alike = mean_of(np.full(1_000, 0.1))
    assert alike.conclusive
    assert alike.low <= alike.value <= alike.high == pytest.approx(0.1)
    with pytest.raises(InvalidProblem, match="values"):
        mean_of(np.empty(0))


def test_rank_of_a_percentile_is_not_lifted_by_rounding() -> None:
    values = np.arange(1.0, 101.0)
    assert [quantile_of(values, share).value for share in (0.07, 0.14, 0.55)] == [7, 14, 55]


def test_a_part_that_goes_back_in_time_is_refused() -> None:
    _, state = work_over([10.0, 20.0], 1.0)
    with pytest.raises(InvalidProblem, match=r"times_s\[0\]: comes before the part"):
        work_over([0.0, 1.0], 1.0, state)


@pytest.mark.parametrize("times", [[[1.0, 2.0]], ["a"]])
def test_what_is_no_list_of_times_is_refused(times: list) -> None:
    with pytest.raises(InvalidProblem, match="times_s"):
        work_over(times, 1.0)


def test_a_bucket_that_is_always_free_is_known_to_be() -> None:
    work, _ = work_over(np.arange(10_000.0), 2.0)
    assert smallest_size(work).value == 1.0
    assert smallest_size(work).conclusive


@pytest.mark.parametrize(
    ("field", "times", "rate"),
    [
        (r"times_s\[2\]", [0.0, 2.0, 1.0], 1.0),
        ("times_s", [0.0, np.inf], 1.0),
        ("rate_per_s", [0.0], 0.0),
    ],
)
def test_bad_traces_name_the_field(field: str, times: list[float], rate: float) -> None:
    with pytest.raises(InvalidProblem, match=field):
        work_over(times, rate)
    with pytest.raises(InvalidProblem, match="longer"):
        quantile_of(np.empty(0), 0.99)


@given(
    batches=st.lists(st.tuples(st.floats(0, 3), st.integers(1, 12)), min_size=1, max_size=80),
    probability=st.floats(0.01, 0.99),
)
def test_batches_have_the_percentiles_of_the_messages_that_they_hold(
    batches: list[tuple[float, int]], probability: float
) -> None:
    gaps, sizes = zip(*batches, strict=True)
    counts = np.array(sizes, dtype=np.int64)
    times = np.cumsum(gaps)
    work = work_of_batches(times, counts, 1.5)
    each, _ = work_over(np.repeat(times, counts), 1.5)
    within = np.concatenate([np.arange(size) for size in sizes])
    repeated = np.repeat(work, counts) + within
    assert repeated == pytest.approx(each, abs=1e-9)
    # As far as rounding goes: what is counted are the same numbers.
    whole = np.repeat(np.floor(work), counts) + within
    same = whole + np.repeat(work - np.floor(work), counts)
    assert quantile_of(work, probability, counts=counts) == quantile_of(same, probability)
