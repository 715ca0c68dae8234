"""Take what agents measured as records: for each minute of a system a batch of samples, and one of
how long messages took: at gates, to consumers, until answers."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from apps.catalog.models import ConsumerClass
from apps.common.errors import Conflict
from apps.records.models import RecordBatch, RecordTable
from apps.records.services.batches import RESERVED, batch_id, batch_receive
from apps.systems.models import System
from apps.telemetry.models import KEEP_SAMPLES, Sample
from apps.telemetry.selectors.measured import means
from weir.queueing.wait_histogram import LONGEST_S, LOWEST, ROUNDING, upper_edge_s

MINUTE = timedelta(minutes=1)
SLOT_S = 10
"""Seconds of which a record is the mean, or the largest."""
GRACE = timedelta(seconds=10)
"""How long after a minute what agents measured in it may still be stored."""
REACH = KEEP_SAMPLES - timedelta(minutes=5)
"""How far back minutes are taken that nobody took in time."""
TABLES = (RecordTable.SAMPLES, RecordTable.DELAYS)
MOST_ROWS = 100_000
"""Of one batch; more than that of a minute are several batches."""
MOST_MESSAGES = 1_000_000
"""Of one record of delays."""

LOAD = {
    "cpu_ratio": "cpu_ratio",
    "cores": "cores",
    "memory_bytes": "memory_bytes",
    "connections": "connections",
    "stored_bytes": "disk_bytes",
    "most_stored_bytes": "disk_limit_bytes",
    "in_msgs_per_s": "in_msgs_per_s",
    "out_msgs_per_s": "out_msgs_per_s",
    "in_bytes_per_s": "in_bytes_per_s",
    "out_bytes_per_s": "out_bytes_per_s",
}
"""What agents report of their broker, and the metric that it is in records."""
FLOW_RATES = ("offered_per_s", "passed_per_s", "shed_per_s", "passed_bytes_per_s")
FLOW_LIMITS = {"limit_per_s": "limit_per_s", "limit_burst": "limit_messages"}
CLASS_LEVELS = {"admitted": "admitted", "waiting": "waiting", "limit": "limit_consumers"}
"""What gates and classes hold to or have, and the metric that it is in records."""
CLASS_COUNTS = ("skewed", "unanswered", "pauses", "paused_s")

Payload = Mapping[str, Any]


def measurements_take(now: datetime | None = None) -> int:
    """Take the whole minutes that were not taken yet, of every system whose agents measured
    something; return how many minutes that are."""
    end = _minute((now or timezone.now()) - GRACE)
    measured = Sample.objects.filter(broker__system=OuterRef("pk"), at__gte=end - REACH)
    return sum(_take(system, end) for system in System.objects.filter(Exists(measured)))


def _take(system: System, end: datetime) -> int:
    """Take the minutes of a system up to `end`, in their order."""
    minutes = [end - MINUTE * back for back in range(int(REACH / MINUTE), 0, -1)]
    ids = {batch_id(system, table, _name(minute)): minute for minute in minutes for table in TABLES}
    known = RecordBatch.objects.filter(public_id__in=ids).values_list("public_id", flat=True)
    since = max((ids[public_id] + MINUTE for public_id in known), default=minutes[0])
    rows = Sample.objects.filter(broker__system=system, at__gte=since, at__lt=end)
    by_minute: dict[datetime, dict[tuple[str, int], list[Payload]]] = {}
    for broker, at, payload in rows.order_by("at", "id").values_list(
        "broker__name", "at", "payload"
    ):
        slot = int(at.timestamp() // SLOT_S) * SLOT_S
        slots = by_minute.setdefault(_minute(at), defaultdict(list))
        slots[broker, slot].append(payload)
    topics = dict(ConsumerClass.objects.filter(system=system).values_list("name", "topic__name"))
    for minute, slots in by_minute.items():
        samples, delays = [], []
        for (broker, slot), payloads in slots.items():
            place = {"at_s": slot, "broker": broker}
            sound = [payload for payload in payloads if "suspect" not in payload]
            share = 1.0 - len(sound) / len(payloads)
            samples.append(json.dumps({**place, "metric": "suspect_ratio", "value": share}))
            samples += [json.dumps({**place, **record}) for record in _samples(sound, topics)]
            delays += [json.dumps({**place, **record}) for record in _delays(sound, topics)]
        _receive(system, minute, {RecordTable.SAMPLES: samples, RecordTable.DELAYS: delays})
    return len(by_minute)


@transaction.atomic
def _receive(system: System, minute: datetime, records: Mapping[RecordTable, list[str]]) -> None:
    """Take the records of a minute, all of them or none: who takes its first batch takes it."""
    for table, rows in records.items():
        for start in range(0, len(rows), MOST_ROWS):
            number = start // MOST_ROWS + 1
            body = "\n".join(rows[start : start + MOST_ROWS]).encode()
            try:
                _, repeated = batch_receive(
                    system=system,
                    table=table,
                    name=_name(minute) if number == 1 else f"{_name(minute)}/{number}",
                    body=body,
                    media_type="application/x-ndjson",
                    actor=None,
                )
            except Conflict:
                # Another process took the minute, before a sample came that was late beyond grace.
                return
            if repeated:
                return


def _delays(sound: Sequence[Payload], topics: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Return how long messages took by the samples of one broker and slot, without place and time:
    at gates a record for each topic and bin, to consumers and until answers for each class of
    `topics` and bin."""
    for flow, records in _delays_of(sound, "flows", "gate"):
        for record in records:
            yield {"topic": flow, **record}
    for kind in ("delivery", "answer"):
        for name, records in _delays_of(sound, "classes", kind):
            for record in records if name in topics else ():
                yield {**_place(name, topics), **record}


def _delays_of(
    sound: Sequence[Payload], table: str, kind: str
) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """Return the records of each entry that has delays of a kind."""
    bins: dict[str, Counter[int]] = defaultdict(Counter)
    longest: dict[str, float] = defaultdict(float)
    for payload in sound:
        for name, row in (payload.get(table) or {}).items():
            for bin_, messages in row.get(f"{kind}_delays", ()):
                bins[name][bin_] += messages
            longest[name] = max(longest[name], row.get(f"{kind}_longest_s", 0.0))
    for name, counted in bins.items():
        yield name, _records(kind, counted, longest[name])


def _records(kind: str, counted: Mapping[int, int], longest_s: float) -> Iterator[dict[str, Any]]:
    for bin_, messages in sorted(counted.items()):
        record = {"kind": kind, "delay_s": _longest_s(bin_, longest_s)}
        for start in range(0, messages, MOST_MESSAGES):
            yield {**record, "messages": min(MOST_MESSAGES, messages - start)}


def _longest_s(bin_: int, longest_s: float) -> float:
    """Return the delay by which a bucket is known to be this bin: the longest of all, where that is
    in it beyond rounding, or its edge."""
    if bin_ == LOWEST:
        return 0.0
    edge_s = min(upper_edge_s(bin_), LONGEST_S)
    is_within = upper_edge_s(bin_ - 1) * (1.0 + 2.0 * ROUNDING) < longest_s <= edge_s
    return longest_s if is_within else edge_s


def _samples(sound: Sequence[Payload], topics: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Return what the samples of one broker and slot came to, without place and time."""
    for member, metric in LOAD.items():
        values = [payload["broker"][member] for payload in sound if member in payload["broker"]]
        if values:
            yield {"metric": metric, "value": sum(values) / len(values)}
    for metric in FLOW_RATES:
        for flow, rate in means(sound, "flows", metric).items():
            yield {"topic": flow, "metric": metric, "value": rate}
    for flow, size in _message_bytes(sound).items():
        yield {"topic": flow, "metric": "message_bytes", "value": size}
    for flow, waiting in _of_each(sound, "flows", "backlog").items():
        yield {"topic": flow, "metric": "backlog", "value": max(waiting)}
    for flow, peaks in _of_each(sound, "flows", "backlog_peak").items():
        # The latest looks back over these ten seconds, earlier ones over those before them.
        yield {"topic": flow, "metric": "backlog_peak", "value": peaks[-1]}
    for name, rate in means(sound, "classes", "delivered_per_s").items():
        yield {**_place(name, topics), "metric": "delivered_per_s", "value": rate}
    for member, metric in FLOW_LIMITS.items():
        for flow, limits in _of_each(sound, "flows", member).items():
            yield {"topic": flow, "metric": metric, "value": sum(limits) / len(limits)}
    for member, metric in CLASS_LEVELS.items():
        for name, levels in _of_each(sound, "classes", member).items():
            value = sum(levels) / len(levels)
            yield {**_place(name, topics), "metric": metric, "value": value}
    for metric in CLASS_COUNTS:
        for name, counts in _of_each(sound, "classes", metric).items():
            yield {**_place(name, topics), "metric": metric, "value": sum(counts)}


def _message_bytes(sound: Sequence[Payload]) -> dict[str, float]:
    """Return the mean payload of the messages that passed, of each flow of which some did."""
    size: dict[str, float] = defaultdict(float)
    messages: dict[str, float] = defaultdict(float)
    for payload in sound:
        for flow, row in (payload.get("flows") or {}).items():
            if "message_bytes" in row:
                passed = row.get("passed_per_s", 0.0) * payload["interval_s"]
                size[flow] += row["message_bytes"] * passed
                messages[flow] += passed
    return {flow: size[flow] / number for flow, number in messages.items() if number}


def _place(consumer_class: str, topics: Mapping[str, str]) -> dict[str, str]:
    return {"consumer_class": consumer_class, "topic": topics.get(consumer_class, "")}


def _of_each(payloads: Sequence[Payload], table: str, member: str) -> dict[str, list[float]]:
    """Return the values of a member by entry, of the samples that have it."""
    values: dict[str, list[float]] = defaultdict(list)
    for payload in payloads:
        for name, row in (payload.get(table) or {}).items():
            if member in row:
                values[name].append(float(row[member]))
    return values


def _minute(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(second=0, microsecond=0)


def _name(minute: datetime) -> str:
    return f"{RESERVED}agents/{minute:%Y-%m-%dT%H:%MZ}"
