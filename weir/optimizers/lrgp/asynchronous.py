"""LRGP without a common clock (section 3.5): own rhythms, late news, averages of what was heard.

Each flow, node and link updates every 1 to P iterations, in a rhythm drawn once. What one hears
of another is 0 to D iterations old, drawn anew for each pair at each hearing, so that news may
overtake each other as messages do. Nobody acts on a single value but on the mean of the last W
that the other published, as Low and Lapsley do. Everything is drawn from the seed, in order of
id: the same seed gives the same bits.

With P = 1, D = 0 and W = 1 this is the synchronous algorithm (tested).

Two readings. Nodes and flows exchange one message per pair: prices and populations one way, the
rate the other way. What a flow earns, by which an overloaded price finds its first size (see
`prices`), is taken as known.

References:
    S. H. Low, D. E. Lapsley. Optimization flow control I. IEEE/ACM ToN 7(6), 1999, section V.
    doi:10.1109/90.811451
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from weir.allocation.feasibility import overload
from weir.allocation.segments import summed
from weir.optimizers.lrgp.admission import Admission
from weir.optimizers.lrgp.iteration import (
    Expected,
    Reach,
    asked_load,
    begin,
    next_populations,
    node_movement,
    rounds_of,
)
from weir.optimizers.lrgp.prices import AdaptivePrices
from weir.optimizers.lrgp.rate_step import RateStep

if TYPE_CHECKING:
    from scipy import sparse

    from weir.allocation.arrays import Arrays, IntArray
    from weir.model import Start
    from weir.optimizers.lrgp.params import Params
    from weir.utility import FloatArray


class _Rhythm:
    """Draw for each part the period and phase at which it updates."""

    def __init__(self, chance: np.random.Generator, count: int, max_period: int) -> None:
        self._period = chance.integers(1, max_period + 1, count)
        self._phase = chance.integers(0, self._period) if count else self._period

    def due(self, iteration: int) -> np.ndarray:
        """Return which parts update in this iteration, as booleans."""
        return np.asarray((iteration + self._phase) % self._period == 0)


class _Published:
    """What some parts published in the last iterations: means of their last values."""

    def __init__(self, first: FloatArray, depth: int, window: int) -> None:
        self._ring = np.repeat(first[None], depth, axis=0)
        self._at = 0
        self._last: deque[FloatArray] = deque([first.copy()], maxlen=window)

    def say(self, values: FloatArray) -> None:
        """Record the values of one more iteration."""
        self._last.append(values.copy())
        self._at = (self._at + 1) % len(self._ring)
        self._ring[self._at] = sum(self._last[k] for k in range(len(self._last))) / len(self._last)

    def heard(self, who: IntArray, delay: IntArray) -> FloatArray:
        """What part `who` said `delay` iterations ago; entry by entry."""
        return np.asarray(self._ring[(self._at - delay) % len(self._ring), who])


class Asynchronous:
    """The state between iterations; an iteration is a tick of nobody's clock."""

    def __init__(
        self, arrays: Arrays, params: Params, *, seed: int, start: Start | None = None
    ) -> None:
        self.arrays = arrays
        self.nodes = AdaptivePrices(arrays.node_capacity.shape, params.node_rule())
        self.links = AdaptivePrices(arrays.link_capacity.shape, params.link_rule())
        self.admit = Admission(arrays)
        self.rounds = rounds_of(arrays)
        self.overload = np.inf
        self.rates = first_rates(arrays, start)
        self._populations = begin(arrays, self.nodes, self.links, start)
        self._rate_step = RateStep(arrays)
        self._reach = Reach(arrays)
        self._expected = Expected(arrays)
        self._class_curves = arrays.curves.take(arrays.class_term)
        self._pairs = _Pairs(arrays)
        self._chance = np.random.default_rng(seed)
        self._delays = params.max_delay + 1
        period = params.max_period
        self._flow_rhythm = _Rhythm(self._chance, len(arrays.flow_ids), period)
        self._node_rhythm = _Rhythm(self._chance, len(arrays.node_ids), period)
        self._link_rhythm = _Rhythm(self._chance, len(arrays.link_ids), period)
        self._iteration = 0

        def published(first: FloatArray) -> _Published:
            return _Published(first, self._delays, params.window)

        self._said_rates = published(self.rates)
        self._said_populations = published(self._populations)
        self._said_nodes = published(self.nodes.values.reshape(-1))
        self._said_links = published(self.links.values)

    def advance(self) -> None:
        """Whoever is due acts on what it has heard."""
        self._flows_act()
        self._said_rates.say(self.rates)
        self._nodes_and_links_act()
        self._said_populations.say(self._populations)
        self._said_nodes.say(self.nodes.values.reshape(-1))
        self._said_links.say(self.links.values)
        self._iteration += 1

    def _delay(self, count: int) -> IntArray:
        return self._chance.integers(0, self._delays, count)

    def _flows_act(self) -> None:
        """Algorithm 1, each flow with the prices and populations that reached its source."""
        arrays, pairs = self.arrays, self._pairs
        flows, kinds = len(arrays.flow_ids), arrays.node_capacity.shape[1]
        delay = self._delay(pairs.count)
        prices = self._said_nodes.heard(pairs.entry_row, delay[pairs.entry_pair])
        price = summed(pairs.entry_flow, pairs.entry_cost * prices, flows)
        of_class = delay[pairs.class_pair]
        admitted = self._said_populations.heard(np.arange(len(arrays.class_ids)), of_class)
        per_consumer = np.zeros(len(arrays.class_ids))
        for k in range(kinds):
            at = arrays.class_node * kinds + k
            per_consumer += arrays.class_costs[:, k] * self._said_nodes.heard(at, of_class)
        admitted = self._expected(admitted)
        price += summed(arrays.class_flow, admitted * per_consumer, flows)
        link_prices = self._said_links.heard(pairs.link, self._delay(len(pairs.link)))
        price += summed(pairs.link_flow, pairs.link_cost * link_prices, flows)
        wanted = self._rate_step(self._rate_step.weights(admitted), price)
        self.rates = np.where(self._flow_rhythm.due(self._iteration), wanted, self.rates)

    def _nodes_and_links_act(self) -> None:
        """Algorithms 2 and 3, each with the rates that reached it."""
        arrays, pairs = self.arrays, self._pairs
        capacity = arrays.node_capacity
        heard = self._said_rates.heard(pairs.flow, self._delay(pairs.count))
        class_rates = heard[pairs.class_pair]
        worth = np.asarray(arrays.class_scale * self._class_curves.value(class_rates))
        loads = pairs.entry_cost * heard[pairs.entry_pair]
        flow_load = summed(pairs.entry_row, loads, capacity.size).reshape(capacity.shape)
        outcome = self.admit.heard(
            class_rates, worth, flow_load, self.nodes.values, rounds=self.rounds
        )
        due = self._node_rhythm.due(self._iteration)
        wanted = next_populations(arrays, flow_load, self._populations, outcome.populations)
        self._populations = np.where(due[arrays.class_node], wanted, self._populations)
        earned = summed(arrays.class_flow, self._populations * worth, len(arrays.flow_ids))
        at_nodes = (self._reach.nodes @ earned).reshape(capacity.shape)
        asked = asked_load(arrays, flow_load, class_rates, self._populations)
        movement = node_movement(self.nodes, outcome, flow_load, asked, capacity, at_nodes)
        self.nodes.move(movement, due[:, None])
        link_rates = self._said_rates.heard(pairs.link_flow, self._delay(len(pairs.link)))
        load = summed(pairs.link, pairs.link_cost * link_rates, len(arrays.link_ids))
        self.links.move(
            self.links.follow(load, arrays.link_capacity, self._reach.links @ earned),
            self._link_rhythm.due(self._iteration),
        )
        self.overload = max(overload(flow_load, capacity), overload(load, arrays.link_capacity))


class _Pairs:
    """Who talks to whom: node and flow, link and flow."""

    def __init__(self, arrays: Arrays) -> None:
        flows = max(1, len(arrays.flow_ids))
        kinds = max(1, arrays.node_capacity.shape[1])
        self.entry_row, self.entry_flow, self.entry_cost = _entries(arrays.node_costs)
        self.link, self.link_flow, self.link_cost = _entries(arrays.link_costs)
        entries = self.entry_row // kinds * flows + self.entry_flow
        classes = arrays.class_node * flows + arrays.class_flow
        known, at = np.unique(np.concatenate([entries, classes]), return_inverse=True)
        self.count = len(known)
        self.flow: IntArray = known % flows
        self.entry_pair: IntArray = at[: len(entries)]
        self.class_pair: IntArray = at[len(entries) :]


def _entries(costs: sparse.csr_array) -> tuple[IntArray, IntArray, FloatArray]:
    rows = np.repeat(np.arange(costs.shape[0]), np.diff(costs.indptr))
    return rows, costs.indices.astype(np.int64), costs.data


def first_rates(arrays: Arrays, start: Start | None) -> FloatArray:
    """The rates of a former answer within their bounds, else the smallest."""
    if start is None:
        return arrays.rate_min.copy()
    former = [start.rates.get(name, 0.0) for name in arrays.flow_ids]
    return np.clip(np.array(former, dtype=np.float64), arrays.rate_min, arrays.rate_max)
