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
    # Columns, not objects: a system may have a million classes.
    capacities: dict[str, dict[str, float]] = defaultdict(dict)
    for broker, resource, capacity in BrokerCapacity.objects.filter(
        broker__system=system
    ).values_list("broker__name", "resource", "capacity"):
        capacities[broker][resource] = capacity
    node_costs: dict[int, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for topic, broker, resource, cost in TopicNodeCost.objects.filter(
        topic__system=system
    ).values_list("topic_id", "broker__name", "resource", "cost"):
        node_costs[topic][broker][resource] = cost
    link_costs: dict[int, dict[str, float]] = defaultdict(dict)
    for topic, link, cost in TopicLinkCost.objects.filter(topic__system=system).values_list(
        "topic_id", "link__name", "cost"
    ):
        link_costs[topic][link] = cost
    class_costs: dict[int, dict[str, float]] = defaultdict(dict)
    for consumers, resource, cost in ConsumerClassCost.objects.filter(
        consumer_class__system=system
    ).values_list("consumer_class_id", "resource", "cost"):
        class_costs[consumers][resource] = cost
    return {
        "resources": list(system.resources),
        "nodes": [
            {"id": name, "capacity": capacities[name]}
            for name in Broker.objects.filter(system=system).values_list("name", flat=True)
        ],
        "links": [
            {"id": name, "capacity": capacity}
            for name, capacity in Link.objects.filter(system=system).values_list("name", "capacity")
        ],
        "flows": [
            {
                "id": name,
                "rate_min": rate_min,
                "rate_max": rate_max,
                "node_costs": node_costs[key],
                "link_costs": link_costs[key],
            }
            for key, name, rate_min, rate_max in Topic.objects.filter(system=system).values_list(
                "id", "name", "rate_min_per_s", "rate_max_per_s"
            )
        ],
        "classes": [
            {
                "id": name,
                "flow": topic,
                "node": broker,
                "population_max": population_max,
                "costs": class_costs[key],
                "utility": {"kind": kind, **parameters},
            }
            for key, name, topic, broker, population_max, kind, parameters in (
                ConsumerClass.objects.filter(system=system).values_list(
                    *("id", "name", "topic__name", "broker__name", "population_max"),
                    *("utility__kind", "utility__parameters"),
                )
            )
        ],
    }
