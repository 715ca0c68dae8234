"""Work out what plans and executions wait for."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.executions.models import ACTIVE_NAMES, ActionReport, Execution, ExecutionAction
from apps.executions.selectors import waiting_for
from apps.executions.services.decide import Outcome, decisions_allowed
from apps.inbox.domain.items import Cause, ItemKind, named
from apps.integrations.selectors.connections import change_refusals
from apps.plans.models import CAME_BACK_NAMES, Decision, Plan
from apps.plans.selectors.approvals import valid_approvals
from apps.plans.selectors.rules import rulings
from apps.telemetry.selectors import systems_ahead
from weir.actions import title
from weir.coordination.wire import ReportPhase
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.plans import PlanState
from weir.lifecycle.steps import ActionState

REMEMBERED = timedelta(days=7)
"""How long what failed, was rejected or went stale is shown when nothing follows it."""

ANSWERS_WITHIN = timedelta(seconds=60)
"""How long a broker may take to answer before a person is called to decide without it."""


def of_plans(now: datetime) -> Iterator[Cause]:
    """Yield plans that wait for a review or for their execution, and what came back to authors."""
    plans = list(
        _readable(Plan.objects.filter(state__in=[PlanState.PENDING_REVIEW, PlanState.APPROVED]))
    )
    approved = [plan for plan in plans if plan.state == PlanState.APPROVED]
    obstacles = _obstacles(approved, now)
    for plan in plans:
        if plan.state == PlanState.APPROVED:
            yield _to_execute(plan, obstacles.get(plan.pk, ""), now)
        else:
            yield _to_review(plan)
    for plan in _came_back(now):
        rejected = plan.state == PlanState.REJECTED
        kind = ItemKind.PLAN_REJECTED if rejected else ItemKind.PLAN_STALE
        because = _rejection(plan) if rejected else plan.stale_because
        yield _of_plan(
            kind,
            plan,
            f"{plan} {'was rejected' if rejected else 'is stale'}",
            because,
            plan.updated_at,
            person=_owner(plan),
        )


def of_executions(now: datetime) -> Iterator[Cause]:
    """Yield executions that do not go on, or failed and nothing was executed since."""
    stuck = list(_stuck(now))
    yield from stuck
    called = {cause.about for cause in stuck}
    for row in Execution.objects.filter(state__in=ACTIVE_NAMES).order_by("id"):
        if str(row.public_id) in called:
            continue
        if row.state == ExecutionState.PAUSED and row.held:
            yield _of_execution(
                ItemKind.EXECUTION_HELD,
                row,
                "waits for its window",
                row.hold_because,
                row.hold_at or row.updated_at,
            )
        elif row.state == ExecutionState.PAUSED:
            yield _of_execution(
                ItemKind.EXECUTION_PAUSED,
                row,
                "is paused",
                "It was paused by hand; resume it, stop it or roll it back.",
                row.updated_at,
                waits=True,
            )
    for row in _last_failed(now):
        yield _of_execution(
            ItemKind.EXECUTION_FAILED, row, "failed", row.failure, row.ended_at or row.updated_at
        )


def _readable(plans: QuerySet[Plan]) -> QuerySet[Plan]:
    return (
        plans.select_related("system", "author", "execution")
        .prefetch_related("approvals__person")
        .defer("document", "blast_radius")
        .order_by("id")
    )


def _came_back(now: datetime) -> QuerySet[Plan]:
    """Return plans that ended without being carried out and that no later one replaces."""
    later = Plan.objects.filter(
        system=OuterRef("system"), kind=OuterRef("kind"), id__gt=OuterRef("id")
    ).exclude(state=PlanState.DISCARDED)
    ended = Plan.objects.filter(
        ~Exists(later),
        state__in=CAME_BACK_NAMES,
        execution=None,
        updated_at__gt=now - REMEMBERED,
    )
    return _readable(ended)


def _owner(plan: Plan) -> int | None:
    """Return who has to hear of a plan that came back: of what a schedule made, who set that up."""
    if plan.answerable_id is not None:
        return plan.answerable_id
    made_by_person = plan.author is not None and not plan.author.automatic
    return plan.author_id if made_by_person else plan.submitted_by_id


def _to_review(plan: Plan) -> Cause:
    author = plan.author.display_name if plan.author else "Weir"
    return _of_plan(
        ItemKind.PLAN_TO_REVIEW,
        plan,
        f"{plan} waits for review",
        f"{plan.title}, by {author}.",
        plan.waiting_since or plan.created_at,
        waits=True,
    )


def _to_execute(plan: Plan, obstacle: str, now: datetime) -> Cause:
    approved_at = max((one.at for one in valid_approvals(plan, now)), default=plan.updated_at)
    return _of_plan(
        ItemKind.PLAN_TO_EXECUTE,
        plan,
        f"{plan} is approved",
        f"{plan.title}. {obstacle or 'It waits for somebody to execute it.'}",
        approved_at,
        waits=not obstacle,
    )


def _obstacles(plans: list[Plan], now: datetime) -> dict[int, str]:
    """Return what keeps approved plans from being executed now, as far as it is not for operators
    to end: a closed window, a change elsewhere, another execution, a restored database; and what
    Weir carries out by itself."""
    systems = {plan.system_id for plan in plans}
    busy = dict(
        Execution.objects.filter(system__in=systems, state__in=ACTIVE_NAMES).values_list(
            "system_id", "subject_name"
        )
    )
    ahead = systems_ahead() & systems
    ruled, refused = rulings(plans, now), change_refusals(plans, now)
    obstacles: dict[int, str] = {}
    for plan in plans:
        if plan.system_id in ahead:
            obstacles[plan.pk] = "Its system waits until the restored database is adopted."
        elif not ruled[plan.pk].window_open:
            obstacles[plan.pk] = ruled[plan.pk].window_text
        elif plan.pk in refused:
            obstacles[plan.pk] = refused[plan.pk]
        elif plan.system_id in busy:
            obstacles[plan.pk] = f"{busy[plan.system_id]} is being carried out."
        elif plan.by_itself:
            obstacles[plan.pk] = "Weir carries it out by itself."
    return obstacles


def _rejection(plan: Plan) -> str:
    rejections = [one for one in plan.approvals.all() if one.decision == Decision.REJECT]
    if not rejections:
        return ""
    last = rejections[-1]
    return f"{last.person.display_name if last.person else 'Weir'}: {last.comment}"


def _last_failed(now: datetime) -> QuerySet[Execution]:
    later = Execution.objects.filter(system=OuterRef("system"), id__gt=OuterRef("id"))
    return Execution.objects.filter(
        ~Exists(later), state=ExecutionState.FAILED, ended_at__gt=now - REMEMBERED
    ).order_by("id")


def _stuck(now: datetime) -> Iterator[Cause]:
    """Yield executions with actions that need a person's decision: a broker has not answered for a
    while, or brokers contradict each other, whatever has become of the execution since."""
    unanswered = Q(
        state=ActionState.COMMITTED,
        moved_at__lte=now - ANSWERS_WITHIN,
        step__execution__state__in=ACTIVE_NAMES,
    )
    by_hand = ActionReport.objects.filter(
        action=OuterRef("pk"), phase=ReportPhase.RELEASED, attempt=OuterRef("attempt")
    ).exclude(by_hand="")
    actions = (
        ExecutionAction.objects.filter(unanswered | (Q(state=ActionState.DEAD) & Exists(by_hand)))
        .select_related("step__execution")
        .prefetch_related("reports")
        .order_by("id")
    )
    by_execution: dict[Execution, list[tuple[ExecutionAction, str, list[str]]]] = defaultdict(list)
    for action in actions:
        brokers = waiting_for(action)
        allowed = decisions_allowed(action, action.reports.all(), brokers)
        decisions = {one.outcome for one in allowed}
        text = ""
        if Outcome.BURY in decisions:
            text = f"no answer from {named(brokers)}; say whether to wait on."
        elif Outcome.COMMIT in decisions:
            text = "some brokers made the change, some released it; say what shall be."
        if text:
            text = f"{title(action.action)}: {text}"
            by_execution[action.step.execution].append((action, text, brokers))
    for execution, rows in by_execution.items():
        first, text, _ = rows[0]
        yield _of_execution(
            ItemKind.EXECUTION_STUCK,
            execution,
            "is stuck",
            text,
            first.moved_at or execution.updated_at,
            waits=True,
            members=tuple(sorted({broker for _, _, brokers in rows for broker in brokers})),
        )


def _of_plan(
    kind: ItemKind,
    plan: Plan,
    heading: str,
    detail: str,
    since: datetime,
    *,
    waits: bool = False,
    person: int | None = None,
) -> Cause:
    return Cause(
        kind=kind,
        about=str(plan.public_id),
        title=heading,
        detail=detail,
        page=f"/plans/{plan.public_id}",
        since=since,
        waits=waits,
        system=plan.system_id,
        person=person,
    )


def _of_execution(
    kind: ItemKind,
    row: Execution,
    what: str,
    detail: str,
    since: datetime,
    *,
    waits: bool = False,
    members: tuple[str, ...] = (),
) -> Cause:
    return Cause(
        kind=kind,
        about=str(row.public_id),
        title=f"{row.subject_name} {what}",
        detail=f"{row.subject_title}. {detail}" if row.subject_title else detail,
        page=f"/plans/{row.subject_id}",
        since=since,
        waits=waits,
        system=row.system_id,
        members=members,
    )
