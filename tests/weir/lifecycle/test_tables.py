"""Every lifecycle table: total, closed, no way that the diagram does not show."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from weir.errors import IllegalTransition
from weir.lifecycle.adaptations import DECISIONS, DecisionCommand, DecisionState
from weir.lifecycle.changes import CHANGES, ChangeCommand, ChangeState
from weir.lifecycle.deliveries import DELIVERIES, DeliveryCommand, DeliveryState
from weir.lifecycle.executions import ACTIVE, EXECUTIONS, ExecutionCommand, ExecutionState
from weir.lifecycle.firings import FIRINGS, FiringCommand, FiringState
from weir.lifecycle.fits import FITS, FitCommand, FitState
from weir.lifecycle.imports import IMPORTS, ImportCommand, ImportState
from weir.lifecycle.plans import PLANS, UNSETTLED, PlanCommand, PlanState
from weir.lifecycle.runs import RUNS, RunCommand, RunState
from weir.lifecycle.steps import (
    ACTIONS,
    STEPS,
    ActionCommand,
    ActionState,
    StepCommand,
    StepState,
)
from weir.lifecycle.suggestions import SUGGESTIONS, SuggestionCommand, SuggestionState

if TYPE_CHECKING:
    from weir.lifecycle.machine import Machine

TABLES = [
    (PLANS, PlanState, PlanCommand),
    (EXECUTIONS, ExecutionState, ExecutionCommand),
    (STEPS, StepState, StepCommand),
    (ACTIONS, ActionState, ActionCommand),
    (RUNS, RunState, RunCommand),
    (FIRINGS, FiringState, FiringCommand),
    (FITS, FitState, FitCommand),
    (IMPORTS, ImportState, ImportCommand),
    (DECISIONS, DecisionState, DecisionCommand),
    (SUGGESTIONS, SuggestionState, SuggestionCommand),
    (CHANGES, ChangeState, ChangeCommand),
    (DELIVERIES, DeliveryState, DeliveryCommand),
]
# As the diagram of weir/lifecycle/plans.py draws it, written down a second time.
PLAN_WAYS = {
    ("draft", "submit"): "pending_review",
    ("draft", "go_stale"): "stale",
    ("draft", "supersede"): "superseded",
    ("draft", "discard"): "discarded",
    ("pending_review", "withdraw"): "draft",
    ("pending_review", "approve"): "approved",
    ("pending_review", "reject"): "rejected",
    ("pending_review", "go_stale"): "stale",
    ("pending_review", "supersede"): "superseded",
    ("pending_review", "discard"): "discarded",
    ("approved", "execute"): "executing",
    ("approved", "lapse"): "pending_review",
    ("approved", "go_stale"): "stale",
    ("approved", "supersede"): "superseded",
    ("approved", "discard"): "discarded",
    ("executing", "finish"): "executed",
    ("executing", "break_off"): "stale",
}


@pytest.mark.parametrize(("table", "states", "commands"), TABLES)
def test_every_state_has_its_row_and_every_way_leads_to_a_state(
    table: Machine[Any, Any], states: Any, commands: Any
) -> None:
    assert set(table.table) == set(states)
    for ways in table.table.values():
        assert set(ways) <= set(commands)
        assert set(ways.values()) <= set(states)


@pytest.mark.parametrize(("table", "states", "commands"), TABLES)
def test_advance_and_allows_agree_everywhere(
    table: Machine[Any, Any], states: Any, commands: Any
) -> None:
    for state, command in product(states, commands):
        if table.allows(state, command):
            assert table.advance(state, command) is table.table[state][command]
        else:
            with pytest.raises(IllegalTransition, match=rf"^an? {table.noun} that is"):
                table.advance(state, command)


@pytest.mark.parametrize(("table", "states", "commands"), TABLES)
def test_every_state_is_reached_from_the_first(
    table: Machine[Any, Any], states: Any, commands: Any
) -> None:
    first = next(iter(states))
    reached, frontier = {first}, [first]
    while frontier:
        for follows in table.table[frontier.pop()].values():
            if follows not in reached:
                reached.add(follows)
                frontier.append(follows)
    assert reached == set(states)


@pytest.mark.parametrize(("state", "command"), list(product(PlanState, PlanCommand)))
def test_the_whole_table_of_plans(state: PlanState, command: PlanCommand) -> None:
    follows = PLAN_WAYS.get((state.value, command.value))
    assert PLANS.allows(state, command) is (follows is not None)
    if follows is not None:
        assert PLANS.advance(state, command) is PlanState(follows)


def test_a_fit_is_decided_on_once_and_only_what_was_applied_is_undone() -> None:
    ways = {
        (state, command): follows
        for state in FitState
        for command, follows in FITS.table[state].items()
    }
    assert ways == {
        ("proposed", "apply"): "applied",
        ("proposed", "discard"): "discarded",
        ("applied", "undo"): "undone",
    }


def test_sets_of_states_are_what_their_names_say() -> None:
    assert {"draft", "pending_review", "approved"} == UNSETTLED
    assert {"executed", "rejected", "stale", "superseded", "discarded"} == PLANS.ended
    # A failed or stopped execution can still be rolled back, but holds its system no longer.
    assert {"succeeded", "rolled_back"} == EXECUTIONS.ended
    assert {"succeeded", "rolled_back", "stopped", "failed"} == set(ExecutionState) - ACTIVE


class PlanLife(RuleBasedStateMachine):
    """Any commands in any order: what a plan must have gone through to be where it is."""

    def __init__(self) -> None:
        super().__init__()
        self.state = PlanState.DRAFT
        self.past: list[PlanCommand] = []
        self.ended_as: PlanState | None = None

    @rule(command=st.sampled_from(PlanCommand))
    def command(self, command: PlanCommand) -> None:
        """Give a command; the table takes it or refuses it."""
        try:
            follows = PLANS.advance(self.state, command)
        except IllegalTransition:
            assert not PLANS.allows(self.state, command)
            return
        assert self.ended_as is None, "something moved after the end"
        self.state = follows
        self.past.append(command)
        if follows in PLANS.ended:
            self.ended_as = follows

    @precondition(lambda self: self.state not in PLANS.ended)
    @rule(data=st.data())
    def legal_command(self, data: st.DataObject) -> None:
        """Give one that the table has, so that walks get far."""
        ways = sorted(PLANS.table[self.state])
        self.command(PlanCommand(data.draw(st.sampled_from(ways))))

    @invariant()
    def approved_by_somebody_since_it_was_last_submitted(self) -> None:
        """Nothing is approved, executing or executed without an approval that came last."""
        if self.state in (PlanState.APPROVED, PlanState.EXECUTING, PlanState.EXECUTED):
            takes_back = {PlanCommand.SUBMIT, PlanCommand.WITHDRAW, PlanCommand.LAPSE}
            since = [c for c in self.past if c is PlanCommand.APPROVE or c in takes_back]
            assert since[-1] is PlanCommand.APPROVE

    @invariant()
    def executed_at_most_once(self) -> None:
        """A plan begins at most once, and what began is never unsettled again."""
        assert self.past.count(PlanCommand.EXECUTE) <= 1
        if PlanCommand.EXECUTE in self.past:
            assert self.state not in UNSETTLED

    @invariant()
    def submitted_as_often_as_withdrawn(self) -> None:
        """Only a submit leads out of draft into review, only a withdraw back."""
        balance = self.past.count(PlanCommand.SUBMIT) - self.past.count(PlanCommand.WITHDRAW)
        assert balance in (0, 1)
        if self.state is PlanState.DRAFT:
            assert balance == 0


TestPlanLife = PlanLife.TestCase
