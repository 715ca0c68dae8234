"""What agents measured becomes records: minute by minute, each once."""

import json
import math
import threading
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from apps.pipeline.models import DelaySum, MeasuredSum
from apps.pipeline.services.sums import sums_add_waiting
from apps.records.models import RecordBatch, SetAsideRow
from apps.records.services import batch_receive, measurements, measurements_take
from apps.runs.services.gateway import sent_records
from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.models import Sample
from spark_tasks.records import TABLES
from tests.apps.records.files import kept
from tests.factories.lab import Lab, make_lab
from weir.queueing.delay_histograms import bins_of_buckets
from weir.queueing.wait_histogram import HIGHEST, LOWEST, bin_of, upper_edge_s

NETWORK = ("in_bytes_per_s", "out_bytes_per_s")
NOON = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=10)


@pytest.fixture
def lab(db: None, settings: Any, tmp_path: Any) -> Lab:
    settings.WEIR_DATA_DIR = str(tmp_path)
    return make_lab()


def name_of(minute: int) -> str:
    return f"weir:agents/{NOON + timedelta(minutes=minute):%Y-%m-%dT%H:%MZ}"


def payload(chance: np.random.Generator, place: str) -> dict[str, Any]:
    flow = {name: float(chance.uniform(0, 50)) for name in ("offered_per_s", "passed_per_s")}
    if chance.random() < 0.7:
        flow["message_bytes"] = float(chance.uniform(0, 900))
        flow["passed_bytes_per_s"] = flow["message_bytes"] * flow["passed_per_s"]
    consumers = {"admitted": int(chance.integers(0, 9)), "waiting": int(chance.integers(0, 4))}
    consumers["limit"] = int(chance.integers(0, 9))
    flow |= {"limit_per_s": float(chance.uniform(0, 50)), "limit_burst": 8.0}
    return telemetry_checked(
        {
            "interval_s": float(chance.choice([0.5, 1.0, 2.0])),
            "flows": {
                "prices": {
                    **flow,
                    "backlog": int(chance.integers(0, 90)),
                    "backlog_peak": int(chance.integers(90, 200)),
                },
                "news": {"passed_per_s": 0.0},
            },
            "classes": {"desks": {**consumers, "delivered_per_s": float(chance.uniform(0, 9))}}
            if place == "there"
            else {},
            "broker": {"cpu_ratio": float(chance.random()), "connections": 3}
            | {"stored_bytes": 7, "most_stored_bytes": 900}
            | {name: float(chance.uniform(0, 1e6)) for name in NETWORK},
        }
    )


def delayed(chance: np.random.Generator) -> dict[str, Any]:
    """What an agent counted at a gate."""
    waits_s = [0.0] * 3 + list(chance.lognormal(-5, 2, int(chance.integers(1, 30))))
    bins = Counter(bin_of(max(wait_s, 1e-9)) for wait_s in waits_s)
    longest_s = float(max(waits_s))
    return {"gate_delays": [list(each) for each in bins.items()], "gate_longest_s": longest_s}


def measure_delays(lab: Lab, since: datetime, seconds: int, seed: int = 1) -> list[Sample]:
    """Samples of two topics at two brokers."""
    chance = np.random.default_rng(seed)

    def checked() -> dict[str, Any]:
        flow = {"passed_per_s": 3.0, "backlog": 0}
        flows = {name: {**flow, **delayed(chance)} for name in ("prices", "news")}
        return telemetry_checked({"flows": {**flows, "of an older agent": flow}})

    return Sample.objects.bulk_create(
        Sample(broker=broker, at=since + timedelta(seconds=second), payload=checked())
        for second in range(seconds)
        for broker in (lab.here, lab.there)
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
        network = [(name, name) for name in NETWORK]
        disk = [("stored_bytes", "disk_bytes"), ("most_stored_bytes", "disk_limit_bytes")]
        for member, metric in (("cpu_ratio",) * 2, *disk, *network):
            values[(*here, "", "", metric)].append((known["broker"][member], 1.0))
        values[(*here, "", "", "suspect_ratio")].append((0.0, 1.0))
        values[(*here, "", "", "connections")].append((known["broker"]["connections"], 1.0))
        for name, weight in (("offered_per_s", known["interval_s"]), ("backlog", 1.0)):
            values[(*here, "prices", "", name)].append((known["flows"]["prices"][name], weight))
        for name, metric in (("limit_per_s", "limit_per_s"), ("limit_burst", "limit_messages")):
            values[(*here, "prices", "", metric)].append((known["flows"]["prices"][name], 1.0))
        # The last one of the ten seconds looks back over them.
        peak = known["flows"]["prices"]["backlog_peak"]
        values[(*here, "prices", "", "backlog_peak")] = [(peak, 1.0)]
        values[(*here, "news", "", "passed_per_s")] = [(0.0, 1.0)]
        row = known["flows"]["prices"]
        if "message_bytes" in row:
            passed = row["passed_per_s"] * known["interval_s"]
            values[(*here, "prices", "", "message_bytes")].append((row["message_bytes"], passed))
            bytes_per_s = row["passed_bytes_per_s"]
            key = (*here, "prices", "", "passed_bytes_per_s")
            values[key].append((bytes_per_s, known["interval_s"]))
        rate = known["flows"]["prices"]["passed_per_s"]
        values[(*here, "prices", "", "passed_per_s")].append((rate, known["interval_s"]))
        for name, of in known["classes"].get("desks", {}).items():
            weight = known["interval_s"] if name == "delivered_per_s" else 1.0
            metric = {"limit": "limit_consumers"}.get(name, name)
            values[(*here, "prices", "desks", metric)].append((of, weight))
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
    rows = kept(lab.system)
    cpu = {row["broker"]: row["value"] for row in rows if row["metric"] == "cpu_ratio"}
    shares = {row["broker"]: row["value"] for row in rows if row["metric"] == "suspect_ratio"}
    assert shares == pytest.approx({"here": 0.3, "there": 0.3})
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


# --- delays at gates


def delays_of(lab: Lab) -> list[dict[str, Any]]:
    return [row for row in kept(lab.system) if row.get("kind") == "gate"]


def counted(samples: list[Sample]) -> dict[Any, tuple[int, float]]:
    """Messages by loops over samples, and the longest wait beside them: (slot, broker, topic, bin)
    -> messages."""
    bins: Counter[Any] = Counter()
    for sample in samples:
        slot = sample.at.timestamp() // 10 * 10
        for topic, row in sample.payload["flows"].items():
            for bin_, messages in row.get("gate_delays", []):
                bins[slot, sample.broker.name, topic, bin_] += messages
    return dict(bins)


def test_delays_at_gates_become_a_batch_beside_the_samples(lab):
    samples = measure_delays(lab, NOON, 60)
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    assert measurements_take(NOON + timedelta(seconds=75)) == 0
    batches = dict(RecordBatch.objects.values_list("table", "name"))
    assert batches == {"samples": name_of(0), "delays": name_of(0)}
    assert not SetAsideRow.objects.exists()
    rows = delays_of(lab)
    names = ("at_s", "broker", "topic")
    bins = bins_of_buckets(np.array([row["delay_s"] for row in rows])).tolist()
    keyed = {
        (*(row[name] for name in names), bin_): row["messages"]
        for row, bin_ in zip(rows, bins, strict=True)
    }
    assert len(keyed) == len(rows)
    assert keyed == counted(samples)
    assert {row["consumer_class"] for row in rows} == {""}
    longest = max(sample.payload["flows"]["news"]["gate_longest_s"] for sample in samples)
    assert max(row["delay_s"] for row in rows if row["topic"] == "news") == longest
    assert {row["delay_s"] for row, bin_ in zip(rows, bins, strict=True) if bin_ == LOWEST} == {0.0}
    # The sums by minute are those of the agents, without the brokers.
    assert sums_add_waiting(10) == 2
    whole: Counter[Any] = Counter()
    for (_, _, topic, bin_), messages in counted(samples).items():
        whole[topic, bin_] += messages
    stored = DelaySum.objects.filter(since_s=int(NOON.timestamp()), kind="gate", consumer_class="")
    assert {(row.topic, row.bin): row.messages for row in stored} == whole
    assert max(row.longest_s for row in stored if row.topic == "news") == longest


@pytest.mark.parametrize("above", [0.0, 1e-16, 1e-9, 1e-6, 2e-6, 1e-5])
def test_a_longest_wait_at_an_edge_moves_nothing_to_another_bin(lab, above):
    bins = range(-160, 100, 7)
    flows = {
        str(bin_): {
            "gate_delays": [[bin_, 5]],
            "gate_longest_s": upper_edge_s(bin_ - 1) * (1.0 + above),
        }
        for bin_ in bins
    }
    Sample.objects.create(broker=lab.here, at=NOON, payload=telemetry_checked({"flows": flows}))
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    # Beside the delays the share of samples that were left out.
    assert sums_add_waiting(10) == 2
    stored = dict(DelaySum.objects.values_list("topic", "bin"))
    assert stored == {str(bin_): bin_ for bin_ in bins}


def test_a_minute_is_cut_as_batches_and_records_are_taken():
    assert measurements.MOST_ROWS <= sent_records().MOST_ROWS
    (messages,) = (each for each in TABLES["delays"] if each.name == "messages")
    assert messages.most >= measurements.MOST_MESSAGES


def test_every_bin_of_an_agent_is_a_record_of_that_bin(lab):
    bins = list(range(LOWEST, HIGHEST + 1))
    row = {"gate_delays": [[bin_, 1 + at] for at, bin_ in enumerate(bins)], "gate_longest_s": 2e6}
    payload = telemetry_checked({"flows": {"prices": row}})
    Sample.objects.create(broker=lab.here, at=NOON, payload=payload)
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    # Beside the delays the share of samples that were left out.
    assert sums_add_waiting(10) == 2
    stored = DelaySum.objects.order_by("bin").values_list("bin", "messages")
    assert list(stored) == [(bin_, 1 + at) for at, bin_ in enumerate(bins)]


def test_delays_of_samples_that_contradict_their_broker_are_left_out(lab):
    samples = measure_delays(lab, NOON, 10)
    for odd in samples[:7]:
        odd.payload["suspect"] = "delivered"
        odd.save()
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    assert sum(row["messages"] for row in delays_of(lab)) == sum(counted(samples[7:]).values())


def test_what_consumers_counted_are_deliveries_and_answers_of_their_class(lab):
    desks = {
        "delivery_delays": [[LOWEST, 2], [3, 5]],
        "delivery_longest_s": 1.17,
        "skewed": 1,
        "answer_delays": [[-20, 3]],
        "answer_longest_s": 0.42,
        "unanswered": 4,
        "pauses": 3,
        "paused_s": 1.25,
    }
    gone = {"delivery_delays": [[3, 1]], "delivery_longest_s": 1.17}
    payload = telemetry_checked({"classes": {"desks": desks, "gone": gone}})
    for second in (0, 1, 20):
        at = NOON + timedelta(seconds=second)
        Sample.objects.create(broker=lab.there, at=at, payload=payload)
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    assert not SetAsideRow.objects.exists()
    rows = kept(lab.system)
    here = {"broker": "there", "topic": "prices", "consumer_class": "desks"}
    since = NOON.timestamp()
    assert [row for row in rows if row.get("kind")] == [
        {"at_s": since + slot, **here, "kind": kind, "delay_s": delay_s, "messages": times * number}
        for slot, times in ((0, 2), (20, 1))
        for kind, delay_s, number in (
            ("delivery", 0.0, 2),
            ("delivery", 1.17, 5),
            ("answer", upper_edge_s(-20), 3),
        )
    ]
    counted = ("skewed", "unanswered", "pauses", "paused_s")
    counts = {
        (row["at_s"] - since, row["metric"]): row["value"]
        for row in rows
        if row.get("metric") in counted and row["consumer_class"] == "desks"
    }
    assert counts == {
        (0.0, "skewed"): 2.0,
        (0.0, "unanswered"): 8.0,
        (0.0, "pauses"): 6.0,
        (0.0, "paused_s"): 2.5,
        (20.0, "skewed"): 1.0,
        (20.0, "unanswered"): 4.0,
        (20.0, "pauses"): 3.0,
        (20.0, "paused_s"): 1.25,
    }


def test_more_messages_than_a_record_holds_are_several(lab):
    row = {"gate_delays": [[3, 2_500_000]], "gate_longest_s": 1.17}
    payload = telemetry_checked({"flows": {"prices": row}})
    Sample.objects.create(broker=lab.here, at=NOON, payload=payload)
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    assert not SetAsideRow.objects.exists()
    rows = delays_of(lab)
    assert [row["messages"] for row in rows] == [1_000_000, 1_000_000, 500_000]
    assert {row["delay_s"] for row in rows} == {1.17}


def test_more_records_than_a_batch_holds_are_several(lab, monkeypatch):
    monkeypatch.setattr(measurements, "MOST_ROWS", 50)
    samples = measure_delays(lab, NOON, 30)
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    assert measurements_take(NOON + timedelta(seconds=75)) == 0
    batches = RecordBatch.objects.filter(table="delays").order_by("id")
    names = [name_of(0), *(f"{name_of(0)}/{number}" for number in range(2, len(batches) + 1))]
    assert [batch.name for batch in batches] == names
    assert len(names) > 2
    assert {batch.accepted for batch in batches[: len(names) - 1]} == {50}
    assert sum(row["messages"] for row in delays_of(lab)) == sum(counted(samples).values())


def test_who_dies_between_the_batches_of_a_minute_leaves_none_of_them(lab):
    measure_delays(lab, NOON, 30)

    def die(**batch: Any) -> Any:
        if batch["table"] == "delays":
            raise OSError(5, "the disk failed")
        return batch_receive(**batch)

    with (
        patch("apps.records.services.measurements.batch_receive", die),
        pytest.raises(OSError, match="the disk failed"),
    ):
        measurements_take(NOON + timedelta(seconds=75))
    assert not RecordBatch.objects.exists()
    late = measure_delays(lab, NOON + timedelta(seconds=30), 5, seed=2)
    samples = [*Sample.objects.exclude(pk__in=[each.pk for each in late]), *late]
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    assert sum(row["messages"] for row in delays_of(lab)) == sum(counted(samples).values())


def test_who_comes_second_takes_no_part_of_a_minute(lab, monkeypatch):
    """Also where the second has seen later samples, or has more of them."""
    monkeypatch.setattr(measurements, "MOST_ROWS", 50)
    measure_delays(lab, NOON, 30)
    assert measurements_take(NOON + timedelta(seconds=75)) == 1
    before, batches = kept(lab.system), RecordBatch.objects.count()
    samples = [json.dumps(row) for row in before if "metric" in row]
    bucket = {"at_s": NOON.timestamp(), "topic": "t", "kind": "gate", "delay_s": 1.0}
    delays = [json.dumps({**bucket, "messages": number}) for number in range(1, 1000)]
    for seen in (samples, samples[:-1], []):
        measurements._receive(lab.system, NOON, {"samples": seen, "delays": delays})
    assert kept(lab.system) == before
    assert RecordBatch.objects.count() == batches


@pytest.mark.django_db(transaction=True)
def test_processes_side_by_side_take_a_minute_once(lab):
    samples = measure_delays(lab, NOON, 60)
    together = threading.Barrier(4, timeout=60)

    def take(_: int) -> None:
        together.wait()
        try:
            measurements_take(NOON + timedelta(seconds=75))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(take, range(4)))
    assert sorted(RecordBatch.objects.values_list("table", flat=True)) == ["delays", "samples"]
    assert sum(row["messages"] for row in delays_of(lab)) == sum(counted(samples).values())
