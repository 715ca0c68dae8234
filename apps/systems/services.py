"""Edit what belongs to a system: one transaction, a new model version, an audit entry."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, models, transaction

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import ApplicationError, Conflict, FieldError, PreconditionFailed
from apps.common.events import publish
from apps.systems.models import Entity, System
from apps.systems.selectors import entity_state

E = TypeVar("E", bound=Entity)
Children = Mapping[str, Sequence[Mapping[str, Any]]]


def _field_of(name: str, error: ValidationError) -> str:
    """The field to blame; of a pair that must be unique in its system the other one."""
    if name != NON_FIELD_ERRORS:
        return name
    pair = (error.params or {}).get("unique_check", ())
    return next((part for part in pair if part != "system"), "")


def _field_errors(error: ValidationError) -> list[FieldError]:
    if hasattr(error, "error_dict"):
        return [
            FieldError(field=_field_of(name, single), message=message)
            for name, errors in error.error_dict.items()
            for single in errors
            for message in single.messages
        ]
    return [FieldError(field="", message=message) for message in error.messages]


def _refuse(error: ValidationError) -> ApplicationError:
    errors = _field_errors(error)
    first = errors[0]
    detail = f"{first.field}: {first.message}" if first.field else first.message
    return ApplicationError("invalid", detail, errors=errors)


@contextmanager
def _integrity(kind: str, name: str) -> Iterator[None]:
    """Name the constraint that the database says was broken."""
    try:
        with transaction.atomic():
            yield
            # Deferred checks (an overlay must be a tree) speak now, while we can still name them.
            with transaction.get_connection().cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    except models.ProtectedError:
        # Also an IntegrityError, but Django's own: it knows who still refers to the row.
        raise
    except IntegrityError as error:
        diagnosis = getattr(error.__cause__, "diag", None)
        constraint = getattr(diagnosis, "constraint_name", None) or "integrity"
        message = getattr(diagnosis, "message_primary", None) or str(error)
        raise Conflict(
            "constraint_violated", f"{kind} {name}: {message}", violated_constraint=constraint
        ) from error


def _lock(system: System) -> System:
    """The system's row, locked: edits of one system happen one after another."""
    return System.objects.select_for_update().get(pk=system.pk)


_in_one_edit: ContextVar[set[int] | None] = ContextVar("in_one_edit", default=None)


@contextmanager
def one_edit() -> Iterator[None]:
    """Everything inside is one edit: one transaction, and one new model version per system."""
    advanced: set[int] = set()
    token = _in_one_edit.set(advanced)
    try:
        with transaction.atomic():
            yield
    finally:
        _in_one_edit.reset(token)


def _advance(system: System) -> int:
    advanced = _in_one_edit.get()
    if advanced is not None:
        if system.pk in advanced:
            return system.model_version
        advanced.add(system.pk)
    system.model_version += 1
    system.save(update_fields=["model_version", "updated_at"])
    publish("system", id=system.public_id, model_version=system.model_version)
    return system.model_version


def _replace_children(instance: Entity, children: Children) -> None:
    for name, rows in children.items():
        related: Any = getattr(instance, name)
        model = related.model
        parent = related.field.name
        identity = instance.children[name]
        seen: set[tuple[Any, ...]] = set()
        fresh = []
        for index, row in enumerate(rows):
            key = tuple(row.get(part) for part in identity)
            if key in seen:
                what = ", ".join(str(part) for part in key)
                message = f"{what} is named twice."
                raise ApplicationError(
                    "invalid",
                    f"{name}[{index}]: {message}",
                    errors=[FieldError(field=f"{name}[{index}]", message=message)],
                )
            seen.add(key)
            child = model(**{parent: instance}, **row)
            try:
                child.clean_fields(exclude=[parent])
                child.validate_constraints(exclude=[parent])
            except ValidationError as error:
                first = _field_errors(error)[0]
                field = f"{name}[{index}]" + (f".{first.field}" if first.field else "")
                raise ApplicationError(
                    "invalid",
                    f"{field}: {first.message}",
                    errors=[FieldError(field=field, message=first.message)],
                ) from error
            fresh.append(child)
        related.all().delete()
        model.objects.bulk_create(fresh)


def _save(instance: Entity, children: Children) -> None:
    # The database can only name a constraint; Django, asked first, names the field.
    try:
        instance.full_clean(validate_unique=True)
    except ValidationError as error:
        raise _refuse(error) from error
    kind = str(instance._meta.verbose_name)
    with _integrity(kind, instance.name):
        instance.save()
        _replace_children(instance, children)


def _changed(
    before: dict[str, Any] | None, after: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Only what differs, when both sides exist."""
    if before is None or after is None:
        return before, after
    names = [name for name in after if before.get(name) != after[name]]
    return {n: before.get(n) for n in names}, {n: after[n] for n in names}


def _record(
    action: str, instance: Entity, system: System, actor: User | None, reason: str, **states: Any
) -> None:
    before, after = _changed(states.get("before"), states.get("after"))
    record(
        actor=actor,
        action=action,
        object_kind=str(instance._meta.verbose_name).replace(" ", "_"),
        object_id=instance.public_id,
        object_name=instance.name,
        system_id=system.public_id,
        model_version=system.model_version,
        before=before,
        after=after,
        reason=reason,
    )


@transaction.atomic
def entity_create(
    *,
    model: type[E],
    system: System,
    actor: User | None,
    values: Mapping[str, Any],
    children: Children | None = None,
    reason: str = "",
) -> E:
    """Add an object to a system. Raises ApplicationError naming the field or the constraint."""
    locked = _lock(system)
    instance = model(system=locked, **values)
    _save(instance, children or {})
    _advance(locked)
    fresh = model._default_manager.get(pk=instance.pk)
    _record("create", fresh, locked, actor, reason, after=entity_state(fresh))
    return fresh


@transaction.atomic
def entity_update(
    *,
    instance: E,
    actor: User | None,
    expected_version: int,
    values: Mapping[str, Any],
    children: Children | None = None,
    reason: str = "",
) -> E:
    """Change an object. Raises PreconditionFailed when somebody else changed it meanwhile."""
    locked = _lock(instance.system)
    row = _latest(instance, expected_version)
    before = entity_state(row)
    for name, value in values.items():
        setattr(row, name, value)
    row.version += 1
    _save(row, children or {})
    _advance(locked)
    fresh = type(instance)._default_manager.get(pk=row.pk)
    _record("update", fresh, locked, actor, reason, before=before, after=entity_state(fresh))
    return fresh


@dataclass(slots=True)
class Change(Generic[E]):
    """A locked row being changed, and what the record shall say of it."""

    row: E
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)


@contextmanager
def entity_change(instance: E, *, actor: User | None, reason: str) -> Iterator[Change[E]]:
    """One edit of an object's rows by our own hand: the caller writes, we lock, check, record.

    For changes that nobody typed into a form, so there is no version to compare; the caller fills
    in `before` and `after`. Raises Conflict naming the constraint that was broken.
    """
    with transaction.atomic():
        locked = _lock(instance.system)
        row = type(instance)._default_manager.select_for_update().get(pk=instance.pk)
        row.system = locked
        change = Change(row)
        with _integrity(str(row._meta.verbose_name), row.name):
            yield change
            row.version += 1
            row.save(update_fields=["version", "updated_at"])
        _advance(locked)
        states = {"before": change.before, "after": change.after}
        _record("update", row, locked, actor, reason, **states)


@transaction.atomic
def entity_delete(
    *, instance: Entity, actor: User | None, expected_version: int, reason: str = ""
) -> None:
    """Delete an object. Raises Conflict naming what still refers to it."""
    locked = _lock(instance.system)
    row = _latest(instance, expected_version)
    before = entity_state(row)
    try:
        with _integrity(str(row._meta.verbose_name), row.name):
            type(row)._default_manager.filter(pk=row.pk).delete()
    except models.ProtectedError as error:
        users = sorted({f"{o._meta.verbose_name} {o}" for o in error.protected_objects})
        shown = ", ".join(users[:3]) + (f" and {len(users) - 3} more" if len(users) > 3 else "")
        raise Conflict(
            "still_in_use",
            f"{row._meta.verbose_name} {row} is still used by {shown}. Change those first.",
        ) from error
    _advance(locked)
    _record("delete", row, locked, actor, reason, before=before)


def _latest(instance: E, expected_version: int) -> E:
    row = type(instance)._default_manager.select_for_update().filter(pk=instance.pk).first()
    if row is None:
        raise PreconditionFailed("gone", f"{instance} was deleted meanwhile. Reload the list.")
    if row.version != expected_version:
        raise PreconditionFailed(
            "version_mismatch",
            f"{row} was changed meanwhile: you edit version {expected_version}, "
            f"the latest is {row.version}. Reload and apply your change again.",
        )
    return row


@transaction.atomic
def system_create(*, actor: User | None, values: Mapping[str, Any], reason: str = "") -> System:
    """Add a system to manage."""
    system = System(**values)
    try:
        system.full_clean()
    except ValidationError as error:
        raise _refuse(error) from error
    with _integrity("system", system.name):
        system.save()
    record(
        actor=actor,
        action="create",
        object_kind="system",
        object_id=system.public_id,
        object_name=system.name,
        system_id=system.public_id,
        model_version=system.model_version,
        after=dict(values),
        reason=reason,
    )
    publish("system", id=system.public_id, model_version=system.model_version)
    return system


@transaction.atomic
def system_update(
    *,
    system: System,
    actor: User | None,
    expected_version: int,
    values: Mapping[str, Any],
    reason: str = "",
) -> System:
    """Rename or describe a system, or change its resources."""
    row = _lock(system)
    if row.version != expected_version:
        raise PreconditionFailed(
            "version_mismatch", f"{row} was changed meanwhile (version {row.version}). Reload."
        )
    before: dict[str, Any] | None = {name: getattr(row, name) for name in values}
    _check_resources_unused(row, set(row.resources) - set(values.get("resources", row.resources)))
    for name, value in values.items():
        setattr(row, name, value)
    try:
        row.full_clean()
    except ValidationError as error:
        raise _refuse(error) from error
    row.version += 1
    with _integrity("system", row.name):
        row.save()
    _advance(row)
    before, after = _changed(before, {name: getattr(row, name) for name in values})
    record(
        actor=actor,
        action="update",
        object_kind="system",
        object_id=row.public_id,
        object_name=row.name,
        system_id=row.public_id,
        model_version=row.model_version,
        before=before,
        after=after,
        reason=reason,
    )
    return row


def _check_resources_unused(system: System, removed: set[str]) -> None:
    """A resource that capacities or costs still name cannot be taken away."""
    for model in _entity_models() if removed else []:
        for name in model.children:
            rows: Any = model._meta.get_field(name)
            child = rows.related_model
            if not any(field.name == "resource" for field in child._meta.concrete_fields):
                continue
            parent = rows.field.name
            used = child._default_manager.filter(
                **{f"{parent}__system": system}, resource__in=sorted(removed)
            ).first()
            if used is not None:
                message = (
                    f'"{used.resource}" is still used by {getattr(used, parent)}; remove it there.'
                )
                raise Conflict(
                    "still_in_use",
                    f"resources: {message}",
                    errors=[FieldError(field="resources", message=message)],
                )


@transaction.atomic
def system_delete(
    *, system: System, actor: User | None, expected_version: int, reason: str = ""
) -> None:
    """Delete a system with everything in it; the audit entries stay."""
    row = _lock(system)
    if row.version != expected_version:
        raise PreconditionFailed(
            "version_mismatch", f"{row} was changed meanwhile (version {row.version}). Reload."
        )
    record(
        actor=actor,
        action="delete",
        object_kind="system",
        object_id=row.public_id,
        object_name=row.name,
        system_id=row.public_id,
        model_version=row.model_version,
        before={"name": row.name, "product": row.product},
        reason=reason,
    )
    _delete_contents(row)
    row.delete()
    publish("system", id=row.public_id, model_version=None)


def _delete_contents(system: System) -> None:
    """Delete a system's objects, users before what they use, so that no PROTECT objects."""
    remaining = [m for m in _entity_models() if m._default_manager.filter(system=system).exists()]
    while remaining:
        blocked = []
        for model in remaining:
            try:
                with transaction.atomic():
                    model._default_manager.filter(system=system).delete()
            except models.ProtectedError:
                blocked.append(model)
        if len(blocked) == len(remaining):
            raise Conflict("still_in_use", f"{system} cannot be emptied: {blocked[0].__name__}.")
        remaining = blocked


def _entity_models() -> list[type[Entity]]:
    from django.apps import apps

    return [model for model in apps.get_models() if issubclass(model, Entity)]
