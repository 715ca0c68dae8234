"""Candidates, their plans and the whole answer of an evaluation as plain dicts.

What the kernel wrote is read back without doubting its numbers; names of members are checked.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from weir.codec.transformation import transformation_plan_from_dict, transformation_plan_to_dict
from weir.model.evaluation import Candidate, EvaluationResult, PlanRow, Routing
from weir.reading import members

if TYPE_CHECKING:
    from weir.model.transformation import Edge


def routing_to_dict(routing: Routing) -> dict[str, Any]:
    """Write a routing with its overloaded brokers and links as lists."""
    return {
        **_flat(routing),
        "overloaded": list(routing.overloaded),
        "overloaded_links": _pairs(routing.overloaded_links),
    }


def routing_from_dict(obj: object) -> Routing:
    """Read what `routing_to_dict` wrote."""
    row = _members(obj, Routing, "routing")
    links = tuple((str(a), str(b)) for a, b in row["overloaded_links"])
    return Routing(**{**row, "overloaded": tuple(row["overloaded"]), "overloaded_links": links})


def candidate_to_dict(candidate: Candidate) -> dict[str, Any]:
    """Write a candidate with its links sorted by name; without a tree, its routing is null."""
    routing = candidate.routing
    return {
        **_flat(candidate),
        "edges": _pairs(sorted(candidate.edges)),
        "routing": None if routing is None else routing_to_dict(routing),
    }


def candidate_from_dict(obj: object) -> Candidate:
    """Read what `candidate_to_dict` wrote."""
    row = _members(obj, Candidate, "candidate")
    routing = row["routing"]
    return Candidate(
        **{
            **row,
            "edges": frozenset((str(a), str(b)) for a, b in row["edges"]),
            "routing": None if routing is None else routing_from_dict(routing),
        }
    )


def plan_row_to_dict(row: PlanRow) -> dict[str, Any]:
    """Write a row with its plan in the topology format, price included."""
    plan = row.plan
    return {
        **_flat(row),
        "plan": None if plan is None else transformation_plan_to_dict(plan, priced=True),
    }


def plan_row_from_dict(obj: object) -> PlanRow:
    """Read what `plan_row_to_dict` wrote."""
    row = _members(obj, PlanRow, "row")
    plan = row["plan"]
    return PlanRow(**{**row, "plan": None if plan is None else transformation_plan_from_dict(plan)})


def evaluation_result_to_dict(result: EvaluationResult) -> dict[str, Any]:
    """Write the result of an evaluation with all its candidates and rows."""
    return {
        "today": routing_to_dict(result.today),
        "candidates": [candidate_to_dict(each) for each in result.candidates],
        "rows": [plan_row_to_dict(each) for each in result.rows],
        "best": {name: dict(sorted(best.items())) for name, best in sorted(result.best.items())},
        "frontier": list(result.frontier),
        "recommended": result.recommended,
        "recommended_row": result.recommended_row,
        "why": list(result.why),
    }


def evaluation_result_from_dict(obj: object) -> EvaluationResult:
    """Read what `evaluation_result_to_dict` wrote."""
    row = _members(obj, EvaluationResult, "")
    return EvaluationResult(
        **{
            **row,
            "today": routing_from_dict(row["today"]),
            "candidates": tuple(candidate_from_dict(each) for each in row["candidates"]),
            "rows": tuple(plan_row_from_dict(each) for each in row["rows"]),
            "frontier": tuple(row["frontier"]),
            "why": tuple(row["why"]),
        }
    )


def _pairs(edges: tuple[Edge, ...] | list[Edge]) -> list[list[str]]:
    return [list(pair) for pair in edges]


def _flat(row: Any) -> dict[str, Any]:
    return {spec.name: getattr(row, spec.name) for spec in fields(row)}


def _members(obj: object, cls: type[Any], path: str) -> dict[str, Any]:
    return members(obj, path, [spec.name for spec in fields(cls)])
