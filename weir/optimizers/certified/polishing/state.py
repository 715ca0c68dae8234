"""A feasible allocation under improvement, with the prices that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.optimizers.certified.polishing.grid import Grid, Point
from weir.optimizers.certified.polishing.rates import best_rates, refresh
from weir.optimizers.certified.polishing.shifting import shift
from weir.optimizers.certified.polishing.trial import ITERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.utility import FloatArray

FIRST_STEP = 0.02
"""Share of a node's capacity that its first shift moves."""

CHUNK = 2e7
"""Nanoseconds (roughly) that compiled code runs before `stop` is asked again."""

SEARCHED = 2.5e5
"""The same where best rates are searched, in looks at a term; a solution takes some twenty."""


@dataclass(slots=True, kw_only=True)
class State:
    """A point of the grid and its value; its arrays are in the order of the grid."""

    grid: Grid
    point: Point
    value: float = -np.inf
    nodes: int

    @classmethod
    def at(
        cls, grid: Grid, *, population: FloatArray, rate: FloatArray, price: FloatArray, nodes: int
    ) -> State:
        """Begin at these populations, rates and prices; the arrays are improved in place."""
        coef, weight = np.zeros(len(grid.entry_base)), np.zeros(len(grid.term_shape))
        point = Point(population, coef, weight, price, rate)
        refresh(grid, point)
        return cls(grid=grid, point=point, nodes=nodes)

    @property
    def population(self) -> FloatArray:
        return self.point.population

    @property
    def rate(self) -> FloatArray:
        return self.point.rate

    @property
    def price(self) -> FloatArray:
        return self.point.price

    def refresh(self) -> None:
        """Recompute what follows from the populations."""
        refresh(self.grid, self.point)

    def copy(self) -> State:
        """Return an independent copy; only the grid is shared."""
        copied = State.at(
            self.grid,
            population=self.population.copy(),
            rate=self.rate.copy(),
            price=self.price.copy(),
            nodes=self.nodes,
        )
        copied.value = self.value
        return copied

    def solve_rates(self, iterations: int = ITERATIONS) -> bool:
        """Find the best rates at the present populations; return False if the minimum rates do not
        fit."""
        self.value, _ = best_rates(self.grid, self.point, -np.inf, iterations)
        return bool(self.value > -np.inf)

    def shift(self, rounds: int, stop: Callable[[], bool]) -> None:
        """Exchange consumers for rates at all nodes, until no node moves or the rounds are done."""
        step, last = np.full(self.nodes, FIRST_STEP), np.zeros(self.nodes)
        per_call = max(1, int(self.trials_per_call / 4))
        while rounds > 0 and not stop():
            count = min(per_call, rounds)
            self.value, goes_on = shift(
                self.grid, self.point, self.value, step, last, count, ITERATIONS
            )
            rounds -= count
            if not goes_on:
                break

    @property
    def trials_per_call(self) -> float:
        """Return how often the rates are solved between two questions whether to stop."""
        grid = self.grid
        one = 10.0 * (60.0 * len(self.rate) + 10.0 * len(self.point.coef)) + 4.0 * len(
            self.population
        )
        trials = min(CHUNK / (one + 5_000.0), SEARCHED / grid.visits, 1_000.0)
        return max(1.0, trials)
