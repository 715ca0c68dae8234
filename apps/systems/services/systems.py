"""Create, change and delete a system as a whole."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, transaction

from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.audit.services import entry, record
from apps.common.errors import Conflict, check_version
from apps.common.events import publish
from apps.systems.models import System
from apps.systems.selectors import SYSTEM, entity_models, properties_of
from apps.systems.services.edit import (
    advance,
    announce,
    difference,
    is_outside_model,
    lock,
)
from apps.systems.services.in_force import refuse_system_delete, refuse_system_rename
from apps.systems.services.save import integrity, refusal


@transaction.atomic
def system_create(*, actor: User | None, values: Mapping[str, Any], reason: str = "") -> System:
    """Add a system to manage."""
    system = System(**values)
    properties_check(system)
    with integrity("system", system.name):
        system.save()
    system_entry("create", system, actor, reason, after=dict(values)).save(force_insert=True)
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
    """Rename or describe a system, or change its resources; an edit that changes nothing leaves no
    trace. Raises Conflict where agents know it by its name."""
    row = lock(system)
    check_version(row, expected_version)
    former = properties_of(row)
    removed = set(row.resources) - set(values.get("resources", row.resources))
    check_resources_unused(row, removed)
    if not properties_change(row, values):
        return row
    with integrity("system", row.name):
        row.save()
    before, after = difference(former, properties_of(row))
    if is_outside_model(before, after):
        announce(row)
    else:
        advance(row)
    system_entry("update", row, actor, reason, before=before, after=after).save(force_insert=True)
    return row


def properties_change(system: System, values: Mapping[str, Any]) -> bool:
    """Give a locked system other properties, unsaved; return whether one differs. Raises
    ApplicationError naming the property, Conflict where agents know it by its name."""
    if all(getattr(system, name) == value for name, value in values.items()):
        return False
    refuse_system_rename(system, str(values.get("name", system.name)))
    for name, value in values.items():
        setattr(system, name, value)
    properties_check(system)
    system.version += 1
    return True


def properties_check(system: System) -> None:
    """Check each property, and that no other system has its name or an id of it. Raises
    ApplicationError naming the property."""
    try:
        system.full_clean()
    except ValidationError as error:
        raise refusal(error) from error


def system_entry(
    action: str, system: System, actor: User | None, reason: str, **states: Any
) -> AuditEntry:
    """Return the audit entry of an edit of a system itself; `states` holds `before`, `after` or
    both. It names a version of the model where the edit is one of the model."""
    outside = is_outside_model(states.get("before"), states.get("after"))
    return entry(
        actor=actor,
        action=action,
        object_kind=SYSTEM,
        object_id=system.public_id,
        object_name=system.name,
        system_id=system.public_id,
        model_version=None if outside else system.model_version,
        reason=reason,
        **states,
    )


def check_resources_unused(system: System, removed: set[str]) -> None:
    """Refuse to remove a resource that capacities or costs still name."""
    for model in entity_models() if removed else []:
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
                raise Conflict.of_field("resources", message, code="still_in_use")


@transaction.atomic
def system_delete(
    *, system: System, actor: User | None, expected_version: int, reason: str = ""
) -> None:
    """Delete a system with everything in it; the audit entries stay.

    Raises Conflict while an agent is enrolled, an execution runs or a plan is under way.
    """
    row = lock(system)
    check_version(row, expected_version)
    refuse_system_delete(row)
    # With its key: who adds what hangs on the system has done so by now, or finds it gone.
    System.objects.select_for_update().get(pk=row.pk)
    record(
        actor=actor,
        action="delete",
        object_kind=SYSTEM,
        object_id=row.public_id,
        object_name=row.name,
        system_id=row.public_id,
        model_version=row.model_version,
        # The plans are deleted with the system; the audit record keeps what was executed.
        before={
            "name": row.name,
            "external_id": row.external_id,
            "labels": row.labels,
            "product": row.product,
            "plans": _plans(row),
        },
        reason=reason,
    )
    _delete_contents(row)
    row.delete()
    publish("system", id=row.public_id, model_version=None)


def _plans(system: System) -> list[dict[str, str]]:
    rows = system.plans.exclude(execution=None).order_by("id")
    return [
        {"name": str(row), "title": row.title, "state": row.state, "hash": row.content_hash}
        for row in rows.defer("document")
    ]


def _delete_contents(system: System) -> None:
    """Delete a system's objects, users before what they use, so that no PROTECT stops it."""
    remaining = [m for m in entity_models() if m._default_manager.filter(system=system).exists()]
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
