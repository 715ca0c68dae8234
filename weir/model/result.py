"""The answer of an optimizer, with what is needed to compute it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.model.infeasibility import Infeasibility


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Rates, admitted consumers and prices; `status` says how good they are.

    `status` is `optimal`, `solved`, `not_converged` (the method's own limit came first: the best
    it has), `time_limit` (told to stop: the best so far) or `infeasible`, with the reason.
    `trace` holds the utility after each iteration, `bounds` the best upper bound so far (empty
    where the method has none). Same `problem_hash`,
    `kernel_version`, method, parameters and `seed` give the same numbers to the last bit.
    """

    status: str
    method: str
    rates: Mapping[str, float]
    populations: Mapping[str, int]
    utility: float
    upper_bound: float | None = None
    node_prices: Mapping[str, Mapping[str, float]]
    link_prices: Mapping[str, float]
    iterations: int
    trace: tuple[float, ...]
    bounds: tuple[float, ...] = ()
    problem_hash: str = ""
    kernel_version: str = ""
    seed: int = 0
    reason: str = ""
    infeasibility: Infeasibility | None = None
    pruned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Flow to the nodes that it need not go to; see `weir.allocation.pruning`."""
