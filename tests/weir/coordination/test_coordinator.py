"""The executor's decisions, one rule after the other."""

from dataclasses import replace

import pytest

from tests.weir.coordination.builders import EVERYBODY, LIMITS, Runner, execution, setting, shift
from weir.coordination.coordinator import decide, roll_back_steps
from weir.coordination.decisions import (
    AbortAction,
    BuryAction,
    CommitAction,
    FinishAction,
    MoveExecution,
    PrepareAction,
)
from weir.coordination.views import Direction, orders_of
from weir.coordination.wire import OrderPhase, ReportPhase
from weir.lifecycle.executions import EXECUTIONS, ExecutionCommand, ExecutionState
from weir.lifecycle.steps import ActionState, StepState

READY, REFUSED = ReportPhase.READY, ReportPhase.REFUSED
SWITCHED, RELEASED = ReportPhase.SWITCHED, ReportPhase.RELEASED


def kinds(decisions: object) -> list[str]:
    return [type(d).__name__ for d in decisions]  # type: ignore[attr-defined]


def command(runner: Runner, what: ExecutionCommand) -> None:
    runner.view = replace(runner.view, state=EXECUTIONS.advance(runner.view.state, what))


def test_starts_begins_and_prepares_at_once() -> None:
    runner = Runner(execution([shift("x")]))
    made = runner.advance(10.0)
    assert kinds(made) == ["MoveExecution", "BeginStep", "PrepareAction"]
    assert made[-1] == PrepareAction(action="x", attempt=1, deadline=13.0)


def test_says_nothing_twice() -> None:
    runner = Runner(execution([shift("x")]))
    runner.advance(0.0)
    assert decide(runner.view, 0.0, LIMITS) == ()
    assert decide(runner.view, 2.9, LIMITS) == ()


def test_commits_only_with_every_vote_and_passes_the_interests_on() -> None:
    runner = Runner(execution([shift("x")]))
    runner.advance(0.0)
    runner.say("x", READY, "a", interest=("f2", "f1"))
    runner.say("x", READY, "b", interest=())
    assert runner.advance(1.0) == []
    runner.say("x", READY, "c", interest=("f3",))
    assert runner.advance(1.0) == [
        CommitAction(
            action="x", deadline=61.0, interests={"i": ("f1", "f2"), "j": (), "k": ("f3",)}
        )
    ]


def test_finishes_when_everybody_has_switched() -> None:
    runner = Runner(execution([shift("x")]))
    runner.advance(0.0)
    runner.say("x", READY)
    runner.advance(1.0)
    runner.say("x", SWITCHED, "a", "b")
    assert runner.advance(2.0) == []
    runner.say("x", SWITCHED, "c")
    assert kinds(runner.advance(2.0)) == ["FinishAction", "CompleteStep", "MoveExecution"]
    assert runner.view.state is ExecutionState.SUCCEEDED


def test_votes_of_an_earlier_attempt_do_not_count() -> None:
    runner = Runner(execution([shift("x")]))
    runner.advance(0.0)
    runner.advance(3.0)
    runner.say("x", RELEASED)
    runner.advance(3.5)
    assert runner.action("x").attempt == 2
    runner.say("x", READY, attempt=1)
    assert runner.advance(4.0) == []
    assert runner.action("x").state is ActionState.PREPARING


def test_a_refusal_aborts_at_once_and_says_why() -> None:
    runner = Runner(execution([shift("x")], names={"b": "Berlin"}))
    runner.advance(0.0)
    runner.say("x", REFUSED, "b", detail="cannot reach c")
    (made,) = runner.advance(0.5)
    assert isinstance(made, AbortAction)
    assert made.reason == "Berlin refused: cannot reach c"


def test_the_deadline_aborts_and_names_slow_and_silent_brokers() -> None:
    runner = Runner(execution([shift("x")], live=EVERYBODY - {"c"}))
    runner.advance(0.0)
    runner.say("x", READY, "a")
    (made,) = [d for d in runner.advance(3.0) if isinstance(d, AbortAction)]
    assert made.reason == (
        "b did not get ready within 3 s; the agent of c did not answer within 3 s"
    )


def test_votes_that_arrive_after_the_abort_do_not_commit() -> None:
    runner = Runner(execution([shift("x")]))
    runner.advance(0.0)
    runner.advance(3.0)
    runner.say("x", READY)
    assert runner.advance(3.1) == []
    assert runner.action("x").state is ActionState.ABORTING


def test_an_abort_waits_for_the_living_only() -> None:
    runner = Runner(execution([shift("x")]))
    runner.advance(0.0)
    runner.advance(3.0)
    runner.say("x", RELEASED, "a", "b")
    assert runner.advance(3.2) == []
    runner.view = replace(runner.view, live=EVERYBODY - {"c"})
    assert kinds(runner.advance(3.3))[0] == "SettleAction"


def test_tries_three_times_then_fails_with_the_completed_actions_kept() -> None:
    runner = Runner(execution([setting("r", "d"), shift("x")], [shift("y")]))
    runner.advance(0.0)
    runner.change("r", confirmed_by=frozenset({"d"}))
    runner.advance(0.1)
    now = 0.0
    for attempt, patience_s in ((1, 3.0), (2, 6.0), (3, 12.0)):
        assert runner.action("x").attempt == attempt
        assert runner.advance(now + patience_s - 0.1) == []
        now += patience_s
        runner.advance(now)
        runner.say("x", RELEASED)
        runner.advance(now)
    assert runner.view.state is ExecutionState.FAILED
    assert runner.step(0) is StepState.ABORTED
    assert runner.step(1) is StepState.ABORTED
    assert runner.action("r").state is ActionState.DONE
    assert runner.action("y").state is ActionState.ABORTED
    (failed,) = [d for d in runner.decisions if isinstance(d, MoveExecution) and d.reason]
    assert failed.reason.startswith("Step 1 failed: shift_link: a, b and c did not get ready")


def test_a_failed_action_lets_the_others_of_its_step_end() -> None:
    runner = Runner(execution([setting("r", "d"), shift("x")]))
    runner.advance(0.0)
    runner.say("x", READY)
    runner.advance(14.0)
    runner.advance(15.0)
    runner.advance(30.0)
    assert runner.action("r").state is ActionState.ABORTED
    assert runner.step(0) is StepState.ABORTING
    runner.say("x", SWITCHED)
    runner.advance(31.0)
    assert runner.action("x").state is ActionState.DONE
    assert runner.view.state is ExecutionState.FAILED


def test_never_aborts_after_the_commit_but_buries_the_silent() -> None:
    runner = Runner(execution([shift("x")]))
    runner.advance(0.0)
    runner.say("x", READY)
    runner.advance(1.0)
    runner.say("x", SWITCHED, "a", "b")
    assert runner.advance(1000.0) == []
    runner.view = replace(runner.view, live=EVERYBODY - {"c"})
    made = runner.advance(1001.0)
    assert kinds(made) == ["BuryAction", "AbortStep", "BuryStep", "MoveExecution"]
    assert isinstance(made[0], BuryAction)
    assert made[0].reason.startswith("c did not confirm the switch and is silent")
    assert runner.view.state is ExecutionState.FAILED


def test_a_buried_action_is_finished_by_a_late_answer_and_keeps_its_order_until_then() -> None:
    runner = Runner(execution([shift("x")], live=EVERYBODY - {"c"}))
    runner.advance(0.0)
    runner.say("x", READY)
    runner.advance(1.0)
    runner.say("x", SWITCHED, "a", "b")
    runner.advance(100.0)
    kept = orders_of(runner.action("x"), {}).get("c")
    assert kept is not None
    assert kept.phase is OrderPhase.COMMIT
    runner.say("x", SWITCHED, "c")
    assert runner.advance(500.0) == [FinishAction(action="x")]
    assert orders_of(runner.action("x"), {}).get("c") is None


def test_a_setting_commits_when_all_show_it() -> None:
    runner = Runner(execution([setting("r", "a", "b")]))
    runner.advance(0.0)
    runner.change("r", confirmed_by=frozenset({"a"}))
    assert runner.advance(1.0) == []
    runner.change("r", confirmed_by=frozenset({"a", "b"}))
    assert kinds(runner.advance(1.0))[:2] == ["CommitAction", "FinishAction"]


def test_a_setting_nobody_shows_is_aborted_and_settled() -> None:
    runner = Runner(execution([setting("r", "a", "b")], live=frozenset({"a"})))
    runner.advance(0.0)
    (made,) = [d for d in runner.advance(15.0) if isinstance(d, AbortAction)]
    assert "a did not show the new value within 15 s" in made.reason
    assert "the agent of b did not answer within 15 s" in made.reason
    assert "reports" not in made.reason
    assert runner.action("r").state is ActionState.ABORTING
    runner.change("r", confirmed_by=frozenset({"a"}))
    runner.advance(16.0)
    assert runner.action("r").state is ActionState.ABORTED
    assert runner.view.state is ExecutionState.FAILED


def test_the_reason_of_an_abort_is_what_the_agent_says_of_it() -> None:
    runner = Runner(execution([setting("r", "a", "b")]))
    runner.advance(0.0)
    runner.change("r", confirmed_by=frozenset({"b"}), failures={"a": "the disk is full"})
    (made,) = [d for d in runner.advance(15.0) if isinstance(d, AbortAction)]
    assert made.reason == ("a did not show the new value within 15 s; a reports: the disk is full")


def test_settings_that_concern_no_broker_are_done_at_once_whoever_is_silent() -> None:
    moves = [setting(name, kind="move_flow") for name in ("x", "y")]
    runner = Runner(execution(moves, [setting("z")], live=frozenset(), max_parallel=1, pace_s=5.0))
    done = ["PrepareAction", "CommitAction", "FinishAction"]
    assert kinds(decide(runner.view, 10.0, LIMITS)) == [
        "MoveExecution",
        "BeginStep",
        *done,
        *done,
        "CompleteStep",
    ]
    runner.advance(10.0)
    assert runner.advance(14.9) == []
    assert kinds(runner.advance(15.0)) == ["BeginStep", *done, "CompleteStep", "MoveExecution"]
    assert runner.view.state is ExecutionState.SUCCEEDED


def test_moves_are_rolled_back_at_once_last_first() -> None:
    runner = Runner(execution([setting("x"), setting("y")], [setting("z")], pace_s=5.0))
    runner.advance(0.0)
    command(runner, ExecutionCommand.ROLL_BACK)
    made = runner.advance(1.0)
    finished = [decision.action for decision in made if isinstance(decision, FinishAction)]
    assert finished == ["s2-undo-y", "s2-undo-x"]
    assert runner.action("z").attempt == 0
    assert runner.view.state is ExecutionState.ROLLED_BACK


def test_a_move_beside_a_setting_that_fails_stays_and_ends_with_it() -> None:
    runner = Runner(execution([setting("kept"), setting("slow", "a"), setting("also")]))
    runner.advance(0.0)
    assert runner.action("also").state is ActionState.DONE
    runner.advance(LIMITS.setting_timeout_s)
    runner.advance(2 * LIMITS.setting_timeout_s)
    assert runner.view.state is ExecutionState.FAILED
    states = {name: runner.action(name).state for name in ("kept", "slow", "also")}
    assert states == {
        "kept": ActionState.DONE,
        "slow": ActionState.ABORTED,
        "also": ActionState.DONE,
    }


def test_runs_at_most_max_parallel() -> None:
    steps = [setting(name, name) for name in "abcde"]
    runner = Runner(execution(steps, max_parallel=2))
    runner.advance(0.0)
    assert [a.state for a in runner.view.steps[0].actions].count(ActionState.PREPARING) == 2


def test_tree_actions_that_share_a_broker_wait_for_each_other() -> None:
    runner = Runner(execution([shift("x"), shift("y", "c", "d", "e"), setting("r", "a")]))
    runner.advance(0.0)
    assert runner.action("y").state is ActionState.PENDING
    assert runner.action("r").state is ActionState.PREPARING
    runner.carry_out("x", 1.0)
    assert runner.action("y").state is ActionState.PREPARING


def test_the_next_step_waits_for_the_pace() -> None:
    runner = Runner(execution([shift("x")], [shift("y")], pace_s=5.0))
    runner.advance(0.0)
    runner.carry_out("x", 1.0)
    assert runner.advance(5.9) == []
    assert kinds(runner.advance(6.0)) == ["BeginStep", "PrepareAction"]


@pytest.mark.parametrize("pace_s", [0.0, 3.0])
def test_a_rollback_keeps_its_own_pace_and_not_that_of_the_plan(pace_s: float) -> None:
    steps = [shift("x")], [shift("y")], [shift("z")]
    runner = Runner(execution(*steps, pace_s=40.0, roll_back_pace_s=pace_s))
    runner.advance(0.0)
    runner.carry_out("x", 1.0)
    assert runner.advance(40.9) == []
    runner.advance(41.0)
    runner.carry_out("y", 42.0)
    command(runner, ExecutionCommand.ROLL_BACK)
    ended = 42.0
    for index, name in ((3, "s3-undo-y"), (4, "s4-undo-x")):
        runner.advance(ended)
        if pace_s:
            runner.advance(ended + pace_s - 0.1)
            assert runner.step(index) is StepState.PENDING
        runner.advance(ended + pace_s)
        assert runner.step(index) is StepState.IN_PROGRESS
        ended += pace_s + 1.0
        runner.carry_out(name, ended)
    assert runner.view.state is ExecutionState.ROLLED_BACK


@pytest.mark.parametrize(
    ("asked", "then"),
    [
        (ExecutionCommand.PAUSE, ExecutionState.PAUSED),
        (ExecutionCommand.STOP, ExecutionState.STOPPED),
    ],
)
def test_pause_and_stop_take_effect_after_the_running_step(
    asked: ExecutionCommand, then: ExecutionState
) -> None:
    runner = Runner(execution([shift("x")], [shift("y")]))
    runner.advance(0.0)
    command(runner, asked)
    assert runner.advance(0.5) == []
    runner.carry_out("x", 1.0)
    assert runner.view.state is then
    expected = StepState.PENDING if then is ExecutionState.PAUSED else StepState.ABORTED
    assert runner.step(1) is expected


def test_resume_goes_on_with_the_next_step() -> None:
    runner = Runner(execution([shift("x")], [shift("y")]))
    runner.advance(0.0)
    command(runner, ExecutionCommand.PAUSE)
    runner.carry_out("x", 1.0)
    command(runner, ExecutionCommand.RESUME)
    runner.advance(2.0)
    assert runner.action("y").state is ActionState.PREPARING


def test_a_pause_that_finds_no_further_step_succeeds() -> None:
    runner = Runner(execution([shift("x")]))
    runner.advance(0.0)
    command(runner, ExecutionCommand.PAUSE)
    runner.carry_out("x", 1.0)
    assert runner.view.state is ExecutionState.SUCCEEDED


def test_rolls_back_what_was_done_in_reverse_and_skips_the_rest() -> None:
    runner = Runner(execution([shift("x"), shift("y", "d", "e", "f")], [shift("z")], [shift("w")]))
    runner.advance(0.0)
    runner.carry_out("x", 1.0)
    runner.carry_out("y", 1.0)
    command(runner, ExecutionCommand.ROLL_BACK)
    runner.carry_out("z", 2.0)
    assert runner.action("w").state is ActionState.ABORTED
    assert [[a.inverts for a in s.actions] for s in runner.view.steps[3:]] == [["z"], ["y", "x"]]
    runner.carry_out("s3-undo-z", 3.0)
    runner.carry_out("s4-undo-y", 4.0)
    runner.carry_out("s4-undo-x", 4.0)
    assert runner.view.state is ExecutionState.ROLLED_BACK


def test_a_second_rollback_takes_back_only_what_the_first_left() -> None:
    runner = Runner(execution([shift("x")], [shift("y")], [shift("z")]))
    runner.advance(0.0)
    runner.carry_out("x", 1.0)
    runner.carry_out("y", 2.0)
    command(runner, ExecutionCommand.ROLL_BACK)
    runner.carry_out("z", 3.0)
    runner.carry_out("s3-undo-z", 4.0)
    for now in (10.0, 30.0, 50.0):
        runner.advance(now)
        runner.advance(now + 12)
        runner.say("s4-undo-y", RELEASED)
        runner.advance(now + 12)
    assert runner.view.state is ExecutionState.FAILED
    assert runner.step(5) is StepState.ABORTED
    (failed,) = [d for d in runner.decisions if isinstance(d, MoveExecution) and d.reason]
    assert failed.reason.startswith("Roll back 2 failed: ")
    assert roll_back_steps(runner.view) == (("y",), ("x",))
    command(runner, ExecutionCommand.ROLL_BACK)
    runner.advance(70.0)
    runner.carry_out("s6-undo-y", 71.0)
    runner.carry_out("s7-undo-x", 72.0)
    assert runner.view.state is ExecutionState.ROLLED_BACK


def test_a_stopped_execution_can_be_rolled_back() -> None:
    runner = Runner(execution([shift("x")], [shift("y")]))
    runner.advance(0.0)
    command(runner, ExecutionCommand.STOP)
    runner.carry_out("x", 1.0)
    command(runner, ExecutionCommand.ROLL_BACK)
    runner.advance(2.0)
    runner.carry_out("s2-undo-x", 3.0)
    assert runner.view.state is ExecutionState.ROLLED_BACK


def test_a_rollback_with_nothing_done_ends_at_once() -> None:
    runner = Runner(execution([shift("x")]))
    runner.advance(0.0)
    command(runner, ExecutionCommand.ROLL_BACK)
    for now in (3.0, 13.0, 23.0):
        runner.advance(now)
        runner.say("x", RELEASED)
        runner.advance(now)
        if runner.action("x").state is ActionState.PREPARING:
            runner.advance(now + 12)
            runner.say("x", RELEASED)
            runner.advance(now + 12)
    assert runner.view.state is ExecutionState.ROLLED_BACK


def test_a_buried_action_is_taken_back_too() -> None:
    runner = Runner(execution([shift("x")], live=EVERYBODY - {"c"}))
    runner.advance(0.0)
    runner.say("x", READY)
    runner.advance(1.0)
    runner.say("x", SWITCHED, "a", "b")
    runner.advance(100.0)
    assert runner.action("x").state is ActionState.DEAD
    assert roll_back_steps(runner.view) == (("x",),)


def test_orders_go_to_participants_only_and_follow_the_state() -> None:
    action = shift("x", state=ActionState.PREPARING, attempt=2)
    addresses = {"a": "nats://a", "b": "nats://b", "z": "nats://z"}
    got = orders_of(action, addresses).get("a")
    assert got is not None
    assert (got.role, got.attempt, got.phase) == ("i", 2, OrderPhase.PREPARE)
    assert got.addresses == {"a": "nats://a", "b": "nats://b"}
    assert orders_of(action, addresses).get("z") is None
    assert orders_of(replace(action, state=ActionState.PENDING), addresses).get("a") is None
    assert orders_of(setting("r", "a", state=ActionState.PREPARING), {}).get("a") is None


@pytest.mark.parametrize(
    ("undone", "again"),
    [
        (ActionState.COMMITTED, ()),
        (ActionState.DONE, ()),
        (ActionState.DEAD, ()),
        (ActionState.ABORTED, (("x",),)),
        (ActionState.PREPARING, (("x",),)),
    ],
)
def test_what_has_been_taken_back_from_the_commit_on_is_not_taken_back_again(
    undone: ActionState, again: tuple[tuple[str, ...], ...]
) -> None:
    done = shift("x", state=ActionState.DONE)
    back = shift("u", state=undone, inverts="x")
    view = execution([done], [back])
    forward, undo = view.steps
    view = replace(view, steps=(forward, replace(undo, direction=Direction.UNDO)))
    assert roll_back_steps(view) == again
