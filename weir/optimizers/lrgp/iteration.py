"""One iteration of LRGP (Algorithms 1 to 3) with everybody in step.

| paper (Lumezanu 2006) | here |
|---|---|
| r_i, n_j | `rates`, `_populations` |
| p_b, p_l | `nodes.values`, `links.values` |
| PL_i + PB_i (equations 8, 9) | `_price_per_message` |
| BC_j, BC(b, t) | `Admission._order`, `Admitted.ratio` |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.allocation.feasibility import fitted, overload
from weir.allocation.segments import summed
from weir.optimizers.lrgp.admission import Admission, Admitted
from weir.optimizers.lrgp.prices import LARGEST_PRICE, AdaptivePrices
from weir.optimizers.lrgp.rate_step import RateStep

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays
    from weir.model import Start
    from weir.optimizers.lrgp.params import Params
    from weir.utility import FloatArray


class Synchronous:
    """The state between iterations. The prices of a former answer may begin it."""

    def __init__(self, arrays: Arrays, params: Params, start: Start | None = None) -> None:
        self.arrays = arrays
        self.nodes = AdaptivePrices(arrays.node_capacity.shape, params.node_rule())
        self.links = AdaptivePrices(arrays.link_capacity.shape, params.link_rule())
        self.admit = Admission(arrays)
        self.rounds = rounds_of(arrays)
        self.rates: FloatArray = arrays.rate_min.copy()
        """What the prices ask for; it may not fit."""
        self.overload = np.inf
        """Of the rates asked for, the largest excess of any node or link, relative to it."""
        self._rate_step = RateStep(arrays)
        self._reach = Reach(arrays)
        self._expected = Expected(arrays)
        self._populations = begin(arrays, self.nodes, self.links, start)
        self._admitted: Admitted | None = None
        self._admitted_at: FloatArray = self.nodes.values

    def advance(self) -> None:
        """Run one iteration: set the rates, admit consumers, then move the prices."""
        populations = self._expected(self._populations)
        weights = self._rate_step.weights(populations)
        self.rates = self._rate_step(weights, self._price_per_message(populations))
        self._admitted = self.admit(self.rates, self.nodes.values, rounds=self.rounds)
        self._admitted_at = self.nodes.values
        flow_load = self.arrays.flow_loads(self.rates)
        self._populations = next_populations(
            self.arrays, flow_load, self._populations, self._admitted.populations
        )
        self._move_prices(self.rates, self._admitted, flow_load)

    def enactable(self) -> tuple[FloatArray, FloatArray]:
        """Rates and populations of this iteration, made to fit where they do not."""
        assert self._admitted is not None  # after an iteration
        feasible = fitted(self.arrays, self.rates)
        if feasible is self.rates:
            return feasible, self._admitted.populations
        return feasible, self.admit(feasible, self._admitted_at, rounds=self.rounds).populations

    def _price_per_message(self, populations: FloatArray) -> FloatArray:
        """Return the price per message, PL_i + PB_i (equations 8 and 9)."""
        arrays = self.arrays
        prices = self.nodes.values
        per_consumer = (arrays.class_costs * prices[arrays.class_node]).sum(axis=1)
        price = summed(arrays.class_flow, populations * per_consumer, len(arrays.flow_ids))
        price += arrays.node_costs.T @ prices.reshape(-1)
        price += arrays.link_costs.T @ self.links.values
        return price

    def _move_prices(self, rates: FloatArray, admitted: Admitted, flow_load: FloatArray) -> None:
        """Move the node prices (equation 12) and the link prices (equation 13)."""
        arrays = self.arrays
        capacity = arrays.node_capacity
        load = np.asarray(arrays.link_costs @ rates)
        worth = arrays.worth(rates)
        earned = summed(arrays.class_flow, self._populations * worth, len(arrays.flow_ids))
        at_nodes = (self._reach.nodes @ earned).reshape(capacity.shape)
        asked = asked_load(arrays, flow_load, rates[arrays.class_flow], self._populations)
        self.nodes.move(node_movement(self.nodes, admitted, flow_load, asked, capacity, at_nodes))
        self.overload = max(overload(flow_load, capacity), overload(load, arrays.link_capacity))
        self.links.move(self.links.follow(load, arrays.link_capacity, self._reach.links @ earned))


class Reach:
    """Which flows load which node's resources and which links, as tables of 0 and 1."""

    def __init__(self, arrays: Arrays) -> None:
        self.nodes = (arrays.node_costs > 0).astype(np.float64)
        self.links = (arrays.link_costs > 0).astype(np.float64)


class Expected:
    """The consumers for whom a flow sets its rate: those admitted, or those it could win.

    A request-response flow may be worth nothing at its minimum rate, below N / (think + D).
    Then nobody is admitted there, and without anybody admitted the rate would never move. Such a
    flow sets its rate as if one consumer of each of its classes were admitted.
    """

    def __init__(self, arrays: Arrays) -> None:
        flows = len(arrays.flow_ids)
        self._class_flow = arrays.class_flow
        waits = arrays.population_max > 0
        pays_at_once = waits & (arrays.worth(arrays.rate_min) > 0)
        pays_later = waits & (arrays.worth(arrays.rate_max) > 0)
        self._worthless = (
            summed(arrays.class_flow, pays_at_once.astype(np.float64), flows) == 0
        ) & (summed(arrays.class_flow, pays_later.astype(np.float64), flows) > 0)
        self._one = np.where(pays_later, 1.0, 0.0)

    def __call__(self, populations: FloatArray) -> FloatArray:
        """The populations, with one of each class where a worthless flow has nobody."""
        if not self._worthless.any():
            return populations
        flows = len(self._worthless)
        alone = self._worthless & (summed(self._class_flow, populations, flows) == 0)
        return np.where(alone[self._class_flow], self._one, populations)


def rounds_of(arrays: Arrays) -> int:
    """Passes of the greedy admission. The paper's is one; with several resources a class that
    lacks one must not shut out those behind it that need another.
    """
    return 1 if len(arrays.resources) <= 1 else 4


def next_populations(
    arrays: Arrays, flow_load: FloatArray, former: FloatArray, admitted: FloatArray
) -> FloatArray:
    """The populations that the next rates are asked for.

    Where the flows alone leave no room nobody is admitted. By the paper the rates then fall
    to their minimum and the next moment everybody is back: node and rates take turns for ever
    while each turn of the price halves its step. There the former populations stay, so that the
    rising price brings the rates down until they fit.
    """
    overloaded = np.any(flow_load > arrays.node_capacity, axis=1)
    return np.where(overloaded[arrays.class_node], former, admitted)


def asked_load(
    arrays: Arrays, flow_load: FloatArray, class_rates: FloatArray, populations: FloatArray
) -> FloatArray:
    """Load of the flows and of these populations: what an overloaded node has to bring down."""
    load = flow_load.copy()
    if np.any(flow_load > arrays.node_capacity):
        np.add.at(
            load, arrays.class_node, arrays.class_costs * (class_rates * populations)[:, None]
        )
    return load


def node_movement(
    nodes: AdaptivePrices,
    admitted: Admitted,
    flow_load: FloatArray,
    asked: FloatArray,
    capacity: FloatArray,
    worth: FloatArray,
) -> FloatArray:
    """Equation 12: towards the best of those who wait, or with the load; see `prices`."""
    fits = flow_load <= capacity
    by_load = nodes.follow(np.where(fits, admitted.used, asked), capacity, worth)
    by_worth = nodes.approach(admitted.ratio)
    return np.asarray(np.where(admitted.waiting & fits, by_worth, by_load))


def begin(
    arrays: Arrays, nodes: AdaptivePrices, links: AdaptivePrices, start: Start | None
) -> FloatArray:
    """Set the prices of a former answer; its populations. Cold, everything is 0.

    The steps begin anew: those of a settled run are at their floor, from where prices would
    follow a change at a hundredth of the pace.
    """
    if start is None:
        return np.zeros(len(arrays.class_ids))
    for b, node in enumerate(arrays.node_ids):
        prices = start.node_prices.get(node, {})
        for k, resource in enumerate(arrays.resources):
            nodes.values[b, k] = np.clip(prices.get(resource, 0.0), 0.0, LARGEST_PRICE)
    for at, link in enumerate(arrays.link_ids):
        links.values[at] = np.clip(start.link_prices.get(link, 0.0), 0.0, LARGEST_PRICE)
    former = [start.populations.get(name, 0) for name in arrays.class_ids]
    return np.clip(np.array(former, dtype=np.float64), 0.0, arrays.population_max)
