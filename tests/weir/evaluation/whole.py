"""A whole evaluation in one process, one piece after the other: what the job spreads over tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.evaluation.portfolio import (
    DESIGN_SHARE,
    design,
    designs,
    gather,
    named,
    share_s,
    solve_unit,
    units,
)
from weir.routing.cost import routing

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.evaluation.portfolio import Portfolio
    from weir.model.evaluation import EvaluationProblem, EvaluationResult


def evaluate(
    problem: EvaluationProblem,
    portfolio: Portfolio,
    *,
    clock: Callable[[], float],
    limit_s: float | None = None,
) -> EvaluationResult:
    """Return the answer that Spark gives, too."""
    wanted = designs(portfolio)
    piece_s = share_s(limit_s, len(wanted), 1, DESIGN_SHARE)
    made = [design(problem, each, clock=clock, limit_s=piece_s) for each in wanted]
    today = routing(problem, problem.today)
    candidates = named(made, today)
    work = units(problem, portfolio, candidates)
    piece_s = share_s(limit_s, len(work), 1, 1 - DESIGN_SHARE)
    rows = [solve_unit(problem, unit, clock=clock, limit_s=piece_s) for unit in work]
    return gather(problem, candidates, rows, today=today, objective=portfolio.objective)
