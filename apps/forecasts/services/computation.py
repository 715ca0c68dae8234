"""Define forecasts of demand as a kind of computation: what is frozen, sent to the job and
stored."""

import json
import math
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from apps.common.errors import ApplicationError
from apps.common.formatting import counted
from apps.demand.domain.wanted import Subject
from apps.demand.selectors.used import settings_of, typed_demand
from apps.forecasts.models import Forecast, ForecastSeries
from apps.pipeline.selectors.wanted import demand_hours
from apps.runs.models import Run
from apps.runs.selectors import Answer, Computation, Question
from apps.runs.services.computations import next_number
from apps.systems.models import System
from weir import __version__
from weir.forecasting import FORMAT

KIND = "demand_forecast"
METHOD = "holt_winters"
WEEKS = 4
"""Measured weeks that a forecast goes by."""
HOURS = 48
"""Hours of a forecast."""
LEAST_HOURS = 48
SPARK_SERIES = 200
"""From so many series on they are spread over Spark's tasks; below one task is faster."""
HOUR_S = 3600


def freeze(system: System, *, engine: str | None = None, until: datetime | None = None) -> Question:
    """Freeze what was wanted hour by hour in the last weeks.

    `engine` `local` or `spark`; None chooses by the number of series. Raises ApplicationError
    where less than two days were measured.
    """
    now = until or timezone.now()
    end_hour = int(now.timestamp()) // HOUR_S
    since = datetime.fromtimestamp((end_hour - WEEKS * 7 * 24) * HOUR_S, UTC)
    end = datetime.fromtimestamp(end_hour * HOUR_S, UTC)
    level = settings_of(system).level
    modelled = typed_demand(system)
    hours = [
        row
        for row in demand_hours(system, since=since, until=end, level=level)
        if (Subject(row[0]), row[1]) in modelled
    ]
    first_hour = min((hour for *_, hour, _ in hours), default=end_hour)
    if end_hour - first_hour < LEAST_HOURS:
        measured = counted(end_hour - first_hour, "hour was", "hours were")
        raise ApplicationError(
            "nothing_measured",
            f"{measured} measured of {system}, and a forecast needs {LEAST_HOURS}. Let agents "
            "measure, and ask again.",
            status=409,
        )
    series: dict[tuple[str, str], list[float | None]] = {}
    for subject, name, hour, amount in hours:
        empty: list[float | None] = [None] * (end_hour - first_hour)
        # Twelve digits hold every sum of samples, and give the same bytes everywhere.
        series.setdefault((subject, name), empty)[hour - first_hour] = float(f"{amount:.12g}")
    question = {
        "format": FORMAT,
        "first_hour": first_hour,
        "measured_hours": end_hour - first_hour,
        "hours": HOURS,
        "level": level,
        "series": [
            {"subject": subject, "name": name, "values": values}
            for (subject, name), values in sorted(series.items())
        ],
    }
    chosen = engine or ("spark" if len(series) >= SPARK_SERIES else "local")
    return Question(
        payload=json.dumps(question, sort_keys=True, allow_nan=False).encode(),
        method=METHOD,
        parameters={"engine": chosen, "series": len(series), "hours": end_hour - first_hour},
    )


def store(run: Run, row: None, answer: bytes) -> Answer:
    """Check that the answer belongs to the run's snapshot; keep it as rows."""
    plain = json.loads(answer)
    if plain["snapshot_hash"] != run.snapshot.content_hash:
        raise ValueError(f"{run}: answer to {plain['snapshot_hash']}, not to its snapshot")
    assert run.system is not None
    question = json.loads(bytes(run.snapshot.payload))
    forecast = Forecast.objects.create(
        system=run.system,
        run=run,
        number=next_number(Forecast, run),
        first_at=_hour(plain["first_hour"]),
        hours=plain["hours"],
        measured_since=_hour(question["first_hour"]),
        level=question["level"],
    )
    ForecastSeries.objects.bulk_create(
        [ForecastSeries(forecast=forecast, **one) for one in plain["series"]], batch_size=1_000
    )
    return Answer(payload=answer, kernel_version=__version__, row=forecast)


def _hour(number: int) -> datetime:
    return datetime.fromtimestamp(number * HOUR_S, UTC)


def describe(forecast: Forecast) -> str:
    """Describe the forecast in a sentence."""
    rows = ForecastSeries.objects.filter(forecast=forecast)
    series = counted(rows.filter(reason="").count(), "topic or class", "topics and classes")
    days = math.floor((forecast.first_at - forecast.measured_since) / timedelta(days=1))
    return f"{forecast} tells {forecast.hours} hours of {series}, by {counted(days, 'day')}."


FORECAST = Computation(
    kind=KIND,
    title="Forecast of demand",
    noun="forecast",
    address="/api/v1/demand-forecasts",
    job="forecast",
    model=Forecast,
    freeze=freeze,
    store=store,
    topic="demand_forecast",
    describe=describe,
)
