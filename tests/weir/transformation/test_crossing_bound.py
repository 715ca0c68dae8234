"""Slides counted by the goal links that cross each link: never too many, and nearly enough."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings

from tests.weir.transformation.small_trees import distances, shapes, trees
from tests.weir.transformation.strategies import seeds
from tests.weir.transformation.test_bounds import between
from weir.model.transformation import Transformation
from weir.planners import slides
from weir.transformation.crossing_bound import crossing_slides
from weir.transformation.moves import apply, neighbours
from weir.transformation.token_bound import arrivals
from weir.transformation.workloads import paper_workload, random_trees


def test_never_above_the_fewest_slides_and_mostly_equal() -> None:
    met = 0
    for goal in shapes(5):
        for tree, fewest in distances(goal, 5).items():
            counted = crossing_slides(between(tree, goal))
            assert counted <= fewest
            met += counted == fewest
    assert met >= 300  # of 375


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_a_slide_lowers_it_by_one_at_most(seed: int) -> None:
    """So along any plan the estimate plus the slides so far never falls."""
    rng = random.Random(seed)
    made = random_trees(brokers=rng.randint(4, 12), seed=seed)
    plan = slides.plan(made, slides.Params(), objective="actions", stop=lambda _: True, seed=seed)
    tree = neighbours(made.initial, made.initial_brokers)
    before = crossing_slides(made)
    for move in (move for step in plan.steps for move in step):
        apply(tree, move)
        links = frozenset((a, b) for a, others in tree.items() for b in others if a < b)
        after = crossing_slides(Transformation(brokers=made.brokers, initial=links, goal=made.goal))
        assert after >= before - 1
        before = after
    assert before == 0


def test_read_backwards_it_is_the_same() -> None:
    for seed in range(20):
        made = paper_workload(brokers=40, seed=seed, balanced=seed % 2 == 0)
        back = Transformation(brokers=made.brokers, initial=made.goal, goal=made.initial)
        assert crossing_slides(made) == crossing_slides(back)


@pytest.mark.parametrize("balanced", [True, False])
def test_on_the_workloads_of_the_paper_it_counts_more_than_arrivals(balanced: bool) -> None:
    for seed in range(5):
        made = paper_workload(brokers=150, seed=seed, balanced=balanced)
        assert crossing_slides(made) > arrivals(made).slides


def test_all_small_trees_are_covered() -> None:
    assert len(trees(5)) * len(shapes(5)) == 375
