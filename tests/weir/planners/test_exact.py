"""Exact search agrees with breadth-first search, for every option a problem may have."""

from __future__ import annotations

import heapq
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from tests.weir.transformation.small_trees import distances, shapes, step_distances, trees
from tests.weir.transformation.strategies import problem, seeds
from tests.weir.transformation.test_bounds import between
from weir.errors import NoPlan
from weir.model.transformation import ActionCosts, Options, Transformation
from weir.planners import exact
from weir.planners.exact.actions import cheapest
from weir.planners.exact.allowed_actions import choices
from weir.planners.slides.fewest_slides import fewest_slides, fits
from weir.transformation.bounds import lower_bounds
from weir.transformation.moves import apply, neighbours
from weir.transformation.scheduling import pack
from weir.transformation.validation import check
from weir.transformation.workloads import corridor, paper_workload, random_trees

if TYPE_CHECKING:
    from weir.model.transformation import Objective, TransformationPlan


def solved(made: Transformation, objective: Objective = "actions") -> TransformationPlan:
    plan = exact.plan(made, exact.Params(), objective=objective, stop=lambda _: False, seed=0)
    if plan.status != "infeasible":
        assert plan.cost == check(made, plan.steps)
    return plan


@pytest.mark.parametrize("brokers", [2, 3, 4])
def test_fewest_actions_and_steps_of_every_pair_of_small_trees(brokers: int) -> None:
    for goal in shapes(brokers):
        for tree in trees(brokers):
            plan = solved(between(tree, goal))
            assert plan.status == "optimal"
            assert plan.actions == plan.lower_bound_actions == distances(goal, brokers)[tree]
            for parallel in ("broker-disjoint", "paper"):
                made = between(tree, goal, Options(parallel=parallel))
                steps = solved(made, "steps")
                best = step_distances(goal, brokers, parallel == "broker-disjoint")[tree]
                assert len(steps.steps) == steps.lower_bound_steps == best
                assert steps.status == "optimal"


@pytest.mark.parametrize(("brokers", "sample"), [(5, 10), (6, 1)])
def test_fewest_actions_and_steps_of_sampled_trees(brokers: int, sample: int) -> None:
    rng = random.Random(brokers)
    for goal in shapes(brokers):
        for tree in rng.sample(trees(brokers), sample):
            assert solved(between(tree, goal)).actions == distances(goal, brokers)[tree]
            made = between(tree, goal, Options(parallel="paper"))
            best = step_distances(goal, brokers, disjoint=False)[tree]
            assert len(solved(made, "steps").steps) == best


@pytest.mark.parametrize("limit", [2, 3])
def test_a_maximum_degree_is_kept_or_proven_impossible(limit: int) -> None:
    """Some pairs of trees of five brokers cannot be turned into one another under a limit."""
    impossible = 0
    for goal in shapes(5):
        reachable = distances(goal, 5, limit)
        for tree in trees(5):
            degrees = [sum(b in pair for pair in edges) for edges in (tree, goal) for b in range(5)]
            if max(degrees) > limit:
                continue
            answer = solved(between(tree, goal, Options(max_degree=limit)))
            if tree in reachable:
                assert answer.actions == reachable[tree]
            else:
                assert answer.status == "infeasible"
                assert "every tree that can be reached" in answer.reason
                impossible += 1
    assert impossible > 0


def cheapest_by_dijkstra(made: Transformation) -> float:
    """The least price with no estimate at all."""
    start = (made.initial, made.initial_brokers)
    best = {start: 0.0}
    queue = [(0.0, 0, start)]
    count = 0
    while queue:
        paid, _, state = heapq.heappop(queue)
        if state == (made.goal, made.goal_brokers):
            return paid
        if paid > best[state]:
            continue
        tree = neighbours(*state)
        for choice in choices(made, tree):
            now = {broker: set(others) for broker, others in tree.items()}
            apply(now, choice.move)
            links = frozenset((a, b) for a, others in now.items() for b in others if a < b)
            after = (links, frozenset(now))
            if paid + choice.price < best.get(after, float("inf")):
                best[after] = paid + choice.price
                count += 1
                heapq.heappush(queue, (best[after], count, after))
    return float("inf")


@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_the_least_price_with_every_option_is_that_of_dijkstra(seed: int) -> None:
    rng = random.Random(seed)
    made = problem(rng, churn=rng.random() < 0.5, move_goal_links=rng.random() < 0.3)
    if len(made.brokers) > 5:
        return
    costs = ActionCosts(
        shift=rng.choice((0.0, 0.5, 1.0)),
        detach=rng.random(),
        move=rng.choice((None, 1.5, 0.2)),
        exchange=rng.choice((None, 2.5, 0.3)),
        brokers={b: rng.random() for b in made.brokers if rng.random() < 0.5},
        links={link: rng.random() for link in made.goal if rng.random() < 0.5},
    )
    made = replace(made, options=replace(made.options, action_costs=costs))
    plan = solved(made)
    best = cheapest_by_dijkstra(made)
    assert plan.cost == pytest.approx(best)
    assert lower_bounds(made).cost <= best + 1e-9
    assert plan.status == "optimal"


@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_fewest_steps_with_brokers_that_come_and_go_are_above_the_bound(seed: int) -> None:
    rng = random.Random(seed)
    made = problem(rng, churn=True, parallel=rng.choice(("broker-disjoint", "paper")))
    if len(made.brokers) > 6:
        return
    plan = solved(made, "steps")
    assert plan.status == "optimal"
    assert lower_bounds(made).steps <= len(plan.steps)


def test_a_composite_takes_the_place_of_a_walk_where_it_is_cheaper() -> None:
    way = corridor(leaves=1, length=5)
    assert solved(way).actions == 5
    for price, actions in ((4.0, 1), (6.0, 5)):
        costs = ActionCosts(move=price)
        plan = solved(replace(way, options=Options(action_costs=costs)))
        assert (plan.actions, plan.cost) == (actions, min(price, 5.0))


@pytest.mark.parametrize("max_degree", [None, 3])
def test_the_compiled_search_agrees_with_the_plain_one(max_degree: int | None) -> None:
    for seed in range(12):
        rng = random.Random(seed)
        made = random_trees(brokers=6 + seed % 2, seed=seed)
        frozen = frozenset(rng.sample(made.brokers, 1)) if seed % 3 == 0 else frozenset()
        made = replace(made, options=Options(max_degree=max_degree, frozen_brokers=frozen))
        assert fits(made)
        plain = cheapest(made, stop=lambda _: False, below=30)
        fewest = fewest_slides(made, stop=lambda *_: False, below=30, most_states=1 << 20)
        assert (fewest.moves is None) == (plain.moves is None)
        assert fewest.bound == min(plain.bound, 30)
        if fewest.moves is not None:
            assert len(fewest.moves) == plain.bound
            check(made, pack(made, fewest.moves))


def test_forty_brokers_are_proven() -> None:
    """Where brute force is far out of reach."""
    made = paper_workload(brokers=40, max_degree=5, balanced=True, seed=2)
    plan = solved(made)
    assert plan.status == "optimal"
    assert plan.actions == plan.lower_bound_actions > 3 * len(made.missing)


def test_a_search_that_runs_out_of_room_says_what_it_proved() -> None:
    made = paper_workload(brokers=40, max_degree=5, balanced=False, seed=1)
    fewest = fewest_slides(made, stop=lambda *_: False, below=60, most_states=1 << 12)
    assert fewest.moves is None
    assert lower_bounds(made).actions <= fewest.bound < 60


def test_stopped_it_says_what_it_knows_and_never_infeasible() -> None:
    made = paper_workload(brokers=40, seed=1)
    plan = exact.plan(made, exact.Params(), objective="actions", stop=lambda _: True, seed=0)
    assert plan.status == "time_limit"
    assert lower_bounds(made).actions <= plan.lower_bound_actions < plan.actions


def test_stopped_without_a_plan_is_no_proof() -> None:
    tree = frozenset((at, at + 1) for at in range(8))
    names = [3, 0, 7, 1, 5, 2, 8, 4, 6]
    goal = frozenset((min(p), max(p)) for p in ((names[a], names[b]) for a, b in tree))
    made = between(tree, goal, Options(max_degree=2))
    with pytest.raises(NoPlan, match="no proof"):
        exact.plan(made, exact.Params(max_trees=1), objective="steps", stop=lambda _: False, seed=0)
