"""The ways of all flows as trees, in the order in which compiled kernels read them.

A vertex is a node that a flow may pass. The first vertex of each flow is its source: what has no
other place (the source's own cost, links that lead to no node of the route) costs while anybody at
all is admitted. Parents come before what lies behind them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays
    from weir.allocation.layout import IntArray, Layout
    from weir.model import Flow, Problem

Mask = npt.NDArray[np.uint8]


class Tree(NamedTuple):
    """Sizes: F flows, V vertices, C classes; a named tuple because compiled code reads it."""

    start: IntArray
    """F + 1: where the vertices of each flow begin."""
    parent: IntArray
    """V: the vertex before; -1 for a source."""
    cost_vertex: IntArray
    """Per cost of the layout: the vertex whose way it is on."""
    class_vertex: IntArray
    """C, in the order of the layout."""


def tree_of(problem: Problem, arrays: Arrays, layout: Layout) -> Tree:
    """The trees of all flows; `layout` is that of `arrays`."""
    kinds = max(1, len(arrays.resources))
    rows = len(arrays.node_ids) * len(arrays.resources)
    node_at = {node: b for b, node in enumerate(arrays.node_ids)}
    flows = {flow.id: flow for flow in problem.flows}
    hosts: dict[str, set[str]] = {flow.id: set() for flow in problem.flows}
    for row in problem.classes:
        hosts[row.flow].add(row.node)
    start, parent = [0], []
    cost_vertex = np.zeros(len(layout.cost), dtype=np.int64)
    class_vertex = np.zeros(len(layout.scale), dtype=np.int64)
    class_node = arrays.class_node[np.argsort(arrays.class_flow, kind="stable")]
    for i, name in enumerate(arrays.flow_ids):
        flow, first = flows[name], start[-1]
        vertex, parents = _vertices(flow, hosts[name], first)
        parent += parents
        start.append(first + len(parents))
        leads = {hop.link: vertex[node] for node, hop in flow.route.items() if node in vertex}
        at_node = {node_at[node]: place for node, place in vertex.items()}
        for c in range(layout.cost_start[i], layout.cost_start[i + 1]):
            row_at = int(layout.cost_row[c])
            if row_at < rows:
                cost_vertex[c] = at_node[row_at // kinds]
            else:
                cost_vertex[c] = leads.get(arrays.link_ids[row_at - rows], first)
        for j in range(layout.class_start[i], layout.class_start[i + 1]):
            class_vertex[j] = at_node[int(class_node[j])]
    return Tree(
        start=np.array(start, dtype=np.int64),
        parent=np.array(parent, dtype=np.int64),
        cost_vertex=cost_vertex,
        class_vertex=class_vertex,
    )


def _vertices(flow: Flow, hosts: set[str], first: int) -> tuple[dict[str, int], list[int]]:
    """The vertex of every node that the flow may pass, and the parents in order."""
    upstream = {node: hop.upstream for node, hop in flow.route.items()}
    passed = hosts | set(flow.node_costs) | set(upstream) | set(upstream.values())

    def depth(node: str) -> int:
        return 0 if node == flow.source else 1 + (depth(upstream[node]) if node in upstream else 0)

    vertex = {} if flow.source is None else {flow.source: first}
    parents = [-1]
    for node in sorted(passed, key=lambda node: (depth(node), node)):
        if node != flow.source:
            parents.append(vertex[upstream[node]] if node in upstream else first)
            vertex[node] = first + len(parents) - 1
    return vertex, parents


def leading_to(tree: Tree, vertices: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """These vertices and all on the way to them."""
    marked = vertices.copy()
    for v in range(len(marked) - 1, -1, -1):
        if marked[v] and tree.parent[v] >= 0:
            marked[tree.parent[v]] = True
    return marked
