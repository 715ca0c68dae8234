"""The largest unfinished work, beside a computation of its own from all arrivals."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.queueing.token_bucket import TokenBucket
from weir.queueing.unfinished_work import BLOCKS, UnfinishedWork

gaps = st.one_of(st.just(0.0), st.floats(0.0, 0.3), st.floats(1.0, 20.0))
batches = st.lists(st.tuples(gaps, st.lists(gaps, min_size=1, max_size=BLOCKS)), max_size=12)
rates = st.floats(0.1, 200.0)


def work(arrivals: list[float], at: float, rate: float, before: float) -> float:
    """Unfinished work by its other formula: the most that came since any moment, less what was
    served since then; `before` was unfinished at 0."""
    here = [time for time in arrivals if time <= at]
    since = [len(here) - k - rate * (at - time) for k, time in enumerate(here)]
    return max(0.0, before + len(here) - rate * at, *since)


@given(batches, rates, st.floats(0.5, 50.0), st.floats(0.0, 1.0))
def test_the_peak_is_that_of_the_whole_history(
    drawn: list[tuple[float, list[float]]], rate: float, size: float, level_share: float
) -> None:
    level = level_share * size
    unfinished = UnfinishedWork(rate_per_s=rate, size=size, level=level, now=0.0)
    arrivals: list[float] = []
    now = 0.0
    for pause, spread in drawn:
        batch = list(accumulate(spread, initial=now + pause))[1:]
        unfinished.count(batch)
        arrivals += batch
        now = batch[-1]
    exact = max([size - level, *(work(arrivals, t, rate, size - level) for t in arrivals)])
    measured = unfinished.reading(now, level=size, read=0, unread=0)
    assert measured == pytest.approx(exact, abs=1e-6)
    again = unfinished.reading(now + 1.0, level=size, read=0, unread=0)
    assert again == pytest.approx(work(arrivals, now, rate, size - level), abs=1e-6)
    last = unfinished.reading(now + 1.0, level=size, read=0, unread=3)
    assert last == pytest.approx(work(arrivals, now + 1.0, rate, size - level) + 3, abs=1e-6)


@given(st.lists(st.floats(0.0, 0.02), min_size=BLOCKS + 1, max_size=500), rates)
def test_a_large_batch_is_a_sixteenth_wrong_at_most(spread: list[float], rate: float) -> None:
    unfinished = UnfinishedWork(rate_per_s=rate, size=1.0, level=1.0, now=0.0)
    arrivals = list(accumulate(spread))
    unfinished.count(arrivals)
    exact = max(work(arrivals, t, rate, 0.0) for t in arrivals)
    measured = unfinished.reading(arrivals[-1], level=1.0, read=0, unread=0)
    assert measured == pytest.approx(exact, abs=len(spread) / BLOCKS + 1)


@given(
    st.lists(st.tuples(st.integers(1, 30), st.floats(0.0, 2.0)), min_size=1, max_size=20),
    st.floats(0.5, 20.0),
    st.floats(1.0, 30.0),
)
def test_it_is_what_is_missing_from_a_bucket_and_waits_at_it(
    drawn: list[tuple[int, float]], rate: float, size: float
) -> None:
    """Messages pass as soon as they may: right after a burst has come, the work is the size less
    the level and what waits."""
    bucket = TokenBucket(rate_per_s=rate, burst=size, now=0.0)
    unfinished = UnfinishedWork(rate_per_s=rate, size=size, level=size, now=0.0)
    now, waiting, before = 0.0, 0, 0.0
    for burst, pause in drawn:
        while waiting and now + bucket.wait_s(now) <= now + pause:
            wait_s = bucket.wait_s(now)
            now, pause = now + wait_s, pause - wait_s
            waiting -= bucket.take(now)
        now += pause
        waiting += burst
        unfinished.count([now] * burst)
        waiting -= bucket.take(now, waiting)
        there = size - bucket.level(now) + waiting
        measured = unfinished.reading(now, level=bucket.level(now), read=waiting, unread=0)
        assert measured == pytest.approx(max(before, there), abs=1e-6)
        before = there


def test_messages_count_as_soon_as_they_wait_anywhere() -> None:
    unfinished = UnfinishedWork(rate_per_s=10.0, size=4.0, level=4.0, now=0.0)
    unfinished.count([1.0] * 6)
    assert unfinished.reading(1.0, level=0.0, read=2, unread=500) == pytest.approx(506.0)


def test_tokens_of_a_part_that_has_grown_are_nobody_s_work() -> None:
    unfinished = UnfinishedWork(rate_per_s=1.0, size=4.0, level=4.0, now=0.0)
    unfinished.change(0.0, rate_per_s=1.0, size=100.0, level=4.0)
    assert unfinished.reading(0.0, level=4.0, read=0, unread=0) == 0.0
    assert unfinished.reading(1.0, level=2.0, read=0, unread=0) == 2.0
    assert unfinished.reading(97.0, level=100.0, read=0, unread=0) == 0.0
    assert unfinished.reading(98.0, level=90.0, read=0, unread=0) == 10.0, "it was full once"


def test_a_new_rate_goes_on_from_the_work_of_before() -> None:
    unfinished = UnfinishedWork(rate_per_s=10.0, size=50.0, level=50.0, now=0.0)
    unfinished.count([0.0] * 40)
    unfinished.change(1.0, rate_per_s=1.0, size=50.0, level=20.0)
    assert unfinished.reading(1.0, level=20.0, read=0, unread=0) == 40.0
    assert unfinished.reading(2.0, level=21.0, read=0, unread=0) == pytest.approx(30.0)
    assert unfinished.reading(4.0, level=23.0, read=0, unread=0) == pytest.approx(29.0)
