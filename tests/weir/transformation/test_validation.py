"""The validator accepts what is right and names the action that is not."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from tests.weir.transformation.strategies import problem, seeds
from weir.errors import InvalidProblem
from weir.model.transformation import Move, Options, Transformation
from weir.planners.exact.direct_plan import direct
from weir.transformation.scheduling import pack
from weir.transformation.validation import check

FIGURE_1 = Transformation(
    brokers=("1", "2", "3", "4"),
    initial=frozenset({("1", "2"), ("1", "3"), ("2", "4")}),
    goal=frozenset({("1", "2"), ("1", "3"), ("3", "4")}),
)
PLAN = ((Move(op="shift", broker="4", source="2", to="1"),),
        (Move(op="shift", broker="4", source="1", to="3"),))  # fmt: skip


def with_options(**options: Any) -> Transformation:
    return replace(FIGURE_1, options=Options(**options))


def test_the_paper_s_plan_for_figure_1_is_valid() -> None:
    assert check(FIGURE_1, PLAN) == 2.0


@pytest.mark.parametrize(
    ("problem", "steps", "path", "words"),
    [
        (FIGURE_1, PLAN[:1], "steps", "without the goal's link 3-4"),
        (FIGURE_1, (), "steps", "without the goal's link 3-4"),
        (FIGURE_1, PLAN[1:], "steps[0][0].from", "no link 4-1"),
        (FIGURE_1, (PLAN[0] + PLAN[1],), "steps[0][1].from", "no link 4-1"),
        (FIGURE_1, (*PLAN, ()), "steps[2]", "empty"),
        (FIGURE_1, ((Move(op="shift", broker="2", source="1", to="3"),),), "steps[0][0].from",
         "goal's"),
        (FIGURE_1, ((Move(op="detach", broker="4", source="2"),),), "steps[0][0].broker",
         "is in the goal"),
        (with_options(frozen_brokers=frozenset({"1"})), PLAN, "steps[0][0].broker", "1 is frozen"),
        (with_options(frozen_links=frozenset({("1", "2")}), move_goal_links=True),
         ((Move(op="shift", broker="1", source="2", to="4"),),), "steps[0][0].from", "is frozen"),
        (with_options(max_degree=2), PLAN, "steps[0]", "1 may have 3 links at once, 2"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(problem: Transformation, steps: Any, path: str, words: str) -> None:
    with pytest.raises(InvalidProblem, match=words) as caught:
        check(problem, steps)
    assert caught.value.path == path


def test_a_broker_is_appended_once() -> None:
    """Each append applies alone; only together they contradict each other."""
    twice = Transformation(
        brokers=("1", "2", "3", "n"),
        initial=frozenset({("1", "2"), ("2", "3")}),
        goal=frozenset({("1", "n"), ("3", "n"), ("2", "3")}),
        options=Options(parallel="paper"),
    )
    step = (Move(op="append", broker="n", to="1"), Move(op="append", broker="n", to="3"))
    with pytest.raises(InvalidProblem, match="n is appended while another action uses it"):
        check(twice, (step,))


def test_a_survivor_is_never_detached_and_appended_again() -> None:
    again = (Move(op="append", broker="4", to="3"),)
    with pytest.raises(InvalidProblem, match="already"):
        check(FIGURE_1, (again,))


def test_an_added_broker_attaches_to_a_neighbour_of_the_goal() -> None:
    added = replace(
        FIGURE_1,
        brokers=(*FIGURE_1.brokers, "5"),
        initial=FIGURE_1.goal,
        goal=FIGURE_1.goal | {("4", "5")},
        initial_brokers=frozenset("1234"),
        goal_brokers=frozenset("12345"),
    )
    assert check(added, ((Move(op="append", broker="5", to="4"),),)) == 1.0
    with pytest.raises(InvalidProblem, match="no neighbour of 5 in the goal"):
        check(added, ((Move(op="append", broker="5", to="3"),),))


@pytest.mark.parametrize("parallel", ["broker-disjoint", "paper"])
@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_a_mutated_plan_is_refused_or_still_right(parallel: str, seed: int) -> None:
    """Whatever is done to a plan, the validator and a replay in random order agree."""
    from weir.transformation.moves import apply, neighbours

    rng = random.Random(seed)
    made = problem(rng, parallel=parallel)
    steps = [list(step) for step in pack(made, direct(made))]
    if steps:
        one, other = rng.randrange(len(steps)), rng.randrange(len(steps))
        moved = steps[one].pop(rng.randrange(len(steps[one])))
        if rng.random() < 0.7:
            steps[other].append(moved)
    mutated = tuple(tuple(step) for step in steps if step)
    try:
        check(made, mutated)
    except InvalidProblem:
        return
    tree = neighbours(made.initial, made.initial_brokers)
    for step in mutated:
        for move in rng.sample(step, len(step)):
            apply(tree, move)
    assert tree == neighbours(made.goal, made.goal_brokers)
