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

import heapq
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weir.errors import NoPlan
from weir.model.transformation import Move, TransformationPlan
from weir.planners import PlanProgress
from weir.planners.best_first.tree import Tree
from weir.plugins import about, check_fields
from weir.transformation.bounds import composites, lower_bounds
from weir.transformation.indexed import indexed
from weir.transformation.reduction import reduced
from weir.transformation.scheduling import pack
from weir.transformation.validation import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Objective, Steps, Transformation
    from weir.planners.best_first.tree import Link, Slide

NAME = "best_first"
TITLE = "Best-first search"
SUMMARY = "The paper's baseline: greedy search with restarts and random ties, one action per step."

NEARLY = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Limit the branches of the search and the states that it remembers."""

    depth_limit: int = field(
        default=0,
        metadata=about(
            help="Slides of a branch; 0: three times the estimate for today's overlay",
            unit="actions",
            min=0,
        ),
    )
    branches: int = field(
        default=10,
        metadata=about(help="Branches that may end in vain before the search starts over", min=1),
    )
    packed: bool = field(
        default=False,
        metadata=about(help="Put actions that may run together into one step; the paper does not"),
    )
    max_rounds: int = field(
        default=10_000, metadata=about(help="Plans looked for", unit="rounds", min=1)
    )
    max_open: int = field(
        default=100_000,
        metadata=about(help="Options remembered; beyond, the worse half is dropped", min=100),
    )

    def __post_init__(self) -> None:
        """Check the limits of every field; raise InvalidProblem that names the field."""
        check_fields(self)


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
    search = _Search(parts.problem, params, random.Random(seed))
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


class _Search:
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
