"""The links that close the gap carry as little as any tree can."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.transformation.closing_links import carried, closing_links

RATES = st.one_of(st.just(0.0), st.floats(0.1, 100.0).map(lambda x: round(x, 3)))


@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(2, 5))
def test_no_tree_carries_less(data: st.DataObject, size: int) -> None:
    parts = [f"b{i}" for i in range(size)]
    between = {pair: data.draw(RATES) for pair in combinations(parts, 2)}
    links = closing_links(parts, between)
    assert nx.is_tree(nx.Graph(list(links)))
    trees = [nx.from_prufer_sequence(list(code)).edges for code in _codes(size)]
    best = min(carried([(parts[a], parts[b]) for a, b in tree], between) for tree in trees)
    assert carried(links, between) == pytest.approx(best)


def _codes(size: int) -> list[tuple[int, ...]]:
    codes: list[tuple[int, ...]] = [()]
    for _ in range(size - 2):
        codes = [(*code, at) for code in codes for at in range(size)]
    return codes


def test_each_link_leads_to_a_part_before_it() -> None:
    between = {("a", "b"): 5.0, ("c", "b"): 4.0, ("d", "b"): 3.0}
    assert closing_links(["d", "c", "b", "a"], between) == (("a", "b"), ("c", "b"), ("d", "b"))


def test_without_traffic_any_tree_will_do_and_the_same_one_comes_each_time() -> None:
    assert len({closing_links(["c", "a", "b"], {}) for _ in range(5)}) == 1


def test_one_part_alone_needs_no_link() -> None:
    assert closing_links(["a"], {}) == ()
    assert closing_links([], {}) == ()
