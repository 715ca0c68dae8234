"""What would be enacted after an iteration: feasible rates and populations, and their prices."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from weir.allocation.feasibility import fitted
from weir.optimizers.lrgp.iteration import Synchronous

if TYPE_CHECKING:
    from weir.optimizers.lrgp.asynchronous import Asynchronous
    from weir.utility import FloatArray

FILL_ROUNDS = 64
"""How often the capacity left at the end is offered to the classes that still wait."""


class Enactment:
    """Compute what would be enacted after each iteration, and at which prices."""

    def __init__(self, state: Synchronous | Asynchronous, window: int) -> None:
        self._state = state
        self._rates: deque[FloatArray] = deque(maxlen=window)
        self._nodes: deque[FloatArray] = deque(maxlen=window)
        self._links: deque[FloatArray] = deque(maxlen=window)

    def __call__(self) -> tuple[FloatArray, FloatArray]:
        """Record the iterate and return feasible rates and populations."""
        state = self._state
        self._rates.append(state.rates)
        self._nodes.append(state.nodes.values)
        self._links.append(state.links.values)
        if isinstance(state, Synchronous) and self._rates.maxlen == 1:
            return state.enactable()
        return self._repaired(np.clip(_mean(self._rates), *self._bounds))

    @property
    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        return self._state.arrays.rate_min, self._state.arrays.rate_max

    @property
    def node_prices(self) -> FloatArray:
        """Return the mean of the node prices over the window."""
        return _mean(self._nodes)

    @property
    def link_prices(self) -> FloatArray:
        """Return the mean of the link prices over the window."""
        return _mean(self._links)

    def _repaired(self, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means and late news need not fit: draw the rates in and admit anew at these prices."""
        feasible = fitted(self._state.arrays, rates)
        return feasible, self.filled(feasible)

    def filled(self, rates: FloatArray) -> FloatArray:
        """Populations that leave no room lying for a class behind the first that did not fit."""
        return self._state.admit(rates, self.node_prices, rounds=FILL_ROUNDS).populations


def _mean(values: deque[FloatArray]) -> FloatArray:
    if len(values) == 1:
        return values[0]  # to the last bit
    return np.asarray(np.mean(np.stack(list(values)), axis=0))
