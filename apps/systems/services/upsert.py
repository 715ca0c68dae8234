"""Create and change many objects of one kind by name, as one edit and in a handful of
statements."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from django.core.exceptions import ValidationError
from django.db import transaction

from apps.accounts.models import User
from apps.audit.services import record_all
from apps.common.errors import ApplicationError, Conflict, FieldError
from apps.common.formatting import counted
from apps.systems.models import Entity, System
from apps.systems.selectors import OUTSIDE_MODEL, entity_state, with_children, with_references
from apps.systems.services.edit import advance, announce, difference, entry_of, lock, one_edit
from apps.systems.services.save import Children, blame, child_rows, clean, integrity, refusal

E = TypeVar("E", bound=Entity)

MOST_ERRORS = 100
MOST_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One row of an import: the name of its object and its members as they were sent.

    `path` leads to the row in a body of JSON, such as `rows[3]`; `line` is its line in a CSV.
    `flaws` is what is wrong with it before anybody knows what is stored.
    """

    name: str
    members: Mapping[str, Any]
    path: str = ""
    line: int | None = None
    flaws: Sequence[FieldError] = ()

    def error(self, name: str, message: str) -> FieldError:
        """Return what is wrong with one member of the row."""
        path = ".".join(part for part in (self.path, name) if part)
        return FieldError(field=path, message=message, line=self.line)

    def errors(self, error: ApplicationError) -> list[FieldError]:
        """Return what is wrong with the row by this refusal of its object."""
        named = [self.error(one.field, one.message) for one in error.errors]
        return named or [self.error("", error.message)]


class Reader(Protocol):
    """Understand the rows of one system, which is locked meanwhile."""

    def read(self, given: Given, stored: Any) -> tuple[dict[str, Any], Children]:
        """Return the columns and child rows that a row gives, for the stored object or, with None,
        a new one. Raises ApplicationError that names members of the row."""
        ...

    def missing(self) -> Sequence[Entity]:
        """Return the objects to create first, because rows that were read refer to them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One object that an import created or changed, with the members that differ."""

    name: str
    action: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Upserted:
    """What an import did, or would do: counts, the new model version, the first objects."""

    created: int
    changed: int
    unchanged: int
    model_version: int
    rows: Sequence[Written]
    also_created: Sequence[Entity]


@dataclass(slots=True, kw_only=True)
class _Pending(Generic[E]):
    """An object that has to be written, with the child lists that are replaced."""

    given: Given
    instance: E
    children: Children
    before: dict[str, Any] | None = None
    columns: Collection[str] = ()
    """The columns of a stored object that differ."""

    @property
    def new(self) -> bool:
        return self.before is None

    @property
    def of_model(self) -> bool:
        """Return whether it changes anything on which computations depend."""
        return self.new or bool(self.children) or not set(self.columns) <= OUTSIDE_MODEL


@dataclass(slots=True)
class _Errors:
    """What is wrong with rows: the first hundred, and how many more."""

    first: list[FieldError] = field(default_factory=list)
    count: int = 0

    def add(self, errors: Iterable[FieldError]) -> None:
        for error in errors:
            self.count += 1
            if len(self.first) < MOST_ERRORS:
                self.first.append(error)

    def refuse(self) -> None:
        """Raise ApplicationError if there is an error."""
        if self.count:
            raise rows_refused(self.first, self.count)


def rows_refused(errors: Sequence[FieldError], count: int) -> ApplicationError:
    """Return the refusal of an import; `errors` holds the first of `count`."""
    first, more = errors[0], count - len(errors)
    where = [f"line {first.line}"] if first.line else []
    where += [first.field] if first.field else []
    begin = f"{', '.join(where)}: {first.message}" if where else first.message
    others = f" {counted(count - 1, 'other error')} beside it." if count > 1 else ""
    return ApplicationError(
        "invalid",
        f"{begin}{others} Nothing was changed.",
        errors=errors,
        extra={"more_errors": more} if more else {},
    )


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
    errors = _Errors()
    pending: list[_Pending[E]] = []
    first: dict[str, Given] = {}
    for given in rows:
        if given.name and first.setdefault(given.name, given) is not given:
            before = first[given.name]
            where = f"line {before.line}" if before.line else before.path
            errors.add([given.error("name", f"Has the name of {where}; give each object once.")])
            continue
        if given.flaws:
            errors.add(given.flaws)
            continue
        try:
            draft = _draft(model, system, given, stored.get(given.name), reader)
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
    created = sum(draft.new for draft in pending)
    if pending:
        _create_missing(also)
        _free_external_ids(pending)
        _write_or_name(pending)
        changes_model = any(draft.of_model for draft in pending)
        if changes_model:
            advance(system)
        else:
            announce(system)
    written = _record(model, system, actor, pending, also, reason)
    return Upserted(
        created=created,
        changed=len(pending) - created,
        unchanged=len(rows) - len(pending),
        model_version=system.model_version,
        rows=written[:MOST_SHOWN],
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


def _draft(
    model: type[E], system: System, given: Given, stored: E | None, reader: Reader
) -> _Pending[E] | None:
    """Return the object as the row wants it; None where the stored one is the same. Raises
    ApplicationError."""
    values, children = reader.read(given, stored)
    if stored is None:
        draft = _Pending(given=given, instance=model(system=system, **values), children=children)
    else:
        values = {name: v for name, v in values.items() if getattr(stored, name) != v}
        before = entity_state(stored)
        children = {
            name: rows
            for name, rows in children.items()
            if not _same_rows(stored, name, before[name], rows)
        }
        if not values and not children:
            return None
        for name, value in values.items():
            setattr(stored, name, value)
        stored.version += 1
        draft = _Pending(
            given=given, instance=stored, children=children, before=before, columns=values.keys()
        )
    try:
        clean(draft.instance)
        for name, rows in children.items():
            child_rows(draft.instance, name, rows)
    except ValidationError as error:
        blame(draft.instance, children)
        raise refusal(error) from error
    return draft


def _same_rows(
    stored: Entity,
    name: str,
    before: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
) -> bool:
    """Return whether a child list would stay as it is; its order says nothing."""
    keys = stored.children[name]

    def plain(row: Mapping[str, Any]) -> dict[str, Any]:
        return {part: str(v) if hasattr(v, "_meta") else v for part, v in row.items()}

    def key(row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(row.get(part)) for part in keys)

    return sorted(before, key=key) == sorted(map(plain, rows), key=key)


def _create_missing(also: Sequence[Entity]) -> None:
    models = {type(each): None for each in also}
    for model in models:
        model._default_manager.bulk_create([each for each in also if type(each) is model])


def _free_external_ids(pending: Sequence[_Pending[E]]) -> None:
    """Take away the external ids that change: in one import an id may go from one object to
    another, and the database compares row by row."""
    keys = [draft.instance.pk for draft in pending if "external_id" in draft.columns]
    if keys:
        model = type(pending[0].instance)
        model._default_manager.filter(pk__in=keys).update(external_id=None)


def _write_or_name(pending: Sequence[_Pending[E]]) -> None:
    """Write all objects. Raises ApplicationError that names the rows which the database refuses."""
    try:
        _write(pending)
    except Conflict as error:
        errors = _Errors()
        with transaction.atomic():
            _find_refused(pending, errors)
        errors.refuse()
        raise error


def _write(pending: Sequence[_Pending[E]]) -> None:
    """Write the objects and the child lists that are given: a statement for each table and way."""
    model = type(pending[0].instance)
    kind = str(model._meta.verbose_name)
    new = [draft.instance for draft in pending if draft.new]
    old = [draft.instance for draft in pending if not draft.new]
    columns = [f.name for f in model._meta.concrete_fields if f.name not in FIXED]
    with integrity(kind, pending[0].given.name if len(pending) == 1 else "rows"):
        model._default_manager.bulk_create(new)
        # Far faster than `bulk_update`; each row is there already, so that none is inserted.
        model._default_manager.bulk_create(
            old, update_conflicts=True, update_fields=columns, unique_fields=["id"]
        )
        for name in model.children:
            _write_children(model, name, pending)


FIXED = frozenset({"id", "public_id", "created_at", "system", "name"})
"""Columns that a change by name leaves as they are."""


def _write_children(model: type[E], name: str, pending: Sequence[_Pending[E]]) -> None:
    related: Any = getattr(model, name).rel
    rows = related.related_model._default_manager
    replaced = [d.instance.pk for d in pending if not d.new and name in d.children]
    if replaced:
        rows.filter(**{f"{related.field.name}__in": replaced}).delete()
    fresh = [
        child
        for draft in pending
        for child in child_rows(draft.instance, name, draft.children.get(name, ()))
    ]
    if fresh:
        rows.bulk_create(fresh)


def _find_refused(pending: Sequence[_Pending[E]], errors: _Errors) -> None:
    """Write halves of halves until each row that the database refuses stands alone."""
    if errors.count >= MOST_ERRORS:
        return
    try:
        _write(pending)
    except Conflict as error:
        if len(pending) > 1:
            middle = len(pending) // 2
            _find_refused(pending[:middle], errors)
            _find_refused(pending[middle:], errors)
            return
        (draft,) = pending
        try:
            blame(draft.instance, draft.children)
            raise error
        except ApplicationError as named:
            errors.add(draft.given.errors(named))


def _record(
    model: type[E],
    system: System,
    actor: User | None,
    pending: Sequence[_Pending[E]],
    also: Sequence[Entity],
    reason: str,
) -> list[Written]:
    """Add the audit entries, and return each object with what differs."""
    if not pending:
        return []
    entries = [
        entry_of("create", each, system, actor, reason, after=entity_state(each)) for each in also
    ]
    # Read them again: the record holds what the database has.
    keys = [draft.instance.pk for draft in pending]
    rows = with_children(with_references(model._default_manager.filter(pk__in=keys)))
    fresh = {row.pk: row for row in rows}
    written: list[Written] = []
    for draft in pending:
        row = fresh[draft.instance.pk]
        after = entity_state(row)
        if draft.before is None:
            action, states = "create", {"after": after}
        else:
            action, states = "update", {"before": draft.before, "after": after}
        entries.append(entry_of(action, row, system, actor, reason, **states))
        if len(written) < MOST_SHOWN:
            before, after_differs = difference(draft.before, after)
            written.append(
                Written(
                    name=row.name,
                    action=action,
                    before=before,
                    after=after_differs,
                )
            )
    record_all(entries)
    return written
