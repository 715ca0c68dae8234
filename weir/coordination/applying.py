"""Apply a decision to a view: what the executor does in the database, as a pure function."""

from __future__ import annotations

from dataclasses import replace

from weir.coordination.decisions import (
    AbortAction,
    AbortStep,
    ActionDecision,
    AdoptAction,
    AppendUndoSteps,
    BeginStep,
    BuryAction,
    BuryStep,
    CommitAction,
    CompleteStep,
    Decision,
    MoveExecution,
    PrepareAction,
    RevertAction,
    SettleStep,
    SkipStep,
    StepDecision,
)
from weir.coordination.views import ActionView, ExecutionView, StepView
from weir.lifecycle.executions import EXECUTIONS
from weir.lifecycle.steps import ACTIONS, STEPS

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
    if all(action.id != decision.action for action in step.actions):
        return step
    return replace(
        step,
        actions=tuple(
            action_after(action, decision) if action.id == decision.action else action
            for action in step.actions
        ),
    )


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
    return action
