"""Update plans without anybody's command: time, edits of the model, ended executions.

`settle_row` runs under the row's lock, before every command and in the coordinator's tick. It is
idempotent: a second time nothing is left to do.
"""

import logging
from datetime import datetime

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.common.formatting import counted
from apps.plans.models import UNSETTLED_NAMES, Approval, Decision, Plan
from apps.plans.selectors.approvals import enough, no_longer_counting, to_end, valid_approvals
from apps.plans.selectors.rules import Ruling, ruling_of, rulings
from apps.plans.selectors.staleness import demand_moved, has_moved, moved_because
from apps.plans.selectors.versions import EXPIRE, LOSE
from apps.plans.services.transitions import go_stale, lock_plan, move, tell
from weir.lifecycle.executions import ACTIVE, ExecutionState
from weir.lifecycle.plans import PlanCommand, PlanState

logger = logging.getLogger(__name__)
ENDED_LENGTH = Approval._meta.get_field("ended_because").max_length
REVIEWED = frozenset({PlanState.PENDING_REVIEW, PlanState.APPROVED})
ENDED_AS = {
    ExecutionState.FAILED: "failed",
    ExecutionState.STOPPED: "was stopped",
    ExecutionState.ROLLED_BACK: "was rolled back",
}


def plans_settle() -> int:
    """Run one tick of the coordinator: settle every plan that is due. Returns how many were."""
    now = timezone.now()
    plans = list(
        Plan.objects.filter(state__in=[*UNSETTLED_NAMES, PlanState.EXECUTING])
        .select_related("system", "execution")
        .prefetch_related("approvals__person")
        .defer("document")
        .order_by("id")
    )
    ruled = rulings(plans, now)
    drifted = demand_moved(plans, {pk: ruling.terms for pk, ruling in ruled.items()})
    due = [plan for plan in plans if plan.pk in drifted or _is_due(plan, ruled[plan.pk], now)]
    for plan in due:
        try:
            with transaction.atomic():
                settle_row(lock_plan(plan), now)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One plan that cannot be settled must not keep the others from it.
            logger.exception("%s of %s cannot be settled", plan, plan.system)
    return len(due)


def _is_due(plan: Plan, ruling: Ruling, now: datetime) -> bool:
    state = PlanState(plan.state)
    if state == PlanState.EXECUTING:
        return plan.execution is not None and plan.execution.state not in ACTIVE
    if has_moved(plan):
        return True
    if state not in REVIEWED:
        return False
    settled = enough(plan, ruling, now) == (state == PlanState.APPROVED)
    by_itself = state == PlanState.PENDING_REVIEW and bool(ruling.approves_by_itself)
    return not settled or by_itself or bool(to_end(plan, now))


def settle_for_execution(row: Plan, now: datetime) -> None:
    """Settle with the reviewers' accounts locked: nobody loses a role before this commits."""
    list(
        User.objects.select_for_update(no_key=True)
        .filter(pk__in=row.approvals.filter(ended_at=None).values("person"))
        .order_by("pk")
    )
    settle_row(row, now)


def settle_row(row: Plan, now: datetime) -> None:
    """Update a locked row by its execution, the model, its approvals and the policy."""
    if row.state == PlanState.EXECUTING:
        _follow_execution(row)
    if row.state not in UNSETTLED_NAMES:
        return
    if has_moved(row):
        go_stale(row, moved_because(row))
        return
    ruling = ruling_of(row, now)
    drifted = demand_moved([row], {row.pk: ruling.terms})
    if drifted:
        go_stale(row, drifted[row.pk])
        return
    if row.state in REVIEWED:
        _end_approvals(row, now)
        if row.state == PlanState.APPROVED and not enough(row, ruling, now):
            move(
                row,
                PlanCommand.LAPSE,
                actor=None,
                title="asks for a review again",
                note=_lapse_note(row, ruling, now),
                waiting_since=now,
                expires_at=None,
            )
        if row.state == PlanState.PENDING_REVIEW:
            approve_by_policy(row, now)
        if row.state == PlanState.PENDING_REVIEW and enough(row, ruling, now):
            _approve(row, now, actor=None, note=f"The policy asks for {ruling.approvals_needed}.")


def _lapse_note(row: Plan, ruling: Ruling, now: datetime) -> str:
    given = len(valid_approvals(row, now))
    needed = counted(ruling.approvals_needed, "approval")
    held = f"{given} of the {needed} that the policy asks for {'holds' if given == 1 else 'hold'}."
    return " ".join([held, *no_longer_counting(row)])


def _follow_execution(row: Plan) -> None:
    execution = row.execution
    if execution is None or execution.state in ACTIVE:
        return
    if execution.state == ExecutionState.SUCCEEDED:
        move(row, PlanCommand.FINISH, actor=None, title="finished it", note=f"{execution}")
        return
    because = f"{execution} {ENDED_AS[ExecutionState(execution.state)]}"
    if execution.failure:
        because += f": {execution.failure.rstrip('.')}"
    move(
        row,
        PlanCommand.BREAK_OFF,
        actor=None,
        title="ended the plan",
        note=f"{because}. What is in force may no longer be what the plan starts from: "
        "look at the execution, then make a new plan.",
    )


def _end_approvals(row: Plan, now: datetime) -> None:
    """End approvals that ran out or that people lost, for good: a role that comes back revives
    nothing."""
    for approval, because in to_end(row, now):
        approval.ended_at = now
        approval.ended_because = because[:ENDED_LENGTH]
        approval.save(update_fields=["ended_at", "ended_because", "updated_at"])
        who = approval.person.display_name if approval.person else "Weir"
        if approval.expires_at is not None and approval.expires_at <= now:
            tell(row, EXPIRE, actor=None, title=f"let the approval of {who} expire")
        else:
            tell(row, LOSE, actor=None, title=f"ended the approval of {who}", note=because)


def approve_by_policy(row: Plan, now: datetime) -> None:
    """Approve a plan in review as Weir itself where the system's policy says that it may."""
    ruling = ruling_of(row, now)
    if not ruling.approves_by_itself or enough(row, ruling, now):
        return
    Approval.objects.create(
        plan=row,
        person=None,
        decision=Decision.APPROVE,
        comment=ruling.approves_by_itself,
        content_hash=row.content_hash,
        model_version=row.model_version,
        expires_at=ruling.approval_ends_at,
    )
    _approve(row, now, actor=None, note=ruling.approves_by_itself)


def approve_if_enough(row: Plan, now: datetime, *, actor: User, note: str) -> None:
    """Approve after the last approval that was needed, or let the plan go on waiting."""
    ruling = ruling_of(row, now)
    if enough(row, ruling, now):
        _approve(row, now, actor=actor, note=note)
        return
    row.expires_at = _first_end(row, now)
    row.save(update_fields=["expires_at", "updated_at"])
    given = len(valid_approvals(row, now))
    title = f"approved it, {given} of {ruling.approvals_needed}"
    tell(row, PlanCommand.APPROVE.value, actor=actor, title=title, note=note)


def _approve(row: Plan, now: datetime, *, actor: User | None, note: str) -> None:
    move(
        row,
        PlanCommand.APPROVE,
        actor=actor,
        title="approved it",
        note=note,
        waiting_since=None,
        expires_at=_first_end(row, now),
    )


def _first_end(row: Plan, now: datetime) -> datetime | None:
    ends = [approval.expires_at for approval in valid_approvals(row, now) if approval.expires_at]
    return min(ends, default=None)
