r"""Simulated annealing: the method that the LRGP paper compared itself with.

A random move that gains is kept, one that loses is kept with probability exp(gain / temperature).
The temperature starts at `start_temperature`, is multiplied by 0.999 after each round and ends
at `end_temperature`; all steps are divided equally among the rounds (section 4.4). Every state on
the way is feasible: a move that does not fit is refused.

Assumptions: none on the utilities. No bound; the answer depends on the seed.

| paper (Lumezanu 2006, section 4.4) | here |
|---|---|
| start temperature: 5, 10, 50, 100 | `start_temperature`; 0: hot, by the problem |
| end: 1 | `end_temperature`; 0: a hundred-thousandth of a hot start, 1 otherwise |
| steps: 10^6, 10^7, 10^8 | `steps` |
| x 0.999 per round | `cooling` |

Temperatures are in units of utility: those of the paper are a thousandth to a fifth of what *one*
consumer of its workload is worth (up to 691), so nothing is ever given up to make room for
something better, and its comparison says how bad a cold start is, not how good LRGP is. Hot
starts at HOT times the worth of the dearest consumer; a hundredth of the steps then comes
within 0.0004 of the optimum (see docs/algorithms/annealing.md).

Readings: the paper says nothing of neighbours or of the first state. Here a neighbour moves
one rate or one population (`walk`); the first state is everything at its minimum,
or the start that is given, made to fit. The best state at the end of a round is kept.

Cost: a third of a microsecond per step on the base workload.

References:
    S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi. Optimization by simulated annealing.
    Science 220(4598), 1983. doi:10.1126/science.220.4598.671
    C. Lumezanu, S. Bhola, M. Astley. Utility optimization for event-driven distributed
    infrastructures. ICDCS 2006. doi:10.1109/ICDCS.2006.79
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from weir import __version__
from weir.allocation.arrays import Arrays, to_arrays
from weir.allocation.feasibility import fitted, idle_at_minimum
from weir.allocation.pruning import in_two_stages
from weir.allocation.refusal import infeasible_result
from weir.codec import content_hash
from weir.model import Result
from weir.optimizers.annealing.cooling import Cooling
from weir.optimizers.annealing.params import Params
from weir.stop import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model import Problem, Start
    from weir.utility import FloatArray

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "solve"]

NAME = "annealing"
TITLE = "Simulated annealing"
SUMMARY = "Random moves, cooled slowly. Any shape of utility, no bound, depends on the seed."


def solve(
    problem: Problem,
    params: Params,
    *,
    stop: Callable[[Progress], bool],
    seed: int,
    on_progress: Callable[[Progress], None] | None = None,
    start: Start | None = None,
) -> Result:
    """The best state seen at the end of a round until cold or stopped."""
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
    rates, populations = _first(arrays, start)
    best_rates, best_populations = rates, populations
    best = arrays.utility(rates, populations)
    trace: list[float] = []
    cold = False
    walk = Cooling(arrays, params, seed, rates, populations)
    while not cold:
        cold = walk.cool()
        rates, populations = walk.state()
        utility = arrays.utility(rates, populations)
        trace.append(utility)
        if utility > best:
            best, best_rates, best_populations = utility, rates, populations
        progress = Progress(iteration=len(trace), utility=utility, best_utility=best)
        if on_progress is not None:
            on_progress(progress)
        if stop(progress):
            break
    best_rates = idle_at_minimum(arrays, best_rates, best_populations)
    return Result(
        status="solved" if cold else "time_limit",
        method=NAME,
        rates=dict(zip(arrays.flow_ids, best_rates.tolist(), strict=True)),
        populations=dict(
            zip(arrays.class_ids, best_populations.astype(np.int64).tolist(), strict=True)
        ),
        utility=best,
        node_prices={node: dict.fromkeys(arrays.resources, 0.0) for node in arrays.node_ids},
        link_prices=dict.fromkeys(arrays.link_ids, 0.0),
        iterations=len(trace),
        trace=tuple(trace),
        problem_hash=problem_hash,
        kernel_version=__version__,
        seed=seed,
    )


def _first(arrays: Arrays, start: Start | None) -> tuple[FloatArray, FloatArray]:
    """The former answer made to fit, else the minimum of everything."""
    nobody = np.zeros(len(arrays.class_ids))
    if start is None:
        return arrays.rate_min.copy(), nobody
    former = [start.rates.get(name, 0.0) for name in arrays.flow_ids]
    rates = np.clip(np.array(former, dtype=np.float64), arrays.rate_min, arrays.rate_max)
    counts = [start.populations.get(name, 0) for name in arrays.class_ids]
    populations = np.clip(np.array(counts, dtype=np.float64), 0.0, arrays.population_max)
    rates = fitted(arrays, rates)
    unit = arrays.class_costs * (populations * rates[arrays.class_flow])[:, None]
    load = arrays.flow_loads(rates)
    np.add.at(load, arrays.class_node, unit)
    crowded: np.ndarray = np.any(load > arrays.node_capacity, axis=1)
    return rates, np.where(crowded[arrays.class_node], 0.0, populations)
