"""An answer to begin with: prices alone can miss the few ways that pay."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from weir.allocation.growth.once import greedy_once
from weir.allocation.growth.passes import BOTTLENECKS
from weir.allocation.serving import solve_where_wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model import Problem, Result
    from weir.stop import Progress

FEW_CLASSES = 5_000
"""Up to here every bottleneck is tried; above, one pass per choice of ways."""


def greedy_where_wanted(problem: Problem, stop: Callable[[Progress], bool], seed: int) -> Result:
    """Return the best greedy answer over the choices of ways that `serving` tries."""
    bottlenecks = BOTTLENECKS if len(problem.classes) <= FEW_CLASSES else 0
    return solve_where_wanted(
        partial(greedy_once, method="", seed=seed, bottlenecks=bottlenecks),
        problem,
        stop=stop,
        on_progress=None,
        start=None,
    )
