"""Whatever is reported, asked and waited for: the coordinator keeps its promises."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.coordination.builders import EVERYBODY, LIMITS, Runner, execution, setting, shift
from weir.coordination.coordinator import UNDER_WAY, decide
from weir.coordination.decisions import AbortAction, CommitAction, PrepareAction
from weir.coordination.views import Protocol
from weir.coordination.wire import ReportPhase
from weir.lifecycle.executions import EXECUTIONS, PERSON_COMMANDS
from weir.lifecycle.steps import ActionState

BROKERS = sorted(EVERYBODY)
TRIPLES = st.lists(st.sampled_from(BROKERS), min_size=3, max_size=3, unique=True)


@st.composite
def runners(draw: st.DrawFn) -> Runner:
    number = iter(range(100))
    steps = []
    for _ in range(draw(st.integers(1, 3))):
        actions = []
        for _ in range(draw(st.integers(1, 3))):
            if draw(st.booleans()):
                actions.append(shift(f"x{next(number)}", *draw(TRIPLES)))
            else:
                concerned = draw(st.sampled_from([(), *((broker,) for broker in BROKERS)]))
                actions.append(setting(f"r{next(number)}", *concerned))
        steps.append(actions)
    return Runner(
        execution(
            *steps,
            pace_s=draw(st.sampled_from((0.0, 2.0))),
            max_parallel=draw(st.integers(1, 3)),
        )
    )


def happens(runner: Runner, data: st.DataObject) -> None:
    """A report, a confirmation, a command, or somebody falls silent."""
    under_way = [
        a for s in runner.view.steps for a in s.actions if a.state in UNDER_WAY | {ActionState.DEAD}
    ]
    kind = data.draw(st.sampled_from(("say", "say", "say", "confirm", "command", "silence")))
    if kind == "say" and under_way:
        action = data.draw(st.sampled_from(under_way))
        if action.participants:
            runner.say(
                action.id,
                data.draw(st.sampled_from(list(ReportPhase))),
                *data.draw(st.sets(st.sampled_from(sorted(action.participants.values())))),
                attempt=max(1, action.attempt - data.draw(st.sampled_from((0, 0, 0, 1)))),
            )
    elif kind == "confirm" and under_way:
        action = data.draw(st.sampled_from(under_way))
        runner.change(action.id, confirmed_by=action.awaited)
    elif kind == "command":
        command = data.draw(st.sampled_from(PERSON_COMMANDS))
        if EXECUTIONS.allows(runner.view.state, command):
            runner.view = replace(runner.view, state=EXECUTIONS.advance(runner.view.state, command))
    elif kind == "silence":
        runner.view = replace(
            runner.view, live=frozenset(data.draw(st.sets(st.sampled_from(BROKERS))))
        )


@given(runners(), st.data())
@settings(max_examples=60, deadline=None)
def test_promises_hold_whatever_happens(runner: Runner, data: st.DataObject) -> None:
    now = 0.0
    attempts: dict[str, int] = {}
    fates: dict[tuple[str, int], type] = {}
    for _ in range(data.draw(st.integers(5, 40))):
        made = runner.advance(now)
        assert decide(runner.view, now, LIMITS) == ()
        for decision in made:
            if isinstance(decision, PrepareAction):
                assert decision.attempt == attempts.get(decision.action, 0) + 1
                attempts[decision.action] = decision.attempt
            elif isinstance(decision, CommitAction | AbortAction):
                attempt = (decision.action, attempts[decision.action])
                assert fates.setdefault(attempt, type(decision)) is type(decision)
        running = [a for s in runner.view.steps for a in s.actions if a.state in UNDER_WAY]
        assert len(running) <= runner.view.max_parallel
        # What concerns nobody never waits.
        assert all(action.brokers for action in running)
        trees = [a for a in running if a.protocol is Protocol.TREE]
        used = [broker for a in trees for broker in a.brokers]
        assert len(used) == len(set(used))
        for action in trees:
            if action.state is ActionState.COMMITTED:
                assert set(action.interests) == {"i", "j", "k"}
        happens(runner, data)
        now += data.draw(st.sampled_from((0.0, 0.1, 1.0, 3.0, 20.0, 100.0)))


@given(runners())
@settings(max_examples=40, deadline=None)
def test_everything_ends_when_everybody_answers(runner: Runner) -> None:
    now = 0.0
    for _ in range(60):
        runner.advance(now)
        for step in runner.view.steps:
            for action in step.actions:
                if action.state is ActionState.PREPARING:
                    runner.change(action.id, confirmed_by=action.awaited)
                    runner.say(action.id, ReportPhase.READY)
                elif action.state is ActionState.COMMITTED:
                    runner.say(action.id, ReportPhase.SWITCHED)
        now += 1.0
    assert runner.view.state == "succeeded"
    assert all(a.state is ActionState.DONE for s in runner.view.steps for a in s.actions)
