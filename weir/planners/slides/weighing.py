"""From slides to plans by name, and what these cost with all that comes and goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.actions import edge
from weir.errors import InvalidProblem
from weir.planners.slides.merging import merged
from weir.planners.slides.translation import as_moves, in_order
from weir.transformation.bounds import composites
from weir.transformation.moves import apply, neighbours, price
from weir.transformation.scheduling import pack
from weir.transformation.validation import check

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from weir.model.transformation import Move, Steps, Transformation
    from weir.planners.slides.arrays import Arrays
    from weir.transformation.reduction import Reduced

    Slides = NDArray[np.int32]
    Way = tuple[float, int, Steps]
    """A plan with its cost and its number of steps before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """A problem, and what of it is planned by slides."""

    problem: Transformation
    parts: Reduced
    arrays: Arrays

    def ways(self, slides: Slides, goal_by_goal: Callable[[], Slides | None]) -> list[Way]:
        """The plan as it is, or what composites make of it where they are priced."""
        rows = [merged(self.problem, self._ordered(slides))]
        if composites(self.problem):
            plain = goal_by_goal()
            if plain is not None:
                rows.append(merged(self.problem, self._ordered(plain)))
        found = []
        for row in rows:
            try:
                found.append(self.weighed(pack(self.problem, row)))
            except InvalidProblem:  # the room that brokers that come or go may lack
                continue
        return found

    def _ordered(self, slides: Slides) -> list[Move]:
        core = as_moves(self.arrays, slides)
        return in_order(self.problem, self.parts.appends, core, self.parts.detaches)

    def weighed(self, steps: Steps) -> Way:
        """The plan with its cost; raise InvalidProblem where brokers that come find no room."""
        if self.arrays.ground.by_broker and (self.problem.added or self.problem.removed):
            return check(self.problem, steps), len(steps), steps
        return self.cost(steps), len(steps), steps

    def cost(self, steps: Steps) -> float:
        """The price of all actions."""
        tree = neighbours(self.problem.initial, self.problem.initial_brokers)
        costs = self.problem.options.action_costs
        return sum(price(move, apply(tree, move), costs) for step in steps for move in step)

    def cost_of_churn(self) -> float:
        """The price of the brokers that come and go."""
        costs, of = self.problem.options.action_costs, self.problem.options.action_costs.brokers
        total = 0.0
        for move in (*self.parts.appends, *self.parts.detaches):
            other = move.to if move.op == "append" else move.source
            assert other is not None
            total += costs.append if move.op == "append" else costs.detach
            total += of.get(move.broker, 0.0) + of.get(other, 0.0)
            if move.op == "append":
                total += costs.links.get(edge(move.broker, other), 0.0)
        return total
