"""The answer in the model's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir import __version__
from weir.allocation.feasibility import idle_at_minimum
from weir.model import Result
from weir.optimizers.certified.run import OPTIMAL_GAP

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays
    from weir.optimizers.certified.run import Run
    from weir.optimizers.certified.search import Search
    from weir.utility import FloatArray


def result_of(search: Search, run: Run, *, method: str, problem_hash: str, seed: int) -> Result:
    """The best allocation found, its bound and its prices, and how the run ended."""
    arrays = search.arrays
    assert search.best is not None
    populations = search.populations(search.best)
    rates = idle_at_minimum(arrays, search.best.rates, populations)
    utility = arrays.utility(rates, populations)
    bound = max(search.bound, utility)
    run.trace[:] = [min(value, utility) for value in run.trace]
    if bound - utility <= OPTIMAL_GAP * abs(bound):
        status = "optimal"
    else:
        status = "time_limit" if run.stopped else "solved"
    node_prices, link_prices = search.split_prices()
    return Result(
        status=status,
        method=method,
        rates=dict(zip(arrays.flow_ids, rates.tolist(), strict=True)),
        populations=_whole(arrays, populations),
        utility=utility,
        upper_bound=bound,
        node_prices={
            node: dict(zip(arrays.resources, prices, strict=True))
            for node, prices in zip(arrays.node_ids, node_prices.tolist(), strict=True)
        },
        link_prices=dict(zip(arrays.link_ids, link_prices.tolist(), strict=True)),
        iterations=len(run.trace),
        trace=tuple(run.trace),
        bounds=tuple(run.bounds),
        problem_hash=problem_hash,
        kernel_version=__version__,
        seed=seed,
    )


def _whole(arrays: Arrays, populations: FloatArray) -> dict[str, int]:
    return dict(zip(arrays.class_ids, populations.astype(np.int64).tolist(), strict=True))
