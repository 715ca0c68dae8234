"""Whoever is told is told at once or at their time, and never in their quiet hours."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.notifications.domain.timing import Rhythm, due_at, is_quiet

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = {"quiet_from": time(22), "quiet_until": time(7)}


def at(text: str, zone: ZoneInfo = BERLIN) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


@pytest.mark.parametrize(
    ("moment", "due", "values"),
    [
        ("2026-03-18 12:00", "2026-03-18 12:00", {}),
        ("2026-03-18 23:00", "2026-03-18 23:00", {}),
        ("2026-03-18 21:59", "2026-03-18 21:59", NIGHT),
        ("2026-03-18 22:00", "2026-03-19 07:00", NIGHT),
        ("2026-03-19 06:59", "2026-03-19 07:00", NIGHT),
        ("2026-03-19 07:00", "2026-03-19 07:00", NIGHT),
        ("2026-03-18 13:30", "2026-03-18 14:00", {"quiet_from": time(13), "quiet_until": time(14)}),
        ("2026-03-18 12:00", "2026-03-18 12:00", {"quiet_from": time(12), "quiet_until": time(12)}),
        ("2026-03-18 08:00", "2026-03-18 09:00", {"digest_at": time(9)}),
        ("2026-03-18 09:00", "2026-03-18 09:00", {"digest_at": time(9)}),
        ("2026-03-18 09:01", "2026-03-19 09:00", {"digest_at": time(9)}),
        # A digest in the quiet hours comes after them.
        ("2026-03-18 12:00", "2026-03-19 07:00", {"digest_at": time(6), **NIGHT}),
        # Clocks go from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October.
        ("2026-03-28 23:00", "2026-03-29 07:00", NIGHT),
        ("2026-03-29 01:00", "2026-03-29 03:30", {"digest_at": time(2, 30)}),
        ("2026-10-24 23:00", "2026-10-25 07:00", NIGHT),
    ],
)
def test_times(moment: str, due: str, values: dict[str, time]) -> None:
    rhythm = Rhythm(timezone="Europe/Berlin", **values)
    assert due_at(rhythm, at(moment)) == at(due).astimezone(UTC)


@given(
    moment=st.datetimes(
        datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(ZoneInfo("UTC"))
    ),
    timezone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]),
    digest_at=st.none() | st.times(),
    quiet=st.none() | st.tuples(st.times(), st.times()),
)
def test_it_is_never_early_never_quiet_and_never_late(
    moment: datetime, timezone: str, digest_at: time | None, quiet: tuple[time, time] | None
) -> None:
    quiet_from, quiet_until = quiet or (None, None)
    rhythm = Rhythm(
        timezone=timezone, digest_at=digest_at, quiet_from=quiet_from, quiet_until=quiet_until
    )
    due = due_at(rhythm, moment)
    # A day, and one of quiet hours; clocks may go back in it.
    assert moment <= due <= moment + timedelta(hours=25 if None in (digest_at, quiet) else 50)
    assert not is_quiet(rhythm, due)
    if digest_at is None and quiet is None:
        assert due == moment
