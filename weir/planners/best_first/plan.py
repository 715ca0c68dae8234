"""Best-first search, the paper's baseline: follow the slide that seems best, start over, go on.

As section VI of the paper describes what Yoon et al. do: nodes are overlays, edges are slides, the
next slide is the one after which the estimated cost is least, ties are broken at random; a branch
ends at the depth limit, and the search goes on from the second best option; it ends when time is
up, with the plan of the fewest actions. Actions are not parallelised: a step each, unless `packed`.

What the description leaves open is decided here: the estimate is that of
`weir.planners.best_first.tree`; an overlay is visited once per round; a branch ends early where it
cannot beat the best plan any more; a plan ends the round, and so do as many ended branches as
`branches` says; the next round begins at today's overlay with other ties. Slides only; what comes
and goes is appended first and detached last.

Fails when overlays grow: many slides tie, and a random one of them is seldom the right one.

References
----------
P. Salehi, K. Zhang, H.-A. Jacobsen: Incremental Topology Transformation for Publish/Subscribe
Systems Using Integer Programming. ICDCS 2017. Section VI.
Y. Yoon, N. Robinson, V. Muthusamy, S. McIlraith, H.-A. Jacobsen: Planning the Transformation of
Overlays. SAC 2016.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from weir.errors import NoPlan
from weir.model.transformation import TransformationPlan
from weir.planners import PlanProgress
from weir.planners.best_first.params import Params
from weir.planners.best_first.search import Search
from weir.transformation.bounds import composites, lower_bounds
from weir.transformation.reduction import reduced
from weir.transformation.scheduling import pack
from weir.transformation.validation import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Objective, Steps, Transformation

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "plan"]

NAME = "best_first"
TITLE = "Best-first search"
SUMMARY = "The paper's baseline: greedy search with restarts and random ties, one action per step."

NEARLY = 1e-9


class _Ended(Exception):
    """End the search because the caller asked to stop."""


def plan(
    problem: Transformation,
    params: Params,
    *,
    objective: Objective,
    stop: Callable[[PlanProgress], bool],
    seed: int,
    on_progress: Callable[[PlanProgress], None] | None = None,
    start: Steps | None = None,
) -> TransformationPlan:
    """See `weir.planners.Planner`. Both objectives are served by few actions."""
    bounds = lower_bounds(problem)
    parts = reduced(problem)
    search = Search(parts.problem, params, random.Random(seed))
    best: Steps | None = start
    best_cost = float("inf") if start is None else check(problem, start)
    rounds, is_stopped, is_infeasible = 0, False, False

    def progress() -> PlanProgress:
        return PlanProgress(
            round=rounds,
            actions=None if best is None else sum(map(len, best)),
            steps=None if best is None else len(best),
            lower_bound_actions=bounds.actions,
            lower_bound_steps=bounds.steps,
        )

    def ask() -> None:
        if stop(progress()):
            raise _Ended

    def is_best() -> bool:
        if best is None:
            return False
        if objective == "steps":
            return len(best) <= bounds.steps
        return best_cost <= bounds.cost + NEARLY

    def rank(steps: Steps, cost: float) -> tuple[float, float]:
        return (len(steps), cost) if objective == "steps" else (cost, len(steps))

    try:
        while rounds < params.max_rounds and not is_best():
            ask()
            slides = search.round(ask)
            rounds += 1
            if slides is None and search.is_exhausted:
                is_infeasible = best is None and not composites(problem)
                break
            if slides is None:
                continue
            moves = (*parts.appends, *search.moves(slides), *parts.detaches)
            found = pack(problem, moves) if params.packed else tuple((move,) for move in moves)
            cost = check(problem, found)
            if best is None or rank(found, cost) < rank(best, best_cost):
                best, best_cost = found, cost
            if on_progress is not None:
                on_progress(progress())
    except _Ended:
        is_stopped = True
    if is_infeasible and not problem.added and not problem.removed:
        return TransformationPlan(
            status="infeasible",
            planner=NAME,
            lower_bound_actions=bounds.actions,
            lower_bound_steps=bounds.steps,
            reason="every overlay that slides can reach was visited, and none is the goal",
        )
    if best is None:
        raise NoPlan(
            f"best-first search found no plan in {search.expanded} overlays; "
            "nothing proves that there is none: give more time, or plan with slides"
        )
    return TransformationPlan(
        status="optimal" if is_best() else "time_limit" if is_stopped else "solved",
        steps=best,
        lower_bound_actions=bounds.actions,
        lower_bound_steps=bounds.steps,
        lower_bound_cost=bounds.cost,
        cost=best_cost,
        planner=NAME,
    )
