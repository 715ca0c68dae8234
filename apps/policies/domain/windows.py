"""Decide whether a maintenance window allows changes now, and when the next one does.

A window begins when its cron expression fires in its time zone and lasts `duration_s` seconds of
real time, also across a change of clocks. Changes are allowed while no deny window lasts and,
where there are allow windows at all, one of them does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from apps.policies.domain.terms import Effect, Terms, Window

HORIZON = timedelta(days=400)
"""How far ahead an opening is looked for; a yearly window is found."""

MOST_CHANGES = 2000
"""Beginnings and ends looked at before an opening counts as too far away."""

CRON_FIELDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowState:
    """Hold what the windows say at one moment."""

    open: bool
    next_opens_at: datetime | None
    """Where closed: when changes are allowed again, UTC; None: not within the horizon."""
    text: str
    closes_at: datetime | None = None
    """Where open: when changes stop being allowed, UTC; None: not within the horizon."""


def cron_error(expression: str) -> str | None:
    """Return what is wrong with a cron expression, in a sentence; None if nothing is."""
    parts = expression.split()
    if len(parts) != CRON_FIELDS:
        return (
            f"{len(parts)} fields, but a cron expression has {CRON_FIELDS}: "
            'minute, hour, day of month, month, day of week, such as "0 22 * * 1-5".'
        )
    try:
        CronSim(expression, datetime(2024, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        return f"{error}. An example is 0 22 * * 1-5: at 22:00, Monday to Friday."
    return None


def timezone_error(name: str) -> str | None:
    """Return why this is not a time zone; None if it is."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return f'There is no time zone "{name}"; an example is Europe/Berlin.'
    return None


def window_state(terms: Terms, now: datetime) -> WindowState:
    """Return whether changes may begin at `now` (aware), and if not, when they may."""
    now = now.astimezone(UTC)
    allows = [window for window in terms.windows if window.effect == Effect.ALLOW]
    denies = [window for window in terms.windows if window.effect == Effect.DENY]
    if not terms.windows:
        return WindowState(open=True, next_opens_at=None, text="Changes are allowed at any time.")
    closing = _denying(denies, now)
    if closing is None and (not allows or _allowing(allows, now) is not None):
        closes = _next_closing(allows, denies, now)
        text = _open_text(allows, closes, now)
        return WindowState(open=True, next_opens_at=None, text=text, closes_at=closes)
    opens = _next_opening(allows, denies, now)
    why = _closed_text(allows, closing)
    when = f"It opens at {_shown(opens, now)}." if opens else "No opening within 400 days."
    return WindowState(open=False, next_opens_at=opens, text=f"{why} {when}")


def _next_opening(allows: list[Window], denies: list[Window], now: datetime) -> datetime | None:
    moment = now
    for _ in range(MOST_CHANGES):
        if moment - now > HORIZON:
            return None
        denying = _denying(denies, moment)
        if denying is not None:
            moment = denying[1]
            continue
        if not allows or _allowing(allows, moment) is not None:
            return moment
        starts = [start for window in allows if (start := _next_start(window, moment))]
        if not starts:
            return None
        moment = min(starts)
    return None


def _next_closing(allows: list[Window], denies: list[Window], now: datetime) -> datetime | None:
    """Return the first moment at which changes are not allowed; windows that meet do not close."""
    moment = now
    for _ in range(MOST_CHANGES):
        if moment - now > HORIZON:
            return None
        allowing = _allowing(allows, moment)
        if _denying(denies, moment) is not None or (allows and allowing is None):
            return moment
        starts = [start for window in denies if (start := _next_start(window, moment))]
        ends = [allowing[1]] if allowing else []
        if not starts and not ends:
            return None
        moment = min([*starts, *ends])
    return None


def _denying(denies: list[Window], moment: datetime) -> tuple[Window, datetime] | None:
    """Return the deny window that lasts longest from this moment on, with its end."""
    return _latest_end(denies, moment)


def _allowing(allows: list[Window], moment: datetime) -> tuple[Window, datetime] | None:
    """Return the allow window that lasts longest from this moment on, with its end."""
    return _latest_end(allows, moment)


def _latest_end(windows: list[Window], moment: datetime) -> tuple[Window, datetime] | None:
    lasting = [(window, end) for window in windows if (end := _end(window, moment)) is not None]
    return max(lasting, key=lambda pair: pair[1], default=None)


def _end(window: Window, moment: datetime) -> datetime | None:
    """Return when the window's latest occurrence ends, if it lasts at this moment.

    The latest start up to the moment decides: every earlier occurrence ends before it does.
    """
    # CronSim looks strictly before what it is given; a start at the moment itself counts.
    after = (moment + timedelta(seconds=1)).replace(microsecond=0).astimezone(_zone(window))
    for start in islice(CronSim(window.cron, after, reverse=True), 1):
        begun = start.astimezone(UTC)
        end = begun + timedelta(seconds=window.duration_s)
        return end if begun <= moment < end else None
    return None


def _next_start(window: Window, moment: datetime) -> datetime | None:
    for start in islice(CronSim(window.cron, moment.astimezone(_zone(window))), 1):
        return start.astimezone(UTC)
    return None


def _zone(window: Window) -> ZoneInfo:
    return ZoneInfo(window.timezone)


def _open_text(allows: list[Window], closes: datetime | None, now: datetime) -> str:
    allowing = _allowing(allows, now)
    until = f" until {_shown(closes, now)}" if closes else ""
    what = f"the window {_named(allowing[0])} is open" if allowing else "changes are allowed"
    return f"{what[0].upper()}{what[1:]}{until}."


def _closed_text(allows: list[Window], denying: tuple[Window, datetime] | None) -> str:
    if denying is not None:
        return f"The window {_named(denying[0])} forbids changes now."
    names = ", ".join(_named(window) for window in allows)
    return f"Changes are allowed only in the window{'s' if len(allows) > 1 else ''} {names}."


def _named(window: Window) -> str:
    return f'"{window.note}"' if window.note else f"{window.cron} ({window.timezone})"


def _shown(moment: datetime, now: datetime) -> str:
    if moment.date() == now.date():
        return f"{moment:%H:%M} UTC"
    return f"{moment:%Y-%m-%d %H:%M} UTC"
