"""Objectives that are older than their records, and these records."""

import json
import time
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from apps.audit.models import AuditEntry
from apps.catalog.models import Slo, Topic
from apps.records.models import RecordBatch
from apps.records.services import batch_receive
from apps.systems.models import System
from apps.systems.services import entity_create, entity_update

BEGAN_S = int(time.time()) // 60 * 60 - 3600
MONTH_S = 30 * 86_400
Rows = list[dict[str, Any]]


def promise(
    system: System,
    quantity: str = "delay_p99_s",
    target: float = 0.1,
    *,
    at_s: float = BEGAN_S - 600,
    **values: Any,
) -> Slo:
    """An objective on `t1` that nobody has edited since a moment."""
    slo = entity_create(
        model=Slo,
        system=system,
        actor=None,
        values={
            "name": f"{quantity} {target}",
            "topic": Topic.objects.get(system=system, name="t1"),
            "quantity": quantity,
            "target": target,
            "objective": 0.99,
            "window_s": MONTH_S,
            **values,
        },
    )
    edited(slo, at_s)
    return slo


def edited(row: Slo | Topic, at_s: float) -> None:
    """The last edit of an object, of those in the history, was at this moment."""
    last = AuditEntry.objects.filter(object_id=row.public_id).latest("id")
    with connection.cursor() as cursor:
        # The history refuses to be rewritten.
        cursor.execute("SET session_replication_role = replica")
        AuditEntry.objects.filter(pk=last.pk).update(at=datetime.fromtimestamp(at_s, UTC))
        cursor.execute("SET session_replication_role = DEFAULT")


def edit(row: Slo | Topic, at_s: float, **values: Any) -> None:
    """Edit an object at a moment."""
    row.refresh_from_db()
    entity_update(instance=row, actor=None, expected_version=row.version, values=values)
    edited(row, at_s)


def receive(system: System, table: str, rows: Rows, name: str = "") -> RecordBatch:
    batch, _ = batch_receive(
        system=system,
        table=table,
        name=name,
        body="\n".join(map(json.dumps, rows)).encode(),
        media_type="application/x-ndjson",
        actor=None,
    )
    assert batch.accepted == len(rows)
    return batch


def delivery(minute: int, delay_s: float, **more: Any) -> dict[str, Any]:
    row = {"at_s": BEGAN_S + 60 * minute + 1.5, "topic": "t1", "subscriber": "s"}
    return {**row, "delay_s": delay_s, **more}
