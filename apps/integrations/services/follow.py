"""Follow plans: open a change for each that waits, note how it is carried out, end its change.

Nothing is sent here: what shall be sent is written into the outbox, in the transaction that
decides so. A plan that another worker follows at the same moment is waited for.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.common.events import publish
from apps.common.tasks_by_name import enqueue
from apps.executions.models import Execution
from apps.integrations.domain.contract import Ending
from apps.integrations.models import LIVE_NAMES, Change, Connection, Message, MessageKind
from apps.integrations.selectors.gate import connection_of
from apps.integrations.selectors.texts import change_text, ending_text, progress_text
from apps.integrations.services.looking import needs_look
from apps.plans.domain.verdicts import Judged
from apps.plans.models import Plan
from apps.plans.selectors.outcomes import outcome_of
from apps.plans.services.transitions import lock_plan, tell
from weir.lifecycle.changes import CHANGES, ChangeCommand, ChangeState
from weir.lifecycle.executions import ACTIVE, ExecutionState
from weir.lifecycle.plans import PlanCommand, PlanState
from weir.lifecycle.steps import STEPS, StepState

logger = logging.getLogger(__name__)
REVIEWED = (PlanState.PENDING_REVIEW.value, PlanState.APPROVED.value)
STEPS_ENDED = frozenset(STEPS.ended)
NOTE_LENGTH = 1_000
AT_ONCE = 2
"""Connections that are worked on at a time: the worker's other threads are for imports."""

NOTED = {
    ExecutionState.PAUSED: "{} is paused.",
    ExecutionState.RUNNING: "{} goes on.",
    ExecutionState.ROLLING_BACK: "{} is being rolled back.",
}
OPENED_ANEW = 3
"""Changes of one plan that were deleted there and opened anew; then a person is needed."""


def changes_follow() -> int:
    """Run one tick: follow every plan that has, or shall have, a change. Returns how many moved."""
    rows = Plan.objects.defer("document")
    live = Change.objects.filter(state__in=LIVE_NAMES)
    reviewed = rows.filter(state__in=REVIEWED, system__connected_to__connection__enabled=True)
    where = "plan__system__connected_to__connection"
    away = live.filter(Q(**{where: None}) | ~Q(connection=F(where)), plan__state__in=REVIEWED)
    begun = rows.filter(changes__in=live).exclude(state__in=REVIEWED)
    # Their end waits to be sent, and they are being rolled back.
    revived = rows.filter(
        changes__state=ChangeState.ENDING, execution__state=ExecutionState.ROLLING_BACK
    )
    plans = {
        plan.pk: plan
        for some in (
            reviewed.exclude(changes__in=live),
            rows.filter(changes__in=away),
            begun,
            revived,
            _late(rows).exclude(changes__in=live),
        )
        for plan in some.distinct()
    }
    moved = 0
    for plan in plans.values():
        try:
            with transaction.atomic():
                moved += _follow(lock_plan(plan), timezone.now())
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One plan that cannot be followed must not keep the others from it.
            logger.exception("the change of %s of %s cannot be followed", plan, plan.system)
    return moved


def _late(plans: QuerySet[Plan]) -> QuerySet[Plan]:
    """Return the plans that were executed before they were followed: nothing was waited for."""
    return plans.filter(
        system__connected_to__connection__enabled=True,
        execution__created_at__gte=F("system__connected_to__since"),
    ).exclude(changes__in=Change.objects.filter(begun=True))


def work_hand_out() -> list[str]:
    """Start workers for connections that have something to send or to look at: a few at a time,
    first the one that nobody has worked on for longest."""
    now = timezone.now()
    is_free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    room = AT_ONCE - Connection.objects.exclude(is_free).count()
    due = Connection.objects.filter(
        is_free, Q(retry_at=None) | Q(retry_at__lte=now), enabled=True
    ).order_by(F("worked_at").asc(nulls_first=True), "id")
    handed: list[str] = []
    for connection in due:
        if len(handed) >= room:
            break
        earlier = Message.objects.filter(
            change=OuterRef("change"), sent_at=None, pk__lt=OuterRef("pk")
        ).exclude(kind=MessageKind.BEGIN, refused=True)
        waits = Message.objects.filter(
            ~Exists(earlier),
            Q(settles_at=None) | Q(settles_at__lte=now),
            change__connection=connection,
            sent_at=None,
            next_at__lte=now,
        )
        if waits.exists() or needs_look(connection, now).exists():
            enqueue("integrations.work", connection=str(connection.public_id))
            handed.append(str(connection.public_id))
    return handed


def _follow(plan: Plan, now: datetime) -> bool:
    """Follow a locked plan; return whether something is to be sent."""
    rows = Change.objects.select_for_update(of=("self",)).filter(plan=plan)
    change = rows.filter(state__in=LIVE_NAMES).first()
    state = PlanState(plan.state)
    if change is None:
        change = rows.filter(state=ChangeState.ENDING, begun=True).first()
        if change is not None and _revive(change, plan):
            return True
        is_late = _late(Plan.objects.filter(pk=plan.pk)).exists()
        return (state in REVIEWED or is_late) and _open(plan, now)
    if state in REVIEWED:
        return _is_elsewhere(change, plan) and _move(change, plan, now)
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


def _is_elsewhere(change: Change, plan: Plan) -> bool:
    """Return whether the plan's system was taken from the connection of its change."""
    return not change.connection.connected.filter(system=plan.system_id).exists()


def _move(change: Change, plan: Plan, now: datetime) -> bool:
    """End a change at a connection that its system has no more; open one where it is now."""
    _end(change, Ending.CANCELLED, f"{plan.system} opens its changes elsewhere now.")
    where = connection_of(plan)
    title = f"change {change.number or 'not opened yet'} no longer counts"
    there = f"; it opens its change in {where} now" if where else ""
    note = f"{plan.system} is not connected to {change.connection} any more{there}."
    tell(plan, "change_moved", actor=None, title=title, note=note)
    _open(plan, now)
    return True


def may_open_anew(plan: Plan) -> bool:
    """Return whether a change may be opened for one that was deleted there: an account that may
    open changes and not read them would open one after the other."""
    return plan.events.filter(command="change_deleted").count() < OPENED_ANEW


def change_deleted(change: Change, check: Callable[[], None]) -> bool:
    """Close a change that was deleted there; its plan opens another one while it waits.

    Returns false where it may be hidden instead, for it was never read. `check` raises where what
    was read counts no more.
    """
    with transaction.atomic():
        plan = lock_plan(change.plan)
        row = Change.objects.select_for_update().get(pk=change.pk)
        check()
        if row.looked_at is None or not may_open_anew(plan):
            return False
        title, where = f"change {row.number} was deleted there", str(row.connection)
        if plan.state not in REVIEWED:
            row.state_there, row.over_there = "deleted", True
            row.looked_at, row.next_look_at, row.problem = timezone.now(), None, ""
            row.save()
        elif row.state == ChangeState.OPEN:
            row.messages.filter(sent_at=None).delete()
            advance(row, ChangeCommand.END, ending=Ending.CANCELLED)
            advance(row, ChangeCommand.DROP, closed_at=timezone.now())
            tell(plan, "change_deleted", actor=None, title=title, note=f"{where}: opened anew.")
    return True


def _why_dropped(plan: Plan) -> str:
    moves = [command.value for command in PlanCommand]
    event = plan.events.filter(command__in=moves).order_by("-id").first()
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
    moved |= _note_state(change, execution)
    over = execution.state not in ACTIVE
    waits = change.messages.filter(kind=MessageKind.COMMENT, sent_at=None).exists()
    if over or not waits:
        moved |= _note_steps(change, execution)
    if over and PlanState(plan.state) != PlanState.EXECUTING:
        moved |= _conclude(change, plan, now)
    return moved


def _note_state(change: Change, execution: Execution) -> bool:
    """Note that the execution is paused, goes on or is rolled back, once each time."""
    state = ExecutionState(execution.state)
    noted = change.state_noted or ExecutionState.RUNNING.value
    if state == ExecutionState.ROLLED_BACK and noted != ExecutionState.ROLLING_BACK:
        # It went too fast to be seen.
        state = ExecutionState.ROLLING_BACK
    if state not in NOTED or state == noted:
        return False
    change.state_noted = state.value
    change.save(update_fields=["state_noted", "updated_at"])
    _queue(change, MessageKind.COMMENT, {"text": NOTED[state].format(execution)})
    return True


def _revive(change: Change, plan: Plan) -> bool:
    """Take the end of a change back that nobody has tried to send: its execution is rolled back,
    and how that goes decides the end."""
    execution = plan.execution
    if execution is None or execution.state != ExecutionState.ROLLING_BACK or not change.opened_at:
        return False
    last = change.messages.select_for_update().filter(sent_at=None, kind=MessageKind.END).first()
    if last is None or last.attempts:
        return False
    last.delete()
    advance(change, ChangeCommand.GO_ON, ending="")
    return _note_state(change, execution)


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
        if outcome.judged == Judged.TOO_EARLY:
            return False
    _end(change, *ending_text(plan, outcome))
    return True


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
