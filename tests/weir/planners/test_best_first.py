"""Best-first search: its estimate against counting, its plans against brute force."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.transformation.small_trees import distances, shapes, trees
from weir.errors import NoPlan
from weir.model.transformation import Options, Transformation
from weir.planners import PlanProgress, best_first
from weir.planners.best_first.tree import Tree
from weir.transformation.indexed import indexed
from weir.transformation.moves import neighbours, path
from weir.transformation.validation import check
from weir.transformation.workloads import paper_workload, problem_of, with_churn

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import TransformationPlan

FIGURE_1 = problem_of([(0, 1), (0, 2), (1, 3)], [(0, 1), (0, 2), (2, 3)])


def planned(
    problem: Transformation,
    stop: Callable[[PlanProgress], bool] = lambda p: p.round >= 20,
    seed: int = 0,
    **params: Any,
) -> TransformationPlan:
    """A plan that the validator takes."""
    plan = best_first.plan(
        problem, best_first.Params(**params), objective="actions", stop=stop, seed=seed
    )
    if plan.status != "infeasible":
        assert check(problem, plan.steps) == plan.cost
    return plan


def test_the_paper_s_example_takes_its_two_actions() -> None:
    plan = planned(FIGURE_1)
    assert [(m.broker, m.source, m.to) for step in plan.steps for m in step] == [
        ("4", "2", "1"),
        ("4", "1", "3"),
    ]
    assert plan.status == "optimal"


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_the_estimate_after_a_slide_is_what_counting_gives(seed: int, choice: int) -> None:
    problem = paper_workload(brokers=15, seed=seed, change_ratio=0.4)
    names = indexed(problem)
    tree = Tree(names, problem.options)
    chance = random.Random(choice)
    for _ in range(5):
        options = list(tree.slides())
        if not options:
            assert not tree.missing
            return
        before = tree.estimate()
        change, slide = chance.choice(options)
        key = tree.after(slide)
        tree.slide(slide)
        assert tree.key() == key
        assert tree.estimate() == before + change == counted(tree)


def counted(tree: Tree) -> int:
    """The sum of ways less one over missing links, one path search each."""
    links = {(str(a), str(b)) for a, near in enumerate(tree.near) for b in near if a < b}
    around = neighbours(frozenset(links))
    return sum(len(path(around, str(a), str(b))) - 2 for a, b in tree.missing)


def test_never_better_than_brute_force_and_often_as_good() -> None:
    chance = random.Random(0)
    as_good = tried = 0
    for goal in shapes(5):
        fewest = distances(goal, 5)
        for initial in chance.sample(trees(5), 20):
            plan = planned(problem_of(initial, goal))
            assert plan.actions >= fewest[initial] >= plan.lower_bound_actions
            as_good += plan.actions == fewest[initial]
            tried += 1
    assert as_good > 0.9 * tried


def test_one_action_per_step_unless_packed() -> None:
    problem = paper_workload(brokers=30, seed=1, options=Options(parallel="paper"))
    plain = planned(problem)
    assert len(plain.steps) == plain.actions
    packed = planned(problem, packed=True)
    assert packed.actions == plain.actions
    assert len(packed.steps) < len(plain.steps)


def test_more_rounds_are_never_worse_and_a_seed_means_one_plan() -> None:
    problem = paper_workload(brokers=40, seed=2)
    counts = [planned(problem, max_rounds=rounds).actions for rounds in (1, 3, 9)]
    assert counts == sorted(counts, reverse=True)
    assert planned(problem, seed=7).steps == planned(problem, seed=7).steps


def test_keeps_a_maximum_degree() -> None:
    options = Options(max_degree=6, parallel="paper")
    problem = paper_workload(brokers=30, seed=1, keep_degree=True, options=options)
    planned(problem, packed=True)


def test_brokers_come_and_go() -> None:
    base = paper_workload(brokers=12, seed=4, change_ratio=0.3)
    problem = with_churn(base, added=2, removed=2, seed=1)
    plan = planned(problem)
    assert {m.op for step in plan.steps for m in step} == {"shift", "append", "detach"}


def test_ends_when_told_to() -> None:
    problem = paper_workload(brokers=40, seed=1)
    with pytest.raises(NoPlan, match="nothing proves"):
        planned(problem, stop=lambda progress: True)
    questions = 0

    def later(progress: PlanProgress) -> bool:
        nonlocal questions
        questions += progress.actions is not None
        return questions > 3

    assert planned(problem, stop=later).status == "time_limit"


def test_a_branch_ends_at_the_depth_limit() -> None:
    with pytest.raises(NoPlan):
        planned(FIGURE_1, depth_limit=1, max_rounds=5)


def test_no_way_around_a_frozen_broker_is_proven() -> None:
    frozen = Options(frozen_brokers=frozenset({"2"}))
    problem = problem_of([(0, 1), (1, 2)], [(0, 1), (0, 2)], frozen)
    plan = planned(problem)
    assert (plan.status, plan.steps) == ("infeasible", ())


def test_identical_topologies_need_nothing() -> None:
    plan = planned(problem_of([(0, 1), (1, 2)], [(0, 1), (1, 2)]))
    assert (plan.status, plan.steps) == ("optimal", ())
