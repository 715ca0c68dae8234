"""The certified search over a problem that was cut into parts.

`Parts` says what must happen where the classes are: in this process (`LocalParts`, the definition
and the tests') or in the tasks of a cluster. The search itself keeps numbers per flow, per row
and per pair (`partition.Pairs`) between the iterations, so what it sends and gets back does not
grow with the number of classes.

The dual has the bits of one process. The primal admits the same consumers; its sums over pairs
are added up in another order than over classes, so rates may differ in the last digits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from weir.allocation.layout import capacities, carried
from weir.optimizers.certified.dual import Dual, combined
from weir.optimizers.certified.partition import Sums, admit_part, answer_part, sums
from weir.optimizers.certified.price_step import SignSteps, first_prices
from weir.optimizers.certified.primal import Candidate, Primal
from weir.optimizers.certified.primal_kernels import flow_loads, total_utility, worths
from weir.optimizers.certified.search import Search, start_prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weir.allocation.arrays import Arrays
    from weir.allocation.layout import IntArray, Layout
    from weir.model import Start
    from weir.optimizers.certified.dual import Answer
    from weir.optimizers.certified.partition import FlowPart, NodePart, Pairs
    from weir.utility import FloatArray


class Admission(NamedTuple):
    """What the nodes are asked; asking again gives the same consumers."""

    rates: FloatArray
    weight: FloatArray
    loads: FloatArray
    """Of the flows alone."""


class Parts(Protocol):
    """Answer for the parts of a problem, wherever they are stored."""

    def answers(self, prices: FloatArray) -> list[tuple[Answer, Sums]]:
        """Return the answer of every flow part to the prices, in order; `Answer.wanted` may be
        empty."""
        ...

    def admissions(self, asked: Admission) -> list[Sums]:
        """Return the consumers that every node part admits, added up per pair of the part."""
        ...

    def populations(self, asked: Admission) -> list[FloatArray]:
        """Return the same consumers, per class of the part."""
        ...


class LocalParts:
    """Keep all parts in this process."""

    def __init__(
        self, flows: Sequence[FlowPart], nodes: Sequence[NodePart], capacity: FloatArray
    ) -> None:
        self._flows, self._nodes, self._capacity = flows, nodes, capacity

    def answers(self, prices: FloatArray) -> list[tuple[Answer, Sums]]:
        return [answer_part(at, prices) for at in self._flows]

    def admissions(self, asked: Admission) -> list[Sums]:
        admitted = zip(self._nodes, self.populations(asked), strict=True)
        return [sums(at.layout, at.class_pair, len(at.pair_at), n) for at, n in admitted]

    def populations(self, asked: Admission) -> list[FloatArray]:
        return [
            admit_part(at, asked.rates, asked.weight, self._capacity, asked.loads)
            for at in self._nodes
        ]


def of_pairs(arrays: Arrays, whole: Layout, pairs: Pairs) -> tuple[Arrays, Layout]:
    """Return the problem in which a class of one consumer replaces every pair."""
    kinds, count = len(arrays.resources), len(pairs.flow)
    start = np.searchsorted(pairs.flow, np.arange(len(arrays.flow_ids) + 1)).astype(np.int64)
    charged = np.zeros((count, kinds))
    np.maximum.at(charged, pairs.of_class, whole.unit_costs)
    shape = np.zeros(count, dtype=np.int64)
    shape[pairs.of_class] = whole.shape
    one = np.ones(count)
    layout = whole._replace(
        class_start=start,
        class_row=pairs.node * kinds,
        population_max=one,
        scale=one,
        unit_costs=charged,
        shape=shape,
    )
    reduced = replace(
        arrays,
        class_ids=(),
        class_flow=pairs.flow,
        class_node=pairs.node,
        class_term=pairs.term,
        class_scale=one,
        population_max=one,
        class_costs=charged,
    )
    return reduced, layout


class PartitionedPrimal(Primal):
    """Work like `Primal`, with the consumers of a pair in the place of a class of one."""

    def __init__(
        self,
        parts: Parts,
        arrays: Arrays,
        layout: Layout,
        capacity: FloatArray,
        pair_at: Sequence[IntArray],
    ) -> None:
        super().__init__(arrays, layout, np.arange(len(layout.shape)), capacity)
        self._parts, self._pair_at, self._static = parts, pair_at, layout
        self._one = np.ones(len(layout.shape), dtype=np.uint8)
        self.asked: Admission | None = None
        """Of the last candidate."""

    def allocate(self, rates: FloatArray, wanted: Sums, prices: FloatArray) -> Candidate:
        """Return the allocation at these rates; `wanted` are the consumers behind them."""
        self._consumers(wanted)
        return self(rates, self._one, prices)

    def _consumers(self, of_pairs: Sums) -> None:
        """From here on every class of the layout stands for these consumers."""
        self._layout = self._static._replace(scale=of_pairs.scale, unit_costs=of_pairs.work)

    def _admitted(self, rates: FloatArray, prices: FloatArray) -> Candidate:
        flow_loads(self._layout, rates, self._loads)
        self.asked = Admission(rates.copy(), self._weights(prices), self._loads.copy())
        scale, work = np.zeros(len(self._one)), np.zeros(self._static.unit_costs.shape)
        for at, found in zip(self._pair_at, self._parts.admissions(self.asked), strict=True):
            # A pair is at one node, a node in one part.
            scale[at], work[at] = found.scale, found.work
        self._consumers(Sums(scale, work))
        worths(self._layout, rates, self._worth)
        populations = np.ones(len(self._one))
        return Candidate(total_utility(populations, self._worth), rates, populations)


class PartitionedSearch(Search):
    """Best bound, best allocation, and the prices in between, with the classes elsewhere.

    Nothing of `Search` that needs a class is here: no local dual, no cutting planes.
    """

    primal: PartitionedPrimal

    def __init__(
        self,
        parts: Parts,
        arrays: Arrays,
        reduced: tuple[Arrays, Layout],
        nodes: Sequence[tuple[IntArray, IntArray]],
        order: IntArray,
        largest_flow: int,
        start: Start | None,
    ) -> None:
        """`nodes` are `class_at` and `pair_at` of every node part."""
        self.arrays, self.order = arrays, order
        self.parts, self._largest_flow = parts, largest_flow
        self._reduced, layout = reduced
        self.class_at = [class_at for class_at, _ in nodes]
        self.capacity = carried(arrays)
        pair_at = [pairs for _, pairs in nodes]
        self.primal = PartitionedPrimal(parts, self._reduced, layout, capacities(arrays), pair_at)
        self.steps = SignSteps(self.capacity, start_prices(arrays, start))
        self.bound = np.inf
        self.best_prices = self.steps.prices
        self.best: Candidate | None = None
        self._best_asked: Admission | None = None

    @property
    def is_small(self) -> bool:
        """Return False: cutting planes would need the classes."""
        return False

    def consider(self, candidate: Candidate) -> None:
        """Keep the better allocation, the first of equals. Populations are those of classes."""
        if candidate.utility > self.utility:
            self.best, self._best_asked = candidate, None

    def descend(self, *, with_primal: bool) -> None:
        """Run one iteration of sign steps; allocate at these prices if asked for."""
        prices = self.steps.prices
        dual, rates, wanted = self._answers(prices)
        if with_primal:
            self._allocate(rates, wanted, prices)
        self.steps.move(dual.loads, self.bound)
        unpriced = self.steps.unpriced(dual.loads)
        if unpriced.any():
            begun = first_prices(self._reduced, rates, wanted.scale, dual.loads)
            self.steps.begin(unpriced, begun)

    def answer_at_best(self) -> None:
        """Return the allocation that the best prices so far lead to."""
        _, rates, wanted = self._answers(self.best_prices)
        self._allocate(rates, wanted, self.best_prices)

    def _answers(self, prices: FloatArray) -> tuple[Dual, FloatArray, Sums]:
        """D at the prices, the rates behind it and the consumers per pair; keeps the best bound."""
        found = self.parts.answers(prices)
        answers = [answer for answer, _ in found]
        dual = self._combined(answers, prices)
        if dual.bound < self.bound:
            self.bound, self.best_prices = dual.bound, prices.copy()
        wanted = Sums(
            np.concatenate([each.scale for _, each in found]),
            np.concatenate([each.work for _, each in found]),
        )
        return dual, np.concatenate([answer.rates for answer in answers]), wanted

    def _allocate(self, rates: FloatArray, wanted: Sums, prices: FloatArray) -> None:
        candidate = self.primal.allocate(rates, wanted, prices)
        if self.best is None or candidate.utility > self.best.utility:
            self.best, self._best_asked = candidate, self.primal.asked

    def _combined(self, answers: Sequence[Answer], prices: FloatArray) -> Dual:
        return combined(
            np.concatenate([each.values for each in answers]),
            np.concatenate([each.sizes for each in answers]),
            np.concatenate([each.loads for each in answers]),
            prices,
            self.capacity,
            self._largest_flow,
        )

    def populations(self, candidate: Candidate) -> FloatArray:
        """Return the consumers per class, in the order of `arrays`."""
        populations = np.empty(len(self.order))
        if self._best_asked is None:
            populations[self.order] = candidate.populations
            return populations
        for at, found in zip(self.class_at, self.parts.populations(self._best_asked), strict=True):
            populations[self.order[at]] = found
        return populations
