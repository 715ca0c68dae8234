"""Greedy passes over a whole problem, one per way of weighing the constraints.

A pass is one `GreedyRun`, cut to whole consumers at the end, so each is a feasible allocation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.allocation.feasibility import idle_at_minimum
from weir.allocation.growth.model import GreedyModel
from weir.allocation.growth.run import GreedyRun
from weir.allocation.growth.whole import made_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weir.allocation.arrays import Arrays
    from weir.utility import FloatArray

ERROR = 1e-4
"""Chords lie below a curve by at most this share of its range of values, unless told otherwise."""

BOTTLENECKS = 16
"""Primary bottlenecks tried, unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Hold the feasible allocation of one pass."""

    utility: float
    rates: FloatArray
    populations: FloatArray
    prices: FloatArray
    """Per constraint: node resources first, then links."""


def passes(
    arrays: Arrays, *, error: float = ERROR, bottlenecks: int = BOTTLENECKS
) -> Iterator[Pass]:
    """Weigh all constraints by 1 / capacity first, then each bottleneck alone."""
    model = GreedyModel(arrays, error)
    for weights in _weightings(model, bottlenecks):
        yield _pass(arrays, model, weights)


def _weightings(model: GreedyModel, limit: int) -> Iterator[FloatArray]:
    capacity = model.capacity
    yield np.divide(1.0, capacity, out=np.zeros_like(capacity), where=capacity > 0)
    short = model.bottlenecks()
    if len(capacity) == 1:
        return  # the same run again
    for c in short[:limit]:
        alone = np.zeros_like(capacity)
        alone[c] = 1.0
        yield alone


def _pass(arrays: Arrays, model: GreedyModel, weights: FloatArray) -> Pass:
    run = GreedyRun(model, weights)
    run.run()
    made_whole(run)
    rates = np.clip(np.array(run.rates, dtype=np.float64), arrays.rate_min, arrays.rate_max)
    populations = np.array(run.populations, dtype=np.float64)
    rates = idle_at_minimum(arrays, rates, populations)
    return Pass(
        utility=arrays.utility(rates, populations),
        rates=rates,
        populations=populations,
        prices=np.array(run.prices, dtype=np.float64),
    )
