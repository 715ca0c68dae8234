"""What agents measured becomes records: minute by minute, each once."""

import math
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from apps.pipeline.models import MeasuredSum
from apps.pipeline.services.sums import sums_add_waiting
from apps.records.models import RecordBatch
from apps.records.services import measurements_take
from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.models import Sample
from tests.apps.records.files import kept
from tests.factories.lab import Lab, make_lab

NOON = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=10)


@pytest.fixture
def lab(db: None, settings: Any, tmp_path: Any) -> Lab:
    settings.WEIR_DATA_DIR = str(tmp_path)
    return make_lab()


def name_of(minute: int) -> str:
    return f"weir:agents/{NOON + timedelta(minutes=minute):%Y-%m-%dT%H:%MZ}"


def payload(chance: np.random.Generator, place: str) -> dict[str, Any]:
    flow = {name: float(chance.uniform(0, 50)) for name in ("offered_per_s", "passed_per_s")}
    consumers = {"admitted": int(chance.integers(0, 9)), "waiting": int(chance.integers(0, 4))}
    return telemetry_checked(
        {
            "interval_s": float(chance.choice([0.5, 1.0, 2.0])),
            "flows": {"prices": {**flow, "backlog": int(chance.integers(0, 90))}},
            "classes": {"desks": {**consumers, "delivered_per_s": float(chance.uniform(0, 9))}}
            if place == "there"
            else {},
            "broker": {"cpu_ratio": float(chance.random()), "stored_bytes": 7, "connections": 3},
        }
    )


def measure(lab: Lab, since: datetime, seconds: int, seed: int = 1) -> list[Sample]:
    chance = np.random.default_rng(seed)
    return Sample.objects.bulk_create(
        Sample(broker=broker, at=since + timedelta(seconds=second), payload=payload(chance, name))
        for second in range(seconds)
        for name, broker in (("here", lab.here), ("there", lab.there))
    )


def expected(samples: list[Sample]) -> dict[Any, float]:
    """Mean rates by loops over samples: (slot, broker, topic, class, metric) -> value."""
    values: dict[Any, list[tuple[float, float]]] = defaultdict(list)
    for sample in samples:
        slot, known = sample.at.timestamp() // 10 * 10, sample.payload
        here = (slot, sample.broker.name)
        for member, metric in (("cpu_ratio",) * 2, ("stored_bytes", "disk_bytes")):
            values[(*here, "", "", metric)].append((known["broker"][member], 1.0))
        values[(*here, "", "", "connections")].append((known["broker"]["connections"], 1.0))
        for name, weight in (("offered_per_s", known["interval_s"]), ("backlog", 1.0)):
            values[(*here, "prices", "", name)].append((known["flows"]["prices"][name], weight))
        rate = known["flows"]["prices"]["passed_per_s"]
        values[(*here, "prices", "", "passed_per_s")].append((rate, known["interval_s"]))
        for name, of in known["classes"].get("desks", {}).items():
            weight = known["interval_s"] if name == "delivered_per_s" else 1.0
            values[(*here, "prices", "desks", name)].append((of, weight))
    return {
        key: max(value for value, _ in each)
        if key[-1] == "backlog"
        else math.fsum(value * weight for value, weight in each)
        / math.fsum(weight for _, weight in each)
        for key, each in values.items()
    }


def test_a_minute_becomes_one_batch_of_means_and_the_largest_backlogs(lab):
    samples = measure(lab, NOON, 60)
    later = measure(lab, NOON + timedelta(minutes=1), 5)
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    assert measurements_take(NOON + timedelta(seconds=75)) == 0
    rows = kept(lab.system)
    names = ("at_s", "broker", "topic", "consumer_class", "metric")
    keyed = {tuple(row[name] for name in names): row["value"] for row in rows}
    assert len(keyed) == len(rows)
    assert keyed == pytest.approx(expected(samples))
    batch = RecordBatch.objects.get()
    assert (batch.name, batch.table, batch.sent_by) == (name_of(0), "samples", None)
    assert batch.accepted == batch.rows == len(rows)
    assert measurements_take(NOON + timedelta(seconds=131)) == 1
    assert len(kept(lab.system)) == len(rows) + len(expected(later))
    # The sums by minute are those of the records.
    assert sums_add_waiting(10) == 2
    since_s = int(NOON.timestamp())
    cpu = MeasuredSum.objects.get(since_s=since_s, broker="here", topic="", metric="cpu_ratio")
    values = [
        row["value"] for row in rows if (row["broker"], row["metric"]) == ("here", "cpu_ratio")
    ]
    assert (cpu.samples, cpu.most) == (6, max(values))
    assert float(cpu.total) == pytest.approx(math.fsum(values))


def test_minutes_that_nobody_took_in_time_are_taken_in_their_order_and_gaps_are_none(lab):
    for minute in (0, 1, 4):
        measure(lab, NOON + timedelta(minutes=minute), 3)
    assert measurements_take(NOON + timedelta(minutes=6)) == 3
    assert measurements_take(NOON + timedelta(minutes=6)) == 0
    names = list(RecordBatch.objects.order_by("id").values_list("name", flat=True))
    assert names == [name_of(minute) for minute in (0, 1, 4)]


def test_a_sample_that_contradicts_its_broker_is_left_out(lab):
    samples = measure(lab, NOON, 10)
    for odd in samples[:6]:
        odd.payload["suspect"] = "delivered"
        odd.save()
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    cpu = {row["broker"]: row["value"] for row in kept(lab.system) if row["metric"] == "cpu_ratio"}
    of_here = [each for each in samples[6:] if each.broker == lab.here]
    assert cpu["here"] == pytest.approx(
        math.fsum(each.payload["broker"]["cpu_ratio"] for each in of_here) / len(of_here)
    )


def test_a_sample_that_is_later_than_grace_changes_nothing(lab):
    measure(lab, NOON, 30)
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    before = kept(lab.system)
    measure(lab, NOON + timedelta(seconds=30), 10, seed=2)
    assert measurements_take(NOON + timedelta(seconds=95)) == 0
    assert kept(lab.system) == before
    assert not RecordBatch.objects.filter(repeats__gt=0).exists()


def test_systems_without_agents_have_no_batches(lab):
    assert measurements_take() == 0
    Sample.objects.create(
        broker=lab.here, at=timezone.now() - timedelta(hours=1), payload={"broker": {}}
    )
    assert measurements_take() == 0
    assert not RecordBatch.objects.exists()
