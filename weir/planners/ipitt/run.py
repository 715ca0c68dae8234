"""Algorithm 1 of the paper, and what its answers prove."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from weir.planners.ipitt.actions import count, groups, slides
from weir.planners.ipitt.horizon import ground, horizon, is_reachable
from weir.planners.ipitt.model import Model, prices
from weir.planners.ipitt.rows import TooLarge
from weir.planners.ipitt.trial import Ended, Settings, Trial, action_set, solver
from weir.transformation.bounds import composites, lower_bounds
from weir.transformation.indexed import indexed
from weir.transformation.reduction import reduced
from weir.transformation.scheduling import pack
from weir.transformation.validation import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Objective, Steps, Transformation
    from weir.solvers import BinaryAnswer

NEARLY = 1e-6
"""Costs that differ by less are the same."""


class Run:
    """Run one search and keep what was found, what is proven and why it ended."""

    def __init__(
        self,
        problem: Transformation,
        settings: Settings,
        *,
        objective: Objective,
        seed: int,
        start: Steps | None,
    ) -> None:
        self._problem, self._settings = problem, settings
        self._objective, self._seed = objective, seed
        self._reduced = reduced(problem)
        self._core = self._reduced.problem
        self._is_whole = not problem.added and not problem.removed and not composites(problem)
        """Whether the program says something about all plans, not only those it can write."""
        self._holds_all = settings.action_set == "N" and self._is_whole
        bounds = lower_bounds(problem)
        self.bound_actions, self.bound_steps = bounds.actions, bounds.steps
        self.bound_cost = bounds.cost
        self.steps_tried = 0
        self.best: Steps | None = None
        self.best_cost = math.inf
        self.is_infeasible = False
        self.is_over = False
        """Whether each number of steps, up to `max_steps`, that could bring more was tried to its
        end: what is best then is the best that the action set has within so many steps."""
        self._why = "no number of steps was tried to its end"
        self._is_found = False
        """Whether some number of steps had a plan."""
        if start is not None:
            self._keep(start)

    def why_none(self, is_stopped: bool) -> str:
        """Say why there is no plan."""
        return f"stopped while trying {self.steps_tried} steps" if is_stopped else self._why

    @property
    def is_proven(self) -> bool:
        """Return whether no plan is better by the objective asked for."""
        if self.best is None:
            return False
        if self._objective == "steps":
            return len(self.best) <= self.bound_steps
        return self.best_cost <= self.bound_cost + NEARLY

    def search(self, *, ask: Callable[[], None], tell: Callable[[], None]) -> None:
        """Try more and more steps. `ask` raises `Ended` when it is enough."""
        ask()
        if not self._core.missing:
            self._keep(pack(self._problem, (*self._reduced.appends, *self._reduced.detaches)))
            self.is_over = True
            return
        if self._objective == "actions" and self.is_proven:
            self.is_over = True
            return
        names = indexed(self._core)
        chosen = action_set(self._settings)
        members = groups(self._core, names, chosen)
        size = sum(count(len(group)) for group in members)
        if size > self._settings.max_slides:
            self._why = f"action set {chosen} has {size} slides; choose E, or raise max_slides"
            return
        of = ground(self._core, names, slides(members), ask=ask)
        if not is_reachable(of, ask=ask):
            self._why = f"action set {chosen} does not reach the goal"
            self.is_infeasible = self._holds_all
            self.is_over = True
            return
        price = prices(of, self._core.options.action_costs, names)
        least = float(price.min())
        for steps in range(max(1, lower_bounds(self._core).steps), self._settings.max_steps + 1):
            self.steps_tried = steps
            tell()
            if not self._is_worth(steps, least):
                self.is_over = True
                break
            if not self._try(Trial(steps=steps, of=of, price=price, names=names), ask=ask):
                break
            tell()
        else:
            self.is_over = True
            self._why = f"no plan within max_steps = {self._settings.max_steps}"
        tell()

    def _is_worth(self, steps: int, least: float) -> bool:
        """Return whether a plan of so many steps could be better than the best so far."""
        if self.best is None:
            return True
        if self._objective == "steps" or self._settings.first_length_only:
            return not self._is_found and steps <= len(self.best)
        if self.is_proven:
            return False
        # A plan of m actions costs m times the least price or more, and takes m steps at most.
        return steps * least < self.best_cost - NEARLY

    def _try(self, trial: Trial, *, ask: Callable[[], None]) -> bool:
        """Solve the program of so many steps; False where it is too large or the solver gave up."""
        within = horizon(trial.of, trial.steps, ask=ask)
        if within is None:
            self._learn(trial, math.inf)
            return True
        model = Model(trial.of, within, self._core.options, trial.price)
        most = self._settings.max_terms
        try:
            program = model.program(ask=ask, most_terms=most)
        except TooLarge:
            self._why = (
                f"the program of {trial.steps} steps has over {most} coefficients; "
                "choose a smaller action set, or raise max_terms"
            )
            return False
        known = None if self.best is None else model.point(self.best, trial.names)
        is_ended = False

        def stop() -> bool:
            nonlocal is_ended
            try:
                ask()
            except Ended:
                is_ended = True
            return is_ended

        answer = solver(self._settings.solver).minimise(
            program, start=known, seed=self._seed, stop=stop
        )
        self._take(trial, model, answer)
        if is_ended:
            raise Ended
        if not answer.is_closed:
            self._why = f"the solver gave up on {trial.steps} steps"
        return answer.is_closed

    def _take(self, trial: Trial, model: Model, answer: BinaryAnswer) -> None:
        if answer.values is not None:
            self._is_found = True
            steps = model.plan(answer.values, trial.names)
            slid = (move for step in steps for move in step)
            before, after = self._reduced.appends, self._reduced.detaches
            packed = pack(self._problem, (*before, *slid, *after))
            self._keep(packed if before or after or len(packed) <= len(steps) else steps)
        self._learn(trial, answer.bound)

    def _learn(self, trial: Trial, bound: float) -> None:
        """What it says about all plans that those of so many steps cost `bound` or more."""
        if not self._holds_all:
            return
        if math.isinf(bound) and bound > 0:
            self.bound_steps = max(self.bound_steps, trial.steps + 1)
        # Plans of more steps have more actions than this had steps.
        least = min(bound, (trial.steps + 1) * float(trial.price.min()))
        self.bound_cost = max(self.bound_cost, least)
        if not self._problem.priced:
            self.bound_actions = max(self.bound_actions, math.ceil(self.bound_cost - NEARLY))
            self.bound_cost = max(self.bound_cost, float(self.bound_actions))

    def _keep(self, steps: Steps) -> None:
        """Validate a plan and keep it if it is better; raise InvalidProblem where it is invalid."""
        cost = check(self._problem, steps)
        is_better = self.best is None or (
            self._rank(cost, len(steps)) < self._rank(self.best_cost, len(self.best))
        )
        if is_better:
            self.best, self.best_cost = steps, cost

    def _rank(self, cost: float, steps: int) -> tuple[float, float]:
        return (steps, cost) if self._objective == "steps" else (cost, steps)
