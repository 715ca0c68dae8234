"""Read the whole model of a system as the kernel's problem."""

import math
from collections import defaultdict
from typing import Any

from apps.catalog.domain.curves import field_of
from apps.catalog.models import (
    ConsumerClass,
    ConsumerClassCost,
    Topic,
    TopicLinkCost,
    TopicNodeCost,
)
from apps.common.errors import ApplicationError
from apps.systems.models import System
from apps.topology.models import Broker, BrokerCapacity, Link
from weir.errors import InvalidProblem
from weir.plugins import describe
from weir.utility import kinds, utility_from_dict


def utility_kind_descriptions() -> list[dict[str, Any]]:
    """Return every utility kind with what a form needs to know about its parameters."""
    return [
        {
            "kind": name,
            "summary": kind.SUMMARY,
            "parameters": describe(kind),
        }
        for name, kind in sorted(kinds().items())
    ]


def utility_curve(
    *, kind: str, parameters: dict[str, Any], rates: list[float]
) -> dict[str, list[float]]:
    """Return the value and derivative of a utility function at each rate. Raises
    ApplicationError."""
    try:
        utility = utility_from_dict({"kind": kind, **parameters}, "")
    except InvalidProblem as error:
        raise ApplicationError.of_field(field_of(error), error.message) from error
    values = [float(utility.value(rate)) for rate in rates]
    derivatives = [float(utility.derivative(rate)) for rate in rates]
    for index, pair in enumerate(zip(values, derivatives, strict=True)):
        if not all(math.isfinite(number) for number in pair):
            message = "The utility or its slope is infinite here; ask for a rate above 0."
            raise ApplicationError.of_field(f"rates[{index}]", message, detail=message)
    return {"rates": rates, "values": values, "derivatives": derivatives}


def system_problem(system: System) -> dict[str, Any]:
    """Return the allocation problem of a system in the format of docs/formats.md; ids are names.

    Read under the system's row lock (or any repeatable-read transaction) so that it is one version.
    """
    capacities: dict[str, dict[str, float]] = defaultdict(dict)
    for capacity in BrokerCapacity.objects.filter(broker__system=system).select_related("broker"):
        capacities[capacity.broker.name][capacity.resource] = capacity.capacity
    node_costs: dict[int, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for node_cost in TopicNodeCost.objects.filter(topic__system=system).select_related("broker"):
        node_costs[node_cost.topic_id][node_cost.broker.name][node_cost.resource] = node_cost.cost
    link_costs: dict[int, dict[str, float]] = defaultdict(dict)
    for link_cost in TopicLinkCost.objects.filter(topic__system=system).select_related("link"):
        link_costs[link_cost.topic_id][link_cost.link.name] = link_cost.cost
    class_costs: dict[int, dict[str, float]] = defaultdict(dict)
    for class_cost in ConsumerClassCost.objects.filter(consumer_class__system=system):
        class_costs[class_cost.consumer_class_id][class_cost.resource] = class_cost.cost
    classes = ConsumerClass.objects.filter(system=system).select_related(
        "topic", "broker", "utility"
    )
    return {
        "resources": list(system.resources),
        "nodes": [
            {"id": broker.name, "capacity": capacities[broker.name]}
            for broker in Broker.objects.filter(system=system)
        ],
        "links": [
            {"id": link.name, "capacity": link.capacity}
            for link in Link.objects.filter(system=system)
        ],
        "flows": [
            {
                "id": topic.name,
                "rate_min": topic.rate_min_per_s,
                "rate_max": topic.rate_max_per_s,
                "node_costs": node_costs[topic.pk],
                "link_costs": link_costs[topic.pk],
            }
            for topic in Topic.objects.filter(system=system)
        ],
        "classes": [
            {
                "id": row.name,
                "flow": row.topic.name,
                "node": row.broker.name,
                "population_max": row.population_max,
                "costs": class_costs[row.pk],
                "utility": {"kind": row.utility.kind, **row.utility.parameters},
            }
            for row in classes
        ],
    }
