"""How few actions there can be, proven, beside what `slides` finds in a second.

    python -m benchmarks.proofs [--sizes 20 30 40] [--seeds 2] [--limit-s 100]

Workloads of the paper's section VI.A: trees of maximum degree 5, 6 and 7, balanced and
unbalanced, 20 % of the links changed. A line per tree: what the lower bound says at once, what
`exact` proves and in how much processor time, and the actions of `slides` after 0.9 s of it. Then
how many trees were proven and on how many of these `slides` has as few actions.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from weir.planners import exact, slides
from weir.transformation.bounds import lower_bounds
from weir.transformation.validation import check
from weir.transformation.workloads import paper_workload
from weir.warm_up import warm_up_slides

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.planners import PlanProgress

SECOND_S = 0.9
DEGREES = (5, 6, 7)


def until(limit_s: float) -> Callable[[PlanProgress], bool]:
    """Stops after so much processor time."""
    started = time.process_time()
    return lambda _: time.process_time() - started >= limit_s


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 30, 40])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--limit-s", type=float, default=100.0)
    given = parser.parse_args()
    warm_up_slides()
    print(f"{'brokers':>7} {'tree':>10} {'degree':>6} {'seed':>4} {'bound':>5} {'proven':>6} "
          f"{'best':>4} {'after s':>8} {'slides':>6}")  # fmt: skip
    trees = proven = equal = 0
    for brokers in given.sizes:
        for balanced in (True, False):
            for degree in DEGREES:
                for seed in range(1, given.seeds + 1):
                    problem = paper_workload(
                        brokers=brokers, max_degree=degree, balanced=balanced, seed=seed
                    )
                    begun = time.process_time()
                    best = exact.plan(
                        problem, exact.Params(), objective="actions", stop=until(given.limit_s),
                        seed=1,
                    )  # fmt: skip
                    spent = time.process_time() - begun
                    quick = slides.plan(
                        problem, slides.Params(), objective="actions", stop=until(SECOND_S), seed=1
                    )
                    check(problem, best.steps)
                    check(problem, quick.steps)
                    trees += 1
                    if best.status == "optimal":
                        proven += 1
                        equal += quick.actions == best.actions
                    print(f"{brokers:>7} {'balanced' if balanced else 'unbalanced':>10} "
                          f"{degree:>6} {seed:>4} {lower_bounds(problem).actions:>5} "
                          f"{best.lower_bound_actions:>6} {best.actions:>4} {spent:>8.2f} "
                          f"{quick.actions:>6}", flush=True)  # fmt: skip
    print(f"{proven} of {trees} proven; slides as few on {equal} of these {proven}")


if __name__ == "__main__":
    main()
