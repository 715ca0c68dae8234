"""How complete the measurements of a time are: minutes that brokers were silent, rows set aside."""

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from rest_framework.test import APIClient

from apps.pipeline.domain.steps import Span
from apps.pipeline.models import MeasuredSum
from apps.pipeline.selectors.quality import quality_of
from apps.records.models import RecordBatch, SetAsideRow
from apps.records.services import Choice, batch_receive, set_aside_discard
from apps.systems.models import System
from apps.topology.models import Broker
from tests.apps.pipeline.promises import BEGAN_S
from tests.conftest import client_of
from tests.factories import make_broker, make_system, make_user

MINUTES = 50
SPAN = Span(since_s=BEGAN_S, until_s=BEGAN_S + 60 * MINUTES, step_s=60)


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def made(broker: Broker, at_s: float) -> Broker:
    Broker.objects.filter(pk=broker.pk).update(created_at=moment(at_s))
    broker.refresh_from_db()
    return broker


@pytest.fixture
def system(db: None) -> System:
    return make_system()


def measured(system: System, broker: str, minutes: Any, metric: str = "cpu_ratio") -> None:
    MeasuredSum.objects.bulk_create(
        MeasuredSum(
            system=system,
            since_s=BEGAN_S + 60 * int(minute),
            broker=broker,
            topic="",
            consumer_class="",
            metric=metric,
            samples=4,
            total=1,
            least=0,
            most=1,
        )
        for minute in minutes
    )


@pytest.mark.parametrize("seed", range(6))
def test_gaps_are_runs_of_minutes_that_nobody_measured(system: System, seed: int) -> None:
    chance = np.random.default_rng(seed)
    for name in ("b1", "b2", "b3"):
        began = int(chance.integers(-5, MINUTES // 2))
        made(make_broker(system, name), BEGAN_S + 60 * began - 30)
        known = [minute for minute in range(MINUTES) if chance.random() < 0.6]
        measured(system, name, known)
        measured(system, name, known[::2], "connections")
        runs: list[list[int]] = []
        for minute in range(max(began, 0), MINUTES):
            if minute not in known:
                if runs and runs[-1][-1] == minute - 1:
                    runs[-1].append(minute)
                else:
                    runs.append([minute])
        quality = quality_of(system, SPAN)
        row = next(each for each in quality.brokers if each.broker.name == name)
        assert row.minutes == MINUTES - max(began, 0)
        assert row.measured_minutes == row.minutes - sum(map(len, runs))
        assert row.gaps == len(runs)
        assert row.longest_gap_minutes == max(map(len, runs), default=0)
        longest = max(runs, key=len, default=None)
        assert row.longest_gap_at == (longest and moment(BEGAN_S + 60 * longest[0]))


def test_what_may_still_be_on_its_way_is_no_gap(system: System) -> None:
    made(make_broker(system, "b1"), BEGAN_S - 3600)
    measured(system, "b1", range(10))
    now = moment(BEGAN_S + 60 * 11 + 89)
    quality = quality_of(system, SPAN, now)
    assert (quality.minutes, quality.brokers[0].gaps) == (10, 0)
    late = quality_of(system, SPAN, moment(BEGAN_S + 60 * 11 + 90))
    assert (late.minutes, late.brokers[0].gaps, late.brokers[0].measured_minutes) == (11, 1, 10)
    early = quality_of(system, SPAN, moment(BEGAN_S - 60))
    assert (early.minutes, early.brokers[0].minutes, early.brokers[0].gaps) == (0, 0, 0)


def test_a_broker_that_is_newer_than_the_time_has_no_minutes(system: System) -> None:
    made(make_broker(system, "b1"), SPAN.until_s + 60)
    (row,) = quality_of(system, SPAN).brokers
    assert (row.minutes, row.measured_minutes, row.gaps, row.longest_gap_at) == (0, 0, 0, None)


def test_samples_that_contradict_their_broker_have_their_share(system: System) -> None:
    made(make_broker(system, "b1"), BEGAN_S - 3600)
    made(make_broker(system, "b2"), BEGAN_S - 3600)
    measured(system, "b1", range(2), "suspect_ratio")
    MeasuredSum.objects.filter(since_s=BEGAN_S).update(total=0, samples=2)
    quality = quality_of(system, SPAN)
    assert [each.suspect_ratio for each in quality.brokers] == [pytest.approx(1 / 6), None]


def receive(system: System, name: str, rows: list[Any], at_s: float) -> RecordBatch:
    body = "\n".join(map(json.dumps, rows)).encode()
    batch, _ = batch_receive(
        system=system,
        table="samples",
        name=name,
        body=body,
        media_type="application/x-ndjson",
        actor=None,
    )
    RecordBatch.objects.filter(pk=batch.pk).update(created_at=moment(at_s))
    return batch


def test_rows_count_by_when_they_arrived_and_keep_their_reason(system: System) -> None:
    good = {"at_s": BEGAN_S, "broker": "b1", "metric": "m", "value": 1.0}
    late = {**good, "at_s": BEGAN_S - 90_000}
    bad = {**good, "value": "much"}
    receive(system, "first", [good, late, bad, bad], BEGAN_S + 60)
    receive(system, "again", [good, late], SPAN.until_s)
    receive(system, "before", [bad], BEGAN_S - 1)
    receive(make_system("other"), "first", [late], BEGAN_S + 60)
    quality = quality_of(system, SPAN)
    assert (quality.rows, quality.late, quality.repeats) == (4, 1, 0)
    assert [(row["rows"], row["waiting"]) for row in quality.set_aside] == [(2, 2), (1, 1)]
    assert [row["problem"].split(":")[0] for row in quality.set_aside] == ["value", "at_s"]
    choice = Choice(system=system, table="samples", problem=quality.set_aside[0]["problem"])
    set_aside_discard(choice=choice, actor=make_user("ed"))
    assert SetAsideRow.objects.filter(ended_at=None).exists()
    (row, _) = quality_of(system, SPAN).set_aside
    assert (row["rows"], row["waiting"]) == (2, 0)


def test_the_address_gives_it_for_a_time(system: System) -> None:
    made(make_broker(system, "b1"), BEGAN_S - 3600)
    measured(system, "b1", range(MINUTES - 1))
    api: APIClient = client_of(make_user("vic"))
    ends = {
        "since": moment(SPAN.since_s).isoformat(),
        "until": moment(SPAN.until_s).isoformat(),
    }
    answer = api.get("/api/v1/record-quality", {"system": str(system.public_id), **ends})
    assert answer.status_code == 200, answer.content
    body = answer.json()
    (row,) = body["brokers"]
    assert row["broker_name"] == "b1"
    assert (row["minutes"], row["measured_minutes"]) == (MINUTES, MINUTES - 1)
    assert datetime.fromisoformat(row["longest_gap_at"]) == moment(SPAN.until_s - 60)
    assert (body["minutes"], body["brokers_left_out"], body["set_aside"]) == (MINUTES, 0, [])
    refused = api.get("/api/v1/record-quality", {"system": str(system.public_id), "since": "now"})
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "since"
