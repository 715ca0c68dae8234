"""Decide what follows now from the state of one execution.

`decide` is a pure function of what the database says and of the time. It keeps nothing, so that
any process may call it, at any moment, any number of times: after its decisions are applied, a
second call gives nothing until a report, a command or the clock changes something. There is
no leader and nothing to recover after a crash.

Rules:
- A step begins when the one before has completed and `pace_s` has gone by, or `roll_back_pace_s`
  where it takes something back. Its actions run side by side, at most `max_parallel`, and never two
  tree actions that share a broker.
- A tree action commits when every participant has voted ready in the running attempt. A refusal or
  the deadline aborts it; it is tried again with the next number up to `max_attempts`. Every attempt
  waits twice as long as the one before: where all is well the first deadline keeps a pause short,
  and brokers that are slow because their machine is busy get the time they need.
- After the commit the order cannot be called off: it stands until everybody has switched. An action
  whose missing participants are silent past its deadline is buried, and finished if they answer
  or are removed from the overlay because they are gone for good.
- Who is gone for good is asked nothing; where its agent speaks again, nothing is removed.
- A setting commits when every broker concerned shows it; the deadline aborts it, once for all. One
  that Weir keeps itself, such as a move of the map, commits at once, and is done when every live
  broker that must follow has; a silent one follows when it returns. Past the deadline it is buried,
  and finished once all have followed: the map stays as it was committed.
- An action that failed for good ends its step, and the step the execution. What was done stays.
- Pause, stop and roll back take effect when the running step has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from weir.coordination.decisions import (
    AbortAction,
    AbortStep,
    AppendUndoSteps,
    BeginStep,
    BuryAction,
    BuryStep,
    CommitAction,
    CompleteStep,
    Decision,
    FinishAction,
    MoveExecution,
    PrepareAction,
    RetryAction,
    SettleAction,
    SettleStep,
    SkipAction,
    SkipStep,
    applied,
)
from weir.coordination.elsewhere import RUNNING_STEP, decided_elsewhere
from weir.coordination.views import ActionView, Direction, ExecutionView, Protocol, StepView
from weir.coordination.wire import Report, ReportPhase
from weir.lifecycle.executions import ExecutionCommand, ExecutionState
from weir.lifecycle.steps import ActionState, StepState

_E, _S, _A, _P = ExecutionState, StepState, ActionState, ReportPhase
UNDER_WAY = frozenset({_A.PREPARING, _A.COMMITTED, _A.ABORTING})
ENDED_ACTION = frozenset({_A.DONE, _A.ABORTED, _A.DEAD})
IN_FORCE = frozenset({ActionState.COMMITTED, ActionState.DONE, ActionState.DEAD})
"""From the commit on an action's effect is a fact, whether or not every agent has caught up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limit how long the coordinator waits, in seconds, and how often it tries."""

    prepare_timeout_s: float = 2.5
    """Of the first attempt at a tree action; twice as long for each one after it."""
    carry_timeout_s: float = 20.0
    """Of the first attempt at removing a broker: what waits for it is copied to other outboxes."""
    setting_timeout_s: float = 15.0
    release_timeout_s: float = 120.0
    """Of a list of publishers: whom it releases waits until all they had sent has passed."""
    bury_after_s: float = 600.0
    """Silence after a commit before a person is asked to look."""
    max_attempts: int = 3
    """Of a tree action."""


DEFAULT_LIMITS = Limits()


def decide(
    view: ExecutionView, now: float, limits: Limits = DEFAULT_LIMITS
) -> tuple[Decision, ...]:
    """Everything that follows now, in the order in which it is to be applied.

    Ends with `AppendUndoSteps` when a rollback needs steps that are not there yet: the caller
    appends them and calls again.
    """
    return Coordinator(limits).decide(view, now)


class Coordinator:
    """Apply the rules of the coordinator, one method per rule."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits

    def decide(self, view: ExecutionView, now: float) -> tuple[Decision, ...]:
        """Return all decisions that the view allows now, as the function `decide` documents."""
        decisions: list[Decision] = []
        while True:
            following = self._following(view, now)
            if not following:
                return tuple(decisions)
            for decision in following:
                decisions.append(decision)
                if isinstance(decision, AppendUndoSteps):
                    return tuple(decisions)
                view = applied(view, decision, now)

    def _following(self, view: ExecutionView, now: float) -> tuple[Decision, ...]:
        """Return the next decision, with those that must be applied together with it."""
        for step in view.steps:
            for action in step.actions:
                # Nobody switches a setting elsewhere, and a plan may have thousands of them.
                if action.protocol is not Protocol.TREE:
                    continue
                deadline = now + self.limits.bury_after_s
                elsewhere = decided_elsewhere(view, step, action, deadline)
                if elsewhere:
                    return elsewhere
        for action in (a for step in view.steps for a in step.actions if a.state is _A.DEAD):
            if action.follows is not None and not self._lagging(view, action):
                return (FinishAction(action=action.id),)
        for step in view.steps:
            if step.state in RUNNING_STEP:
                for action in step.actions:
                    if action.state is _A.DONE:
                        continue
                    for decision in self._of_action(view, step, action, now):
                        return (decision,)
                return self._end_of_step(view, step)
        return tuple(self._between_steps(view, now))

    # --- the execution between two steps

    def _between_steps(self, view: ExecutionView, now: float) -> Iterator[Decision]:
        waiting = [s for s in view.steps if s.state is _S.PENDING]
        forward = [s for s in waiting if s.direction is Direction.FORWARD]
        match view.state:
            case _E.PENDING:
                yield MoveExecution(command=ExecutionCommand.START)
            case _E.RUNNING | _E.PAUSING | _E.STOPPING if not forward:
                yield MoveExecution(command=ExecutionCommand.SUCCEED)
            case _E.RUNNING:
                yield from self._begin(view, forward[0], now)
            case _E.PAUSING | _E.STOPPING:
                yield MoveExecution(command=ExecutionCommand.SETTLE)
            case _E.ROLLING_BACK if forward:
                yield from _skipped(forward)
            case _E.ROLLING_BACK if waiting:
                yield from self._begin(view, waiting[0], now)
            case _E.ROLLING_BACK:
                undo = roll_back_steps(view)
                yield (
                    AppendUndoSteps(steps=undo)
                    if undo
                    else MoveExecution(command=ExecutionCommand.SETTLE)
                )
            case _E.STOPPED | _E.FAILED | _E.ROLLED_BACK:
                yield from _skipped(waiting)

    def _begin(self, view: ExecutionView, step: StepView, now: float) -> Iterator[Decision]:
        ended = [s.ended_at for s in view.steps if s.ended_at is not None]
        back = step.direction is Direction.UNDO
        pace_s = view.roll_back_pace_s if back else view.pace_s
        if not ended or now >= max(ended) + pace_s:
            yield BeginStep(step=step.id)

    # --- a running step

    def _end_of_step(self, view: ExecutionView, step: StepView) -> tuple[Decision, ...]:
        states = {action.state for action in step.actions}
        if not states <= ENDED_ACTION:
            return ()
        if step.state is _S.IN_PROGRESS:
            return (CompleteStep(step=step.id),)
        end = BuryStep(step=step.id) if _A.DEAD in states else SettleStep(step=step.id)
        if view.state is _E.ROLLING_BACK and step.direction is Direction.FORWARD:
            # It is being taken back anyway.
            return (end,)
        return (end, MoveExecution(command=ExecutionCommand.FAIL, reason=_why_failed(view, step)))

    def _of_action(
        self, view: ExecutionView, step: StepView, action: ActionView, now: float
    ) -> Iterator[Decision]:
        tree = action.protocol is Protocol.TREE
        match action.state:
            case _A.PENDING if step.state is _S.ABORTING:
                yield SkipAction(action=action.id)
            case _A.PENDING if self._has_room(view, step, action):
                yield PrepareAction(
                    action=action.id,
                    attempt=action.attempt + 1,
                    deadline=now + self._patience(action, action.attempt + 1),
                )
            case _A.PREPARING:
                yield from self._preparing(view, action, now)
            case _A.COMMITTED if not tree:
                yield from self._followed(view, action, now)
            case _A.COMMITTED:
                missing = self._lagging(view, action)
                if not missing:
                    yield FinishAction(action=action.id)
                elif _passed(action.deadline, now) and not missing & view.live:
                    yield BuryAction(
                        action=action.id,
                        reason=f"{view.called(missing)} did not confirm the switch and "
                        f"{_is(missing)} silent; the change is in force elsewhere",
                    )
            case _A.ABORTING:
                if tree:
                    missing = self._missing(action, _P.RELEASED, _P.REFUSED)
                    if not missing & view.live:
                        yield SettleAction(action=action.id)
                elif not (action.awaited & view.live) - action.confirmed_by or _passed(
                    action.deadline, now
                ):
                    yield SettleAction(action=action.id)
            case _A.ABORTED | _A.DEAD if step.state is _S.IN_PROGRESS:
                if tree and action.state is _A.ABORTED and self._may_retry(action):
                    yield RetryAction(action=action.id)
                else:
                    yield AbortStep(step=step.id)

    def _preparing(self, view: ExecutionView, action: ActionView, now: float) -> Iterator[Decision]:
        late = _passed(action.deadline, now)
        if action.protocol is Protocol.SETTING:
            missing = action.awaited - action.confirmed_by
        else:
            # Who has released was told by a peer that somebody refuses.
            refused = self._said(action, _P.REFUSED, _P.RELEASED)
            if refused:
                yield self._abort(
                    action,
                    "; ".join(
                        f"{view.called([broker])} {report.phase}: {_reason(report)}"
                        for broker, report in sorted(refused.items())
                    ),
                    now,
                )
                return
            back = action.gone & view.live
            if back:
                yield self._abort(
                    action,
                    f"the agent of {view.called(back)} speaks again, so nothing is removed: "
                    "look at the broker and plan again",
                    now,
                )
                return
            missing = self._missing(action, _P.READY)
            if action.gone and missing - view.live and action.deadline is not None:
                # Copying may take its time; for somebody who is silent the others do not pause.
                began = action.deadline - self._patience(action, action.attempt)
                late |= now >= began + self._brief(action.attempt)
        if not missing:
            yield self._commit(action, now)
        elif late:
            yield self._abort(action, self._late_text(view, action, missing), now)

    def _followed(self, view: ExecutionView, action: ActionView, now: float) -> Iterator[Decision]:
        """What follows while brokers follow a setting that is committed."""
        if action.follows is None:
            return
        missing = self._lagging(view, action)
        slow, silent = missing & view.live, missing - view.live
        if not slow:
            detail = (
                f"{view.called(silent)} {_is(silent)} silent and will follow later"
                if silent
                else ""
            )
            yield FinishAction(action=action.id, detail=detail)
        elif _passed(action.deadline, now):
            parts = [f"{view.called(slow)} did not follow within {self._patience(action, 1):g} s"]
            parts += self._failures(view, action, slow)
            if silent:
                parts.append(f"{view.called(silent)} {_is(silent)} silent")
            parts.append("the change itself is in force")
            yield BuryAction(action=action.id, reason="; ".join(parts))

    def _commit(self, action: ActionView, now: float) -> CommitAction:
        votes = self._said(action, _P.READY)
        interests = {
            role: tuple(sorted(votes[broker].interest))
            for role, broker in sorted(action.participants.items())
            if broker in votes
        }
        setting = action.protocol is Protocol.SETTING
        waits_s = self._patience(action, action.attempt) if setting else self.limits.bury_after_s
        return CommitAction(action=action.id, deadline=now + waits_s, interests=interests)

    def _abort(self, action: ActionView, reason: str, now: float) -> AbortAction:
        deadline = now + self._patience(action, action.attempt)
        return AbortAction(action=action.id, reason=reason, deadline=deadline)

    def _late_text(self, view: ExecutionView, action: ActionView, missing: frozenset[str]) -> str:
        silent, slow = missing - view.live, missing & view.live
        patience = self._brief if action.gone and silent else partial(self._patience, action)
        within = f"within {patience(action.attempt):g} s"
        parts = []
        if slow:
            what = "show the new value" if action.protocol is Protocol.SETTING else "get ready"
            parts.append(f"{view.called(slow)} did not {what} {within}")
            parts += self._failures(view, action, slow)
        if silent:
            agents = "the agents" if len(silent) > 1 else "the agent"
            parts.append(f"{agents} of {view.called(silent)} did not answer {within}")
        parts += filter(None, [action.waits])
        return "; ".join(parts)

    def _failures(
        self, view: ExecutionView, action: ActionView, brokers: frozenset[str]
    ) -> list[str]:
        return [
            f"{view.called([broker])} reports: {action.failures[broker]}"
            for broker in sorted(brokers & action.failures.keys())
        ]

    def _patience(self, action: ActionView, attempt: int) -> float:
        if action.releases:
            return self.limits.release_timeout_s
        if action.protocol is Protocol.SETTING:
            return self.limits.setting_timeout_s
        if action.gone:
            return self.limits.carry_timeout_s * 2.0 ** (attempt - 1)
        return self._brief(attempt)

    def _brief(self, attempt: int) -> float:
        """As long as a pause in which nothing is copied may be."""
        return self.limits.prepare_timeout_s * 2.0 ** (attempt - 1)

    def _may_retry(self, action: ActionView) -> bool:
        said = (r for broker in action.brokers for r in self._reports(action, broker))
        by_hand = action.by_hand or any(report.by_hand for report in said)
        return action.attempt < self.limits.max_attempts and not by_hand

    def _has_room(self, view: ExecutionView, step: StepView, action: ActionView) -> bool:
        """Return whether one more action may run: the limit is not reached and no tree action uses
        its brokers."""
        running = [a for a in step.actions if a.state in UNDER_WAY]
        if len(running) >= max(1, view.max_parallel):
            return False
        return action.protocol is not Protocol.TREE or not any(
            other.protocol is Protocol.TREE and other.brokers & action.brokers for other in running
        )

    # --- reports

    def _reports(self, action: ActionView, broker: str) -> Iterator[Report]:
        """Return the reports of the running attempt; late reports of earlier attempts prove
        nothing."""
        return (r for r in action.reports.get(broker, ()) if r.attempt == action.attempt)

    def _said(self, action: ActionView, *phases: ReportPhase) -> dict[str, Report]:
        return {
            broker: report
            for broker in action.voters
            for report in self._reports(action, broker)
            if report.phase in phases
        }

    def _missing(self, action: ActionView, *phases: ReportPhase) -> frozenset[str]:
        said = self._said(action, *phases)
        # Who switched by hand keeps its promise until it has heard that the database follows.
        known = {b for b, r in said.items() if r.phase is not _P.SWITCHED or not r.by_hand}
        return action.voters - known

    def _lagging(self, view: ExecutionView, action: ActionView) -> frozenset[str]:
        """Return who has not carried out yet what is committed; nobody waits for a removed
        broker."""
        if action.protocol is Protocol.TREE:
            return self._missing(action, _P.SWITCHED) - view.removed
        return (action.follows or frozenset()) - action.followed_by - view.removed


def _passed(deadline: float | None, now: float) -> bool:
    return deadline is not None and now >= deadline


def _skipped(steps: Iterable[StepView]) -> Iterator[Decision]:
    for step in steps:
        for action in step.actions:
            if action.state is _A.PENDING:
                yield SkipAction(action=action.id)
        yield SkipStep(step=step.id)


def _why_failed(view: ExecutionView, step: StepView) -> str:
    """Say in a sentence which step failed and what each failed action reported."""
    said = [
        f"{action.title or action.kind}: {action.detail}"
        for action in step.actions
        if action.state in (_A.ABORTED, _A.DEAD) and action.detail
    ]
    return f"{view.step_name(step.id)} failed: {'; '.join(said) or 'no reason given'}"


def _reason(report: Report) -> str:
    if report.by_hand:
        return f"by hand ({report.by_hand})"
    return report.detail or "no reason given"


def _is(brokers: frozenset[str]) -> str:
    return "is" if len(brokers) == 1 else "are"


def roll_back_steps(view: ExecutionView) -> tuple[tuple[str, ...], ...]:
    """The actions to invert: one entry per undo step, the last step first.

    What an earlier rollback has taken back already is left out; steps that never had an effect
    give no entry, nor does what has no inverse. Inside a step the order is turned round too.
    """
    taken_back = {
        action.inverts
        for step in view.steps
        if step.direction is Direction.UNDO
        for action in step.actions
        if action.state in IN_FORCE
    }
    undo = []
    for step in reversed(view.steps):
        if step.direction is Direction.FORWARD:
            actions = tuple(
                action.id
                for action in reversed(step.actions)
                if action.state in IN_FORCE and action.id not in taken_back and not action.final
            )
            if actions:
                undo.append(actions)
    return tuple(undo)
