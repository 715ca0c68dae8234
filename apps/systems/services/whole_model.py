"""Bring a whole system to what a document says, as one edit that was reviewed before.

A dry run says what would be created, changed and deleted, under a hash. Whoever has read it names
the hash, and what is carried out is exactly that or nothing (ADR 60).
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.audit.services import record_all
from apps.common.errors import ApplicationError, Conflict, FieldError, PreconditionRequired
from apps.common.formatting import counted
from apps.systems.domain.labels import Selector
from apps.systems.models import Entity, System
from apps.systems.selectors import (
    entity_models,
    entity_state,
    in_order_of_use,
    used_by,
    with_children,
    with_references,
)
from apps.systems.services.edit import advance, announce, is_outside_model, one_edit
from apps.systems.services.in_force import refuse_delete
from apps.systems.services.pending import (
    MOST_ERRORS,
    Errors,
    Given,
    Pending,
    Reader,
    Written,
    free_names,
    pending_of,
    text_of,
    write,
    written,
)
from apps.systems.services.save import integrity
from apps.systems.services.system_members import (
    GivenProperties,
    GivenSettings,
    MembersWritten,
    SystemWork,
    settings_write,
)
from apps.systems.services.systems import system_entry

E = TypeVar("E", bound=Entity)

MOST_DELETED = 20_000
"""Objects of one kind: whoever reviews a change has to be shown all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenKind(Generic[E]):
    """All rows of a document that are objects of one kind, and how they are read."""

    model: type[E]
    rows: Sequence[Given]
    reader: Callable[[System], Reader]
    check_delete: Callable[[E], None]
    """It raises Conflict for an object that must not be deleted now."""
    prefetch: Sequence[str] = ()
    lists: Collection[str]
    """The child tables that the document has; others stay unread as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    """What a document did to a system, or would do; what counts as unchanged are its other rows."""

    objects: Sequence[Written]
    members: Sequence[MembersWritten]
    """The system itself and its settings."""
    unchanged: dict[str, int]
    """Kind -> rows whose objects are already as they say."""
    unchanged_members: int
    """The same of properties and of each of the settings."""
    model_version: int
    created: bool
    """Whether the system was not there before."""

    system: System
    taken_over: int
    """Objects that have the label of `within` by this change."""

    @property
    def written(self) -> Sequence[Written | MembersWritten]:
        """Return all that differs, what is deleted last."""
        return [*self.members, *self.objects]

    @property
    def hash(self) -> str:
        """Identify what differs: the same change of the same system has the same hash, in whichever
        order it was sent."""
        lines = [
            [each.kind, each.name, each.action, each.before, each.after] for each in self.written
        ]
        texts = sorted(_canonical([_sorted_lists(member) for member in line]) for line in lines)
        text = "\n".join([str(self.system.public_id), *texts])
        return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, sort_keys=True)


def _sorted_lists(state: Any) -> Any:
    """Return a state with its child rows in an order of their own; the resources of a system keep
    theirs."""
    if not isinstance(state, dict):
        return state
    return {
        name: sorted(value, key=_canonical) if _are_rows(value) else value
        for name, value in state.items()
    }


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


class _DryRun(Exception):
    """Signal that a dry run has its answer, to roll its writing back."""


def model_apply(
    *,
    system_id: UUID,
    actor: User | None,
    kinds: Sequence[GivenKind[Any]],
    properties: GivenProperties | None = None,
    settings: Sequence[GivenSettings] = (),
    delete_rest: bool = False,
    within: Selector | None = None,
    change_hash: str = "",
    reason: str = "",
    dry_run: bool = False,
) -> ModelChange:
    """Create, change and delete objects until the system is as the document says.

    An object is a row's by its external id, else by its name; so a row may rename it. Members that
    a row leaves out stay. With `delete_rest` the objects of the given kinds that no row is about
    are deleted; `within` leaves out those without its label, and refuses rows without it. Kinds
    that are not given stay as they are; so do `properties` of the system itself and `settings`, of
    which `within` and `delete_rest` say nothing. A system that is not there is created.

    All of it is one edit: one transaction, one version of the model, an audit entry for each
    object. Raises ApplicationError that names up to a hundred rows, or `not_found` where the system
    is not there and the properties do not say what to create; Conflict `change_differs` where
    `change_hash` is given and the change is another (one of nothing is never); and
    PreconditionRequired where, without a dry run that somebody has seen, the system would be
    created, an object deleted, or given the label of `within`.
    """
    try:
        with one_edit():
            errors = Errors()
            begun = SystemWork.begin(system_id, properties, settings, errors)
            work = _Work(begun=begun, within=within, delete_rest=delete_rest, errors=errors)
            given = int(properties is not None) + len(settings)
            change = work.carry_out(kinds, settings, given, actor, reason)
            if dry_run:
                raise _DryRun
            _check_reviewed(change, change_hash)
    except _DryRun:
        pass
    return change


def _check_reviewed(change: ModelChange, change_hash: str) -> None:
    if not change.written:
        return
    if change_hash and change_hash != change.hash:
        raise Conflict.of_field(
            "change_hash",
            "What would change is no longer what the dry run said; read it again.",
            code="change_differs",
        )
    if change_hash:
        return
    deleted = sum(each.action == "delete" for each in change.written)
    unseen = []
    if change.created:
        unseen.append(f'creates the system "{change.system}"')
    if deleted:
        unseen.append(f"deletes {counted(deleted, 'object')}")
    if change.taken_over:
        unseen.append(f"takes {counted(change.taken_over, 'object')} of others over")
    if unseen:
        raise PreconditionRequired(
            "change_hash_required",
            f"This {' and '.join(unseen)}. Send it with `dry_run=true`, read what changes, and "
            "send it again with the `change_hash` of that answer.",
        )


@dataclass(slots=True, kw_only=True)
class _Work:
    """One document being carried out within a transaction that holds the system's lock."""

    begun: SystemWork
    within: Selector | None
    delete_rest: bool
    errors: Errors
    unchanged: dict[str, int] = field(default_factory=dict)
    done: list[Written] = field(default_factory=list)
    taken_over: int = 0

    @property
    def system(self) -> System:
        return self.begun.system

    def carry_out(
        self,
        kinds: Sequence[GivenKind[Any]],
        settings: Sequence[GivenSettings],
        members_given: int,
        actor: User | None,
        reason: str,
    ) -> ModelChange:
        """Write the objects, then what is left of the system itself, and its settings."""
        values = self._read(settings)
        self._write_objects(kinds)
        of_system = self.begun.finish(self.errors)
        self.errors.refuse()
        members = [of_system] if of_system else []
        self._advance(members)
        record_all(
            [
                system_entry(m.action, self.system, actor, reason, before=m.before, after=m.after)
                for m in members
            ]
            + [each.entry(self.system, actor, reason) for each in self.done]
        )
        for each, read in zip(settings, values, strict=True):
            written = settings_write(self.system, each, read, actor, reason)
            members += [written] if written else []
        return ModelChange(
            objects=self.done,
            members=members,
            unchanged=self.unchanged,
            unchanged_members=members_given - len(members),
            model_version=self.system.model_version,
            created=self.begun.created,
            system=self.system,
            taken_over=self.taken_over,
        )

    def _read(self, settings: Sequence[GivenSettings]) -> list[dict[str, Any]]:
        """Return the members of settings that are given. What is wrong with them or with the system
        itself is refused before any object is judged: that may be the cause."""
        if self.system._state.adding:
            self.errors.refuse()
        values = []
        for each in settings:
            try:
                values.append(each.read(each.current(self.system)))
            except ApplicationError as error:
                self.errors.add(each.given.errors(error))
        self.errors.refuse()
        return values

    def _advance(self, members: Sequence[MembersWritten]) -> None:
        """Advance the model unless nothing of it differs; a new system has its first version."""
        changed: list[Written | MembersWritten] = [*members, *self.done]
        outside = all(is_outside_model(each.before, each.after) for each in changed)
        if not self.begun.created and not outside:
            advance(self.system)
        elif changed:
            announce(self.system)

    def _write_objects(self, kinds: Sequence[GivenKind[Any]]) -> None:
        """Write each kind after those to which it refers, then delete in the opposite order.

        Where a kind has a wrong row, the kinds that refer to it are not judged: what they name may
        be what is missing.
        """
        by_model = {kind.model: kind for kind in kinds}
        order = [by_model[model] for model in in_order_of_use(by_model)]
        wrong: set[type[Entity]] = set()
        rest: list[tuple[GivenKind[Any], list[Written]]] = []
        for kind in order:
            if used_by(kind.model) & wrong:
                wrong.add(kind.model)
                continue
            before = self.errors.count
            rest.append((kind, self._write(kind)))
            if self.errors.count > before:
                wrong.add(kind.model)
        self.errors.refuse()
        for kind, doomed in reversed(rest):
            self._delete(kind, doomed)
        self.errors.refuse()

    def _write(self, kind: GivenKind[E]) -> list[Written]:
        """Write what is new or differs, and return what no row is about, if it is to be deleted, as
        it was."""
        stored = self._stored(kind)
        reader = kind.reader(self.system)
        pending: list[Pending[E]] = []
        before = self.errors.count
        self._refuse_twins(kind.rows)
        for given, row in zip(kind.rows, stored, strict=True):
            was_within = row is None or self._is_within(row)
            try:
                draft = pending_of(kind.model, self.system, given, row, reader, kind.lists)
            except ApplicationError as error:
                self.errors.add(given.errors(error))
                continue
            pending += [draft] if draft else []
            now = draft.instance if draft else row
            if now is not None and not self._is_within(now):
                message = f"Needs {self.within}: `within` says that the document has no others."
                self.errors.add([given.error("labels", message)])
            elif not was_within:
                self.taken_over += 1
        if self.errors.count > before:
            return []
        rest = self._rest(kind, [row.pk for row in stored if row]) if self.delete_rest else []
        free_names(kind.model, [each.row.pk for each in rest])
        write(pending, self.errors)
        if self.errors.count == before:
            self.done += written(pending, kind.lists)
        self.unchanged[kind.model.audited_as()] = len(kind.rows) - len(pending)
        return rest

    def _is_within(self, row: Entity) -> bool:
        return self.within is None or self.within.holds(row.labels)

    def _rest(self, kind: GivenKind[E], keys: Sequence[int]) -> list[Written]:
        """Return the deletion of each object that no row is about."""
        rows = kind.model._default_manager.filter(system=self.system).exclude(pk__in=keys)
        if self.within:
            rows = rows.filter(**self.within.lookup("labels"))
        count = rows.count()
        if count > MOST_DELETED:
            name = kind.model.audited_as()
            message = (
                f"{count:,} objects ({name}) would be deleted; {MOST_DELETED:,} at most at once."
            )
            self.errors.add([FieldError(field="delete", message=message)])
            return []
        rest = []
        for row in with_children(with_references(rows), kind.lists).order_by("name"):
            row.system = self.system
            state = entity_state(row, kind.lists)
            rest.append(Written(row=row, action="delete", before=state, after=None))
        return rest

    def _stored(self, kind: GivenKind[E]) -> list[E | None]:
        """Return the stored object of each row: first by external ids, then by the names of what is
        left."""
        names = [given.name for given in kind.rows]
        ids = [text_of(given.members.get("external_id")) for given in kind.rows]
        rows = kind.model._default_manager.filter(system=self.system).filter(
            Q(name__in=[name for name in names if name])
            | Q(external_id__in=[one for one in ids if one])
        )
        by_id: dict[str | None, E] = {}
        by_name: dict[str, E] = {}
        for row in with_children(with_references(rows), kind.lists).prefetch_related(
            *kind.prefetch
        ):
            row.system = self.system
            by_name[row.name] = row
            if row.external_id is not None:
                by_id[row.external_id] = row
        stored = [by_id.get(one) if one else None for one in ids]
        taken = {row.pk for row in stored if row}
        for index, name in enumerate(names):
            namesake = by_name.get(name)
            if stored[index] is None and namesake is not None and namesake.pk not in taken:
                stored[index] = namesake
                taken.add(namesake.pk)
        return stored

    def _refuse_twins(self, rows: Sequence[Given]) -> None:
        names: dict[str, Given] = {}
        ids: dict[str, Given] = {}
        for given in rows:
            for seen, member, value in (
                (names, "name", given.name),
                (ids, "external_id", text_of(given.members.get("external_id"))),
            ):
                first = seen.setdefault(value, given) if value else given
                if first is not given:
                    message = f'{first.place} has "{value}", too; give each object once.'
                    self.errors.add([given.error(member, message)])

    def _delete(self, kind: GivenKind[E], rest: Sequence[Written]) -> None:
        """Delete objects that nothing uses any more, and add to the errors those that are used."""
        model = kind.model
        before = self.errors.count
        objects: list[Any] = [each.row for each in rest]
        for row in objects:
            try:
                refuse_delete(row)
                kind.check_delete(row)
            except Conflict as error:
                self.errors.add([_not_deleted(row, error.message)])
        for users, column, why in _taken_along(model):
            rows = users._default_manager.filter(**{f"{column}__in": [row.pk for row in objects]})
            by_key = {row.pk: row for row in objects}
            for user in rows.order_by("pk")[:MOST_ERRORS]:
                row = by_key[getattr(user, f"{column}_id")]
                self.errors.add([_not_deleted(row, why(user))])
        if self.errors.count > before:
            return
        try:
            with integrity(str(model._meta.verbose_name), "rows"):
                model._default_manager.filter(pk__in=[row.pk for row in objects]).delete()
        except models.ProtectedError as error:
            self.errors.add(_still_used(error, objects))
            return
        self.done += rest


Users = tuple[type[models.Model], str, Callable[[Any], str]]


def _taken_along(model: type[Entity]) -> Iterator[Users]:
    """Return what the database deletes with an object of this kind: tables, the column by which,
    and what to say of a row.

    Deleting a topic takes its publishers along, and what subscribers want of it, which no document
    has said.
    """
    for other in entity_models():
        for column in _cascading(other, model):
            yield other, column, _would_stay
        for name in other.children:
            related: Any = getattr(other, name).rel
            parent = related.field.name
            for column in _cascading(related.related_model, model):
                if column != parent:
                    yield related.related_model, column, partial(_would_lose, parent)


def _cascading(table: Any, model: type[Entity]) -> list[str]:
    return [
        column.name
        for column in table._meta.concrete_fields
        if isinstance(column, models.ForeignKey)
        and column.related_model is model
        and column.remote_field.on_delete is models.CASCADE
    ]


def _would_stay(user: Entity) -> str:
    name = f"{user._meta.verbose_name} {user}"
    return f"{name} belongs to it, and would stay. Give its kind, too, or keep it."


def _would_lose(parent: str, row: models.Model) -> str:
    user = getattr(row, parent)
    name = f"{user._meta.verbose_name} {user}"
    return f"{name} has it in its {row._meta.verbose_name_plural}. Change that, too, or keep it."


def _not_deleted(row: Entity, why: str) -> FieldError:
    return FieldError(field="delete", message=f"{row._meta.verbose_name} {row}: {why}")


def _still_used(error: models.ProtectedError, objects: Sequence[E]) -> list[FieldError]:
    """Return who uses which of the objects."""
    by_key: dict[tuple[Any, Any], E] = {(type(row), row.pk): row for row in objects}
    used = []
    for user in sorted(error.protected_objects, key=str):
        for column in user._meta.concrete_fields:
            if not isinstance(column, models.ForeignKey):
                continue
            row = by_key.get((column.related_model, getattr(user, column.attname)))
            if row is not None:
                name = f"{user._meta.verbose_name} {user}"
                used.append(_not_deleted(row, f"{name} still uses it. Change that, too."))
    return used
