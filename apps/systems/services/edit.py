"""Run every edit of a system with its lock, one new model version, and an audit entry."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import connection, transaction

from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.audit.services import entry
from apps.common.events import publish
from apps.systems.models import Entity, System
from apps.systems.selectors import OUTSIDE_MODEL


def lock(system: System) -> System:
    """Lock the system's row, so that edits of one system happen one after another.

    Without its key: who holds other rows, and only refers to the system, need not wait for it.
    """
    return System.objects.select_for_update(no_key=True).get(pk=system.pk)


def keep(system_id: int) -> bool:
    """Keep a system from being deleted until the transaction ends; return False where it is gone.

    Constraints are checked at the commit. Who adds to a system what may be in no edit of its model
    says so at the beginning, so that a deletion waits, or is over by then.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM systems_system WHERE id = %s FOR KEY SHARE", [system_id])
        return cursor.fetchone() is not None


_in_one_edit: ContextVar[set[int] | None] = ContextVar("in_one_edit", default=None)


@contextmanager
def one_edit() -> Iterator[None]:
    """Make everything inside one edit: one transaction, and one new model version per system.
    Within another edit it is a part of that one."""
    outer = _in_one_edit.get()
    # What is rolled back inside has advanced nothing outside.
    advanced = set() if outer is None else set(outer)
    token = _in_one_edit.set(advanced)
    try:
        with transaction.atomic():
            yield
    finally:
        _in_one_edit.reset(token)
    if outer is not None:
        outer |= advanced


def advance(system: System, changed: type[Entity] | None = None) -> int:
    """Advance the model version. `changed` is the only kind of object that this edit touches, for
    browsers that read it again; a batch names none."""
    advanced = _in_one_edit.get()
    if advanced is not None:
        if system.pk in advanced:
            return system.model_version
        advanced.add(system.pk)
    system.model_version += 1
    system.save(update_fields=["model_version", "updated_at"])
    announce(system, changed)
    return system.model_version


def announce(system: System, changed: type[Entity] | None = None) -> None:
    """Let browsers read objects again; `changed` as for `advance`."""
    in_batch = _in_one_edit.get() is not None
    only = {} if changed is None or in_batch else {"only": changed._meta.model_name}
    publish("system", id=system.public_id, model_version=system.model_version, **only)


def is_outside_model(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    """Return whether only members differ on which no computation depends."""
    if before is None or after is None:
        return False
    return all(before.get(name) == after[name] for name in after if name not in OUTSIDE_MODEL)


def difference(
    before: dict[str, Any] | None, after: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return only the members that differ, when both sides exist."""
    if before is None or after is None:
        return before, after
    names = [name for name in after if before.get(name) != after[name]]
    return {n: before.get(n) for n in names}, {n: after[n] for n in names}


def entry_of(
    action: str, instance: Entity, system: System, actor: User | None, reason: str, **states: Any
) -> AuditEntry:
    """Return the audit entry of an edit of an object; `states` holds `before`, `after` or both.

    It names a version of the model where the edit is one of the model.
    """
    before, after = difference(states.get("before"), states.get("after"))
    outside = is_outside_model(before, after)
    return entry(
        actor=actor,
        action=action,
        object_kind=instance.audited_as(),
        object_id=instance.public_id,
        object_name=instance.name,
        system_id=system.public_id,
        model_version=None if outside else system.model_version,
        before=before,
        after=after,
        reason=reason,
    )
