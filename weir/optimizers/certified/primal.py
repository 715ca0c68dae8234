"""From the dual's rates to a feasible allocation with whole populations.

1. *Balance*: rates are scaled until no row that only flows load (links, relays) is above
   capacity, and grow where such a row has a price but is not full. Node rows that consumers
   load need no balance: there populations give way, at the dual's exchange rate.
2. *Fit*: what still does not fit is shrunk towards the minimum (`feasibility.fitted`).
3. *Admit*: whole consumers at every node, by worth per weighed work; with one resource this
   is the fractional knapsack's order.
4. *Grow*: where all rows of a flow have room and one of them a price, its rate grows into it.

The loss against the bound is of second order in the error of the prices (rates are near a
maximum, and trading consumers against rates is neutral at the right prices), plus less than
one consumer per node and resource.

Cost: O(C log C) for the sort of the classes at their nodes, the rest is linear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.allocation.feasibility import MARGIN, fitted
from weir.optimizers.certified.admission import Hosted, Offer, admit
from weir.optimizers.certified.primal_kernels import (
    add_class_loads,
    desired_rates,
    flow_loads,
    scale_rates,
    total_utility,
    worths,
)
from weir.optimizers.certified.shares import in_shares

if TYPE_CHECKING:
    import numpy.typing as npt

    from weir.allocation.arrays import Arrays
    from weir.allocation.layout import IntArray, Layout
    from weir.utility import FloatArray

BALANCE_ROUNDS = 4
GROWTH_ROUNDS = 3

SMALLEST_RATE = 1e-100
"""Smaller ones are 0: their products with costs would lose all digits."""

FULL = 1e-9
"""Relative room below which a row counts as full."""

WEIGHT_FLOOR = 0.01
"""Share of the mean price that every resource keeps when a consumer's work is weighed."""


class Candidate(NamedTuple):
    """Hold a feasible allocation; populations are in the order of the layout."""

    utility: float
    rates: FloatArray
    populations: FloatArray


class Primal:
    """Build allocations from rates and prices; prepared once per problem."""

    def __init__(
        self,
        arrays: Arrays,
        layout: Layout,
        order: IntArray,
        capacity: FloatArray,
        *,
        threads: int = 1,
    ) -> None:
        self._arrays, self._layout, self._capacity = arrays, layout, capacity
        self._threads = threads
        nodes = len(arrays.node_ids)
        self._nodes = nodes
        class_node = arrays.class_node[order]
        node_start = np.zeros(nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(class_node, minlength=nodes), out=node_start[1:])
        by_node = np.argsort(class_node, kind="stable")
        self._hosted = Hosted(arrays.class_flow[order], node_start, by_node)
        loaded = np.zeros(len(capacity), dtype=bool)
        kinds = layout.unit_costs.shape[1]
        for k in range(kinds):
            paying = layout.unit_costs[:, k] > 0
            loaded[layout.class_row[paying] + k] = True
        self._stiff = ~loaded
        self._every = np.ones(len(capacity), dtype=bool)
        self._worth = np.empty(len(order))
        self._loads = np.empty(len(capacity))

    def __call__(
        self, rates: FloatArray, wanted: npt.NDArray[np.uint8], prices: FloatArray
    ) -> Candidate:
        """Return the allocation that these rates lead to; `wanted` are the classes behind them."""
        rates = np.where(rates < SMALLEST_RATE, self._layout.rate_min, rates)
        rates = self._balanced(rates, wanted, prices)
        rates = fitted(self._arrays, rates)
        candidate = self._admitted(rates, prices)
        grown = self._grown(candidate, prices)
        return candidate if grown is None or grown.utility < candidate.utility else grown

    def worth(self, rates: FloatArray) -> FloatArray:
        """Return what one consumer of each class gains, in the order of the layout."""
        worth = np.empty(len(self._worth))
        worths(self._layout, rates, worth)
        return worth

    def _balanced(
        self, rates: FloatArray, wanted: npt.NDArray[np.uint8], prices: FloatArray
    ) -> FloatArray:
        rates = rates.copy()
        if not self._stiff.any():
            return rates
        layout = self._layout
        most = rates
        consumers = np.where(wanted, layout.population_max, 0.0)
        for round_ in range(BALANCE_ROUNDS):
            flow_loads(layout, rates, self._loads)
            factor = np.where(self._stiff, self._room(self._loads), np.inf)
            if round_ == 1:
                most = self._desired(consumers, factor, self._stiff, prices)
            scale_rates(layout, rates, factor, most)
        return rates

    def _desired(
        self,
        populations: FloatArray,
        factor: FloatArray,
        judged: npt.NDArray[np.bool_],
        prices: FloatArray,
    ) -> FloatArray:
        """The rates these consumers would like if the judged rows with room had no price."""
        most = np.empty(len(self._layout.rate_min))
        has_room = judged & (factor > 1.0 + FULL)
        desired_rates(self._layout, np.where(has_room, 0.0, prices), populations, most)
        return most

    def _room(self, loads: FloatArray) -> FloatArray:
        """Return capacity against load; inf where there is no load."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(loads > 0, self._capacity / loads, np.inf)

    def _weights(self, prices: FloatArray) -> FloatArray:
        """Return how work on each row counts when consumers are compared."""
        kinds = self._layout.unit_costs.shape[1]
        if kinds == 1:
            return np.ones(len(prices))
        rows = self._nodes * kinds
        capacity = self._capacity[:rows].reshape(self._nodes, kinds)
        price = prices[:rows].reshape(self._nodes, kinds)
        with np.errstate(divide="ignore", over="ignore"):
            share = np.where(capacity > 0, 1.0 / capacity, 0.0)
        mean = (price * capacity).mean(axis=1, keepdims=True) if kinds else price
        weight = np.where(mean > 0, price + WEIGHT_FLOOR * mean * share, share)
        return np.concatenate([weight.reshape(-1), prices[rows:]])

    def _admitted(self, rates: FloatArray, prices: FloatArray) -> Candidate:
        layout = self._layout
        populations = np.zeros(len(self._worth))
        worths(layout, rates, self._worth)
        flow_loads(layout, rates, self._loads)
        offer = Offer(rates, self._worth, self._weights(prices), self._capacity)

        def some(first: int, last: int) -> None:
            admit(layout, self._hosted, offer, self._loads, populations, first, last)

        in_shares(some, self._nodes, self._threads)
        return Candidate(total_utility(populations, self._worth), rates, populations)

    def _grown(self, candidate: Candidate, prices: FloatArray) -> Candidate | None:
        """The same consumers at rates that use what room is left; None where there is none."""
        layout = self._layout
        rates = candidate.rates.copy()
        most = rates
        for round_ in range(GROWTH_ROUNDS):
            flow_loads(layout, rates, self._loads)
            add_class_loads(layout, rates, candidate.populations, self._loads)
            factor = np.maximum(self._room(self._loads) * (1.0 - MARGIN), 1.0)
            if round_ == 0:
                most = self._desired(candidate.populations, factor, self._every, prices)
            scale_rates(layout, rates, factor, most)
        if np.array_equal(rates, candidate.rates):
            return None
        worths(layout, rates, self._worth)
        return Candidate(
            total_utility(candidate.populations, self._worth), rates, candidate.populations
        )
