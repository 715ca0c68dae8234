"""Take batches of records, each once: rows that fit are kept as files, the others set aside."""

import hashlib
import logging
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import ApplicationError, Conflict
from apps.common.events import publish_seldom
from apps.records.models import RecordBatch, SetAsideRow
from apps.records.selectors import WAITS, records_folder, settings_of
from apps.runs.services.gateway import landing
from apps.systems.models import System
from weir.errors import InvalidProblem

logger = logging.getLogger(__name__)
KIND = "record_batch"
NEWS_EVERY_S = 2.0
MOST_AT_ONCE = 100_000
"""Rows set aside that one replay takes, or one command discards."""


def batch_receive(
    *,
    system: System,
    table: str,
    name: str,
    body: bytes,
    media_type: str,
    actor: User | None,
) -> tuple[RecordBatch, bool]:
    """Check and keep a batch; return it and whether it had arrived before.

    A sender that does not know whether a batch arrived sends it again, under its name or, without
    one, with the same bytes: it is there once. Raises ApplicationError where it cannot be read, and
    Conflict `batch_differs` for other rows under a name that has some.
    """
    sha256 = hashlib.sha256(body).hexdigest()
    name = name or sha256
    before = _repeated(system, table, name, sha256)
    if before is not None:
        return before, True
    engine = landing()
    received_at = timezone.now()
    try:
        rows = engine.sent_rows(body, media_type, table)
        checked = engine.check_batch(
            rows,
            table,
            now_s=received_at.timestamp(),
            late_after_s=settings_of(system).late_after_s,
        )
        batch = RecordBatch(
            public_id=uuid.uuid5(system.public_id, f"{table}/{name}"),
            system=system,
            table=table,
            name=name,
            sha256=sha256,
            media_type=media_type,
            size_bytes=len(body),
            rows=len(rows),
            sent_by=actor,
        )
        _land(batch, checked)
    except InvalidProblem as error:
        raise ApplicationError.of_field(error.path, error.message) from error
    except IntegrityError:
        # The same batch was sent twice at once: this insert waited for the other's commit.
        before = _repeated(system, table, name, sha256)
        if before is None:
            raise
        return before, True
    return batch, False


def _repeated(system: System, table: str, name: str, sha256: str) -> RecordBatch | None:
    """Return a batch that arrived before, with the repeat counted. Raises Conflict."""
    batch = RecordBatch.objects.filter(system=system, table=table, name=name).first()
    if batch is None:
        return None
    if batch.sha256 != sha256:
        raise Conflict(
            "batch_differs",
            f'A batch "{name}" of {table} arrived at {batch.created_at:%Y-%m-%d %H:%M:%S} UTC with '
            "other rows. Send these under a name of their own.",
        )
    RecordBatch.objects.filter(pk=batch.pk).update(repeats=F("repeats") + 1, repeated_at=Now())
    return batch


@transaction.atomic
def _land(batch: RecordBatch, checked: Any) -> None:
    """Store a batch and its files, or neither.

    The row is inserted first, so that of two that land the same batch one waits for the other, and
    committed last: whoever dies between leaves files that the sender's repeat writes over.
    """
    batch.accepted = len(checked.rows)
    if batch.accepted:
        batch.since_s, batch.until_s = checked.since_s, checked.until_s
    else:
        batch.rolled_up_at = timezone.now()
    batch.save(force_insert=True)
    SetAsideRow.objects.bulk_create(
        (
            SetAsideRow(batch=batch, row=each.row, problem=each.problem, content=each.content)
            for each in checked.set_aside
        ),
        batch_size=5000,
    )
    landing().land(records_folder(batch.system), batch.table, batch.public_id, checked.rows)
    _publish(batch.system)


def _publish(system: System) -> None:
    key = str(system.public_id)
    transaction.on_commit(
        lambda: publish_seldom(KIND, key=key, every_s=NEWS_EVERY_S, system=system.public_id)
    )


@transaction.atomic
def set_aside_replay(
    *,
    batch: RecordBatch,
    actor: User | None,
    rows: Sequence[int] | None = None,
    problem: str = "",
    amended: Iterable[tuple[int, str]] = (),
    late_too: bool = True,
    reason: str = "",
) -> RecordBatch | None:
    """Check rows that were set aside again, and take those that fit now as a batch of their own.

    `rows` (None: all that wait) or `problem` choose; `amended` has rows in other words, as JSON.
    Returns the new batch, None where nothing fits: what is wrong with each is stored anew. Raises
    Conflict `nothing_waits`.
    """
    engine = landing()
    waiting = _waiting(batch, rows, problem)
    words = dict(amended)
    sent = [
        engine.json_row(each.row, words.get(each.row, "").encode() or bytes(each.content))
        for each in waiting
    ]
    late_after_s = None if late_too else settings_of(batch.system).late_after_s
    now = timezone.now()
    checked = engine.check_batch(
        sent, batch.table, now_s=now.timestamp(), late_after_s=late_after_s
    )
    aside = {each.row: each.problem for each in checked.set_aside}
    for each in waiting:
        each.problem = aside.get(each.row, each.problem)
    SetAsideRow.objects.bulk_update(
        [each for each in waiting if each.row in aside], ["problem"], batch_size=5000
    )
    replay = None
    if len(checked.rows):
        content = b"\n".join(each.content for each in sent)
        number = batch.replays.count() + 1
        replay = RecordBatch(
            public_id=uuid.uuid5(batch.public_id, f"replay {number}"),
            system=batch.system,
            table=batch.table,
            name=f"{batch.public_id} replay {number}",
            sha256=hashlib.sha256(content).hexdigest(),
            media_type=engine.JSON_LINES,
            size_bytes=len(content),
            rows=len(checked.rows),
            sent_by=actor,
            replay_of=batch,
        )
        try:
            _land(replay, engine.CheckedBatch(rows=checked.rows, set_aside=[]))
        except InvalidProblem as error:
            raise ApplicationError.of_field(error.path, error.message) from error
        taken = [each.pk for each in waiting if each.row not in aside]
        SetAsideRow.objects.filter(pk__in=taken).update(
            ended_at=now, ended_by=actor, taken_in=replay
        )
    _audit(batch, "replay", actor, reason, taken=len(checked.rows), set_aside=len(aside))
    _publish(batch.system)
    return replay


@transaction.atomic
def set_aside_discard(
    *,
    batch: RecordBatch,
    actor: User | None,
    rows: Sequence[int] | None = None,
    problem: str = "",
    reason: str = "",
) -> int:
    """Give up rows that were set aside; they stay to be seen for as long as the batch. Returns how
    many. Raises Conflict `nothing_waits`."""
    waiting = _waiting(batch, rows, problem)
    SetAsideRow.objects.filter(pk__in=[each.pk for each in waiting]).update(
        ended_at=timezone.now(), ended_by=actor
    )
    _audit(batch, "discard", actor, reason, discarded=len(waiting))
    _publish(batch.system)
    return len(waiting)


def _waiting(batch: RecordBatch, rows: Sequence[int] | None, problem: str) -> list[SetAsideRow]:
    """Return the rows of a batch that wait, locked with their batch. Raises Conflict."""
    RecordBatch.objects.select_for_update().get(pk=batch.pk)
    waiting: QuerySet[SetAsideRow] = batch.set_aside.filter(WAITS).order_by("row")
    if rows is not None:
        waiting = waiting.filter(row__in=rows)
    if problem:
        waiting = waiting.filter(problem=problem)
    chosen = list(waiting[:MOST_AT_ONCE])
    if not chosen:
        message = "No such row of this batch waits any more; look at the batch again."
        raise Conflict("nothing_waits", message)
    return chosen


def _audit(batch: RecordBatch, action: str, actor: User | None, reason: str, **after: int) -> None:
    record(
        actor=actor,
        action=action,
        object_kind=KIND,
        object_id=batch.public_id,
        object_name=str(batch),
        system_id=batch.system.public_id,
        model_version=batch.system.model_version,
        after=after,
        reason=reason,
    )
