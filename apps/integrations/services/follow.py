"""Follow plans: open a change for each that waits, note how it is carried out, end its change.

Nothing is sent here: what shall be sent is written into the outbox, in the transaction that
decides so. A plan that another worker follows at the same moment is waited for.
"""

import logging
from datetime import datetime
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F, Q
from django.utils import timezone

from apps.common.events import publish
from apps.common.tasks_by_name import enqueue
from apps.executions.models import Execution
from apps.integrations.domain.contract import Ending
from apps.integrations.models import Change, Connection, Message, MessageKind
from apps.integrations.selectors.gate import connection_of
from apps.integrations.selectors.texts import change_text, ending_text, progress_text
from apps.integrations.services.looking import needs_look
from apps.plans.domain.verdicts import Judged, no_promise, window_after
from apps.plans.models import Plan
from apps.plans.selectors.outcomes import Outcome, outcome_of
from apps.plans.services.transitions import lock_plan
from weir.lifecycle.changes import CHANGES, ChangeCommand, ChangeState
from weir.lifecycle.executions import ACTIVE, ExecutionState
from weir.lifecycle.plans import PlanState
from weir.lifecycle.steps import STEPS, StepState

logger = logging.getLogger(__name__)
REVIEWED = (PlanState.PENDING_REVIEW.value, PlanState.APPROVED.value)
LIVE = (ChangeState.OPENING.value, ChangeState.OPEN.value)
STEPS_ENDED = frozenset(STEPS.ended)
NOTE_LENGTH = 1_000


def changes_follow() -> int:
    """Run one tick: follow every plan that has, or shall have, a change. Returns how many moved."""
    new = Plan.objects.filter(
        state__in=REVIEWED, system__connected_to__connection__enabled=True
    ).exclude(changes__in=Change.objects.exclude(state=ChangeState.CLOSED))
    begun = Plan.objects.filter(changes__state__in=LIVE).exclude(state__in=REVIEWED)
    moved = 0
    for plan in (*new.defer("document").distinct(), *begun.defer("document").distinct()):
        try:
            with transaction.atomic():
                moved += _follow(lock_plan(plan), timezone.now())
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One plan that cannot be followed must not keep the others from it.
            logger.exception("the change of %s of %s cannot be followed", plan, plan.system)
    return moved


def work_hand_out() -> list[str]:
    """Start a worker for each connection that has something to send or to look at."""
    now = timezone.now()
    due = Connection.objects.filter(
        Q(claimed_until=None) | Q(claimed_until__lte=now),
        Q(retry_at=None) | Q(retry_at__lte=now),
        enabled=True,
    )
    handed = []
    for connection in due.order_by("id"):
        waits = Message.objects.filter(
            change__connection=connection, sent_at=None, next_at__lte=now
        )
        if waits.exists() or needs_look(connection, now).exists():
            enqueue("integrations.work", connection=str(connection.public_id))
            handed.append(str(connection.public_id))
    return handed


def _follow(plan: Plan, now: datetime) -> bool:
    """Follow a locked plan; return whether something is to be sent."""
    change = (
        Change.objects.select_for_update()
        .exclude(state=ChangeState.CLOSED)
        .filter(plan=plan)
        .first()
    )
    state = PlanState(plan.state)
    if change is None:
        return state in REVIEWED and _open(plan, now)
    if change.state not in LIVE or state in REVIEWED:
        return False
    if plan.execution is None:
        _end(change, Ending.CANCELLED, _why_dropped(plan))
        return True
    return _note(change, plan, now)


def _open(plan: Plan, now: datetime) -> bool:
    connection = connection_of(plan)
    if connection is None:
        return False
    change = Change.objects.create(plan=plan, connection=connection)
    _queue(change, MessageKind.OPEN, change_text(plan, change.key, now).plain())
    return True


def _why_dropped(plan: Plan) -> str:
    event = plan.events.order_by("-id").first()
    why = plan.stale_because or (event.note if event else "")
    words = plan.state.replace("_", " ")
    said = f"{plan} was taken back" if plan.state == PlanState.DRAFT else f"{plan} is {words}"
    return f"{said}. {why}"[:NOTE_LENGTH].rstrip()


def _note(change: Change, plan: Plan, now: datetime) -> bool:
    """Note what came of the execution since; steps that end while a comment waits go together."""
    execution = plan.execution
    assert execution is not None
    moved = False
    if not change.begun:
        change.begun = True
        change.save(update_fields=["begun", "updated_at"])
        who = execution.started_by_name
        _queue(change, MessageKind.BEGIN, {})
        _queue(change, MessageKind.COMMENT, {"text": f"{who} started {execution} of {plan}."})
        moved = True
    over = execution.state not in ACTIVE
    waits = change.messages.filter(kind=MessageKind.COMMENT, sent_at=None).exists()
    if over or not waits:
        moved |= _note_steps(change, execution)
    if over and PlanState(plan.state) != PlanState.EXECUTING:
        moved |= _conclude(change, plan, now)
    return moved


def _note_steps(change: Change, execution: Execution) -> bool:
    """Note the steps that have ended since, in their order; one that has not ended stops it."""
    steps = list(execution.steps.order_by("index"))
    ended = []
    for step in steps[change.steps_noted :]:
        if StepState(step.state) not in STEPS_ENDED:
            break
        ended.append(step)
    if not ended:
        return False
    Change.objects.filter(pk=change.pk).update(steps_noted=F("steps_noted") + len(ended))
    _queue(change, MessageKind.COMMENT, {"text": progress_text(ended, total=len(steps))})
    return True


def _conclude(change: Change, plan: Plan, now: datetime) -> bool:
    """End the change of a plan whose execution is over, once its effect is known."""
    assert plan.execution is not None
    outcome = None
    if plan.state == PlanState.EXECUTED and plan.execution.state == ExecutionState.SUCCEEDED:
        outcome = outcome_of(plan, now)
        if outcome.judged == Judged.TOO_EARLY or _is_measured_soon(plan, outcome, now):
            return False
    _end(change, *ending_text(plan, outcome))
    return True


def _is_measured_soon(plan: Plan, outcome: Outcome, now: datetime) -> bool:
    """Return whether the effect of a plan that ended a moment ago may still be measured."""
    if no_promise(plan.content.promise) or getattr(plan, "verification", None) is not None:
        return False
    return now < window_after(outcome.executed_at)[1]


def _end(change: Change, ending: Ending, text: str) -> None:
    """Queue the end of a locked change; one that nobody has tried to open is dropped at once."""
    waiting = list(change.messages.select_for_update().filter(sent_at=None).order_by("id"))
    first = waiting[0] if waiting else None
    if first is not None and first.kind == MessageKind.OPEN and not first.attempts:
        change.messages.filter(sent_at=None).delete()
        advance(change, ChangeCommand.END, ending=ending)
        advance(change, ChangeCommand.DROP, closed_at=timezone.now())
        return
    advance(change, ChangeCommand.END, ending=ending)
    _queue(change, MessageKind.END, {"ending": ending.value, "text": text})


def _queue(change: Change, kind: MessageKind, payload: dict[str, Any]) -> None:
    Message.objects.create(change=change, kind=kind, payload=payload)


def advance(change: Change, command: ChangeCommand, **columns: Any) -> None:
    """Make one transition of a locked change, and publish it."""
    change.state = CHANGES.advance(ChangeState(change.state), command).value
    for name, value in columns.items():
        setattr(change, name, value)
    change.save(update_fields=["state", "updated_at", *columns])
    publish("change", plan=change.plan.public_id, system=change.plan.system.public_id)
