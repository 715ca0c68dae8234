"""Take records of files, each file as one batch or several: who does it again counts nothing
twice."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import ApplicationError
from apps.records.models import RecordBatch
from apps.records.services.batches import RESERVED, batch_id, batch_repeated, batch_take
from apps.runs.services.gateway import record_files
from apps.systems.models import System
from weir.errors import InvalidProblem

LONGEST_NAME = 180
"""Characters that the first row of a part leaves of the name of a batch."""
SHOWN_OF_NAME = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedFile:
    """A file that was not taken, or not from some row on, and why."""

    name: str
    reason: str
    taken: int
    """Rows before that, of this time or an earlier one."""


@dataclass(slots=True, kw_only=True)
class Imported:
    """What became of the files of a folder."""

    files: int
    left_out: int
    """Files that hold no records by their names."""
    done: int = 0
    """Files so far, with those that failed."""
    batches: int = 0
    taken: int = 0
    """Rows, as the others."""
    set_aside: int = 0
    repeated: int = 0
    """Of batches that had arrived before."""
    failed: list[FailedFile] = field(default_factory=list)


def records_import(
    *,
    system: System,
    uri: str,
    table: str = "",
    prefix: str = "",
    late_after_s: float | None = None,
    actor: User | None,
    reason: str = "",
    report: Callable[[Imported, str], None] = lambda imported, name: None,
) -> Imported:
    """Take the records of a folder, one batch in memory at a time; `report` is called after each.

    A batch is named by `prefix`, the path of its file below the folder and the row it begins with.
    Records older than `late_after_s` are set aside; None: none for its age. Raises InvalidProblem
    where there are no files, ApplicationError where nothing can be written now.
    """
    engine = record_files()
    folder = engine.record_folder(uri, table)
    imported = Imported(files=len(folder.files), left_out=folder.left_out)
    try:
        for file in folder.files:
            before = imported.taken + imported.set_aside + imported.repeated
            try:
                name = _batch_name(prefix + file.name)
                for part in engine.parts_of(folder, file):
                    _take(system, file, part, name, late_after_s, actor, imported)
                    del part  # not in memory while the next one is read
                    report(imported, file.name)
            except (InvalidProblem, ApplicationError) as error:
                if isinstance(error, ApplicationError) and error.status >= 500:
                    raise
                taken = imported.taken + imported.set_aside + imported.repeated - before
                failed = FailedFile(name=file.name, reason=str(error), taken=taken)
                imported.failed.append(failed)
            imported.done += 1
            report(imported, file.name)
    finally:
        if imported.batches:
            _audit(system, imported, actor, reason)
    return imported


def _batch_name(path: str) -> str:
    """Return the name of the first batch of a file. Raises InvalidProblem."""
    if not path.isprintable():
        raise InvalidProblem("name", "holds a character that cannot be shown; rename the file")
    if path.startswith(RESERVED):
        raise InvalidProblem("name", f"those that begin with {RESERVED} are Weir's own; rename it")
    if len(path) <= LONGEST_NAME:
        return path
    return f"{hashlib.sha256(path.encode()).hexdigest()[:16]}…{path[-SHOWN_OF_NAME:]}"


def _take(
    system: System,
    file: Any,
    part: Any,
    name: str,
    late_after_s: float | None,
    actor: User | None,
    imported: Imported,
) -> None:
    """Take one part of a file, and count it. Raises InvalidProblem and ApplicationError."""
    # The first has the name of its file, however many there are: a file that grew is noticed.
    if part.first_row:
        name = f"{name}#{part.first_row}"
    before = batch_repeated(system, file.table, name, part.sha256)
    if before is not None:
        imported.repeated += part.rows
        return
    batch = RecordBatch(
        public_id=batch_id(system, file.table, name),
        system=system,
        table=file.table,
        name=name,
        sha256=part.sha256,
        media_type=file.media_type,
        size_bytes=part.size_bytes,
        sent_by=actor,
    )
    batch, repeated = batch_take(batch, part.read(), late_after_s=late_after_s)
    if repeated:
        imported.repeated += part.rows
        return
    imported.batches += 1
    imported.taken += batch.accepted
    imported.set_aside += batch.rows - batch.accepted


def _audit(system: System, imported: Imported, actor: User | None, reason: str) -> None:
    record(
        actor=actor,
        action="import",
        object_kind="record_batch",
        object_id=system.public_id,
        object_name="several",
        system_id=system.public_id,
        model_version=system.model_version,
        after={
            "batches": imported.batches,
            "taken": imported.taken,
            "set_aside": imported.set_aside,
            "repeated": imported.repeated,
            "files_refused": len(imported.failed),
        },
        reason=reason,
    )
