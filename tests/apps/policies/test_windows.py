"""Maintenance windows: open or not, and when next. No database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.policies.domain.terms import Effect, Terms, Window
from apps.policies.domain.windows import cron_error, timezone_error, window_state

NIGHT = Window(effect=Effect.ALLOW, cron="0 22 * * *", duration_s=8 * 3600, note="night")
FREEZE = Window(effect=Effect.DENY, cron="0 0 24 12 *", duration_s=3 * 86_400, note="holidays")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_without_windows_all_times_are_open() -> None:
    state = window_state(Terms(), at("2026-03-01T12:00"))
    assert (state.open, state.next_opens_at) == (True, None)
    assert state.text == "Changes are allowed at any time."


def test_a_window_that_began_yesterday_is_open() -> None:
    state = window_state(Terms(windows=(NIGHT,)), at("2026-03-02T05:59:59.5"))
    assert state.open
    assert state.text == 'The window "night" is open until 06:00 UTC.'


@pytest.mark.parametrize(
    ("moment", "is_open"),
    [
        ("2026-03-01T21:59:59.9", False),
        ("2026-03-01T22:00:00", True),
        ("2026-03-02T05:59:59.9", True),
        ("2026-03-02T06:00:00", False),
    ],
)
def test_a_window_holds_its_first_moment_and_not_its_last(moment: str, is_open: bool) -> None:
    assert window_state(Terms(windows=(NIGHT,)), at(moment)).open is is_open


def test_closed_says_when_it_opens() -> None:
    state = window_state(Terms(windows=(NIGHT,)), at("2026-03-01T12:00"))
    assert not state.open
    assert state.next_opens_at == at("2026-03-01T22:00")
    assert state.text == 'Changes are allowed only in the window "night". It opens at 22:00 UTC.'


def test_deny_beats_allow_and_delays_the_opening() -> None:
    terms = Terms(windows=(NIGHT, FREEZE))
    state = window_state(terms, at("2026-12-24T23:00"))
    assert not state.open
    # The freeze ends in the middle of a night that has begun already.
    assert state.next_opens_at == at("2026-12-27T00:00")
    assert state.text == (
        'The window "holidays" forbids changes now. It opens at 2026-12-27 00:00 UTC.'
    )


def test_with_deny_windows_alone_the_rest_is_open() -> None:
    terms = Terms(windows=(FREEZE,))
    assert window_state(terms, at("2026-12-23T12:00")).text == (
        "Changes are allowed until 2026-12-24 00:00 UTC."
    )
    assert window_state(terms, at("2026-12-25T12:00")).next_opens_at == at("2026-12-27T00:00")


def test_a_window_follows_the_clocks_of_its_time_zone() -> None:
    berlin = Window(
        effect=Effect.ALLOW, cron="0 22 * * *", duration_s=3600, timezone="Europe/Berlin"
    )
    winter = window_state(Terms(windows=(berlin,)), at("2026-01-10T12:00"))
    summer = window_state(Terms(windows=(berlin,)), at("2026-07-10T12:00"))
    assert winter.next_opens_at == at("2026-01-10T21:00")
    assert summer.next_opens_at == at("2026-07-10T20:00")
    # Whatever zone the caller's clock is in.
    there = at("2026-07-10T20:30").astimezone(ZoneInfo("America/New_York"))
    assert window_state(Terms(windows=(berlin,)), there).open


def test_a_window_over_the_change_of_clocks_lasts_its_seconds() -> None:
    berlin = Window(
        effect=Effect.ALLOW, cron="0 1 * * *", duration_s=7200, timezone="Europe/Berlin"
    )
    terms = Terms(windows=(berlin,))
    # 2026-03-29 02:00 becomes 03:00; 01:00 is 00:00 UTC.
    assert window_state(terms, at("2026-03-29T01:59")).open
    assert not window_state(terms, at("2026-03-29T02:00")).open


def test_forever_denied_has_no_opening() -> None:
    always = Window(effect=Effect.DENY, cron="*/5 * * * *", duration_s=600)
    state = window_state(Terms(windows=(always,)), at("2026-03-01T12:00"))
    assert (state.open, state.next_opens_at) == (False, None)
    assert "No opening within 400 days." in state.text


CRONS = ["*/7 * * * *", "30 3 * * *", "0 9 * * 1-5", "15 12 1 * *", "0 0 * * SUN"]
windows = st.builds(
    Window,
    effect=st.sampled_from(Effect),
    cron=st.sampled_from(CRONS),
    duration_s=st.sampled_from([60, 300, 3600, 36_000, 200_000]),
    timezone=st.sampled_from(["UTC", "Asia/Kolkata", "America/New_York"]),
)


def lasts(window: Window, moment: datetime) -> bool:
    """Oracle: every start within one duration before the moment."""
    length = timedelta(seconds=window.duration_s)
    zone = ZoneInfo(window.timezone)
    begin = (moment - length - timedelta(minutes=1)).astimezone(zone)
    for start in CronSim(window.cron, begin):
        if start > moment:
            return False
        if moment < start.astimezone(UTC) + length:
            return True
    return False


def open_by_definition(terms: Terms, moment: datetime) -> bool:
    allows = [w for w in terms.windows if w.effect == Effect.ALLOW]
    denies = [w for w in terms.windows if w.effect == Effect.DENY]
    return not any(lasts(w, moment) for w in denies) and (
        not allows or any(lasts(w, moment) for w in allows)
    )


@settings(deadline=None, max_examples=60)
@given(
    st.lists(windows, max_size=3),
    st.integers(0, 60 * 24 * 365).map(lambda m: at("2026-01-01") + timedelta(minutes=m)),
)
def test_open_is_what_the_definition_says_and_the_next_opening_is_the_first(
    drawn: list[Window], now: datetime
) -> None:
    terms = Terms(windows=tuple(drawn))
    state = window_state(terms, now)
    assert state.open == open_by_definition(terms, now)
    if state.open or state.next_opens_at is None:
        return
    assert open_by_definition(terms, state.next_opens_at)
    # Starts and ends fall on whole minutes: no minute before it is open (a sample of them).
    minutes = int((state.next_opens_at - now).total_seconds() // 60)
    for minute in range(0, minutes, max(1, minutes // 50)):
        assert not open_by_definition(terms, now + timedelta(minutes=minute))


@pytest.mark.parametrize("good", ["0 22 * * 1-5", "*/5 * * * *", "0 0 L * *", "0 0 * * MON#1"])
def test_takes_cron_expressions(good: str) -> None:
    assert cron_error(good) is None


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("", "0 fields, but a cron expression has 5"),
        ("* * * * * *", "6 fields"),
        ("61 * * * *", "Bad minute"),
        ("0 0 * * FOO", "Bad day-of-week"),
        ("0 0 31 2 *", "Bad day-of-month"),
    ],
)
def test_refuses_other_expressions(bad: str, words: str) -> None:
    assert words in (cron_error(bad) or "")


@pytest.mark.parametrize("bad", ["Mars/Base", "", "../etc/passwd", "/etc/localtime"])
def test_refuses_unknown_time_zones(bad: str) -> None:
    assert "There is no time zone" in (timezone_error(bad) or "")
    assert timezone_error("Europe/Berlin") is None
