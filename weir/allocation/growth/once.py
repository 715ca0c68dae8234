"""One greedy solution of a problem as it stands: the best of its passes, with its prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir import __version__
from weir.allocation.arrays import to_arrays
from weir.allocation.growth.passes import BOTTLENECKS, ERROR, Pass, passes
from weir.allocation.refusal import infeasible_result
from weir.codec import content_hash
from weir.model import Result
from weir.stop import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model import Problem, Start
    from weir.utility import FloatArray


def greedy_once(
    problem: Problem,
    *,
    stop: Callable[[Progress], bool],
    on_progress: Callable[[Progress], None] | None = None,
    start: Start | None = None,
    method: str,
    seed: int,
    error: float = ERROR,
    bottlenecks: int = BOTTLENECKS,
) -> Result:
    """The best of the passes until `stop`; an iteration is a pass. A start changes nothing."""
    arrays = to_arrays(problem)
    problem_hash = content_hash(problem)
    refusal = infeasible_result(arrays, method, problem_hash, seed)
    if refusal is not None:
        return refusal
    best: Pass | None = None
    trace: list[float] = []
    for outcome in passes(arrays, error=error, bottlenecks=bottlenecks):
        trace.append(outcome.utility)
        if best is None or outcome.utility > best.utility:
            best = outcome
        progress = Progress(
            iteration=len(trace), utility=outcome.utility, best_utility=best.utility
        )
        if on_progress is not None:
            on_progress(progress)
        if stop(progress):
            break
    assert best is not None  # there is always the run that weighs everything
    size = arrays.node_capacity.size
    node_prices: FloatArray = best.prices[:size].reshape(arrays.node_capacity.shape)
    link_prices: list[float] = best.prices[size:].tolist()
    return Result(
        status="solved",
        method=method,
        rates=dict(zip(arrays.flow_ids, best.rates.tolist(), strict=True)),
        populations=dict(
            zip(arrays.class_ids, best.populations.astype(np.int64).tolist(), strict=True)
        ),
        utility=best.utility,
        node_prices={
            node: dict(zip(arrays.resources, prices, strict=True))
            for node, prices in zip(arrays.node_ids, node_prices.tolist(), strict=True)
        },
        link_prices=dict(zip(arrays.link_ids, link_prices, strict=True)),
        iterations=len(trace),
        trace=tuple(trace),
        problem_hash=problem_hash,
        kernel_version=__version__,
        seed=seed,
    )
