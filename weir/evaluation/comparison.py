"""Rows of all units into one answer: each candidate's best plan, the frontier, what to take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.evaluation.request import KEEP_TODAY, OBJECTIVES
from weir.model.evaluation import EvaluationResult, PlanRow
from weir.model.transformation import TransformationPlan
from weir.routing.benefit import minus, sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from weir.model.evaluation import Candidate, EvaluationProblem, Routing
    from weir.model.transformation import Objective


def gather(
    problem: EvaluationProblem,
    candidates: Sequence[Candidate],
    rows: Iterable[PlanRow],
    *,
    today: Routing,
    objective: Objective,
) -> EvaluationResult:
    """Combine the rows into one result that does not depend on their order. A row without actions
    stands for doing nothing."""
    order = {candidate.name: at for at, candidate in enumerate(candidates)}
    idle = [
        _nothing(candidate)
        for candidate in candidates
        if candidate.edges == problem.today and candidate.routing is not None
    ]
    ordered = tuple(
        sorted(
            [*idle[:1], *rows],
            key=lambda row: (order[row.candidate], row.planner, row.objective, row.seed),
        )
    )
    best = _best(candidates, ordered)
    chosen = _recommended(candidates, ordered, best, objective)
    row = None if chosen is None else ordered[best[chosen.name][objective]]
    why: tuple[str, ...]
    if row is None or chosen is None or chosen.routing is None:
        why = ("No candidate has both a tree and a plan; the reasons stand beside each.",)
    elif not row.actions:
        why = (_stay(candidates, ordered, best, objective),)
    else:
        why = sentences(problem, today, chosen.routing, row)
    return EvaluationResult(
        today=today,
        candidates=tuple(candidates),
        rows=ordered,
        best=best,
        frontier=_frontier(candidates, ordered),
        recommended="" if chosen is None else chosen.name,
        recommended_row=None if chosen is None else best[chosen.name][objective],
        why=why,
    )


def _nothing(candidate: Candidate) -> PlanRow:
    """Return the empty plan that keeps today's tree."""
    return PlanRow(
        candidate=candidate.name,
        planner="",
        objective="actions",
        status="optimal",
        plan=TransformationPlan(status="optimal"),
    )


def _best(candidates: Sequence[Candidate], rows: Sequence[PlanRow]) -> dict[str, dict[str, int]]:
    """By the objective, then the other, then the cost; equal candidates share their plans."""
    found: dict[str, dict[str, int]] = {}
    for candidate in candidates:
        owner = candidate.same_as or candidate.name
        mine = [
            at for at, row in enumerate(rows) if row.candidate == owner and row.plan is not None
        ]
        if mine:
            found[candidate.name] = {
                objective: min(mine, key=lambda at: _size(rows[at], objective))
                for objective in OBJECTIVES
            }
    return found


def _size(row: PlanRow, objective: str) -> tuple[float, float, float]:
    first, second = (row.actions, row.steps)[:: 1 if objective == "actions" else -1]
    return first, second, row.transformation_cost


def _recommended(
    candidates: Sequence[Candidate],
    rows: Sequence[PlanRow],
    best: dict[str, dict[str, int]],
    objective: Objective,
) -> Candidate | None:
    """The highest net benefit; of equal ones the earlier, and doing nothing is the first."""
    planned = [each for each in candidates if each.name in best]
    return max(planned, key=lambda each: rows[best[each.name][objective]].net_benefit, default=None)


def _stay(
    candidates: Sequence[Candidate],
    rows: Sequence[PlanRow],
    best: dict[str, dict[str, int]],
    objective: Objective,
) -> str:
    """Explain why doing nothing is best."""
    others = [
        each
        for each in candidates
        if each.name in best and not each.same_as and rows[best[each.name][objective]].actions
    ]
    if not others:
        return "Do nothing: no method found another tree that a plan leads to."
    near = max(others, key=lambda each: rows[best[each.name][objective]].net_benefit)
    row = rows[best[near.name][objective]]
    saved = "saves nothing"
    if near.saved_per_s > 0:
        saved = f"saves {near.saved_per_s:,.1f} link messages per second"
    name = "the overlay in force" if near.name == KEEP_TODAY else near.name
    return (
        f"Do nothing: the best of the others, {name}, {saved} and costs "
        f"{row.transformation_cost:,.0f} link messages to reach; its net benefit is "
        f"{minus(f'{row.net_benefit:,.0f}')}."
    )


def _frontier(candidates: Sequence[Candidate], rows: Sequence[PlanRow]) -> tuple[int, ...]:
    """Rows that no other is at least as good as in routing cost, actions and steps."""
    cost = {each.name: each.routing.cost_per_s for each in candidates if each.routing is not None}
    ranked = sorted(
        (cost[row.candidate], row.actions, row.steps, at)
        for at, row in enumerate(rows)
        if row.plan is not None
    )
    kept: list[tuple[float, int, int, int]] = []
    for each in ranked:
        if not any(other[1] <= each[1] and other[2] <= each[2] for other in kept):
            kept.append(each)
    return tuple(sorted(each[3] for each in kept))
