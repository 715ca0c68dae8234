"""Trees to begin from: cheapest links first within the degree limits, and today's tree made whole.

A tree of bounded degree may be hard to find; what greed leaves above a limit is mended by
exchanges, and where that fails NoTree says at which broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from weir.routing import kernels
from weir.routing.arrays import PairArrays, TrafficArrays, pair_arrays, traffic_arrays
from weir.routing.cost import edge_rows
from weir.topologies import NoTree
from weir.topologies._descent import Tree

if TYPE_CHECKING:
    from weir.model.evaluation import EvaluationProblem
    from weir.model.transformation import Edge


class Ground:
    """What every method begins with: the problem as arrays, and trees made of it."""

    def __init__(self, problem: EvaluationProblem) -> None:
        """Raises InvalidProblem where the problem is too large for a table of all pairs."""
        self.problem = problem
        self.traffic: TrafficArrays = traffic_arrays(problem, problem.names)
        self.pairs: PairArrays = pair_arrays(problem)
        upper = np.triu(np.isfinite(self.pairs.weight), 1)
        self._open = np.argwhere(upper)
        fixed = sorted(self.pairs.fixed)
        self._fixed = np.array(fixed, dtype=np.int64).reshape(-1, 2)

    def spanning(self, price: np.ndarray, first: np.ndarray | None = None) -> Tree:
        """The tree of the lowest prices that greed finds; `first` is taken before all others.

        `price` holds one number per pair of brokers. Raises NoTree.
        """
        n = len(self.traffic.names)
        rows = self._open
        by_price = rows[np.argsort(price[rows[:, 0], rows[:, 1]], kind="stable")]
        parts = [self._fixed, *([] if first is None else [first])]
        kept = sum(map(len, parts))
        ordered = np.concatenate([*parts, by_price]).astype(np.int64)
        found = ordered.copy()
        count = kernels.kruskal(n, found, self.pairs.most, kept, True)
        if count < n - 1:
            ordered = np.concatenate([found[:count], by_price]).astype(np.int64)
            count = kernels.kruskal(n, ordered, self.pairs.most, count, False)
            found = ordered
        if count < n - 1:
            raise NoTree(self._apart(found[:count]))
        return self.mended(found[:count])

    def today(self) -> Tree:
        """Today's tree over the goal's brokers: those that leave are bridged, new ones linked."""
        number = self.traffic.number
        standing = {pair for pair in self.problem.today if pair[0] in number and pair[1] in number}
        rows = edge_rows(standing, number)
        if len(rows) == len(self.traffic.names) - 1:
            return self.mended(rows)
        return self.spanning(self.pairs.weight, rows)

    def mended(self, rows: np.ndarray) -> Tree:
        """The tree with exchanges made until no broker has too many links. Raises NoTree."""
        tree = Tree(self.traffic, self.pairs, self.problem.weights.per_overload, rows)
        while True:
            over = np.flatnonzero(tree.degree > self.pairs.most)
            if not len(over):
                return tree
            best = (np.inf, -1, -1, -1)
            for broker in over:
                around = [*np.flatnonzero(tree.parent == broker), broker]
                for v in around:
                    if tree.may_go(int(v)):
                        x, y, change, _ = tree.best_exchange(int(v))
                        if x >= 0:
                            best = min(best, (change, int(v), x, y))
            if best[1] < 0:
                name = self.traffic.names[int(over[0])]
                raise NoTree(
                    f"broker {name} keeps {tree.degree[over[0]]} links, more than "
                    f"{self.pairs.most[over[0]]}: no allowed link takes the place of one of them; "
                    "allow more links or a higher degree"
                )
            tree.exchange(*best[1:])

    def edges(self, tree: Tree) -> frozenset[Edge]:
        """Return the tree's links by broker name."""
        names = self.traffic.names
        return frozenset((names[a], names[b]) for a, b in tree.rows)

    def _apart(self, rows: np.ndarray) -> str:
        names = self.traffic.names
        graph: nx.Graph[int] = nx.Graph(rows.tolist())
        graph.add_nodes_from(range(len(names)))
        reached = nx.node_connected_component(graph, 0)
        outside = next(name for at, name in enumerate(names) if at not in reached)
        return (
            f"no allowed link joins the part of {names[0]} with that of {outside}; "
            "add links, or say how others are estimated"
        )
