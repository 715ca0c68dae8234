"""The order in which an allocation is improved, from cheap and wide to dear and narrow.

1. The best rates at the given populations.
2. `shifting`: consumers against rates at all nodes at once. Linear in the classes.
3. `climbing`: whole populations, one class or two, among the classes near their margin.
4. `exact`: branch and bound, which ends the search where it succeeds (small problems).
5. `neighbourhood`: many populations at once, by a small mixed-integer program.
6. `flips`: other humps of each flow, single classes opened or closed, each followed by 2 and 3.
7. Pairs of random flips while they bring anything (small problems).

Each stage is left as soon as `stop` says so; what is best so far is always feasible.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from weir.optimizers.certified.polishing.climbing import climb_pairs, climb_singles
from weir.optimizers.certified.polishing.exact import prove
from weir.optimizers.certified.polishing.flips import HUMPS, humps
from weir.optimizers.certified.polishing.neighbourhood import TRUST, proposal
from weir.optimizers.certified.polishing.trial import BETTER, margins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from weir.allocation.layout import IntArray
    from weir.optimizers.certified.polishing.state import State
    from weir.utility import FloatArray

SHIFT_ROUNDS = 80
FLIP_SHIFT_ROUNDS = 30
GROUP = 40
"""Classes whose pairs are searched together."""

WHOLE = 120
"""Classes at most that one mixed-integer program takes together."""

PER_NODE = 12
"""Classes nearest to their margin that represent a node in a larger problem."""

PATIENCE = 2
"""Calls without success after which a group of a larger problem is left."""

LARGEST_PAIR_STEP = 64.0
MAX_FLIPS = 400
"""Flips at most per round; the most promising ones where there are more."""

RANDOM_FLIPS = 60
"""Random double flips in a row that may fail before the search ends."""

RANDOM_CLASSES = 200
"""Problems with more classes are not searched at random."""


class Search:
    """Improve one state in place, and count the steps."""

    def __init__(
        self,
        state: State,
        *,
        enough: float,
        stop: Callable[[], bool],
        seed: int,
        interrupt: Callable[[], bool],
    ) -> None:
        self.state = state
        self.rounds = 0
        self.proved: float | None = None
        """What no allocation exceeds, once branch and bound has closed."""
        self._stop = stop
        self._interrupt = interrupt
        self._enough = enough
        self._chance = np.random.default_rng(seed)

    def run(self) -> None:
        """Run all stages until nothing improves, the result is proved or the caller stops."""
        self.state.shift(SHIFT_ROUNDS, self.done)
        self.rounds += 1
        self._climb(self.state, pairs=True)
        if not self.done():
            self.proved = prove(self.state, self.done)
        if self.proved is not None:
            return
        self._neighbourhoods()
        while not self.done():
            before = self.state.value
            self._flip_all()
            self._neighbourhoods()
            if not self._better(self.state.value, before):
                break
        if len(self.state.population) <= RANDOM_CLASSES:
            self._flip_at_random()

    def done(self) -> bool:
        return self.state.value >= self._enough or self._stop()

    @staticmethod
    def _better(value: float, than: float) -> bool:
        return value > than + BETTER * abs(than)

    def _climb(self, state: State, *, pairs: bool) -> None:
        """Climb in groups of classes until none of them improves."""
        while not self.done():
            before = state.value
            for group in self._groups(state):
                self._climb_group(state, group, pairs=pairs)
                if self.done():
                    return
            self.rounds += 1
            if not self._better(state.value, before):
                return

    def _climb_group(self, state: State, group: IntArray, *, pairs: bool) -> None:
        trials = state.trials_per_call
        begin, failed = 0, 0
        is_whole = len(state.population) <= GROUP
        while not self.done() and (is_whole or failed < PATIENCE):
            before = state.value
            state.value, is_top = climb_singles(state.grid, state.point, state.value, group, trials)
            if not is_top and state.value > before:
                failed = 0
                continue
            if not pairs:
                return
            state.value, begin = climb_pairs(
                state.grid, state.point, state.value, group, LARGEST_PAIR_STEP, begin, trials
            )
            if begin < 0:
                return
            failed = 0 if state.value > before else failed + 1

    def _groups(self, state: State, whole: int = GROUP) -> Iterator[IntArray]:
        """Group the classes that could move: together if they are few, else node by node."""
        nearness = self._nearness(state)
        movable = np.flatnonzero(np.isfinite(nearness))
        if len(movable) <= whole:
            yield movable
            return
        order = movable[np.lexsort((nearness[movable], state.grid.class_node[movable]))]
        node = state.grid.class_node[order]
        starts = np.flatnonzero(np.r_[True, node[1:] != node[:-1]])
        for first, last in zip(starts, np.r_[starts[1:], len(order)], strict=True):
            yield np.sort(order[first : min(last, first + PER_NODE)])
        nearest = movable[np.argsort(nearness[movable], kind="stable")[:GROUP]]
        yield np.sort(nearest)

    def _nearness(self, state: State) -> FloatArray:
        """Return how far each class is from its margin over its cost; inf if it cannot move."""
        grid = state.grid
        gain, share = np.zeros(len(state.population)), np.zeros(len(state.population))
        margins(grid, state.price, state.rate, gain, share)
        level = np.max(state.price, initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.abs(gain) / (share * level)
        ratio = np.where(np.isfinite(ratio), ratio, 1e300)
        return np.where(grid.is_fixed | (grid.most <= 0), np.inf, ratio)

    def _neighbourhoods(self) -> None:
        """Try proposals of the mixed-integer program until none is better."""
        improved = True
        while improved and not self.done():
            improved = False
            for group, trust in itertools.product(list(self._groups(self.state, WHOLE)), TRUST):
                if self.done():
                    return
                wanted = proposal(self.state, group, trust, self._interrupt)
                if wanted is not None and self._adopt(wanted):
                    self._climb(self.state, pairs=True)
                    improved = True
            self.rounds += 1

    def _adopt(self, populations: FloatArray) -> bool:
        """Adopt these populations if they are better with the rates that suit them."""
        trial = self.state.copy()
        trial.population[:] = populations
        trial.refresh()
        if not trial.solve_rates() or not self._better(trial.value, self.state.value):
            return False
        self.state = trial
        return True

    def _flip_all(self) -> None:
        for classes, populations in self._flips():
            if self.done():
                return
            self._try([(classes, populations)])

    def _flips(self) -> list[tuple[IntArray, FloatArray]]:
        """List every flip that changes something at the present prices."""
        state, grid = self.state, self.state.grid
        start = grid.at.class_start
        found: list[tuple[IntArray, FloatArray]] = []
        spread = np.linspace(0, len(state.rate) - 1, min(len(state.rate), MAX_FLIPS))
        for i in np.unique(spread.astype(np.int64)):
            classes = np.arange(start[i], start[i + 1])
            if not len(classes):
                continue
            rows = np.zeros((HUMPS, len(classes)))
            count, _ = humps(grid, state.price, int(i), classes, rows)
            found.extend((classes, row) for row in rows[:count])
        nearness = self._nearness(state)
        near = np.argsort(nearness, kind="stable")[:MAX_FLIPS]
        for j in near[np.isfinite(nearness[near])]:
            one = np.array([j])
            found.append((one, np.zeros(1)))
            found.append((one, grid.most[one]))
        return [
            (classes, np.where(grid.is_fixed[classes], state.population[classes], wanted))
            for classes, wanted in found
        ][: 2 * MAX_FLIPS]

    def _flip_at_random(self) -> None:
        """Two flips at once, drawn by the seed, until so many in a row have failed."""
        flips = self._flips()
        failed = 0
        while flips and failed < RANDOM_FLIPS and not self.done():
            pair = self._chance.integers(len(flips), size=2)
            if self._try([flips[at] for at in pair]):
                flips, failed = self._flips(), 0
            else:
                failed += 1

    def _try(self, changes: list[tuple[IntArray, FloatArray]]) -> bool:
        """Apply the changes to a copy, let it settle, and keep it if it is better."""
        trial = self.state.copy()
        for classes, populations in changes:
            trial.population[classes] = populations
        if np.array_equal(trial.population, self.state.population):
            return False
        changed = np.concatenate([classes for classes, _ in changes])
        if not self._settle(trial, changed):
            return False
        self.rounds += 1
        if not self._better(trial.value, self.state.value):
            return False
        self._climb(trial, pairs=True)
        self.state = trial
        return True

    def _settle(self, trial: State, changed: IntArray) -> bool:
        """Fewer of the newcomers until the minimum rates fit, then shift and climb."""
        for _ in range(64):
            trial.refresh()
            if trial.solve_rates():
                break
            trial.population[changed] = np.floor(trial.population[changed] / 2)
        else:
            return False
        trial.shift(FLIP_SHIFT_ROUNDS, self._stop)
        self._climb(trial, pairs=False)
        return True
