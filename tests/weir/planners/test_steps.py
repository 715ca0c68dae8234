"""Few steps: valid whatever the options, as few as proven on small trees, few on large ones."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings

from tests.weir.transformation.small_trees import shapes, step_distances, trees
from tests.weir.transformation.strategies import degree_of, problem, seeds
from tests.weir.transformation.test_bounds import between
from weir.actions import edge
from weir.errors import InvalidProblem
from weir.model.transformation import Move, Options, Transformation
from weir.planners.exact.direct_plan import direct
from weir.planners.slides.evaluate import busy_steps
from weir.planners.slides.step_planning import improve_steps
from weir.planners.slides.stepping.annealing import Annealing
from weir.planners.slides.stepping.arrays import ways
from weir.planners.slides.stepping.crossings import State, carry_out, survey
from weir.planners.slides.stepping.ordering import dependencies, ordered
from weir.transformation.bounds import lower_bounds
from weir.transformation.frontier import non_dominated
from weir.transformation.moves import apply, neighbours, path
from weir.transformation.reduction import reduced
from weir.transformation.scheduling import pack
from weir.transformation.validation import check
from weir.transformation.workloads import (
    corridor,
    paper_workload,
    path_to_star,
    star_to_path,
    with_churn,
)

if TYPE_CHECKING:
    from weir.model.transformation import Parallel, Steps
    from weir.planners import PlanProgress


def improved(made: Transformation, *, rounds: int = 4, seed: int = 1) -> Steps:
    steps = improve_steps(made, direct(made), stop=lambda p: p.round >= rounds, seed=seed)
    check(made, steps)
    return steps


@pytest.mark.parametrize("parallel", ["broker-disjoint", "paper"])
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_never_more_steps_than_it_was_given(parallel: str, seed: int) -> None:
    rng = random.Random(seed)
    made = problem(rng, churn=rng.random() < 0.5, parallel=parallel)
    if rng.random() < 0.3:
        made = replace(made, options=replace(made.options, max_degree=degree_of(made) + 1))
    try:
        check(made, pack(made, direct(made)))
    except InvalidProblem:
        return  # the plainest plan breaks the maximum degree: nothing to begin from
    steps = improved(made, rounds=4)
    assert lower_bounds(made).steps <= len(steps) <= len(pack(made, direct(made)))


@pytest.mark.parametrize("parallel", ["broker-disjoint", "paper"])
def test_nearly_always_as_few_as_proven_on_trees_of_five(parallel: Parallel) -> None:
    rng = random.Random(3)
    more = []
    for goal in shapes(5):
        best = step_distances(goal, 5, parallel == "broker-disjoint")
        for tree in rng.sample(trees(5), 25):
            steps = improved(between(tree, goal, Options(parallel=parallel)))
            more.append(len(steps) - best[tree])
    assert min(more) >= 0
    assert sum(more) <= len(more) // 10


@pytest.mark.parametrize(
    ("parallel", "rounds", "most"), [("paper", 12, 10), ("broker-disjoint", 4, 30)]
)
def test_few_steps_for_150_brokers(parallel: Parallel, rounds: int, most: int) -> None:
    """What some rounds bring; the benchmark prints what three seconds do."""
    options = Options(parallel=parallel)
    made = paper_workload(brokers=150, seed=1, options=options)
    assert len(improved(made, rounds=rounds)) <= most


def test_star_and_path() -> None:
    paper = Options(parallel="paper")
    assert len(improved(path_to_star(17, paper))) <= 6
    assert len(improved(star_to_path(17, paper))) <= 7
    assert len(improved(star_to_path(9))) == 7  # the hub takes part in each of seven slides


def test_leaves_share_a_corridor_in_the_meaning_of_the_paper() -> None:
    made = corridor(leaves=6, length=9, options=Options(parallel="paper"))
    assert lower_bounds(made).steps <= len(improved(made, rounds=4)) <= 9


def test_the_same_seed_and_questions_give_the_same_plan() -> None:
    made = paper_workload(brokers=40, seed=5)
    assert improved(made, rounds=4, seed=9) == improved(made, rounds=4, seed=9)


def test_more_rounds_are_never_worse() -> None:
    made = paper_workload(brokers=40, seed=2)
    counts = [len(improved(made, rounds=rounds)) for rounds in (1, 3, 5)]
    assert counts == sorted(counts, reverse=True)


def test_stops_at_once_with_a_valid_plan() -> None:
    made = paper_workload(brokers=60, seed=2)
    steps = improve_steps(made, direct(made), stop=lambda _: True, seed=0)
    assert steps == pack(made, direct(made))


def test_asks_often_whether_to_stop() -> None:
    """Within a round, too: a wide round of a large overlay takes seconds."""
    questions: list[PlanProgress] = []

    def stop(progress: PlanProgress) -> bool:
        questions.append(progress)
        return progress.round >= 4

    made = paper_workload(brokers=100, seed=1)
    improve_steps(made, direct(made), stop=stop, seed=0)
    rounds = [progress.round for progress in questions]
    assert rounds.count(3) > 10


def test_brokers_come_and_go() -> None:
    made = with_churn(paper_workload(brokers=40, seed=3), added=3, removed=3, seed=1)
    ops = [move.op for step in improved(made) for move in step]
    assert ops.count("append") == ops.count("detach") == 3


def test_only_coming_and_going_needs_no_search() -> None:
    made = Transformation(
        brokers=tuple("abcd"),
        initial=frozenset({("a", "b"), ("a", "c")}),
        goal=frozenset({("a", "b"), ("b", "d")}),
        options=Options(parallel="paper"),
    )
    assert len(improved(made)) == 1


def test_frozen_brokers_take_no_part() -> None:
    made = paper_workload(brokers=60, seed=4, options=Options(parallel="paper"))
    used = {b for link in made.initial ^ made.goal for b in link}
    start = direct(made)
    idle = sorted(
        set(made.brokers) - used - {b for m in start for b in (m.broker, m.source, m.to) if b}
    )
    frozen = replace(made.options, frozen_brokers=frozenset(idle))
    improved(replace(made, options=frozen))


def test_ways_are_those_of_the_tree() -> None:
    made = paper_workload(brokers=40, seed=6)
    known = ways(made)
    tree = neighbours(made.initial)
    links = [edge(known.names[a], known.names[b]) for a, b in known.ends.tolist()]
    assert set(links[: len(known.length)]) == made.initial - made.goal
    for g, (a, b) in enumerate(sorted(made.missing)):
        crossed = {
            link for link, row in zip(links, known.rows, strict=True) if int(row[0]) >> g & 1
        }
        assert crossed == {edge(u, v) for u, v in pairwise(path(tree, a, b))}
        assert known.length[g] == len(crossed)


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_a_slide_changes_the_ways_as_it_changes_the_tree(seed: int) -> None:
    """Bits against paths looked up in the tree, after each slide of a plan."""
    rng = random.Random(seed)
    made = problem(rng, churn=False, parallel="paper")
    known, tree = ways(made), neighbours(made.initial, made.initial_brokers)
    arrays = (known.ends, known.rows, known.length, np.zeros(len(known.length), bool), known.room)
    state = State(*(array.copy() for array in arrays))
    bundle = np.ones(len(state.length) + 4)
    loads = survey(state, bundle)
    for move in direct(made):
        i, j, k = (known.names.index(str(b)) for b in (move.broker, move.source, move.to))
        links = [{a, b} for a, b in state.ends.tolist()]
        if {j, k} not in links:
            return  # along a link that no way crosses: kept out of the arrays
        slide = np.array([links.index({i, j}), i, j, k, links.index({j, k})], np.int32)
        is_made = carry_out(state, loads, slide, bundle)
        apply(tree, move)
        assert is_made == (edge(known.names[i], known.names[k]) in made.missing)
    for g, (a, b) in enumerate(sorted(made.missing)):
        assert state.length[g] == len(path(tree, a, b)) - 1


def test_slides_wait_for_those_they_could_not_change_places_with() -> None:
    """All pairs of slides in a row, on all trees of five brokers: both orders tried."""
    names = "01234"
    for links in trees(5):
        tree = neighbours(frozenset((names[a], names[b]) for a, b in links))
        for first in _slides(tree):
            middle = {broker: set(others) for broker, others in tree.items()}
            apply(middle, first)
            for second in _slides(middle):
                after = {broker: set(others) for broker, others in middle.items()}
                apply(after, second)
                pair = [[int(str(b)) for b in (m.broker, m.source, m.to)] for m in (first, second)]
                first_of, _ = dependencies(np.array(pair, np.int32), 5, False)
                assert (first_of[2] == 0) == _gives(tree, (second, first), after)


def _slides(tree: dict[str, set[str]]) -> list[Move]:
    return [
        Move(op="shift", broker=i, source=j, to=k)
        for j, others in sorted(tree.items())
        for i in sorted(others)
        for k in sorted(others - {i})
    ]


def _gives(tree: dict[str, set[str]], moves: tuple[Move, ...], wanted: dict[str, set[str]]) -> bool:
    now = {broker: set(others) for broker, others in tree.items()}
    try:
        for move in moves:
            apply(now, move)
    except InvalidProblem:
        return False
    return now == wanted


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_put_in_order_a_plan_is_valid_and_never_longer(seed: int) -> None:
    made = problem(random.Random(seed), churn=False, parallel="broker-disjoint")
    moves = direct(made)
    number = {name: at for at, name in enumerate(made.brokers)}
    plan = np.array([[number[str(b)] for b in (m.broker, m.source, m.to)] for m in moves], np.int32)
    plan = plan.reshape(-1, 3)
    step = np.zeros(len(plan), np.int64)
    packed = busy_steps(len(number), plan)
    steps, order = ordered(plan, len(number), False, packed, step)
    filled: list[list[Move]] = [[] for _ in range(steps)]
    for at in order.tolist():
        filled[step[at]].append(moves[at])
    check(made, tuple(tuple(each) for each in filled))
    assert steps <= packed == len(pack(made, moves))


def test_annealing_makes_busy_brokers_less_busy() -> None:
    made = paper_workload(brokers=100, seed=2)
    start = pack(made, direct(made))
    annealing = Annealing(reduced(made), seed=1)
    assert annealing.begin(start)
    slides = annealing.round(lambda: False)
    assert slides is not None
    shorter = pack(made, slides)
    check(made, shorter)
    assert len(shorter) == annealing.steps < len(start)
    assert _busiest(shorter) < _busiest(start)


def _busiest(steps: Steps) -> int:
    slides = [move for step in steps for move in step]
    taking = [broker for m in slides for broker in (m.broker, m.source, m.to)]
    return max(map(taking.count, set(taking)))


def test_the_frontier_holds_no_plan_that_another_one_beats() -> None:
    few_actions, few_steps = (3, 9, 0.0), (7, 2, 5.0)
    beaten, dearer = (4, 9, 0.0), (7, 2, 6.0)
    given = [beaten, dearer, few_steps, few_actions]
    assert non_dominated(given, lambda plan: plan) == (few_actions, few_steps)
    assert non_dominated([], lambda plan: plan) == ()
