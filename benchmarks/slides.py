"""Weir's own planner of overlay transformations, from 20 to 10,000 brokers.

    python -m benchmarks.slides [--sizes 150 1000] [--seeds 4] [--min-degree 2]

Workloads of the paper's section VI.A: trees of maximum degree 5, 6 and 7, balanced and
unbalanced, 20 % of the links changed. A line per size and shape: actions if every goal link walked
alone, processor time to the first plan and its actions, actions when the time of that size is up,
the largest memory of the process, and what the baselines reach in the time given to them. Every
plan is replayed by the validator. Times are processor seconds of one core; kernels are compiled
beforehand.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.certified import reset_peak, resident_bytes
from weir.errors import NoPlan
from weir.planners import planner, slides
from weir.transformation.moves import neighbours, path
from weir.transformation.validation import check
from weir.transformation.workloads import (
    caterpillars,
    corridor,
    paper_workload,
    path_to_star,
    star_to_path,
    with_churn,
)
from weir.warm_up import warm_up_slides

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Transformation
    from weir.planners import PlanProgress

LIMIT_S = {20: 1.0, 40: 1.0, 60: 1.0, 150: 2.0, 200: 2.0, 1000: 10.0, 10000: 60.0}
"""Processor time that a size is given."""
DEGREES, MANY = (5, 6, 7), 1000
BASELINES = (("ipitt", {"action_set": "E"}, 60), ("best_first", {}, 60))
"""Name, parameters, largest size that is tried."""


@dataclass(slots=True)
class Watch:
    """Stops after some processor time and notes when the first plan was there."""

    limit_s: float
    started_s: float = 0.0
    first_s: float | None = None
    first_actions: int = 0

    def __post_init__(self) -> None:
        self.started_s = time.process_time()

    def __call__(self, progress: PlanProgress) -> bool:
        spent = time.process_time() - self.started_s
        if self.first_s is None and progress.actions is not None:
            self.first_s, self.first_actions = spent, progress.actions
        return spent >= self.limit_s


def walking_alone(problem: Transformation) -> int:
    """Slides if every missing goal link is made from today's tree, none sharing its way."""
    tree = neighbours(problem.initial, problem.initial_brokers)
    return sum(len(path(tree, a, b)) - 2 for a, b in problem.missing)


def measured(problem: Transformation, limit_s: float) -> tuple[float, int, int, float, float]:
    """First plan (s, actions), actions at the end, all of the time, memory above the start."""
    reset_peak()
    before = resident_bytes("VmRSS")
    watch = Watch(limit_s)
    plan = slides.plan(problem, slides.Params(), objective="actions", stop=watch, seed=1)
    spent = time.process_time() - watch.started_s
    memory = (resident_bytes("VmHWM") - before) / 1e6
    check(problem, plan.steps)
    first_s = spent if watch.first_s is None else watch.first_s
    return first_s, watch.first_actions or plan.actions, plan.actions, spent, memory


def baseline(name: str, params: dict[str, str], problem: Transformation, limit_s: float) -> str:
    """Actions that another planner reaches in so much time."""
    module = planner(name)
    stop: Callable[[PlanProgress], bool] = Watch(limit_s)
    try:
        plan = module.plan(problem, module.Params(**params), objective="actions", stop=stop, seed=1)
    except NoPlan:
        return "none"
    check(problem, plan.steps)
    return f"{plan.actions}{'*' if plan.status == 'optimal' else ''}"


def mean(values: list[float]) -> float:
    """What a line shows of its runs."""
    return statistics.fmean(values)


def by_size(sizes: list[int], seeds: int, baseline_s: float, min_degree: int) -> None:
    """The table of the paper's workloads."""
    head = f"{'brokers':>7} {'tree':>10} {'degree':>6} {'alone':>8} {'first s':>8} {'first':>8}"
    print(f"{head} {'actions':>8} {'after s':>8} {'MB':>6}  baselines ({baseline_s:g} s each)")
    for size in sizes:
        limit_s = LIMIT_S.get(size, 10.0)
        runs = seeds if size < MANY else max(1, seeds // 4)
        for balanced in (True, False):
            for degree in DEGREES if size < MANY else (6,):
                problems = [
                    paper_workload(
                        brokers=size,
                        seed=s,
                        max_degree=degree,
                        balanced=balanced,
                        min_degree=min_degree,
                    )
                    for s in range(runs)
                ]
                rows = [measured(problem, limit_s) for problem in problems]
                alone = mean([walking_alone(problem) for problem in problems[:1]])
                if size < MANY:
                    alone = mean([walking_alone(problem) for problem in problems])
                first_s, first, actions, spent, memory = (
                    mean([row[at] for row in rows]) for at in range(5)
                )
                others = [
                    f"{name} {' '.join(baseline(name, p, q, baseline_s) for q in problems[:2])}"
                    f" (slides {' '.join(str(row[2]) for row in rows[:2])})"
                    for name, p, largest in BASELINES
                    if size <= largest and baseline_s > 0
                ]
                print(
                    f"{size:>7} {'balanced' if balanced else 'unbalanced':>10} {degree:>6} "
                    f"{alone:>8.0f} {first_s:>8.3f} {first:>8.1f} {actions:>8.1f} {spent:>8.2f} "
                    f"{memory:>6.0f}  {'; '.join(others)}",
                    flush=True,
                )


def shapes() -> None:
    """The named cases."""
    print(f"{'case':>34} {'alone':>6} {'actions':>8} {'bound':>6} {'after s':>8}")
    cases = (
        ("star to path, 150", star_to_path(150)),
        ("path to star, 150", path_to_star(150)),
        ("caterpillars, 12 x 3", caterpillars(spine=12, legs=3)),
        ("6 leaves over a corridor of 9", corridor(leaves=6, length=9)),
        ("30 leaves over a corridor of 25", corridor(leaves=30, length=25)),
        ("150, 15 brokers come, 15 go", _churned()),
    )
    for name, problem in cases:
        _, _, actions, spent, _ = measured(problem, 2.0)
        plain = problem.initial_brokers == problem.goal_brokers
        alone = str(walking_alone(problem)) if plain else "-"
        bound = slides.plan(
            problem, slides.Params(), objective="actions", stop=lambda _: True, seed=1
        ).lower_bound_actions
        print(f"{name:>34} {alone:>6} {actions:>8} {bound:>6} {spent:>8.2f}", flush=True)


def _churned() -> Transformation:
    return with_churn(paper_workload(brokers=150, seed=1), added=15, removed=15, seed=1)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(LIMIT_S))
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--baseline-s", type=float, default=5.0, help="time for each baseline")
    parser.add_argument("--min-degree", type=int, default=2, help="of brokers that are filled")
    given = parser.parse_args()
    warm_up_slides()
    shapes()
    by_size(given.sizes, given.seeds, given.baseline_s, given.min_degree)


if __name__ == "__main__":
    main()
