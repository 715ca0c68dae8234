"""Start executions, take people's commands, keep everything going."""

import logging
import time
from collections.abc import Sequence
from uuid import UUID

from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import Max

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.executions.advance import execution_advance
from apps.executions.models import ACTIVE_NAMES, Direction, Execution
from apps.executions.rows import (
    execution_locked,
    execution_move,
    record_execution,
    steps_append,
    tell,
)
from apps.executions.selectors import in_force
from apps.systems.models import System
from apps.telemetry.services import agents_lapse, samples_prune
from weir.actions import replay, validate
from weir.errors import IllegalTransition, InvalidProblem
from weir.lifecycle.executions import ExecutionCommand
from weir.model.plan import Step

__all__ = [
    "execution_advance",
    "execution_pause",
    "execution_resume",
    "execution_roll_back",
    "execution_start",
    "execution_stop",
    "executions_tick",
]

logger = logging.getLogger(__name__)
PRUNE_EVERY_S = 15.0


def _busy(system: System, active: Execution) -> Conflict:
    return Conflict(
        "system_is_busy",
        f"{active} of {active.subject_name} is still {active.state.replace('_', ' ')}; "
        f"one execution at a time changes {system}.",
    )


def _active(system: System) -> Execution | None:
    return Execution.objects.filter(system=system, state__in=ACTIVE_NAMES).first()


def _check(steps: Sequence[Step]) -> None:
    for s, step in enumerate(steps):
        for a, action in enumerate(step.actions):
            try:
                validate(action)
            except InvalidProblem as error:
                raise error.below(f"steps[{s}].actions[{a}]") from None


@transaction.atomic
def execution_start(
    *,
    system: System,
    actor: User | None,
    subject_id: UUID,
    subject_name: str,
    subject_title: str,
    steps: Sequence[Step],
    pace_s: float,
    max_parallel: int,
) -> Execution:
    """Begin to carry out the steps; the coordinator and every agent's report drive it on.

    Raises Conflict while another execution holds the system, or when what the steps say about
    "before" is not what is in force; InvalidProblem names an action that makes no sense. `actor`
    None: Weir itself, by a policy.
    """
    _check(steps)
    # The system's row serialises starts, so that the number and the refusal are certain.
    locked = System.objects.select_for_update().get(pk=system.pk)
    active = _active(locked)
    if active is not None:
        raise _busy(locked, active)
    try:
        replay(in_force(locked), steps)
    except InvalidProblem as error:
        raise Conflict(
            "not_what_is_in_force", f"{subject_name} no longer fits: {error}. Plan again."
        ) from error
    last = Execution.objects.filter(system=locked).aggregate(last=Max("number"))["last"] or 0
    execution = Execution.objects.create(
        system=locked,
        number=last + 1,
        subject_id=subject_id,
        subject_name=subject_name,
        subject_title=subject_title,
        pace_s=pace_s,
        max_parallel=max_parallel,
        started_by=actor,
        started_by_name=actor.display_name if actor else "Weir",
    )
    steps_append(execution, steps, Direction.FORWARD)
    record_execution(execution, "open", actor)
    tell(execution)
    execution_advance(execution.pk)
    execution.refresh_from_db()
    return execution


def _command(execution: Execution, actor: User | None, command: ExecutionCommand) -> Execution:
    """Take a person's command and do what follows from it at once."""
    with transaction.atomic():
        row = execution_locked(execution.pk)
        try:
            with transaction.atomic():
                execution_move(row, command, actor=actor)
        except IllegalTransition as error:
            raise Conflict("not_possible_now", f"{row}: {error}.") from error
        except IntegrityError as error:
            # An ended execution comes back to life while another one holds the system.
            active = _active(row.system)
            if active is None:
                raise
            raise _busy(row.system, active) from error
        execution_advance(row.pk)
        row.refresh_from_db()
        return row


def execution_pause(*, execution: Execution, actor: User | None) -> Execution:
    """Begin no further step; the running one ends first. Raises Conflict when it cannot."""
    return _command(execution, actor, ExecutionCommand.PAUSE)


def execution_resume(*, execution: Execution, actor: User | None) -> Execution:
    """Go on where it was paused. Raises Conflict when it is not paused."""
    return _command(execution, actor, ExecutionCommand.RESUME)


def execution_stop(*, execution: Execution, actor: User | None) -> Execution:
    """End after the running step; what is done stays done. Raises Conflict when it has ended."""
    return _command(execution, actor, ExecutionCommand.STOP)


def execution_roll_back(*, execution: Execution, actor: User | None) -> Execution:
    """End after the running step, then undo what is done, last first."""
    return _command(execution, actor, ExecutionCommand.ROLL_BACK)


_pruned_at = 0.0


def executions_tick() -> None:
    """What time alone brings about: deadlines, pace, leases that ran out, old samples."""
    global _pruned_at
    agents_lapse()
    for pk in list(Execution.objects.filter(state__in=ACTIVE_NAMES).values_list("pk", flat=True)):
        try:
            execution_advance(pk)
        except (OperationalError, InterfaceError):
            # The connection is gone: the loop opens another.
            raise
        except Exception:
            # One execution that cannot go on must not hold up the others.
            logger.exception("execution %s cannot be advanced", pk)
    if time.monotonic() - _pruned_at > PRUNE_EVERY_S:
        _pruned_at = time.monotonic()
        samples_prune()
