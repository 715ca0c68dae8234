"""Whether links form a tree: said of the first entry that does not fit, and of parts by name."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.actions import edge
from weir.errors import InvalidProblem
from weir.transformation.trees import check_tree

NAMES = "abcdef"
LINKS = st.lists(
    st.lists(st.sampled_from(NAMES), min_size=2, max_size=2, unique=True).map(lambda p: edge(*p)),
    unique=True,
    min_size=1,
)


@given(LINKS)
def test_names_the_first_link_that_closes_a_cycle_or_two_parts(
    links: list[tuple[str, str]],
) -> None:
    graph: nx.Graph[str] = nx.Graph()
    for at, link in enumerate(links):
        graph.add_edge(*link)
        if not nx.is_forest(graph):
            with pytest.raises(InvalidProblem, match=rf"^goal\[{at}\]: closes a cycle with "):
                check_tree({pair: i for i, pair in enumerate(links)}, "goal")
            return
    parts = sorted(min(part) for part in nx.connected_components(graph))
    if len(parts) == 1:
        check_tree({pair: i for i, pair in enumerate(links)}, "goal")
        return
    said = rf'no way from "{parts[0]}" to "{parts[1]}": {len(parts)} parts'
    with pytest.raises(InvalidProblem, match=said):
        check_tree({pair: i for i, pair in enumerate(links)}, "goal")


def test_a_cycle_is_named_by_the_way_that_was_there() -> None:
    links = {("a", "b"): 0, ("b", "c"): 1, ("c", "d"): 2, ("a", "c"): 7}
    with pytest.raises(InvalidProblem, match=r"goal\[7\]: closes a cycle with a - b - c;"):
        check_tree(links, "goal")
