"""Cells of an hour, a day and a week, summed up from samples that are soon forgotten."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.accounts.domain.roles import Role
from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.models import Level, Sample
from apps.telemetry.services.levels import SPANS, levels, levels_roll
from tests.factories import make_broker, make_system

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)


@pytest.fixture
def quay():
    return make_broker(make_system(), "quay")


def sample(broker, at: datetime, *, incoming: float, outgoing: float, interval_s: float = 1.0):
    payload = {
        "interval_s": interval_s,
        "broker": {"in_msgs_per_s": 9_000.0, "out_msgs_per_s": 9_000.0},  # acknowledgements, too
        "flows": {"one": {"passed_per_s": incoming / 2}, "two": {"passed_per_s": incoming / 4}},
        "links": {"rot-1": {"received_per_s": incoming / 4, "sent_per_s": 7.0}},
        "classes": {"gold": {"delivered_per_s": outgoing, "admitted": 5}},
    }
    Sample.objects.create(broker=broker, at=at, payload=payload)


def cells(broker, span: str, now: datetime):
    grid = levels(broker.system, [broker.public_id], SPANS[span], now=now)
    (row,) = grid["brokers"]
    assert len(row["handled_per_s"]) == SPANS[span].cells
    return {
        grid["since"] + timedelta(seconds=grid["cell_s"] * index): rate
        for index, rate in enumerate(row["handled_per_s"])
        if rate is not None
    }


def test_samples_become_minutes_quarters_and_cells_of_two_hours(quay):
    sample(quay, NOON + timedelta(seconds=1), incoming=10.0, outgoing=20.0)
    sample(quay, NOON + timedelta(seconds=2), incoming=60.0, outgoing=30.0, interval_s=3.0)
    sample(quay, NOON + timedelta(minutes=14), incoming=5.0, outgoing=0.0, interval_s=4.0)
    sample(quay, NOON + timedelta(minutes=16), incoming=1.0, outgoing=1.0)
    now = NOON + timedelta(minutes=17)
    levels_roll(now)
    levels_roll(now)  # again, as another process might
    minute = timedelta(minutes=1)
    assert cells(quay, "hour", now) == {
        NOON: 75.0,  # (30 msg/s x 1 s + 90 msg/s x 3 s) / 4 s
        NOON + 14 * minute: 5.0,
        NOON + 16 * minute: 2.0,
    }
    assert cells(quay, "day", now) == {NOON: 40.0, NOON + 15 * minute: 2.0}
    assert cells(quay, "week", now) == {NOON: pytest.approx(322.0 / 9.0)}


def test_a_running_cell_grows_and_what_samples_no_longer_reach_stays(quay):
    sample(quay, NOON + timedelta(seconds=5), incoming=10.0, outgoing=0.0)
    levels_roll(NOON + timedelta(seconds=6))
    sample(quay, NOON + timedelta(seconds=7), incoming=30.0, outgoing=0.0)
    levels_roll(NOON + timedelta(seconds=8))
    assert cells(quay, "hour", NOON + timedelta(seconds=8)) == {NOON: 20.0}
    Sample.objects.all().delete()
    later = NOON + timedelta(minutes=40)
    sample(quay, later, incoming=8.0, outgoing=0.0)
    levels_roll(later)
    assert cells(quay, "hour", later) == {NOON: 20.0, later: 8.0}
    quarter = NOON + timedelta(minutes=30)
    assert cells(quay, "day", later) == {NOON: 20.0, quarter: 8.0}
    assert cells(quay, "week", later) == {NOON: 16.0}


def test_a_sample_that_contradicts_itself_is_in_no_cell(quay):
    sample(quay, NOON, incoming=10.0, outgoing=20.0)
    wrong = telemetry_checked(
        {
            "flows": {"one": {"passed_per_s": 10.0}},
            "classes": {"gold": {"delivered_per_s": 166_724.0}},
            "broker": {"out_msgs_per_s": 136.0},
        }
    )
    Sample.objects.create(broker=quay, at=NOON + timedelta(seconds=1), payload=wrong)
    later = NOON + timedelta(seconds=2)
    levels_roll(later)
    assert cells(quay, "hour", later) == {NOON: 30.0}


def test_a_sample_that_lacks_a_rate_is_in_no_cell(quay):
    sample(quay, NOON, incoming=10.0, outgoing=20.0)
    payload = {"interval_s": 1.0, "flows": {"one": {"passed_per_s": 10.0}}, "broker": {}}
    first = {**payload, "classes": {"gold": {"admitted": 5}}}  # as of an agent that just came
    Sample.objects.create(broker=quay, at=NOON + timedelta(seconds=1), payload=first)
    later = NOON + timedelta(seconds=2)
    levels_roll(later)
    assert cells(quay, "hour", later) == {NOON: 30.0}


def test_each_size_is_forgotten_when_its_page_no_longer_shows_it(quay):
    sample(quay, NOON, incoming=1.0, outgoing=0.0)
    levels_roll(NOON)
    levels_roll(NOON + timedelta(hours=2))
    assert set(Level.objects.values_list("cell_s", flat=True)) == {900, 7200}
    levels_roll(NOON + timedelta(days=2))
    assert set(Level.objects.values_list("cell_s", flat=True)) == {7200}
    levels_roll(NOON + timedelta(days=8))
    assert not Level.objects.exists()


def test_the_api_answers_for_the_brokers_asked_for(as_role, quay):
    make_broker(quay.system, "mole")
    query = {"system": str(quay.system.public_id), "broker": str(quay.public_id)}
    viewer = as_role(Role.VIEWER)
    answer = viewer.get("/api/v1/telemetry/levels", {**query, "span": "day"})
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["cell_s"] == 900
    assert [row["broker_name"] for row in body["brokers"]] == ["quay"]
    assert body["brokers"][0]["handled_per_s"] == [None] * 96
    refused = viewer.get("/api/v1/telemetry/levels", {**query, "span": "year"})
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "span"
