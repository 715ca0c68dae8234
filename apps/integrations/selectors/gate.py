"""Decide whether a plan's change allows that it is executed."""

from datetime import datetime, timedelta

from apps.integrations.domain.contract import Approval
from apps.integrations.models import Change, Connection
from apps.plans.models import Plan
from apps.plans.selectors.checks import FAIL, PASS, WARN, Check
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


def change_check(plan: Plan, now: datetime) -> Check | None:
    """Check the plan's change; None where the system's plans wait for none."""
    connection = connection_of(plan)
    if connection is None or not (connection.approval_needed or connection.window_from_change):
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


def refusal(
    plan: Plan, connection: Connection, change: Change | None, now: datetime
) -> tuple[str, str]:
    """Return the code and the sentence of the refusal; no code where there is none."""
    if change is None or change.state in (ChangeState.ENDING, ChangeState.CLOSED):
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
        problem = change.connection.problem or "Look at the connection."
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
