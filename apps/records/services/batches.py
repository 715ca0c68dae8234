"""Take batches of records, each once: rows that fit are kept as files, the others set aside."""

import hashlib
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import ApplicationError, Conflict
from apps.common.events import publish_seldom
from apps.records.models import RecordBatch, SetAsideRow
from apps.records.selectors import WAITS, records_folder, settings_of
from apps.runs.services.gateway import landing, sent_records
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
    engine = sent_records()
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
            public_id=batch_id(system, table, name),
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


def batch_id(system: System, table: str, name: str) -> uuid.UUID:
    """Return the public id of the batch that has this name, or would have it."""
    return uuid.uuid5(system.public_id, f"{table}/{name}")


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
    """Store a batch and its files, or neither. Raises ApplicationError.

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
    try:
        landing().land(records_folder(batch.system), batch.table, batch.public_id, checked.rows)
    except InvalidProblem as error:
        raise ApplicationError.of_field(error.path, error.message) from error
    except OSError as error:
        logger.exception("records of %s cannot be written", batch.system)
        raise ApplicationError(
            "records_not_written",
            "The records cannot be written now, so none was kept; send them again later.",
            status=503,
        ) from error
    _publish(batch.system)


def _publish(system: System) -> None:
    key = str(system.public_id)
    transaction.on_commit(
        lambda: publish_seldom(KIND, key=key, every_s=NEWS_EVERY_S, system=system.public_id)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Some of the rows of a system that were set aside and wait."""

    system: System
    table: str = ""
    """Empty: of all tables, as for the other texts."""
    problem: str = ""
    batch: RecordBatch | None = None
    rows: Sequence[int] | None = None
    """Of the batch; None: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What became of the rows that were checked again."""

    taken: int
    set_aside: int
    """Rows that do not fit now either."""
    left: int
    """Rows of the choice that were more than one call takes."""


@transaction.atomic
def set_aside_replay(
    *, choice: Choice, actor: User | None, amended: Mapping[int, str], reason: str = ""
) -> Replayed:
    """Check rows that were set aside again, however old they are, and take those that fit now: each
    batch gets a batch with these of its rows.

    `amended` has rows of the batch of the choice as JSON that stands for what was sent. What is
    wrong with the others is stored anew. Raises Conflict `nothing_waits`, ApplicationError.
    """
    waiting, left = _waiting(choice)
    taken = 0
    for _, rows in groupby(waiting, key=lambda row: row.batch_id):
        taken += _replay(list(rows), actor, amended)
    counts = {"taken": taken, "set_aside": len(waiting) - taken}
    _audit(choice, "replay", actor, reason, counts)
    _publish(choice.system)
    return Replayed(left=left, **counts)


def _replay(waiting: list[SetAsideRow], actor: User | None, amended: Mapping[int, str]) -> int:
    """Check rows of one batch again; return how many were taken."""
    engine, batch, now = sent_records(), waiting[0].batch, timezone.now()
    sent = [
        (each.row, amended.get(each.row, "").encode() or bytes(each.content)) for each in waiting
    ]
    checked = engine.check_batch(
        engine.rows_again(sent, batch.table), batch.table, now_s=now.timestamp(), late_after_s=None
    )
    aside = {each.row: each for each in checked.set_aside}
    refused = [each for each in waiting if each.row in aside]
    for each in refused:
        each.problem, each.content = aside[each.row].problem, aside[each.row].content
    SetAsideRow.objects.bulk_update(refused, ["problem", "content"], batch_size=5000)
    fitting = [each for each in waiting if each.row not in aside]
    if not fitting:
        return 0
    number = batch.replays.count() + 1
    content = b"\n".join(content for row, content in sent if row not in aside)
    replay = RecordBatch(
        public_id=uuid.uuid5(batch.public_id, f"replay {number}"),
        system=batch.system,
        table=batch.table,
        name=f"{batch.public_id} replay {number}",
        sha256=hashlib.sha256(content).hexdigest(),
        media_type=engine.JSON_LINES,
        size_bytes=len(content),
        rows=len(fitting),
        sent_by=actor,
        replay_of=batch,
    )
    _land(replay, engine.CheckedBatch(rows=checked.rows, set_aside=[]))
    SetAsideRow.objects.filter(pk__in=[each.pk for each in fitting]).update(
        ended_at=now, ended_by=actor, taken_in=replay
    )
    return len(fitting)


@transaction.atomic
def set_aside_discard(*, choice: Choice, actor: User | None, reason: str = "") -> tuple[int, int]:
    """Give up rows that were set aside; they are shown for as long as their batch is kept. Returns
    how many, and how many were more than one call takes. Raises Conflict `nothing_waits`."""
    waiting, left = _waiting(choice)
    SetAsideRow.objects.filter(pk__in=[each.pk for each in waiting]).update(
        ended_at=timezone.now(), ended_by=actor
    )
    _audit(choice, "discard", actor, reason, {"discarded": len(waiting)})
    _publish(choice.system)
    return len(waiting), left


def _waiting(choice: Choice) -> tuple[list[SetAsideRow], int]:
    """Return rows that wait, locked, by batch, and how many more there are. Raises Conflict."""
    rows = SetAsideRow.objects.filter(WAITS, batch__system=choice.system)
    if choice.batch is not None:
        rows = rows.filter(batch=choice.batch)
    if choice.rows is not None:
        rows = rows.filter(row__in=choice.rows)
    if choice.table:
        rows = rows.filter(batch__table=choice.table)
    if choice.problem:
        rows = rows.filter(problem=choice.problem)
    whole = rows.count()
    locked = rows.select_related("batch__system").select_for_update(of=("self",))
    chosen = list(locked.order_by("batch_id", "row")[:MOST_AT_ONCE])
    if not chosen:
        message = "None of these rows waits any more; look at them again."
        raise Conflict("nothing_waits", message)
    return chosen, max(0, whole - len(chosen))


def _audit(
    choice: Choice, action: str, actor: User | None, reason: str, counts: Mapping[str, int]
) -> None:
    subject = choice.batch or choice.system
    chosen = {"table": choice.table, "problem": choice.problem}
    record(
        actor=actor,
        action=action,
        object_kind=KIND,
        object_id=subject.public_id,
        object_name=str(choice.batch or "several"),
        system_id=choice.system.public_id,
        model_version=choice.system.model_version,
        after={**{name: value for name, value in chosen.items() if value}, **counts},
        reason=reason,
    )
