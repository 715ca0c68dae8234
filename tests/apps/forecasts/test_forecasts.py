"""Forecasts of demand: frozen from sums by minute, kept by run, used by systems that want them."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.common.errors import ApplicationError
from apps.demand.domain.wanted import Subject
from apps.demand.models import DemandEstimate
from apps.demand.selectors.used import demanded_problem, settings_of
from apps.demand.services import settings_update
from apps.forecasts.models import Forecast, ForecastSeries
from apps.forecasts.selectors import expected_demand, latest_forecast
from apps.forecasts.services import forecast_request, forecasts_start
from apps.forecasts.services.computation import KIND
from apps.pipeline.models import MeasuredSum
from apps.runs.models import Run
from apps.runs.services.computations import computation_start
from apps.runs.services.runs import run_cancel, run_repeat
from apps.systems.models import System
from tests.factories import make_broker, make_system, make_topic
from tests.factories.computations import succeeded
from tests.factories.computations.demand_forecast import keep_hours, wanted_at

HOUR_S = 3600


@pytest.fixture
def system(db: None) -> System:
    system = make_system("ebb")
    make_topic(system, "tides", source=make_broker(system), rate_max_per_s=100.0)
    return system


def use(system: System, basis: str, **values: Any) -> None:
    settings = settings_of(system)
    settings_update(
        settings=settings,
        actor=None,
        expected_version=settings.version,
        values={"basis": basis, **values},
    )


def test_an_hour_is_what_was_enough_in_most_of_its_minutes(system: System, admin: User) -> None:
    keep_hours(system, 60)
    hour = int(timezone.now().timestamp()) // HOUR_S - 2
    MeasuredSum.objects.filter(since_s=hour * HOUR_S).delete()
    amounts = np.random.default_rng(1).uniform(0, 300, 60).round(3)
    MeasuredSum.objects.bulk_create(
        MeasuredSum(
            system=system,
            since_s=hour * HOUR_S + 60 * minute,
            broker="b1",
            topic="tides",
            consumer_class="",
            metric="offered_per_s",
            samples=1,
            total=Decimal(str(amount)),
            least=amount,
            most=amount,
        )
        for minute, amount in enumerate(amounts)
    )
    run = forecast_request(system=system, actor=admin)
    question = json.loads(bytes(run.snapshot.payload))
    (series,) = question["series"]
    assert (series["subject"], series["name"], question["measured_hours"]) == ("topic", "tides", 60)
    assert series["values"][-2] == sorted(amounts)[53]
    first = question["first_hour"]
    assert series["values"][:5] == [wanted_at(first + at) for at in range(5)]
    assert run.parameters == {"engine": "local", "series": 1, "hours": 60}


def test_too_few_hours_are_refused(system: System, admin: User) -> None:
    with pytest.raises(ApplicationError, match="0 hours were measured of ebb"):
        forecast_request(system=system, actor=admin)
    keep_hours(system, 47)
    with pytest.raises(ApplicationError, match="47 hours were measured"):
        forecast_request(system=system, actor=admin)


def test_what_is_forecast_is_used_where_a_system_wants_that(admin: User) -> None:
    run = succeeded("demand_forecast", admin)
    forecast = Forecast.objects.get(run=run)
    assert (str(forecast), forecast.hours, forecast.level) == ("D-1", 48, 0.9)
    row = ForecastSeries.objects.get(forecast=forecast)
    assert (row.season, row.reason, len(row.high)) == (24, "", 48)
    first = int(forecast.first_at.timestamp()) // HOUR_S
    assert row.mean[:24] == pytest.approx([wanted_at(first + at) for at in range(24)], rel=0.05)
    system = forecast.system
    now = forecast.first_at + timedelta(hours=3, minutes=10)
    ahead = expected_demand(system, now=now, until=now + timedelta(hours=2))
    assert ahead == {(Subject.TOPIC, "tides"): max(row.high[3:6])}
    late = forecast.first_at + timedelta(hours=48)
    assert expected_demand(system, now=late, until=late) == {}
    use(system, "forecast")
    estimate = DemandEstimate.objects.get(system=system)
    (figure,) = estimate.figures.all()
    assert (figure.high, figure.minutes) == (None, 0)
    assert figure.forecast == figure.used == demanded_problem(system)["flows"][0]["rate_max"]
    assert figure.used in [max(pair) for pair in zip(row.high, row.high[1:], strict=False)]
    use(system, "measured")
    assert demanded_problem(system)["flows"][0]["rate_max"] == 100.0
    # This hour has its forecast, but not at this level.
    assert forecasts_start(forecast.first_at) == 0
    use(system, "forecast")
    assert forecasts_start(forecast.first_at) == 0
    use(system, "forecast", level=0.99)
    assert forecasts_start(forecast.first_at) == 1


def test_rerun_of_an_old_snapshot_is_no_newer_forecast(admin: User) -> None:
    run = succeeded("demand_forecast", admin)
    old = Forecast.objects.get(run=run)
    system, now = old.system, old.first_at + timedelta(hours=3)
    new = Forecast.objects.create(
        system=system,
        run=computation_start(KIND, system=system, actor=admin, until=now),
        number=2,
        first_at=old.first_at + timedelta(hours=2),
        hours=48,
        measured_since=old.measured_since,
        level=0.9,
    )
    Forecast.objects.create(
        system=system,
        run=run_repeat(run=run, actor=admin),
        number=3,
        first_at=old.first_at,
        hours=48,
        measured_since=old.measured_since,
        level=0.9,
    )
    assert latest_forecast(system, now) == new


def test_hours_of_silent_brokers_and_of_strangers_do_not_count(system: System, admin: User) -> None:
    make_broker(system, "b2")
    keep_hours(system, 60)
    keep_hours(system, 60, topic="gone")
    last = int(timezone.now().timestamp()) // HOUR_S
    first = MeasuredSum.objects.filter(system=system, topic="tides").earliest("since_s")
    # The other broker measures tides in the first hour, something in the second, then nothing.
    for hour, metric, topic in ((0, "offered_per_s", "tides"), (1, "cpu_ratio", "")):
        MeasuredSum.objects.create(
            system=system,
            since_s=first.since_s + hour * HOUR_S,
            broker="b2",
            topic=topic,
            consumer_class="",
            metric=metric,
            samples=1,
            total=Decimal(5),
            least=5.0,
            most=5.0,
        )
    run = forecast_request(system=system, actor=admin)
    (series,) = json.loads(bytes(run.snapshot.payload))["series"]
    known = [at for at, value in enumerate(series["values"]) if value is not None]
    assert (series["name"], series["values"][0]) == ("tides", wanted_at(last - 60) + 5)
    assert known == [0, 1, *range(25, 60)]


def test_systems_that_use_forecasts_get_one_each_hour(system: System, admin: User) -> None:
    now = timezone.now()
    keep_hours(system, 60)
    assert forecasts_start(now) == 0
    use(system, "largest")
    assert forecasts_start(now) == 1
    assert forecasts_start(now) == 0
    run = Run.objects.get(system=system)
    assert run.asked_by is not None
    assert run.asked_by.automatic
    run_cancel(run=run, actor=admin)
    assert forecasts_start(now) == 0
    assert forecasts_start(now + timedelta(minutes=11)) == 1


def test_too_little_for_a_forecast_disturbs_nobody(system: System) -> None:
    use(system, "forecast")
    assert forecasts_start(datetime.now(UTC)) == 0
    assert not Run.objects.exists()


def test_forecasts_are_asked_for_and_read_over_rest(admin: User, api: Any) -> None:
    run = succeeded("demand_forecast", admin)
    about = {"system": str(Forecast.objects.get(run=run).system.public_id)}
    (row,) = api.get("/api/v1/demand-forecasts", about).json()["results"]
    assert (row["name"], row["series_count"], row["run"]) == ("D-1", 1, str(run.public_id))
    detail = api.get(f"/api/v1/demand-forecasts/{row['id']}").json()
    assert [one["name"] for one in detail["series"]] == ["tides"]
    asked = api.post("/api/v1/demand-forecasts", about, format="json")
    assert (asked.status_code, asked.json()["kind"]) == (202, "demand_forecast")
