"""How fast a backlog grows and when it is full, as mathematics; no database needed."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from apps.telemetry.domain.backlog import (
    ALARM_WITHIN_S,
    CELL_S,
    LEAST_SAMPLES,
    LEAST_SPAN_S,
    WINDOW_S,
    Backlog,
    Growth,
    Limit,
    Point,
    Room,
    backlog_of,
    first_limit,
    limit_words,
    rooms_of,
    slope_of,
    trend_of,
)

SLOPES = st.floats(min_value=-500, max_value=500)
LEVELS = st.floats(min_value=0, max_value=1e6)
SIZES = st.integers(min_value=LEAST_SAMPLES, max_value=13)


def line(slope: float, size: int = 13, start: float = 100_000.0) -> list[Point]:
    return [(1e9 + i * CELL_S, start + slope * i * CELL_S) for i in range(size)]


def rooms(limit: float, used: float, growth: float) -> list[Room]:
    return [Room(limit=Limit.MESSAGES, used=used, most=limit, growth_per_s=growth)]


def customs(points: list[Point], most: float | None) -> Backlog:
    trend = trend_of(points)
    growth = (trend.slope_per_s or 0.0) if trend.grows else 0.0
    return backlog_of(
        topic="customs",
        topic_id="",
        broker="b4",
        waiting=int(points[-1][1]),
        trend=trend,
        rooms=[] if most is None else rooms(most, points[-1][1], growth),
    )


@given(slope=SLOPES, start=LEVELS, size=SIZES)
def test_a_line_has_its_own_slope(slope: float, start: float, size: int) -> None:
    assert slope_of(line(slope, size, start)) == pytest.approx(slope, abs=1e-6)


@given(slope=SLOPES, size=SIZES, bad=st.integers(min_value=0), at=LEVELS)
def test_one_bad_sample_does_not_move_the_slope(
    slope: float, size: int, bad: int, at: float
) -> None:
    points = line(slope, size)
    points[bad % size] = (points[bad % size][0], at)
    assert slope_of(points) == pytest.approx(slope, abs=1e-6)


@given(
    levels=st.lists(LEVELS, min_size=LEAST_SAMPLES, max_size=13),
    more=st.floats(min_value=0, max_value=1e6),
    later_s=st.integers(min_value=0, max_value=10**6),
)
def test_the_slope_does_not_depend_on_the_level_or_the_hour(
    levels: list[float], more: float, later_s: int
) -> None:
    points = [(i * CELL_S, level) for i, level in enumerate(levels)]
    moved = [(at + later_s, level + more) for at, level in points]
    assert slope_of(moved) == pytest.approx(slope_of(points), abs=1e-3)


@given(levels=st.lists(LEVELS, min_size=LEAST_SAMPLES, max_size=13))
def test_the_slope_is_between_the_steepest_falls_and_rises(levels: list[float]) -> None:
    points = [(i * CELL_S, level) for i, level in enumerate(levels)]
    steps = [(b - a) / CELL_S for a, b in pairwise(levels)]
    slope = slope_of(points)
    assert slope is not None
    assert min(steps) - 1e-6 <= slope <= max(steps) + 1e-6


@pytest.mark.parametrize(
    "points",
    [
        [],
        line(100.0, LEAST_SAMPLES - 1),
        # Many samples of a moment say nothing about growth either.
        [(i * LEAST_SPAN_S / 21, 50.0 * i) for i in range(20)],
    ],
)
def test_too_few_samples_tell_no_slope(points: list[Point]) -> None:
    assert slope_of(points) is None


@given(
    most=st.floats(min_value=1, max_value=1e6),
    used=st.floats(min_value=0, max_value=1e6),
    growth=st.floats(min_value=1e-3, max_value=1e4),
)
def test_the_limit_is_reached_at_the_time_that_is_told(
    most: float, used: float, growth: float
) -> None:
    first = first_limit(rooms(most, used, growth))
    assert first is not None
    seconds, _ = first
    assert seconds >= 0
    assert max(used, used + growth * seconds) == pytest.approx(max(most, used), rel=1e-6)


@given(
    sizes=st.lists(st.floats(min_value=1, max_value=1e6), min_size=1, max_size=4),
    used=st.floats(min_value=0, max_value=1e6),
    growth=st.floats(min_value=1e-3, max_value=1e4),
)
def test_the_smallest_limit_counts(sizes: list[float], used: float, growth: float) -> None:
    first = first_limit(room for most in sizes for room in rooms(most, used, growth))
    assert first is not None
    assert first[1].most == min(sizes) or first[0] == 0


@given(
    most=st.floats(min_value=1, max_value=1e6),
    used=st.floats(min_value=0, max_value=1e6),
    growth=st.floats(min_value=-1e4, max_value=0),
)
def test_what_does_not_grow_is_never_full(most: float, used: float, growth: float) -> None:
    assume(used < most)
    assert first_limit(rooms(most, used, growth)) is None


def test_a_backlog_that_grows_throughout_and_is_soon_full_is_an_alarm() -> None:
    row = customs(line(100.0, start=10_000.0), most=100_000)
    assert row.growth is Growth.ALARM
    assert row.full_in_s == pytest.approx((100_000 - 22_000) / 100)
    assert row.sentence == (
        "customs: 22,000 messages wait at b4, 100 msg/s more arrive than leave; full in "
        "13 minutes (100,000 messages)."
    )


def test_one_that_is_full_much_later_is_none() -> None:
    row = customs(line(1.0, start=0.0), most=100_000)
    assert row.full_in_s is not None
    assert row.full_in_s > ALARM_WITHIN_S
    assert row.growth is Growth.GROWING


def test_one_that_grew_in_half_of_the_window_is_none_yet() -> None:
    flat = [(at, 20_000.0) for at, _ in line(0.0, 6)]
    rise = [(at + 6 * CELL_S, level) for at, level in line(500.0, 7, 20_000.0)]
    row = customs([*flat, *rise], most=60_000)
    assert row.growth is Growth.GROWING
    assert row.full_in_s is not None
    assert row.full_in_s < ALARM_WITHIN_S


def test_a_window_that_has_just_begun_is_no_whole_one() -> None:
    points = line(100.0, 6, 10_000.0)
    assert points[-1][0] - points[0][0] < WINDOW_S / 2
    assert customs(points, most=100_000).growth is Growth.GROWING


def test_a_limit_that_nobody_reports_is_not_invented() -> None:
    row = customs(line(100.0, start=10_000.0), most=None)
    assert (row.growth, row.full_in_s, row.limit) == (Growth.GROWING, None, None)
    assert row.sentence.endswith(
        "more arrive than leave. No limit is known: the agent reports none."
    )


def test_what_cannot_be_told_yet_says_so() -> None:
    row = customs(line(100.0, 3, 287.0), most=100_000)
    assert (row.growth, row.slope_per_s, row.full_in_s) == (Growth.UNKNOWN, None, None)
    assert row.sentence.endswith("wait at b4. How fast that changes cannot be told yet.")


def test_a_full_stream_is_an_alarm_though_it_grows_no_more() -> None:
    row = customs(line(0.0, start=100_000.0), most=100_000)
    assert (row.growth, row.full_in_s) == (Growth.ALARM, 0.0)
    assert row.sentence == "customs: 100,000 messages wait at b4; full now (100,000 messages)."


def test_a_few_messages_more_or_less_are_no_growth() -> None:
    row = customs(line(0.05, start=3.0), most=100_000)
    assert (row.growth, row.full_in_s, row.why) == (Growth.STEADY, None, "That does not grow.")


def test_every_reported_limit_makes_room_in_its_own_unit() -> None:
    flow = {
        "backlog": 1_000,
        "backlog_bytes": 200_000,
        "passed_per_s": 50.0,
        "most_messages": 5_000,
        "most_bytes": 300_000,
        "keep_s": 60.0,
    }
    broker = {"stored_bytes": 900_000, "most_stored_bytes": 1_000_000}
    rooms = rooms_of(flow, broker, growth_per_s=10.0, stored_growth_per_s=2_500.0)
    seconds = {room.limit: (room.most - room.used) / room.growth_per_s for room in rooms}
    assert seconds == pytest.approx(
        {
            Limit.MESSAGES: 400.0,
            Limit.BYTES: 50.0,  # 200 bytes a message
            Limit.AGE: 200.0,  # what comes now waits 20 s, and 0.2 s longer every second
            Limit.STORAGE: 40.0,
        }
    )


def test_where_nothing_passes_messages_reach_the_age_limit_in_that_time_at_most() -> None:
    flow = {"backlog": 1_000, "passed_per_s": 0.0, "keep_s": 60.0}
    rooms = list(rooms_of(flow, {}, growth_per_s=10.0, stored_growth_per_s=0.0))
    first = first_limit(rooms)
    assert first is not None
    assert first[0] == 60.0


@pytest.mark.parametrize(
    ("limit", "most", "words"),
    [
        (Limit.MESSAGES, 100_000, "100,000 messages"),
        (Limit.BYTES, 64 * 2**20, "64 MiB"),
        (Limit.STORAGE, 75 * 2**30, "75 GiB of storage"),
        (Limit.AGE, 7_200, "dropped after 2 hours"),
        (None, None, "no limit known"),
    ],
)
def test_limits_in_words(limit: Limit | None, most: float | None, words: str) -> None:
    assert limit_words(limit, most) == words
