"""The life of a run: the whole table, and random walks through it."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.errors import IllegalTransition, WeirError
from weir.lifecycle.runs import (
    ENDED,
    RUNS,
    PersonCommand,
    RunCommand,
    RunState,
    allowed_commands,
)

LEGAL = {
    ("queued", "start"): "running",
    ("queued", "fail"): "failed",
    ("queued", "cancel"): "cancelled",
    ("running", "succeed"): "succeeded",
    ("running", "find_infeasible"): "infeasible",
    ("running", "fail"): "failed",
    ("running", "cancel"): "cancelled",
    ("running", "retry"): "queued",
}


@pytest.mark.parametrize(("state", "command"), list(product(RunState, RunCommand)))
def test_the_whole_table(state: RunState, command: RunCommand) -> None:
    follows = LEGAL.get((state.value, command.value))
    if follows is None:
        with pytest.raises(IllegalTransition, match=f"a run that is {state.value} cannot"):
            RUNS.advance(state, command)
    else:
        assert RUNS.advance(state, command) is RunState(follows)


def test_every_state_is_in_the_table() -> None:
    assert set(RUNS.table) == set(RunState)
    assert {"succeeded", "infeasible", "failed", "cancelled"} == ENDED


@given(st.lists(st.sampled_from(RunCommand)))
def test_a_run_that_ended_stays_ended(commands: list[RunCommand]) -> None:
    state, ended = RunState.QUEUED, None
    for command in commands:
        try:
            state = RUNS.advance(state, command)
        except IllegalTransition:
            continue
        assert ended is None
        ended = state if state in ENDED else None


@pytest.mark.parametrize("state", RunState)
def test_a_person_may_cancel_what_lives_and_rerun_what_ended(state: RunState) -> None:
    expected = PersonCommand.RERUN if state in ENDED else PersonCommand.CANCEL
    assert allowed_commands(state) == (expected,)


def test_plain_strings_from_a_column_will_do() -> None:
    assert RUNS.advance("queued", "start") == "running"  # type: ignore[arg-type]
    assert issubclass(IllegalTransition, WeirError)
