"""One planner on one transformation, in a process of its own.

    python -m benchmarks.planners.trial '{"contestant": "ipitt-E", "brokers": 60, ...}'

A process of its own, so that its memory can be read and that it can be ended when it overruns.
Prints one JSON object: seconds to the first and to the best plan and to the end, actions, steps,
bounds, status and peak memory. Importing and compiling come before the clock starts.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.planners.contestants import CONTESTANTS, CONVOY, LAMA
from weir.errors import NoPlan
from weir.model.transformation import Options
from weir.planners import planner
from weir.transformation.validation import check
from weir.transformation.workloads import corridor, paper_workload

if TYPE_CHECKING:
    from benchmarks.planners.contestants import Contestant
    from weir.model.transformation import Transformation
    from weir.planners import PlanProgress

PARALLEL = "paper"
LATE_S = 3.0
WARM_UP = {"brokers": 12, "max_degree": 5, "balanced": True, "change_ratio": 0.3, "seed": 0}


def workload(given: dict[str, Any]) -> Transformation:
    """A transformation of section VI.A or a corridor, in the paper's meaning of parallel."""
    if "leaves" in given:
        return corridor(**given, options=Options(parallel=PARALLEL))
    return paper_workload(**given, options=Options(parallel=PARALLEL))


def main(given: dict[str, Any]) -> dict[str, Any]:
    """Warm up, run, report."""
    contestant = next(c for c in (*CONTESTANTS, CONVOY) if c.key == given["contestant"])
    problem = workload(given["workload"])
    run = _lama if contestant.planner == LAMA else _planner
    run(contestant, workload(WARM_UP), 1.0 if contestant.planner != LAMA else 5.0)
    report = run(contestant, problem, given["limit_s"])
    own, children = (
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return report | {"memory_mb": max(own, children) / 1024}


def _planner(contestant: Contestant, problem: Transformation, limit_s: float) -> dict[str, Any]:
    member = planner(contestant.planner)
    begin_s = time.monotonic()
    found: list[tuple[float, int, int]] = []

    def note(progress: PlanProgress) -> None:
        if progress.actions is not None and progress.steps is not None:
            seen = (progress.actions, progress.steps)
            if not found or found[-1][1:] != seen:
                found.append((time.monotonic() - begin_s, *seen))

    def stop(progress: PlanProgress) -> bool:
        note(progress)
        return time.monotonic() - begin_s >= limit_s

    try:
        plan = member.plan(
            problem,
            member.Params(**contestant.params),
            objective=contestant.objective,
            stop=stop,
            seed=0,
            on_progress=note,
        )
    except NoPlan as error:
        return {"end_s": time.monotonic() - begin_s, "status": "none", "why": str(error)}
    end_s = time.monotonic() - begin_s
    check(problem, plan.steps)
    size = (plan.actions, len(plan.steps))
    return {
        "end_s": end_s,
        "first_s": found[0][0] if found else end_s,
        "best_s": next((at for at, *seen in found if tuple(seen) == size), end_s),
        "actions": plan.actions,
        "steps": len(plan.steps),
        "lower_bound_actions": plan.lower_bound_actions,
        "lower_bound_steps": plan.lower_bound_steps,
        "status": plan.status,
    }


def _lama(contestant: Contestant, problem: Transformation, limit_s: float) -> dict[str, Any]:
    from benchmarks.planners.lama import plans

    begin_s = time.monotonic()
    found: list[tuple[float, int]] = []

    def enough(signal_number: int, frame: object) -> None:
        raise TimeoutError

    # Fast Downward's translator hears of no limit; what it leaves behind ends with the session.
    signal.signal(signal.SIGALRM, enough)
    signal.setitimer(signal.ITIMER_REAL, limit_s + LATE_S)
    with contextlib.suppress(TimeoutError):
        for moves in plans(problem, limit_s):
            check(problem, tuple((move,) for move in moves))
            if not found or len(moves) < found[-1][1]:
                found.append((time.monotonic() - begin_s, len(moves)))
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    end_s = time.monotonic() - begin_s
    if not found:
        return {"end_s": end_s, "status": "none", "why": "LAMA found no plan in time"}
    return {
        "end_s": end_s,
        "first_s": found[0][0],
        "best_s": found[-1][0],
        "actions": found[-1][1],
        "steps": found[-1][1],
        "status": "time_limit" if end_s >= limit_s else "solved",
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))), flush=True)
    os._exit(0)  # no waiting for threads that read from a search that goes on
