"""Decide when somebody is sent what is new in their inbox: at once, or once a day, and never in
their quiet hours. Times of day are those of their time zone."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """When a person is written to."""

    timezone: str = "UTC"
    digest_at: time | None = None
    """The time of one message a day with all that is new; None: at once."""
    quiet_from: time | None = None
    quiet_until: time | None = None
    """Nothing is sent from the one to the other, over midnight where it is later."""

    @property
    def has_quiet_hours(self) -> bool:
        """Return whether there are any; from a time to itself is none."""
        return self.quiet_from is not None and self.quiet_from != self.quiet_until


def due_at(rhythm: Rhythm, moment: datetime) -> datetime:
    """Return when something that begins at `moment` (aware) is sent, not before it."""
    due = moment
    if rhythm.digest_at is not None:
        due = _next(rhythm.digest_at, moment, rhythm.timezone)
    if is_quiet(rhythm, due):
        assert rhythm.quiet_until is not None
        due = _next(rhythm.quiet_until, due, rhythm.timezone)
    return due


def is_quiet(rhythm: Rhythm, moment: datetime) -> bool:
    """Return whether a moment (aware) is in the quiet hours."""
    if not rhythm.has_quiet_hours or rhythm.quiet_from is None or rhythm.quiet_until is None:
        return False
    clock = moment.astimezone(ZoneInfo(rhythm.timezone)).time()
    if rhythm.quiet_from < rhythm.quiet_until:
        return rhythm.quiet_from <= clock < rhythm.quiet_until
    return clock >= rhythm.quiet_from or clock < rhythm.quiet_until


def _next(clock: time, moment: datetime, timezone: str) -> datetime:
    """Return the first moment from `moment` on at which clocks there show this time. Where a change
    of clocks leaves it out, it is when they show the hour that takes its place."""
    zone = ZoneInfo(timezone)
    day = moment.astimezone(zone).date()
    for ahead in range(3):
        # In the night in which clocks go back some times come twice.
        for fold in (0, 1):
            candidate = datetime.combine(
                day + timedelta(days=ahead), clock.replace(fold=fold), tzinfo=zone
            )
            at = candidate.astimezone(ZoneInfo("UTC"))
            if at >= moment:
                return at
    raise AssertionError("every time of day comes within two days")
