"""Create, change and delete a system as a whole."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, transaction

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import Conflict, check_version
from apps.common.events import publish
from apps.systems.models import System
from apps.systems.selectors import SYSTEM, entity_models
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
    try:
        system.full_clean()
    except ValidationError as error:
        raise refusal(error) from error
    with integrity("system", system.name):
        system.save()
    record(
        actor=actor,
        action="create",
        object_kind=SYSTEM,
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
    """Rename or describe a system, or change its resources; an edit that changes nothing leaves no
    trace. Raises Conflict where agents know it by its name."""
    row = lock(system)
    check_version(row, expected_version)
    before: dict[str, Any] | None = {name: getattr(row, name) for name in values}
    if before == dict(values):
        return row
    refuse_system_rename(row, str(values.get("name", row.name)))
    _check_resources_unused(row, set(row.resources) - set(values.get("resources", row.resources)))
    for name, value in values.items():
        setattr(row, name, value)
    try:
        row.full_clean()
    except ValidationError as error:
        raise refusal(error) from error
    row.version += 1
    with integrity("system", row.name):
        row.save()
    before, after = difference(before, {name: getattr(row, name) for name in values})
    outside = is_outside_model(before, after)
    if outside:
        announce(row)
    else:
        advance(row)
    record(
        actor=actor,
        action="update",
        object_kind=SYSTEM,
        object_id=row.public_id,
        object_name=row.name,
        system_id=row.public_id,
        model_version=None if outside else row.model_version,
        before=before,
        after=after,
        reason=reason,
    )
    return row


def _check_resources_unused(system: System, removed: set[str]) -> None:
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
