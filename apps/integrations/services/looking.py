"""Read how changes stand at the other side, while plans wait for them."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from apps.common.events import publish
from apps.integrations.domain.contract import Approval, Status
from apps.integrations.models import Change, Connection
from apps.integrations.services.exchanges import fitting
from apps.plans.services.transitions import lock_plan, tell
from weir.lifecycle.changes import ChangeState
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.plans import PlanState

EVERY = timedelta(seconds=10)
"""How long a state that was read counts as the present one."""

WAITING = (PlanState.PENDING_REVIEW.value, PlanState.APPROVED.value)
PAUSED = (ExecutionState.PAUSING.value, ExecutionState.PAUSED.value)
DECIDED = {
    Approval.APPROVED: ("change_approved", "{} was approved"),
    Approval.REFUSED: ("change_refused", "{} was not approved"),
    Approval.WAITING: ("change_waits", "{} waits for approval again"),
}


def needs_look(connection: Connection, now: datetime) -> QuerySet[Change]:
    """Return the open changes that are waited for and were not looked at lately, longest ago
    first: those of plans in review, and of executions that somebody may resume."""
    return (
        Change.objects.filter(
            Q(looked_at=None) | Q(looked_at__lte=now - EVERY),
            Q(next_look_at=None) | Q(next_look_at__lte=now),
            Q(plan__state__in=WAITING)
            | Q(plan__state=PlanState.EXECUTING, plan__execution__state__in=PAUSED),
            connection=connection,
            state=ChangeState.OPEN,
        )
        .select_related("plan", "plan__system")
        .order_by(F("looked_at").asc(nulls_first=True), "id")
    )


def look_put_off(change: Change, pause: timedelta, problem: str = "") -> None:
    """Note why a change cannot be read, and when that is tried again; the others go on."""
    failures = change.look_failures + 1 if problem else 0
    Change.objects.filter(pk=change.pk).update(
        problem=problem, look_failures=failures, next_look_at=timezone.now() + pause
    )
    if problem != change.problem:
        publish("change", plan=change.plan.public_id, system=change.plan.system.public_id)


def status_store(change: Change, status: Status, check: Callable[[], None]) -> None:
    """Store how a change stands; a new decision is written into the history of its plan.

    `check` raises where what was read counts no more.
    """
    with transaction.atomic():
        plan = lock_plan(change.plan)
        row = Change.objects.select_for_update().get(pk=change.pk)
        check()
        news = (row.approval, row.state_there, row.over_there, row.problem)
        decided = row.approval != status.approval
        row.approval, row.over_there = status.approval.value, status.over
        row.state_there = fitting(Change, state_there=status.state)["state_there"]
        row.starts_at, row.ends_at = status.starts_at, status.ends_at
        row.looked_at, row.next_look_at = timezone.now(), None
        row.problem, row.look_failures = "", 0
        row.save()
        if decided:
            command, title = DECIDED[status.approval]
            where = f"{row.connection}: state {row.state_there}"
            tell(plan, command, actor=None, title=title.format(f"change {row.number}"), note=where)
        if news != (row.approval, row.state_there, row.over_there, row.problem):
            publish("change", plan=plan.public_id, system=plan.system.public_id)
