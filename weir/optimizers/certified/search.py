"""The search behind the certified optimizer: dual descent, primal, cutting planes.

Holds the arrays and the best of both sides. `weir.optimizers.certified` says when to do what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.allocation.layout import blocks, capacities, carried, class_order, layout
from weir.optimizers.certified.dual import LocalDual
from weir.optimizers.certified.price_step import SignSteps, first_prices
from weir.optimizers.certified.primal import Candidate, Primal

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.allocation.arrays import Arrays
    from weir.model import Start
    from weir.optimizers.certified.cutting import CuttingPlanes
    from weir.optimizers.certified.dual import Dual
    from weir.utility import FloatArray

SMALL_FLOWS = 5_000
"""Flows up to which cutting planes finish the dual."""

KEPT_ANSWERS = 12
"""Answers of the descent that the cutting planes begin with: those nearest to its end."""

WIDER_BOX, LARGEST_BOX = 4.0, 1e6

CLOSED = 1e-10
"""Relative distance between bound and least dual at which the dual is solved: the solver's own."""


class Search:
    """Keep the best bound, the best allocation and the present prices."""

    def __init__(self, arrays: Arrays, start: Start | None, threads: int) -> None:
        self.arrays = arrays
        self.order = class_order(arrays)
        self.layout = layout(arrays, self.order)
        self.capacity = self.carried()
        self.dual = LocalDual(
            self.layout, blocks(len(arrays.flow_ids)), self.capacity, threads=threads
        )
        self.primal = Primal(arrays, self.layout, self.order, capacities(arrays), threads=threads)
        self.steps = SignSteps(self.capacity, start_prices(arrays, start))
        self.bound = np.inf
        self.best_prices = self.steps.prices
        self.best: Candidate | None = None
        self.first_scale = np.zeros(len(self.capacity))
        self.least_dual = -np.inf
        """No prices give a lower bound than this."""
        self.cuts: CuttingPlanes | None = None
        self._recent: list[tuple[FloatArray, np.ndarray, np.ndarray | None]] = []

    def carried(self) -> FloatArray:
        """What a bound must let every row carry."""
        return carried(self.arrays)

    def travelled(self) -> np.ndarray | None:
        """Return per cost whether the dual's last answer loads it; None: all do."""
        return None

    def around(self, candidate: Candidate) -> tuple[Arrays, bool]:
        """The problem to polish the candidate in, and whether a bound proved there holds."""
        return self.arrays, True

    @property
    def is_small(self) -> bool:
        """Return whether cutting planes can finish the dual."""
        return 0 < len(self.arrays.flow_ids) <= SMALL_FLOWS

    @property
    def utility(self) -> float:
        """Return the utility of the best allocation so far."""
        return self.best.utility if self.best is not None else -np.inf

    def consider(self, candidate: Candidate) -> None:
        """Keep the better allocation, the first of equals."""
        if self.best is None or candidate.utility > self.best.utility:
            self.best = candidate

    def ask(self, prices: FloatArray) -> Dual:
        """Compute D at the prices and keep the best bound."""
        answer = self.dual(prices)
        if answer.bound < self.bound:
            self.bound, self.best_prices = answer.bound, prices.copy()
        return answer

    def descend(self, *, with_primal: bool) -> None:
        """Run one iteration of sign steps; allocate at these prices if asked for."""
        answer = self.ask(self.steps.prices)
        if with_primal:
            self.consider(self.primal(self.dual.rates, self.dual.wanted, self.steps.prices))
        if self.is_small:
            self._recent.append((self.dual.rates.copy(), self.dual.wanted.copy(), self.travelled()))
            del self._recent[:-KEPT_ANSWERS]
        self.steps.move(answer.loads, self.bound)
        unpriced = self.steps.unpriced(answer.loads)
        if unpriced.any():
            consumers = np.empty(len(self.order))
            consumers[self.order] = np.where(self.dual.wanted, self.layout.population_max, 0.0)
            prices = first_prices(self.arrays, self.dual.rates, consumers, answer.loads)
            self.first_scale = np.where(unpriced, prices, self.first_scale)
            self.steps.begin(unpriced, prices)

    def answer_at_best(self) -> None:
        """Return the allocation that the best prices so far lead to."""
        self.ask(self.best_prices)
        self.consider(self.primal(self.dual.rates, self.dual.wanted, self.best_prices))

    def cut(self, stop: Callable[[], bool]) -> bool:
        """One round of cutting planes; False when it can gain nothing more or is told to stop."""
        if self.cuts is None:
            from weir.optimizers.certified.cutting import (
                CuttingPlanes,  # the solver loads on first use
            )

            self.cuts = CuttingPlanes(self.layout, self.capacity, self.bound)
            for rates, wanted, travelled in self._recent:
                self.cuts.add(rates, wanted, self.primal.worth(rates), travelled)
            self.ask(self.best_prices)
            self._add_cut(self.cuts)
        model = self.cuts.minimum(self.best_prices, self.first_scale, stop=stop)
        if model is None:
            return False
        before = self.bound
        self.ask(model.prices)
        new = self._add_cut(self.cuts)
        self.consider(self.primal(self.dual.rates, self.dual.wanted, model.prices))
        self.consider(self.primal(model.rates, self.dual.wanted, model.prices))
        self.least_dual = max(self.least_dual, model.lower_bound)
        box_holds = not np.isfinite(model.lower_bound)
        if box_holds and self.bound < before:
            self.cuts.box = min(self.cuts.box * WIDER_BOX, LARGEST_BOX)
        return not self.is_closed and (new > 0 or box_holds) and not self.cuts.is_full

    def _add_cut(self, cuts: CuttingPlanes) -> int:
        rates = self.dual.rates
        return cuts.add(rates, self.dual.wanted, self.primal.worth(rates), self.travelled())

    @property
    def is_closed(self) -> bool:
        """Return whether cutting planes have proved that no prices give a lower bound."""
        return self.bound - self.least_dual <= CLOSED * abs(self.bound)

    def populations(self, candidate: Candidate) -> FloatArray:
        """Return the candidate's populations in the order of `arrays`."""
        populations = np.empty(len(self.order))
        populations[self.order] = candidate.populations
        return populations

    def split_prices(self) -> tuple[FloatArray, FloatArray]:
        """Nodes x resources, and links; of the best bound. A shut row's price is cut off."""
        prices = np.where(self.capacity > 0, self.best_prices, 0.0)
        nodes = self.arrays.node_capacity.size
        return prices[:nodes].reshape(self.arrays.node_capacity.shape), prices[nodes:]


def start_prices(arrays: Arrays, start: Start | None) -> FloatArray:
    """Return the prices of a former answer by row; 0 where there is none."""
    if start is None:
        return np.zeros(arrays.node_capacity.size + len(arrays.link_ids))
    prices = [
        start.node_prices.get(node, {}).get(resource, 0.0)
        for node in arrays.node_ids
        for resource in arrays.resources
    ]
    prices += [start.link_prices.get(link, 0.0) for link in arrays.link_ids]
    return np.maximum(np.nan_to_num(np.array(prices, dtype=np.float64)), 0.0)
