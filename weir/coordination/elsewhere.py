"""Decide what follows from an outcome that the coordinator did not decide: a person did, at an
agent, or the database has forgotten it.
"""

from __future__ import annotations

from weir.coordination.decisions import AdoptAction, BuryAction, Decision, RevertAction
from weir.coordination.views import ActionView, ExecutionView, StepView
from weir.coordination.wire import Report, ReportPhase
from weir.lifecycle.steps import ActionState, StepState

RUNNING_STEP = frozenset({StepState.IN_PROGRESS, StepState.ABORTING})
_NOT_COMMITTED = frozenset(
    {ActionState.PENDING, ActionState.PREPARING, ActionState.ABORTING, ActionState.ABORTED}
)
_COMMITTED = frozenset({ActionState.COMMITTED, ActionState.DEAD})


def decided_elsewhere(
    view: ExecutionView, step: StepView, action: ActionView, deadline: float
) -> tuple[Decision, ...]:
    """What follows from an outcome that the coordinator did not decide: a person did, at an agent.

    The same holds for a switch that the database has forgotten, because it was restored to a moment
    before the commit. What agents have done is true; the database follows.

    | the database says | participants say | follows |
    |---|---|---|
    | not committed | one has switched | adopt: swap the edge, order the others to switch |
    | committed | all released by hand | revert: swap the edge back, abort the action |
    | committed | all released, cannot be undone | dead, and named: who was removed stays so |
    | committed | one released by hand, one switched | dead, and named: they contradict |

    Nothing for almost all actions of the tree. `deadline`: of the others' switches.
    """
    if action.state in _NOT_COMMITTED:
        return _adopt(view, step, action, deadline)
    if action.state in _COMMITTED:
        return _contradict(view, action)
    return ()


def _adopt(
    view: ExecutionView, step: StepView, action: ActionView, deadline: float
) -> tuple[Decision, ...]:
    switched = _who(action, ReportPhase.SWITCHED)
    whole = [r for r in switched.values() if r.interests.keys() >= action.voting_roles]
    if not whole:
        return ()
    newest = max(whole, key=lambda report: report.attempt)
    reason = f"{view.called(switched)} switched {_why(switched)}"
    adopted = AdoptAction(
        action=action.id, deadline=deadline, interests=dict(newest.interests), reason=reason
    )
    if step.state in RUNNING_STEP:
        return (adopted,)
    # Its step has ended: nobody waits for it there, a late answer finishes it.
    return (adopted, BuryAction(action=action.id, reason=reason))


def _contradict(view: ExecutionView, action: ActionView) -> tuple[Decision, ...]:
    released = {
        broker: report
        for broker, report in _who(action, ReportPhase.RELEASED).items()
        if report.by_hand and report.attempt == action.attempt
    }
    if not released:
        return ()
    if released.keys() == action.voters and not action.final:
        reason = f"{view.called(released)} released it {_why(released)}"
        return (RevertAction(action=action.id, reason=reason),)
    switched = {
        broker: report
        for broker, report in _who(action, ReportPhase.SWITCHED).items()
        if report.attempt == action.attempt
    }
    if action.state is not ActionState.COMMITTED:
        return ()
    if switched:
        reason = (
            f"{view.called(switched)} switched, {view.called(released)} released it "
            f"{_why(released)}: the overlay differs there from what is in force"
        )
    elif released.keys() == action.voters:
        reason = (
            f"{view.called(released)} released it {_why(released)}, and this cannot be rolled "
            "back: the overlay differs there from what is in force"
        )
    else:
        return ()
    return (BuryAction(action=action.id, reason=reason),)


def _who(action: ActionView, phase: ReportPhase) -> dict[str, Report]:
    """Broker -> what it said last of this kind, of whatever attempt."""
    return {
        broker: max(said, key=lambda report: report.attempt)
        for broker in action.voters
        if (said := [r for r in action.reports.get(broker, ()) if r.phase is phase])
    }


def _why(reports: dict[str, Report]) -> str:
    reasons = sorted({report.by_hand for report in reports.values() if report.by_hand})
    if reasons:
        return f"by hand ({'; '.join(reasons)})"
    return "before the database was set back"
