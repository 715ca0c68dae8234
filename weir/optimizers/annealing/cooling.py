"""The rounds of a walk, each a little colder than the one before."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays
    from weir.optimizers.annealing.params import Params
    from weir.utility import FloatArray

MAX_ITERATIONS = 500
"""Rounds are gathered so that no run reports more often."""


class Cooling:
    """Run a random walk whose temperature falls."""

    def __init__(
        self,
        arrays: Arrays,
        params: Params,
        seed: int,
        rates: FloatArray,
        populations: FloatArray,
    ) -> None:
        from weir.allocation import layout  # compiled parts load when something is computed

        self._order = layout.class_order(arrays)
        self._layout = layout.layout(arrays, self._order)
        self._class_flow = arrays.class_flow[self._order]
        self._capacity = layout.capacities(arrays)
        self._rates = rates.copy()
        self._populations = populations[self._order]
        self._chance = np.array([seed % 2**64], dtype=np.uint64)
        dearest = float(np.max(arrays.worth(arrays.rate_max), initial=0.0))
        self._temperature, end = params.temperatures(dearest)
        self._cooling = params.cooling
        rounds = 1 + math.floor(math.log(end / self._temperature) / math.log(self._cooling))
        self._left = rounds
        self._steps = max(1, params.steps // rounds) if len(self._rates) else 0
        self._at_once = -(-rounds // MAX_ITERATIONS)

    def cool(self) -> bool:
        """Run some rounds; return whether no round is left."""
        from weir.optimizers.annealing.walk import anneal

        for _ in range(min(self._at_once, self._left)):
            anneal(
                self._layout,
                self._class_flow,
                self._capacity,
                self._rates,
                self._populations,
                self._chance,
                self._temperature,
                self._steps,
            )
            self._temperature *= self._cooling
            self._left -= 1
        return self._left == 0

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return copies of rates and populations in the order of the arrays."""
        populations = np.empty_like(self._populations)
        populations[self._order] = self._populations
        return self._rates.copy(), populations
