"""Rounds of `reshaping`: from a plan in slides to ever shorter ones, by disjoint brokers.

A round cools down once: at its beginning plans may get a little worse, at its end hardly. It goes
on from the plan at hand, or from the shortest one where that has not helped for some rounds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from weir.model.transformation import ActionCosts
from weir.planners.slides.arrays import arrays_of
from weir.planners.slides.evaluate import replays
from weir.planners.slides.queue import empty_queue
from weir.planners.slides.stepping.reshaping import Taste, reshape
from weir.planners.slides.translation import as_moves, as_slides

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Move, Steps
    from weir.transformation.reduction import Reduced

TURNS = 40
"""Times that a round asks whether to stop."""
WORK = 9000
"""Slides that are put in order between two questions, with each of them a window: milliseconds."""
WARMEST, COOLEST = 1.0, 0.05
"""By how many steps' worth a plan may get worse, on the average, as a round begins and ends."""
RETURN_AFTER = 5
"""Rounds without a shorter plan after which the next one goes on from the shortest."""


class Annealing:
    """One problem, the plan at hand and the shortest one."""

    def __init__(self, parts: Reduced, *, seed: int) -> None:
        self.parts = parts
        options = replace(parts.problem.options, action_costs=ActionCosts())
        self.arrays = arrays_of(replace(parts.problem, options=options))
        self.random = np.array([seed * 2 + 0x9E3779B97F4A7C15], np.uint64)
        self.plan: np.ndarray | None = None
        self.best: np.ndarray | None = None
        self.steps = 0
        self.fruitless = 0
        self.gained = False
        """Whether any round has found a shorter plan."""

    def begin(self, steps: Steps) -> bool:
        """Take a plan over, if it is one of slides (and appends and detaches of the problem)."""
        slides = as_slides(self.parts, self.arrays, steps)
        if slides is None or len(slides) < 2 or not replays(self.arrays, slides):
            return False
        self.plan = self.best = slides
        self.steps = len(steps)
        return True

    def round(self, stop: Callable[[], bool]) -> list[Move] | None:
        """Slides of a plan of fewer steps than before, or as many and fewer slides; or None."""
        if self.plan is None or self.best is None:
            return None
        if self.fruitless >= RETURN_AFTER:
            self.plan, self.fruitless = self.best, 0
        known, known_slides, arrays = self.steps, len(self.best), self.arrays
        queue = empty_queue(len(arrays.before), 4 * len(self.plan) + 1024)
        for turn in range(TURNS):
            heat = WARMEST * (COOLEST / WARMEST) ** (turn / (TURNS - 1))
            self.plan, found, steps = reshape(
                queue, arrays.ground, arrays.before, arrays.degree_before, self.plan,
                max(1, min(60, WORK // len(self.plan))), Taste(heat=heat), self.random,
            )  # fmt: skip
            if (steps, len(found)) < (self.steps, len(self.best)):
                self.best, self.steps = found, steps
            if stop():
                break
        self.fruitless = 0 if self.steps < known else self.fruitless + 1
        self.gained = self.gained or self.steps < known
        if (self.steps, len(self.best)) == (known, known_slides):
            return None
        return as_moves(arrays, self.best)
