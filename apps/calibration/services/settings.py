"""Create and change a system's calibration settings; each change is audited."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from apps.accounts.models import User
from apps.audit.services import record
from apps.calibration.models import CalibrationSettings
from apps.common.errors import ApplicationError, check_version
from apps.common.events import publish
from apps.systems.models import System


def settings_for(system: System) -> CalibrationSettings:
    """Return the system's row; made on demand, under the id that reads gave it before it was
    there."""
    row, _ = CalibrationSettings.objects.select_related("system").get_or_create(
        system=system, defaults={"public_id": system.public_id}
    )
    return row


@transaction.atomic
def settings_update(
    *,
    settings: CalibrationSettings,
    actor: User | None,
    expected_version: int,
    values: Mapping[str, Any],
    reason: str = "",
) -> CalibrationSettings:
    """Change the given members. Raises PreconditionFailed, or ApplicationError naming the field."""
    row = (
        CalibrationSettings.objects.select_for_update(of=("self",))
        .select_related("system")
        .get(pk=settings.pk or settings_for(settings.system).pk)
    )
    check_version(row, expected_version, f"The {row}")
    before = {name: getattr(row, name) for name in values}
    for name, value in values.items():
        setattr(row, name, value)
    row.version += 1
    try:
        row.full_clean()
    except ValidationError as error:
        message = "; ".join(error.messages)
        field = next(iter(values), "")
        raise ApplicationError.of_field(field, message, detail=message) from error
    row.save()
    record(
        actor=actor,
        action="update",
        object_kind="calibration_settings",
        object_id=row.public_id,
        object_name=str(row),
        system_id=row.system.public_id,
        model_version=row.system.model_version,
        before=before,
        after=dict(values),
        reason=reason,
    )
    publish("calibration", system=row.system.public_id)
    return row
