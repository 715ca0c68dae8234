"""Proofs for small overlays: that no plan is shorter, or that there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.errors import NoPlan
from weir.planners import exact
from weir.planners.slides.fewest_slides import FewestSlides, fits

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Move, Objective, Transformation, TransformationPlan
    from weir.planners import PlanProgress

FEW, FEW_TREES = 12, 200_000
"""Brokers up to which the exact search is asked where descents fail; trees it may look at."""
AFTER, CHUNK, STATES = 60, 300, 1 << 19
"""Rounds before a proof is begun, trees that it looks at between two rounds, and trees it may
keep."""


def exactly(
    problem: Transformation,
    brokers: int,
    *,
    objective: Objective,
    stop: Callable[[PlanProgress], bool],
    seed: int,
) -> TransformationPlan:
    """A plan where descents find none, or the proof that there is none; NoPlan for many brokers."""
    if brokers <= FEW:
        params = exact.Params(max_trees=FEW_TREES)
        return exact.plan(problem, params, objective=objective, stop=stop, seed=seed)
    raise NoPlan(
        "no order of slides was found that keeps to the maximum degree; nothing proves "
        "that there is none: allow one link more per broker, or plan with exact"
    )


class Proof:
    """The search between rounds for the proof that no plan is shorter, begun when it is due."""

    def __init__(self, problem: Transformation) -> None:
        self._problem = problem
        self._search: FewestSlides | None = None

    def look(self, rounds: int, below: int) -> tuple[Move, ...] | None:
        """Go on after so many rounds; a plan of fewer slides than `below` where there is one."""
        if self._search is None:
            if rounds == AFTER and fits(self._problem):
                self._search = FewestSlides(self._problem, below=below, most_states=STATES)
            return None
        self._search.below = min(self._search.below, below)
        self._search.look(CHUNK)
        moves = self._search.moves()
        return moves if moves is not None and len(moves) < below else None

    @property
    def bound(self) -> int:
        """No plan has fewer slides."""
        return 0 if self._search is None else self._search.bound
