"""Compiles the engine of the slides planner, and the exact planner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.model.transformation import Options
from weir.planners import exact, slides
from weir.transformation.workloads import caterpillars, corridor, paper_workload, star_to_path

if TYPE_CHECKING:
    from weir.model.transformation import Parallel
    from weir.planners import PlanProgress

ROUNDS = 100
CROWDED = 60
"""Brokers of a star whose hub has more links than are looked through one by one."""


PARALLEL: tuple[Parallel, ...] = ("broker-disjoint", "paper")


def _few_rounds(progress: PlanProgress) -> bool:
    return progress.round >= 3


def _never(progress: PlanProgress) -> bool:
    return False


def _enough(progress: PlanProgress) -> bool:
    return progress.round >= ROUNDS


def warm_up() -> int:
    """Plan some small problems that reach every kernel; the actions of all, which only says so."""
    capped = Options(max_degree=7)
    problems = (
        corridor(),
        caterpillars(spine=6, legs=2, options=Options(max_degree=5)),
        star_to_path(CROWDED),
        paper_workload(brokers=40, seed=1, keep_degree=True, options=capped),
    )
    params = slides.Params()
    actions = sum(
        slides.plan(problem, params, objective="actions", stop=_enough, seed=1).actions
        for problem in problems
    )
    small = paper_workload(brokers=30, seed=2)
    actions += exact.plan(small, exact.Params(), objective="actions", stop=_never, seed=1).actions
    for parallel in PARALLEL:
        problem = paper_workload(brokers=20, seed=1, options=Options(parallel=parallel))
        actions += slides.plan(problem, params, objective="steps", stop=_few_rounds, seed=1).actions
    return actions
