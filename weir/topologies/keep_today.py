"""Doing nothing: today's tree, against which every other is judged.

Where brokers come or go, the method changes as little as it can: the cheapest allowed links bridge
the brokers that leave and connect those that come.
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
    """Return today's tree. Only where brokers come or go is it made to keep the degree limits."""
    if problem.today_brokers == frozenset(problem.names):
        return problem.today
    from weir.topologies._spanning import Ground

    ground = Ground(problem)
    return ground.edges(ground.today())
