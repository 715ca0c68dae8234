"""Outcomes that the coordinator did not decide: adopted, reverted, or named as contradictions."""

from __future__ import annotations

import pytest

from tests.weir.coordination.builders import LIMITS, Runner, execution, shift
from weir.coordination.decisions import (
    AbortAction,
    AdoptAction,
    BuryAction,
    CommitAction,
    FinishAction,
    RevertAction,
    SettleAction,
)
from weir.coordination.views import orders_of
from weir.coordination.wire import OrderPhase, ReportPhase
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.steps import ActionState

INTERESTS = {"i": ("f1",), "j": (), "k": ("f3",)}
READY, SWITCHED, RELEASED = ReportPhase.READY, ReportPhase.SWITCHED, ReportPhase.RELEASED


def running() -> Runner:
    runner = Runner(execution([shift("x")]))
    runner.advance(0.0)
    assert runner.action("x").state is ActionState.PREPARING
    return runner


def by_hand(runner: Runner, phase: ReportPhase, *brokers: str, **more: object) -> None:
    interests = INTERESTS if phase is SWITCHED else {}
    runner.say("x", phase, *brokers, by_hand="Weir is gone", interests=interests, **more)


def test_a_switch_by_hand_is_adopted_and_the_others_are_ordered_to_follow() -> None:
    runner = running()
    by_hand(runner, SWITCHED, "a")
    (adopted,) = runner.advance(1.0)
    assert isinstance(adopted, AdoptAction)
    assert "a switched by hand (Weir is gone)" in adopted.reason
    order = orders_of(runner.action("x"), {}).get("b")
    assert order is not None
    assert (order.phase, dict(order.interests)) == (OrderPhase.COMMIT, INTERESTS)
    by_hand(runner, SWITCHED, "b", "c")
    # They keep their promise until they have heard of the commit, so its order has to stay.
    assert runner.advance(2.0) == []
    runner.say("x", SWITCHED)
    assert FinishAction(action="x") in runner.advance(3.0)
    assert runner.view.state is ExecutionState.SUCCEEDED


def test_a_switch_by_hand_is_adopted_although_the_attempt_was_called_off_meanwhile() -> None:
    runner = running()
    assert any(isinstance(d, AbortAction) for d in runner.advance(LIMITS.prepare_timeout_s))
    by_hand(runner, SWITCHED)
    assert isinstance(runner.advance(4.0)[0], AdoptAction)
    runner.say("x", SWITCHED)
    runner.advance(5.0)
    assert runner.action("x").state is ActionState.DONE


def test_a_switch_of_an_earlier_attempt_is_adopted_in_the_running_one() -> None:
    runner = running()
    runner.advance(LIMITS.prepare_timeout_s)
    runner.say("x", RELEASED)
    runner.advance(4.0)
    assert runner.action("x").attempt == 2
    by_hand(runner, SWITCHED, "a", attempt=1)
    assert isinstance(runner.advance(5.0)[0], AdoptAction)
    order = orders_of(runner.action("x"), {}).get("a")
    assert order is not None
    assert (order.phase, order.attempt) == (OrderPhase.COMMIT, 2)
    # Only who has switched by this order is counted.
    assert runner.action("x").state is ActionState.COMMITTED
    runner.say("x", SWITCHED)
    runner.advance(6.0)
    assert runner.action("x").state is ActionState.DONE


def test_a_switch_that_is_heard_after_the_step_has_ended_is_adopted_too() -> None:
    runner = running()
    runner.say("x", ReportPhase.REFUSED, "b", detail="no")
    for at in range(1, 10):
        runner.advance(float(at))
        runner.say("x", ReportPhase.REFUSED, "b", detail="no")
        runner.say("x", RELEASED, "a", "c")
    assert runner.view.state is ExecutionState.FAILED
    by_hand(runner, SWITCHED, "a", attempt=1)
    made = runner.advance(20.0)
    assert [type(d) for d in made] == [AdoptAction, BuryAction]
    runner.say("x", SWITCHED)
    assert runner.advance(21.0) == [FinishAction(action="x")]


def test_a_switch_without_the_flows_of_all_sides_cannot_be_adopted() -> None:
    runner = running()
    runner.say("x", SWITCHED, "a", by_hand="Weir is gone", interests={"i": ()})
    assert not [d for d in runner.advance(1.0) if isinstance(d, AdoptAction)]


def test_a_switch_that_the_database_forgot_is_adopted_without_a_hand() -> None:
    runner = running()
    runner.say("x", SWITCHED, "a", interests=INTERESTS)
    (adopted,) = runner.advance(1.0)
    assert isinstance(adopted, AdoptAction)
    assert "before the database was set back" in adopted.reason


def committed() -> Runner:
    runner = running()
    runner.say("x", READY)
    assert isinstance(runner.advance(1.0)[0], CommitAction)
    return runner


def test_a_commit_that_all_released_by_hand_is_reverted_and_not_tried_again() -> None:
    runner = committed()
    by_hand(runner, RELEASED, "a", "b")
    assert runner.advance(2.0) == []
    by_hand(runner, RELEASED, "c")
    assert isinstance(runner.advance(3.0)[0], RevertAction)
    assert runner.action("x").state is ActionState.ABORTED
    assert runner.view.state is ExecutionState.FAILED


@pytest.mark.parametrize("first", [SWITCHED, RELEASED])
def test_hands_that_contradict_are_named(first: ReportPhase) -> None:
    runner = committed()
    by_hand(runner, first, "a")
    runner.advance(2.0)
    by_hand(runner, RELEASED if first is SWITCHED else SWITCHED, "b", "c")
    runner.advance(3.0)
    action = runner.action("x")
    assert action.state is ActionState.DEAD
    assert "released it by hand (Weir is gone)" in action.detail
    assert "switched" in action.detail


def test_what_was_released_by_hand_before_the_commit_cannot_be_committed() -> None:
    runner = running()
    runner.say("x", READY, "a", "b")
    by_hand(runner, RELEASED, "a")
    runner.say("x", READY, "c")
    made = runner.advance(1.0)
    assert isinstance(made[0], AbortAction)
    assert "a released: by hand (Weir is gone)" in made[0].reason


def test_an_ordinary_release_reverts_nothing() -> None:
    runner = committed()
    runner.say("x", RELEASED)
    assert runner.advance(2.0) == []
    assert runner.action("x").state is ActionState.COMMITTED


def test_an_attempt_that_was_released_by_hand_and_aborted_is_not_tried_again() -> None:
    runner = running()
    runner.advance(LIMITS.prepare_timeout_s)
    by_hand(runner, RELEASED)
    assert SettleAction(action="x") in runner.advance(4.0)
    assert (runner.action("x").state, runner.action("x").attempt) == (ActionState.ABORTED, 1)
    assert runner.view.state is ExecutionState.FAILED


def test_an_attempt_that_a_person_ended_is_not_tried_again() -> None:
    runner = running()
    runner.change("x", by_hand="stop it", state=ActionState.ABORTING)
    runner.say("x", RELEASED)
    assert SettleAction(action="x") in runner.advance(1.0)
    assert runner.action("x").state is ActionState.ABORTED
    assert runner.view.state is ExecutionState.FAILED
