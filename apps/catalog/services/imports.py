"""Run the life of imports of interests. Every transition is made here, under the row's lock."""

import logging
import os
import socket
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.catalog.models import ImportPhase, InterestImport, InterestImportPiece
from apps.common.errors import Conflict
from apps.common.events import publish
from apps.common.tasks_by_name import enqueue
from apps.systems.models import System
from weir.errors import IllegalTransition
from weir.lifecycle.imports import IMPORTS, ImportCommand, ImportState

logger = logging.getLogger(__name__)
TASK = "catalog.import_interests"
KIND = "interest_import"
TRIES_FOR_A_NUMBER = 20


class ImportTakenAway(Exception):
    """Signal that the import was given to another worker, or ended, while this one worked on it."""


class CancelWasAsked(Exception):
    """Signal that somebody asked to cancel the import while it was being carried out."""


@transaction.atomic
def import_start(
    *,
    system: System,
    actor: User | None,
    mode: str,
    dry_run: bool,
    create_missing: Sequence[str],
    reason: str,
    media_type: str,
    size_bytes: int,
    lines_about: int,
    pieces: Iterable[bytes],
) -> InterestImport:
    """Store a compressed file as a queued import and send it on commit. `lines_about` is what its
    progress counts towards until the file has been read."""
    row = InterestImport(
        system=system,
        started_by=actor,
        mode=mode,
        dry_run=dry_run,
        create_missing=list(create_missing),
        reason=reason,
        media_type=media_type,
        size_bytes=size_bytes,
        total=lines_about,
        sent_at=timezone.now(),
    )
    _number(row)
    for place, content in enumerate(pieces):
        InterestImportPiece.objects.create(of=row, place=place, content=content)
    _publish(row)
    enqueue(TASK, interest_import=str(row.public_id))
    return row


def _number(row: InterestImport) -> None:
    """Insert the row under the next number of its system. The system's lock would be the counter's
    elsewhere; here an import that writes may hold it for a minute."""
    for left in reversed(range(TRIES_FOR_A_NUMBER)):
        rows = InterestImport.objects.filter(system=row.system)
        row.number = int(rows.aggregate(last=Max("number"))["last"] or 0) + 1
        try:
            with transaction.atomic():
                row.save(force_insert=True)
            return
        except IntegrityError:
            # Another import of the system took the number; this insert waited for its commit.
            if not left:
                raise


def _publish(row: InterestImport) -> None:
    publish(KIND, id=row.public_id, system=row.system.public_id)


def import_heartbeat(row: InterestImport, *, phase: str, done: int, total: int) -> bool:
    """Record that this attempt lives and how far it is; return whether somebody asked to cancel.

    Raises ImportTakenAway.
    """
    mine = running(row)
    if not mine.update(heartbeat_at=Now(), phase=phase, done=done, total=total):
        raise ImportTakenAway(f"{row} attempt {row.attempt}")
    _publish(row)
    return mine.filter(cancel_requested_at__isnull=False).exists()


def _move(row: InterestImport, command: ImportCommand, **columns: Any) -> None:
    """Make one transition of a locked row; an import that has ended keeps no file."""
    row.state = IMPORTS.advance(ImportState(row.state), command)
    if row.state in IMPORTS.ended:
        columns["ended_at"] = timezone.now()
        row.pieces.all().delete()
    for name, value in columns.items():
        setattr(row, name, value)
    row.save()
    _publish(row)


@transaction.atomic
def import_cancel(*, row: InterestImport, actor: User, reason: str = "") -> InterestImport:
    """Ask to cancel: a queued import ends now, a running one as soon as its worker sees it.

    Raises Conflict `import_has_ended`.
    """
    locked = (
        InterestImport.objects.select_for_update(of=("self",))
        .select_related("system")
        .get(pk=row.pk)
    )
    if locked.state == ImportState.RUNNING:
        if locked.cancel_requested_at is None:
            locked.cancel_requested_at = timezone.now()
            locked.save(update_fields=["cancel_requested_at", "updated_at"])
            _publish(locked)
    else:
        try:
            _move(locked, ImportCommand.CANCEL)
        except IllegalTransition as error:
            raise Conflict(
                "import_has_ended", f"{locked} has already ended: {locked.state}."
            ) from error
    record(
        actor=actor,
        action="cancel",
        object_kind="interest_import",
        object_id=locked.public_id,
        object_name=str(locked),
        system_id=locked.system.public_id,
        reason=reason,
    )
    return locked


def worker_name() -> str:
    """Return a name of this process, for people who look for it."""
    return f"{socket.gethostname()}:{os.getpid()}"


@transaction.atomic
def import_claim(*, public_id: UUID) -> InterestImport | None:
    """Take this import for this worker, if it is queued; None when there is nothing left to do.

    Waits for whoever holds the row: its message is gone as soon as this returns.
    """
    row = (
        InterestImport.objects.select_for_update(no_key=True, of=("self",))
        .select_related("system", "started_by")
        .filter(public_id=public_id, state=ImportState.QUEUED)
        .first()
    )
    if row is None:
        return None
    now = timezone.now()
    _move(
        row,
        ImportCommand.START,
        attempt=row.attempt + 1,
        worker=worker_name(),
        started_at=row.started_at or now,
        heartbeat_at=now,
        phase=ImportPhase.READ,
        done=0,
    )
    return row


def running(row: InterestImport) -> QuerySet[InterestImport]:
    """Return the import while this attempt owns it."""
    return InterestImport.objects.filter(
        public_id=row.public_id, attempt=row.attempt, state=ImportState.RUNNING
    )


def import_end(row: InterestImport, command: ImportCommand, **columns: Any) -> None:
    """End the import for this attempt, within the caller's transaction if it has one.

    Raises ImportTakenAway where another attempt owns it, CancelWasAsked where somebody's cancel
    came first and this is another end.
    """
    with transaction.atomic():
        locked = (
            running(row)
            .select_for_update(no_key=True, of=("self",))
            .select_related("system")
            .first()
        )
        if locked is None:
            raise ImportTakenAway(f"{row} attempt {row.attempt}")
        if locked.cancel_requested_at is not None and command != ImportCommand.CANCEL:
            raise CancelWasAsked(f"{row} attempt {row.attempt}")
        _move(locked, command, **columns)


def imports_reap() -> int:
    """Find imports whose worker is silent and imports that no worker took; return how many.

    Called by two processes that share nothing but Postgres; one of them is enough.
    """
    silent = timedelta(seconds=settings.WEIR_RUN_SILENCE_S)
    with transaction.atomic():
        rows = InterestImport.objects.select_for_update(
            skip_locked=True, no_key=True, of=("self",)
        ).select_related("system")
        # The database's clock decides: it also wrote the heartbeats.
        lost = list(rows.filter(state=ImportState.RUNNING, heartbeat_at__lt=Now() - silent))
        unsent = list(
            rows.filter(Q(sent_at=None) | Q(sent_at__lt=Now() - silent), state=ImportState.QUEUED)
        )
        for row in lost:
            logger.warning("%s: worker %s fell silent", row, row.worker)
            _retry_or_end(row)
        for row in unsent:
            # The message may be lost or only late; a second one does no harm: the claim is atomic.
            InterestImport.objects.filter(pk=row.pk).update(sent_at=Now())
            enqueue(TASK, interest_import=str(row.public_id))
    return len(lost) + len(unsent)


def _retry_or_end(row: InterestImport) -> None:
    if row.cancel_requested_at is not None:
        _move(row, ImportCommand.CANCEL)
    elif row.attempt >= settings.WEIR_RUN_MAX_ATTEMPTS:
        _move(
            row,
            ImportCommand.FAIL,
            failure=f"The worker {row.worker} stopped answering. Given up after {row.attempt} "
            "attempts; nothing was changed. Send the file again when it is mended.",
        )
    else:
        _move(row, ImportCommand.RETRY, worker="", heartbeat_at=None, sent_at=Now())
        enqueue(TASK, interest_import=str(row.public_id))
