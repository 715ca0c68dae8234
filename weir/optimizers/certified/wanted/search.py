"""The certified search where flows go only where they are wanted.

The dual says at its prices which ways each flow takes (`dual`). With these ways fixed the problem
is one where every way costs, so the primal of `weir.optimizers.certified.primal` makes the
allocation; ways that nobody uses in the end are left out and it is made again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from weir.allocation.layout import blocks, capacities
from weir.optimizers.certified.primal import Candidate, Primal
from weir.optimizers.certified.search import Search
from weir.optimizers.certified.wanted.dual import WantedDual
from weir.optimizers.certified.wanted.tree import leading_to, tree_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from weir.allocation.arrays import Arrays
    from weir.allocation.layout import IntArray, Layout
    from weir.model import Problem, Result, Start
    from weir.optimizers.certified.wanted.tree import Mask, Tree
    from weir.utility import FloatArray

    Vertices = npt.NDArray[np.bool_]

ROUNDS = 4
"""How often ways that nobody uses are left out before the last allocation."""

KEPT = 64
"""Choices of ways for which the primal is kept prepared."""


class Ways:
    """The problem with some of the ways; where the others lead nobody is admitted."""

    def __init__(self, arrays: Arrays, layout: Layout, order: IntArray, tree: Tree) -> None:
        self.arrays, self.layout, self.order, self.tree = arrays, layout, order, tree
        self.capacity = capacities(arrays)
        flows = len(arrays.flow_ids)
        self._cost_flow = np.repeat(np.arange(flows), np.diff(layout.cost_start))
        self._vertex_flow = np.repeat(np.arange(flows), np.diff(tree.start))

    def used(self, populations: FloatArray) -> Vertices:
        """The vertices on the way to anybody admitted; populations in the layout's order."""
        vertices = np.zeros(len(self.tree.parent), dtype=bool)
        vertices[self.tree.class_vertex[populations > 0]] = True
        return leading_to(self.tree, vertices)

    def fitting(self, vertices: Vertices, worth: FloatArray) -> Vertices:
        """The vertices but for flows whose minimum rates do not fit, the least worth first."""
        layout, kept = self.layout, vertices.copy()
        load = layout.cost * layout.rate_min[self._cost_flow]
        while True:
            loaded = np.where(kept[self.tree.cost_vertex], load, 0.0)
            rows = np.bincount(layout.cost_row, loaded, len(self.capacity))
            over = rows > self.capacity
            if not over.any():
                return kept
            with np.errstate(divide="ignore", over="ignore"):
                row = int(np.argmax(np.where(over, rows / self.capacity, 0.0)))
            on_row = np.bincount(
                self._cost_flow, np.where(layout.cost_row == row, loaded, 0.0), len(worth)
            )
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                ratio = np.where(on_row > 0, worth / on_row, np.inf)
            if not np.isfinite(ratio).any():
                ratio = np.where(on_row > 0, 0.0, np.inf)
            kept &= self._vertex_flow != int(np.argmin(ratio))

    def restricted(self, vertices: Vertices) -> tuple[Arrays, Layout]:
        """The problem in which these vertices cost and the others do not exist."""
        layout, arrays = self.layout, self.arrays
        cost = np.where(vertices[self.tree.cost_vertex], layout.cost, 0.0)
        most = np.where(vertices[self.tree.class_vertex], layout.population_max, 0.0)
        table = sparse.csc_array(
            (cost, layout.cost_row, layout.cost_start),
            shape=(len(self.capacity), len(arrays.flow_ids)),
        ).tocsr()
        table.eliminate_zeros()
        rows = arrays.node_capacity.size
        of_class = np.empty(len(most))
        of_class[self.order] = most
        return (
            replace(
                arrays,
                node_costs=table[:rows],
                link_costs=table[rows:],
                population_max=of_class,
            ),
            layout._replace(cost=cost, population_max=most),
        )


class WantedPrimal(Primal):
    """Build allocations for the ways that the dual's last answer takes."""

    def __init__(self, ways: Ways, dual: WantedDual) -> None:
        super().__init__(ways.arrays, ways.layout, ways.order, ways.capacity)
        self._ways, self._dual = ways, dual
        self._prepared: dict[bytes, Primal] = {}

    def __call__(
        self, rates: FloatArray, wanted: npt.NDArray[np.uint8], prices: FloatArray
    ) -> Candidate:
        """Return the allocation that these rates lead to; `wanted` are the classes behind them."""
        layout, ways = self._layout, self._ways
        amounts = np.where(wanted, layout.population_max * self.worth(rates), 0.0)
        worth = np.bincount(self._hosted.class_flow, amounts, len(rates)).astype(np.float64)
        vertices = ways.fitting(self._dual.served > 0, worth)
        best: Candidate | None = None
        for _ in range(ROUNDS):
            candidate = self._primal(vertices)(rates, wanted, prices)
            if best is None or candidate.utility > best.utility:
                best = candidate
            used = ways.used(candidate.populations) & vertices
            if np.array_equal(used, vertices):
                break
            vertices = used
        assert best is not None  # there is at least one round
        return best

    def _primal(self, vertices: Vertices) -> Primal:
        key = vertices.tobytes()
        known = self._prepared.get(key)
        if known is None:
            arrays, layout = self._ways.restricted(vertices)
            known = Primal(arrays, layout, self._ways.order, self._ways.capacity)
            if len(self._prepared) >= KEPT:
                self._prepared.clear()
            self._prepared[key] = known
        return known


class WantedSearch(Search):
    """Keep the best bound, the best allocation and the present prices."""

    dual: WantedDual
    primal: WantedPrimal

    def __init__(self, problem: Problem, arrays: Arrays, start: Start | None, threads: int) -> None:
        super().__init__(arrays, start, threads)
        tree = tree_of(problem, arrays, self.layout)
        self.ways = Ways(arrays, self.layout, self.order, tree)
        self.dual = WantedDual(
            self.layout, tree, blocks(len(arrays.flow_ids)), self.capacity, threads=threads
        )
        self.primal = WantedPrimal(self.ways, self.dual)

    def begin_with(self, answer: Result) -> None:
        """Consider an answer of another method before the first iteration."""
        rates = np.array([answer.rates[name] for name in self.arrays.flow_ids])
        counts = np.array([answer.populations[name] for name in self.arrays.class_ids])
        populations = counts[self.order].astype(np.float64)
        self.consider(Candidate(answer.utility, rates, populations))

    def carried(self) -> FloatArray:
        """A flow that nobody receives loads nothing, so nothing exceeds a capacity."""
        return capacities(self.arrays)

    def travelled(self) -> Mask:
        """Return per cost of the layout whether the dual's last answer goes there."""
        return self.dual.travelled

    def around(self, candidate: Candidate) -> tuple[Arrays, bool]:
        """The problem with the ways of the candidate: its bound is none for all ways."""
        return self.ways.restricted(self.ways.used(candidate.populations))[0], False
