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
| `status` | `optimal`: gap at most 1e-9; `solved`: nothing left to try; `time_limit`: stopped |
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
from functools import partial
from typing import TYPE_CHECKING

from weir.allocation.arrays import to_arrays
from weir.allocation.feasibility import idle_at_minimum
from weir.allocation.refusal import infeasible_result
from weir.codec import content_hash
from weir.model import Forwarding
from weir.optimizers.certified.params import Params
from weir.optimizers.certified.result import result_of
from weir.optimizers.certified.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model import Problem, Result, Start
    from weir.optimizers.certified.search import Search
    from weir.stop import Progress

__all__ = ["LARGE_CLASSES", "NAME", "SUMMARY", "TITLE", "Params", "carry_out", "solve"]

NAME = "certified"
TITLE = "Certified"
SUMMARY = "Weir's own: near the optimum in a few iterations, with a proven upper bound."

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
    large = len(arrays.class_ids) >= LARGE_CLASSES
    threads = params.threads if large else 1
    search: Search
    if problem.forwarding is Forwarding.WANTED:
        from weir.optimizers.certified.wanted.beginning import greedy_where_wanted
        from weir.optimizers.certified.wanted.search import WantedSearch

        search = WantedSearch(problem, arrays, start, threads)
        if not large:
            search.begin_with(greedy_where_wanted(problem, stop, seed))
    else:
        refusal = infeasible_result(arrays, NAME, problem_hash, seed)
        if refusal is not None:
            return refusal
        search = Search(arrays, start, threads)
    found = carry_out(search, problem_hash, params, stop=stop, seed=seed, on_progress=on_progress)
    if problem.forwarding is Forwarding.WANTED and found.status == "solved":
        from weir.optimizers.certified.wanted.enumeration import with_every_choice

        again = partial(solve, params=params, stop=stop, seed=seed)
        return with_every_choice(problem, found, again, stop=stop)
    return found


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
    run = Run(search, stop, on_progress)
    large = len(search.arrays.class_ids) >= LARGE_CLASSES
    _descend(search, run, params, large=large)
    if large and not run.ended:
        search.answer_at_best()
        run.note()
    if not run.ended and not large and search.is_small:
        _cut(search, run, params.exact_rounds)
    if not run.ended and not large and params.polish_steps:
        _polish(search, run, params.polish_steps, seed)
    return result_of(search, run, method=NAME, problem_hash=problem_hash, seed=seed)


def _descend(search: Search, run: Run, params: Params, *, large: bool) -> None:
    """Sign steps until the bound has settled."""
    for iteration in range(1, params.max_iterations + 1):
        due = not large or iteration <= FIRST_PRIMALS or iteration % PRIMAL_EVERY == 0
        search.descend(with_primal=due)
        if run.note():
            return
        if iteration > SETTLED_WINDOW:
            before, now = run.bounds[-1 - SETTLED_WINDOW], run.bounds[-1]
            if before - now <= SETTLED_CHANGE * abs(now):
                return


def _cut(search: Search, run: Run, rounds: int) -> None:
    """Cutting planes until the dual is solved or nothing moves any more."""
    marks = [(-search.bound, search.least_dual, search.utility)]
    for _ in range(rounds):
        more = search.cut(run.asked_to_stop)
        if run.note() or not more:
            return
        marks.append((-search.bound, search.least_dual, search.utility))
        if len(marks) > STALLED_ROUNDS:
            least = STALLED_CHANGE * abs(search.bound)
            then = marks[-1 - STALLED_ROUNDS]
            if all(now <= before + least for now, before in zip(marks[-1], then, strict=True)):
                return


def _polish(search: Search, run: Run, steps: int, seed: int) -> None:
    """The last improvements of the best allocation."""
    from weir.optimizers.certified.polish import polished

    assert search.best is not None
    asked = itertools.count(1)

    def enough() -> bool:
        return next(asked) > steps or run.asked_to_stop()

    populations = search.populations(search.best)
    node_prices, link_prices = search.split_prices()
    arrays, bounds_all = search.around(search.best)
    better = polished(
        arrays,
        idle_at_minimum(arrays, search.best.rates, populations),
        populations,
        node_prices=node_prices,
        link_prices=link_prices,
        upper_bound=search.bound,
        stop=enough,
        seed=seed,
        interrupt=run.asked_to_stop,
    )
    if bounds_all and better.upper_bound is not None:
        search.bound = min(search.bound, better.upper_bound)
    if better.utility > search.best.utility:
        populations = better.populations[search.order]
        search.consider(type(search.best)(better.utility, better.rates, populations))
    run.note()
