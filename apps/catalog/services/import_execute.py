"""Carry out one attempt of an import: read its file, compare, write all of it or nothing.

The thread that works holds one connection, and from the comparison on one transaction. A second
thread sends heartbeats and progress on a connection of its own: what happens in the transaction is
seen by nobody before its commit. The same thread interrupts the statement that is running when
somebody cancels, or when another worker has the import.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Self
from uuid import UUID

import psycopg2
from django.db import InterfaceError, OperationalError, connection, transaction

from apps.audit.services import record
from apps.catalog.domain.interest_lines import LineErrors, interest_lines, unpacked
from apps.catalog.models import ImportPhase, InterestImport, Subscriber
from apps.catalog.services.import_tables import (
    Differences,
    interests_compare,
    interests_write,
    lines_copy,
    lines_forget,
    names_match,
    names_unknown,
    subscribers_create,
    subscribers_shown,
)
from apps.catalog.services.imports import (
    CancelWasAsked,
    ImportTakenAway,
    import_claim,
    import_end,
    import_heartbeat,
)
from apps.common.connections import patiently
from apps.systems.models import System
from apps.systems.services.edit import advance, lock
from weir.lifecycle.imports import ImportCommand

logger = logging.getLogger(__name__)
HEARTBEAT_EVERY_S = 0.5


class LinesRefused(Exception):
    """Signal lines that are wrong; nothing was changed."""

    def __init__(self, errors: LineErrors) -> None:
        super().__init__(errors.count)
        self.errors = errors


class Pulse:
    """The heartbeats of one attempt, sent from a thread of their own while its work goes on."""

    def __init__(self, row: InterestImport) -> None:
        self.row = row
        self.phase, self.done, self.total = ImportPhase.READ.value, 0, row.total
        self._stop_because: Exception | None = None
        self._over = threading.Event()
        self._worker: Any = None
        self._thread = threading.Thread(target=self._beat, name=f"pulse of {row}", daemon=True)

    def __enter__(self) -> Self:
        connection.ensure_connection()
        self._worker = connection.connection
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def begin(self, phase: ImportPhase, total: int) -> None:
        """Begin a phase. Raises CancelWasAsked, ImportTakenAway."""
        self.phase, self.done, self.total = phase.value, 0, total
        self.check()

    def advance(self, count: int) -> None:
        """Count what was done of the phase. Raises CancelWasAsked, ImportTakenAway."""
        self.done += count
        self.total = max(self.total, self.done)
        self.check()

    def check(self) -> None:
        """Raise CancelWasAsked or ImportTakenAway where this attempt must not go on."""
        if self._stop_because is not None:
            raise self._stop_because

    def _beat(self) -> None:
        try:
            while not self._over.wait(HEARTBEAT_EVERY_S):
                try:
                    cancelled = import_heartbeat(
                        self.row, phase=self.phase, done=self.done, total=self.total
                    )
                except ImportTakenAway as gone:
                    self._interrupt(gone)
                    return
                except (OperationalError, InterfaceError) as error:
                    logger.warning("%s: no heartbeat: %s", self.row, str(error).strip())
                    connection.close()
                    continue
                if cancelled:
                    self._interrupt(CancelWasAsked(str(self.row)))
        finally:
            connection.close()

    def _interrupt(self, reason: Exception) -> None:
        self._stop_because = reason
        if not self._over.is_set():
            # A connection that is lost has no statement to interrupt.
            with suppress(psycopg2.Error):
                self._worker.cancel()


def import_execute(*, public_id: UUID) -> None:
    """Carry out one attempt of this import, if it is queued."""
    row = import_claim(public_id=public_id)
    if row is None:
        return
    try:
        with Pulse(row) as pulse:
            try:
                _carry_out(row, pulse)
            except (OperationalError, InterfaceError):
                # Also what an interrupted statement raises.
                pulse.check()
                raise
    except ImportTakenAway as gone:
        logger.warning("%s: taken away meanwhile, nothing was changed", gone)
    except CancelWasAsked:
        _end(row, ImportCommand.CANCEL)
    except LinesRefused as refused:
        errors = [
            {"line": one.line, "field": one.field, "message": one.message}
            for one in refused.errors.first
        ]
        _end(
            row,
            ImportCommand.REFUSE,
            lines=refused.errors.lines,
            error_count=refused.errors.count,
            errors=errors,
        )
    except (OperationalError, InterfaceError):
        logger.exception("%s: lost the database; the reaper will find this import", row)
    except Exception as error:
        logger.exception("%s failed", row)
        reason = f"{type(error).__name__}: {error}. This is a fault of Weir; the log has the trace."
        _end(row, ImportCommand.FAIL, failure=f"{reason} Nothing was changed.")
    finally:
        _forget()


def _forget() -> None:
    try:
        lines_forget()
    except (OperationalError, InterfaceError):
        # The lines go with their connection.
        connection.close()


def _end(row: InterestImport, command: ImportCommand, **columns: Any) -> None:
    try:
        patiently(lambda: import_end(row, command, **columns))
    except ImportTakenAway as gone:
        logger.warning("%s: taken away meanwhile", gone)
    except CancelWasAsked:
        _end(row, ImportCommand.CANCEL)
    except (OperationalError, InterfaceError):
        logger.exception("%s: database away too long; the reaper will find this", row)


def _carry_out(row: InterestImport, pulse: Pulse) -> None:
    """Read the file, then do the rest in one transaction."""
    errors = LineErrors()
    lines = _read(row, pulse, errors)
    with transaction.atomic():
        pulse.begin(ImportPhase.MATCH, lines)
        try:
            system = lock(row.system)
        except System.DoesNotExist:
            raise ImportTakenAway(f"{row}: its system was deleted") from None
        names_match(system)
        for kind in ("subscriber", "topic"):
            if kind not in {name.removesuffix("s") for name in row.create_missing}:
                errors.merge(*names_unknown(kind))
        if errors.count:
            raise LinesRefused(errors)
        pulse.begin(ImportPhase.COMPARE, lines)
        differences = interests_compare(row.mode)
        pulse.begin(ImportPhase.WRITE, differences.added + differences.removed)
        if not row.dry_run and not differences.nothing:
            _write(row, system, differences, pulse)
        _finish(row, system, differences, pulse)


def _read(row: InterestImport, pulse: Pulse, errors: LineErrors) -> int:
    """Copy the lines of the file to the database; return how many there are."""
    pulse.begin(ImportPhase.READ, row.total)
    pieces = unpacked(_pieces(row))
    there = 0
    for there in lines_copy(interest_lines(pieces, media_type=row.media_type, errors=errors)):
        pulse.advance(there - pulse.done)
    return there


def _pieces(row: InterestImport) -> Iterator[bytes]:
    """Return the compressed file, a piece at a time."""
    for place in range(row.pieces.count()):
        yield bytes(row.pieces.get(place=place).content)


def _write(row: InterestImport, system: System, differences: Differences, pulse: Pulse) -> None:
    created = differences.subscribers_created
    for _ in subscribers_create(system, row.started_by, row.reason, created):
        pulse.check()
    for count in interests_write(differences):
        pulse.advance(count)
    advance(system, Subscriber)
    record(
        actor=row.started_by,
        action="import",
        object_kind="interest_import",
        object_id=row.public_id,
        object_name=str(row),
        system_id=system.public_id,
        model_version=system.model_version,
        after={
            "mode": row.mode,
            "added": differences.added,
            "removed": differences.removed,
            "subscribers_changed": differences.subscribers_changed,
            "subscribers_created": differences.subscribers_created,
            "subscribers": subscribers_shown(),
        },
        reason=row.reason,
    )


def _finish(row: InterestImport, system: System, differences: Differences, pulse: Pulse) -> None:
    """End the import in the transaction that wrote: a worker that lost it takes all of it back."""
    written = not row.dry_run and not differences.nothing
    pulse.check()
    import_end(
        row,
        ImportCommand.SUCCEED,
        phase=ImportPhase.WRITE,
        done=differences.added + differences.removed,
        total=differences.added + differences.removed,
        lines=differences.lines,
        repeated=differences.repeated,
        added=differences.added,
        removed=differences.removed,
        unchanged=differences.unchanged,
        subscribers_changed=differences.subscribers_changed,
        subscribers_created=differences.subscribers_created,
        model_version=system.model_version if written else None,
    )
