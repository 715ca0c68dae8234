"""Read what is measured and what is forecast of the demand of a system."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from apps.demand.domain.wanted import Key, Measured, Subject
from apps.demand.models import DemandEstimate, DemandSettings
from apps.systems.models import System

LAG = timedelta(seconds=60)
"""A minute counts so long after its end: until then its records arrive."""


LEAST_MEASURED = 3
"""Minutes in which a topic or class has to be measured to count."""


class DemandMinutes(Protocol):
    """What sums by minute know of demand."""

    def __call__(
        self, system: System, *, since: datetime, until: datetime, level: float
    ) -> Iterable[Measured]:
        """Return each topic and class that was measured in whole minutes from `since` to
        `until`."""


_minutes: list[DemandMinutes] = []


def offer_demand_minutes(minutes: DemandMinutes) -> None:
    """Name who keeps sums by minute: that is a storey above this one."""
    _minutes[:] = [minutes]


class Forecasts(Protocol):
    """What forecasts tell of demand."""

    def __call__(self, system: System, *, now: datetime, until: datetime) -> Mapping[Key, float]:
        """Return what is enough for each topic and class that they tell of, from now on."""


_forecasts: list[Forecasts] = []


def offer_forecast(forecasts: Forecasts) -> None:
    """Name who forecasts: that is a storey above this one."""
    _forecasts[:] = [forecasts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What was measured of the demand of a system over some minutes, and what is expected."""

    since: datetime
    until: datetime
    figures: Sequence[Measured]
    expected: Mapping[Key, float] = field(default_factory=dict)
    """What is forecast to be enough."""


def window_now(settings: DemandSettings, now: datetime) -> Window:
    """Return what is measured and forecast at a moment, by the settings of a system."""
    since, until = window_at(settings, now)
    return Window(
        since=since,
        until=until,
        figures=measured_demand(settings.system, since=since, until=until, level=settings.level),
        expected=forecast_demand(settings, now),
    )


def counting(window: Window, last: DemandEstimate | None) -> dict[Key, Measured]:
    """Return the measured figures that count: those of the window, or, of what too few minutes of
    it measured, those of the last estimate. Agents that are silent change no demand."""
    kept = {} if last is None else _kept(last)
    return kept | {
        (one.subject, one.name): one for one in window.figures if one.minutes >= LEAST_MEASURED
    }


def _kept(last: DemandEstimate) -> dict[Key, Measured]:
    """Return what an estimate has measured; no minute of it is new."""
    return {
        (Subject(row.subject), row.name): Measured(
            subject=Subject(row.subject),
            name=row.name,
            minutes=0,
            low=row.low,
            mean=row.mean,
            high=row.high,
        )
        for row in last.figures.all()
        if row.low is not None and row.mean is not None and row.high is not None
    }


def window_at(settings: DemandSettings, now: datetime) -> tuple[datetime, datetime]:
    """Return the whole minutes over which demand is measured at a moment."""
    until = (now - LAG).replace(second=0, microsecond=0)
    return until - timedelta(minutes=settings.window_minutes), until


def measured_demand(
    system: System, *, since: datetime, until: datetime, level: float
) -> list[Measured]:
    """Return what was measured, by subject and name; nothing where no agent measures."""
    (minutes,) = _minutes
    return list(minutes(system, since=since, until=until, level=level))


def forecast_demand(settings: DemandSettings, now: datetime) -> Mapping[Key, float]:
    """Return what is enough for topics and classes until the horizon of the settings."""
    (forecasts,) = _forecasts
    return forecasts(settings.system, now=now, until=now + timedelta(hours=settings.horizon_hours))
