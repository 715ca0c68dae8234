"""Read the coefficients of the model, and the loads that they predict."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from apps.catalog.models import ConsumerClass, ConsumerClassCost, Topic, TopicNodeCost
from apps.systems.models import System


class CostKey(NamedTuple):
    """Identify a coefficient: kind `flow` or `class`, its name, broker and resource."""

    kind: str
    name: str
    broker: str
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Hold one coefficient of the model: A_i of a flow at a broker, or B_j of a class."""

    key: CostKey
    flow: str
    cost: float | None
    """None: the broker is on the way, but the model names no cost of this resource."""
    rate_min_per_s: float = 0.0
    rate_max_per_s: float = 0.0
    population_max: int = 0
    reliable: bool = False


def costs_at(system: System, resources: list[str]) -> dict[tuple[str, str], list[Cost]]:
    """Return every flow and class at each (broker, resource)."""
    topics = {topic.pk: topic for topic in Topic.objects.filter(system=system)}
    flow_costs = {
        (topic, broker, resource): cost
        for topic, broker, resource, cost in TopicNodeCost.objects.filter(
            topic__system=system
        ).values_list("topic_id", "broker__name", "resource", "cost")
    }
    class_costs = {
        (row, resource): cost
        for row, resource, cost in ConsumerClassCost.objects.filter(
            consumer_class__system=system
        ).values_list("consumer_class_id", "resource", "cost")
    }
    classes = list(ConsumerClass.objects.filter(system=system).select_related("broker"))
    passes = {(topic, broker) for topic, broker, _ in flow_costs}
    passes |= {(row.topic_id, row.broker.name) for row in classes}
    found: dict[tuple[str, str], list[Cost]] = defaultdict(list)
    for resource in resources:
        for pk, broker in sorted(passes, key=lambda entry: (entry[1], topics[entry[0]].name)):
            topic = topics[pk]
            found[broker, resource].append(
                Cost(
                    key=CostKey("flow", topic.name, broker, resource),
                    flow=topic.name,
                    cost=flow_costs.get((pk, broker, resource)),
                    rate_min_per_s=topic.rate_min_per_s,
                    rate_max_per_s=topic.rate_max_per_s,
                    reliable=topic.delivery == "reliable",
                )
            )
        for row in classes:
            topic = topics[row.topic_id]
            found[row.broker.name, resource].append(
                Cost(
                    key=CostKey("class", row.name, row.broker.name, resource),
                    flow=topic.name,
                    cost=class_costs.get((row.pk, resource)),
                    population_max=row.population_max,
                    reliable=topic.delivery == "reliable",
                )
            )
    return dict(found)


def predicted_loads(
    costs: Mapping[tuple[str, str], list[Cost]],
    *,
    rates: Mapping[str, float],
    admitted: Mapping[str, int],
) -> dict[tuple[str, str], float]:
    """Return the load per (broker, resource) by the model's own coefficients, without any
    correction."""
    return {
        place: sum(
            (cost.cost or 0.0)
            * rates.get(cost.flow, 0.0)
            * (admitted.get(cost.key.name, 0) if cost.key.kind == "class" else 1)
            for cost in rows
        )
        for place, rows in costs.items()
    }
