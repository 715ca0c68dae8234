"""Polishing: a feasible allocation made better, exactly, while time remains.

`polished` takes what an optimizer found together with its prices and improves it: the rates
are solved to optimality at the populations, populations are shifted and climbed over whole
numbers, flows are moved to other humps of their worth (`polishing.search`). Small problems are
closed by branch and bound where that succeeds (`polishing.exact`).

The answer is feasible, never worse than the input and the same for the same input, seed and
number of questions that `stop` answered with no. A local optimum may remain where the problem
is too large for branch and bound; the caller's upper bound says how much that can be.

Cost: one round is linear in classes and entries; everything after the first rounds is extra.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from weir.allocation.feasibility import TOLERANCE
from weir.optimizers.certified.polishing.grid import to_grid, worth_of_rows
from weir.optimizers.certified.polishing.search import Search
from weir.optimizers.certified.polishing.state import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.allocation.arrays import Arrays
    from weir.utility import FloatArray

CLOSE = 5e-10
"""Nothing is left to gain once the utility is this near to its bound, relative to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Polished:
    """Hold a feasible allocation at least as good as the one it came from."""

    rates: FloatArray
    populations: FloatArray
    utility: float
    rounds: int
    """Searches that ran to their end: shifts, climbs and flips."""
    upper_bound: float | None = None
    """What no allocation exceeds, where the search proved more than the caller knew."""


def polished(
    arrays: Arrays,
    rates: FloatArray,
    populations: FloatArray,
    *,
    node_prices: FloatArray,
    link_prices: FloatArray,
    upper_bound: float | None,
    stop: Callable[[], bool],
    seed: int,
    interrupt: Callable[[], bool] = lambda: False,
) -> Polished:
    """The best allocation found before `stop` says enough; prices are per unit of capacity.

    `stop` may count how often it is asked: so often for the same input. Inside the solver of mixed
    programs `interrupt` is asked, many times.
    """
    given = Polished(
        rates=rates,
        populations=populations,
        utility=arrays.utility(rates, populations),
        rounds=0,
    )
    if not len(arrays.class_ids) or stop():
        return given
    grid, order = to_grid(arrays)
    state = State.at(
        grid,
        population=np.asarray(populations, dtype=np.float64)[order],
        rate=np.asarray(rates, dtype=np.float64).copy(),
        price=worth_of_rows(arrays, np.asarray(node_prices), np.asarray(link_prices)),
        nodes=len(arrays.node_ids),
    )
    held = grid.class_flow[grid.is_fixed & (state.population > 0)]
    grid.high[held] = state.rate[held]  # on a row without capacity only a rate of 0 fits
    if not state.solve_rates():
        return given
    enough = np.inf if upper_bound is None else upper_bound - CLOSE * abs(upper_bound)
    search = Search(state, enough=enough, stop=stop, seed=seed, interrupt=interrupt)
    search.run()
    return _better(arrays, given, search, order)


def _better(arrays: Arrays, given: Polished, search: Search, order: np.ndarray) -> Polished:
    """What was found, measured by the utilities themselves; the input if that is as good."""
    populations = np.empty(len(order))
    populations[order] = search.state.population
    rates = np.clip(search.state.rate, arrays.rate_min, arrays.rate_max)
    utility = arrays.utility(rates, populations)
    if not utility > given.utility or not is_feasible(arrays, rates, populations):
        return replace(given, rounds=search.rounds, upper_bound=search.proved)
    return Polished(
        rates=rates,
        populations=populations,
        utility=utility,
        rounds=search.rounds,
        upper_bound=search.proved,
    )


def is_feasible(arrays: Arrays, rates: FloatArray, populations: FloatArray) -> bool:
    """Return whether every bound and every capacity holds, to TOLERANCE of the capacity."""
    nodes, kinds = arrays.node_capacity.shape
    load = arrays.flow_loads(rates)
    messages = populations * rates[arrays.class_flow]
    for k in range(kinds):
        load[:, k] += np.bincount(arrays.class_node, arrays.class_costs[:, k] * messages, nodes)
    return bool(
        np.all(load <= arrays.node_capacity * (1 + TOLERANCE))
        and np.all(arrays.link_costs @ rates <= arrays.link_capacity * (1 + TOLERANCE))
        and np.all((populations >= 0) & (populations <= arrays.population_max))
        and np.all((rates >= arrays.rate_min) & (rates <= arrays.rate_max))
    )
