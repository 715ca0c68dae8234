"""The contract of `weir.planners`: every method is described, and every plan leads to the goal."""

from __future__ import annotations

import inspect
import json
import random
from contextlib import suppress
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.transformation.strategies import seeds, tree
from weir.errors import NoPlan, UnknownMethod
from weir.model.transformation import Options, Transformation
from weir.planners import Planner, planner, planners
from weir.plugins import describe, discover, from_dict
from weir.transformation.validation import check

if TYPE_CHECKING:
    from weir.model.transformation import Objective, TransformationPlan

PLANNERS = sorted(planners())
OBJECTIVES: tuple[Objective, ...] = ("actions", "steps")
each = pytest.mark.parametrize("name", PLANNERS)
few = settings(max_examples=12)


def small(seed: int) -> Transformation:
    """Two random trees of 3 to 6 brokers, some of which may be in one of them only."""
    rng = random.Random(seed)
    names = [f"b{at}" for at in range(rng.randint(3, 6))]
    before, after = names, names
    if len(names) >= 5:
        before, after = names[rng.randint(0, 1) :], names[: len(names) - rng.randint(0, 1)]
    return Transformation(brokers=tuple(names), initial=tree(before, rng), goal=tree(after, rng))


def planned(
    name: str, problem: Transformation, objective: Objective = "actions", *, rounds: int = 20
) -> TransformationPlan:
    """A plan of the method, given this many rounds."""
    module = planner(name)
    return module.plan(
        problem,
        module.Params(),
        objective=objective,
        stop=lambda progress: progress.round >= rounds,
        seed=3,
    )


@each
def test_a_planner_is_found_and_described(name: str) -> None:
    module = discover("weir.planners")[name]
    assert name == module.NAME
    assert module.TITLE
    assert module.SUMMARY
    assert is_dataclass(module.Params)
    wanted = list(inspect.signature(Planner.plan).parameters)[1:]
    assert list(inspect.signature(module.plan).parameters) == wanted
    for described in describe(module.Params):
        assert described["help"]
        assert not described["required"]
    json.dumps(describe(module.Params))
    assert from_dict(module.Params, {}) == module.Params()


def test_an_unknown_planner_is_named() -> None:
    with pytest.raises(UnknownMethod, match='no planner "best"; known are'):
        planner("best")


@each
@few
@given(seed=seeds, objective=st.sampled_from(OBJECTIVES))
def test_every_plan_leads_to_the_goal(name: str, seed: int, objective: Objective) -> None:
    problem = small(seed)
    plan = planned(name, problem, objective)
    assert plan.planner == name
    assert plan.status in ("optimal", "solved", "time_limit")
    assert check(problem, plan.steps) == pytest.approx(plan.cost)
    assert plan.actions >= plan.lower_bound_actions
    assert len(plan.steps) >= plan.lower_bound_steps
    assert plan.cost >= plan.lower_bound_cost - 1e-9
    if plan.status == "optimal":
        reached, bound = {
            "actions": (plan.actions, plan.lower_bound_actions),
            "steps": (len(plan.steps), plan.lower_bound_steps),
        }[objective]
        assert reached == bound


@each
@few
@given(seed=seeds)
def test_a_seed_means_one_plan(name: str, seed: int) -> None:
    problem = small(seed)
    assert planned(name, problem) == planned(name, problem)


@each
def test_an_overlay_that_is_the_goal_needs_no_step(name: str) -> None:
    problem = small(1)
    plan = planned(name, replace(problem, goal=problem.initial, goal_brokers=frozenset()))
    assert (plan.status, plan.steps, plan.cost) == ("optimal", (), 0)


@each
def test_whoever_is_stopped_at_once_has_a_valid_plan_or_none(name: str) -> None:
    problem = small(4)
    with suppress(NoPlan):
        check(problem, planned(name, problem, rounds=0).steps)


@each
def test_frozen_brokers_stay_as_they_are(name: str) -> None:
    problem = small(1)
    assert problem.initial != problem.goal
    frozen = replace(problem, options=Options(frozen_brokers=frozenset(problem.brokers)))
    with suppress(NoPlan):
        plan = planned(name, frozen)
        assert plan.status == "infeasible"
        assert plan.reason
