"""Doing nothing: today's tree, against which every other is judged.

Where brokers come or go it is the nearest to nothing: who leaves is bridged and who comes is linked
by the cheapest allowed links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.evaluation import EvaluationProblem
    from weir.model.transformation import Edge
    from weir.topologies import DesignProgress

NAME = "keep_today"
TITLE = "Do nothing"
SUMMARY = "Today's overlay as it is; brokers that come or go by the fewest links."
SEEDED = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Hold no parameters: the method has none."""


def design(
    problem: EvaluationProblem,
    params: Params,
    *,
    stop: Callable[[DesignProgress], bool],
    seed: int,
) -> frozenset[Edge]:
    """Return today's tree over the goal's brokers, even where it exceeds a degree limit."""
    if problem.today_brokers == frozenset(problem.names):
        return problem.today
    from weir.topologies._spanning import Ground

    ground = Ground(problem)
    return ground.edges(ground.today())
