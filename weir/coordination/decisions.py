"""What the coordinator decides: each is one change of the database, named by its lifecycle command.

The executor applies all decisions of one call in one transaction, in their order, moving every
state with `weir.lifecycle` (`machine.advance(state, decision.command)`), before anybody is told.
`applied` does the same to a view, as a pure function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from weir.coordination.views import ActionView, ExecutionView, StepView
from weir.lifecycle.executions import EXECUTIONS, ExecutionCommand
from weir.lifecycle.steps import ACTIONS, STEPS, ActionCommand, StepCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfStep:
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfAction:
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveExecution:
    """Change the state of the whole execution. With `fail`, `reason` is a sentence for people."""

    command: ExecutionCommand
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginStep(_OfStep):
    """Begin the step: its actions may be prepared now."""

    command: ClassVar[StepCommand] = StepCommand.BEGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteStep(_OfStep):
    """Complete the step: every action is done, and the time is the step's end."""

    command: ClassVar[StepCommand] = StepCommand.COMPLETE


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortStep(_OfStep):
    """Abort the step: an action failed for good. Nothing new begins, and running actions end."""

    command: ClassVar[StepCommand] = StepCommand.ABORT


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleStep(_OfStep):
    """Mark the aborted step as ended: its last action has ended."""

    command: ClassVar[StepCommand] = StepCommand.SETTLE


@dataclass(frozen=True, slots=True, kw_only=True)
class BuryStep(_OfStep):
    """Mark the step as dead: one of its actions is dead, and a person has to look."""

    command: ClassVar[StepCommand] = StepCommand.BURY


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipStep(_OfStep):
    """Skip the step. Separate decisions skip its actions."""

    command: ClassVar[StepCommand] = StepCommand.SKIP


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareAction(_OfAction):
    """Set `attempt` and `deadline` and forget reports of earlier attempts.

    A setting: write `desired` = after. A tree action: its orders say PREPARE from now on.
    """

    command: ClassVar[ActionCommand] = ActionCommand.PREPARE
    attempt: int
    deadline: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAction(_OfAction):
    """The point of no return: `in_force` = `desired`, or the overlay's edges are swapped.

    Store `interests` (role -> flows wanted on that side) for the orders, and `deadline`: after it
    the action is buried when those who have not answered are silent.
    """

    command: ClassVar[ActionCommand] = ActionCommand.COMMIT
    deadline: float
    interests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishAction(_OfAction):
    """Finish the action: every participant has carried it out, or will when it returns."""

    command: ClassVar[ActionCommand] = ActionCommand.FINISH
    detail: str = ""
    """A sentence that names the brokers that were not waited for; empty: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortAction(_OfAction):
    """As if it had never been. A setting: `desired` = `in_force`, and forget who confirmed."""

    command: ClassVar[ActionCommand] = ActionCommand.ABORT
    reason: str
    """A sentence that names the brokers."""
    deadline: float
    """A setting settles then at the latest; agents go on reconciling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleAction(_OfAction):
    """Mark the abort as complete: every participant that is alive has carried it out."""

    command: ClassVar[ActionCommand] = ActionCommand.SETTLE


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAction(_OfAction):
    """Return the action to pending; the next `PrepareAction` names the next attempt."""

    command: ClassVar[ActionCommand] = ActionCommand.RETRY


@dataclass(frozen=True, slots=True, kw_only=True)
class BuryAction(_OfAction):
    """Mark a committed action as dead because an agent stays silent, or does not follow. Its order
    remains, and a late answer still finishes it."""

    command: ClassVar[ActionCommand] = ActionCommand.BURY
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptAction(_OfAction):
    """Participants have switched what was never committed here: swap the overlay's edges now, and
    order the others to switch, in the running attempt."""

    command: ClassVar[ActionCommand] = ActionCommand.ADOPT
    deadline: float
    interests: Mapping[str, tuple[str, ...]]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertAction(_OfAction):
    """Swap the edges back: every participant has released by hand what was committed here."""

    command: ClassVar[ActionCommand] = ActionCommand.REVERT
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipAction(_OfAction):
    """Skip the action: it will not be carried out."""

    command: ClassVar[ActionCommand] = ActionCommand.SKIP


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendUndoSteps:
    """Append steps with direction `undo`: for each entry one step that inverts these actions.

    Always the last decision of a call. Each new action names the one it inverts (`inverts`).
    """

    steps: tuple[tuple[str, ...], ...]


StepDecision = BeginStep | CompleteStep | AbortStep | SettleStep | BuryStep | SkipStep
ActionDecision = (
    PrepareAction
    | CommitAction
    | FinishAction
    | AbortAction
    | SettleAction
    | RetryAction
    | BuryAction
    | AdoptAction
    | RevertAction
    | SkipAction
)
Decision = MoveExecution | StepDecision | ActionDecision | AppendUndoSteps

_ENDS = (CompleteStep, SettleStep, BuryStep)

_STEP = (BeginStep, CompleteStep, AbortStep, SettleStep, BuryStep, SkipStep)


def applied(view: ExecutionView, decision: Decision, now: float) -> ExecutionView:
    """The view after one decision; raises IllegalTransition where a lifecycle has no way.

    `AppendUndoSteps` needs the inverse of each action, which only its kind knows: it is refused.
    """
    if isinstance(decision, AppendUndoSteps):
        raise TypeError("undo steps are appended by the executor")
    if isinstance(decision, MoveExecution):
        return replace(view, state=EXECUTIONS.advance(view.state, decision.command))
    if isinstance(decision, _STEP):
        return replace(
            view,
            steps=tuple(
                _step_after(step, decision, now) if step.id == decision.step else step
                for step in view.steps
            ),
        )
    return replace(view, steps=tuple(_with_action(step, decision) for step in view.steps))


def _step_after(step: StepView, decision: StepDecision, now: float) -> StepView:
    return replace(
        step,
        state=STEPS.advance(step.state, decision.command),
        ended_at=now if isinstance(decision, _ENDS) else step.ended_at,
    )


def _with_action(step: StepView, decision: ActionDecision) -> StepView:
    for at, action in enumerate(step.actions):
        if action.id == decision.action:
            actions = (*step.actions[:at], action_after(action, decision), *step.actions[at + 1 :])
            return replace(step, actions=actions)
    return step


def action_after(action: ActionView, decision: ActionDecision) -> ActionView:
    """Return the action as it is after a decision about it."""
    action = replace(action, state=ACTIONS.advance(action.state, decision.command))
    match decision:
        case PrepareAction():
            return replace(
                action,
                attempt=decision.attempt,
                deadline=decision.deadline,
                reports={},
                confirmed_by=frozenset(),
                followed_by=frozenset(),
            )
        case CommitAction():
            return replace(action, deadline=decision.deadline, interests=decision.interests)
        case AbortAction():
            return replace(
                action,
                deadline=decision.deadline,
                detail=decision.reason,
                confirmed_by=frozenset(),
            )
        case AdoptAction():
            return replace(
                action,
                deadline=decision.deadline,
                interests=decision.interests,
                detail=decision.reason,
                by_hand=decision.reason,
            )
        case RevertAction():
            return replace(action, detail=decision.reason, by_hand=decision.reason)
        case BuryAction():
            return replace(action, detail=decision.reason)
        case FinishAction():
            return replace(action, detail=decision.detail)
    return action
