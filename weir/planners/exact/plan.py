"""Search with a proof: the fewest actions (or the least price) or steps of small overlays.

Actions: A* over trees with the lower bounds of `weir.transformation.bounds`, compiled where all
actions are slides of one price (`weir.planners.slides.fewest_slides`). Steps: iterative deepening
over sets of actions. Complete for every option of the problem: brokers that come and go
whenever it is best, composites, prices, maximum degree, frozen parts, goal links that may move. So
when all reachable trees were seen and none is the goal, the problem is infeasible, proven.

Cost: exponential in the links that change. Compiled: mostly seconds for 40 brokers of which eight
links change, and about 60 bytes per tree kept. Otherwise seconds for some five changed links. When
stopped it returns the plan it was given or the one it began with, with the best bound proven.

References
----------
docs/algorithms/transformation.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.errors import InvalidProblem, NoPlan
from weir.model.transformation import TransformationPlan
from weir.planners import PlanProgress
from weir.planners.exact.actions import cheapest
from weir.planners.exact.direct_plan import direct
from weir.planners.exact.params import Params
from weir.planners.exact.steps import fewest_steps
from weir.transformation.bounds import lower_bounds
from weir.transformation.scheduling import pack
from weir.transformation.validation import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Objective, Steps, Transformation
    from weir.planners.exact.actions import Found
    from weir.transformation.bounds import Bounds

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "plan"]

NAME = "exact"
TITLE = "Exact search"
SUMMARY = "Proves the fewest actions or steps of small overlays, or that there is no plan."

NEARLY = 1e-9
STATES_PER_TREE = 4
"""Trees kept at most, for each that may be looked at."""
EXHAUSTED = (
    "every tree that can be reached was looked at, and the goal is not among them; allow more "
    "links per broker, thaw what is frozen, or change the goal"
)


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
    """See `weir.planners.Planner`. Of several best plans `seed` decides which one it is."""
    bounds = lower_bounds(problem)
    best = start if start is not None else _something_to_beat(problem, seed)
    run = _Run(problem, params, bounds, stop, on_progress, best)
    return run.steps() if objective == "steps" else run.actions()


def _something_to_beat(problem: Transformation, seed: int) -> Steps | None:
    """Return a first plan within the options, a good one or else the plainest, or None."""
    # numba is imported with the engine: whoever only lists planners need not wait for it
    from weir.planners.slides.quick_plan import quick

    if problem.initial_brokers and problem.missing:
        steps = quick(problem, seed=seed)
        if steps is not None:
            return steps
    try:
        steps = pack(problem, direct(problem))
        check(problem, steps)
    except InvalidProblem:
        return None
    return steps


class _Run:
    def __init__(
        self,
        problem: Transformation,
        params: Params,
        bounds: Bounds,
        stop: Callable[[PlanProgress], bool],
        on_progress: Callable[[PlanProgress], None] | None,
        best: Steps | None,
    ) -> None:
        self.problem, self.params, self.bounds = problem, params, bounds
        self.stop, self.on_progress, self.best = stop, on_progress, best
        self.trees, self.stopped, self.counts_actions = 0, False, False

    def actions(self) -> TransformationPlan:
        """Search the plan of the least price; without prices that is the fewest actions."""
        self.counts_actions = not self.problem.priced
        most = float("inf") if self.best is None else check(self.problem, self.best)
        found = self._search(most)
        if found.moves is not None:
            self.best = pack(self.problem, found.moves)
        if self.best is None and found.bound == float("inf"):
            return self._infeasible()
        cost = self._cost()
        proven = min(found.bound, cost)
        is_optimal = proven >= cost - NEARLY
        actions = self.bounds.actions
        if not self.problem.priced:
            actions = max(actions, int(-(-(proven - NEARLY) // 1)))
        return self._answer(is_optimal, actions, self.bounds.steps, max(proven, self.bounds.cost))

    def _search(self, below: float) -> Found:
        from weir.planners.slides.fewest_slides import fewest_slides, fits

        if below == float("inf") or not fits(self.problem):
            return cheapest(self.problem, stop=self._is_over, below=below)
        return fewest_slides(
            self.problem,
            stop=self._is_over,
            below=round(below),
            most_states=STATES_PER_TREE * self.params.max_trees,
        )

    def steps(self) -> TransformationPlan:
        """Search the plan of the fewest steps."""
        if self.best is None:  # any plan, or the proof that there is none
            any_plan = cheapest(self.problem, stop=self._is_over)
            if any_plan.moves is None and any_plan.bound == float("inf"):
                return self._infeasible()
            if any_plan.moves is not None:
                self.best = pack(self.problem, any_plan.moves)
        self._cost()
        assert self.best is not None
        found = fewest_steps(self.problem, stop=self._is_over, below=len(self.best))
        if found.steps is not None:
            self.best = found.steps
        is_optimal = found.bound >= len(self.best)
        return self._answer(is_optimal, self.bounds.actions, found.bound, self.bounds.cost)

    def _is_over(self, proven: float, looked: int = 1) -> bool:
        self.trees += looked
        if looked == 1 and self.trees % 16 and self.trees < self.params.max_trees:
            return False
        progress = PlanProgress(
            round=self.trees,
            actions=None if self.best is None else sum(map(len, self.best)),
            steps=None if self.best is None else len(self.best),
            lower_bound_actions=max(self.bounds.actions, int(proven) if self.counts_actions else 0),
            lower_bound_steps=self.bounds.steps,
        )
        if self.on_progress is not None and (looked > 1 or self.trees % 1024 == 0):
            self.on_progress(progress)
        self.stopped = self.stop(progress)
        return self.stopped or self.trees >= self.params.max_trees

    def _cost(self) -> float:
        """Return the price of the best plan; raise NoPlan where there is none."""
        if self.best is None:
            raise NoPlan(
                f"no plan among the {self.trees:,} trees looked at, and no proof that there is "
                "none; give it more time or plan with slides"
            )
        return check(self.problem, self.best)

    def _answer(
        self, is_optimal: bool, actions: int, steps: int, cost: float
    ) -> TransformationPlan:
        assert self.best is not None
        return TransformationPlan(
            status="optimal" if is_optimal else "time_limit" if self.stopped else "solved",
            steps=self.best,
            lower_bound_actions=actions,
            lower_bound_steps=steps,
            planner=NAME,
            cost=check(self.problem, self.best),
            lower_bound_cost=cost,
        )

    def _infeasible(self) -> TransformationPlan:
        return TransformationPlan(
            status="infeasible",
            planner=NAME,
            lower_bound_actions=self.bounds.actions,
            lower_bound_steps=self.bounds.steps,
            lower_bound_cost=self.bounds.cost,
            reason=EXHAUSTED,
        )
