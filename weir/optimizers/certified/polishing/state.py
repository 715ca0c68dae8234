"""A feasible allocation under improvement, with the prices that belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from weir.optimizers.certified.polishing.rates import best_rates, refresh
from weir.optimizers.certified.polishing.shifting import shift
from weir.optimizers.certified.polishing.trial import ITERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.optimizers.certified.polishing.grid import Grid
    from weir.utility import FloatArray

FIRST_STEP = 0.02
"""Share of a node's capacity that its first shift moves."""

CHUNK = 2e7
"""Nanoseconds (roughly) that compiled code runs before `stop` is asked again."""

SEARCHED = 2.5e5
"""The same where best rates are searched, in looks at a term; a solution takes some twenty."""


@dataclass(slots=True, kw_only=True)
class State:
    """Arrays in the order of the grid."""

    grid: Grid
    population: FloatArray
    rate: FloatArray
    price: FloatArray
    value: float = -np.inf
    coef: FloatArray = field(init=False)
    weight: FloatArray = field(init=False)
    nodes: int

    def __post_init__(self) -> None:
        self.coef = np.zeros(len(self.grid.entry_base))
        self.weight = np.zeros(len(self.grid.term_shape))
        self.refresh()

    def refresh(self) -> None:
        """Recompute what follows from the populations."""
        refresh(self.grid, self.population, self.coef, self.weight)

    def copy(self) -> State:
        """Return an independent copy; only the grid is shared."""
        return State(
            grid=self.grid,
            population=self.population.copy(),
            rate=self.rate.copy(),
            price=self.price.copy(),
            value=self.value,
            nodes=self.nodes,
        )

    def solve_rates(self, iterations: int = ITERATIONS) -> bool:
        """Find the best rates at the present populations; return False if the minimum rates do not
        fit."""
        self.value, _ = best_rates(
            self.grid, self.coef, self.weight, self.price, self.rate, -np.inf, iterations
        )
        return bool(self.value > -np.inf)

    def shift(self, rounds: int, stop: Callable[[], bool]) -> None:
        """Exchange consumers for rates at all nodes, until no node moves or the rounds are done."""
        step, last = np.full(self.nodes, FIRST_STEP), np.zeros(self.nodes)
        per_call = max(1, int(self.trials_per_call / 4))
        while rounds > 0 and not stop():
            count = min(per_call, rounds)
            self.value, goes_on = shift(
                self.grid,
                self.population,
                self.coef,
                self.weight,
                self.price,
                self.rate,
                self.value,
                step,
                last,
                count,
                ITERATIONS,
            )
            rounds -= count
            if not goes_on:
                break

    @property
    def trials_per_call(self) -> float:
        """Return how often the rates are solved between two questions whether to stop."""
        grid = self.grid
        one = 10.0 * (60.0 * len(self.rate) + 10.0 * len(self.coef)) + 4.0 * len(self.population)
        trials = min(CHUNK / (one + 5_000.0), SEARCHED / grid.visits, 1_000.0)
        return max(1.0, trials)
