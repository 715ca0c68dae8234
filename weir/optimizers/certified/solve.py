r"""Certified: dual prices steer, whole consumers are admitted greedily, and a bound comes with it.

The Lagrangian in the prices p of nodes and links separates by flow. Its value D(p) is at least
the utility of every feasible allocation, also with whole populations, so the least value
found is an upper bound and the distance to it is what the answer can still lack. Each iteration

1. asks every flow for its best rate and classes at the present prices (`flow_answer`, `dual`),
2. moves every price by the load that follows (`price_step`),
3. turns the rates into a feasible allocation (`primal`); the best is kept.

When the prices have settled, all but large problems finish the dual by cutting planes (`cutting`)
and the allocation is polished (`polish`). What is left of the gap is then due to whole populations
and to flows with several local maxima of equal value.

Assumptions: concave utilities (as the format demands). Answers are feasible to
`feasibility.TOLERANCE`, the bound is raised by what rounding can hide. Same input in any order,
same seed, any number of threads: same bits.

| here | meaning |
|---|---|
| `trace`, `bounds` | best utility and best bound after each iteration |
| `status` | `optimal`: gap at most 1e-9; `solved`: settled; `time_limit`: told to stop before |
| prices | those of the best bound; a class is wanted iff U_j(r) > P_j r |

Cost: O(C log n) per iteration for n classes per flow, plus the sort of the classes at their nodes
where an allocation is made; about 45 bytes per class and resource beyond the arrays.
Fails: nothing is lost but sharpness where few consumers each take a large share of a node or where
linear utilities leave many flows at two equal rates; the bound then says how much.

References:
    H. Everett. Generalized Lagrange multiplier method for solving problems of optimum allocation
    of resources. Operations Research 11(3), 1963. doi:10.1287/opre.11.3.399
    J.-P. Aubin, I. Ekeland. Estimates of the duality gap in nonconvex optimization. Mathematics
    of Operations Research 1(3), 1976. doi:10.1287/moor.1.3.225
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from weir import __version__
from weir.allocation.arrays import to_arrays
from weir.allocation.refusal import infeasible_result
from weir.codec import content_hash
from weir.model import Result
from weir.plugins import about, check_fields
from weir.stop import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.allocation.arrays import Arrays
    from weir.model import Problem, Start
    from weir.optimizers.certified.search import Search
    from weir.utility import FloatArray

NAME = "certified"
TITLE = "Certified"
SUMMARY = "Weir's own: near the optimum in a few iterations, with a proven upper bound."

OPTIMAL_GAP = 1e-9
"""Relative distance to the bound at which an answer counts as optimal."""

SETTLED_WINDOW = 6
SETTLED_CHANGE = 1e-7
"""Prices have settled when the bound fell by less, relative to it, over the window."""

STALLED_ROUNDS = 8
STALLED_CHANGE = 1e-9
"""Cutting planes end when neither bound, nor least dual, nor utility moved by more, relative to
the bound, over so many rounds."""

FIRST_PRIMALS = 3
PRIMAL_EVERY = 4
LARGE_CLASSES = 100_000
"""From here on only some iterations make an allocation, for its sort costs more than the prices,
and there is no polishing: no consumer is large enough to matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Hold the limits of the search; the defaults suit problems of every size."""

    max_iterations: int = field(
        default=80, metadata=about(help="Iterations of the prices at most", min=1, max=1_000_000)
    )
    exact_rounds: int = field(
        default=60,
        metadata=about(
            help="Rounds of cutting planes at most (none on large problems); 0 leaves them out",
            min=0,
            max=1_000_000,
        ),
    )
    polish_steps: int = field(
        default=300,
        metadata=about(
            help="Steps of polishing at most, while time remains; 0 leaves it out",
            min=0,
            max=1_000_000_000,
        ),
    )
    threads: int = field(
        default=2,
        metadata=about(help="Threads for large problems; they change no result", min=1, max=256),
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
    """The best allocation found until settled, optimal or stopped, and a bound on every other."""
    from weir.optimizers.certified.search import Search  # compiled kernels load on first use

    arrays = to_arrays(problem)
    problem_hash = content_hash(problem)
    refusal = infeasible_result(arrays, NAME, problem_hash, seed)
    if refusal is not None:
        return refusal
    large = len(arrays.class_ids) >= LARGE_CLASSES
    search = Search(arrays, start, params.threads if large else 1)
    return carry_out(search, problem_hash, params, stop=stop, seed=seed, on_progress=on_progress)


def carry_out(
    search: Search,
    problem_hash: str,
    params: Params,
    *,
    stop: Callable[[Progress], bool],
    seed: int,
    on_progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Search until settled, optimal or stopped; the search says where the classes are."""
    run = _Run(search, stop, on_progress)
    large = len(search.arrays.class_ids) >= LARGE_CLASSES
    _descend(search, run, params, large=large)
    if large and not run.ended:
        search.answer_at_best()
        run.note()
    if not run.ended and not large and search.is_small:
        _cut(search, run, params.exact_rounds)
    if not run.ended and not large and params.polish_steps:
        _polish(search, run, params.polish_steps, seed)
    return _result(search, run, problem_hash, seed)


class _Run:
    """What happened in each iteration, and whether to go on."""

    def __init__(
        self,
        search: Search,
        stop: Callable[[Progress], bool],
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self._search, self._stop, self._on_progress = search, stop, on_progress
        self.trace: list[float] = []
        self.bounds: list[float] = []
        self.stopped = False
        self.settled = False

    def note(self) -> bool:
        """Record the iteration just done; whether it was the last."""
        search = self._search
        self.trace.append(search.utility)
        self.bounds.append(max(search.bound, search.utility))
        progress = self.progress()
        if self._on_progress is not None:
            self._on_progress(progress)
        self.stopped = self._stop(progress)
        return self.ended

    def progress(self) -> Progress:
        """Describe the state after the last iteration."""
        return Progress(
            iteration=len(self.trace),
            utility=self.trace[-1],
            best_utility=self.trace[-1],
            upper_bound=self.bounds[-1],
        )

    def asked_to_stop(self) -> bool:
        """Ask the caller during long work between iterations whether to stop."""
        self.stopped = self.stopped or self._stop(self.progress())
        return self.stopped

    @property
    def ended(self) -> bool:
        """Stopped, or nothing is left to gain."""
        return self.stopped or self.gap <= OPTIMAL_GAP

    @property
    def gap(self) -> float:
        """Between bound and utility, relative to the bound."""
        bound, utility = self.bounds[-1], self.trace[-1]
        return 0.0 if bound <= utility else float((bound - utility) / max(abs(bound), 1e-300))


def _descend(search: Search, run: _Run, params: Params, *, large: bool) -> None:
    """Sign steps until the bound has settled."""
    for iteration in range(1, params.max_iterations + 1):
        due = not large or iteration <= FIRST_PRIMALS or iteration % PRIMAL_EVERY == 0
        search.descend(with_primal=due)
        if run.note():
            return
        if iteration > SETTLED_WINDOW:
            before, now = run.bounds[-1 - SETTLED_WINDOW], run.bounds[-1]
            if before - now <= SETTLED_CHANGE * abs(now):
                run.settled = True
                return


def _cut(search: Search, run: _Run, rounds: int) -> None:
    """Cutting planes until the dual is solved or nothing moves any more."""
    marks = [(-search.bound, search.least_dual, search.utility)]
    for _ in range(rounds):
        more = search.cut(run.asked_to_stop)
        if run.note():
            return
        if not more:
            run.settled = run.settled or search.is_closed
            return
        marks.append((-search.bound, search.least_dual, search.utility))
        if len(marks) > STALLED_ROUNDS:
            least = STALLED_CHANGE * abs(search.bound)
            then = marks[-1 - STALLED_ROUNDS]
            if all(now <= before + least for now, before in zip(marks[-1], then, strict=True)):
                return


def _polish(search: Search, run: _Run, steps: int, seed: int) -> None:
    """The last improvements of the best allocation."""
    from weir.optimizers.certified.polish import polished

    assert search.best is not None
    asked = itertools.count(1)

    def enough() -> bool:
        return next(asked) > steps or run.asked_to_stop()

    node_prices, link_prices = search.split_prices()
    better = polished(
        search.arrays,
        search.best.rates,
        search.populations(search.best),
        node_prices=node_prices,
        link_prices=link_prices,
        upper_bound=search.bound,
        stop=enough,
        seed=seed,
        interrupt=run.asked_to_stop,
    )
    proved = better.upper_bound
    if proved is not None and proved < search.bound:
        search.bound = proved
    if better.utility > search.best.utility:
        populations = better.populations[search.order]
        search.consider(type(search.best)(better.utility, better.rates, populations))
    run.note()


def _result(search: Search, run: _Run, problem_hash: str, seed: int) -> Result:
    arrays = search.arrays
    assert search.best is not None
    populations = search.populations(search.best)
    utility = arrays.utility(search.best.rates, populations)
    bound = max(search.bound, utility)
    run.trace[:] = [min(value, utility) for value in run.trace]
    if bound - utility <= OPTIMAL_GAP * abs(bound):
        status = "optimal"
    else:
        status = "solved" if run.settled and not run.stopped else "time_limit"
    node_prices, link_prices = search.split_prices()
    return Result(
        status=status,
        method=NAME,
        rates=dict(zip(arrays.flow_ids, search.best.rates.tolist(), strict=True)),
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
