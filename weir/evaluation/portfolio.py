"""Many candidates x planners x seeds: what to compute, one unit at a time, and which to take.

    portfolio_from_dict, designs -> design (each) -> named, units -> solve_unit (each) -> gather

Every step is pure: a unit depends on the problem and on itself only, so whoever computes which one,
in whatever order, the answer is the same. `clock` counts seconds; it only measures and limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weir.codec.transformation import transformation_from_dict, transformation_to_dict
from weir.errors import InvalidProblem, NoPlan, WeirError
from weir.evaluation.comparison import gather
from weir.evaluation.request import (
    GOAL,
    KEEP_TODAY,
    OBJECTIVES,
    Choice,
    Design,
    Portfolio,
    designs,
    portfolio_from_dict,
)
from weir.model.evaluation import Candidate, PlanRow
from weir.model.transformation import Transformation
from weir.planners import planner
from weir.plugins import from_dict
from weir.routing.benefit import held_messages, net_benefit, transformation_cost
from weir.routing.cost import routing
from weir.topologies import NoTree, designer
from weir.transformation.trees import check_tree
from weir.transformation.validation import check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from weir.model.evaluation import EvaluationProblem, Routing
    from weir.model.transformation import Edge, Objective

__all__ = [
    "DESIGN_SHARE",
    "GOAL",
    "KEEP_TODAY",
    "Choice",
    "Design",
    "Portfolio",
    "Unit",
    "design",
    "designs",
    "gather",
    "named",
    "portfolio_from_dict",
    "share_s",
    "solve_unit",
    "units",
]

DESIGN_SHARE = 0.25
"""Of the time limit: what designing may take; planning takes the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Hold one plan to be made: candidate, planner, objective and seed."""

    index: int
    candidate: Candidate
    planner: Choice
    objective: Objective
    seed: int


def design(
    problem: EvaluationProblem,
    asked: Design,
    *,
    clock: Callable[[], float],
    limit_s: float | None = None,
) -> Candidate:
    """The candidate, priced; one without a tree says why."""
    made = Candidate(name=asked.name, method=asked.method, seed=asked.seed)
    end_s = None if limit_s is None else clock() + limit_s
    late = False

    def stop(_: object) -> bool:
        nonlocal late
        late = late or (end_s is not None and clock() >= end_s)
        return late

    try:
        if asked.method == GOAL:
            edges = asked.edges
        else:
            method = designer(asked.method)
            params = from_dict(method.Params, dict(asked.parameters))
            edges = method.design(problem, params, stop=stop, seed=asked.seed)
        _check_spans(problem, edges)
        priced = routing(problem, edges)
    except NoTree as error:
        return replace(made, status="infeasible", reason=str(error))
    except WeirError as error:
        return replace(made, status="failed", reason=str(error))
    except Exception as error:  # a fault of one method must not take the others with it
        return replace(made, status="failed", reason=f"{type(error).__name__}: {error}")
    return replace(
        made,
        status="time_limit" if late else "designed",
        edges=edges,
        routing=priced,
        links_changed=len(edges - problem.today),
    )


def named(candidates: Sequence[Candidate], today: Routing) -> tuple[Candidate, ...]:
    """The same with what each saves, and which of them are equal."""
    first: dict[frozenset[Edge], str] = {}
    found = []
    for each in candidates:
        if each.routing is None:
            found.append(each)
            continue
        other = first.setdefault(each.edges, each.name)
        found.append(
            replace(
                each,
                saved_per_s=today.cost_per_s - each.routing.cost_per_s,
                same_as="" if other == each.name else other,
            )
        )
    return tuple(found)


def units(
    problem: EvaluationProblem, portfolio: Portfolio, candidates: Sequence[Candidate]
) -> tuple[Unit, ...]:
    """Every different candidate with every planner, objective and seed; today's tree needs none."""
    asked = [
        (candidate, choice, objective, seed)
        for candidate in candidates
        if candidate.routing is not None
        and not candidate.same_as
        and candidate.edges != problem.today
        for choice in portfolio.planners
        for objective in OBJECTIVES
        for seed in portfolio.seeds
    ]
    return tuple(
        Unit(index=index, candidate=candidate, planner=choice, objective=objective, seed=seed)
        for index, (candidate, choice, objective, seed) in enumerate(asked)
    )


def solve_unit(
    problem: EvaluationProblem,
    unit: Unit,
    *,
    clock: Callable[[], float],
    limit_s: float | None = None,
) -> PlanRow:
    """The unit's plan, checked by the independent validator, and what it is worth."""
    begin_s = clock()
    row = PlanRow(
        candidate=unit.candidate.name,
        planner=unit.planner.name,
        objective=unit.objective,
        seed=unit.seed,
    )
    try:
        asked = _transformation(problem, unit.candidate.edges)
        chosen = planner(unit.planner.name)
        found = chosen.plan(
            asked,
            from_dict(chosen.Params, dict(unit.planner.parameters)),
            objective=unit.objective,
            stop=lambda _: limit_s is not None and clock() - begin_s >= limit_s,
            seed=unit.seed,
        )
        if found.status == "infeasible":
            return replace(row, status="infeasible", reason=found.reason)
        price = check(asked, found.steps)
        held = held_messages(problem, found.steps)
    except NoPlan as error:
        return replace(row, status="no_plan", reason=str(error), runtime_s=clock() - begin_s)
    except WeirError as error:
        return replace(row, status="failed", reason=str(error), runtime_s=clock() - begin_s)
    except Exception as error:  # a fault of one planner must not take the others with it
        reason = f"{type(error).__name__}: {error}"
        return replace(row, status="failed", reason=reason, runtime_s=clock() - begin_s)
    cost = transformation_cost(problem, price=price, held=held)
    return replace(
        row,
        status=found.status,
        plan=found,
        actions=found.actions,
        steps=len(found.steps),
        transformation_cost=cost,
        held_messages=held,
        duration_s=len(found.steps) * problem.disruption.pause_s,
        net_benefit=net_benefit(problem, saved_per_s=unit.candidate.saved_per_s, cost=cost),
        runtime_s=clock() - begin_s,
    )


def share_s(limit_s: float | None, work: int, tasks: int, share: float) -> float | None:
    """Seconds for one piece of work, when `tasks` do that many one after the other each."""
    if limit_s is None:
        return None
    return limit_s * share / max(1, -(-work // max(1, tasks)))


def _transformation(problem: EvaluationProblem, goal: frozenset[Edge]) -> Transformation:
    """From today's tree to this one, held against the options. Raises InvalidProblem."""
    plain = Transformation(
        brokers=tuple(sorted({*problem.today_brokers, *problem.names})),
        initial=problem.today,
        goal=goal,
        options=problem.options,
    )
    return transformation_from_dict(transformation_to_dict(plain))


def _check_spans(problem: EvaluationProblem, edges: frozenset[Edge]) -> None:
    check_tree({pair: at for at, pair in enumerate(sorted(edges))}, "edges")
    spanned = {broker for pair in edges for broker in pair} or set(problem.names[:1])
    for broker in sorted(spanned ^ set(problem.names)):
        what = "misses" if broker in problem.names else "has"
        raise InvalidProblem("edges", f"the goal {what} broker {broker}")
