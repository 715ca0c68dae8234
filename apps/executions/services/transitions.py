"""Lock the rows of an execution, move them along their tables, append steps."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.events import publish
from apps.executions.models import (
    ACTIVE_NAMES,
    Direction,
    Execution,
    ExecutionAction,
    ExecutionStep,
)
from apps.executions.selectors import execution_news
from weir.lifecycle.executions import EXECUTIONS, ExecutionCommand, ExecutionState
from weir.model.plan import Step


def execution_locked(pk: int) -> Execution:
    """Lock the execution's row and return it: one process decides about it at a time."""
    rows = Execution.objects.select_for_update(of=("self",)).select_related("system")
    return rows.get(pk=pk)


def is_on_hold(execution: Execution, now: datetime) -> bool:
    """Return whether a maintenance window forbids it to begin another step."""
    return execution.hold_at is not None and execution.hold_at <= now


def execution_move(
    execution: Execution,
    command: ExecutionCommand,
    *,
    actor: User | None,
    reason: str = "",
) -> None:
    """Make one transition of a locked row, with its audit entry and news.

    Raises IllegalTransition where the table has no way.
    """
    before = execution.state
    now = timezone.now()
    execution.state = EXECUTIONS.advance(ExecutionState(before), command).value
    active = execution.state in ACTIVE_NAMES
    execution.ended_at = None if active else now
    if command == ExecutionCommand.START:
        execution.started_at = now
    if command == ExecutionCommand.FAIL:
        execution.failure = reason
    execution.save()
    record_execution(execution, command.value, actor, before=before, reason=reason)
    tell(execution)


def record_execution(
    execution: Execution,
    action: str,
    actor: User | None,
    *,
    before: str | None = None,
    reason: str = "",
) -> None:
    """Add one audit entry about the execution."""
    record(
        actor=actor,
        action=action,
        object_kind="execution",
        object_id=execution.public_id,
        object_name=f"{execution} of {execution.subject_name}",
        system_id=execution.system.public_id,
        before=None if before is None else {"state": before},
        after={"state": execution.state},
        reason=reason[:500],
    )


def tell(execution: Execution) -> None:
    """Publish the execution to browsers on commit."""
    publish("execution", **execution_news(execution))


def steps_append(
    execution: Execution,
    steps: Sequence[Step],
    direction: Direction,
    *,
    inverts: Iterable[ExecutionAction] = (),
) -> None:
    """Put the steps behind those that are there; `inverts`: what each action takes back."""
    undone = iter(inverts)
    first = execution.steps.count()
    rows = ExecutionStep.objects.bulk_create(
        ExecutionStep(execution=execution, index=first + i, direction=direction)
        for i in range(len(steps))
    )
    ExecutionAction.objects.bulk_create(
        ExecutionAction(
            step=row,
            index=i,
            kind=action.kind,
            target=dict(action.target),
            before=None if action.before is None else dict(action.before),
            after=None if action.after is None else dict(action.after),
            effect=action.effect,
            inverts=next(undone, None),
        )
        for row, step in zip(rows, steps, strict=True)
        for i, action in enumerate(step.actions)
    )
