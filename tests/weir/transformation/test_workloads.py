"""The workloads that everyone measures and tests on are what they say."""

from __future__ import annotations

import pytest

from weir.model.transformation import Transformation
from weir.transformation.moves import neighbours, path
from weir.transformation.trees import check_tree
from weir.transformation.workloads import (
    caterpillars,
    corridor,
    paper_workload,
    random_trees,
    star_to_path,
    with_churn,
)


def check_trees(problem: Transformation) -> None:
    for name, edges in (("initial", problem.initial), ("goal", problem.goal)):
        check_tree({edge: at for at, edge in enumerate(sorted(edges))}, name)
    assert len(problem.initial) == len(problem.initial_brokers) - 1
    assert len(problem.goal) == len(problem.goal_brokers) - 1


def degrees(problem: Transformation) -> tuple[int, int]:
    before, after = (
        max(len(others) for others in neighbours(edges).values())
        for edges in (problem.initial, problem.goal)
    )
    return before, after


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("max_degree", [5, 6, 7])
@pytest.mark.parametrize("brokers", [20, 150])
def test_the_papers_workload(brokers: int, max_degree: int, balanced: bool) -> None:
    for seed in range(5):
        problem = paper_workload(
            brokers=brokers, seed=seed, max_degree=max_degree, balanced=balanced, keep_degree=True
        )
        check_trees(problem)
        assert len(problem.missing) == round(0.2 * (brokers - 1))
        assert max(degrees(problem)) <= max_degree


def test_a_seed_is_one_problem() -> None:
    assert paper_workload(brokers=60, seed=3) == paper_workload(brokers=60, seed=3)
    assert paper_workload(brokers=60, seed=3) != paper_workload(brokers=60, seed=4)


def test_unbalanced_trees_are_deeper() -> None:
    def depth(balanced: bool) -> int:
        tree = neighbours(paper_workload(brokers=300, seed=1, balanced=balanced).initial)
        return max(len(path(tree, "1", broker)) for broker in tree)

    assert depth(balanced=False) > depth(balanced=True)


def test_every_link_may_change() -> None:
    problem = paper_workload(brokers=40, seed=1, change_ratio=1.0)
    check_trees(problem)
    assert not problem.initial & problem.goal


def test_shapes_are_trees() -> None:
    for problem in (
        corridor(leaves=3, length=4),
        caterpillars(spine=5, legs=2),
        star_to_path(9),
        random_trees(brokers=12, seed=1),
    ):
        check_trees(problem)


def test_churn_adds_and_removes_so_many() -> None:
    problem = with_churn(paper_workload(brokers=50, seed=2), added=7, removed=5, seed=1)
    check_trees(problem)
    assert (len(problem.added), len(problem.removed)) == (7, 5)
