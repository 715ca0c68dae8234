"""No plan is below its bound: held against breadth-first search on all small trees."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings

from tests.weir.transformation.small_trees import (
    Tree,
    distances,
    shapes,
    step_distances,
    trees,
)
from tests.weir.transformation.strategies import problem, seeds
from weir.model.transformation import ActionCosts, Options, Transformation
from weir.planners.exact.direct_plan import direct
from weir.transformation.bounds import (
    lower_bound_actions,
    lower_bound_cost,
    lower_bound_steps,
    lower_bounds,
)
from weir.transformation.path_bound import Way, steps_to_join
from weir.transformation.scheduling import pack
from weir.transformation.validation import check
from weir.transformation.workloads import corridor, paper_workload, path_to_star, star_to_path


def between(initial: Tree, goal: Tree, options: Options | None = None) -> Transformation:
    return Transformation(
        brokers=tuple(str(b) for b in range(len(initial) + 1)),
        initial=frozenset((str(a), str(b)) for a, b in initial),
        goal=frozenset((str(a), str(b)) for a, b in goal),
        options=options or Options(),
    )


@pytest.mark.parametrize("brokers", [2, 3, 4, 5])
def test_never_above_the_optimum_of_any_pair_of_trees(brokers: int) -> None:
    for goal in shapes(brokers):
        disjoint = step_distances(goal, brokers, disjoint=True)
        paper = step_distances(goal, brokers, disjoint=False)
        for tree, actions in distances(goal, brokers).items():
            one = lower_bounds(between(tree, goal))
            other = lower_bounds(between(tree, goal, Options(parallel="paper")))
            assert one.actions == other.actions <= actions
            assert one.cost == one.actions
            assert one.steps <= disjoint[tree]
            assert other.steps <= paper[tree]


def test_never_above_the_optimum_of_sampled_trees_of_six() -> None:
    rng = random.Random(5)
    for goal in shapes(6):
        disjoint = step_distances(goal, 6, disjoint=True)
        for tree in rng.sample(trees(6), 30):
            bounds = lower_bounds(between(tree, goal))
            assert bounds.actions <= distances(goal, 6)[tree]
            assert bounds.steps <= disjoint[tree]


def test_exact_on_most_pairs_of_four_brokers() -> None:
    """A bound of 0 would pass the tests above; this one holds it to what it is good for."""
    gaps = [
        actions - lower_bound_actions(between(tree, goal))
        for goal in shapes(4)
        for tree, actions in distances(goal, 4).items()
    ]
    assert gaps == [0] * 32


def test_counts_more_than_missing_links_where_ends_have_far_to_go() -> None:
    for seed in range(3):
        made = paper_workload(brokers=150, seed=seed)
        assert lower_bound_actions(made) >= 1.7 * len(made.missing)


def test_known_shapes() -> None:
    assert lower_bound_actions(star_to_path(10)) == 8
    assert lower_bound_actions(path_to_star(10)) == 8
    assert lower_bound_steps(star_to_path(10)) == 8  # the hub takes part in every slide
    paper = Options(parallel="paper")
    assert lower_bound_steps(path_to_star(10, paper)) == 4  # a way of 9 links halves 4 times
    assert lower_bound_actions(corridor(leaves=6, length=9)) == 14


@pytest.mark.parametrize("disjoint", [False, True])
def test_more_links_never_make_a_way_quicker_to_join(disjoint: bool) -> None:
    """What the docstring of path_bound uses: leaving out two of the four cases loses nothing."""
    sizes = product(range(7), range(7), range(7), range(1, 7))
    for one, other, inner, movable in sizes:
        if one < other:
            continue
        steps = steps_to_join([Way(one, other, inner, movable)], disjoint)
        more = [Way(one + 1, other, inner, movable), Way(one, other, inner + 1, movable)]
        if other < one:
            more.append(Way(one, other + 1, inner, movable))
        if movable > 1:  # a link becomes a goal link, at the end of the way or within
            for of in range(inner + 1):
                longer = sorted((one + 1 + of, other), reverse=True)
                more.append(Way(longer[0], longer[1], inner - of, movable - 1))
                longer = sorted((one, other + 1 + of), reverse=True)
                more.append(Way(longer[0], longer[1], inner - of, movable - 1))
            more.append(Way(one, other, inner + 1, movable - 1))
        if movable == 2:  # then nothing is between
            longer = sorted((one + 1 + inner, other), reverse=True)
            more = [way for way in more if way.movable > 1 or not way.inner]
            more.append(Way(longer[0], longer[1], 0, 1))
        assert all(steps <= steps_to_join([way], disjoint) for way in more)


def test_a_broker_far_from_every_link_that_may_move_takes_that_many_steps() -> None:
    """One leaf over a corridor: as many steps as links, however the rest is arranged."""
    paper = Options(parallel="paper")
    for length in (3, 9):
        assert lower_bound_steps(corridor(leaves=4, length=length, options=paper)) == length
        made = corridor(leaves=4, length=length, options=paper)
        undone = replace(made, initial=made.goal, goal=made.initial)
        assert lower_bound_steps(undone) == length


@pytest.mark.parametrize("parallel", ["broker-disjoint", "paper"])
@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_no_plan_with_churn_and_prices_is_below(parallel: str, seed: int) -> None:
    rng = random.Random(seed)
    made = problem(rng, churn=rng.random() < 0.5, parallel=parallel)
    costs = ActionCosts(
        shift=rng.choice((0.5, 1.0, 2.0)),
        append=rng.random(),
        brokers={b: rng.random() for b in made.brokers if rng.random() < 0.5},
        links={link: rng.random() for link in made.goal if rng.random() < 0.5},
    )
    made = replace(made, options=replace(made.options, action_costs=costs))
    steps = pack(made, direct(made))
    bounds = lower_bounds(made)
    assert bounds.cost <= check(made, steps) + 1e-9
    assert bounds.actions <= sum(map(len, steps))
    assert bounds.steps <= len(steps)


def test_identical_topologies_need_nothing() -> None:
    made = between(trees(5)[7], trees(5)[7])
    assert lower_bounds(made).steps == lower_bound_cost(made) == lower_bounds(made).actions == 0
