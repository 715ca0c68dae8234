"""Make and change settings that have one row per system; each change has a version, an audit entry
and news."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models, transaction

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import ApplicationError, check_version
from apps.common.events import publish
from apps.systems.models import System

S = TypeVar("S", bound=models.Model)


def row_for(model: type[S], system: System) -> S:
    """Return the system's row; made on demand, under the id that reads gave it before it was
    there."""
    row, _ = model._default_manager.select_related("system").get_or_create(
        system=system, defaults={"public_id": system.public_id}
    )
    return row


def settings_kind(model: type[models.Model]) -> str:
    """Return the kind of object under which the audit record has edits of these settings."""
    return str(model._meta.verbose_name).replace(" ", "_")


@transaction.atomic
def row_update(
    *,
    settings: S,
    topic: str,
    actor: User | None,
    expected_version: int,
    values: Mapping[str, Any],
    reason: str = "",
) -> S:
    """Change the given members, and publish it to browsers under this topic. Raises
    PreconditionFailed, or ApplicationError naming the field."""
    model = type(settings)
    given: Any = settings
    row: Any = (
        model._default_manager.select_for_update(of=("self",))
        .select_related("system")
        .get(pk=given.pk or row_for(model, given.system).pk)
    )
    check_version(row, expected_version, f"The {row}")
    before = {name: getattr(row, name) for name in values}
    for name, value in values.items():
        setattr(row, name, value)
    row.version += 1
    try:
        row.full_clean()
    except ValidationError as error:
        named = next(iter(error.message_dict))
        field = next(iter(values), "") if named == NON_FIELD_ERRORS else named
        message = "; ".join(error.messages)
        raise ApplicationError.of_field(field, message, detail=message) from error
    row.save()
    record(
        actor=actor,
        action="update",
        object_kind=settings_kind(model),
        object_id=row.public_id,
        object_name=str(row),
        system_id=row.system.public_id,
        model_version=row.system.model_version,
        before=before,
        after=dict(values),
        reason=reason,
    )
    publish(topic, system=row.system.public_id)
    changed: S = row
    return changed
