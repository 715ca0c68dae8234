"""How few steps: both meanings of parallel, against the bound, on the paper's workloads.

    python -m benchmarks.steps [--brokers 150] [--seconds 3] [--seeds 2] [--degrees 5 6 7]
        [--min-degree 2]

Prints a line per topology and meaning (steps and actions of the shortest plan, bound, when it was
found, in seconds of computing), then the mean and the range of steps. The plan for few actions is
made first, within the same time. Every plan passes the validator.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from weir.model.transformation import Options
from weir.planners import planner
from weir.transformation.validation import check
from weir.transformation.workloads import paper_workload
from weir.warm_up import warm_up_steps

if TYPE_CHECKING:
    from weir.model.transformation import Parallel, Transformation
    from weir.planners import PlanProgress


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--brokers", type=int, default=150)
    arguments.add_argument("--seconds", type=float, default=3.0)
    arguments.add_argument("--seeds", type=int, default=2)
    arguments.add_argument("--degrees", type=int, nargs="+", default=[5, 6, 7])
    arguments.add_argument("--min-degree", type=int, default=2)
    given = arguments.parse_args()
    warm_up_steps()
    solve(paper_workload(brokers=20, seed=1), 1.0)
    meanings: tuple[Parallel, ...] = ("paper", "broker-disjoint")
    for parallel in meanings:
        found = []
        for degree in given.degrees:
            for balanced in (True, False):
                for seed in range(given.seeds):
                    problem = paper_workload(
                        brokers=given.brokers,
                        seed=seed,
                        max_degree=degree,
                        min_degree=given.min_degree,
                        balanced=balanced,
                        options=Options(parallel=parallel),
                    )
                    steps, line = solve(problem, given.seconds)
                    found.append(steps)
                    shape = "balanced" if balanced else "unbalanced"
                    print(f"{parallel:16} degree {degree} {shape:10} seed {seed}: {line}")
        mean = sum(found) / len(found)
        print(f"{parallel}: {mean:.1f} steps on the average, {min(found)} to {max(found)}")


def solve(problem: Transformation, seconds: float) -> tuple[int, str]:
    """Steps of the best plan, and a line about it."""
    begun = time.process_time()
    reached: dict[int, float] = {}

    def stop(progress: PlanProgress) -> bool:
        now = time.process_time() - begun
        if progress.steps is not None:
            reached.setdefault(progress.steps, now)
        return now >= seconds

    slides = planner("slides")
    plan = slides.plan(problem, slides.Params(), objective="steps", stop=stop, seed=1)
    check(problem, plan.steps)
    took = time.process_time() - begun
    at = reached.get(len(plan.steps), took)
    return len(plan.steps), (
        f"{len(plan.steps)} steps (at least {plan.lower_bound_steps}), {plan.actions} actions; "
        f"found after {at:.2f} s of {took:.2f} s"
    )


if __name__ == "__main__":
    main()
