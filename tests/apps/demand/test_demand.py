"""Demand measured from sums by minute: what is used of it, and since when."""

import math
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from apps.allocations.services.computation import KIND
from apps.audit.models import AuditEntry
from apps.calibration.selectors import calibrated_problem, calibration_stamp
from apps.catalog.models import ConsumerClass, Topic
from apps.catalog.selectors import system_problem
from apps.demand.domain.wanted import (
    Basis,
    Known,
    Measured,
    Terms,
    largest_change,
    used_consumers,
    used_rate,
)
from apps.demand.models import DemandEstimate
from apps.demand.selectors.measured import measured_demand, window_at
from apps.demand.selectors.used import estimate_in_use, settings_of
from apps.demand.services import demand_tick, settings_update
from apps.pipeline.models import MeasuredSum
from apps.recomputation.models import Kind
from apps.recomputation.selectors.watched import look
from apps.runs.services.computations import computation_start
from apps.systems.models import System
from apps.systems.services import entity_update
from tests.factories import make_broker, make_class, make_system, make_topic

NOW = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)
UNTIL_S = int(datetime(2026, 11, 30, 11, 59, tzinfo=UTC).timestamp())
"""The last minute that counts at NOW ends then."""


@pytest.fixture
def system(db: None) -> System:
    """Topic `orders` with 10 to 1,000 msg/s, and 100 consumers of class `desks`."""
    system = make_system("market")
    broker = make_broker(system, "b1", 1e6)
    make_broker(system, "b2", 1e6)
    topic = make_topic(system, "orders", source=broker, rate_min_per_s=10.0, rate_max_per_s=1000.0)
    desks = make_class(system, topic, broker, "desks")
    entity_update(
        instance=desks, actor=None, expected_version=desks.version, values={"population_max": 100}
    )
    system.refresh_from_db()
    return system


def keep(system: System, minute: int, metric: str, *values: float, **of: str) -> None:
    """Keep what some samples came to, in the minute that ends so many before the last."""
    MeasuredSum.objects.create(
        system=system,
        since_s=UNTIL_S - 60 * (minute + 1),
        broker=of.get("broker", "b1"),
        topic=of.get("topic", "orders"),
        consumer_class=of.get("consumer_class", ""),
        metric=metric,
        samples=len(values),
        total=sum((Decimal(repr(value)) for value in values), Decimal(0)),
        least=min(values),
        most=max(values),
    )


def keep_all(system: System, *, rate: float, waiting: float, admitted: float = 60.0) -> None:
    """Keep a quarter of an hour of the same."""
    MeasuredSum.objects.all().delete()
    for minute in range(15):
        keep(system, minute, "offered_per_s", rate)
        keep(system, minute, "admitted", admitted, consumer_class="desks")
        keep(system, minute, "waiting", waiting, consumer_class="desks")


def use(system: System, actor: Any = None, **values: Any) -> None:
    settings = settings_of(system)
    settings_update(
        settings=settings, actor=actor, expected_version=settings.version, values=values
    )


def problem_of(system: System) -> tuple[float, int]:
    """Return the rate and the consumers that a snapshot would have."""
    plain = calibrated_problem(system)
    return plain["flows"][0]["rate_max"], plain["classes"][0]["population_max"]


def terms(basis: str, **values: float) -> Terms:
    return Terms(
        **{"basis": Basis(basis), "level": 0.9, "floor_ratio": 0.1, "ceiling_ratio": 10.0} | values
    )


@pytest.mark.parametrize(
    ("basis", "measured", "forecast", "used"),
    [
        *[("typed", 300.0, 400.0, 100.0), ("typed", None, None, 100.0)],
        *[("measured", None, 400.0, 100.0), ("measured", 300.0, 400.0, 300.0)],
        *[("measured", 40.0, None, 40.0), ("measured", 0.0, None, 10.0)],
        *[("measured", 5000.0, None, 1000.0), ("forecast", 300.0, 40.0, 40.0)],
        *[("forecast", 300.0, None, 300.0), ("forecast", None, None, 100.0)],
        *[("forecast", None, 5000.0, 1000.0), ("largest", 300.0, 40.0, 300.0)],
        *[("largest", 40.0, 300.0, 300.0), ("largest", 40.0, 50.0, 100.0)],
        *[("largest", None, 300.0, 300.0), ("largest", None, None, 100.0)],
    ],
)
def test_figure_that_is_used(
    basis: str, measured: float | None, forecast: float | None, used: float
) -> None:
    known = Known(measured=measured, forecast=forecast)
    assert used_rate(100.0, 0.0, known, terms(basis)) == used
    assert used_consumers(100, known, terms(basis)) == used


def test_promised_rates_and_whole_consumers_stay() -> None:
    assert used_rate(100.0, 50.0, Known(measured=20.0), terms("measured")) == 50.0
    assert used_rate(0.0, 0.0, Known(measured=20.0), terms("measured")) == 0.0
    assert used_consumers(100, Known(measured=40.2), terms("measured")) == 41
    assert used_consumers(100, Known(measured=40.0 + 1e-12), terms("measured")) == 40
    assert largest_change([("a", 0.0, 0.0), ("b", 50.0, 100.0), ("c", 100.0, 50.0)]) == (0.5, "b")
    assert largest_change([("a", 3.0, 3.0)]) == (0.0, None)


@pytest.mark.parametrize("seed", range(3))
def test_measured_demand_is_that_of_all_samples(system: System, seed: int) -> None:
    chance = np.random.default_rng(seed)
    wanted: dict[tuple[str, str], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for minute in range(-2, 18):
        for topic in ("orders", "news"):
            for broker in ("b1", "b2"):
                # Whoever measures something knows that nothing else is wanted there.
                if topic == "orders":
                    keep(system, minute, "cpu_ratio", 0.5, topic="", broker=broker)
                if chance.random() < 0.3:
                    continue
                values = chance.uniform(0, 100, int(chance.integers(1, 7))).round(6).tolist()
                keep(system, minute, "offered_per_s", *values, topic=topic, broker=broker)
                keep(system, minute, "passed_per_s", 7.0, topic=topic, broker=broker)
                wanted["topic", topic][minute] += float(np.mean(values))
                for metric in ("admitted", "waiting"):
                    people = chance.integers(0, 9, 3).astype(float).tolist()
                    of = {"topic": topic, "broker": broker, "consumer_class": f"of {topic}"}
                    keep(system, minute, metric, *people, **of)
                    wanted["class", f"of {topic}"][minute] += float(np.mean(people))
    other = make_system("other")
    keep(other, 1, "offered_per_s", 1e6)
    since, until = window_at(settings_of(system), NOW)
    assert (until - since, int(until.timestamp())) == (timedelta(minutes=15), UNTIL_S)
    rows = measured_demand(system, since=since, until=until, level=0.9)
    assert [(row.subject, row.name) for row in rows] == sorted(wanted)
    for row in rows:
        inside = [v for m, v in wanted[row.subject, row.name].items() if 0 <= m < 15]
        assert row.minutes == len(inside)
        assert row.mean == pytest.approx(np.mean(inside))
        # Figures that were measured: each of them is enough, or was wanted, in nine of ten minutes.
        enough = [value for value in inside if np.mean([v <= value for v in inside]) >= 0.9]
        wanted_mostly = [value for value in inside if np.mean([v >= value for v in inside]) >= 0.9]
        assert row.high == pytest.approx(min(enough))
        assert row.low == pytest.approx(max(wanted_mostly))


def test_what_is_below_nothing_counts_as_nothing(system: System) -> None:
    use(system, basis="measured")
    for minute in range(15):
        keep(system, minute, "offered_per_s", -5.0)
        keep(system, minute, "waiting", 3.0, consumer_class="desks")
    assert demand_tick(NOW) == 1
    # A tenth of what the model says, the least that counts; and not below what is promised.
    assert problem_of(system) == (100.0, 10)
    (row,) = (figure for figure in figures_now(system) if figure.name == "orders")
    assert (row.low, row.high) == (0.0, 0.0)


def figures_now(system: System) -> list[Measured]:
    since, until = window_at(settings_of(system), NOW)
    return measured_demand(system, since=since, until=until, level=0.9)


def test_demand_of_silent_agents_is_not_missing(system: System) -> None:
    """Of two brokers with half of a topic each, one falls silent."""
    use(system, basis="measured")
    for minute in range(15):
        keep(system, minute, "offered_per_s", 400.0)
        keep(system, minute, "cpu_ratio", 0.5, topic="", broker="b2")
        if minute >= 6:
            keep(system, minute, "offered_per_s", 400.0, broker="b2")
    # It measures something, so its topic has no publishers there any more.
    (orders,) = figures_now(system)
    assert (orders.minutes, orders.low, orders.high) == (15, 400.0, 800.0)
    MeasuredSum.objects.filter(broker="b2", since_s__gte=UNTIL_S - 360).delete()
    (orders,) = figures_now(system)
    assert (orders.minutes, orders.low, orders.high) == (9, 800.0, 800.0)


def test_broker_that_was_silent_all_the_time_is_waited_for_a_day(system: System) -> None:
    for minute in range(15):
        keep(system, minute, "offered_per_s", 400.0)
    keep(system, 23 * 60, "offered_per_s", 400.0, broker="b2")
    assert figures_now(system) == []
    other = make_system("elsewhere")
    make_broker(other, "b1", 1e6)
    for minute in range(15):
        keep(other, minute, "offered_per_s", 400.0)
    # Nobody waits for one that is not in the model, nor after a day.
    keep(other, 20, "offered_per_s", 400.0, broker="gone")
    assert [row.minutes for row in figures_now(other)] == [15]
    late = make_system("late")
    for name in ("b1", "b2"):
        make_broker(late, name, 1e6)
    keep(late, 25 * 60, "offered_per_s", 400.0, broker="b2")
    for minute in range(15):
        keep(late, minute, "offered_per_s", 400.0)
    assert [row.minutes for row in figures_now(late)] == [15]


def test_model_counts_until_measured_demand_is_switched_on(system: System, admin: Any) -> None:
    keep_all(system, rate=2000.0, waiting=90.0)
    assert demand_tick(NOW) == 0
    assert (calibrated_problem(system), calibration_stamp(system)) == (system_problem(system), ())
    use(system, admin, basis="measured")
    estimate = estimate_in_use(system)
    assert estimate is not None
    # Nothing was measured at the time of this test.
    assert (estimate.number, estimate.figures.count()) == (1, 0)
    assert problem_of(system) == (1000.0, 100)
    assert demand_tick(NOW) == 1
    assert problem_of(system) == (2000.0, 150)
    latest = estimate_in_use(system)
    assert latest is not None
    assert latest.because == (
        "orders wants 2,000 msg/s instead of 1,000, and 1 other changed by as much."
    )
    assert latest.largest_change == pytest.approx(0.5)
    entry = AuditEntry.objects.get(object_id=latest.public_id)
    assert (entry.action, entry.reason) == ("estimate", latest.because)
    stamps = {calibration_stamp(system)}
    use(system, admin, basis="typed")
    assert (estimate_in_use(system), problem_of(system)) == (None, (1000.0, 100))
    assert DemandEstimate.objects.latest("number").because.startswith("The model's figures are")
    use(system, admin, basis="largest", ceiling_ratio=1.2)
    assert problem_of(system) == (1200.0, 120)
    stamps |= {(), calibration_stamp(system)}
    assert len(stamps) == 3


def test_new_estimate_needs_a_change_that_matters(system: System) -> None:
    use(system, basis="measured", least_change=0.1)
    keep_all(system, rate=500.0, waiting=0.0)
    assert demand_tick(NOW) == 1
    keep_all(system, rate=549.0, waiting=0.0)
    assert (demand_tick(NOW), problem_of(system)) == (0, (500.0, 60))
    keep_all(system, rate=560.0, waiting=0.0)
    assert (demand_tick(NOW), problem_of(system)) == (1, (560.0, 60))
    # What nobody measures stays as it was measured last; two minutes are none.
    MeasuredSum.objects.filter(consumer_class="").delete()
    MeasuredSum.objects.filter(since_s__lt=UNTIL_S - 120).delete()
    assert (demand_tick(NOW), problem_of(system)) == (0, (560.0, 60))
    use(system, window_minutes=20)
    assert DemandEstimate.objects.count() == 3
    use(system, level=0.8)
    assert problem_of(system) == (560.0, 60)
    figures = DemandEstimate.objects.latest("number").figures.all()
    assert [(row.name, row.minutes, row.used) for row in figures] == [
        ("desks", 0, 60.0),
        ("orders", 0, 560.0),
    ]


def test_edits_of_the_model_count_at_once(system: System, admin: Any) -> None:
    use(system, basis="measured")
    keep_all(system, rate=2000.0, waiting=90.0)
    demand_tick(NOW)
    topic = Topic.objects.get(system=system)
    change = {"rate_min_per_s": 2500.0, "rate_max_per_s": 2600.0}
    entity_update(instance=topic, actor=admin, expected_version=topic.version, values=change)
    assert problem_of(system) == (2500.0, 150)
    row = ConsumerClass.objects.get(system=system)
    entity_update(
        instance=row, actor=admin, expected_version=row.version, values={"population_max": 10}
    )
    assert problem_of(system) == (2500.0, 100)
    assert math.isclose(calibrated_problem(system)["flows"][0]["rate_min"], 2500.0)


def test_snapshot_names_the_estimate_and_a_trigger_sees_the_next(
    system: System, admin: Any
) -> None:
    use(system, basis="measured")
    keep_all(system, rate=500.0, waiting=0.0)
    demand_tick(NOW)
    run = computation_start(KIND, system=system, actor=admin)
    assert run.snapshot.demand == estimate_in_use(system)
    reading = look(Kind.DEMAND_CHANGE, system)
    assert (reading.value, reading.detail) == (
        0.0,
        f"{run} saw version {system.model_version} and the demand of E-2, the latest.",
    )
    keep_all(system, rate=1000.0, waiting=6.0)
    demand_tick(NOW)
    reading = look(Kind.DEMAND_CHANGE, system)
    assert reading.value == 0.5
    assert reading.detail == (
        f"orders wants 1,000 msg/s instead of 500, and 1 other changed since {run}."
    )
    assert look(Kind.POPULATION_CHANGE, system).value == pytest.approx(0.1)
    assert look(Kind.CAPACITY_CHANGE, system).value == 0.0
    again = computation_start(KIND, system=system, actor=admin)
    assert again.snapshot != run.snapshot
    assert look(Kind.DEMAND_CHANGE, system).value == 0.0


def test_demand_is_shown_and_switched_over_rest(system: System, api: Any) -> None:
    now = timezone.now()
    shift_s = int((now - timedelta(minutes=1)).timestamp()) // 60 * 60 - UNTIL_S
    keep_all(system, rate=2000.0, waiting=90.0)
    for row in list(MeasuredSum.objects.all()):
        MeasuredSum.objects.filter(pk=row.pk).delete()
        row.since_s += shift_s
        row.save(force_insert=True)
    about = {"system": str(system.public_id)}
    shown = api.get("/api/v1/demand", about).json()
    assert (shown["basis"], shown["estimate"], shown["measured"]) == ("typed", None, 2)
    orders, desks = shown["rows"]
    assert (orders["name"], orders["typed"], orders["high"]) == ("orders", 1000.0, 2000.0)
    assert (orders["would_use"], orders["used"], orders["change"]) == (2000.0, 1000.0, 0.5)
    assert (desks["name"], desks["high"], desks["topic_name"]) == ("desks", 150.0, "orders")
    (row,) = api.get("/api/v1/demand-settings", about).json()["results"]
    address = f"/api/v1/demand-settings/{row['id']}"
    wrong = api.patch(
        address, {"level": 0.4}, format="json", headers={"If-Match": f'"{row["version"]}"'}
    )
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "level")
    changed = api.patch(
        address, {"basis": "measured"}, format="json", headers={"If-Match": f'"{row["version"]}"'}
    )
    assert (changed.status_code, changed.json()["version"]) == (200, 2)
    same = api.patch(address, {"basis": "measured"}, format="json", headers={"If-Match": '"2"'})
    assert (same.status_code, DemandEstimate.objects.count()) == (200, 1)
    shown = api.get("/api/v1/demand", {**about, "search": "ORD"}).json()
    assert (shown["basis"], shown["estimate_name"], shown["count"]) == ("measured", "E-1", 1)
    assert [row["used"] for row in shown["rows"]] == [2000.0]
    topic = Topic.objects.get(name="orders").public_id
    other = make_topic(system, "quotes")
    of_topic = api.get("/api/v1/demand", {**about, "topic": str(topic)}).json()
    assert of_topic["count"] == 2
    assert [row["name"] for row in of_topic["rows"]] == ["orders", "desks"]
    stranger = api.get("/api/v1/demand", {**about, "topic": str(system.public_id)}).json()
    assert (stranger["count"], stranger["rows"]) == (0, [])
    wrong = api.get("/api/v1/demand", {**about, "topic": "orders"})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "topic")
    other.delete()
    (listed,) = api.get("/api/v1/demand-estimates", about).json()["results"]
    assert (listed["id"], listed["figure_count"]) == (shown["estimate"], 2)
    detail = api.get(f"/api/v1/demand-estimates/{listed['id']}").json()
    assert [(row["name"], row["typed"], row["used"]) for row in detail["figures"]] == [
        ("desks", 100.0, 150.0),
        ("orders", 1000.0, 2000.0),
    ]
    # What falls silent keeps its figure, and that is shown.
    MeasuredSum.objects.all().delete()
    orders, desks = api.get("/api/v1/demand", about).json()["rows"]
    assert (orders["high"], orders["counting"], orders["would_use"]) == (None, 2000.0, 2000.0)
    assert (desks["high"], desks["counting"], desks["would_use"]) == (None, 150.0, 150.0)
