"""Describe what the demo's publishers, consumers and subscribers do: `agent.traffic` runs them."""

from collections import defaultdict
from typing import Any

from apps.catalog.models import ConsumerClass, Publisher, Subscriber, Topic
from apps.demo.services import harbour
from apps.systems.models import System

OVERLOAD = 1.2
"""Publishers offer this many times the highest rate, so that gates have something to limit."""
SPREAD_S = 0.01
"""How far apart publishers send that send together."""


def traffic_of(system: System) -> dict[str, Any]:
    """Return flows with the offered rate (messages per second), each publisher's part of it, who
    sends together, classes with their consumers, and subscribers with what they want."""
    topics = Topic.objects.filter(system=system, source__isnull=False).select_related("source")
    classes = ConsumerClass.objects.filter(system=system).select_related("topic", "broker")
    subscribers = Subscriber.objects.filter(system=system).select_related("broker")
    subscribers = subscribers.prefetch_related("interests__topic")
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
        "subscribers": {
            row.name: {
                "broker": row.broker.name,
                "flows": sorted(interest.topic.name for interest in row.interests.all()),
            }
            for row in subscribers
            if row.broker is not None
        },
    }


def _flow(topic: Topic, publishers: list[Publisher]) -> dict[str, Any]:
    """Return what is offered of a topic: bursts, and the rest split as the publishers' rates are,
    or evenly where none has one."""
    offered = OVERLOAD * topic.rate_max_per_s
    source = topic.source.name if topic.source else ""
    bursts = _bursts(topic.name, {publisher.name for publisher in publishers})
    in_bursts = {name for burst in bursts.values() for name in burst["publishers"]}
    rest = offered - sum(len(b["publishers"]) / b["every_s"] for b in bursts.values())
    steady = [publisher for publisher in publishers if publisher.name not in in_bursts]
    total = sum(publisher.rate_per_s for publisher in steady)
    rates = {
        publisher.name: rest * (publisher.rate_per_s / total if total else 1.0 / len(steady))
        for publisher in steady
    }
    flow: dict[str, Any] = {
        "broker": source,
        "delivery": topic.delivery,
        "rate_per_s": offered,
        "publishers": {
            publisher.name: {
                "broker": publisher.broker.name if publisher.broker else source,
                "rate_per_s": rates.get(publisher.name, 0.0),
            }
            for publisher in publishers
        },
    }
    return {**flow, "bursts": bursts} if bursts else flow


def _bursts(topic: str, publishers: set[str]) -> dict[str, Any]:
    """Return the demo's bursts of a topic, of the publishers that are still there."""
    if topic not in harbour.FLOWS:
        return {}
    flow = harbour.FLOWS[topic]
    present = {
        name: [one for one in names if one in publishers]
        for name, names in flow.bursting(topic).items()
    }
    return {
        name: {"publishers": names, "every_s": flow.bursts[name].every_s, "spread_s": SPREAD_S}
        for name, names in present.items()
        if names
    }
