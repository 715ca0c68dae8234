"""Weir's own planner: valid, seeded, never worse with more rounds, and as good as brute force."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.transformation import small_trees, strategies
from weir.errors import InvalidProblem, NoPlan
from weir.model.transformation import ActionCosts, Options, Transformation
from weir.planners import exact, slides
from weir.transformation.validation import check
from weir.transformation.workloads import (
    caterpillars,
    corridor,
    paper_workload,
    path_to_star,
    problem_of,
    random_trees,
    star_to_path,
    with_churn,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import TransformationPlan
    from weir.planners import PlanProgress

PARAMS = slides.Params()


def rounds(limit: int) -> Callable[[PlanProgress], bool]:
    return lambda progress: progress.round >= limit


def planned(
    problem: Transformation, limit: int = 20, seed: int = 1, **more: Any
) -> TransformationPlan:
    """The plan after some rounds, replayed by the validator."""
    given: dict[str, Any] = {"objective": "actions", "stop": rounds(limit), "seed": seed, **more}
    plan = slides.plan(problem, PARAMS, **given)
    assert check(problem, plan.steps) == pytest.approx(plan.cost)
    assert plan.actions >= plan.lower_bound_actions
    assert len(plan.steps) >= plan.lower_bound_steps
    assert plan.cost >= plan.lower_bound_cost - 1e-6
    return plan


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9), parallel=st.sampled_from(["broker-disjoint", "paper"]))
def test_plans_of_random_problems_are_valid(seed: int, parallel: str) -> None:
    rng = random.Random(seed)
    planned(strategies.problem(rng, churn=rng.random() < 0.5, parallel=parallel))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_plans_with_prices_and_moving_goal_links_are_valid(seed: int) -> None:
    rng = random.Random(seed)
    costs = ActionCosts(
        shift=rng.choice((0.5, 1.0, 3.0)),
        move=rng.choice((None, 1.5, 4.0)),
        exchange=rng.choice((None, 2.0, 5.0)),
        brokers={f"b{at}": rng.random() for at in range(4)},
        links={("b0", "b1"): 2.0},
    )
    problem = strategies.problem(
        rng, churn=rng.random() < 0.5, action_costs=costs, move_goal_links=rng.random() < 0.5
    )
    planned(problem)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9), room=st.integers(0, 2))
def test_a_maximum_degree_holds_or_the_planner_says_why_there_is_no_plan(
    seed: int, room: int
) -> None:
    rng = random.Random(seed)
    plain = strategies.problem(rng)
    limit = strategies.degree_of(plain) + room
    problem = problem_with(plain, max_degree=limit)
    try:
        plan = slides.plan(problem, PARAMS, objective="actions", stop=rounds(10), seed=1)
    except NoPlan:
        assert room == 0
        return
    if plan.status == "infeasible":
        proof = exact.plan(problem, exact.Params(), objective="actions", stop=never_stop, seed=0)
        assert proof.status == "infeasible"
        assert plan.reason
        return
    check(problem, plan.steps)


def never_stop(progress: PlanProgress) -> bool:
    return False


def problem_with(problem: Transformation, **options: Any) -> Transformation:
    return Transformation(
        brokers=problem.brokers,
        initial=problem.initial,
        goal=problem.goal,
        options=Options(**options),
    )


def test_as_few_actions_as_brute_force_on_five_brokers() -> None:
    brokers = 5
    for number, goal in enumerate(small_trees.shapes(brokers)):
        distances = small_trees.distances(goal, brokers)
        rng = random.Random(number)
        for tree in rng.sample(small_trees.trees(brokers), 12):
            assert planned(problem_of(tree, goal), 40).actions == distances[tree]


@pytest.mark.parametrize(("brokers", "seed"), [(20, 1), (20, 2), (30, 0)])
def test_as_few_actions_as_proven_on_the_papers_workload(brokers: int, seed: int) -> None:
    problem = paper_workload(brokers=brokers, seed=seed)
    proof = exact.plan(problem, exact.Params(), objective="actions", stop=never_stop, seed=0)
    assert proof.status == "optimal"
    assert planned(problem, 100).actions == proof.actions


def test_leaves_cross_a_corridor_in_one_convoy() -> None:
    assert planned(corridor(leaves=6, length=9), 60).actions == 19


@pytest.mark.parametrize("make", [star_to_path, path_to_star])
def test_star_and_path_take_a_slide_for_each_link(make: Callable[[int], Transformation]) -> None:
    plan = planned(make(40), 5)
    assert (plan.status, plan.actions) == ("optimal", 38)


def test_a_crowded_hub_is_planned_like_a_small_one() -> None:
    plan = planned(star_to_path(120), 5)
    assert (plan.status, plan.actions) == ("optimal", 118)


def test_caterpillar_legs_share_their_way() -> None:
    alone = sum(2 * abs(7 - 2 * at) for at in range(8))
    assert planned(caterpillars(spine=8, legs=2), 200).actions < 0.75 * alone


def test_nothing_to_do_is_an_empty_plan() -> None:
    same = corridor().initial
    plan = planned(Transformation(brokers=corridor().brokers, initial=same, goal=same))
    assert (plan.status, plan.steps, plan.cost) == ("optimal", (), 0.0)


def test_brokers_that_come_and_go() -> None:
    problem = with_churn(paper_workload(brokers=40, seed=3), added=6, removed=6, seed=1)
    plan = planned(problem)
    ops = [move.op for step in plan.steps for move in step]
    assert (ops.count("append"), ops.count("detach")) == (6, 6)


def test_a_maximum_degree_on_the_papers_workload() -> None:
    problem = paper_workload(brokers=60, seed=2, keep_degree=True, options=Options(max_degree=7))
    planned(problem, 40)


def test_brokers_that_come_and_go_under_a_maximum_degree() -> None:
    problem = with_churn(paper_workload(brokers=40, seed=1), added=4, removed=4, seed=2)
    planned(problem_with(problem, max_degree=9), 30)


def test_the_same_seed_and_rounds_give_the_same_plan() -> None:
    problem = paper_workload(brokers=80, seed=5)
    assert planned(problem, 60, seed=4) == planned(problem, 60, seed=4)


def test_the_order_of_brokers_changes_nothing() -> None:
    problem = paper_workload(brokers=50, seed=5)
    turned = Transformation(
        brokers=problem.brokers[::-1], initial=problem.initial, goal=problem.goal
    )
    assert planned(problem, 30) == planned(turned, 30)


def test_never_more_actions_with_more_rounds() -> None:
    problem = paper_workload(brokers=120, seed=6)
    counts = [planned(problem, limit).actions for limit in (0, 1, 3, 10, 40, 160, 640)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]


def test_a_given_plan_is_never_made_worse() -> None:
    problem = paper_workload(brokers=60, seed=7)
    good = planned(problem, 80)
    again = planned(problem, 0, seed=9, start=good.steps)
    assert again.actions == good.actions


def test_a_given_plan_that_is_none_is_refused() -> None:
    problem = paper_workload(brokers=20, seed=7)
    other = planned(paper_workload(brokers=20, seed=8))
    with pytest.raises(InvalidProblem, match="steps"):
        slides.plan(problem, PARAMS, objective="actions", stop=rounds(5), seed=1, start=other.steps)


def test_goal_links_that_may_move_never_cost_actions() -> None:
    for seed in range(3):
        problem = paper_workload(brokers=30, seed=seed)
        free = problem_with(problem, move_goal_links=True)
        assert planned(free, 150).actions <= planned(problem, 150).actions


def test_cheap_exchanges_make_each_missing_link_at_once() -> None:
    costs = ActionCosts(move=1.0, exchange=1.0)
    problem = paper_workload(brokers=40, seed=1, options=Options(action_costs=costs))
    plan = planned(problem)
    assert (plan.status, plan.actions) == ("optimal", len(problem.missing))


def test_dear_composites_are_left_alone() -> None:
    costs = ActionCosts(move=90.0, exchange=90.0)
    plan = planned(corridor(options=Options(action_costs=costs)), 60)
    assert {move.op for step in plan.steps for move in step} == {"shift"}
    assert plan.cost == 19.0


def test_prices_of_brokers_and_links_are_heeded() -> None:
    problem = paper_workload(brokers=60, seed=4)
    rng = random.Random(1)
    costs = ActionCosts(
        brokers={broker: rng.random() ** 4 * 9 for broker in problem.brokers},
        links={link: 2.0 for link in problem.initial},
    )
    priced = problem_with(problem, action_costs=costs)
    blind = check(priced, planned(problem, 150).steps)
    assert planned(priced, 150).cost < blind


def test_a_frozen_broker_in_the_way_is_named() -> None:
    problem = problem_with(corridor(), frozen_brokers=frozenset({"5"}))
    plan = slides.plan(problem, PARAMS, objective="actions", stop=rounds(5), seed=1)
    assert plan.status == "infeasible"
    assert "5 is frozen" in plan.reason


def test_a_frozen_broker_aside_takes_part_in_nothing() -> None:
    problem = paper_workload(brokers=40, seed=2)
    moving = {b for link in problem.initial ^ problem.goal for b in link}
    plan = planned(problem)
    busy = {b for step in plan.steps for m in step for b in (m.broker, m.source, m.to)}
    idle = frozenset(set(problem.brokers) - busy - moving)
    assert idle
    planned(problem_with(problem, frozen_brokers=idle))


def test_few_steps_are_never_more_than_those_of_few_actions() -> None:
    problem = paper_workload(brokers=40, seed=3)
    few_actions = planned(problem, 60)
    few_steps = planned(problem, 62, objective="steps")
    assert len(few_steps.steps) <= len(few_actions.steps)


def test_unrelated_trees() -> None:
    planned(random_trees(brokers=90, seed=1), 10)
