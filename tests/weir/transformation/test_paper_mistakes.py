"""Where the paper cannot be taken at its word, with the example that shows it.

Each is explained in docs/algorithms/transformation.md. What Appendix A's program makes of the
directed reading is in test_ipitt.py.
"""

from __future__ import annotations

from itertools import combinations

import pytest

from tests.weir.transformation.small_trees import distances, link, shapes, slides, trees
from tests.weir.transformation.test_bounds import between
from weir.errors import InvalidProblem
from weir.model.transformation import Move, Options, Transformation
from weir.planners import exact
from weir.transformation.moves import apply, neighbours
from weir.transformation.validation import check


def test_without_removability_on_both_sides_a_removable_link_slides_at_one_end_only() -> None:
    """`del(O) = {conn(i, j), rem(i, j)}` names one direction. Read so, after shift(4, 2, 1) the
    overlay of figure 1 still has conn(2, 4): a link that nobody has any more."""
    conn = {(a, b) for pair in ((1, 2), (1, 3), (2, 4)) for a, b in (pair, pair[::-1])}
    i, j, k = 4, 2, 1
    conn = conn - {(i, j)} | {(i, k)}
    assert (2, 4) in conn
    assert (4, 2) not in conn
    tree = neighbours(frozenset({("1", "2"), ("1", "3"), ("2", "4")}))
    apply(tree, Move(op="shift", broker="4", source="2", to="1"))
    assert "4" not in tree["2"]


def test_the_paper_s_append_allows_a_target_that_does_not_exist() -> None:
    """Its preconditions are not-eq(i, j) and not-conn(i, j): both hold for two absent brokers."""
    eq, conn = {("1", "1"), ("2", "2")}, {("1", "2")}
    i, j = "8", "9"
    assert (i, j) not in eq | conn
    with pytest.raises(InvalidProblem, match="9 is not in the overlay"):
        apply(neighbours(frozenset(conn)), Move(op="append", broker=i, to=j))


def test_the_paper_s_append_allows_a_broker_that_is_there_and_closes_a_cycle() -> None:
    edges = frozenset({("1", "2"), ("2", "3")})
    assert ("1", "3") not in edges  # not-conn(1, 3), and 1 is not 3
    with pytest.raises(InvalidProblem, match="already"):
        apply(neighbours(edges), Move(op="append", broker="1", to="3"))


def test_the_paper_s_detach_cuts_an_inner_broker_out() -> None:
    """conn(2, 1) and rem(2, 1) are all it asks for: broker 3 would hang in the air."""
    edges = frozenset({("1", "2"), ("2", "3")})
    with pytest.raises(InvalidProblem, match="only a leaf"):
        apply(neighbours(edges), Move(op="detach", broker="2", source="1"))


def test_a_slide_with_two_equal_brokers_passes_the_paper_s_inequalities() -> None:
    """Its preconditions hold not-eq(i, j) and not-eq(j, k), but nothing keeps i from being k:
    shift(1, 2, 1) would make a link from broker 1 to itself."""
    i, j, k = "1", "2", "1"
    assert i != j != k
    with pytest.raises(InvalidProblem, match="different brokers"):
        apply(neighbours(frozenset({("1", "2")})), Move(op="shift", broker=i, source=j, to=k))


def test_letting_goal_links_move_can_save_actions() -> None:
    """The paper's rem excludes it. Never up to five brokers; on six a hub that carries its leaves
    to the other end of two goal links goes there with one of them out of its place for a while."""
    for goal in shapes(5):
        assert _distances_with_moving_goal_links(goal) == distances(goal, 5)
    tree = frozenset({(0, 1), (1, 5), (2, 5), (3, 5), (4, 5)})
    goal = frozenset({(0, 1), (0, 2), (0, 3), (0, 4), (1, 5)})
    assert distances(goal, 6)[tree] == 6
    assert _distances_with_moving_goal_links(goal)[tree] == 5
    for moving, actions in ((False, 6), (True, 5)):
        plan = exact.plan(
            between(tree, goal, Options(move_goal_links=moving)),
            exact.Params(),
            objective="actions",
            stop=lambda _: False,
            seed=0,
        )
        assert (plan.status, plan.actions) == ("optimal", actions)


def _distances_with_moving_goal_links(
    goal: frozenset[tuple[int, int]],
) -> dict[frozenset[tuple[int, int]], int]:
    reached, now = {goal: 0}, [goal]
    for at in now:
        for i, j, k in slides(at):
            after = at - {link(i, j)} | {link(i, k)}
            if after not in reached:
                reached[after] = reached[at] + 1
                now.append(after)
    return reached


def test_actions_without_common_broker_are_fewer_than_what_appendix_a_allows() -> None:
    """The text says that a step's actions do not involve the same broker; the program lets slides
    share brokers and even their pivot. Both are safe, they are two meanings of `parallel`."""
    leaves = ("3", "4")
    initial = frozenset({("1", "2"), *(("1", leaf) for leaf in leaves)})
    goal = frozenset({("1", "2"), *(("2", leaf) for leaf in leaves)})
    step = tuple(Move(op="shift", broker=leaf, source="1", to="2") for leaf in leaves)
    made = Transformation(brokers=("1", "2", *leaves), initial=initial, goal=goal)
    with pytest.raises(InvalidProblem, match="takes part in 2 actions"):
        check(made, (step,))
    paper = Transformation(
        brokers=made.brokers, initial=initial, goal=goal, options=Options(parallel="paper")
    )
    assert check(paper, (step,)) == 2.0


def test_a_degree_counted_at_the_end_of_a_step_is_exceeded_within_it() -> None:
    """The paper's D_{b,t} <= D_max counts when a step is done. In some order an arrival comes
    before the departure that makes room for it."""
    initial = frozenset({("a", "b"), ("b", "c"), ("c", "d"), ("b", "x")})
    leave = Move(op="shift", broker="x", source="b", to="a")
    arrive = Move(op="shift", broker="d", source="c", to="b")
    most = []
    for order in ((leave, arrive), (arrive, leave)):
        tree = neighbours(initial)
        degrees = []
        for move in order:
            apply(tree, move)
            degrees.append(len(tree["b"]))
        most.append(max(degrees))
        assert degrees[-1] == 3
    assert most == [3, 4]


def test_small_trees_are_the_ones_cayley_counts() -> None:
    """The oracle itself: n^(n-2) different trees."""
    for brokers in (2, 3, 4, 5, 6):
        assert len(set(trees(brokers))) == brokers ** (brokers - 2)
    assert all(len(tree) == 4 for tree in trees(5))
    assert all(a < b for tree in trees(5) for a, b in tree)
    assert len(list(combinations(trees(4), 2))) == 120
