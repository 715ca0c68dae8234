"""Short ways to write executions and orders in these tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from weir.coordination.coordinator import Limits, decide
from weir.coordination.decisions import AppendUndoSteps, Decision, applied
from weir.coordination.views import ActionView, Direction, ExecutionView, Protocol, StepView
from weir.coordination.wire import Order, OrderPhase, Report, ReportPhase
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.steps import ActionState, StepState

LIMITS = Limits(prepare_timeout_s=3.0, setting_timeout_s=15.0, bury_after_s=60.0, max_attempts=3)
EVERYBODY = frozenset({"a", "b", "c", "d", "e", "f"})


def shift(name: str, i: str = "a", j: str = "b", k: str = "c", **more: Any) -> ActionView:
    """A pending shift."""
    return ActionView(
        **{
            "id": name,
            "protocol": Protocol.TREE,
            "kind": "shift_link",
            "state": ActionState.PENDING,
            "participants": {"i": i, "j": j, "k": k},
            **more,
        }
    )


def setting(name: str, *brokers: str, **more: Any) -> ActionView:
    """A pending setting."""
    return ActionView(
        **{
            "id": name,
            "protocol": Protocol.SETTING,
            "kind": "set_flow_rate",
            "state": ActionState.PENDING,
            "awaited": frozenset(brokers),
            **more,
        }
    )


def move(name: str, *followers: str, **more: Any) -> ActionView:
    """A pending move of the map, which these brokers must follow."""
    return setting(name, **{"kind": "move_flow", "follows": frozenset(followers), **more})


def execution(*steps: list[ActionView], **more: Any) -> ExecutionView:
    """A pending execution of these steps."""
    return ExecutionView(
        **{
            "state": ExecutionState.PENDING,
            "steps": tuple(
                StepView(id=f"s{n}", index=n, state=StepState.PENDING, actions=tuple(actions))
                for n, actions in enumerate(steps)
            ),
            "live": EVERYBODY,
            **more,
        }
    )


class Runner:
    """An execution under test: advances, takes reports, remembers every decision."""

    def __init__(self, view: ExecutionView) -> None:
        self.view = view
        self.decisions: list[Decision] = []

    def advance(self, now: float) -> list[Decision]:
        """Decide and apply until nothing follows."""
        made: list[Decision] = []
        while decisions := decide(self.view, now, LIMITS):
            for decision in decisions:
                made.append(decision)
                if isinstance(decision, AppendUndoSteps):
                    self._append(decision)
                else:
                    self.view = applied(self.view, decision, now)
        self.decisions += made
        return made

    def _append(self, decision: AppendUndoSteps) -> None:
        first = len(self.view.steps)
        undo = tuple(
            StepView(
                id=f"s{first + n}",
                index=first + n,
                state=StepState.PENDING,
                direction=Direction.UNDO,
                actions=tuple(self._inverse(name, f"s{first + n}") for name in names),
            )
            for n, names in enumerate(decision.steps)
        )
        self.view = replace(self.view, steps=(*self.view.steps, *undo))

    def _inverse(self, name: str, step: str) -> ActionView:
        action = self.action(name)
        return replace(
            action,
            id=f"{step}-undo-{name}",
            state=ActionState.PENDING,
            inverts=name,
            attempt=0,
            reports={},
            confirmed_by=frozenset(),
            deadline=None,
        )

    def action(self, name: str) -> ActionView:
        """As it is now."""
        return next(a for s in self.view.steps for a in s.actions if a.id == name)

    def step(self, index: int) -> StepState:
        """State of the step."""
        return self.view.steps[index].state

    def change(self, name: str, **values: Any) -> None:
        """Something that did not come from the coordinator."""
        self.view = replace(
            self.view,
            steps=tuple(
                replace(
                    s,
                    actions=tuple(replace(a, **values) if a.id == name else a for a in s.actions),
                )
                for s in self.view.steps
            ),
        )

    def say(self, name: str, phase: ReportPhase, *brokers: str, **more: Any) -> None:
        """Reports of the running attempt (or `attempt=`) from these brokers; none: from all."""
        action = self.action(name)
        reports = dict(action.reports)
        for broker in brokers or tuple(action.participants.values()):
            report = Report(**{"action": name, "attempt": action.attempt, "phase": phase, **more})
            reports[broker] = (*reports.get(broker, ()), report)
        self.change(name, reports=reports)

    def carry_out(self, name: str, now: float) -> None:
        """Everybody does at once what the action asks."""
        self.say(name, ReportPhase.READY)
        self.advance(now)
        self.say(name, ReportPhase.SWITCHED)
        self.advance(now)


def order(
    phase: OrderPhase = OrderPhase.PREPARE, role: str = "i", attempt: int = 1, **more: Any
) -> Order:
    """An order of the shift i=I, j=J, k=K."""
    return Order(
        **{
            "action": "x",
            "attempt": attempt,
            "kind": "shift_link",
            "phase": phase,
            "role": role,
            "peers": {"i": "I", "j": "J", "k": "K"},
            **more,
        }
    )
