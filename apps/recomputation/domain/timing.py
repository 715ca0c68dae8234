"""Compute when a schedule comes due: times are aware, intervals in seconds, cron with a time
zone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from cronsim import CronSim

LEAST_EVERY_S = 10
LONGEST_EVERY_S = 366 * 86_400
NAMES = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def upcoming(
    *,
    every_s: int | None,
    cron: str,
    timezone: str,
    after: datetime,
    anchor: datetime | None = None,
) -> Iterator[datetime]:
    """Return the times strictly after `after`, UTC. An interval counts from its `anchor`, or
    `after`."""
    if every_s is None:
        for moment in CronSim(cron, after.astimezone(ZoneInfo(timezone))):
            yield moment.astimezone(UTC)
        return
    step = timedelta(seconds=every_s)
    moment = anchor or after
    if moment <= after:
        # Missed times are not repeated: one firing makes up for all of them.
        moment += step * ((after - moment) // step + 1)
    while True:
        yield moment.astimezone(UTC)
        moment += step


def next_time(
    *,
    every_s: int | None,
    cron: str,
    timezone: str,
    after: datetime,
    anchor: datetime | None = None,
) -> datetime | None:
    """Return the first time after `after`; None where the cron expression never comes true."""
    times = upcoming(every_s=every_s, cron=cron, timezone=timezone, after=after, anchor=anchor)
    return next(islice(times, 1), None)


def in_words(*, every_s: int | None, cron: str, timezone: str) -> str:
    """Return a text such as `Every 15 minutes` or `At 02:00 on Monday through Friday, UTC`."""
    if every_s is not None:
        for seconds, noun in NAMES:
            if every_s % seconds == 0:
                count = every_s // seconds
                return f"Every {noun}" if count == 1 else f"Every {count} {noun}s"
    text = CronSim(cron, datetime(2024, 1, 1, tzinfo=UTC)).explain()
    return f"{text}, {timezone}"
