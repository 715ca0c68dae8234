"""What the greedy of Gryphon looks at: constraints, per-message loads, segments of utility.

A *constraint* is one resource of one node, or one link. Rates and populations load constraints
linearly while the other stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from weir.allocation.growth.segmented import term_knots

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays, IntArray
    from weir.utility import FloatArray

Loads = list[tuple[int, float]]
"""Constraint and load on it, per unit."""


class GreedyModel:
    """Prepared once per problem, shared by the runs."""

    def __init__(self, arrays: Arrays, error: float) -> None:
        self.arrays = arrays
        kinds = arrays.node_capacity.shape[1]
        self.capacity: FloatArray = np.concatenate(
            [arrays.node_capacity.reshape(-1), arrays.link_capacity]
        )
        costs = sparse.csc_array(
            sparse.vstack([arrays.node_costs, arrays.link_costs], format="csr")
        )
        self.flow_loads: list[Loads] = [
            [
                (int(c), float(cost))
                for c, cost in zip(
                    costs.indices[costs.indptr[i] : costs.indptr[i + 1]],
                    costs.data[costs.indptr[i] : costs.indptr[i + 1]],
                    strict=True,
                )
                if cost > 0
            ]
            for i in range(len(arrays.flow_ids))
        ]
        self.class_loads: list[Loads] = [
            [(b * kinds + k, cost) for k, cost in enumerate(row) if cost > 0]
            for b, row in zip(arrays.class_node.tolist(), arrays.class_costs.tolist(), strict=True)
        ]
        self.classes_of: list[list[int]] = [[] for _ in arrays.flow_ids]
        for j, i in enumerate(arrays.class_flow.tolist()):
            self.classes_of[i].append(j)
        self.scale: list[float] = arrays.class_scale.tolist()
        self.population_max: list[float] = arrays.population_max.tolist()
        self._segments(error)

    def _segments(self, error: float) -> None:
        """Knots of each flow, and the height of each of its terms at them."""
        arrays = self.arrays
        knots = term_knots(arrays, error)
        terms_of: list[list[int]] = [[] for _ in arrays.flow_ids]
        for t, i in enumerate(arrays.term_flow.tolist()):
            terms_of[i].append(t)
        self.knots: list[list[float]] = []
        for i, terms in enumerate(terms_of):
            ends = [arrays.rate_min[i : i + 1], arrays.rate_max[i : i + 1]]
            self.knots.append(
                np.unique(np.concatenate([*ends, *(knots[t] for t in terms)])).tolist()
            )
        at_term = [self.knots[i] for i in arrays.term_flow.tolist()]
        sizes = np.array([len(rates) for rates in at_term], dtype=np.int64)
        which: IntArray = np.repeat(np.arange(len(at_term)), sizes)
        flat = np.array([rate for rates in at_term for rate in rates], dtype=np.float64)
        heights = arrays.curves.take(which).value(flat)
        ends_at = np.cumsum(sizes)
        self._heights: list[list[float]] = [
            heights[stop - size : stop].tolist() for size, stop in zip(sizes, ends_at, strict=True)
        ]
        self._class_term: list[int] = arrays.class_term.tolist()

    def heights(self, j: int) -> list[float]:
        """Return the height of class j's shape at the knots of its flow."""
        return self._heights[self._class_term[j]]

    def bottlenecks(self) -> list[int]:
        """Constraints that could run short, the one most asked for first."""
        arrays = self.arrays
        most = arrays.population_max * arrays.rate_max[arrays.class_flow]
        asked = np.zeros(len(self.capacity))
        for i, loads in enumerate(self.flow_loads):
            for c, cost in loads:
                asked[c] += cost * arrays.rate_max[i]
        for j, loads in enumerate(self.class_loads):
            for c, cost in loads:
                asked[c] += cost * most[j]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            excess = np.where(asked > self.capacity, asked / self.capacity, 0.0)
        order = np.argsort(-excess, kind="stable")
        return [int(c) for c in order if excess[c] > 0]
