"""The next prices from the present loads: sign steps on the logarithm of each price.

The dual is convex in every price, so the sign of load - capacity says which way to go; how far
is learnt per price. Let e = ln(load / capacity). A step is the smaller of

* a *reach*, which grows by REACH_UP while the sign of e stays and is cut by REACH_DOWN when it
  turns (Riedmiller and Braun's resilient propagation, here on ln p), and
* *response* x |e|, where the response learns in the same way. For a logarithmic utility the rate
  is about weight / price, so a response of 1 is a Newton step; prices that several rows of a
  flow share answer less and want more, steep utilities answer more and want less.

The step of a price depends on no unit and on no other price. A price of 0 stays 0 until its row is
overloaded; it then begins at the worth of what flows there per unit of load. The price of a row
with room falls ever faster; once it pays less than NEGLIGIBLE of the bound it is 0.

This file is all that a distributed engine needs besides `dual.answer`: prices in, loads out.

References:
    M. Riedmiller, H. Braun. A direct adaptive method for faster backpropagation learning: the
    RPROP algorithm. IEEE ICNN 1993. doi:10.1109/ICNN.1993.298623
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    import numpy.typing as npt

    from weir.allocation.arrays import Arrays
    from weir.utility import FloatArray

FIRST_REACH = 2.0
WARM_REACH = 0.1
REACH_UP, REACH_DOWN = 1.3, 0.3
LARGEST_REACH = 3.0
RESPONSE_UP, RESPONSE_DOWN = 1.4, 0.6
LARGEST_RESPONSE = 20.0
NEGLIGIBLE = 1e-15
LARGEST_PRICE = 1e100
SMALLEST_LOAD = 1e-200


class SignSteps:
    """Hold the prices of all rows and how each of them moves."""

    def __init__(self, capacity: FloatArray, prices: FloatArray) -> None:
        self.prices = prices.copy()
        self._capacity = capacity
        warm = prices > 0
        self._reach = np.where(warm, WARM_REACH, FIRST_REACH)
        self._response = np.ones(len(prices))
        self._sign = np.zeros(len(prices))
        # A row that can carry nothing has no best price: it is shut off.
        self._shut = capacity <= 0
        self.prices[self._shut] = LARGEST_PRICE

    def unpriced(self, loads: FloatArray) -> npt.NDArray[np.bool_]:
        """Return the overloaded rows that have no price yet."""
        return (self.prices <= 0) & (loads > self._capacity)

    def begin(self, rows: npt.NDArray[np.bool_], prices: FloatArray) -> None:
        """Set the first prices of the given rows."""
        self.prices = np.where(rows, np.clip(prices, 1e-100, LARGEST_PRICE), self.prices)
        self._reach[rows], self._response[rows], self._sign[rows] = FIRST_REACH, 1.0, 0.0

    def move(self, loads: FloatArray, bound: float) -> None:
        """Move every price that is above 0 by one step."""
        with np.errstate(divide="ignore", over="ignore"):
            excess = np.log(np.maximum(loads, SMALLEST_LOAD))
            excess -= np.log(np.maximum(self._capacity, SMALLEST_LOAD))
        sign = np.sign(excess)
        again, turned = sign * self._sign > 0, sign * self._sign < 0
        reach = np.where(again, self._reach * REACH_UP, self._reach)
        self._reach = np.minimum(np.where(turned, reach * REACH_DOWN, reach), LARGEST_REACH)
        response = np.where(again, self._response * RESPONSE_UP, self._response)
        response = np.where(turned, response * RESPONSE_DOWN, response)
        self._response = np.minimum(response, LARGEST_RESPONSE)
        self._sign = sign
        step = sign * np.minimum(self._reach, self._response * np.abs(excess))
        moved = np.minimum(self.prices * np.exp(step), LARGEST_PRICE)
        moved[moved * self._capacity <= NEGLIGIBLE * abs(bound)] = 0.0
        self.prices = np.where(self._shut, LARGEST_PRICE, moved)


def first_prices(
    arrays: Arrays, rates: FloatArray, consumers: FloatArray, loads: FloatArray
) -> FloatArray:
    """Worth of what flows over each row, per unit of its load; a flow's worth is shared out.

    `consumers` are the populations behind the loads, in the order of `arrays`.
    """
    nodes, kinds = arrays.node_capacity.shape
    worth = consumers * np.maximum(arrays.worth(rates), 0.0)
    at_node = np.bincount(arrays.class_node, worth, nodes) / max(kinds, 1)
    of_flow = np.bincount(arrays.class_flow, worth, len(arrays.flow_ids))
    crossed = sparse.vstack([arrays.node_costs, arrays.link_costs]).tocsr()
    crossed.data = (crossed.data > 0).astype(np.float64)
    ways = np.asarray(crossed.sum(axis=0)).reshape(-1)
    passing = np.asarray(crossed @ (of_flow / np.maximum(ways, 1.0)))
    earned = np.concatenate([np.repeat(at_node, kinds), np.zeros(len(arrays.link_ids))])
    # A node that only passes flows on earns what passes.
    earned = np.where(earned > 0, earned, passing)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        prices = np.where(loads > 0, earned / loads, 0.0)
    return np.where(np.isfinite(prices) & (prices > 0), prices, 1e-12)
