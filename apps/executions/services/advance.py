"""Advance an execution: load, decide, apply, all in one transaction under its lock.

There is no leader and nothing is remembered between two decisions: whoever calls, whenever, finds
in the database all there is to know. A process that dies in the middle has done nothing.
"""

import logging
from datetime import datetime
from functools import partial
from itertools import count

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.common.events import publish
from apps.executions.models import Execution
from apps.executions.services.apply import Applier, EffectRefused
from apps.executions.services.documents import revision_bump
from apps.executions.services.loading import load
from apps.executions.services.settings import settings_asked
from apps.executions.services.stream_places import record_number
from apps.executions.services.transitions import execution_locked, execution_move, is_on_hold, tell
from apps.telemetry.selectors import agents_ahead
from weir.actions import SettingKey
from weir.coordination.coordinator import Limits, decide
from weir.coordination.decisions import AppendUndoSteps
from weir.lifecycle.executions import ExecutionCommand, ExecutionState
from weir.lifecycle.steps import ActionState

logger = logging.getLogger(__name__)

MAX_ROUNDS = 16
"""Far more than appended undo steps and refused commits can ask for; a move may ask for one each.
"""


@transaction.atomic
def execution_advance(
    execution_id: int, *, now: datetime | None = None, limits: Limits | None = None
) -> bool:
    """Do everything that follows now. True when something did; a second call then does nothing.

    `now` defaults to the wall clock. Waits while another process thinks about the same execution.
    Does nothing while an agent has obeyed a newer database than this one: what is missing here may
    be an outcome, and another one would contradict it.
    """
    execution = execution_locked(execution_id)
    if agents_ahead(execution.system_id).exists():
        return False
    waits = limits or Limits(prepare_timeout_s=settings.WEIR_PREPARE_TIMEOUT_S)
    at = now or timezone.now()
    moved = documents = False
    asked: dict[int, SettingKey] = {}
    lowered: set[SettingKey] = set()
    followed: dict[int, frozenset[str]] = {}
    if execution.state == ExecutionState.RUNNING and is_on_hold(execution, at):
        # Here and not in a loop of its own: a step must not begin between the end of the window
        # and the loop's next turn.
        execution.held = True
        because = execution.hold_because
        execution_move(execution, ExecutionCommand.PAUSE, actor=None, reason=because)
        moved = True
    for turn in count():
        loaded = load(execution, at)
        if turn >= MAX_ROUNDS + len(loaded.actions):
            raise RuntimeError(f"{execution} does not come to rest")
        decisions = decide(loaded.view, at.timestamp(), waits)
        if not decisions:
            break
        moved = True
        applier = Applier(loaded, at)
        again = isinstance(decisions[-1], AppendUndoSteps)
        for decision in decisions:
            try:
                applier.apply(decision)
            except EffectRefused as refused:
                # The world has moved under the action: it ends as if it had never been.
                logger.warning("%s: %s", execution, refused)
                applier.apply(refused.instead)
                again = True
                break
        applier.save()
        documents |= applier.documents_changed
        asked |= applier.asked
        lowered |= applier.lowered
        followed |= applier.followed
        if applier.removed:
            transaction.on_commit(partial(dead_advance, execution.system_id), robust=True)
        if not again and not applier.moved:
            break
    if documents:
        number = revision_bump(execution.system)
        settings_asked(execution.system, asked, lowered, number)
        record_number(execution.system, followed, number)
        publish("document", system=execution.system.public_id)
    if moved:
        tell(execution)
    return moved


def dead_advance(*systems: int) -> None:
    """Finish attempts that waited for a removed broker."""
    waiting = Execution.objects.filter(
        system_id__in=systems, steps__actions__state=ActionState.DEAD
    )
    for pk in sorted(set(waiting.values_list("pk", flat=True))):
        execution_advance(pk)
