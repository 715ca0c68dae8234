"""Packed steps hold the same actions, pass the validator and are never more than needed."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.transformation.strategies import degree_of, problem, seeds, walk
from weir.model.transformation import ActionCosts, Move, Options, Transformation
from weir.planners.exact.direct_plan import direct
from weir.transformation.moves import apply, neighbours
from weir.transformation.reduction import reduced
from weir.transformation.scheduling import pack
from weir.transformation.validation import check

MODES = ("broker-disjoint", "paper")


def ending_at(made: Transformation, moves: list[Move]) -> Transformation:
    """The problem whose goal is where the moves lead; goal links may move."""
    tree = neighbours(made.initial, made.initial_brokers)
    for move in moves:
        apply(tree, move)
    goal = frozenset((a, b) for a, others in tree.items() for b in others if a < b)
    return replace(made, goal=goal, goal_brokers=frozenset(tree))


@pytest.mark.parametrize("parallel", MODES)
@settings(max_examples=60, deadline=None)
@given(seed=seeds, limited=st.booleans(), composites=st.booleans(), length=st.integers(0, 25))
def test_a_packed_walk_is_valid(
    parallel: str, seed: int, limited: bool, composites: bool, length: int
) -> None:
    """Any walk of allowed actions, packed, leads to the same tree by safe steps."""
    rng = random.Random(seed)
    price = 1.0 if composites else None
    made = problem(rng, parallel=parallel, move_goal_links=True)
    options = replace(
        made.options,
        max_degree=degree_of(made) + rng.randint(0, 1) if limited else None,
        action_costs=ActionCosts(move=price, exchange=price),
    )
    made = replace(made, options=options)
    moves = walk(made, rng, length)
    target = ending_at(made, moves)
    steps = pack(target, moves)
    assert check(target, steps) == len(moves)
    assert sorted(map(repr, moves)) == sorted(repr(m) for step in steps for m in step)


@pytest.mark.parametrize("parallel", MODES)
@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_brokers_come_and_go_by_valid_steps(parallel: str, seed: int) -> None:
    made = problem(random.Random(seed), churn=True, parallel=parallel)
    steps = pack(made, direct(made))
    check(made, steps)
    ops = [move.op for step in steps for move in step]
    assert ops.count("append") == len(made.added)
    assert ops.count("detach") == len(made.removed)


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_reduction_leaves_one_set_of_brokers_and_two_trees(seed: int) -> None:
    made = problem(random.Random(seed), churn=True)
    core = reduced(made).problem
    assert core.initial_brokers == core.goal_brokers == made.initial_brokers | made.goal_brokers
    for edges in (core.initial, core.goal):
        assert len(edges) == len(core.initial_brokers) - 1
    assert made.initial <= core.initial
    assert made.goal <= core.goal


def test_disjoint_actions_share_a_step_and_others_wait() -> None:
    made = Transformation(
        brokers=tuple("abcdef"),
        initial=frozenset({("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")}),
        goal=frozenset({("a", "c"), ("b", "c"), ("c", "d"), ("d", "e"), ("d", "f")}),
    )
    one = Move(op="shift", broker="a", source="b", to="c")
    other = Move(op="shift", broker="f", source="e", to="d")
    assert pack(made, [one, other]) == ((one, other),)
    back = Move(op="shift", broker="a", source="c", to="b")
    assert pack(made, [one, back, other]) == ((one, other), (back,))


def test_a_full_broker_gains_only_after_it_lost() -> None:
    """In `paper` both slides could share a step, were it not for the degree of broker b."""
    links = frozenset({("a", "b"), ("b", "c"), ("c", "d"), ("b", "x")})
    made = Transformation(
        brokers=tuple("abcdx"),
        initial=links,
        goal=links - {("b", "x"), ("c", "d")} | {("a", "x"), ("b", "d")},
        options=Options(parallel="paper", max_degree=3),
    )
    leave = Move(op="shift", broker="x", source="b", to="a")
    arrive = Move(op="shift", broker="d", source="c", to="b")
    assert pack(made, [leave, arrive]) == ((leave,), (arrive,))
    free = replace(made, options=Options(parallel="paper"))
    assert pack(free, [leave, arrive]) == ((leave, arrive),)
