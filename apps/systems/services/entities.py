"""Create, change and delete one object of a system."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.db import models, transaction

from apps.accounts.models import User
from apps.audit.services import record_all
from apps.common.errors import Conflict, PreconditionFailed, check_version
from apps.systems.models import Entity, System
from apps.systems.selectors import entity_state, with_references
from apps.systems.services.edit import advance, announce, entry_of, is_outside_model, lock
from apps.systems.services.in_force import refuse_delete, refuse_rename
from apps.systems.services.save import Children, integrity, save

E = TypeVar("E", bound=Entity)


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
    locked = lock(system)
    instance = model(system=locked, **values)
    save(instance, children or {}, new=True)
    advance(locked)
    fresh = with_references(model._default_manager.all()).get(pk=instance.pk)
    record_all([entry_of("create", fresh, locked, actor, reason, after=entity_state(fresh))])
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
    """Change an object; an edit that changes nothing leaves no trace.

    Raises PreconditionFailed when somebody else changed it meanwhile, Conflict `in_force` where it
    would contradict what agents were told.
    """
    locked = lock(instance.system)
    row = _latest(instance, expected_version)
    row.system = locked
    before = entity_state(row)
    refuse_rename(row, str(values.get("name", row.name)))
    for name, value in values.items():
        setattr(row, name, value)
    row.version += 1
    try:
        with transaction.atomic():
            save(row, children or {})
            fresh = with_references(type(instance)._default_manager.all()).get(pk=row.pk)
            after = entity_state(fresh)
            if after == before:
                raise _NothingChanged
    except _NothingChanged:
        return with_references(type(instance)._default_manager.all()).get(pk=row.pk)
    if is_outside_model(before, after):
        announce(locked, type(fresh))
    else:
        advance(locked)
    record_all([entry_of("update", fresh, locked, actor, reason, before=before, after=after)])
    return fresh


class _NothingChanged(Exception):
    """Signal that an edit equals the stored object, to roll the writing back."""


@dataclass(slots=True)
class Change(Generic[E]):
    """Hold a locked row that is being changed, and what its audit entry should say."""

    row: E
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)


@contextmanager
def entity_change(instance: E, *, actor: User | None, reason: str) -> Iterator[Change[E]]:
    """Edit an object's rows programmatically: the caller writes, this locks, checks and records.

    It is for changes without a form, so there is no version to compare; the caller fills
    in `before` and `after`. Raises Conflict naming the constraint that was broken.
    """
    with transaction.atomic():
        locked = lock(instance.system)
        row = type(instance)._default_manager.select_for_update().get(pk=instance.pk)
        row.system = locked
        change = Change(row)
        with integrity(str(row._meta.verbose_name), row.name):
            yield change
            row.version += 1
            row.save(update_fields=["version", "updated_at"])
        advance(locked, type(row))
        states = {"before": change.before, "after": change.after}
        record_all([entry_of("update", row, locked, actor, reason, **states)])


@transaction.atomic
def entity_delete(
    *, instance: Entity, actor: User | None, expected_version: int, reason: str = ""
) -> None:
    """Delete an object. Raises Conflict naming what still refers to it or is in force there."""
    locked = lock(instance.system)
    row = _latest(instance, expected_version)
    refuse_delete(row)
    before = entity_state(row)
    try:
        with integrity(str(row._meta.verbose_name), row.name):
            type(row)._default_manager.filter(pk=row.pk).delete()
    except models.ProtectedError as error:
        users = sorted({f"{o._meta.verbose_name} {o}" for o in error.protected_objects})
        shown = ", ".join(users[:3]) + (f" and {len(users) - 3} more" if len(users) > 3 else "")
        raise Conflict(
            "still_in_use",
            f"{row._meta.verbose_name} {row} is still used by {shown}. Change those first.",
        ) from error
    advance(locked)
    record_all([entry_of("delete", row, locked, actor, reason, before=before)])


def _latest(instance: E, expected_version: int) -> E:
    row = type(instance)._default_manager.select_for_update().filter(pk=instance.pk).first()
    if row is None:
        raise PreconditionFailed("gone", f"{instance} was deleted meanwhile. Reload the list.")
    check_version(row, expected_version)
    return row
