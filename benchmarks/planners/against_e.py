"""Whether the integer program on action set E has a better plan than slides, at 60 brokers.

    python -m benchmarks.planners.against_e [--seeds 1 2] [--limit SECONDS] [--solver cp_sat]

Per tree (maximum degree 5, 6, 7; balanced or not), meaning of parallel and objective: what slides
finds in 0.9 s of computing, and what the program says when it is given that plan and asked for a
better one. For steps it tries every length below the plan's: "has none" is proven where it says so.
For actions it tries one length after the other for as long as the limit says. Seconds of computing,
not of the clock. Ends with an error where the program has a better plan.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from weir.model.transformation import Options
from weir.planners import planner
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
                        other, is_over = _program(
                            problem, objective, mine, given.solver, given.limit
                        )
                        asked += 1
                        is_lost = _size(other, objective) < _size(mine, objective)
                        lost += is_lost
                        proven += is_over
                        shape = "balanced" if balanced else "unbalanced"
                        print(
                            f"{parallel:16} degree {degree} {shape:10} seed {seed} {objective:7}: "
                            f"slides {_size(mine, objective)}, at least {_bound(mine, objective)}; "
                            f"E {_verdict(other, objective, is_lost=is_lost, is_over=is_over)}",
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
) -> tuple[TransformationPlan, bool]:
    """The better of the known plan and the program's, and whether it tried all it had to."""
    most = len(known.steps) - 1
    if objective == "steps" and most < 1:
        return known, True
    member = planner("ipitt")
    params: dict[str, Any] = {"action_set": "E", "solver": solver}
    if objective == "steps":
        params |= {"max_steps": most, "first_length_only": True}
    plan = member.plan(
        problem,
        member.Params(**params),
        objective=objective,
        stop=_after(limit_s),
        seed=1,
        start=known.steps,
    )
    check(problem, plan.steps)
    return plan, plan.status != "time_limit"


def _after(seconds: float) -> Callable[[PlanProgress], bool]:
    begun = time.process_time()
    return lambda _: time.process_time() - begun >= seconds


def _size(plan: TransformationPlan, objective: Objective) -> int:
    return len(plan.steps) if objective == "steps" else plan.actions


def _bound(plan: TransformationPlan, objective: Objective) -> int:
    return plan.lower_bound_steps if objective == "steps" else plan.lower_bound_actions


def _verdict(
    plan: TransformationPlan, objective: Objective, *, is_lost: bool, is_over: bool
) -> str:
    if is_lost:
        return f"HAS FEWER: {_size(plan, objective)}"
    return "has none with fewer" if is_over else "found none with fewer"


if __name__ == "__main__":
    main()
