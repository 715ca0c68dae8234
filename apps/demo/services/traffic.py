"""Describe what the demo's publishers and consumers do, for `agent.traffic`, which runs them."""

from collections import defaultdict
from typing import Any

from apps.catalog.models import ConsumerClass, Publisher, Topic
from apps.systems.models import System

OVERLOAD = 1.2
"""Publishers offer this many times the highest rate, so that gates have something to limit."""


def traffic_of(system: System) -> dict[str, Any]:
    """Return flows with the offered rate (messages per second), each publisher's part of it, and
    classes with their consumers."""
    topics = Topic.objects.filter(system=system, source__isnull=False).select_related("source")
    classes = ConsumerClass.objects.filter(system=system).select_related("topic", "broker")
    publishers: dict[int, list[Publisher]] = defaultdict(list)
    for publisher in Publisher.objects.filter(system=system).select_related("broker"):
        publishers[publisher.topic_id].append(publisher)
    return {
        "flows": {topic.name: _flow(topic, publishers[topic.pk]) for topic in topics},
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


def _flow(topic: Topic, publishers: list[Publisher]) -> dict[str, Any]:
    """Return what is offered of a topic, split as the publishers' rates are, or evenly where none
    has one."""
    offered = OVERLOAD * topic.rate_max_per_s
    source = topic.source.name if topic.source else ""
    total = sum(publisher.rate_per_s for publisher in publishers)
    return {
        "broker": source,
        "delivery": topic.delivery,
        "rate_per_s": offered,
        "publishers": {
            publisher.name: {
                "broker": publisher.broker.name if publisher.broker else source,
                "rate_per_s": offered
                * (publisher.rate_per_s / total if total else 1.0 / len(publishers)),
            }
            for publisher in publishers
        },
    }
