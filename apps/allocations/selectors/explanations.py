"""Explain why a class of an allocation was admitted or refused, from its stored prices and
snapshot."""

from dataclasses import dataclass
from typing import Any

from apps.allocations.models import Allocation, ClassPopulation, Place, ResourceLoad
from apps.allocations.selectors.problems import snapshot_plain
from apps.common.errors import ApplicationError
from weir.allocation.explanation import Explanation, explain
from weir.codec import problem_from_dict


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Hold the kernel's explanation, and how far the whole allocation may be from the best."""

    explanation: Explanation
    gap: float | None
    """The utility that the whole allocation loses at most; None when the method proves no bound."""
    has_prices: bool
    """False where the method gave no prices at all, so that nothing can be compared with the
    value."""


def class_explanation(allocation: Allocation, consumer_class: str) -> Explained:
    """Explain a class. Raises ApplicationError for an unknown class and for a model too large to
    read here."""
    row = ClassPopulation.objects.filter(
        allocation=allocation, consumer_class=consumer_class
    ).first()
    if row is None:
        raise ApplicationError(
            "unknown_class", f'{allocation} has no class "{consumer_class}".', status=404
        )
    plain = snapshot_plain(allocation.run)
    if plain is None:
        raise ApplicationError(
            "too_large_to_explain",
            f"The model of {allocation} is too large to explain one class of it on a page.",
            status=409,
        )
    problem = problem_from_dict(_alone(plain, row))
    (consumers,), (flow,) = problem.classes, problem.flows
    loads = list(
        ResourceLoad.objects.filter(allocation=allocation, place=Place.NODE, name=row.node)
    )
    explanation = explain(
        consumers,
        flow,
        rate_per_s=allocation.rates.values_list("rate_per_s", flat=True).get(flow=row.flow),
        admitted=row.admitted,
        prices={load.resource: load.price for load in loads},
        room={load.resource: max(0.0, load.capacity - load.load) for load in loads},
    )
    bound = allocation.upper_bound
    return Explained(
        explanation=explanation,
        gap=None if bound is None else max(0.0, bound - allocation.utility),
        has_prices=ResourceLoad.objects.filter(allocation=allocation, price__gt=0).exists(),
    )


def _alone(plain: dict[str, Any], row: ClassPopulation) -> dict[str, Any]:
    """Return the problem with this class, its flow and its node only."""
    flow = next(entry for entry in plain["flows"] if entry["id"] == row.flow)
    return {
        "resources": plain["resources"],
        "nodes": [entry for entry in plain["nodes"] if entry["id"] == row.node],
        "links": [],
        "flows": [{**flow, "node_costs": {}, "link_costs": {}}],
        "classes": [entry for entry in plain["classes"] if entry["id"] == row.consumer_class],
    }
