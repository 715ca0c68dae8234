"""Write many objects of one kind, each read against what is stored, in a handful of statements.

What is wrong is named by row: by its reader, by the rules of its object, or by the database.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import TextField, Value
from django.db.models.functions import Cast, Concat

from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.common.errors import ApplicationError, Conflict, FieldError
from apps.common.formatting import counted
from apps.systems.models import Entity, System
from apps.systems.selectors import (
    OUTSIDE_MODEL,
    child_state,
    entity_state,
    with_children,
    with_references,
)
from apps.systems.services.edit import difference, entry_of
from apps.systems.services.in_force import refuse_rename
from apps.systems.services.save import Children, blame, child_rows, clean, integrity, refusal

E = TypeVar("E", bound=Entity)

MOST_ERRORS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One row of a request: the name of its object and its members as they were sent.

    `path` leads to the row in a body of JSON, such as `rows[3]`; `line` is its line in a CSV.
    `flaws` is what is wrong with it before anybody knows what is stored.
    """

    name: str
    members: Mapping[str, Any]
    path: str = ""
    line: int | None = None
    flaws: Sequence[FieldError] = ()

    @property
    def place(self) -> str:
        """Say where it stands, such as `line 3` or `rows[2]`."""
        return f"line {self.line}" if self.line else self.path

    def error(self, name: str, message: str) -> FieldError:
        """Return what is wrong with one member of the row."""
        path = ".".join(part for part in (self.path, name) if part)
        return FieldError(field=path, message=message, line=self.line)

    def errors(self, error: ApplicationError) -> list[FieldError]:
        """Return what is wrong with the row by this refusal of its object."""
        named = [self.error(one.field, one.message) for one in error.errors]
        return named or [self.error("", error.message)]


def text_of(value: Any) -> str:
    """Return the text that a field of text reads from a member; empty where it reads none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).strip()


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
    """One object that was created, changed or deleted, with the members that differ."""

    row: Entity
    action: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None

    @property
    def kind(self) -> str:
        return self.row.audited_as()

    @property
    def name(self) -> str:
        return self.row.name

    def entry(self, system: System, actor: User | None, reason: str) -> AuditEntry:
        """Return its entry in the history, at the version that the model of its system has now."""
        return entry_of(
            self.action, self.row, system, actor, reason, before=self.before, after=self.after
        )


@dataclass(slots=True, kw_only=True)
class Pending(Generic[E]):
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
class Errors:
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


def pending_of(
    model: type[E],
    system: System,
    given: Given,
    stored: E | None,
    reader: Reader,
    lists: Collection[str] | None = None,
) -> Pending[E] | None:
    """Return the object as the row wants it; None where the stored one is the same. `lists`: the
    child tables that rows may give; None: all. Raises ApplicationError."""
    values, children = reader.read(given, stored)
    if stored is None:
        draft = Pending(given=given, instance=model(system=system, **values), children=children)
    else:
        values = {name: v for name, v in values.items() if getattr(stored, name) != v}
        before = entity_state(stored, lists)
        draft = Pending(
            given=given,
            instance=stored,
            children={
                name: rows
                for name, rows in children.items()
                if not _same_rows(stored, name, before[name], rows)
            },
            before=before,
            columns=values.keys(),
        )
        if not values and not draft.children:
            return None
        refuse_rename(stored, str(values.get("name", stored.name)))
        for name, value in values.items():
            setattr(stored, name, value)
        stored.version += 1
    try:
        clean(draft.instance)
        for name, rows in draft.children.items():
            child_rows(draft.instance, name, rows)
    except ValidationError as error:
        blame(draft.instance, draft.children)
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
    related: Any = getattr(type(stored), name).rel
    parent = related.field.name
    # What a row leaves out has its default.
    wanted = [child_state(related.related_model(**row), parent) for row in rows]

    def key(row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(row.get(part)) for part in keys)

    return sorted(before, key=key) == sorted(wanted, key=key)


def write(pending: Sequence[Pending[E]], errors: Errors) -> None:
    """Write all objects, or add to `errors` which rows the database refuses; then the caller takes
    the others back. Raises Conflict where the database refuses them only together."""
    if not pending:
        return
    _free_unique(pending)
    try:
        _write(pending)
    except Conflict as error:
        before = errors.count
        with transaction.atomic():
            _find_refused(pending, errors)
        if errors.count == before:
            raise error


def written(pending: Sequence[Pending[E]], lists: Collection[str] | None = None) -> list[Written]:
    """Return what was written as the database has it; `lists` as for `pending_of`."""
    if not pending:
        return []
    model = type(pending[0].instance)
    keys = [draft.instance.pk for draft in pending]
    rows = with_children(with_references(model._default_manager.filter(pk__in=keys)), lists)
    fresh = {row.pk: row for row in rows}
    done = []
    for draft in pending:
        row = fresh[draft.instance.pk]
        before, after = difference(draft.before, entity_state(row, lists))
        action = "create" if draft.new else "update"
        done.append(Written(row=row, action=action, before=before, after=after))
    return done


def free_names(model: type[Entity], keys: Collection[int]) -> None:
    """Take the name and the external id from objects that are deleted later in the same edit, so
    that others may have them."""
    if keys:
        rows = model._default_manager.filter(pk__in=keys)
        rows.update(**_FREE)


_FREE = {
    "external_id": Value(None),
    "name": Concat(Value("~"), Cast("public_id", TextField())),
}
"""Unique columns, and what no other object has there."""


def _free_unique(pending: Sequence[Pending[E]]) -> None:
    """Take away the external ids and names that change: in one edit they may go from one object to
    another, and the database compares row by row."""
    model = type(pending[0].instance)
    for column, free in _FREE.items():
        keys = [draft.instance.pk for draft in pending if column in draft.columns]
        if keys:
            model._default_manager.filter(pk__in=keys).update(**{column: free})


def _write(pending: Sequence[Pending[E]]) -> None:
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


FIXED = frozenset({"id", "public_id", "created_at", "system"})
"""Columns that a change leaves as they are."""


def _write_children(model: type[E], name: str, pending: Sequence[Pending[E]]) -> None:
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


def _find_refused(pending: Sequence[Pending[E]], errors: Errors) -> None:
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
