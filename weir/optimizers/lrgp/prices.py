"""Prices of nodes and links and their adaptive steps (Algorithms 2 and 3, section 4.2).

A node where consumers wait approaches the best benefit-cost ratio among them (equation 12,
first case). Everywhere else, that is on a link, on an overloaded node and on a node where
nobody waits, the price follows excess load (equation 13 and the second case of 12).

Two departures, both without effect on the paper's own workloads:

* Equations 12 and 13 add an excess in units of work to a price, so their step would depend
  on the units in which work is counted. Here the excess is relative to the capacity and
  moves the price by that share of a reference: the price itself, or, while an overloaded
  price is still small, FIRST_PRICE of what a unit of the load is worth. For a logarithmic
  utility, whose rate is about weight / price, a step of 1 is then a Newton step.
* Prices are projected to p >= 0, which equation 13 lacks; a negative price would make the
  rate step pay for load.

References:
    S. H. Low, D. E. Lapsley. Optimization flow control I. IEEE/ACM ToN 7(6), 1999.
    doi:10.1109/90.811451
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from weir.utility import FloatArray

LARGEST_PRICE = 1e100
FIRST_PRICE = 0.1
"""Share of the worth per unit of load below which a congested price is not held."""

MAX_EXCESS = 10.0
"""Relative excess that counts at most: a price grows at most elevenfold per iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRule:
    """How a step adapts: it grows while the price moves one way and is cut when it turns."""

    start: float
    low: float
    high: float
    increment: float
    shrink: float


class AdaptivePrices:
    """One price and one step per entry; entries are nodes x resources, or links."""

    def __init__(self, shape: tuple[int, ...], rule: StepRule) -> None:
        self.values: FloatArray = np.zeros(shape)
        self._rule = rule
        self.steps: FloatArray = np.full(shape, float(np.clip(rule.start, rule.low, rule.high)))
        self._last: FloatArray = np.zeros(shape)

    def approach(self, target: FloatArray) -> FloatArray:
        """Movement towards a target (equation 12, first case)."""
        return np.asarray(self.steps * (target - self.values))

    def follow(self, load: FloatArray, capacity: FloatArray, worth: FloatArray) -> FloatArray:
        """Movement along excess load (equation 13, scaled); `worth` is what the load earns."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            excess = np.where(capacity > 0, load / capacity - 1.0, np.where(load > 0, np.inf, 0.0))
            least = np.where(load > capacity, FIRST_PRICE * worth / np.maximum(capacity, load), 0.0)
        reference = np.minimum(np.maximum(self.values, least), LARGEST_PRICE)
        return np.asarray(self.steps * reference * np.clip(excess, -1.0, MAX_EXCESS))

    def move(self, movement: FloatArray, due: np.ndarray | None = None) -> None:
        """Carry the movement out, not below 0, and adapt the steps; only those `due`, if given."""
        before = self.values
        if due is not None:
            movement = np.where(due, movement, 0.0)
        self.values = np.clip(before + movement, 0.0, LARGEST_PRICE)
        moved = self.values - before
        turned = np.sign(moved) * np.sign(self._last) < 0
        rule = self._rule
        adapted = np.where(turned, self.steps * rule.shrink, self.steps + rule.increment)
        adapted = np.clip(adapted, rule.low, rule.high)
        self.steps = adapted if due is None else np.where(due, adapted, self.steps)
        self._last = moved if due is None else np.where(due, moved, self._last)
