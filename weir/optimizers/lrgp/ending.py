"""What LRGP does before its first and after its last iteration, so that no answer is poor.

*First answer.* The greedy passes (`weir.allocation.growth`) cost about as much as some iterations
and usually come within a percent of the optimum; LRGP never answers less. Where the problem is
large, or time is up after one pass, only what there is counts.

*Last rise.* The rates follow prices that may not have fallen as far as they could. With the
consumers as they are, all prices are multiplied by one factor, found by bisection, so that the
rates take what is left of the tightest node or link. The flows on it then stay, and the others go
on. Where a rate jumps with the price (linear and piecewise utilities) it ends in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from weir.allocation.feasibility import MARGIN, idle_at_minimum
from weir.allocation.growth.passes import passes
from weir.allocation.segments import summed
from weir.optimizers.lrgp.prices import LARGEST_PRICE

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.allocation.arrays import Arrays
    from weir.optimizers.lrgp.rate_step import RateStep
    from weir.utility import FloatArray

GREEDY_CLASSES = 20_000
"""Above so many classes a greedy pass, a loop in Python, takes longer than the iterations."""

RISES = 12
"""How often the flows that are not held yet may go on."""

DOUBLINGS = 200
HALVINGS = 60

CLOSE = 1e-3
"""Relative width at which the bisection ends: what it leaves is filled in proportion."""

FIRST_PRICE = 1e-3
"""Stands for a price of 0, as a share of what the capacity earns, so that a factor can act."""

FULL = 1e-9
"""Relative room below which a node or link holds the flows on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Hold a feasible allocation."""

    utility: float
    rates: FloatArray
    populations: FloatArray


def first_answer(arrays: Arrays, stop: Callable[[float], bool]) -> Answer | None:
    """The best greedy pass until `stop`, told the best utility, says enough; None if too large."""
    best: Answer | None = None
    if len(arrays.class_ids) > GREEDY_CLASSES:
        return None
    for one in passes(arrays):
        if best is None or one.utility > best.utility:
            best = Answer(utility=one.utility, rates=one.rates, populations=one.populations)
        if stop(best.utility):
            break
    return best


def raised(
    arrays: Arrays,
    rate_step: RateStep,
    answer: Answer,
    node_prices: FloatArray,
    link_prices: FloatArray,
) -> Answer:
    """The same consumers at the best rates that follow from a multiple of the prices."""
    rates = idle_at_minimum(arrays, answer.rates, answer.populations)
    rise = _Rise(arrays, rate_step, answer.populations, node_prices, link_prices, answer.utility)
    best = Answer(utility=answer.utility, rates=rates, populations=answer.populations)
    for least in (rates, arrays.rate_min):
        found = rise(least)
        utility = arrays.utility(found, answer.populations)
        if utility > best.utility:
            best = Answer(utility=utility, rates=found, populations=answer.populations)
    return best


class _Rise:
    """Prepared once for the populations and prices of one answer."""

    def __init__(
        self,
        arrays: Arrays,
        rate_step: RateStep,
        populations: FloatArray,
        node_prices: FloatArray,
        link_prices: FloatArray,
        utility: float,
    ) -> None:
        self._arrays, self._rate_step = arrays, rate_step
        self._weights = rate_step.weights(populations)
        flows = len(arrays.flow_ids)
        self._costs = sparse.vstack(
            [arrays.node_costs + consumer_costs(arrays, populations), arrays.link_costs]
        ).tocsr()
        self._capacity = np.concatenate([arrays.node_capacity.reshape(-1), arrays.link_capacity])
        prices = np.concatenate([node_prices.reshape(-1), link_prices])
        rows = max(1, int(np.count_nonzero(self._capacity)))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            least = FIRST_PRICE * abs(utility) / rows / self._capacity
        least = np.where(self._capacity > 0, np.minimum(least, LARGEST_PRICE), LARGEST_PRICE)
        self._price = np.asarray(self._costs.T @ np.where(prices > 0, prices, least))
        self._served = summed(arrays.class_flow, populations, flows) > 0

    def __call__(self, least: FloatArray) -> FloatArray:
        """Rates from `least` on, as high as the capacities allow."""
        held = ~self._served
        rates = least
        limit = np.maximum(self._capacity * (1 - MARGIN), self._costs @ least)
        for _ in range(RISES):
            rates, beyond = self._around(least, rates, held, limit)
            if beyond is None:
                return rates
            rates = self._towards(rates, beyond, limit)
            full = self._costs @ rates >= limit * (1 - FULL)
            now = held | (np.asarray((self._costs != 0).T @ full.astype(np.float64)) > 0)
            if np.array_equal(now, held):
                return rates
            held = now
        return rates

    def _around(
        self, least: FloatArray, rates: FloatArray, held: np.ndarray, limit: FloatArray
    ) -> tuple[FloatArray, FloatArray | None]:
        """Rates that fit, and those at a slightly smaller factor, which do not (None: all fit)."""

        def at(factor: float) -> tuple[FloatArray, bool]:
            with np.errstate(over="ignore", invalid="ignore"):
                wanted = self._rate_step(self._weights, self._price * factor)
            asked = np.where(held, rates, np.maximum(wanted, rates))
            return asked, bool(np.all(self._costs @ asked <= limit))

        most, fits = at(0.0)
        if fits:
            return most, None
        high = 1.0
        inside, fits = at(high)
        for _ in range(DOUBLINGS):
            if fits:
                break
            most, high = inside, high * 4.0
            inside, fits = at(high)
        if not fits:
            return rates, most
        low = high / 4.0 if high > 1.0 else 0.0
        for _ in range(HALVINGS):
            if high - low <= CLOSE * high:
                break
            middle = 0.5 * (low + high) if low > 0 or high < 1e-300 else high / 16.0
            asked, fits = at(middle)
            if fits:
                high, inside = middle, asked
            else:
                low, most = middle, asked
        return inside, most

    def _towards(self, rates: FloatArray, beyond: FloatArray, limit: FloatArray) -> FloatArray:
        """As far on the way to rates that do not fit as every capacity allows."""
        load = self._costs @ rates
        more = self._costs @ (beyond - rates)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.where(more > 0, (limit - load) / more, 1.0)
        part = float(np.clip(np.min(share, initial=1.0), 0.0, 1.0))
        return np.minimum(rates + part * (beyond - rates), self._arrays.rate_max)


def consumer_costs(arrays: Arrays, populations: FloatArray) -> sparse.csr_array:
    """Return an array (N K) x F of what the admitted consumers add to the cost of a message."""
    nodes, kinds = arrays.node_capacity.shape
    at, k = np.nonzero(arrays.class_costs * populations[:, None])
    values = arrays.class_costs[at, k] * populations[at]
    rows = arrays.class_node[at] * kinds + k
    shape = (nodes * kinds, len(arrays.flow_ids))
    return sparse.csr_array((values, (rows, arrays.class_flow[at])), shape=shape)
