r"""Best single exchanges of today's tree, as long as each pays for itself within the horizon.

The exchange that saves most over the horizon, less an estimate of its slides, is made first, if its
exact price (the slides replayed one by one) is below what it saves; then the next. It stops where
no exchange pays any more, so that a short horizon, a long pause or dear actions keep the tree
nearer to today's.

Assumptions: exchanges are paid one after the other. A plan for all of them may be cheaper (shared
slides), so what is left out might pay together with others; `minimum_cost` looks at the whole.
Cost: O(brokers x groups of topics) per exchange looked at; each is looked at once more for every
few that are made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from weir.plugins import about, check_fields
from weir.topologies import DesignProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.evaluation import EvaluationProblem
    from weir.model.transformation import Edge

NAME = "local_improvement"
TITLE = "Local improvement of today's overlay"
SUMMARY = "Single link exchanges of today's overlay that pay for themselves within the horizon."
SEEDED = False

SLIDERS = 3
"""Brokers that a slide pauses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Limit how many links the search exchanges."""

    max_exchanges: int = field(
        default=1000, metadata=about(help="Links exchanged at most", min=1, max=100_000)
    )

    def __post_init__(self) -> None:
        check_fields(self)


def design(
    problem: EvaluationProblem,
    params: Params,
    *,
    stop: Callable[[DesignProgress], bool],
    seed: int,
) -> frozenset[Edge]:
    """Exchange links of today's tree where that pays. The seed changes nothing."""
    from weir.topologies._exchanges import price_of_exchange
    from weir.topologies._spanning import Ground

    ground = Ground(problem)
    tree = ground.today()
    terms = problem.disruption
    # A guess for choosing among exchanges; what is chosen is priced exactly.
    held = SLIDERS * float(tree.handled().mean()) * terms.pause_s
    slide = terms.per_action * problem.options.action_costs.shift + terms.per_held_message * held
    exchanged, made = 0, True
    while made:
        # Judged anew when their turn comes, for an exchange changes the others only a little.
        queue = [(-np.inf, int(a), int(b)) for a, b in tree.rows]
        made = False
        while queue and exchanged < params.max_exchanges:
            if stop(DesignProgress(round=exchanged, cost_per_s=tree.cost)):
                return ground.edges(tree)
            _, a, b = heappop(queue)
            v = a if tree.parent[a] == b else b
            if not tree.may_go(v):
                continue
            x, y, change, value = tree.best_exchange(v, slide / problem.horizon_s)
            if x < 0 or change >= 0:
                continue
            if queue and value > queue[0][0]:
                heappush(queue, (value, a, b))
            elif price_of_exchange(problem, ground, tree, v, x, y) < -change * problem.horizon_s:
                tree.exchange(v, x, y)
                exchanged, made = exchanged + 1, True
    return ground.edges(tree)
