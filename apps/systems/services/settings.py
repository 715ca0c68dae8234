"""Set what is in force at a system's brokers at once: settings, not a part of the model."""

from django.db import transaction

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import ApplicationError, Conflict, check_version
from apps.common.events import publish
from apps.systems.models import LEAST_RETENTION_S, MOST_RETENTION_S, System, UnmanagedAccess
from apps.systems.services.edit import lock

OPENNESS = (UnmanagedAccess.REFUSE, UnmanagedAccess.REPORT, UnmanagedAccess.ALLOW)
"""The settings from the strictest to the most open."""
CONSEQUENCES = {
    UnmanagedAccess.REFUSE: "clients that name no consumer class are turned away",
    UnmanagedAccess.REPORT: "anybody who reaches a broker may use subjects of their own there, and "
    "is named on the broker's page",
    UnmanagedAccess.ALLOW: "anybody who reaches a broker may use subjects of their own there, and "
    "nobody is told who does",
}


@transaction.atomic
def unmanaged_set(
    *,
    system: System,
    actor: User | None,
    expected_version: int,
    unmanaged: str,
    confirmed: bool = False,
    reason: str = "",
) -> System:
    """Refuse, report or allow clients of no class, in force at once. Plans stay as they are.

    Raises Conflict for what opens the brokers and was not confirmed, PreconditionFailed when
    somebody changed the system meanwhile.
    """
    row = lock(system)
    check_version(row, expected_version)
    wanted, before = UnmanagedAccess(unmanaged), UnmanagedAccess(row.unmanaged)
    if wanted == before:
        return row
    if OPENNESS.index(wanted) > OPENNESS.index(before) and not confirmed:
        raise Conflict(
            "confirmation_needed",
            f"This opens the brokers of {row}: {CONSEQUENCES[wanted]}. Send `confirm: true` if "
            "that is what you want.",
        )
    row.unmanaged = wanted
    row.access_version += 1
    row.version += 1
    row.save(update_fields=["unmanaged", "access_version", "version", "updated_at"])
    record(
        actor=actor,
        action="set_access",
        object_kind="system",
        object_id=row.public_id,
        object_name=row.name,
        system_id=row.public_id,
        before={"unmanaged": before.value},
        after={"unmanaged": wanted.value},
        reason=reason,
    )
    publish("system", id=row.public_id, model_version=row.model_version)
    return row


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
        raise ApplicationError.of_field("retention_s", message, detail=message)
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
