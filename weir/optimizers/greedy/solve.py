r"""Gryphon's greedy: begin at the minimum, grow whatever brings most per unit of the bottleneck.

All rates begin at r_min, all populations at 0; the rate or population of the highest
benefit-cost ratio grows until complete or until a resource is used up (`run`). One run per
primary bottleneck, whose consumption is the cost in the ratio, while every constraint is
respected; the best run is kept.

Assumptions: concave utilities. The ratio of a class falls while its rate grows, so what was
admitted early may turn out dear: a heuristic, no bound. It never takes back.

| paper (Bhola 2006, section IV.B) | here |
|---|---|
| n flows, m classes | F, C |
| r_alloc, n_alloc | `GreedyRun.rates`, `populations` |
| A_i, B_j | `GreedyModel.flow_loads`, `class_loads` |
| primary bottleneck | the constraint of weight 1 |

Readings and additions:

* The paper has one server. Here a constraint is any resource of any node or any link, and one more
  run weighs all of them by 1 / capacity: with several nodes no single one prices the others.
  With one resource at one node both are the paper's algorithm.
* Utilities that are not piecewise linear are replaced by chords below them, off by at most
  `error` of their range between r_min and r_max (`segmented`). The utility reported is exact.
* Ties share the bottleneck equally, measured in what they consume.
* Populations are cut to whole ones at the end. Then each class that lost a part of a consumer
  gets a whole one if it fits, best ratio first, and rates grow into what is left.
* One-to-one and request-response flows are classes of one consumer.

Cost: the paper's O(n m + m) counts a look at every flow per step. Here a queue gives the best
flow, so a run takes O((m + S) log n) for m classes and S segments, plus sorting the classes of
a flow whenever its rate moves; a test counts the operations. The loops are Python's: a run over
10,000 classes takes about a second.

References:
    S. Bhola, M. Astley, R. Saccone, M. Ward. Utility-aware resource allocation in an event
    processing system. ICAC 2006. doi:10.1109/ICAC.2006.1662382
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from weir import __version__
from weir.allocation.arrays import Arrays, to_arrays
from weir.allocation.pruning import in_two_stages
from weir.allocation.refusal import infeasible_result
from weir.codec import content_hash
from weir.model import Result
from weir.optimizers.greedy.model import GreedyModel
from weir.optimizers.greedy.run import GreedyRun
from weir.optimizers.greedy.whole import made_whole
from weir.plugins import about, check_fields
from weir.stop import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from weir.model import Problem, Start
    from weir.utility import FloatArray

NAME = "greedy"
TITLE = "Gryphon's greedy"
SUMMARY = "Grows the rate or population of the best benefit per cost. One pass, no bound."


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How finely curves are cut and how many bottlenecks are tried."""

    error: float = field(
        default=1e-4,
        metadata=about(
            help="Chords lie below a curve by at most this share of its range of values",
            min=1e-8,
            max=0.5,
        ),
    )
    bottlenecks: int = field(
        default=16,
        metadata=about(
            help="Primary bottlenecks tried, the one most asked for first", min=0, max=100_000
        ),
    )
    prune: bool = field(
        default=False,
        metadata=about(
            help="Solve again without the cost of flows at nodes that refused all their consumers"
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)


def solve(
    problem: Problem,
    params: Params,
    *,
    stop: Callable[[Progress], bool],
    seed: int,
    on_progress: Callable[[Progress], None] | None = None,
    start: Start | None = None,
) -> Result:
    """The best of the runs until `stop`; an iteration is a run. A start changes nothing."""
    return in_two_stages(
        partial(_solve_once, params=params, seed=seed),
        problem,
        prune=params.prune,
        stop=stop,
        on_progress=on_progress,
        start=start,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    utility: float
    rates: FloatArray
    populations: FloatArray
    prices: FloatArray


def _solve_once(
    problem: Problem,
    *,
    params: Params,
    stop: Callable[[Progress], bool],
    seed: int,
    on_progress: Callable[[Progress], None] | None,
    start: Start | None,
) -> Result:
    arrays = to_arrays(problem)
    problem_hash = content_hash(problem)
    refusal = infeasible_result(arrays, NAME, problem_hash, seed)
    if refusal is not None:
        return refusal
    model = GreedyModel(arrays, params.error)
    best: _Outcome | None = None
    trace: list[float] = []
    for weights in _weightings(model, params.bottlenecks):
        outcome = _run(arrays, model, weights)
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
        method=NAME,
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


def _weightings(model: GreedyModel, limit: int) -> Iterator[FloatArray]:
    """All constraints by 1 / capacity, then one after the other alone."""
    capacity = model.capacity
    yield np.divide(1.0, capacity, out=np.zeros_like(capacity), where=capacity > 0)
    short = model.bottlenecks()
    if len(capacity) == 1:
        return  # the same run again
    for c in short[:limit]:
        alone = np.zeros_like(capacity)
        alone[c] = 1.0
        yield alone


def _run(arrays: Arrays, model: GreedyModel, weights: FloatArray) -> _Outcome:
    run = GreedyRun(model, weights)
    run.run()
    made_whole(run)
    rates = np.clip(np.array(run.rates, dtype=np.float64), arrays.rate_min, arrays.rate_max)
    populations = np.array(run.populations, dtype=np.float64)
    return _Outcome(
        utility=arrays.utility(rates, populations),
        rates=rates,
        populations=populations,
        prices=np.array(run.prices, dtype=np.float64),
    )
