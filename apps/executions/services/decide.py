"""Let a person decide the outcome of an action that waits, where it is safe or the risk is
named."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import models, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.common.errors import ApplicationError, Conflict
from apps.common.events import publish
from apps.executions.models import ActionReport, Execution, ExecutionAction
from apps.executions.selectors import waiting_for
from apps.executions.services.advance import execution_advance
from apps.executions.services.apply import Applier
from apps.executions.services.documents import revision_bump
from apps.executions.services.loading import load
from apps.executions.services.settings import settings_asked
from apps.executions.services.transitions import execution_locked, record_execution, tell
from weir.actions import protocol, title
from weir.coordination.decisions import AbortAction, BuryAction
from weir.coordination.wire import ReportPhase
from weir.lifecycle.steps import ActionState

SETTLES_S = 15.0
"""After a person called a setting off, its agents are waited for no longer than this."""


class Outcome(models.TextChoices):
    """Name what a person may decide."""

    ABORT = "abort", "Call off"
    BURY = "bury", "Stop waiting"
    COMMIT = "commit", "Order the switch again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Describe one decision that is possible now, and its consequences."""

    outcome: Outcome
    risk: str


def decisions_allowed(
    action: ExecutionAction, reports: Iterable[ActionReport], waiting: Iterable[str]
) -> list[Allowed]:
    """Return what a person may decide for an action as it stands. `waiting`: whose answers are
    missing."""
    names = ", ".join(waiting)
    tree = protocol(action.action) == "tree"
    if action.state == ActionState.PREPARING:
        return [
            Allowed(
                outcome=Outcome.ABORT,
                risk="Nothing has changed yet. Its brokers go on as before, and the step ends.",
            )
        ]
    if action.state == ActionState.COMMITTED and tree and names:
        return [
            Allowed(
                outcome=Outcome.BURY,
                risk=f"The change is in force elsewhere. {names} stays paused or unreachable until "
                "it answers, and its messages wait there. The step ends and the execution fails.",
            )
        ]
    if action.state == ActionState.DEAD and _contradicts(action, reports):
        return [
            Allowed(
                outcome=Outcome.COMMIT,
                risk="Brokers that released the change by hand are ordered to make it after all. "
                "Messages that are on their way between them now may be lost or come twice.",
            )
        ]
    return []


def _contradicts(action: ExecutionAction, reports: Iterable[ActionReport]) -> bool:
    return any(
        report.by_hand and report.phase == ReportPhase.RELEASED and report.attempt == action.attempt
        for report in reports
    )


def action_decide(
    *,
    execution: Execution,
    action: UUID,
    actor: User,
    outcome: str,
    reason: str,
) -> Execution:
    """Carry a person's decision out and do what follows. Raises ApplicationError."""
    now = timezone.now()
    with transaction.atomic():
        locked = execution_locked(execution.pk)
        loaded = load(locked, now)
        row = loaded.actions.get(str(action))
        if row is None:
            raise ApplicationError(
                "no_such_action", f"{locked} has no action {action}.", status=404
            )
        allowed = decisions_allowed(row, row.reports.all(), waiting_for(row))
        if outcome not in [a.outcome for a in allowed]:
            raise Conflict(
                "not_possible_now",
                f"{title(row.action)} is {row.state}; what may be decided now: "
                f"{', '.join(a.outcome for a in allowed) or 'nothing'}.",
            )
        applier = Applier(loaded, now)
        said = f"{actor.display_name} decided: {reason}"
        if outcome == Outcome.ABORT:
            row.by_hand = said
            deadline = (now + timedelta(seconds=SETTLES_S)).timestamp()
            applier.apply(AbortAction(action=str(action), reason=said, deadline=deadline))
        elif outcome == Outcome.BURY:
            applier.apply(BuryAction(action=str(action), reason=said))
        else:
            # What was released by hand binds the attempt that it was released in, and no later one.
            row.attempt, row.detail = row.attempt + 1, said
            row.save(update_fields=["attempt", "detail"])
        applier.save()
        what = f"{outcome} {title(row.action)}: {reason}"
        record_execution(locked, "decide", actor, reason=what)
        number = revision_bump(locked.system)
        settings_asked(locked.system, applier.asked, applier.lowered, number)
        publish("document", system=locked.system.public_id)
        tell(locked)
        execution_advance(locked.pk)
        locked.refresh_from_db()
        return locked
