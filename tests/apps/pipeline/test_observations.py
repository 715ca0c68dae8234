"""Resource models are fitted to sums by minute where telemetry is not kept for that long."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.calibration.models import Coefficient
from apps.calibration.services import fit_request
from apps.common.errors import ApplicationError
from apps.pipeline.models import MeasuredSum
from apps.pipeline.selectors.observations import observations
from apps.pipeline.services.sums import sums_add_waiting
from apps.records.services.measurements import measurements_take
from apps.runs.services.computations import run_store
from apps.telemetry.models import Sample
from tests.factories.lab import CAPACITY, IDLE, A, B, Lab, kernel_answer, load, make_lab, sample
from tests.factories.runs import claim

CORES = 2.0


@pytest.fixture
def lab(db: None) -> Lab:
    return make_lab()


def measured(lab: Lab, broker: str, minute: int, metric: str, *values: float, **of: str) -> Any:
    """Return what some samples of a metric came to in a minute."""
    total = sum((Decimal(repr(value)) for value in values), Decimal(0))
    return MeasuredSum(
        system=lab.system,
        since_s=minute * 60,
        broker=broker,
        topic=of.get("topic", ""),
        consumer_class=of.get("consumer_class", ""),
        metric=metric,
        samples=len(values),
        total=total,
        least=min(values),
        most=max(values),
    )


def keep_minutes(lab: Lab, minutes: int) -> None:
    """Keep sums of that many minutes until now, in which rate and consumers change by hours."""
    last = int(timezone.now().timestamp()) // 60
    rows = []
    for minute in range(last - minutes, last):
        hour = minute // 60
        rate, people = [100.0, 10.0, 50.0, 80.0, 20.0][hour % 5], [1, 200, 100, 50, 150][hour % 3]
        for broker in (lab.here, lab.there):
            wobble = 1 + 0.02 * ((minute * 7919) % 11 - 5) / 5
            cpu = CORES * load(broker, rate, people) / CAPACITY * wobble
            rows.append(measured(lab, broker.name, minute, "cpu_ratio", cpu * 0.9, cpu * 1.1))
            rows.append(measured(lab, broker.name, minute, "cores", CORES))
        rows.append(measured(lab, "here", minute, "passed_per_s", rate, rate, topic="prices"))
        of = {"topic": "prices", "consumer_class": "desks"}
        rows.append(measured(lab, "there", minute, "admitted", float(people), **of))
    MeasuredSum.objects.bulk_create(rows)


@pytest.mark.parametrize(("days", "window_s"), [(1, 60.0), (3, 180.0)])
def test_fit_over_days_finds_what_the_sums_were_made_of(
    lab: Lab, admin: Any, days: int, window_s: float
) -> None:
    keep_minutes(lab, days * 1440)
    run = fit_request(system=lab.system, actor=admin, minutes=days * 1440.0)
    assert run.parameters["window_s"] == window_s
    claimed = claim(run)
    run_store(claimed, kernel_answer(claimed))
    coefficients = {
        (row.case.broker, row.kind): row
        for row in Coefficient.objects.filter(case__fit__run=run).select_related("case")
    }
    for place in ("here", "there"):
        assert coefficients[place, "flow"].value == pytest.approx(A, rel=0.05)
        assert coefficients[place, "idle"].value == pytest.approx(IDLE, rel=0.2)
        assert coefficients[place, "flow"].case.points > 1000
    assert coefficients["there", "class"].value == pytest.approx(B, rel=0.05)


def test_sums_of_a_window_are_one_record(lab: Lab) -> None:
    minute = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp()) // 60
    of = {"topic": "prices", "consumer_class": "desks"}
    MeasuredSum.objects.bulk_create(
        [
            measured(lab, "here", minute, "cpu_ratio", 0.5, 0.7),
            measured(lab, "here", minute + 1, "cpu_ratio", 0.3),
            measured(lab, "here", minute, "cores", 2.0),
            measured(lab, "here", minute, "passed_per_s", 10.0, topic="prices"),
            measured(lab, "here", minute + 1, "passed_per_s", 20.0, topic="prices"),
            measured(lab, "here", minute, "message_bytes", 512.0, topic="prices"),
            measured(lab, "here", minute, "offered_per_s", 99.0, topic="prices"),
            measured(lab, "there", minute, "admitted", 4.0, 6.0, **of),
            measured(lab, "there", minute + 1, "admitted", 5.0, **of),
            measured(lab, "here", minute + 2, "cpu_ratio", 0.9),
        ]
    )
    since = datetime.fromtimestamp(minute * 60, UTC)
    until = since + timedelta(minutes=3)
    records = list(observations(lab.system, since=since, until=until, window_s=120))
    nothing: dict[str, Any] = {"passed": {}, "message_bytes": {}, "admitted": {}}
    passed = {"passed": {"prices": 15.0}, "message_bytes": {"prices": 512.0}}
    first = {"broker": "here", "at": minute * 60, "interval_s": 120}
    assert records == [
        {**nothing, **first, "cpu_ratio": 0.5, "cores": 2.0, **passed},
        {**nothing, **first, "broker": "there", "admitted": {"desks": [5.0, 4.0, 6.0]}},
        {**nothing, **first, "at": minute * 60 + 120, "interval_s": 60, "cpu_ratio": 0.9},
    ]
    earlier = observations(lab.system, since=since - timedelta(1), until=since, window_s=60)
    assert list(earlier) == []


def test_what_agents_measured_is_what_sums_hold(lab: Lab) -> None:
    now = timezone.now().replace(second=30, microsecond=0)
    began = now.replace(second=0) - timedelta(minutes=2)
    Sample.objects.bulk_create(
        sample(broker, began + timedelta(seconds=second), rate=40.0, people=20, cpu=0.4)
        for second in range(60)
        for broker in (lab.here, lab.there)
    )
    assert measurements_take(now) == 1
    sums_add_waiting(100)
    records = list(observations(lab.system, since=began, until=now, window_s=60))
    assert [record["broker"] for record in records] == ["here", "there"]
    for record in records:
        assert (record["cpu_ratio"], record["cores"]) == (pytest.approx(0.4), 2.0)
    assert records[0]["passed"] == {"prices": pytest.approx(40.0)}
    assert records[1]["admitted"] == {"desks": [20.0, 20.0, 20.0]}


@pytest.mark.parametrize("window_s", [10.0, 90.0, 60.0])
def test_windows_that_sums_do_not_have_are_refused(lab: Lab, admin: Any, window_s: float) -> None:
    keep_minutes(lab, 10)
    with pytest.raises(
        ApplicationError, match="a multiple of 60 and at least 420 for 10,080 minutes"
    ):
        fit_request(system=lab.system, actor=admin, minutes=7 * 1440.0, window_s=window_s)


@pytest.mark.parametrize(("minutes", "window_s"), [(0.5, 31.0), (60.0, 7200.0)])
def test_window_longer_than_what_is_fitted_is_refused(
    lab: Lab, admin: Any, minutes: float, window_s: float
) -> None:
    with pytest.raises(ApplicationError, match="window_s: must be at most"):
        fit_request(system=lab.system, actor=admin, minutes=minutes, window_s=window_s)


def test_part_of_a_minute_of_sums_is_a_minute(lab: Lab, admin: Any) -> None:
    keep_minutes(lab, 60)
    run = fit_request(system=lab.system, actor=admin, minutes=30.1)
    since, until = (datetime.fromisoformat(run.parameters[name]) for name in ("since", "until"))
    assert (until - since, until.second) == (timedelta(minutes=31), 0)


def test_nothing_measured_says_over_which_time(lab: Lab, admin: Any) -> None:
    with pytest.raises(ApplicationError, match="measured anything in the last 30 days"):
        fit_request(system=lab.system, actor=admin, minutes=30 * 1440.0)
