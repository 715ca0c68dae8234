r"""LRGP: Lagrangian rates, greedy populations. Prices steer rates, nodes admit greedily.

Each iteration sets every rate by the prices on its way and the consumers admitted so far
(Algorithm 1), admits consumers at each node in order of benefit and cost, resets the node's
price to what waiting consumers would pay (Algorithm 2), and moves link prices with excess
load (Algorithm 3). Synchronous, centralised, deterministic; the seed is only recorded.

Assumptions: concave utilities. The problem is not convex and LRGP is a heuristic: no bound,
no proof of convergence; linear and piecewise utilities make rates jump (see `rate_step`).

| paper (Lumezanu 2006) | here |
|---|---|
| r_i, n_j | `rates`, `populations` |
| p_b, p_l | `nodes.values`, `links.values` |
| PL_i + PB_i (equations 8, 9) | `_price_per_message` |
| gamma_1 = gamma_2, per node | `gamma_*`: start, bounds, +increment, x shrink on a turn |
| gamma_l | `link_gamma_*` |
| BC_j, BC(b, t) | `Admission._order`, `Admitted.ratio` |

Readings of the paper that reproduce its tables: natural logarithm; whole populations; step
and adaptation per node; prices and populations start at 0 and rates at their minimum; the
start of gamma (the paper says "e.g. 1") is cut to the interval [0.001, 0.1]; a fluctuation
is a change of sign of the price's movement.

Beyond the paper: several resources per node (`admission`), projected and scaled link steps
(`prices`), and a feasible answer always: where flows alone overload a node or link the
rates are drawn towards their minimum (`feasibility.fitted`) and populations admitted anew.
`trace` holds the utility of that feasible allocation per iteration. The best one is kept,
and what capacity is left is offered to the classes that the single greedy pass skipped. The
prices are those of the last iteration, which is the one that has settled.

Cost: O(F + C log C) per iteration. Fails: oscillates without settling where the best rates
sit on a kink or the exponent is near 1; the answer is then the best iterate, `time_limit`.

References:
    C. Lumezanu, S. Bhola, M. Astley. Utility optimization for event-driven distributed
    infrastructures. ICDCS 2006. doi:10.1109/ICDCS.2006.79
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from weir import __version__
from weir.allocation.admission import Admission, Admitted
from weir.allocation.arrays import Arrays, to_arrays
from weir.allocation.feasibility import fitted, overload, why_infeasible
from weir.allocation.prices import AdaptivePrices, StepRule
from weir.allocation.rate_step import RateStep
from weir.allocation.segments import summed
from weir.codec import content_hash
from weir.errors import InvalidProblem
from weir.model import Result
from weir.plugins import about, check_fields
from weir.stop import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model import Problem, Start
    from weir.utility import FloatArray

NAME = "lrgp"
TITLE = "LRGP"
SUMMARY = "Prices steer the rates, each node admits consumers greedily. Fast, no bound."

FILL_ROUNDS = 64
"""How often the capacity left at the end is offered to the classes that still wait."""

SETTLED_OVERLOAD = 0.01
"""Prices have not settled while the rates they ask for overload something by more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Defaults are the paper's where it gives one."""

    max_iterations: int = field(
        default=250, metadata=about(help="Iterations at most", min=1, max=1_000_000)
    )
    patience: int = field(
        default=100,
        metadata=about(
            help="Stop once settled and this many iterations brought nothing better",
            unit="iterations",
            min=1,
            max=1_000_000,
        ),
    )
    settle_window: int = field(
        default=5,
        metadata=about(
            help="Settled: the utility of so many iterations stays within the tolerance",
            unit="iterations",
            min=2,
            max=1000,
        ),
    )
    settle_tolerance: float = field(
        default=0.001,
        metadata=about(help="Amplitude of a settled utility, relative to it", min=0, max=1),
    )
    gamma_start: float = field(
        default=0.1, metadata=about(help="First step of a node's price", min=0, max=1)
    )
    gamma_min: float = field(
        default=0.001, metadata=about(help="Smallest step of a node's price", min=0, max=1)
    )
    gamma_max: float = field(
        default=0.1, metadata=about(help="Largest step of a node's price", min=0, max=1)
    )
    gamma_increment: float = field(
        default=0.001,
        metadata=about(help="Added to a step while its price moves one way", min=0, max=1),
    )
    gamma_shrink: float = field(
        default=0.5, metadata=about(help="Factor on a step when its price turns", min=0, max=1)
    )
    link_gamma_start: float = field(
        default=0.25, metadata=about(help="First step of a link's price", min=0, max=1)
    )
    link_gamma_min: float = field(
        default=0.001, metadata=about(help="Smallest step of a link's price", min=0, max=1)
    )
    link_gamma_max: float = field(
        default=0.5, metadata=about(help="Largest step of a link's price", min=0, max=1)
    )

    def __post_init__(self) -> None:
        check_fields(self)
        for name, low, high in (
            ("gamma_min", self.gamma_min, self.gamma_max),
            ("link_gamma_min", self.link_gamma_min, self.link_gamma_max),
        ):
            if low > high:
                raise InvalidProblem(name, f"{low:g} is above the largest step {high:g}")

    def node_rule(self) -> StepRule:
        """Steps of node prices."""
        return StepRule(
            start=self.gamma_start,
            low=self.gamma_min,
            high=self.gamma_max,
            increment=self.gamma_increment,
            shrink=self.gamma_shrink,
        )

    def link_rule(self) -> StepRule:
        """Steps of link prices."""
        return StepRule(
            start=self.link_gamma_start,
            low=self.link_gamma_min,
            high=self.link_gamma_max,
            increment=self.gamma_increment,
            shrink=self.gamma_shrink,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Best:
    """The best feasible iterate so far."""

    utility: float
    iteration: int
    rates: FloatArray
    populations: FloatArray


class _Iteration:
    """The state of Algorithms 1 to 3 between iterations."""

    def __init__(self, arrays: Arrays, params: Params) -> None:
        self.arrays = arrays
        self.nodes = AdaptivePrices(arrays.node_capacity.shape, params.node_rule())
        self.links = AdaptivePrices(arrays.link_capacity.shape, params.link_rule())
        self.admit = Admission(arrays)
        # The paper's greedy pass is one round; with several resources a class that lacks one
        # must not shut out those behind it that need another.
        self.rounds = 1 if len(arrays.resources) <= 1 else 4
        self._rate_step = RateStep(arrays)
        self._node_reach = (arrays.node_costs > 0).astype(np.float64)
        self._link_reach = (arrays.link_costs > 0).astype(np.float64)
        self.overload = np.inf
        self._populations = np.zeros(len(arrays.class_ids))

    def begin_at(self, start: Start) -> None:
        """Prices and populations of a former answer; the steps begin anew."""
        arrays = self.arrays
        for b, node in enumerate(arrays.node_ids):
            prices = start.node_prices.get(node, {})
            for k, resource in enumerate(arrays.resources):
                self.nodes.values[b, k] = max(prices.get(resource, 0.0), 0.0)
        for at, link in enumerate(arrays.link_ids):
            self.links.values[at] = max(start.link_prices.get(link, 0.0), 0.0)
        former = [start.populations.get(name, 0) for name in arrays.class_ids]
        self._populations = np.clip(former, 0, arrays.population_max).astype(np.float64)

    def advance(self) -> tuple[FloatArray, FloatArray]:
        """One iteration; the feasible rates and populations that it would enact."""
        arrays = self.arrays
        weights = self._rate_step.weights(self._populations)
        rates = self._rate_step(weights, self._price_per_message())
        admitted = self.admit(rates, self.nodes.values, rounds=self.rounds)
        feasible = fitted(arrays, rates)
        populations = admitted.populations
        if feasible is not rates:
            populations = self.admit(feasible, self.nodes.values, rounds=self.rounds).populations
        self._populations = admitted.populations
        self._move_prices(rates, admitted)
        return feasible, populations

    def _price_per_message(self) -> FloatArray:
        """PL_i + PB_i, equations 8 and 9."""
        arrays = self.arrays
        prices = self.nodes.values
        per_consumer = (arrays.class_costs * prices[arrays.class_node]).sum(axis=1)
        price = summed(arrays.class_flow, self._populations * per_consumer, len(arrays.flow_ids))
        price += arrays.node_costs.T @ prices.reshape(-1)
        price += arrays.link_costs.T @ self.links.values
        return price

    def _move_prices(self, rates: FloatArray, admitted: Admitted) -> None:
        arrays = self.arrays
        capacity = arrays.node_capacity
        flow_load = arrays.flow_loads(rates)
        overloaded = flow_load > capacity
        earned = self._earned(rates, admitted.populations)
        at_nodes = (self._node_reach @ earned).reshape(capacity.shape)
        by_load = self.nodes.follow(admitted.used, capacity, at_nodes)
        by_worth = self.nodes.approach(admitted.ratio)
        self.nodes.move(np.where(admitted.waiting & ~overloaded, by_worth, by_load))
        load = np.asarray(arrays.link_costs @ rates)
        self.overload = max(overload(flow_load, capacity), overload(load, arrays.link_capacity))
        self.links.move(self.links.follow(load, arrays.link_capacity, self._link_reach @ earned))

    def _earned(self, rates: FloatArray, populations: FloatArray) -> FloatArray:
        """What the admitted consumers of each flow are worth."""
        arrays = self.arrays
        return summed(arrays.class_flow, populations * arrays.worth(rates), len(arrays.flow_ids))


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
    arrays = to_arrays(problem)
    problem_hash = content_hash(problem)
    reason = why_infeasible(arrays)
    if reason:
        return Result(
            status="infeasible",
            method=NAME,
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
        )
    state = _Iteration(arrays, params)
    if start is not None:
        state.begin_at(start)
    best: _Best | None = None
    trace: list[float] = []
    is_settled = False
    for iteration in range(1, params.max_iterations + 1):
        rates, populations = state.advance()
        utility = arrays.utility(rates, populations)
        trace.append(utility)
        if best is None or utility > best.utility:
            best = _Best(
                utility=utility,
                iteration=iteration,
                rates=rates,
                populations=populations,
            )
        progress = Progress(iteration=iteration, utility=utility, best_utility=best.utility)
        if on_progress is not None:
            on_progress(progress)
        is_settled = state.overload <= SETTLED_OVERLOAD and settled(trace, params)
        if stop(progress):
            break
        if is_settled and iteration - best.iteration >= params.patience:
            break
    assert best is not None  # max_iterations is at least 1
    populations, utility = _filled(state, best)
    return Result(
        status="solved" if is_settled else "time_limit",
        method=NAME,
        rates=dict(zip(arrays.flow_ids, best.rates.tolist(), strict=True)),
        populations=dict(zip(arrays.class_ids, populations.astype(np.int64).tolist(), strict=True)),
        utility=utility,
        node_prices={
            node: dict(zip(arrays.resources, prices, strict=True))
            for node, prices in zip(arrays.node_ids, state.nodes.values.tolist(), strict=True)
        },
        link_prices=dict(zip(arrays.link_ids, state.links.values.tolist(), strict=True)),
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


def _filled(state: _Iteration, best: _Best) -> tuple[FloatArray, float]:
    """Offer the capacity left over to the classes that the single greedy pass skipped."""
    more = state.admit(best.rates, state.nodes.values, rounds=FILL_ROUNDS).populations
    utility = state.arrays.utility(best.rates, more)
    if utility > best.utility:
        return more, utility
    return best.populations, best.utility
