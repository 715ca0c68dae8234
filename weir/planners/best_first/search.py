"""Rounds of the search: from today's overlay to the goal, the most promising option first."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from weir.model.transformation import Move
from weir.planners.best_first.tree import Tree
from weir.transformation.indexed import indexed

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from weir.model.transformation import Transformation
    from weir.planners.best_first.params import Params
    from weir.planners.best_first.tree import Link, Slide


class Search:
    """Rounds of the search; what the best of them needed ends the branches of the others."""

    def __init__(self, problem: Transformation, params: Params, chance: random.Random) -> None:
        self._names = indexed(problem)
        self._tree = Tree(self._names, problem.options)
        self._limit = params.depth_limit or 3 * self._tree.estimate()
        self._params, self._chance = params, chance
        self._fewest: int | None = None
        self.is_exhausted = True
        """Whether the last round left nothing out: no branch ended early, no option dropped."""
        self.expanded = 0

    def moves(self, slides: tuple[Slide, ...]) -> tuple[Move, ...]:
        """Translate slides from broker numbers to moves with broker names."""
        name = self._names.names
        return tuple(
            Move(op="shift", broker=name[i], source=name[j], to=name[k]) for i, j, k in slides
        )

    def round(self, ask: Callable[[], None]) -> tuple[Slide, ...] | None:
        """From today's overlay to the goal; None: no option left, or enough branches in vain."""
        tree, chance = self._tree, self._chance
        tree.reset(())
        self.is_exhausted, ends = True, 0
        done: tuple[Slide, ...] = ()
        seen: set[frozenset[Link]] = {tree.key()}
        options: list[tuple[int, float, tuple[Slide, ...]]] = []
        estimate = tree.estimate()
        while tree.missing:
            ask()
            self.expanded += 1
            children: list[tuple[int, float, tuple[Slide, ...]]] = []
            if self._is_too_deep(len(done)):
                self.is_exhausted = False
                ends += 1
                if ends > self._params.branches:
                    return None
            else:
                for change, slide in tree.slides():
                    children.append((estimate + change, chance.random(), (*done, slide)))
                children.sort()
            chosen = next((c for c in children if self._is_new(c, seen)), None)
            for child in children:
                if child is not chosen:
                    heapq.heappush(options, child)
            if len(options) > self._params.max_open:
                options = heapq.nsmallest(self._params.max_open // 2, options)
                self.is_exhausted = False
            if chosen is not None:
                tree.slide(chosen[2][-1])
            else:
                chosen = self._second_best(options, seen, ask)
                if chosen is None:
                    return None
            estimate, _, done = chosen
        self._fewest = len(done) if self._fewest is None else min(self._fewest, len(done))
        return done

    def _is_too_deep(self, depth: int) -> bool:
        """Whether one more slide is too many: each makes one missing link at most."""
        if depth >= self._limit:
            return True
        return self._fewest is not None and depth + len(self._tree.missing) >= self._fewest

    def _is_new(
        self, child: tuple[int, float, tuple[Slide, ...]], seen: set[frozenset[Link]]
    ) -> bool:
        key = self._tree.after(child[2][-1])
        if key in seen:
            return False
        seen.add(key)
        return True

    def _second_best(
        self,
        options: list[tuple[int, float, tuple[Slide, ...]]],
        seen: set[frozenset[Link]],
        ask: Callable[[], None],
    ) -> tuple[int, float, tuple[Slide, ...]] | None:
        while options:
            ask()
            option = heapq.heappop(options)
            self._tree.reset(option[2])
            key = self._tree.key()
            if key not in seen:
                seen.add(key)
                return option
        return None
