"""Say how rarely chance gives as many."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weir.compiled import compiled


@compiled
def log_poisson_tail(count: int, mean: float) -> float:
    """Return the logarithm of the chance that a Poisson variable is at least `count`.

    Where `count` is not above the mean it is 0: nobody asks for more.
    """
    if count <= mean or count <= 0:
        return 0.0
    if mean <= 0.0:
        return -math.inf
    total, term, at = 1.0, 1.0, count
    while term > 1e-12 * total:
        at += 1
        term *= mean / at
        total += term
    return count * math.log(mean) - mean - math.lgamma(count + 1.0) + math.log(total)


@compiled
def information_of(share: float, chance: float) -> float:
    """Return the divergence of two shares: of n trials with this chance, `share` or more succeed
    with exp(-n times this) at most (Chernoff)."""
    total = 0.0
    if share > 0.0:
        total += share * math.log(share / chance)
    if share < 1.0:
        total += (1.0 - share) * math.log((1.0 - share) / (1.0 - chance))
    return total


@compiled
def fill_log_tails(counts: Any, means: Any, out: Any) -> None:
    """Fill `out` with the logarithms of Poisson tails."""
    for at in range(len(counts)):
        out[at] = log_poisson_tail(counts[at], means[at])


def log_tail(counts: Any, means: Any) -> Any:
    """Return the logarithms of Poisson tails, one a count."""
    out = np.empty(len(counts))
    fill_log_tails(
        np.ascontiguousarray(counts, dtype=np.int64), np.ascontiguousarray(means, dtype=float), out
    )
    return out
