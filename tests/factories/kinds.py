"""Every kind of object that belongs to a system: how the API writes one, and what may go wrong."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from apps.catalog.models import (
    ConsumerClass,
    CorrelationKey,
    Group,
    Publisher,
    Slo,
    Stream,
    Subscriber,
    Topic,
    UtilityFunction,
)
from apps.systems.models import Entity, System
from apps.systems.services import Drafts, entities_create
from apps.topology.models import Broker, Link, Overlay
from tests.factories import make_system


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A small system with one object of each kind that others refer to."""

    system: System
    broker: Broker
    other_broker: Broker
    link: Link
    topic: Topic
    utility: UtilityFunction
    group: Group
    stream: Stream
    key: CorrelationKey
    consumers: ConsumerClass

    def reference(self, name: str) -> str:
        """The public id of one of the objects."""
        return str(getattr(self, name).public_id)


def make_world(name: str = "harbour") -> World:
    system = make_system(name)
    drafts = Drafts(system)
    broker, other = (
        drafts.add(Broker, {"capacities": [{"resource": "cpu", "capacity": 1000.0}]}, name=each)
        for each in ("world-b1", "world-b2")
    )
    link = drafts.add(Link, name="world-link", source=broker, target=other, capacity=500.0)
    topic = drafts.add(
        Topic,
        {
            "node_costs": [{"broker": broker, "resource": "cpu", "cost": 3.0}],
            "link_costs": [{"link": link, "cost": 1.0}],
        },
        name="world-topic",
        rate_min_per_s=1.0,
        rate_max_per_s=100.0,
    )
    utility = drafts.add(
        UtilityFunction, name="world-utility", kind="log", parameters={"weight": 10.0}
    )
    world = World(
        system=system,
        broker=broker,
        other_broker=other,
        link=link,
        topic=topic,
        utility=utility,
        group=drafts.add(Group, name="world-group", number=100),
        stream=drafts.add(Stream, name="world-stream", number=100),
        key=drafts.add(CorrelationKey, name="world-key"),
        consumers=drafts.add(
            ConsumerClass,
            {"costs": [{"resource": "cpu", "cost": 2.0}]},
            name="world-class",
            topic=topic,
            broker=broker,
            utility=utility,
            population_max=10,
        ),
    )
    entities_create(drafts=drafts, actor=None)
    return world


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How one kind looks over REST."""

    path: str
    model: type[Entity]
    body: Callable[[World], dict[str, Any]] = lambda world: {}
    edit: dict[str, Any]
    # Which body members refer to which object of the world; a dotted one is in a child list.
    references: dict[str, str] = field(default_factory=dict)

    def new(self, world: World, name: str = "alpha", **values: Any) -> dict[str, Any]:
        """A body for POST."""
        return {
            "system": str(world.system.public_id),
            "name": name,
            **self.body(world),
            **values,
        }


KINDS = (
    Kind(
        path="brokers",
        model=Broker,
        body=lambda w: {"region": "eu", "capacities": [{"resource": "cpu", "capacity": 50.0}]},
        edit={"region": "us"},
    ),
    Kind(
        path="links",
        model=Link,
        body=lambda w: {
            "source": w.reference("broker"),
            "target": w.reference("other_broker"),
            "capacity": 5.0,
        },
        edit={"capacity": 7.5},
        references={"source": "broker", "target": "broker"},
    ),
    Kind(
        path="overlays",
        model=Overlay,
        body=lambda w: {"edges": [{"a": w.reference("broker"), "b": w.reference("other_broker")}]},
        edit={"note": "spring"},
        references={"edges.a": "broker"},
    ),
    Kind(
        path="topics",
        model=Topic,
        body=lambda w: {
            "rate_min_per_s": 1.0,
            "rate_max_per_s": 10.0,
            "source": w.reference("broker"),
            "node_costs": [
                {"broker": w.reference("broker"), "resource": "cpu", "cost": 2.0},
                {"broker": w.reference("other_broker"), "resource": "cpu", "cost": 3.0},
            ],
            "link_costs": [{"link": w.reference("link"), "cost": 1.0}],
        },
        edit={"rate_max_per_s": 20.0},
        references={
            "source": "broker",
            "stream": "stream",
            "pinned_stream": "stream",
            "node_costs.broker": "broker",
            "link_costs.link": "link",
        },
    ),
    Kind(
        path="publishers",
        model=Publisher,
        body=lambda w: {"topic": w.reference("topic"), "rate_per_s": 4.0},
        edit={"rate_per_s": 5.0},
        references={"topic": "topic", "broker": "broker", "correlation_key": "key"},
    ),
    Kind(path="correlation-keys", model=CorrelationKey, edit={"description": "open"}),
    Kind(
        path="consumer-classes",
        model=ConsumerClass,
        body=lambda w: {
            "topic": w.reference("topic"),
            "broker": w.reference("broker"),
            "utility": w.reference("utility"),
            "population_max": 40,
            "costs": [{"resource": "cpu", "cost": 1.5}],
        },
        edit={"tier": "gold"},
        references={"topic": "topic", "broker": "broker", "utility": "utility"},
    ),
    Kind(
        path="utility-functions",
        model=UtilityFunction,
        body=lambda w: {"kind": "log", "parameters": {"weight": 3.0}},
        edit={"parameters": {"weight": 4.0}},
    ),
    Kind(
        path="slos",
        model=Slo,
        body=lambda w: {
            "topic": w.reference("topic"),
            "quantity": "delay_p99_s",
            "target": 0.2,
            "objective": 0.9,
        },
        edit={"target": 0.1},
        references={"topic": "topic"},
    ),
    Kind(
        path="streams",
        model=Stream,
        body=lambda w: {"number": 1, "group": w.reference("group")},
        edit={"number": 900},
        references={"group": "group", "pinned_group": "group"},
    ),
    Kind(path="groups", model=Group, body=lambda w: {"number": 1}, edit={"number": 900}),
    Kind(
        path="subscribers",
        model=Subscriber,
        body=lambda w: {"interests": [{"topic": w.reference("topic")}]},
        edit={"description": "night shift"},
        references={"broker": "broker", "interests.topic": "topic"},
    ),
)
BY_PATH = {kind.path: kind for kind in KINDS}
