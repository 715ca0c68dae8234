"""Start executions, take people's commands, advance everything."""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from django.apps import apps
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.module_loading import import_string

from apps.accounts.models import User
from apps.common.errors import ApplicationError, Conflict
from apps.executions.models import ACTIVE_NAMES, Direction, Execution
from apps.executions.selectors import in_force, overtaken_by
from apps.executions.services.advance import dead_advance, execution_advance
from apps.executions.services.restored import restored_text
from apps.executions.services.transitions import (
    execution_locked,
    execution_move,
    is_on_hold,
    record_execution,
    steps_append,
    tell,
)
from apps.systems.models import System
from apps.telemetry.selectors import systems_without
from apps.telemetry.services import agents_lapse, samples_prune
from weir.actions import replay, validate
from weir.errors import IllegalTransition, InvalidProblem
from weir.lifecycle.executions import ExecutionCommand, ExecutionState
from weir.model.plan import Step

__all__ = [
    "execution_advance",
    "execution_hold",
    "execution_pause",
    "execution_resume",
    "execution_roll_back",
    "execution_start",
    "execution_stop",
    "executions_tick",
]

logger = logging.getLogger(__name__)
PRUNE_EVERY_S = 15.0
REASON_LENGTH = 500


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
    roll_back_pace_s: float = 0.0,
    hold_at: datetime | None = None,
    hold_because: str = "",
) -> Execution:
    """Begin to carry out the steps; the coordinator and every agent's report drive it on.

    Raises Conflict while another execution holds the system, or when what the steps say about
    "before" is not what is in force; InvalidProblem names an action that makes no sense. `actor`
    None: Weir itself, by a policy. `hold_at`: when a maintenance window ends the beginning of
    further steps.
    """
    _check(steps)
    # The system's row serialises starts, so that the number and the refusal are certain. Without
    # its key: who holds parts and writes a row of the system (adaptation) must not wait for who
    # holds the system and wants parts.
    locked = System.objects.select_for_update(no_key=True).get(pk=system.pk)
    restored = restored_text(locked)
    if restored:
        raise Conflict("database_restored", restored)
    active = _active(locked)
    if active is not None:
        raise _busy(locked, active)
    try:
        replay(in_force(locked, steps), steps)
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
        roll_back_pace_s=roll_back_pace_s,
        max_parallel=max_parallel,
        hold_at=hold_at,
        hold_because=hold_because[:REASON_LENGTH],
        started_by=actor,
        started_by_name=actor.display_name if actor else "Weir",
    )
    steps_append(execution, steps, Direction.FORWARD)
    record_execution(execution, "open", actor)
    tell(execution)
    execution_advance(execution.pk)
    execution.refresh_from_db()
    return execution


def _command(
    execution: Execution,
    actor: User | None,
    command: ExecutionCommand,
    reason: str = "",
    check: Callable[[Execution], None] = lambda _: None,
) -> Execution:
    """Take a person's command and do what follows from it at once."""
    with transaction.atomic():
        row = execution_locked(execution.pk)
        try:
            with transaction.atomic():
                check(row)
                # Somebody has decided about it: it no longer goes on by itself.
                row.held = False
                execution_move(row, command, actor=actor, reason=reason)
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


def execution_pause(*, execution: Execution, actor: User | None, reason: str = "") -> Execution:
    """Pause: begin no further step; the running one ends first. Raises Conflict when it cannot.

    What a maintenance window holds stays paused, then, when the window opens.
    """
    with transaction.atomic():
        row = execution_locked(execution.pk)
        if row.held:
            row.held = False
            row.save(update_fields=["held", "updated_at"])
            record_execution(row, "pause", actor, before=row.state, reason=reason.strip())
            tell(row)
            return row
    return _command(execution, actor, ExecutionCommand.PAUSE, reason.strip())


def execution_resume(
    *, execution: Execution, actor: User | None, override_window: bool = False, reason: str = ""
) -> Execution:
    """Resume a paused execution. Raises Conflict when it is not paused, or a window forbids it.

    `override_window` goes on in spite of the window, until it opens again; it needs a reason. Apps
    above may refuse, too: an `AppConfig` names a function as `checks_resuming`, which takes the
    execution and returns code and sentence.
    """
    said = reason.strip()
    if override_window and not said:
        message = "Say why it cannot wait for the window."
        raise ApplicationError.of_field("reason", message)

    def check(row: Execution) -> None:
        for config in apps.get_app_configs():
            path = getattr(config, "checks_resuming", "")
            code, sentence = import_string(path)(row) if path else ("", "")
            if code:
                raise Conflict(code, sentence)
        if not is_on_hold(row, timezone.now()):
            return
        if not override_window:
            then = "goes on by itself then" if row.held else "can be resumed then"
            raise Conflict(
                "outside_window",
                f"{row.hold_because} {row} {then}; to go on now, resume with `override_window` "
                "and a reason.",
            )
        row.hold_at, row.hold_overridden_at = None, timezone.now()

    return _command(execution, actor, ExecutionCommand.RESUME, said, check)


def execution_stop(*, execution: Execution, actor: User | None, reason: str = "") -> Execution:
    """Stop after the running step; what is done stays done. Raises Conflict when it has ended."""
    return _command(execution, actor, ExecutionCommand.STOP, reason.strip())


def execution_roll_back(*, execution: Execution, actor: User | None, reason: str = "") -> Execution:
    """End after the running step, then undo what is done, last first.

    Waits for no maintenance window: what went wrong is taken back when it is seen. The record
    says that it was outside of one. Raises Conflict `not_what_is_in_force` where a later execution
    has changed the system: the values of before were approved for another state.
    """
    said = reason.strip()
    if is_on_hold(execution, timezone.now()):
        said = " ".join(["Outside the maintenance window.", said]).strip()
    return _command(execution, actor, ExecutionCommand.ROLL_BACK, said, _refuse_overtaken)


def _refuse_overtaken(row: Execution) -> None:
    # The system's row serialises this with the start of executions.
    System.objects.select_for_update(no_key=True).get(pk=row.system_id)
    later = overtaken_by(row)
    if later is not None:
        raise Conflict(
            "not_what_is_in_force",
            f"{later} of {later.subject_name} has changed {row.system} since {row} ended. "
            "Take back what is left of it by a new plan.",
        )


@transaction.atomic
def execution_hold(
    *,
    execution: Execution,
    hold_at: datetime | None,
    because: str,
    opened_since: Callable[[datetime], bool],
) -> None:
    """Set from when on no further step may begin; None: never. Steps that waited for that go on.

    `opened_since`: whether changes have been allowed at some time since a moment; an operator's
    override of before then has served its purpose.
    """
    row = execution_locked(execution.pk)
    if row.hold_overridden_at is not None and opened_since(row.hold_overridden_at):
        row.hold_overridden_at = None
    row.hold_at = None if row.hold_overridden_at else hold_at
    row.hold_because = because[:REASON_LENGTH]
    row.save(update_fields=["hold_at", "hold_because", "hold_overridden_at", "updated_at"])
    waits = row.held and row.state in (ExecutionState.PAUSING, ExecutionState.PAUSED)
    if waits and not is_on_hold(row, timezone.now()):
        row.held = False
        execution_move(
            row, ExecutionCommand.RESUME, actor=None, reason="Changes are allowed again."
        )
    execution_advance(row.pk)


_pruned_at = 0.0


def executions_tick() -> int:
    """Do what time alone causes: deadlines, pace, leases that ran out, old samples. Returns how
    many executions are under way."""
    global _pruned_at
    agents_lapse()
    active = list(Execution.objects.filter(state__in=ACTIVE_NAMES).values_list("pk", flat=True))
    for pk in active:
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
        # Whoever removed a broker may have died before the executions that waited for it.
        dead_advance(*systems_without())
        samples_prune()
    return len(active)
