"""How to link parts of an overlay with each other when the broker between them is gone.

Let w(a, b) be the messages per second that go from part a to part b or back. A tree over the
parts carries, on each of its links, the traffic between its two sides; the sum over all links is
least for the cut tree of w:

- R. E. Gomory, T. C. Hu, *Multi-terminal network flows*, J. SIAM 9 (1961).
- T. C. Hu, *Optimum communication spanning trees*, SIAM J. Comput. 3 (1974), doi:10.1137/0203015:
  with equal lengths of all links the cut tree is the optimum requirement tree.

Exact while each message goes to one other part; one that goes to several is counted for each.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def closing_links(
    parts: Sequence[str], between: Mapping[tuple[str, str], float]
) -> tuple[tuple[str, str], ...]:
    """The links of the cheapest tree over `parts`, each (part, one that came before it).

    `between` is not directed: (a, b) and (b, a) are added up. The first part is whoever has the
    most links, of equals the first in the alphabet; then by distance from it.
    """
    names = sorted(parts)
    if len(names) < 2:
        return ()
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(names)
    for a, b in combinations(names, 2):
        weight = between.get((a, b), 0.0) + between.get((b, a), 0.0)
        if weight > 0:
            graph.add_edge(a, b, capacity=weight)
    tree = nx.gomory_hu_tree(graph)
    first = max(names, key=lambda name: tree.degree(name))
    return tuple((b, a) for a, b in nx.bfs_edges(tree, first, sort_neighbors=sorted))


def carried(links: Sequence[tuple[str, str]], between: Mapping[tuple[str, str], float]) -> float:
    """Messages per second over all of these links of a tree, each counted once per link."""
    tree = nx.Graph(list(links))
    return sum(
        rate * nx.shortest_path_length(tree, a, b)
        for (a, b), rate in between.items()
        if rate > 0 and a != b
    )
