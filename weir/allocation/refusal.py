"""The one way in which every optimizer says that no allocation exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir import __version__
from weir.allocation.feasibility import why_infeasible
from weir.allocation.infeasibility import explained
from weir.model import Result

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays


def infeasible_result(arrays: Arrays, method: str, problem_hash: str, seed: int) -> Result | None:
    """The refusal with its reason and what would help; None if the minimum rates fit."""
    reason = why_infeasible(arrays)
    if not reason:
        return None
    return Result(
        status="infeasible",
        method=method,
        rates={},
        populations={},
        utility=0.0,
        node_prices={},
        link_prices={},
        iterations=0,
        trace=(),
        problem_hash=problem_hash,
        kernel_version=__version__,
        seed=seed,
        reason=reason,
        infeasibility=explained(arrays),
    )
