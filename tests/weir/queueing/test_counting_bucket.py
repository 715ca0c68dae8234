"""What a bucket would hold: as the simulation over a whole trace says, message by message."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.errors import InvalidProblem
from weir.queueing.counting_bucket import CountingBucket
from weir.queueing.token_bucket import TokenBucket
from weir.queueing.traces import delays_s, work_over
from weir.queueing.wait_histogram import RATIO

bursts = st.lists(st.tuples(st.floats(0.0, 2.0), st.integers(1, 40)), min_size=1, max_size=40)


def arrivals(gaps: list[tuple[float, int]]) -> np.ndarray:
    times = np.cumsum([gap for gap, _ in gaps])
    return np.repeat(times, [count for _, count in gaps])


@given(bursts, st.floats(0.5, 50.0), st.floats(0.0, 30.0))
@settings(deadline=None)
def test_it_counts_what_a_simulation_finds(
    gaps: list[tuple[float, int]], rate: float, size: float
) -> None:
    counting = CountingBucket(rate_per_s=rate, size=size, now=0.0)
    now = 0.0
    for gap, count in gaps:
        now += gap
        counting.count(now, count)
    work, _ = work_over(arrivals(gaps), rate)
    waits = np.maximum(work - (size - 1.0), 0.0) / rate
    # Whether a message that fits to the last digit waits is for rounding to say.
    clear = waits[(waits > 1e-9) | (waits == 0.0)]
    assert counting.messages == len(waits)
    assert abs(counting.held - np.count_nonzero(clear)) <= len(waits) - len(clear)
    assert counting.longest_s == pytest.approx(float(waits.max()), rel=1e-9, abs=1e-9)
    for probability in (0.5, 0.9, 0.99):
        allowed = (1.0 - probability) * len(waits)
        exact = float(np.sort(waits)[::-1][min(int(np.floor(allowed)), len(waits) - 1)])
        seen = counting.quantile_s(probability)
        assert seen >= exact * (1 - 1e-9) - 1e-9
        assert seen <= exact * RATIO * (1 + 1e-9) + 1e-9


def test_messages_of_one_moment_count_as_one_after_the_other() -> None:
    together = CountingBucket(rate_per_s=10.0, size=3.5, now=0.0)
    apart = CountingBucket(rate_per_s=10.0, size=3.5, now=0.0)
    together.count(1.0, 5_000)
    for _ in range(5_000):
        apart.count(1.0, 1)
    assert (together.messages, together.held) == (apart.messages, apart.held) == (5_000, 4_997)
    assert together.longest_s == apart.longest_s == pytest.approx((4_999 - 2.5) / 10)
    for probability in (0.0, 0.3, 0.99):
        assert together.quantile_s(probability) == apart.quantile_s(probability)


@given(bursts, st.floats(0.5, 50.0), st.floats(0.0, 30.0))
@settings(deadline=None)
def test_times_of_arrival_count_like_moments(
    gaps: list[tuple[float, int]], rate: float, size: float
) -> None:
    moments = CountingBucket(rate_per_s=rate, size=size, now=0.0)
    stamped = CountingBucket(rate_per_s=rate, size=size, now=0.0)
    times = arrivals(gaps).tolist()
    for time in times:
        moments.count(time, 1)
    cut = len(times) // 3
    stamped.count_arrivals(times[:cut])
    stamped.count_arrivals(times[cut:])
    assert (stamped.messages, stamped.held) == (moments.messages, moments.held)
    assert stamped.longest_s == pytest.approx(moments.longest_s)
    for probability in (0.0, 0.5, 0.99):
        assert stamped.quantile_s(probability) == pytest.approx(
            moments.quantile_s(probability), rel=RATIO - 1, abs=1e-9
        )


def test_what_came_before_the_bucket_is_not_counted() -> None:
    counting = CountingBucket(rate_per_s=10.0, size=1.0, now=5.0)
    counting.count_arrivals([1.0, 2.0, 4.9])
    assert counting.messages == 0
    counting.count_arrivals([4.0, 4.5, 5.0, 5.05])
    assert (counting.messages, counting.held) == (2, 1)
    assert counting.longest_s == pytest.approx(0.05)


def test_a_free_bucket_holds_nothing() -> None:
    counting = CountingBucket(rate_per_s=10.0, size=100.0, now=0.0)
    counting.count(0.0, 100)
    assert (counting.held, counting.longest_s, counting.quantile_s(0.99)) == (0, 0.0, 0.0)
    assert CountingBucket(rate_per_s=1.0, size=1.0, now=0.0).quantile_s(0.99) == 0.0


def test_a_clock_that_goes_back_gives_no_tokens() -> None:
    counting = CountingBucket(rate_per_s=10.0, size=1.0, now=5.0)
    counting.count(5.0, 1)
    counting.count(1.0, 1)
    assert counting.longest_s == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("rate", "size", "path"),
    [(0.0, 1.0, "rate_per_s"), (float("inf"), 1.0, "rate_per_s"), (1.0, -1.0, "size")],
)
def test_no_such_bucket(rate: float, size: float, path: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        CountingBucket(rate_per_s=rate, size=size, now=0.0)
    assert caught.value.path == path


@given(bursts, st.floats(0.5, 20.0), st.floats(0.001, 4.0))
@settings(deadline=None)
def test_a_part_below_one_token_holds_as_long_as_the_formula_says(
    gaps: list[tuple[float, int]], rate: float, size: float
) -> None:
    """The bucket that enforces, driven as a pump drives it, beside what counting foresees."""
    bucket = TokenBucket(rate_per_s=rate, burst=size, now=0.0, collects=True)
    work, _ = work_over(arrivals(gaps), rate)
    now = 0.0
    for due, wait in zip(arrivals(gaps), delays_s(work, rate_per_s=rate, size=size), strict=True):
        now = max(now, float(due))
        while not bucket.take(now):
            now += bucket.wait_s(now) + 1e-12
        assert now - due == pytest.approx(wait, abs=1e-6)


@given(bursts, st.floats(0.5, 50.0), st.floats(0.0, 30.0), st.integers(1, 7))
@settings(deadline=None)
def test_messages_are_released_when_a_simulation_says(
    gaps: list[tuple[float, int]], rate: float, size: float, cut: int
) -> None:
    bucket = CountingBucket(rate_per_s=rate, size=size, now=0.0)
    times = arrivals(gaps)
    work, _ = work_over(times, rate)
    due = times + delays_s(work, rate_per_s=rate, size=size)
    released: list[float] = []
    for start in range(0, len(times), cut):
        released += bucket.released_at(times[start : start + cut].tolist())
    assert released == pytest.approx(due.tolist(), abs=1e-6)
    assert (bucket.messages, bucket.held) == (0, 0), "none is counted"


def test_messages_that_do_not_wait_are_released_as_they_came() -> None:
    bucket = CountingBucket(rate_per_s=10.0, size=100.0, now=0.0)
    together, apart = [1.0] * 50, [1.0, 1.01, 1.02]
    assert bucket.released_at(together) is together
    assert bucket.released_at(apart) is apart
    assert bucket.released_at([]) == []
    bucket.pass_by(1.02, 50)
    assert bucket.released_at([1.02]) == [pytest.approx(1.02 + (102.8 - 99.0) / 10.0)]


def test_a_bucket_may_begin_with_fewer_tokens() -> None:
    bucket = CountingBucket(rate_per_s=10.0, size=5.0, now=2.0, level=0.0)
    assert bucket.released_at([2.0, 2.0]) == pytest.approx([2.1, 2.2])
