"""Improve plans in arrays: build a first one, then re-plan windows round by round.

A round re-plans a few dozen windows, so that whoever watches may stop after some milliseconds.
Sweeps go forwards over the plan and backwards over its reverse in turn. Where sweeps no longer
help, the plan is shaken: in small overlays its stretches are planned anew with a proof, windows may
get dearer for one sweep, or a new first plan is improved instead; the best plan is kept, so more
rounds never make the answer worse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.planners.slides.astar import MOST_BROKERS
from weir.planners.slides.astar_window import stretch_table
from weir.planners.slides.descent import descend
from weir.planners.slides.evaluate import busy_steps, cost_of, replays
from weir.planners.slides.queue import HEAD, as_plan, empty_queue, fill
from weir.planners.slides.stretches import shortened, stays_of
from weir.planners.slides.window import sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.planners.slides.arrays import Arrays

    Slides = NDArray[np.int32]

WINDOWS = 32
"""Windows of a round."""
BETA = 0.8
"""Exponent of the first descent; the lowest of trials on the workloads of the paper."""
ATTEMPTS = 24
"""Descents tried for a first plan where a maximum degree is in the way."""
FRUITLESS = 6
"""Sweeps without a better plan after which the plan is shaken."""
FRESH, FRESH_SMALL = 8, 3
"""Shakes after which another first plan is improved; of small overlays, whose sweeps are short."""
PASSES = 4
"""How often a shake of a small overlay plans all stretches of the plan anew."""
EPS = 1e-9


class Engine:
    """Hold one problem over one set of brokers, a seed, and the best plan so far."""

    def __init__(self, arrays: Arrays, *, seed: int, window_brokers: int = 24) -> None:
        self.arrays = arrays
        self.random = np.array([seed * 2 + 0x9E3779B97F4A7C15], np.uint64)
        self.window_brokers = max(6, min(window_brokers, 32))
        self.best: Slides | None = None
        self.best_cost = np.inf
        self._best_steps = 0
        self._plan: Slides | None = None
        self._cost = np.inf
        self._forwards = True
        self._slack = 0.0
        self._fruitless = 0
        self._shaken = 0
        self._sweeping = False
        self._queue = empty_queue(len(arrays.before), 0)
        self._stretches = len(arrays.before) <= MOST_BROKERS and arrays.ground.plain
        if self._stretches:
            self._book = stretch_table()
            self._stays = stays_of(arrays)
        self._draws = np.random.default_rng(seed)

    # --- first plans

    def begin(self, plan: Slides | None = None) -> bool:
        """Have a first plan: the one given, if it is one, or the best of a descent or two."""
        if plan is not None and replays(self.arrays, plan):
            self._take(plan)
        found = self._descent(backwards=False, beta=BETA, noise=0.0)
        if found is None:
            for attempt in range(ATTEMPTS):
                beta = float(self._draws.uniform(0.2, 1.0))
                noise = float(self._draws.uniform(0.0, 0.5))
                found = self._descent(backwards=attempt % 2 == 0, beta=beta, noise=noise)
                if found is not None:
                    break
        if found is not None:
            self._take(found)
        return self.best is not None

    def _descent(
        self, *, backwards: bool, beta: float, noise: float, whole: bool = False
    ) -> Slides | None:
        state = self.arrays.state(backwards)
        most = 40 * (int(state.length.sum()) + len(state.ends)) + 1000
        made, done = descend(state, self.arrays.ground.cap, beta, noise, self.random, most, whole)
        if not done:
            return None
        made = reverse(made) if backwards else made.copy()
        return made if replays(self.arrays, made) else None

    def goal_by_goal(self) -> Slides | None:
        """Return a plan that makes one goal after the other, the nearest first."""
        return self._descent(backwards=False, beta=1.0, noise=0.0, whole=True)

    def offer(self, plan: Slides) -> None:
        """Continue from a plan that was found elsewhere, if it is valid."""
        if replays(self.arrays, plan):
            self._sweeping = False
            self._take(plan)

    def _take(self, plan: Slides) -> None:
        self._plan, self._cost = plan, cost_of(self.arrays.ground, plan)
        self._keep(plan, self._cost)

    def _keep(self, plan: Slides, cost: float) -> bool:
        """Keep a cheaper plan, or one of fewer steps at equal cost; return if it is cheaper."""
        if cost > self.best_cost + EPS:
            return False
        steps = busy_steps(len(self.arrays.before), plan)
        better = cost < self.best_cost - EPS
        if self.best is None or better or steps < self._best_steps:
            self.best, self.best_cost, self._best_steps = plan, cost, steps
        return better

    # --- improvement

    def round(self) -> None:
        """Re-plan the next windows; afterwards `best` is what it was or better."""
        assert self._plan is not None, "begin() found no plan"
        if not self._sweeping:
            self._enter()
        sweep(
            self._queue, self.arrays.ground, self._forwards, WINDOWS, self.window_brokers,
            self._slack, self.random,
        )  # fmt: skip
        if self._queue.control[HEAD] < 0:
            self._leave()

    def is_finished(self) -> bool:
        """Return whether no round can change anything."""
        return self._plan is None or len(self._plan) < 2

    def steps_guess(self) -> int:
        """Steps of the best plan with disjoint brokers."""
        return self._best_steps

    def settle(self) -> None:
        """Take over what an unfinished sweep has gained."""
        if self._sweeping:
            self._leave()

    def _enter(self) -> None:
        assert self._plan is not None
        places = 2 * len(self._plan) + 256
        if len(self._queue.stamp) < places:
            self._queue = empty_queue(len(self.arrays.before), 2 * places)
        arrays = self.arrays
        if self._forwards:
            fill(self._queue, self._plan, arrays.before, arrays.degree_before)
        else:
            fill(self._queue, reverse(self._plan), arrays.after, arrays.degree_after)
        self._sweeping = True

    def _leave(self) -> None:
        plan = as_plan(self._queue)
        if not self._forwards:
            plan = reverse(plan)
        self._sweeping = False
        self._forwards = not self._forwards
        cost = cost_of(self.arrays.ground, plan)
        shaken, self._slack = self._slack > 0.0, 0.0
        improved = cost < self._cost - EPS
        self._plan, self._cost = plan, cost
        if self._keep(plan, cost):
            self._shaken = 0
        self._fruitless = 0 if improved or shaken else self._fruitless + 1
        if self._fruitless >= FRUITLESS:
            self._shake()

    def _shortened(self, plan: Slides) -> Slides:
        arrays, ground = self.arrays, self.arrays.ground
        return shortened(
            plan, arrays.before, arrays.degree_before, self._stays, ground.cap, ground.by_broker,
            self._book, self.random,
        )  # fmt: skip

    def _shake(self) -> None:
        """Start anew from the best plan with slack, now and then from another first plan."""
        self._fruitless = 0
        self._shaken += 1
        if self._stretches and self._plan is not None:
            for _ in range(PASSES):
                self._plan = self._shortened(self._plan)
            self._cost = cost_of(self.arrays.ground, self._plan)
            if self._keep(self._plan, self._cost):
                self._shaken = 0
                return
        if self._shaken % (FRESH_SMALL if self._stretches else FRESH) == 0:
            fresh = self._descent(
                backwards=bool(self._draws.integers(2)),
                beta=float(self._draws.uniform(0.2, 1.0)),
                noise=float(self._draws.uniform(0.0, 0.4)),
            )
            if fresh is not None:
                self._plan, self._cost = fresh, cost_of(self.arrays.ground, fresh)
                return
        if self.best is not None and self._cost > self.best_cost + EPS:
            self._plan, self._cost = self.best, self.best_cost
        self._slack = self.arrays.ground.cheapest


def reverse(plan: Slides) -> Slides:
    """Return the slides that undo the plan, in order."""
    return np.ascontiguousarray(plan[::-1][:, [0, 2, 1]])
