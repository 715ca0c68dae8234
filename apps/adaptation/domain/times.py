"""Say how long adaptation waits, whatever clocks do meanwhile."""

from datetime import datetime, timedelta

SETTLES = timedelta(seconds=3)
"""How long publishers take to log in where a plan has let them in; what came before that says
nothing of the traffic that follows."""

ENOUGH_S = 5.0
"""The history without which nothing is decided, at most: since a plan changed parts, or since an
agent was away."""

GIVE_UP = timedelta(seconds=5)
"""How long a decision waits for a broker to confirm."""


def is_within(at: datetime, now: datetime, span: timedelta) -> bool:
    """Return whether less than the span has passed since `at`.

    A time that lies ahead was written before a clock was set back; waiting for it could take hours.
    """
    return timedelta() <= now - at < span


def measured_since(changed_at: datetime, now: datetime) -> datetime:
    """Return from when on measurements count, after a plan changed something then; of all times
    where that lies ahead, since a clock was set back."""
    return now - timedelta(days=1) if changed_at > now else changed_at + SETTLES


def measures_first_s(changed_at: datetime, now: datetime, window_s: float) -> float:
    """Return for how many seconds traffic is only measured yet; 0 where parts may move."""
    span = SETTLES + timedelta(seconds=min(ENOUGH_S, window_s))
    return (changed_at + span - now).total_seconds() if is_within(changed_at, now, span) else 0.0
