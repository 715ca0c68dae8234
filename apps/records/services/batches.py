"""Take batches of records, each once: rows that fit are kept as files, the others set aside."""

import contextlib
import hashlib
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from apps.systems.services import keep
from weir.errors import InvalidProblem

logger = logging.getLogger(__name__)
KIND = "record_batch"
NEWS_EVERY_S = 2.0
MOST_AT_ONCE = 20_000
"""Rows set aside that one replay takes, or one command discards."""
RESERVED = "weir:"
"""What the names of batches begin with that nobody sent."""


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
    before = batch_repeated(system, table, name, sha256)
    if before is not None:
        return before, True
    try:
        rows = sent_records().sent_rows(body, media_type, table)
    except InvalidProblem as error:
        raise ApplicationError.of_field(error.path, error.message) from error
    batch = RecordBatch(
        public_id=batch_id(system, table, name),
        system=system,
        table=table,
        name=name,
        sha256=sha256,
        media_type=media_type,
        size_bytes=len(body),
        sent_by=actor,
    )
    return batch_take(batch, rows, late_after_s=settings_of(system).late_after_s)


def batch_take(
    batch: RecordBatch, rows: Any, *, late_after_s: float | None
) -> tuple[RecordBatch, bool]:
    """Check the rows of a batch that is not stored yet, and keep it; return it, or the one that
    arrived under its name meanwhile, and whether it is that. Rows older than `late_after_s` are set
    aside; None: none for its age. Raises as `batch_receive` does."""
    try:
        checked = sent_records().check_batch(
            rows,
            batch.table,
            now_s=timezone.now().timestamp(),
            late_after_s=late_after_s,
        )
        batch.rows = len(rows)
        _land(batch, checked)
    except InvalidProblem as error:
        raise ApplicationError.of_field(error.path, error.message) from error
    except IntegrityError:
        # The same batch was sent twice at once: this insert waited for the other's commit.
        before = batch_repeated(batch.system, batch.table, batch.name, batch.sha256)
        if before is None:
            raise
        return before, True
    return batch, False


def batch_id(system: System, table: str, name: str) -> uuid.UUID:
    """Return the public id of the batch that has this name, or would have it."""
    return uuid.uuid5(system.public_id, f"{table}/{name}")


def batch_repeated(system: System, table: str, name: str, sha256: str) -> RecordBatch | None:
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
    committed last: whoever dies between leaves files that the next who lands the batch replaces.
    """
    if not keep(batch.system_id):
        raise ApplicationError.of_field("system", "It was deleted meanwhile; nothing was kept.")
    batch.accepted = len(checked.rows)
    if batch.accepted:
        batch.since_s, batch.until_s = checked.since_s, checked.until_s
    else:
        batch.rolled_up_at = timezone.now()
    batch.save(force_insert=True)
    SetAsideRow.objects.bulk_create(
        (
            SetAsideRow(
                batch=batch,
                row=each.row,
                problem=each.problem,
                content=each.content,
                whole=each.whole,
            )
            for each in checked.set_aside
        ),
        batch_size=5000,
    )
    uri = records_folder(batch.system)
    try:
        landing().land(uri, batch.table, batch.public_id, checked.rows)
    except OSError as error:
        logger.exception("records of %s cannot be written", batch.system)
        with contextlib.suppress(OSError):
            landing().unland(uri, batch.table, batch.public_id)
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
class Refused:
    """A row that does not fit now either, and its first problem."""

    batch: RecordBatch
    row: int
    problem: str


@dataclass(slots=True, kw_only=True)
class Replayed:
    """What became of the rows that were checked again."""

    taken: int = 0
    set_aside: int = 0
    """Rows that do not fit now either."""
    left: int = 0
    """Rows of the choice that were more than one call takes."""
    amended: list[Refused] = field(default_factory=list)
    """Of those that do not fit the ones that were amended."""


def set_aside_replay(
    *, choice: Choice, actor: User | None, amended: Mapping[int, str], reason: str = ""
) -> Replayed:
    """Check rows that were set aside again, however old they are, and take those that fit now: each
    batch gets a batch with these of its rows, in a transaction of its own.

    `amended` has rows of the batch of the choice as JSON that stands for what was sent; it is kept
    where it fits, and nowhere else. Raises Conflict `nothing_waits`, ApplicationError.
    """
    keys, left = _waiting(choice)
    odd = set(amended) - {row for _, _, row in keys}
    if odd:
        message = f"Row {min(odd)} of the batch does not wait, or was not chosen."
        raise ApplicationError.of_field("amended", message)
    done = Replayed(left=left)
    try:
        for batch, group in groupby(keys, key=lambda key: key[0]):
            _replay(batch, [pk for _, pk, _ in group], actor, amended, done)
    finally:
        if done.taken or done.set_aside:
            counts = {"taken": done.taken, "set_aside": done.set_aside}
            _audit(choice, "replay", actor, reason, counts)
    return done


@transaction.atomic
def _replay(
    batch_key: int, keys: list[int], actor: User | None, amended: Mapping[int, str], done: Replayed
) -> None:
    """Check rows of one batch again, and add what became of them to `done`."""
    batch = RecordBatch.objects.select_related("system").filter(pk=batch_key).first()
    if batch is None or not keep(batch.system_id):
        return  # deleted meanwhile
    engine, now = sent_records(), timezone.now()
    waiting = list(
        SetAsideRow.objects.filter(WAITS, pk__in=keys).select_for_update().order_by("row")
    )
    sent = [
        (each.row, amended[each.row].encode() if each.row in amended else bytes(each.content))
        for each in waiting
        if each.whole or each.row in amended
    ]
    checked = engine.check_batch(
        engine.rows_again(sent, batch.table), batch.table, now_s=now.timestamp(), late_after_s=None
    )
    problems = {each.row: each.problem for each in checked.set_aside}
    taken = {row for row, _ in sent} - problems.keys()
    _keep_problems(waiting, problems, amended)
    if taken:
        replay = _replayed_as(batch, [each for each in sent if each[0] in taken], actor)
        _land(replay, engine.CheckedBatch(rows=checked.rows, set_aside=[]))
        SetAsideRow.objects.filter(batch=batch, row__in=taken).update(
            ended_at=now, ended_by=actor, taken_in=replay
        )
    done.taken += len(taken)
    done.set_aside += len(waiting) - len(taken)
    done.amended += [
        Refused(batch=batch, row=row, problem=problem)
        for row, problem in problems.items()
        if row in amended
    ]
    _publish(batch.system)


def _keep_problems(
    waiting: Sequence[SetAsideRow], problems: Mapping[int, str], amended: Mapping[int, str]
) -> None:
    """Store other problems than before, of what was sent."""
    changed = []
    for each in waiting:
        problem = problems.get(each.row, each.problem)
        if each.row not in amended and problem != each.problem:
            each.problem = problem
            changed.append(each)
    SetAsideRow.objects.bulk_update(changed, ["problem"], batch_size=1000)


def _replayed_as(
    batch: RecordBatch, sent: Sequence[tuple[int, bytes]], actor: User | None
) -> RecordBatch:
    """Return a new batch for rows of another one, not stored yet."""
    content = b"\n".join(content for _, content in sent)
    # A row is taken once, so no other batch has the same ones.
    rows = hashlib.sha256(repr([row for row, _ in sent]).encode()).hexdigest()
    name = f"{RESERVED}replay/{batch.public_id}/{rows[:16]}"
    return RecordBatch(
        public_id=batch_id(batch.system, batch.table, name),
        system=batch.system,
        table=batch.table,
        name=name,
        sha256=hashlib.sha256(content).hexdigest(),
        media_type=sent_records().JSON_LINES,
        size_bytes=len(content),
        rows=len(sent),
        sent_by=actor,
        replay_of=batch,
    )


@transaction.atomic
def set_aside_discard(*, choice: Choice, actor: User | None, reason: str = "") -> tuple[int, int]:
    """Give up rows that were set aside; they are shown for as long as their batch is kept. Returns
    how many, and how many were more than one call takes. Raises Conflict `nothing_waits`."""
    keys, left = _waiting(choice)
    rows = SetAsideRow.objects.filter(WAITS, pk__in=[pk for _, pk, _ in keys])
    discarded = rows.update(ended_at=timezone.now(), ended_by=actor)
    _audit(choice, "discard", actor, reason, {"discarded": discarded})
    _publish(choice.system)
    return discarded, left


def _waiting(choice: Choice) -> tuple[list[tuple[int, int, int]], int]:
    """Return rows that wait, by batch: the keys of batch and row, and its place; and how many more
    there are. Raises Conflict."""
    rows = SetAsideRow.objects.filter(WAITS, batch__system=choice.system)
    if choice.batch is not None:
        rows = rows.filter(batch=choice.batch)
    if choice.rows is not None:
        rows = rows.filter(row__in=choice.rows)
    if choice.table:
        rows = rows.filter(batch__table=choice.table)
    if choice.problem:
        rows = rows.filter(problem=choice.problem)
    chosen = list(
        rows.order_by("batch_id", "row").values_list("batch_id", "pk", "row")[:MOST_AT_ONCE]
    )
    if not chosen:
        message = "None of these rows waits any more; look at them again."
        raise Conflict("nothing_waits", message)
    return chosen, rows.count() - len(chosen)


def _audit(
    choice: Choice, action: str, actor: User | None, reason: str, counts: Mapping[str, int]
) -> None:
    subject = choice.batch or choice.system
    chosen = {"table": choice.table, "problem": choice.problem}
    record(
        actor=actor,
        action=action,
        object_kind="record_batch",
        object_id=subject.public_id,
        object_name=str(choice.batch or "several"),
        system_id=choice.system.public_id,
        model_version=choice.system.model_version,
        after={**{name: value for name, value in chosen.items() if value}, **counts},
        reason=reason,
    )
