"""Adopt the model as what is in force, before any agent could receive it."""

from django.db import transaction

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import Conflict
from apps.executions.models import Setting
from apps.executions.selectors.modelled import STRUCTURE, asked_by_model
from apps.systems.models import System


@transaction.atomic
def model_adopt(*, system: System, actor: User | None, reason: str) -> int:
    """Put the flows and classes of the model in force as they are, with one audit entry.

    For a system that is loaded whole. It changes no agent's document, because there is no agent:
    raises Conflict `agents_are_enrolled` where there is one, and `already_in_force` where
    something is in force. Returns how many settings came into force.
    """
    locked = System.objects.select_for_update().get(pk=system.pk)
    if locked.agents.exists():
        raise Conflict(
            "agents_are_enrolled",
            f"{locked} has agents: what they enforce changes by a plan only. "
            "Make a plan of the model and carry it out.",
        )
    if Setting.objects.filter(system=locked, kind__in=STRUCTURE, in_force__isnull=False).exists():
        raise Conflict(
            "already_in_force",
            f"Something of {locked} is in force already: further changes are made by a plan.",
        )
    rows = [
        Setting(
            system=locked,
            kind=asked.kind,
            target=dict(asked.target),
            target_key=asked.key[1],
            in_force=dict(asked.value),
            desired=dict(asked.value),
        )
        for asked in asked_by_model(locked).values()
    ]
    Setting.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["system", "kind", "target_key"],
        update_fields=["in_force", "desired", "updated_at"],
    )
    record(
        actor=actor,
        action="adopt",
        object_kind="system",
        object_id=locked.public_id,
        object_name=locked.name,
        system_id=locked.public_id,
        model_version=locked.model_version,
        after={"settings": len(rows)},
        reason=reason,
    )
    return len(rows)
