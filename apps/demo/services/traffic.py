"""Describe what the demo's publishers and consumers do, for `agent.traffic`, which runs them."""

from typing import Any

from apps.catalog.models import ConsumerClass, Topic
from apps.systems.models import System

OVERLOAD = 1.2
"""Publishers offer this many times the highest rate, so that gates have something to limit."""


def traffic_of(system: System) -> dict[str, Any]:
    """Return flows with the offered rate (messages per second), and classes with their
    consumers."""
    topics = Topic.objects.filter(system=system, source__isnull=False).select_related("source")
    classes = ConsumerClass.objects.filter(system=system).select_related("topic", "broker")
    return {
        "flows": {
            topic.name: {
                "broker": topic.source.name if topic.source else "",
                "delivery": topic.delivery,
                "rate_per_s": OVERLOAD * topic.rate_max_per_s,
            }
            for topic in topics
        },
        "classes": {
            row.name: {
                "flow": row.topic.name,
                "broker": row.broker.name,
                "delivery": row.topic.delivery,
                "consumers": row.population_max,
            }
            for row in classes
        },
    }
