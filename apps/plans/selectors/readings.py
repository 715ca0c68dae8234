"""Present plans as a caller sees them at one moment: what holds now, and what they may do about
it."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.accounts.selectors import AccountControl, account_control
from apps.executions.models import Execution
from apps.executions.selectors import executions_counted, in_force
from apps.plans.domain.envelope import Measured
from apps.plans.models import Approval, Plan, PlanEvent
from apps.plans.selectors.approvals import allowed_commands, counted_approvals, invalid_because
from apps.plans.selectors.checks import Check, checks, measured_envelope
from apps.plans.selectors.history import Asked, history
from apps.plans.selectors.hurt import Hurt, hurt_of, limited_now
from apps.plans.selectors.overload import roll_back_overload
from apps.plans.selectors.presentation import Change, LeftOut, changes, left_out, step_rows
from apps.plans.selectors.rules import Ruling, rulings
from apps.plans.selectors.staleness import (
    MOVED,
    changed_at,
    moved_sentences,
    state_now,
    with_state_now,
)
from apps.plans.selectors.versions import with_version
from apps.plans.selectors.waits import Waits, waits_of
from weir import actions
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.plans import UNSETTLED, PlanState


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Identify the caller: the person behind the request and what the request may do."""

    person: User | None
    permissions: frozenset[Permission]

    @cached_property
    def control(self) -> AccountControl | None:
        """Return who controls the person's account; read for reviewers only, once for all plans of
        a page."""
        if self.person is None or Permission.REVIEW_PLAN not in self.permissions:
            return None
        return account_control(self.person.pk)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Describe the progress of an execution."""

    id: uuid.UUID
    state: str
    actions_done: int
    actions_total: int
    actions_to_undo: int
    """The number of actions of its rollback; 0 until it has one."""
    actions_undone: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Describe a plan in a list."""

    plan: Plan
    version: int
    updated_at: datetime
    state: str
    author: str | None
    author_id: uuid.UUID | None
    answerable: str | None
    answerable_id: uuid.UUID | None
    run: uuid.UUID | None
    run_name: str | None
    approvals_given: int
    approvals_needed: int
    stale_because: str
    superseded_by: uuid.UUID | None
    superseded_by_name: str | None
    execution: Progress | None
    allowed_commands: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionReading:
    """Describe a decision and whether it holds."""

    person: str
    decision: str
    comment: str
    at: datetime
    valid: bool
    invalid_because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Hold who accepts that the plan loads more than a capacity, and why."""

    person: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailReading(Reading):
    """Describe a plan as a reviewer reads it."""

    would_overload: str
    accepted_overload: Acceptance | None
    roll_back_overload: str
    steps: list[dict[str, Any]]
    changes: list[Change]
    left_out: list[LeftOut]
    checks: list[Check]
    hurt: Hurt | None
    """Whom it disconnects of those who are connected now; None: it has begun, or is settled."""
    waits: Waits | None
    """What its gates do to what publishers send now; None: it has begun, or is settled."""
    approvals: list[DecisionReading]
    policy: Ruling
    envelope: list[Measured]
    events: list[PlanEvent | Asked]
    executions: list[Execution]


def plan_rows() -> QuerySet[Plan]:
    """Return the plans with everything a reading needs, but their documents.

    Annotated: `state_now`, `version`, and `name` as people write it.
    """
    rows = with_state_now(
        Plan.objects.select_related(
            *("system", "author", "submitted_by", "answerable", "run", "superseded_by"),
            "execution",
        )
        # Few plans have an overload that somebody accepted: where none has, this asks nothing.
        .prefetch_related("approvals__person", "accepted_overload_by")
        .defer("document")
        .annotate(name=Concat(Value("P-"), Cast("number", CharField())))
    )
    return with_version(rows)


def plan_readings(plans: Sequence[Plan], caller: Caller) -> list[Reading]:
    """Return the plans of one page; how many queries this takes does not depend on how many they
    are."""
    now = timezone.now()
    ruled, moved, progress = rulings(list(plans), now), moved_sentences(plans), _progress(plans)
    return [
        Reading(**_common(plan, caller, now, ruled[plan.pk], moved, progress)) for plan in plans
    ]


def plan_reading(plan: Plan, caller: Caller) -> DetailReading:
    """Return one plan with its steps, checks and history."""
    now = timezone.now()
    ruling = rulings([plan], now)[plan.pk]
    moved, progress = moved_sentences([plan]), _progress([plan])
    state = state_now(plan)
    looked = checks(plan, ruling, now) if state in UNSETTLED else []
    overload = next((check.overload for check in looked if check.overload), "")
    inverse = actions.inverse_steps(plan.content.steps)
    return DetailReading(
        **_common(plan, caller, now, ruling, moved, progress, overload, bool(inverse)),
        would_overload=overload,
        accepted_overload=_acceptance(plan),
        roll_back_overload=roll_back_overload(plan) if state == PlanState.EXECUTED else "",
        steps=step_rows(plan.content),
        changes=changes(plan.content, limited_now(plan) if state in UNSETTLED else {}),
        left_out=left_out(plan.content),
        checks=looked,
        hurt=hurt_of(plan, in_force(plan.system)) if state in UNSETTLED else None,
        waits=waits_of(plan) if state in UNSETTLED else None,
        approvals=[_decision(plan, approval, now) for approval in plan.approvals.all()],
        policy=ruling,
        envelope=measured_envelope(plan),
        events=history(plan),
        executions=[plan.execution] if plan.execution else [],
    )


def _common(
    plan: Plan,
    caller: Caller,
    now: datetime,
    ruling: Ruling,
    moved: dict[int, str],
    progress: dict[int, Progress],
    overload: str = "",
    has_inverse: bool = True,
) -> dict[str, Any]:
    given, needed = counted_approvals(plan, now, needed=ruling.approvals_needed)
    return {
        "plan": plan,
        "version": getattr(plan, "version"),  # noqa: B009
        "updated_at": changed_at(plan),
        "state": state_now(plan).value,
        "author": plan.author.display_name if plan.author else None,
        "author_id": plan.author.public_id if plan.author else None,
        "answerable_id": plan.answerable.public_id if plan.answerable else None,
        "answerable": plan.answerable.display_name if plan.answerable else None,
        "run": plan.run.public_id if plan.run else None,
        "run_name": str(plan.run) if plan.run else None,
        "approvals_given": given,
        "approvals_needed": needed,
        "stale_because": _stale_because(plan, moved, progress),
        "superseded_by": plan.superseded_by.public_id if plan.superseded_by else None,
        "superseded_by_name": str(plan.superseded_by) if plan.superseded_by else None,
        "execution": progress.get(plan.pk),
        "allowed_commands": allowed_commands(
            plan,
            person=caller.person,
            permissions=caller.permissions,
            control=caller.control,
            now=now,
            overload=overload,
            has_inverse=has_inverse,
        ),
    }


def _stale_because(plan: Plan, moved: dict[int, str], progress: dict[int, Progress]) -> str:
    """Return why it is stale. An execution that had failed or was stopped may be rolled back
    later."""
    said = moved.get(plan.pk, plan.stale_because)
    execution = progress.get(plan.pk)
    if said and execution is not None and "was rolled back" not in said:
        if execution.state == ExecutionState.ROLLING_BACK:
            said += " The execution is being rolled back."
        elif execution.state == ExecutionState.ROLLED_BACK:
            said += " The execution was rolled back since."
    return said


def _acceptance(plan: Plan) -> Acceptance | None:
    if plan.accepted_overload_by is None or plan.accepted_overload_at is None:
        return None
    return Acceptance(
        person=plan.accepted_overload_by.display_name,
        at=plan.accepted_overload_at,
        reason=plan.accepted_overload,
    )


def _decision(plan: Plan, approval: Any, now: datetime) -> DecisionReading:
    because = invalid_because(approval, plan, now)
    return DecisionReading(
        person=approval.person.display_name if approval.person else "Weir",
        decision=approval.decision,
        comment=approval.comment,
        at=approval.at,
        valid=not because,
        invalid_because=because,
    )


def _progress(plans: Sequence[Plan]) -> dict[int, Progress]:
    """Return how far the execution of each plan is, one query for all of them; the key is the
    plan's."""
    of = {plan.execution_id: plan.pk for plan in plans if plan.execution_id is not None}
    if not of:
        return {}
    counted: Iterable[Any] = executions_counted().filter(pk__in=list(of))
    return {
        of[row.pk]: Progress(
            id=row.public_id,
            state=row.state,
            actions_done=row.actions_done,
            actions_total=row.actions_total,
            actions_to_undo=row.actions_to_undo,
            actions_undone=row.actions_undone,
        )
        for row in counted
    }


def waiting_for(plans: QuerySet[Plan], person: User, now: datetime) -> QuerySet[Plan]:
    """Return the plans in review that this person may still decide about."""
    control = account_control(person.pk)
    not_for = [person.pk, *control.makers, *control.controlled]
    decided = Approval.objects.filter(
        plan=OuterRef("pk"),
        person__in=[person.pk, *control.same_person],
        ended_at=None,
        expires_at__gt=now,
    )
    return plans.filter(
        ~Exists(decided),
        ~Q(author__in=not_for) | Q(author=None),
        ~Q(submitted_by__in=not_for) | Q(submitted_by=None),
        ~Q(answerable__in=not_for) | Q(answerable=None),
        ~Q(shaped_by__overlap=not_for),
        ~MOVED,
        state=PlanState.PENDING_REVIEW.value,
    )
