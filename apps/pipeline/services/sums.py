"""Add batches of records to the sums by minute, each exactly once.

A batch is marked in the transaction that adds its rows: a process that is killed has added nothing,
and whoever comes next adds all of it.
"""

import json
import logging
import time
from datetime import datetime, timedelta
from typing import Any

from django.db import DataError, connection, transaction
from django.utils import timezone

from apps.common.events import publish_seldom
from apps.pipeline.domain.steps import MINUTE_S
from apps.pipeline.models import SUMS, MinuteSum
from apps.pipeline.services.objectives import note_changes
from apps.records.models import RecordBatch
from apps.records.selectors import records_folder, settings_of
from apps.records.services.batches import KIND, NEWS_EVERY_S
from apps.runs.services.gateway import landing, minutes
from apps.systems.models import System
from apps.systems.services import keep
from weir.errors import InvalidProblem

logger = logging.getLogger(__name__)

PASS_S = 15.0
"""A pass takes no further batch after this long: others wait for its thread, too."""
RETRY_S = 600.0
"""After which a batch is tried again that cannot be added: nothing here mends it."""
ROWS_AT_ONCE = 5_000
DELETED_AT_ONCE = 20_000

_MERGES = {
    "sum": "{0} = old.{0} + excluded.{0}",
    "min": "{0} = least(old.{0}, excluded.{0})",
    "max": "{0} = greatest(old.{0}, excluded.{0})",
}
_tried: dict[int, float] = {}
"""Batches that could not be added, and when this process tried."""


def sums_add(batch: RecordBatch) -> bool:
    """Add the rows of a batch to the sums, all of them or none, and mark it; return False where
    that was done before, or another process has locked the batch.

    Rows that are older than sums are kept are left out. Raises InvalidProblem where rows are
    missing or damaged, and OSError where their storage cannot be reached.
    """
    with transaction.atomic():
        if not keep(batch.system_id):
            return False
        waiting = RecordBatch.objects.select_for_update(
            skip_locked=True, no_key=True, of=("self",)
        ).filter(pk=batch.pk, rolled_up_at=None)
        row = waiting.select_related("system").first()
        if row is None:
            return False
        sums = _sums_of(row)
        # In the order of SUMS, and each in that of its keys: two that add the same minutes wait
        # for each other, never in a circle.
        for name, model in SUMS.items():
            if name in sums:
                _add(row.system, model, minutes().SUMS[name], sums[name])
        note_changes(row.system, sums)
        RecordBatch.objects.filter(pk=row.pk).update(rolled_up_at=timezone.now())
        system = row.system.public_id
        transaction.on_commit(
            lambda: publish_seldom(KIND, key=f"{system}/sums", every_s=NEWS_EVERY_S, system=system)
        )
    return True


def sums_add_waiting(most: int) -> int:
    """Add up to `most` batches that wait, the oldest first, for a quarter of a minute at most;
    return how many were added.

    Several processes may do so at once. A batch whose files are not whole, or whose sums are too
    large, waits and stops no other.
    """
    began_s, added = time.monotonic(), 0
    for batch in _waiting(most):
        if time.monotonic() - began_s > PASS_S:
            break
        try:
            added += sums_add(batch)
        except (InvalidProblem, OSError, DataError) as error:
            _tried[batch.pk] = time.monotonic()
            logger.error("batch %s is not in the sums: %s", batch.public_id, error)
    return added


def sums_tidy(now: datetime | None = None) -> int:
    """Delete the sums that are older than their system keeps them; return how many."""
    count = 0
    for system in System.objects.all():
        oldest_s = kept_since_s(system, now or timezone.now())
        for model in SUMS.values():
            while deleted := _delete(model, system, oldest_s):
                count += deleted
    return count


def kept_since_s(system: System, now: datetime) -> int:
    """Return when the first minute begins of which a system keeps sums, Unix seconds."""
    limit = now - timedelta(days=settings_of(system).keep_sums_days)
    return int(limit.timestamp()) // MINUTE_S * MINUTE_S


def _waiting(most: int) -> list[RecordBatch]:
    """Return batches that are not in the sums, the oldest first."""
    now_s = time.monotonic()
    for pk in [pk for pk, at_s in list(_tried.items()) if now_s - at_s > RETRY_S]:
        _tried.pop(pk, None)
    waiting = RecordBatch.objects.filter(rolled_up_at=None).exclude(pk__in=list(_tried))
    return list(waiting.order_by("pk")[:most])


def _sums_of(batch: RecordBatch) -> dict[str, Any]:
    """Return the sums of a batch's rows by name. Raises InvalidProblem, OSError."""
    uri = records_folder(batch.system)
    paths = landing().batch_files(uri, batch.table, batch.public_id)
    sums: dict[str, Any] = minutes().minute_sums(
        uri,
        batch.table,
        paths,
        rows=batch.accepted,
        since_s=kept_since_s(batch.system, timezone.now()),
    )
    return sums


def _add(system: System, model: type[MinuteSum], level: Any, rows: Any) -> None:
    """Add rows of a level, which are in the order of its keys, to what is stored."""
    names = ["since_s", *level.keys[1:], *level.measures]
    quoted = {name: connection.ops.quote_name(name) for name in names}
    columns = [
        f"{quoted[name]} {model._meta.get_field(name).db_type(connection)}" for name in names
    ]
    merges = [_MERGES[merge].format(quoted[name]) for name, (merge, _) in level.measures.items()]
    # The server reads one long text several times faster than an array for each column.
    statement = f"""
        INSERT INTO {model._meta.db_table} AS old (system_id, {", ".join(quoted.values())})
        SELECT %s, added.* FROM json_to_recordset(%s) AS added ({", ".join(columns)})
        ON CONFLICT (system_id, {", ".join(quoted[key] for key in names[: len(level.keys)])})
        DO UPDATE SET {", ".join(merges)}
    """
    with connection.cursor() as cursor:
        for first in range(0, len(rows), ROWS_AT_ONCE):
            piece = rows.slice(first, ROWS_AT_ONCE).to_pylist()
            cursor.execute(statement, [system.pk, json.dumps(piece, default=str)])


def _delete(model: type[MinuteSum], system: System, oldest_s: int) -> int:
    """Delete some sums of minutes before a moment; return how many."""
    # What somebody adds to at the moment is left to the next call: nobody waits here for rows, so
    # nobody waits in a circle.
    table = model._meta.db_table
    statement = f"""
        DELETE FROM {table} WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM {table} WHERE system_id = %s AND since_s < %s
            LIMIT %s FOR UPDATE SKIP LOCKED
        ))
    """
    with connection.cursor() as cursor:
        cursor.execute(statement, [system.pk, oldest_s, DELETED_AT_ONCE])
        return int(cursor.rowcount)
