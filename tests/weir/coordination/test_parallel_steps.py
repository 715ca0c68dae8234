"""Steps of many shifts, `paper` ones that share brokers too: side by side where they can be, one
after the other where they cannot, a tree at every moment, and back again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.weir.coordination.builders import Runner, execution, shift
from weir.actions import edge
from weir.coordination.coordinator import UNDER_WAY
from weir.coordination.decisions import CommitAction
from weir.coordination.wire import ReportPhase
from weir.errors import InvalidProblem
from weir.lifecycle.executions import EXECUTIONS, ExecutionCommand, ExecutionState
from weir.lifecycle.steps import ActionState
from weir.model.transformation import Edge, Move, Options, Transformation
from weir.transformation import validation
from weir.transformation.moves import apply, neighbours
from weir.transformation.trees import check_tree

MOST_TRIED = 15


@dataclass(frozen=True, slots=True)
class Step:
    """One step that the validator has passed under the meaning `paper`."""

    initial: frozenset[Edge]
    goal: frozenset[Edge]
    moves: tuple[Move, ...]


def problem_of(initial: frozenset[Edge], moves: tuple[Move, ...]) -> Transformation:
    tree = neighbours(initial)
    for move in moves:
        apply(tree, move)
    return Transformation(
        brokers=tuple(sorted(tree)),
        initial=initial,
        goal=frozenset((a, b) for a in tree for b in tree[a] if a < b),
        options=Options(parallel="paper", move_goal_links=True),
    )


@st.composite
def steps(draw: st.DrawFn) -> Step:
    """As many shifts of a random tree as may share a step, in a random order."""
    names = [f"b{n}" for n in range(draw(st.integers(4, 7)))]
    initial = frozenset(
        edge(names[draw(st.integers(0, n - 1))], name) for n, name in enumerate(names) if n
    )
    around = neighbours(initial)
    every = [
        Move(op="shift", broker=i, source=j, to=k)
        for j in names
        for i, k in permutations(sorted(around[j]), 2)
    ]
    moves: tuple[Move, ...] = ()
    for move in draw(st.permutations(every))[:MOST_TRIED]:
        try:
            validation.check(problem_of(initial, (*moves, move)), ((*moves, move),))
        except InvalidProblem:
            continue
        moves = (*moves, move)
    assume(len(moves) > 1)
    return Step(initial, problem_of(initial, moves).goal, moves)


class Overlay:
    """The database's edges, changed by commits alone."""

    def __init__(self, edges: frozenset[Edge]) -> None:
        self.edges = edges

    def follow(self, runner: Runner, now: float) -> None:
        for decision in runner.advance(now):
            if isinstance(decision, CommitAction):
                action = runner.action(decision.action)
                i, j, k = (action.participants[role] for role in "ijk")
                if action.inverts:  # the builder's undo step holds the action that it takes back
                    j, k = k, j
                assert {edge(i, j), edge(j, k)} <= self.edges
                assert edge(i, k) not in self.edges
                self.edges = self.edges - {edge(i, j)} | {edge(i, k)}
                check_tree({pair: at for at, pair in enumerate(sorted(self.edges))}, "edges")


def begun(step: Step, *, max_parallel: int = 100) -> Runner:
    actions = [shift(f"x{n}", m.broker, str(m.source), str(m.to)) for n, m in enumerate(step.moves)]
    brokers = frozenset(b for pair in step.initial for b in pair)
    return Runner(execution(actions, live=brokers, max_parallel=max_parallel))


def under_way(runner: Runner) -> list[str]:
    actions = [a for s in runner.view.steps for a in s.actions if a.state in UNDER_WAY]
    used = [broker for action in actions for broker in action.brokers]
    assert len(used) == len(set(used)), "a broker takes part in two shifts at once"
    return [action.id for action in actions]


def answered(runner: Runner, name: str, *, no: bool = False) -> None:
    """Everybody says what the action's state asks for."""
    match runner.action(name).state:
        case ActionState.PREPARING:
            runner.say(name, ReportPhase.REFUSED if no else ReportPhase.READY)
        case ActionState.COMMITTED:
            runner.say(name, ReportPhase.SWITCHED)
        case ActionState.ABORTING:
            runner.say(name, ReportPhase.RELEASED)


@given(steps(), st.integers(1, 4), st.data())
@settings(max_examples=30, deadline=None)
def test_a_step_reaches_its_tree_in_whatever_order_brokers_answer(
    step: Step, max_parallel: int, data: st.DataObject
) -> None:
    overlay, runner = Overlay(step.initial), begun(step, max_parallel=max_parallel)
    overlay.follow(runner, 0.0)
    while names := under_way(runner):
        assert len(names) <= max_parallel
        answered(runner, data.draw(st.sampled_from(names)))
        overlay.follow(runner, 0.0)
    assert runner.view.state is ExecutionState.SUCCEEDED
    assert overlay.edges == step.goal


@given(steps(), st.data())
@settings(max_examples=30, deadline=None)
def test_a_step_that_fails_half_way_leaves_a_tree_and_can_be_taken_back(
    step: Step, data: st.DataObject
) -> None:
    overlay, runner = Overlay(step.initial), begun(step)
    never = data.draw(st.sampled_from([f"x{n}" for n in range(len(step.moves))]))
    overlay.follow(runner, 0.0)
    while names := under_way(runner):
        name = data.draw(st.sampled_from(names))
        answered(runner, name, no=name == never)
        overlay.follow(runner, 0.0)
    assert runner.view.state is ExecutionState.FAILED
    done = [a.id for a in runner.view.steps[0].actions if a.state is ActionState.DONE]
    assert (
        overlay.edges
        == problem_of(
            step.initial, tuple(m for n, m in enumerate(step.moves) if f"x{n}" in done)
        ).goal
    )

    state = EXECUTIONS.advance(runner.view.state, ExecutionCommand.ROLL_BACK)
    runner.view = replace(runner.view, state=state)
    overlay.follow(runner, 0.0)
    while names := under_way(runner):
        answered(runner, data.draw(st.sampled_from(names)))
        overlay.follow(runner, 0.0)
    assert runner.view.state is ExecutionState.ROLLED_BACK
    assert overlay.edges == step.initial


def test_shifts_without_a_common_broker_begin_at_once() -> None:
    step = Step(
        frozenset({("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")}),
        frozenset(),
        (
            Move(op="shift", broker="a", source="b", to="c"),
            Move(op="shift", broker="f", source="e", to="d"),
        ),
    )
    runner = begun(step)
    runner.advance(0.0)
    assert under_way(runner) == ["x0", "x1"]
