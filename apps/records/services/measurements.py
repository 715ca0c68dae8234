"""Take what agents measured as records: a batch of samples for each minute of a system."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef
from django.utils import timezone

from apps.catalog.models import ConsumerClass
from apps.common.errors import Conflict
from apps.records.models import RecordBatch, RecordTable
from apps.records.services.batches import RESERVED, batch_id, batch_receive
from apps.systems.models import System
from apps.telemetry.models import KEEP_SAMPLES, Sample
from apps.telemetry.selectors.measured import means

MINUTE = timedelta(minutes=1)
SLOT_S = 10
"""Seconds of which a record is the mean, or the largest."""
GRACE = timedelta(seconds=10)
"""How long after a minute what agents measured in it may still be stored."""
REACH = KEEP_SAMPLES - timedelta(minutes=5)
"""How far back minutes are taken that nobody took in time."""

LOAD = {
    "cpu_ratio": "cpu_ratio",
    "memory_bytes": "memory_bytes",
    "connections": "connections",
    "stored_bytes": "disk_bytes",
    "in_msgs_per_s": "in_msgs_per_s",
    "out_msgs_per_s": "out_msgs_per_s",
}
"""What agents report of their broker, and the metric that it is in records."""
FLOW_RATES = ("offered_per_s", "passed_per_s", "shed_per_s")
CLASS_LEVELS = ("admitted", "waiting")

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
    ids = {batch_id(system, RecordTable.SAMPLES, _name(minute)): minute for minute in minutes}
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
        records = [
            json.dumps({"at_s": slot, "broker": broker, **record})
            for (broker, slot), payloads in slots.items()
            for record in _records(payloads, topics)
        ]
        if records:
            _receive(system, _name(minute), "\n".join(records).encode())
    return len(by_minute)


def _receive(system: System, name: str, body: bytes) -> None:
    try:
        batch_receive(
            system=system,
            table=RecordTable.SAMPLES,
            name=name,
            body=body,
            media_type="application/x-ndjson",
            actor=None,
        )
    except Conflict:
        # Another process took the minute, before a sample came that was late beyond grace.
        return


def _records(payloads: Sequence[Payload], topics: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Return what the samples of one broker and slot came to, without place and time."""
    sound = [payload for payload in payloads if "suspect" not in payload]
    for member, metric in LOAD.items():
        values = [payload["broker"][member] for payload in sound if member in payload["broker"]]
        if values:
            yield {"metric": metric, "value": sum(values) / len(values)}
    for metric in FLOW_RATES:
        for flow, rate in means(sound, "flows", metric).items():
            yield {"topic": flow, "metric": metric, "value": rate}
    for flow, waiting in _of_each(sound, "flows", "backlog").items():
        yield {"topic": flow, "metric": "backlog", "value": max(waiting)}
    for name, rate in means(sound, "classes", "delivered_per_s").items():
        yield {**_place(name, topics), "metric": "delivered_per_s", "value": rate}
    for metric in CLASS_LEVELS:
        for name, levels in _of_each(sound, "classes", metric).items():
            value = sum(levels) / len(levels)
            yield {**_place(name, topics), "metric": metric, "value": value}


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
