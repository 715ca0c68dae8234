"""What Weir keeps itself commits at once, and is done when the live brokers concerned follow."""

from dataclasses import replace
from itertools import product

import pytest

from tests.weir.coordination.builders import EVERYBODY, LIMITS, Runner, execution, move, setting
from weir.coordination.decisions import (
    AbortStep,
    BuryAction,
    BuryStep,
    CommitAction,
    FinishAction,
    MoveExecution,
)
from weir.lifecycle.executions import ExecutionCommand, ExecutionState
from weir.lifecycle.steps import ActionState, StepState

T0 = 1000.0
LATE = T0 + LIMITS.setting_timeout_s


def committed(*followers: str, **more: object) -> Runner:
    """An execution of one move, as far as it goes at T0."""
    runner = Runner(execution([move("x", *followers, **more)]))
    runner.advance(T0)
    return runner


def live(runner: Runner, *brokers: str) -> None:
    runner.view = replace(runner.view, live=frozenset(brokers))


def test_without_followers_it_is_done_at_once():
    runner = committed()
    assert runner.view.state is ExecutionState.SUCCEEDED
    assert runner.action("x").detail == ""


def test_it_waits_for_each_of_its_followers():
    runner = committed("a", "b")
    assert runner.action("x").state is ActionState.COMMITTED
    runner.change("x", followed_by=frozenset("a"))
    assert runner.advance(T0 + 1) == []
    runner.change("x", followed_by=frozenset("ab"))
    runner.advance(T0 + 2)
    assert runner.view.state is ExecutionState.SUCCEEDED


def test_it_is_committed_for_as_long_as_a_setting_is_prepared():
    (commit,) = [d for d in committed("a").decisions if isinstance(d, CommitAction)]
    assert commit.deadline == LATE


def test_nothing_follows_until_its_followers_are_known():
    runner = committed(follows=None)
    assert runner.action("x").state is ActionState.COMMITTED
    assert runner.advance(LATE + 1) == []
    runner.change("x", follows=frozenset("a"), followed_by=frozenset("a"))
    assert runner.advance(LATE + 1)[0] == FinishAction(action="x")


def test_others_of_its_step_go_on_meanwhile():
    runner = Runner(execution([move("x", follows=None), move("y", follows=None), setting("z")]))
    runner.advance(T0)
    states = [action.state for action in runner.view.steps[0].actions]
    assert states == [ActionState.COMMITTED, ActionState.COMMITTED, ActionState.DONE]


def test_the_silent_are_named_and_not_waited_for():
    runner = Runner(execution([move("x", "a", "b", "c")], live=frozenset("a")))
    runner.advance(T0)
    assert runner.action("x").state is ActionState.COMMITTED
    runner.change("x", followed_by=frozenset("a"))
    runner.advance(T0 + 1)
    assert runner.action("x").state is ActionState.DONE
    assert runner.action("x").detail == "b and c are silent and will follow later"


def test_past_the_deadline_it_is_buried_and_the_execution_fails():
    runner = committed("a", "b", "c", failures={"a": "it rains", "c": "unheard"})
    runner.change("x", followed_by=frozenset("b"))
    live(runner, "a", "b")
    assert runner.advance(LATE - 0.001) == []
    bury, *ends, failed = runner.advance(LATE)
    assert bury == BuryAction(
        action="x",
        reason="a did not follow within 15 s; a reports: it rains; c is silent; "
        "the change itself is in force",
    )
    assert ends == [AbortStep(step="s0"), BuryStep(step="s0")]
    assert isinstance(failed, MoveExecution)
    assert failed.command is ExecutionCommand.FAIL
    assert bury.reason in failed.reason


@pytest.fixture
def dead() -> Runner:
    runner = committed("a", "b")
    runner.advance(LATE)
    assert runner.action("x").state is ActionState.DEAD
    return runner


def test_buried_it_is_finished_once_all_have_followed(dead):
    dead.change("x", followed_by=frozenset("a"))
    assert dead.advance(LATE + 1) == []
    dead.change("x", followed_by=frozenset("ab"))
    assert dead.advance(LATE + 2) == [FinishAction(action="x")]
    assert dead.view.state is ExecutionState.FAILED
    assert dead.step(0) is StepState.DEAD


def test_buried_it_is_not_finished_by_silence(dead):
    live(dead)
    assert dead.advance(LATE + 1000) == []


def test_buried_it_is_not_finished_while_nobody_knows_its_followers(dead):
    dead.change("x", follows=None)
    assert dead.advance(LATE + 1) == []


def test_nobody_waits_for_a_broker_that_was_removed(dead):
    dead.view = replace(dead.view, removed=frozenset("ab"))
    assert dead.advance(LATE + 1) == [FinishAction(action="x")]


def test_a_rollback_takes_back_what_was_buried_and_waits_too(dead):
    dead.view = replace(dead.view, state=ExecutionState.ROLLING_BACK)
    dead.advance(LATE + 1)
    undo = dead.view.steps[-1].actions[0]
    assert (undo.inverts, undo.state) == ("x", ActionState.COMMITTED)
    dead.change(undo.id, followed_by=frozenset("ab"))
    dead.advance(LATE + 2)
    assert dead.view.state is ExecutionState.ROLLED_BACK


@pytest.mark.parametrize(
    ("is_live", "has_followed", "is_late"), list(product((False, True), repeat=3))
)
def test_every_case_of_one_follower(is_live, has_followed, is_late):
    runner = Runner(execution([move("x", "a")]))
    runner.advance(T0)
    assert runner.action("x").state is ActionState.COMMITTED
    live(runner, *(EVERYBODY if is_live else EVERYBODY - {"a"}))
    runner.change("x", followed_by=frozenset("a") if has_followed else frozenset())
    runner.advance(LATE if is_late else LATE - 1)
    expected = ActionState.DONE
    if is_live and not has_followed:
        expected = ActionState.DEAD if is_late else ActionState.COMMITTED
    assert runner.action("x").state is expected
    assert runner.advance(LATE if is_late else LATE - 1) == [], "a second call gives nothing"
