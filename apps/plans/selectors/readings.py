"""Plans as a caller sees them at one moment: what holds now, and what they may do about it."""

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
from apps.accounts.selectors import Hands, hands_of
from apps.executions.models import Execution
from apps.executions.selectors import executions_counted
from apps.plans.models import Approval, Plan, PlanEvent
from apps.plans.selectors.approvals import invalid_because, valid_approvals
from apps.plans.selectors.checks import Check, checks
from apps.plans.selectors.commands import allowed_commands
from apps.plans.selectors.envelope import Measured, measured_envelope
from apps.plans.selectors.presentation import Change, LeftOut, changes, left_out, step_rows
from apps.plans.selectors.rules import Ruling, rulings
from apps.plans.selectors.staleness import MOVED, moved_sentences, state_now, with_state_now
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.plans import UNSETTLED, PlanState


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who asks: the person behind the request and what the request may do."""

    person: User | None
    permissions: frozenset[Permission]

    @cached_property
    def hands(self) -> Hands | None:
        """In whose hands the person is; read for reviewers only, once for all plans of a page."""
        if self.person is None or Permission.REVIEW_PLAN not in self.permissions:
            return None
        return hands_of(self.person.pk)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an execution is."""

    id: uuid.UUID
    state: str
    actions_done: int
    actions_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A plan in a list."""

    plan: Plan
    state: str
    author: str | None
    answerable: str | None
    run: uuid.UUID | None
    run_name: str | None
    approvals_given: int
    approvals_needed: int
    stale_because: str
    superseded_by: uuid.UUID | None
    execution: Progress | None
    allowed_commands: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionReading:
    """A decision and whether it holds."""

    person: str
    decision: str
    comment: str
    at: datetime
    valid: bool
    invalid_because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailReading(Reading):
    """A plan as a reviewer reads it."""

    steps: list[dict[str, Any]]
    changes: list[Change]
    left_out: list[LeftOut]
    checks: list[Check]
    approvals: list[DecisionReading]
    policy: Ruling
    envelope: list[Measured]
    events: list[PlanEvent]
    executions: list[Execution]


def plan_rows() -> QuerySet[Plan]:
    """Plans with everything a reading needs, but their documents.

    Annotated: `state_now`, and `name` as people write it.
    """
    return with_state_now(
        Plan.objects.select_related(
            "system", "author", "submitted_by", "answerable", "run", "superseded_by", "execution"
        )
        .prefetch_related("approvals__person")
        .defer("document")
        .annotate(name=Concat(Value("P-"), Cast("number", CharField())))
    )


def plan_readings(plans: Sequence[Plan], caller: Caller) -> list[Reading]:
    """The plans of one page; how many queries this takes does not depend on how many they are."""
    now = timezone.now()
    ruled, moved, progress = rulings(list(plans), now), moved_sentences(plans), _progress(plans)
    return [
        Reading(**_common(plan, caller, now, ruled[plan.pk], moved, progress)) for plan in plans
    ]


def plan_reading(plan: Plan, caller: Caller) -> DetailReading:
    """One plan with its steps, checks and history."""
    now = timezone.now()
    ruling = rulings([plan], now)[plan.pk]
    moved, progress = moved_sentences([plan]), _progress([plan])
    return DetailReading(
        **_common(plan, caller, now, ruling, moved, progress),
        steps=step_rows(plan.content),
        changes=changes(plan.content),
        left_out=left_out(plan.content),
        checks=checks(plan, ruling, now) if state_now(plan) in UNSETTLED else [],
        approvals=[_decision(plan, approval, now) for approval in plan.approvals.all()],
        policy=ruling,
        envelope=measured_envelope(plan),
        events=list(plan.events.all()),
        executions=[plan.execution] if plan.execution else [],
    )


def _common(
    plan: Plan,
    caller: Caller,
    now: datetime,
    ruling: Ruling,
    moved: dict[int, str],
    progress: dict[int, Progress],
) -> dict[str, Any]:
    return {
        "plan": plan,
        "state": state_now(plan).value,
        "author": plan.author.display_name if plan.author else None,
        "answerable": plan.answerable.display_name if plan.answerable else None,
        "run": plan.run.public_id if plan.run else None,
        "run_name": str(plan.run) if plan.run else None,
        "approvals_given": len(valid_approvals(plan, now)),
        "approvals_needed": ruling.approvals_needed,
        "stale_because": _stale_because(plan, moved, progress),
        "superseded_by": plan.superseded_by.public_id if plan.superseded_by else None,
        "execution": progress.get(plan.pk),
        "allowed_commands": allowed_commands(
            plan,
            person=caller.person,
            permissions=caller.permissions,
            hands=caller.hands,
            now=now,
        ),
    }


def _stale_because(plan: Plan, moved: dict[int, str], progress: dict[int, Progress]) -> str:
    """Why it is stale. An execution that had failed or was stopped may be rolled back later."""
    said = moved.get(plan.pk, plan.stale_because)
    execution = progress.get(plan.pk)
    if said and execution is not None and "was rolled back" not in said:
        if execution.state == ExecutionState.ROLLING_BACK:
            said += " The execution is being rolled back."
        elif execution.state == ExecutionState.ROLLED_BACK:
            said += " The execution was rolled back since."
    return said


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
    """How far the execution of each plan is, one query for all of them; the key is the plan's."""
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
        )
        for row in counted
    }


def waiting_for(plans: QuerySet[Plan], person: User, now: datetime) -> QuerySet[Plan]:
    """Plans in review that this person may still decide about."""
    hands = hands_of(person.pk)
    not_for = [person.pk, *hands.makers, *hands.held]
    decided = Approval.objects.filter(
        plan=OuterRef("pk"),
        person__in=[person.pk, *hands.one_pair_of_eyes],
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
