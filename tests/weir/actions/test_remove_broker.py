"""Removing brokers that are gone: which targets make sense, and what is left of the tree."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.plan_strategies import trees
from weir import actions
from weir.actions import Edge, InForce, edge, inverse_steps, replay
from weir.coordination.removal import beyond, gone_role, linked_to, misfit, neighbour_role
from weir.errors import InvalidProblem
from weir.model.plan import Action, Step

STAR = frozenset({edge("d", name) for name in ("a", "b", "c")})


def removal(**target: str) -> Action:
    return Action(
        kind="remove_broker", target={role.replace("_to_", "/"): b for role, b in target.items()}
    )


def test_the_neighbours_are_linked_with_each_other() -> None:
    action = removal(gone1="d", n1="a", n2_to_n1="b", n3_to_n2="c")
    after = replay(InForce(edges=STAR), [Step(actions=(action,))])
    assert after.edges == {("a", "b"), ("b", "c")}
    assert actions.title(action) == "Remove d, which is gone; link b-a and c-b"
    assert actions.absent(action) == {"d"}


def test_a_leaf_just_goes() -> None:
    action = removal(gone1="d", n1="a")
    assert replay(InForce(edges=frozenset({("a", "d")})), [Step(actions=(action,))]).edges == set()
    assert actions.title(action) == "Remove d, which is gone"


def test_there_is_no_way_back_and_a_rollback_leaves_it_out() -> None:
    shift = Action(kind="shift_link", target={"i": "a", "j": "b", "k": "c"})
    gone = removal(gone1="d", n1="a")
    assert inverse_steps([Step(actions=(shift,)), Step(actions=(gone,))]) == (
        Step(actions=(actions.inverse(shift),)),
    )


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({"n1": "a", "n2/n1": "b"}, "nobody is gone"),
        ({"gone1": "d", "n1": "a", "n2": "b"}, "n2 needs a link"),
        ({"gone1": "d", "n1": "a", "n2/n3": "b", "n3/n1": "c"}, "n2 needs a link"),
        ({"gone1": "d", "n1": "a", "n3/n1": "b"}, "numbered"),
        ({"gone1": "d", "n1": "a", "n2/n1": "b", "n2/n2": "c"}, "twice"),
        ({"gone1": "d", "n1/n1": "a"}, "the first"),
        ({"gone1": "d", "i": "a"}, "neither a neighbour nor gone"),
        ({"gone1": "d", "n1": "d"}, "one role"),
        ({"gone1": "d", "n1": ""}, "1 to"),
    ],
)
def test_nonsense_is_refused(target: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        actions.validate(Action(kind="remove_broker", target=target))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({"gone1": "d", "n1": "a", "n2/n1": "b"}, "had links to a, b and c"),
        ({"gone1": "x", "n1": "a"}, "x is not in the overlay"),
        ({"gone1": "a", "gone2": "b", "n1": "d"}, "not linked with each other"),
    ],
)
def test_what_does_not_fit_the_overlay_is_refused(target: dict[str, str], words: str) -> None:
    action = Action(kind="remove_broker", target=target)
    with pytest.raises(InvalidProblem, match=words):
        replay(InForce(edges=STAR), [Step(actions=(action,))])


@settings(deadline=None)
@given(trees(), st.data())
def test_a_tree_stays_a_tree_without_those_that_are_gone(
    edges: frozenset[Edge], data: st.DataObject
) -> None:
    graph = nx.Graph(list(edges))
    names = sorted(graph)
    gone = {data.draw(st.sampled_from(names))}
    for _ in range(data.draw(st.integers(0, 2))):
        more = sorted({b for a in gone for b in graph[a]} - gone)
        if more and len(gone) + 1 < len(names):
            gone.add(data.draw(st.sampled_from(more)))
    around = data.draw(st.permutations(sorted({b for a in gone for b in graph[a]} - gone)))
    target = {gone_role(i): name for i, name in enumerate(sorted(gone), 1)}
    for i, name in enumerate(around, 1):
        to = data.draw(st.integers(1, i - 1)) if i > 1 else None
        target[neighbour_role(i, to)] = name
    assert misfit(target) == ""
    action = Action(kind="remove_broker", target=target)
    actions.validate(action)
    after = nx.Graph(list(replay(InForce(edges=edges), [Step(actions=(action,))]).edges))
    after.add_nodes_from(set(names) - gone)
    assert set(after) == set(names) - gone
    assert nx.is_tree(after)
    for role in target:
        sides = [beyond(role, other, target) for other in linked_to(role, target)]
        if role.startswith("n"):
            others = sorted(r for r in target if r.startswith("n") and r != role)
            assert sorted(r for side in sides for r in side) == others
