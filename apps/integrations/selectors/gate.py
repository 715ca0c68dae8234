"""Decide whether a plan's change allows that it is executed, and its system deleted."""

from datetime import datetime, timedelta

from django.utils import timezone

from apps.common.formatting import counted
from apps.executions.models import Execution
from apps.integrations.domain.contract import Approval
from apps.integrations.models import Change, Connection
from apps.plans.models import Plan
from apps.plans.selectors.checks import FAIL, PASS, WARN, Check
from apps.systems.models import System
from weir.lifecycle.changes import ChangeState
from weir.lifecycle.plans import PlanState

NAME = "change_approved"
NOT_APPROVED, OUTSIDE_WINDOW = "change_not_approved", "outside_change_window"
OLDEST = timedelta(minutes=5)
"""What was read of a change longer ago says nothing about now: approvals are taken back, too."""


def connection_of(plan: Plan) -> Connection | None:
    """Return where plans of this system open their changes."""
    return Connection.objects.filter(connected__system=plan.system_id, enabled=True).first()


def change_of(plan: Plan) -> Change | None:
    """Return the plan's latest change."""
    return plan.changes.select_related("connection", "plan").order_by("-id").first()


def asks(connection: Connection | None) -> bool:
    """Return whether plans of its systems wait for their changes."""
    return connection is not None and (connection.approval_needed or connection.window_from_change)


def change_check(plan: Plan, now: datetime) -> Check | None:
    """Check the plan's change; None where the system's plans wait for none."""
    connection = connection_of(plan)
    if connection is None or not asks(connection):
        return None
    title = f"Its change in {connection} allows it"
    change = change_of(plan)
    if plan.state == PlanState.DRAFT:
        detail = "opened when the plan is sent for review"
        return Check(name=NAME, title=title, state=WARN, detail=detail)
    code, detail = refusal(plan, connection, change, now)
    if code:
        return Check(name=NAME, title=title, state=FAIL, detail=detail, refusal=code)
    return Check(name=NAME, title=title, state=PASS, detail=detail)


def resume_refusal(execution: Execution) -> tuple[str, str]:
    """Return code and sentence of what keeps a paused execution from going on; no code: nothing.

    An execution goes by the change that it was begun under, wherever its system is connected now.
    """
    plan = Plan.objects.filter(execution=execution).defer("document").first()
    change = change_of(plan) if plan is not None else None
    if plan is None or change is None or not change.connection.enabled:
        return "", ""
    if not asks(change.connection):
        return "", ""
    return refusal(plan, change.connection, change, timezone.now())


def deletion_refusal(system: System) -> str:
    """Return what keeps a system from being deleted; empty: nothing does. What waits to be sent
    for its plans would be lost."""
    rows = Change.objects.filter(plan__system=system, connection__enabled=True)
    names = list(rows.exclude(state=ChangeState.CLOSED).values_list("connection__name", flat=True))
    if not names:
        return ""
    where = " and ".join(sorted(set(names)))
    return (
        f"{counted(len(names), 'change', 'changes')} of its plans in {where} "
        f"{'is' if len(names) == 1 else 'are'} not closed. Wait until nothing is, or disable the "
        "connection: then what waits to be sent is dropped."
    )


def refusal(
    plan: Plan, connection: Connection, change: Change | None, now: datetime
) -> tuple[str, str]:
    """Return the code and the sentence of the refusal; no code where there is none."""
    ended = (ChangeState.ENDING, ChangeState.CLOSED)
    if change is None or change.state in ended or change.connection_id != connection.pk:
        return NOT_APPROVED, f"The change of {plan} in {connection} is not opened yet."
    if change.state == ChangeState.OPENING:
        waiting = change.messages.filter(sent_at=None).order_by("id").first()
        problem = (waiting.problem if waiting else "") or change.connection.problem
        return NOT_APPROVED, f"{change} is not opened yet. {problem}".rstrip()
    state = f"state {change.state_there or 'not read yet'}"
    if connection.approval_needed and change.approval == Approval.REFUSED:
        return NOT_APPROVED, f"{change} was not approved ({state})."
    if change.over_there:
        return NOT_APPROVED, f"{change} was ended there ({state})."
    if connection.approval_needed and change.approval != Approval.APPROVED:
        return NOT_APPROVED, f"{change} is not approved yet ({state})."
    if change.looked_at is None or change.looked_at < now - OLDEST:
        problem = change.problem or change.connection.problem or "Look at the connection."
        return NOT_APPROVED, f"{change} has not been read for long ({state}). {problem}"
    if connection.window_from_change and not _inside(change, now):
        return OUTSIDE_WINDOW, (
            f"{change} is planned from {_time(change.starts_at)} to {_time(change.ends_at)}."
        )
    return "", f"{change}, {state}"


def _inside(change: Change, now: datetime) -> bool:
    return not (
        change.starts_at is None
        or change.ends_at is None
        or now < change.starts_at
        or now > change.ends_at
    )


def _time(moment: datetime | None) -> str:
    return "no time" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"
