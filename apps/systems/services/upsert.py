"""Create and change many objects of one kind by name, as one edit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.core.exceptions import ValidationError

from apps.accounts.models import User
from apps.audit.services import record_all
from apps.common.errors import ApplicationError, FieldError
from apps.systems.models import Entity, System
from apps.systems.selectors import entity_state, with_children, with_references
from apps.systems.services.edit import advance, announce, entry_of, lock, one_edit
from apps.systems.services.pending import (
    Errors,
    Given,
    Pending,
    Reader,
    Written,
    pending_of,
    write,
    written,
)
from apps.systems.services.save import clean, refusal

E = TypeVar("E", bound=Entity)

MOST_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Upserted:
    """What an import did, or would do: counts, the new model version, the first objects."""

    created: int
    changed: int
    unchanged: int
    model_version: int
    rows: Sequence[Written]
    also_created: Sequence[Entity]


class _Tried(Exception):
    """Signal that a dry run has its answer, to roll its writing back."""


def entities_upsert(
    *,
    model: type[E],
    system: System,
    actor: User | None,
    rows: Sequence[Given],
    reader: Callable[[System], Reader],
    prefetch: Sequence[str] = (),
    reason: str = "",
    dry_run: bool = False,
) -> Upserted:
    """Create the objects whose names are new, change those that differ, leave the rest.

    All of it is one edit: one transaction, one model version (none where only ids and labels of
    other systems differ), an audit entry for each object, and nothing at all where nothing differs.
    A dry run does the same and takes it back.

    Raises ApplicationError that names up to a hundred wrong members by row; nothing is changed.
    """
    try:
        with one_edit():
            locked = lock(system)
            done = _upsert(model, locked, actor, rows, reader(locked), prefetch, reason)
            if dry_run:
                raise _Tried
    except _Tried:
        pass
    return done


def _upsert(
    model: type[E],
    system: System,
    actor: User | None,
    rows: Sequence[Given],
    reader: Reader,
    prefetch: Sequence[str],
    reason: str,
) -> Upserted:
    """Carry an import out within a transaction that holds the system's lock.

    1. Read every row against the stored object of its name.
    2. Refuse all of them if one is wrong.
    3. Write what is new or differs; the database may still refuse a row.
    4. Advance the model and record each object.
    """
    stored = _stored(model, system, [given.name for given in rows], prefetch)
    errors = Errors()
    pending: list[Pending[E]] = []
    first: dict[str, Given] = {}
    for given in rows:
        if given.name and first.setdefault(given.name, given) is not given:
            where = first[given.name].place
            errors.add([given.error("name", f"Has the name of {where}; give each object once.")])
            continue
        if given.flaws:
            errors.add(given.flaws)
            continue
        try:
            draft = pending_of(model, system, given, stored.get(given.name), reader)
        except ApplicationError as error:
            errors.add(given.errors(error))
        else:
            pending += [draft] if draft else []
    also = list(reader.missing())
    for each in also:
        try:
            clean(each)
        except ValidationError as error:
            errors.add(
                FieldError(field="", message=f"{each._meta.verbose_name} {each}: {one.message}")
                for one in refusal(error).errors
            )
    errors.refuse()
    done: list[Written] = []
    if pending:
        _create_missing(also)
        write(pending, errors)
        errors.refuse()
        if any(draft.of_model for draft in pending):
            advance(system)
        else:
            announce(system)
        done = written(pending)
        record_all(
            [entry_of("create", e, system, actor, reason, after=entity_state(e)) for e in also]
            + [each.entry(system, actor, reason) for each in done]
        )
    created = sum(draft.new for draft in pending)
    return Upserted(
        created=created,
        changed=len(pending) - created,
        unchanged=len(rows) - len(pending),
        model_version=system.model_version,
        rows=done[:MOST_SHOWN],
        also_created=also if pending else [],
    )


def _stored(
    model: type[E], system: System, names: Sequence[str], prefetch: Sequence[str]
) -> dict[str, E]:
    rows = model._default_manager.filter(system=system, name__in=names)
    stored_by_name: dict[str, E] = {}
    for row in with_children(with_references(rows)).prefetch_related(*prefetch):
        row.system = system
        stored_by_name[row.name] = row
    return stored_by_name


def _create_missing(also: Sequence[Entity]) -> None:
    models = {type(each): None for each in also}
    for model in models:
        model._default_manager.bulk_create([each for each in also if type(each) is model])
