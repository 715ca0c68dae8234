"""Whether the integer program on action set E has a better plan than slides, at 60 brokers.

    python -m benchmarks.planners.against_e [--seeds 1 2] [--limit SECONDS] [--solver cp_sat]

Per tree (maximum degree 5, 6, 7; balanced or not), meaning of parallel and objective: what slides
finds in 0.9 s of computing, and what the program says when it is given that plan and asked for a
better one. For steps it tries every length below the plan's: "has none" is proven where it says so.
For actions it tries one length after the other for as long as the limit says. "has none" is said
only where every length that could bring a better plan was tried to its end; else it says whether
the limit ended it or the program itself gave up. Seconds of computing, not of the clock. Ends with
an error where the program has a better plan.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from weir.model.transformation import Options
from weir.planners import planner
from weir.planners.ipitt.run import Run
from weir.planners.ipitt.trial import Ended
from weir.transformation.validation import check
from weir.transformation.workloads import paper_workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import (
        Objective,
        Parallel,
        Transformation,
        TransformationPlan,
    )
    from weir.planners import PlanProgress

SLIDES_S = 0.9
DEGREES = (5, 6, 7)
PROVEN = "has none with fewer (proven)"
OUT_OF_TIME = "found none with fewer: out of time"
GAVE_UP = "found none with fewer: gave up"


def main() -> None:
    """Print a line per question, then how many were lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--brokers", type=int, default=60)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--degrees", type=int, nargs="+", default=list(DEGREES))
    parser.add_argument("--limit", type=float, default=20.0, help="seconds per question to E")
    parser.add_argument("--solver", choices=("cp_sat", "highs"), default="cp_sat")
    parser.add_argument("--objectives", nargs="+", choices=("steps", "actions"))
    parser.add_argument("--parallels", nargs="+", choices=("paper", "broker-disjoint"))
    given = parser.parse_args()
    objectives: list[Objective] = given.objectives or ["steps", "actions"]
    parallels: list[Parallel] = given.parallels or ["paper", "broker-disjoint"]
    _slides(paper_workload(brokers=20, seed=1), "steps")  # compiling comes before the clock
    lost = asked = proven = 0
    for parallel in parallels:
        for seed in given.seeds:
            for degree in given.degrees:
                for balanced in (True, False):
                    problem = paper_workload(
                        brokers=given.brokers,
                        seed=seed,
                        max_degree=degree,
                        balanced=balanced,
                        options=Options(parallel=parallel),
                    )
                    for objective in objectives:
                        mine = _slides(problem, objective)
                        other, ended = _program(problem, objective, mine, given.solver, given.limit)
                        asked += 1
                        is_lost = other < _size(mine, objective)
                        lost += is_lost
                        proven += ended == PROVEN and not is_lost
                        verdict = f"HAS FEWER: {other}" if is_lost else ended
                        shape = "balanced" if balanced else "unbalanced"
                        print(
                            f"{parallel:16} degree {degree} {shape:10} seed {seed} {objective:7}: "
                            f"slides {_size(mine, objective)}, at least {_bound(mine, objective)}; "
                            f"E {verdict}",
                            flush=True,
                        )
    print(f"{asked} questions: E has a better plan {lost} times, none by proof {proven} times")
    if lost:
        sys.exit("the integer program on action set E has better plans, see above")


def _slides(problem: Transformation, objective: Objective) -> TransformationPlan:
    slides = planner("slides")
    plan = slides.plan(problem, slides.Params(), objective=objective, stop=_after(SLIDES_S), seed=1)
    check(problem, plan.steps)
    return plan


def _program(
    problem: Transformation,
    objective: Objective,
    known: TransformationPlan,
    solver: str,
    limit_s: float,
) -> tuple[int, str]:
    """Steps or actions of the better of the known plan and the program's, and how it ended."""
    most = len(known.steps) - 1
    if objective == "steps" and most < 1:
        return len(known.steps), PROVEN
    params: dict[str, Any] = {"action_set": "E", "solver": solver}
    if objective == "steps":
        params |= {"max_steps": most, "first_length_only": True}
    run = Run(
        problem,
        planner("ipitt").Params(**params),
        objective=objective,
        seed=1,
        start=known.steps,
    )
    begun = time.process_time()

    def ask() -> None:
        if time.process_time() - begun >= limit_s:
            raise Ended

    ended = GAVE_UP
    try:
        run.search(ask=ask, tell=lambda: None)
    except Ended:
        ended = OUT_OF_TIME
    assert run.best is not None
    check(problem, run.best)
    found = len(run.best) if objective == "steps" else sum(map(len, run.best))
    return found, PROVEN if run.is_over else f"{ended} at {run.steps_tried} steps"


def _after(seconds: float) -> Callable[[PlanProgress], bool]:
    begun = time.process_time()
    return lambda _: time.process_time() - begun >= seconds


def _size(plan: TransformationPlan, objective: Objective) -> int:
    return len(plan.steps) if objective == "steps" else plan.actions


def _bound(plan: TransformationPlan, objective: Objective) -> int:
    return plan.lower_bound_steps if objective == "steps" else plan.lower_bound_actions


if __name__ == "__main__":
    main()
