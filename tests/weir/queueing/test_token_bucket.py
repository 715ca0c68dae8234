"""The token bucket: its promise over every interval, its rate under overload, its changes."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.errors import InvalidProblem
from weir.queueing.token_bucket import TokenBucket

FLOAT_TOLERANCE = 1e-6

rates = st.one_of(st.just(0.0), st.floats(1e-3, 1e6))
bursts = st.floats(1.0, 1e5)
gaps = st.one_of(st.just(0.0), st.floats(0.0, 1e-4), st.floats(0.0, 10.0))
arrivals = st.lists(st.tuples(gaps, st.integers(0, 200_000)), max_size=40)


def assert_every_interval_within(
    passed: list[tuple[float, int]], rate: float, burst: float
) -> None:
    """O(n^2): each pair of passings bounds one interval; exact fractions, no float sums."""
    for first in range(len(passed)):
        count = 0
        for time, n in passed[first:]:
            count += n
            length = Fraction(time) - Fraction(passed[first][0])
            allowed = Fraction(burst) + Fraction(rate) * length
            assert count <= allowed + Fraction(FLOAT_TOLERANCE) * (1 + allowed / 10**6)


@settings(deadline=None)
@given(rates, bursts, st.floats(0, 1e9), arrivals)
def test_no_interval_passes_more_than_burst_plus_rate_times_time(
    rate: float, burst: float, start: float, sequence: list[tuple[float, int]]
) -> None:
    bucket = TokenBucket(rate_per_s=rate, burst=burst, now=start)
    now, passed = start, []
    for gap, n in sequence:
        now += gap
        passed.append((now, bucket.take(now, n)))
    assert_every_interval_within(passed, rate, burst)


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(gaps, st.integers(0, 50_000)),
            st.tuples(gaps, st.tuples(rates, bursts)),
        ),
        max_size=40,
    )
)
def test_changes_never_pass_more_than_the_burst_at_the_beginning_plus_the_rates(
    sequence: list[tuple[float, int | tuple[float, float]]],
) -> None:
    rate, burst = 10.0, 5.0
    bucket = TokenBucket(rate_per_s=rate, burst=burst, now=0.0)
    now = 0.0
    # One entry per moment: time, messages passed, burst then, tokens that flowed in until then.
    log: list[tuple[int, Fraction, Fraction]] = []
    inflow = Fraction(0)
    for gap, what in sequence:
        later = now + gap
        inflow += Fraction(rate) * (Fraction(later) - Fraction(now))
        now = later
        if isinstance(what, tuple):
            rate, burst = what
            bucket.change(now, rate_per_s=rate, burst=burst)
            log.append((0, Fraction(burst), inflow))
        else:
            log.append((bucket.take(now, what), Fraction(burst), inflow))
    for first, (_, bound, before) in enumerate(log):
        count = 0
        for n, _, until in log[first:]:
            count += n
            allowed = bound + until - before
            assert count <= allowed + Fraction(FLOAT_TOLERANCE) * (1 + allowed / 10**6)


@settings(deadline=None)
@given(st.floats(0.1, 1e5), st.floats(1.0, 1e4), st.floats(0, 1e7), st.integers(1, 30))
def test_a_message_passes_at_the_time_foretold_and_not_before(
    rate: float, burst: float, start: float, messages: int
) -> None:
    bucket = TokenBucket(rate_per_s=rate, burst=burst, now=start)
    now = start
    bucket.take(now, int(burst))
    for _ in range(messages):
        wait = bucket.wait_s(now)
        if wait > 0:
            early = now + wait / 2
            assert bucket.take(early) == 0 or rate * (wait - (early - now)) < 1e-3
            now = max(early, now + wait)
            now = math.nextafter(now, math.inf)  # the sum of two floats may fall short
        assert bucket.take(now) == 1 or bucket.wait_s(now) <= 2 * math.ulp(now)


def test_rate_under_overload_is_exact_over_a_day() -> None:
    """Ten milliseconds per look: 8.64 million calls would take too long, an hour shows drift."""
    rate, burst = 333.3, 50.0
    bucket = TokenBucket(rate_per_s=rate, burst=burst, now=0.0)
    passed = sum(bucket.take(tick * 0.01, 1000) for tick in range(360_001))
    assert passed == math.floor(burst + rate * 3600)


def test_an_anchor_two_weeks_old_does_not_drift() -> None:
    bucket = TokenBucket(rate_per_s=1e6, burst=1e6, now=0.0)
    times = [tick * 0.9 for tick in range(200)] + [1_209_600 + tick * 0.9 for tick in range(200)]
    seen = [(now, bucket.take(now, 10**7)) for now in times]
    assert_every_interval_within(seen, 1e6, 1e6)
    # Idle for two weeks: one burst, no more.
    assert seen[200][1] == 10**6


def test_spends_the_burst_then_the_rate() -> None:
    bucket = TokenBucket(rate_per_s=10, burst=3, now=100.0)
    assert bucket.take(100.0, 5) == 3
    assert bucket.take(100.0) == 0
    assert bucket.wait_s(100.0) == pytest.approx(0.1)
    assert bucket.wait_s(100.0, 3) == pytest.approx(0.3)
    assert bucket.wait_s(100.0, 4) == math.inf
    assert bucket.take(100.25, 5) == 2
    assert bucket.take(100.30, 5) == 1


def test_a_smaller_burst_cuts_what_is_saved_and_a_larger_one_gives_nothing_at_once() -> None:
    bucket = TokenBucket(rate_per_s=1, burst=100, now=0.0)
    bucket.change(0.0, rate_per_s=1, burst=2)
    assert bucket.take(0.0, 50) == 2
    bucket.change(0.0, rate_per_s=1, burst=100)
    assert bucket.take(0.0, 50) == 0
    assert bucket.take(4.0, 50) == 4


def test_a_restarted_gate_can_begin_empty() -> None:
    bucket = TokenBucket(rate_per_s=10, burst=5, now=0.0, level=0)
    assert bucket.take(0.0, 5) == 0
    assert bucket.take(0.2, 5) == 2


def test_a_clock_that_steps_back_gives_nothing() -> None:
    bucket = TokenBucket(rate_per_s=10, burst=1, now=50.0)
    assert bucket.take(50.0) == 1
    assert bucket.take(10.0) == 0
    assert bucket.take(50.05) == 0
    assert bucket.take(50.1) == 1


def test_rate_zero_passes_the_burst_only() -> None:
    bucket = TokenBucket(rate_per_s=0, burst=2, now=0.0)
    assert bucket.take(0.0, 9) == 2
    assert bucket.wait_s(1e6) == math.inf
    assert bucket.take(1e6, 9) == 0


@pytest.mark.parametrize(
    ("rate", "burst", "path"),
    [
        (-1, 1, "rate_per_s"),
        (math.nan, 1, "rate_per_s"),
        (1, 0.99, "burst"),
        (1, 0, "burst"),
        (1, math.inf, "burst"),
    ],
)
def test_refuses_what_could_not_work(rate: float, burst: float, path: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        TokenBucket(rate_per_s=rate, burst=burst, now=0.0)
    assert caught.value.path == path
    bucket = TokenBucket(rate_per_s=1, burst=1, now=0.0)
    with pytest.raises(InvalidProblem):
        bucket.change(0.0, rate_per_s=rate, burst=burst)
    assert (bucket.rate_per_s, bucket.burst) == (1, 1)
