"""Set how long brokers keep delivered reliable messages: a setting, not a part of the model."""

from django.db import transaction

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import ApplicationError, Conflict, FieldError, check_version
from apps.common.events import publish
from apps.systems.models import LEAST_RETENTION_S, MOST_RETENTION_S, System
from apps.systems.services.edit import lock


@transaction.atomic
def retention_set(
    *,
    system: System,
    actor: User | None,
    expected_version: int,
    retention_s: int,
    confirmed: bool = False,
    reason: str = "",
) -> System:
    """Keep delivered reliable messages for so long, in force at once. Plans stay as they are.

    Raises ApplicationError outside of the bounds, Conflict for what shortens it and was not
    confirmed, PreconditionFailed when somebody changed the system meanwhile.
    """
    if not LEAST_RETENTION_S <= retention_s <= MOST_RETENTION_S:
        message = (
            f"Must be {LEAST_RETENTION_S} to {MOST_RETENTION_S} s (2 minutes to 30 days), not "
            f"{retention_s} s."
        )
        where = FieldError(field="retention_s", message=message)
        raise ApplicationError("invalid", message, errors=[where])
    row = lock(system)
    check_version(row, expected_version)
    before = row.retention_s
    if retention_s == before:
        return row
    if retention_s < before and not confirmed:
        raise Conflict(
            "confirmation_needed",
            f"Brokers of {row} forget at once what they delivered more than {retention_s} s ago: "
            "consumers that have been away for longer miss it, and what an ingress hands on again "
            "after longer may be delivered twice. Send `confirm: true` if that is what you want.",
        )
    row.retention_s = retention_s
    row.retention_version += 1
    row.version += 1
    row.save(update_fields=["retention_s", "retention_version", "version", "updated_at"])
    record(
        actor=actor,
        action="set_retention",
        object_kind="system",
        object_id=row.public_id,
        object_name=row.name,
        system_id=row.public_id,
        before={"retention_s": before},
        after={"retention_s": retention_s},
        reason=reason,
    )
    publish("system", id=row.public_id, model_version=row.model_version)
    return row
