"""What every model of arrivals says of the work ahead of a message: tail, mean excess, quantile."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.legendre import leggauss

from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

NODES, WEIGHTS = leggauss(16)
"""Between two whole numbers the tail is smooth: these give its integral to the last digits."""

HALVINGS = 200
NEGLIGIBLE = 1e-18
"""Of the mean: what a further unit adds to the mean excess before it is left out."""


class WorkAhead(ABC):
    """The stationary work ahead of a message, in messages."""

    mean: float
    """Its expectation."""

    @abstractmethod
    def _fill(self, values: Floats, out: Floats) -> None:
        """Fill `out` with P(V > value)."""

    @abstractmethod
    def _end(self) -> tuple[float, float]:
        """Return where the tail becomes one exponential, and the messages in which it falls to 1/e;
        a fall of 0 means that it ends there."""

    def tails(self, values: ArrayLike) -> Floats:
        """Return P(V > value) of each value, in messages."""
        given = np.ascontiguousarray(values, dtype=float).ravel()
        out = np.empty(len(given))
        self._fill(given, out)
        return out

    def tail(self, value: float) -> float:
        """Return P(V > value)."""
        return float(self.tails([value])[0])

    def excess_mean(self, value: float) -> float:
        """Return E[(V - value)+], in messages."""
        if value <= 0.0:
            return self.mean - value
        return self._integral(value)

    def _integral(self, value: float) -> float:
        """Return the integral of the tail from `value` on."""
        settled, fall = self._end()
        total = 0.0
        low = value
        while low < settled:
            high = min(math.floor(low) + 1.0, settled)
            middle, half = (low + high) / 2.0, (high - low) / 2.0
            added = half * float(WEIGHTS @ self.tails(middle + half * NODES))
            total += added
            low = high
            if added <= NEGLIGIBLE * total:
                return total
        return total + fall * self.tail(low)

    def quantile(self, probability: float) -> float:
        """Return the least value that V exceeds with at most 1 - `probability`.

        Computed once: placements look at the same part of a bucket beside many others. Raises
        InvalidProblem for a probability outside [0, 1).
        """
        known: dict[float, float] = self.__dict__.setdefault("_quantiles", {})
        if probability not in known:
            known[probability] = self._quantile(probability)
        return known[probability]

    def _quantile(self, probability: float) -> float:
        if not 0 <= probability < 1:
            raise InvalidProblem("probability", "must be at least 0 and below 1")
        allowed = 1.0 - probability
        if self.tail(0.0) <= allowed:
            return 0.0
        settled, fall = self._end()
        if (left := self.tail(settled)) > allowed:
            return settled + fall * math.log(left / allowed)
        return self._inside(allowed, 0.0, settled)

    def _inside(self, allowed: float, low: float, high: float) -> float:
        """Return where the tail falls to `allowed` between `low` and `high`, by halving."""
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            if self.tail(middle) > allowed:
                low = middle
            else:
                high = middle
        return high


class StretchedWork(WorkAhead):
    """The work ahead of a message where it is so many times as much as another model says."""

    def __init__(self, work: WorkAhead, factor: float) -> None:
        self._work, self._factor = work, factor
        self.mean = factor * work.mean

    def _fill(self, values: Floats, out: Floats) -> None:
        self._work._fill(values / self._factor, out)

    def _end(self) -> tuple[float, float]:
        settled, fall = self._work._end()
        return self._factor * settled, self._factor * fall

    def _integral(self, value: float) -> float:
        return self._factor * self._work.excess_mean(value / self._factor)

    def _quantile(self, probability: float) -> float:
        return self._factor * self._work.quantile(probability)
