r"""LRGP: Lagrangian rates, greedy populations. Prices steer rates, nodes admit greedily.

Each iteration sets every rate by the prices on its way and the consumers admitted so far
(Algorithm 1), admits consumers at each node in order of benefit and cost, resets the node's
price to what waiting consumers would pay (Algorithm 2), and moves link prices with excess
load (Algorithm 3). In step (`iteration`) or without a common clock (`asynchronous`);
deterministic, the seed draws rhythms and delays of the latter and is else only recorded.

Assumptions: concave utilities. The problem is not convex and LRGP is a heuristic: no bound,
no proof of convergence; linear and piecewise utilities make rates jump (see `rate_step`).

| paper (Lumezanu 2006) | here |
|---|---|
| gamma_1 = gamma_2, per node | `gamma_*`: start, bounds, +increment, x shrink on a turn |
| gamma_l | `link_gamma_*` |
| prune, solve again (section 2.4) | `prune`, `weir.allocation.pruning` |
| average the last few (section 3.5) | `average` |

Readings of the paper that reproduce its tables: natural logarithm; whole populations; step
and adaptation per node; prices and populations start at 0 and rates at their minimum; the
start of gamma (the paper says "e.g. 1") is cut to the interval [0.001, 0.1]; a fluctuation
is a change of sign of the price's movement.

Beyond the paper: several resources per node (`admission`), projected and scaled link steps
(`prices`), and a feasible answer always: where flows alone overload a node or link the
rates are drawn towards their minimum (`feasibility.fitted`) and populations admitted anew.
`trace` holds the utility of that feasible allocation per iteration. The best one is kept,
and what capacity is left is offered to the classes that the single greedy pass skipped. The
prices are those of the last iteration, which is the one that has settled. With `average` above
1 both are means of the last iterations, and rates and populations are repaired the same way.

Cost: O(F + C log C) per iteration. Fails: oscillates without settling where the best rates
sit on a kink or the exponent is near 1; the answer is then the best iterate, `not_converged`.

References:
    C. Lumezanu, S. Bhola, M. Astley. Utility optimization for event-driven distributed
    infrastructures. ICDCS 2006. doi:10.1109/ICDCS.2006.79
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from weir import __version__
from weir.allocation.arrays import Arrays, to_arrays
from weir.allocation.pruning import in_two_stages
from weir.allocation.refusal import infeasible_result
from weir.codec import content_hash
from weir.model import Result
from weir.optimizers.lrgp.asynchronous import Asynchronous
from weir.optimizers.lrgp.enactment import Enactment
from weir.optimizers.lrgp.ending import Answer, first_answer, raised
from weir.optimizers.lrgp.iteration import Synchronous
from weir.optimizers.lrgp.params import Params
from weir.optimizers.lrgp.rate_step import RateStep
from weir.stop import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model import Problem, Start

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "settled", "solve"]

NAME = "lrgp"
TITLE = "LRGP"
SUMMARY = "Prices steer the rates, each node admits consumers greedily. Fast, no bound."

SETTLED_SHORT = 0.01
"""Iterations have not converged where the answer is above what they settled on by more."""

SETTLED_OVERLOAD = 0.01
"""Prices have not settled while the rates they ask for overload something by more."""


def solve(
    problem: Problem,
    params: Params,
    *,
    stop: Callable[[Progress], bool],
    seed: int,
    on_progress: Callable[[Progress], None] | None = None,
    start: Start | None = None,
) -> Result:
    """The best feasible allocation found until settled, out of patience, or stopped."""
    return in_two_stages(
        partial(_solve_once, params=params, seed=seed),
        problem,
        prune=params.prune,
        stop=stop,
        on_progress=on_progress,
        start=start,
    )


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
    state: Synchronous | Asynchronous
    if params.asynchronous:
        state = Asynchronous(arrays, params, seed=seed, start=start)
    else:
        state = Synchronous(arrays, params, start)
    enact = Enactment(state, params.window)

    def enough(utility: float) -> bool:
        return stop(Progress(iteration=0, utility=utility, best_utility=utility))

    first = first_answer(arrays, enough)
    best: Answer | None = None
    best_at = 0
    trace: list[float] = []
    is_settled = stopped = False
    for iteration in range(1, params.max_iterations + 1):
        state.advance()
        rates, populations = enact()
        utility = arrays.utility(rates, populations)
        trace.append(utility)
        if best is None or utility > best.utility:
            best = Answer(utility=utility, rates=rates, populations=populations)
            best_at = iteration
        reached = best.utility if first is None else max(best.utility, first.utility)
        progress = Progress(iteration=iteration, utility=utility, best_utility=reached)
        if on_progress is not None:
            on_progress(progress)
        is_settled = state.overload <= SETTLED_OVERLOAD and settled(trace, params)
        stopped = stop(progress)
        if stopped:
            break
        if is_settled and iteration - best_at >= params.patience:
            break
    assert best is not None  # max_iterations is at least 1
    answer = _ended(arrays, enact, best)
    if first is not None and first.utility > answer.utility:
        answer = first
    is_settled = is_settled and trace[-1] >= answer.utility * (1 - SETTLED_SHORT)
    counts = answer.populations.astype(np.int64).tolist()
    return Result(
        status="solved" if is_settled else "time_limit" if stopped else "not_converged",
        method=NAME,
        rates=dict(zip(arrays.flow_ids, answer.rates.tolist(), strict=True)),
        populations=dict(zip(arrays.class_ids, counts, strict=True)),
        utility=answer.utility,
        node_prices={
            node: dict(zip(arrays.resources, prices, strict=True))
            for node, prices in zip(arrays.node_ids, enact.node_prices.tolist(), strict=True)
        },
        link_prices=dict(zip(arrays.link_ids, enact.link_prices.tolist(), strict=True)),
        iterations=len(trace),
        trace=tuple(trace),
        problem_hash=problem_hash,
        kernel_version=__version__,
        seed=seed,
    )


def settled(trace: list[float], params: Params) -> bool:
    """Whether the last iterations differ by no more than the tolerance (section 4.3)."""
    if len(trace) < params.settle_window:
        return False
    last = trace[-params.settle_window :]
    return max(last) - min(last) <= params.settle_tolerance * abs(last[-1])


def _ended(arrays: Arrays, enact: Enactment, best: Answer) -> Answer:
    """Offer what is left over to the classes that the greedy pass skipped, then to the rates."""
    answer = best
    more = enact.filled(best.rates)
    utility = arrays.utility(best.rates, more)
    if utility > best.utility:
        answer = Answer(utility=utility, rates=best.rates, populations=more)
    return raised(arrays, RateStep(arrays), answer, enact.node_prices, enact.link_prices)
