"""Forwarding tables: where a message goes, what is asked of neighbours, what a shift makes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.weir.coordination.builders import order
from weir.coordination.tables import (
    FIRST_EPOCH,
    Tables,
    destinations,
    interest_accepted,
    interest_towards,
    own_side_interest,
    tables_after,
    tables_from_dict,
    tables_to_dict,
)
from weir.coordination.wire import OrderPhase
from weir.errors import InvalidProblem

FLOWS = ("f1", "f2", "f3")


def test_a_message_goes_where_it_is_wanted_and_never_back() -> None:
    tables = Tables().with_link("B", {"f1"}).with_link("C", {"f1", "f2"}).with_link("D")
    assert destinations("f1", None, tables) == ("B", "C")
    assert destinations("f1", "B", tables) == ("C",)
    assert destinations("f3", None, tables) == ()


def test_interest_is_the_own_brokers_and_that_of_the_other_neighbours() -> None:
    tables = Tables().with_link("B", {"f1"}).with_link("C", {"f2"})
    assert interest_towards("B", {"f3"}, tables) == {"f2", "f3"}
    assert own_side_interest({"f3"}, tables, ("B", "C")) == {"f3"}


def test_tables_are_known_once_every_link_stands_in_them_and_was_heard() -> None:
    heard, unheard = Tables().with_link("B"), Tables().with_link("B").with_unheard("C")
    assert heard.known
    assert not unheard.known
    assert not replace(heard, complete=False).known
    assert not replace(unheard, complete=False).known


def test_interest_of_another_epoch_changes_nothing() -> None:
    tables = Tables().with_link("B", {"f1"}, "x")
    assert interest_accepted(tables, "B", FIRST_EPOCH, {"f2"}) is tables
    assert interest_accepted(tables, "C", "x", {"f2"}) is tables
    assert interest_accepted(tables, "B", "x", {"f2"}).interest["B"] == {"f2"}


def test_a_commit_without_an_interest_it_needs_is_refused() -> None:
    tables = Tables().with_link("J")
    with pytest.raises(InvalidProblem, match="no interest of role j, k"):
        tables_after(order(OrderPhase.COMMIT, "i"), tables)


def test_plain_form_comes_back() -> None:
    tables = Tables().with_link("B", {"f2", "f1"}, "x").with_link("C")
    assert tables_from_dict(json.loads(json.dumps(tables_to_dict(tables)))) == tables
    with pytest.raises(InvalidProblem, match="not forwarding tables"):
        tables_from_dict({"links": []})


@st.composite
def overlays(draw: st.DrawFn) -> tuple[dict[str, frozenset[str]], dict[str, set[str]]]:
    """(what each broker wants itself, neighbours of each): a random tree of 3 to 7 brokers."""
    names = [f"b{n}" for n in range(draw(st.integers(3, 7)))]
    near: dict[str, set[str]] = {name: set() for name in names}
    for n, name in enumerate(names[1:], start=1):
        other = names[draw(st.integers(0, n - 1))]
        near[name].add(other)
        near[other].add(name)
    wants = {name: draw(st.frozensets(st.sampled_from(FLOWS))) for name in names}
    return wants, near


def exact(
    wants: dict[str, frozenset[str]], near: dict[str, set[str]], broker: str, towards: str
) -> frozenset[str]:
    """What is wanted behind the link from `broker` to `towards`, by walking the tree."""
    behind = set(wants[towards])
    for further in near[towards] - {broker}:
        behind |= exact(wants, near, towards, further)
    return frozenset(behind)


def exact_tables(
    wants: dict[str, frozenset[str]], near: dict[str, set[str]], epochs: dict[str, dict[str, str]]
) -> dict[str, Tables]:
    tables = {}
    for broker, neighbours in near.items():
        tables[broker] = Tables()
        for other in sorted(neighbours):
            epoch = epochs.get(broker, {}).get(other, FIRST_EPOCH)
            tables[broker] = tables[broker].with_link(
                other, exact(wants, near, broker, other), epoch
            )
    return tables


@given(overlays(), st.data())
def test_a_shift_leaves_exact_tables_everywhere(
    overlay: tuple[dict[str, frozenset[str]], dict[str, set[str]]], data: st.DataObject
) -> None:
    wants, near = overlay
    j = data.draw(st.sampled_from([b for b in near if len(near[b]) > 1]))
    i, k = data.draw(
        st.lists(st.sampled_from(sorted(near[j])), min_size=2, max_size=2, unique=True)
    )
    before = exact_tables(wants, near, {})
    peers = {"i": i, "j": j, "k": k}
    interests = {
        role: tuple(own_side_interest(wants[b], before[b], set(peers.values())))
        for role, b in peers.items()
    }
    after = dict(before)
    for role, b in peers.items():
        commit = order(OrderPhase.COMMIT, role, peers=peers, interests=interests)
        after[b] = tables_after(commit, before[b])
        assert tables_after(commit, after[b]) == after[b]

    near[i].remove(j)
    near[j].remove(i)
    near[i].add(k)
    near[k].add(i)
    epochs = {i: {k: "x"}, j: {k: "x"}, k: {i: "x", j: "x"}}
    assert after == exact_tables(wants, near, epochs)
