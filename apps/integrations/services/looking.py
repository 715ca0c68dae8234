"""Read how changes stand at the other side, while plans wait for them."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.common.events import publish
from apps.integrations.domain.contract import Approval, Status
from apps.integrations.models import Change, Connection
from apps.plans.services.transitions import lock_plan, tell
from weir.lifecycle.changes import ChangeState
from weir.lifecycle.plans import PlanState

EVERY = timedelta(seconds=10)
"""How long a state that was read counts as the present one."""

WAITING = (PlanState.PENDING_REVIEW.value, PlanState.APPROVED.value)
DECIDED = {
    Approval.APPROVED: ("change_approved", "{} was approved"),
    Approval.REFUSED: ("change_refused", "{} was not approved"),
    Approval.WAITING: ("change_waits", "{} waits for approval again"),
}


def needs_look(connection: Connection, now: datetime) -> QuerySet[Change]:
    """Return the open changes of waiting plans that were not looked at lately, longest ago
    first."""
    return (
        Change.objects.filter(
            Q(looked_at=None) | Q(looked_at__lte=now - EVERY),
            connection=connection,
            state=ChangeState.OPEN,
            plan__state__in=WAITING,
        )
        .select_related("plan", "plan__system")
        .order_by("looked_at", "id")
    )


def status_store(change: Change, status: Status) -> None:
    """Store how a change stands; a new decision is written into the history of its plan."""
    with transaction.atomic():
        plan = lock_plan(change.plan)
        row = Change.objects.select_for_update().get(pk=change.pk)
        news = (row.approval, row.state_there, row.over_there)
        decided = row.approval != status.approval
        row.approval, row.state_there = status.approval.value, status.state[:100]
        row.over_there, row.looked_at = status.over, timezone.now()
        row.starts_at, row.ends_at = status.starts_at, status.ends_at
        row.save()
        if decided:
            command, title = DECIDED[status.approval]
            where = f"{row.connection}: state {status.state}"
            tell(plan, command, actor=None, title=title.format(f"change {row.number}"), note=where)
        if news != (row.approval, row.state_there, row.over_there):
            publish("change", plan=plan.public_id, system=plan.system.public_id)
