"""From a problem by name to a plan by name: the engine with everything around it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from weir.errors import NoPlan
from weir.model.transformation import TransformationPlan
from weir.planners import PlanProgress
from weir.planners.slides.arrays import arrays_of
from weir.planners.slides.barriers import why_impossible
from weir.planners.slides.engine import Engine
from weir.planners.slides.proof import Proof, exactly
from weir.planners.slides.step_planning import improve_steps
from weir.planners.slides.translation import as_slides
from weir.planners.slides.weighing import Weighing
from weir.transformation.bounds import composites, lower_bounds
from weir.transformation.reduction import reduced
from weir.transformation.validation import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Objective, Steps, Transformation
    from weir.planners.slides.weighing import Way

ROUNDS_BEFORE_STEPS = 60
"""Rounds for few actions before the steps are planned, where steps are what counts."""
EPS = 1e-6


class Search:
    """Hold the state of one call of the planner."""

    def __init__(
        self,
        problem: Transformation,
        *,
        objective: Objective,
        window_brokers: int,
        patience: int,
        stop: Callable[[PlanProgress], bool],
        seed: int,
        on_progress: Callable[[PlanProgress], None] | None,
        start: Steps | None,
        planner: str,
    ) -> None:
        self.problem, self.objective, self.patience = problem, objective, patience
        self.stop, self.on_progress, self.seed = stop, on_progress, seed
        self.start, self.planner = start, planner
        self.reduced = reduced(problem)
        self.arrays = arrays_of(self.reduced.problem)
        self.weighing = Weighing(problem=problem, parts=self.reduced, arrays=self.arrays)
        self.engine = Engine(self.arrays, seed=seed, window_brokers=window_brokers)
        self.bounds = lower_bounds(problem)
        self.rounds = 0
        self.stopped = False
        self._proof = Proof(problem)

    def run(self) -> TransformationPlan:
        """The best plan before `stop`. Raises NoPlan, never for a problem proven impossible."""
        reason = why_impossible(self.problem, self.arrays)
        if reason:
            return TransformationPlan(
                status="infeasible",
                planner=self.planner,
                lower_bound_actions=self.bounds.actions,
                lower_bound_steps=self.bounds.steps,
                lower_bound_cost=self.bounds.cost,
                reason=reason,
            )
        known = None
        if self.start is not None:
            check(self.problem, self.start)
            known = as_slides(self.reduced, self.arrays, self.start)
        found = self.engine.begin(known)
        if not found and self.start is None:
            proven = exactly(
                self.problem,
                len(self.arrays.before),
                objective=self.objective,
                stop=self.stop,
                seed=self.seed,
            )
            if proven.status == "infeasible":
                return replace(proven, planner=self.planner)
            self.start = proven.steps
            found = self.engine.begin(as_slides(self.reduced, self.arrays, self.start))
        if found:
            self._improve()
        return self._answer()

    # --- rounds

    def _improve(self) -> None:
        last, fruitless = self.engine.best_cost, 0
        most = ROUNDS_BEFORE_STEPS if self.objective == "steps" else None
        while not self._is_proven() and fruitless < self.patience:
            progress = self._progress()
            if self.on_progress is not None:
                self.on_progress(progress)
            if self.stop(progress):
                self.stopped = True
                break
            if most is not None and self.rounds >= most:
                break
            if self.engine.is_finished():
                break
            self.engine.round()
            self.rounds += 1
            self._prove()
            fruitless = 0 if self.engine.best_cost < last - EPS else fruitless + 1
            last = self.engine.best_cost
        self.engine.settle()

    def _prove(self) -> None:
        """Go on with the proof that no plan is shorter, and take a shorter one over."""
        if self.objective == "steps" or self.engine.best is None:
            return
        moves = self._proof.look(self.rounds, len(self.engine.best))
        if moves is not None:
            shorter = as_slides(self.reduced, self.arrays, (moves,))
            assert shorter is not None, "a plan of slides alone"
            self.engine.offer(shorter)
        proven = min(self._proof.bound, len(self.engine.best))
        if proven > self.bounds.actions:
            self.bounds = replace(self.bounds, actions=proven, cost=float(proven))

    def _progress(self) -> PlanProgress:
        assert self.engine.best is not None
        extra = len(self.reduced.appends) + len(self.reduced.detaches)
        return PlanProgress(
            round=self.rounds,
            actions=len(self.engine.best) + extra,
            steps=self.engine.steps_guess(),
            lower_bound_actions=self.bounds.actions,
            lower_bound_steps=self.bounds.steps,
        )

    def _is_proven(self) -> bool:
        """Whether no plan can be better in what is asked for, as far as slides alone tell."""
        if self.objective == "steps" or self.engine.best is None:
            return False
        if composites(self.problem):
            return False
        if self.problem.priced:
            return self.engine.best_cost + self.weighing.cost_of_churn() <= self.bounds.cost + EPS
        extra = len(self.reduced.appends) + len(self.reduced.detaches)
        return len(self.engine.best) + extra <= self.bounds.actions

    # --- the answer

    def _answer(self) -> TransformationPlan:
        ways: list[Way] = []
        if self.start is not None:
            ways.append(self.weighing.weighed(self.start))
        if self.engine.best is not None:
            ways += self.weighing.ways(self.engine.best, self.engine.goal_by_goal)
            if not ways:
                raise NoPlan(
                    "brokers that come or go find no room under the maximum degree; nothing "
                    "proves that there is no plan: allow one link more per broker"
                )
        cost, _, steps = min(ways, key=lambda way: way[:2])
        if self.objective == "steps":
            steps = self._fewer_steps(min(ways, key=lambda way: (len(way[2]), way[0]))[2])
            cost = self.weighing.cost(steps)
        actions = sum(map(len, steps))
        if self.objective == "steps":
            proven = len(steps) <= self.bounds.steps
        elif self.problem.priced:
            proven = cost <= self.bounds.cost + EPS
        else:
            proven = actions <= self.bounds.actions
        return TransformationPlan(
            status="optimal" if proven else "time_limit" if self.stopped else "solved",
            steps=steps,
            lower_bound_actions=self.bounds.actions,
            lower_bound_steps=self.bounds.steps,
            planner=self.planner,
            cost=cost,
            lower_bound_cost=self.bounds.cost,
        )

    def _fewer_steps(self, steps: Steps) -> Steps:
        def later(progress: PlanProgress) -> bool:
            done = self.stop(replace(progress, round=progress.round + self.rounds))
            self.stopped = self.stopped or done
            return done

        def tell(progress: PlanProgress) -> None:
            if self.on_progress is not None:
                self.on_progress(replace(progress, round=progress.round + self.rounds))

        if self.stopped:
            return steps
        moves = [move for step in steps for move in step]
        better = improve_steps(self.problem, moves, stop=later, seed=self.seed, on_progress=tell)
        return better if len(better) < len(steps) else steps
