"""Who is admitted at given rates (Algorithm 2, section 3.2): greedy by benefit and cost.

At each node classes are served in falling order of benefit-cost ratio (equation 10) until
capacity is reached. Ties go to the smaller id. A class whose worth is not positive is not
admitted; a class that costs nothing is admitted whole.

Several resources (beyond the paper): the cost of a consumer is the sum of its consumption
weighted by the resource prices. Each class that waits charges the one resource that it
lacks most, and its ratio on that resource becomes a candidate for the resource's price.
With one resource this is equation 10 and 11 as printed.

Cost: O(C log C) for the sort, all nodes at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.allocation.feasibility import SLACK
from weir.allocation.segments import Segments

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays
    from weir.utility import FloatArray

PRICE_FLOOR = 0.01
"""Share of the mean price that every resource keeps when a consumer's cost is weighed."""

LARGEST_RATIO = 1e100


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Hold the outcome of one admission at all nodes."""

    populations: FloatArray
    used: FloatArray
    """N x K load of flows and consumers."""
    ratio: FloatArray
    """N x K: the best benefit-cost ratio among those who wait (equation 11), else 0."""
    waiting: np.ndarray
    """N x K: whether anybody waits for this resource."""


class Admission:
    """Prepared once per problem; called once per iteration."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        nodes = len(arrays.node_ids)
        self._segments = Segments(np.bincount(arrays.class_node, minlength=nodes))

    def __call__(self, rates: FloatArray, prices: FloatArray, *, rounds: int) -> Admitted:
        """Admit greedily; the paper's single pass is `rounds=1`.

        The pass ends at a node with the first class that does not fit whole. A further round
        offers what is left to the classes behind it.
        """
        arrays = self._arrays
        class_rates, flows_load = rates[arrays.class_flow], arrays.flow_loads(rates)
        return self.heard(class_rates, arrays.worth(rates), flows_load, prices, rounds=rounds)

    def heard(
        self,
        class_rates: FloatArray,
        worth: FloatArray,
        flows_load: FloatArray,
        prices: FloatArray,
        *,
        rounds: int,
    ) -> Admitted:
        """The same where each node has its own idea of the rates: those it last heard of."""
        arrays = self._arrays
        capacity = arrays.node_capacity
        unit = arrays.class_costs * class_rates[:, None]
        order = self._order(worth, unit, prices)
        node, unit, worth = arrays.class_node[order], unit[order], worth[order]
        free = unit.sum(axis=1) == 0
        wanted = np.where((worth > 0) | (free & (worth >= 0)), arrays.population_max[order], 0.0)
        used = flows_load
        admitted = np.zeros(len(order))
        for _ in range(rounds):
            room = np.maximum(capacity - used, 0.0)[node] + SLACK * capacity[node]
            room[(used > capacity)[node]] = 0.0
            left = np.where(self._fitting(room, unit) >= 1, wanted - admitted, 0.0)
            if not left.any():
                break
            before = np.empty(unit.shape)
            for k in range(unit.shape[1]):
                before[:, k] = self._segments.sum_before(left * unit[:, k])
            more = np.clip(self._fitting(room - before, unit), 0.0, left)
            admitted += more
            used = flows_load + self._per_node(node, unit * admitted[:, None])
        populations = np.empty(len(order))
        populations[order] = admitted
        waits = (admitted < arrays.population_max[order]) & (worth > 0)
        ratio, waiting = self._ratios(node, unit, worth, waits, capacity - used)
        return Admitted(populations=populations, used=used, ratio=ratio, waiting=waiting)

    def _order(self, worth: FloatArray, unit: FloatArray, prices: FloatArray) -> np.ndarray:
        arrays = self._arrays
        cost = unit[:, 0] if unit.shape[1] == 1 else self._weighed(unit, prices)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.where(cost > 0, worth / cost, np.inf)
        return np.lexsort((-ratio, arrays.class_node))

    def _weighed(self, unit: FloatArray, prices: FloatArray) -> FloatArray:
        """Consumption of one consumer in one number, by the prices of its node."""
        capacity = self._arrays.node_capacity
        with np.errstate(divide="ignore", over="ignore"):
            share = np.where(capacity > 0, 1.0 / capacity, 0.0)
        mean = (prices * capacity).mean(axis=1, keepdims=True) if unit.shape[1] else prices
        weight = np.where(mean > 0, prices + PRICE_FLOOR * mean * share, share)
        return np.asarray((unit * weight[self._arrays.class_node]).sum(axis=1))

    def _fitting(self, room: FloatArray, unit: FloatArray) -> FloatArray:
        """How many consumers of each class the room holds; inf where they cost nothing."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            fits = np.where(unit > 0, np.floor(room / unit), np.inf)
        return np.asarray(fits.min(axis=1, initial=np.inf))

    def _per_node(self, node: np.ndarray, amounts: FloatArray) -> FloatArray:
        nodes, kinds = self._arrays.node_capacity.shape
        summed = np.empty((nodes, kinds))
        for k in range(kinds):
            summed[:, k] = np.bincount(node, amounts[:, k], nodes)
        return summed

    def _ratios(
        self,
        node: np.ndarray,
        unit: FloatArray,
        worth: FloatArray,
        waits: np.ndarray,
        left: FloatArray,
    ) -> tuple[FloatArray, np.ndarray]:
        shape = self._arrays.node_capacity.shape
        ratio, waiting = np.zeros(shape), np.zeros(shape, dtype=bool)
        kinds = shape[1]
        if kinds > 1:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                lack = np.where(unit > 0, unit / np.maximum(left[node], 1e-300), -1.0)
            lacked = lack.argmax(axis=1)
        for k in range(kinds):
            charged = waits & (unit[:, k] > 0)
            if kinds > 1:
                charged &= lacked == k
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                candidate = np.where(charged, worth / unit[:, k], 0.0)
            candidate = np.minimum(candidate, LARGEST_RATIO)
            ratio[:, k] = self._segments.maximum(candidate, 0.0)
            waiting[:, k] = self._segments.maximum(charged.astype(float), 0.0) > 0
        return ratio, waiting
