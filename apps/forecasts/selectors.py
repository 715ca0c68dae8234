"""Read what is expected of the demand of a system."""

from datetime import datetime, timedelta

from apps.demand.domain.wanted import Subject
from apps.forecasts.models import Forecast, ForecastSeries
from apps.systems.models import System


def latest_forecast(system: System, now: datetime) -> Forecast | None:
    """Return the last forecast that tells something of a moment; None where there is none."""
    # A rerun of an old snapshot is an old forecast, whenever it is made.
    newest = ("-first_at", "-run__snapshot", "-number")
    last = Forecast.objects.filter(system=system).order_by(*newest).first()
    if last is None or not last.first_at <= now < last.first_at + timedelta(hours=last.hours):
        return None
    return last


def expected_demand(
    system: System, *, now: datetime, until: datetime
) -> dict[tuple[Subject, str], float]:
    """Return what is enough for each topic and class in the hours from `now` to `until`, with the
    probability of the forecast's level; nothing of those of which it tells nothing."""
    last = latest_forecast(system, now)
    if last is None:
        return {}
    first, end = (int((at - last.first_at).total_seconds() // 3600) for at in (now, until))
    rows = ForecastSeries.objects.filter(forecast=last, reason="").order_by()
    return {
        (Subject(subject), name): max(high[first : end + 1])
        for subject, name, high in rows.values_list("subject", "name", "high")
    }
