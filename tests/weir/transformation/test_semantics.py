"""Actions mean what the docs say: any subset and order of a step leaves a tree that routes."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.transformation.routing import carried_out, tables
from tests.weir.transformation.small_trees import is_tree, link, safe, slides, steps, trees
from tests.weir.transformation.strategies import degree_of, problem, seeds, step
from weir.errors import InvalidProblem
from weir.model.transformation import ActionCosts, Move, Options, Transformation
from weir.planners.exact.allowed_actions import choices
from weir.transformation.moves import apply, change, inverse, neighbours, price
from weir.transformation.validation import check

MODES = ("broker-disjoint", "paper")


def named(tree: frozenset[tuple[int, int]]) -> frozenset[tuple[str, str]]:
    return frozenset((str(a), str(b)) for a, b in tree)


@pytest.mark.parametrize("parallel", MODES)
@settings(max_examples=60, deadline=None)
@given(seed=seeds, limited=st.booleans(), churn=st.booleans(), moving=st.booleans())
def test_any_subset_and_order_of_a_step_leaves_a_tree_that_routes(
    parallel: str, seed: int, limited: bool, churn: bool, moving: bool
) -> None:
    rng = random.Random(seed)
    made = problem(rng, churn=churn, parallel=parallel, move_goal_links=moving)
    limit = degree_of(made) if limited else None
    made = Transformation(
        brokers=made.brokers,
        initial=made.initial,
        goal=made.goal,
        initial_brokers=made.initial_brokers,
        goal_brokers=made.goal_brokers,
        options=Options(parallel=made.options.parallel, max_degree=limit, move_goal_links=moving),
    )
    taken = [choice.move for choice in step(made, rng)]
    some = rng.sample(taken, rng.randint(0, len(taken)))
    tree = neighbours(made.initial, made.initial_brokers)
    known = tables(tree)
    for move in some:
        carried_out(tree, known, move)
        assert sum(map(len, tree.values())) == 2 * (len(tree) - 1)
        assert known == tables(tree)
        assert all(len(table) == len(tree) - 1 for table in known.values())
        assert limit is None or max(map(len, tree.values())) <= limit


@pytest.mark.parametrize("brokers", [3, 4, 5])
def test_steps_of_slides_are_safe_on_every_small_tree(brokers: int) -> None:
    for tree in trees(brokers):
        for together in steps(tree, frozenset(), disjoint=False):
            assert safe(tree, together, brokers)


def test_paper_mode_allows_exactly_what_is_safe_in_every_subset_and_order() -> None:
    """Two slides that may not share a step fail in some order: nothing safe is left out."""
    for tree in trees(5):
        allowed = {frozenset(s) for s in steps(tree, frozenset(), disjoint=False)}
        all_slides = slides(tree)
        for one in all_slides:
            for other in all_slides:
                if one != other and frozenset({one, other}) not in allowed:
                    assert not safe(tree, (one, other), 5)


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_every_action_is_undone_by_its_inverse(seed: int) -> None:
    rng = random.Random(seed)
    costs = ActionCosts(move=1.0, exchange=1.0)
    made = problem(rng, churn=True, action_costs=costs, move_goal_links=True)
    for choice in choices(made, neighbours(made.initial, made.initial_brokers)):
        tree = neighbours(made.initial, made.initial_brokers)
        apply(tree, choice.move)
        apply(tree, inverse(choice.move))
        assert tree == neighbours(made.initial, made.initial_brokers)


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_composites_leave_a_tree(seed: int) -> None:
    rng = random.Random(seed)
    costs = ActionCosts(move=1.0, exchange=1.0)
    made = problem(rng, action_costs=costs, move_goal_links=True)
    number = {name: at for at, name in enumerate(sorted(made.initial_brokers))}
    for choice in choices(made, neighbours(made.initial, made.initial_brokers)):
        tree = neighbours(made.initial, made.initial_brokers)
        done = apply(tree, choice.move)
        links = {link(number[a], number[b]) for a, others in tree.items() for b in others}
        assert is_tree(frozenset(links), len(number))
        assert {*(done.makes or ()), *(done.removes or ())} <= set(done.participants)


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_exchange_and_move_reach_every_tree_one_link_away(seed: int) -> None:
    """Whatever link may replace another, some composite does it."""
    made = problem(random.Random(seed), action_costs=ActionCosts(exchange=1.0, move=1.0),
                   move_goal_links=True)  # fmt: skip
    tree = neighbours(made.initial, made.initial_brokers)
    number = {name: at for at, name in enumerate(sorted(tree))}
    reached = {made.initial - {c.change.removes} | {c.change.makes} for c in choices(made, tree)}
    for gone in made.initial:
        for a in number:
            for b in number:
                after = made.initial - {gone} | {(min(a, b), max(a, b))}
                if (
                    a < b
                    and (a, b) not in made.initial
                    and is_tree(
                        frozenset(link(number[x], number[y]) for x, y in after), len(number)
                    )
                ):
                    assert after in reached


@pytest.mark.parametrize(
    ("move", "member"),
    [
        (Move(op="shift", broker="1", source="2"), "to"),
        (Move(op="shift", broker="1", source="2", to="1"), "broker"),
        (Move(op="shift", broker="1", source="3", to="2"), "from"),
        (Move(op="shift", broker="1", source="2", to="4"), "to"),
        (Move(op="shift", broker="1", source="2", to="3", at="4"), "at"),
        (Move(op="append", broker="1", to="2"), "broker"),
        (Move(op="append", broker="9", to="8"), "to"),
        (Move(op="detach", broker="2", source="1"), "broker"),
        (Move(op="detach", broker="1", source="3"), "from"),
        (Move(op="move", broker="2", source="3", to="1"), "to"),
        (Move(op="exchange", broker="2", source="3", at="4", to="4"), "at"),
    ],
)
def test_an_action_that_does_not_apply_is_refused_and_changes_nothing(
    move: Move, member: str
) -> None:
    edges = frozenset({("1", "2"), ("2", "3"), ("3", "4")})
    tree = neighbours(edges)
    with pytest.raises(InvalidProblem) as caught:
        apply(tree, move)
    assert caught.value.path == member
    assert tree == neighbours(edges)


def test_price_counts_op_participants_and_the_link_made() -> None:
    tree = neighbours(frozenset({("1", "2"), ("2", "3")}))
    move = Move(op="shift", broker="1", source="2", to="3")
    costs = ActionCosts(shift=2.0, brokers={"2": 0.5, "9": 7.0}, links={("1", "3"): 10.0})
    assert price(move, change(tree, move), costs) == 12.5


@pytest.mark.parametrize("op", ["move", "exchange"])
def test_composites_without_a_price_are_refused(op: str) -> None:
    tree = neighbours(frozenset({("1", "2"), ("2", "3"), ("3", "4"), ("0", "1")}))
    at = "0" if op == "exchange" else None
    move = Move(op=op, broker="1", source="2", to="4", at=at)
    with pytest.raises(InvalidProblem, match="no price"):
        price(move, change(tree, move), ActionCosts())


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_many_slides_share_a_pivot_in_the_meaning_of_the_paper(order: tuple[int, ...]) -> None:
    """Leaves 1, 2, 3 go from broker 8 to broker 9 along the one link between them, in a step."""
    leaves = ("1", "2", "3")
    before = frozenset({*((leaf, "8") for leaf in leaves), ("8", "9")})
    after = frozenset({*((leaf, "9") for leaf in leaves), ("8", "9")})
    made = Transformation(
        brokers=(*leaves, "8", "9"), initial=before, goal=after, options=Options(parallel="paper")
    )
    moves = tuple(Move(op="shift", broker=leaves[at], source="8", to="9") for at in order)
    assert check(made, (moves,)) == 3.0
