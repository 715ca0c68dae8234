"""Create Harbour: port telemetry on six small NATS brokers, the demo that really runs.

Small on purpose, because `make up` plays it on one machine: nine topics, some 75 messages a second
offered, 68 consumers. Capacities are too small for everybody: an optimization has to
cut rates and to refuse consumers, and approving it visibly changes both.

Its best-effort topics are mapped to streams, too, for six desks that really receive them. All desks
are at one broker: there a map costs what the model says, since every mapped flow is sent there. The
map in force puts flows together that different desks want, so half of what comes is unwanted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import networkx as nx

from apps.catalog.models import (
    ConsumerClass,
    Group,
    Publisher,
    Slo,
    Stream,
    Subscriber,
    Topic,
    UtilityFunction,
)
from apps.executions.services.adopt_model import model_adopt
from apps.systems.models import System
from apps.systems.services import Drafts, entities_create, one_edit, system_create
from apps.topology.models import Broker, Link, Overlay

NAME = "Harbour"
# name, region, place on the map, CPU units per second, messages per second of publishers
BROKERS = (
    ("rot-1", "Rotterdam", 0.46, 0.46, 130.0, 28.0),
    ("ham-1", "Hamburg", 0.78, 0.24, 102.0, 33.0),
    ("ant-1", "Antwerp", 0.42, 0.68, 117.0, 33.0),
    ("fel-1", "Felixstowe", 0.20, 0.44, 41.0, 13.0),
    ("leh-1", "Le Havre", 0.16, 0.84, 48.0, 16.0),
    ("bre-1", "Bremerhaven", 0.66, 0.18, 68.0, 20.0),
)
# ends, messages per second, latency in seconds
LINKS = (
    ("rot-1", "ham-1", 38.0, 0.0082),
    ("rot-1", "ant-1", 46.0, 0.0021),
    ("ham-1", "bre-1", 36.0, 0.0026),
    ("ant-1", "leh-1", 18.0, 0.0061),
    ("leh-1", "fel-1", 18.0, 0.0058),
    # Existing links that are not in the overlay: the goal topology uses the first of them, and what
    # an evaluation of the measured traffic finds uses both.
    ("rot-1", "leh-1", 25.0, 0.0068),
    ("rot-1", "fel-1", 20.0, 0.0054),
)
# As it was built, from port to port. Felixstowe's traffic with Rotterdam passes Le Havre and
# Antwerp; with both on Rotterdam messages cross fewer links.
EDGES = tuple((a, b) for a, b, *_ in LINKS[:5])
# SHIFT(leh-1, ant-1, rot-1): the edge leh-1 - ant-1 becomes leh-1 - rot-1 along ant-1 - rot-1.
GOAL_EDGES = (*EDGES[:3], EDGES[4], ("rot-1", "leh-1"))
UTILITIES: dict[str, tuple[str, dict[str, Any]]] = {
    "harbour-gold": ("log", {"weight": 30}),
    "harbour-silver": ("log", {"weight": 9}),
    "harbour-bronze": ("log", {"weight": 2}),
}
FLOW_COST = {"best_effort": 1.0, "reliable": 2.0}
CONSUMER_COST = {"best_effort": 1.0, "reliable": 2.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Publishers of one topic that send together at random moments, one message each."""

    publishers: int
    every_s: float
    """How far apart these moments are on average, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Describe one topic: rates in messages per second, `wanted` as (broker, tier, consumers)."""

    title: str
    delivery: str
    source: str
    rate_min: float
    rate_max: float
    publishers: int
    wanted: tuple[tuple[str, str, int], ...]
    delay_p99_s: float = 0.25
    token_rate: float | None = None
    """With `bucket`, what its publishers may send together: a placement splits it over brokers."""
    bucket: float | None = None
    bursts: Mapping[str, Burst] = field(default_factory=dict)
    """More publishers, which send in bursts only. None of them has a correlation key: the search
    for publishers that burst together finds who belongs together."""

    def bursting(self, topic: str) -> dict[str, tuple[str, ...]]:
        """Return the names of the publishers of each burst; `topic` is the flow's name."""
        return {
            name: tuple(f"{topic}/{name}-{number}" for number in range(1, burst.publishers + 1))
            for name, burst in self.bursts.items()
        }


FLOWS = {
    "cranes.rotterdam": Flow(
        title="Crane positions and loads",
        delivery="best_effort",
        source="rot-1",
        rate_min=2,
        rate_max=20,
        publishers=3,
        wanted=(
            ("rot-1", "gold", 2),
            ("rot-1", "bronze", 3),
            ("ant-1", "silver", 2),
            ("ham-1", "bronze", 3),
        ),
        # Its publishers leave Rotterdam's broker hardly any room.
        token_rate=28.0,
        bucket=18.0,
    ),
    "vessels.felixstowe": Flow(
        title="Vessel positions (AIS)",
        delivery="best_effort",
        source="fel-1",
        rate_min=1,
        rate_max=6,
        publishers=2,
        wanted=(
            ("fel-1", "silver", 2),
            ("rot-1", "gold", 2),
            ("rot-1", "bronze", 4),
            ("ham-1", "silver", 2),
        ),
    ),
    "vessels.elbe": Flow(
        title="Vessel positions on the Elbe",
        delivery="best_effort",
        source="ham-1",
        rate_min=1,
        rate_max=5,
        publishers=2,
        wanted=(("ham-1", "gold", 2), ("bre-1", "silver", 3), ("rot-1", "bronze", 4)),
    ),
    "reefers.bremerhaven": Flow(
        title="Temperatures of refrigerated containers",
        delivery="best_effort",
        source="bre-1",
        rate_min=1,
        rate_max=12,
        publishers=2,
        wanted=(("bre-1", "gold", 2), ("ham-1", "bronze", 3), ("ant-1", "bronze", 3)),
        # Containers of one row hear of a crane at the same moment.
        bursts={
            "row-a": Burst(publishers=6, every_s=4.0),
            "row-b": Burst(publishers=5, every_s=5.0),
        },
        token_rate=16.0,
        bucket=14.0,
    ),
    "tides": Flow(
        title="Water levels",
        delivery="best_effort",
        source="ant-1",
        rate_min=1,
        rate_max=3,
        publishers=1,
        wanted=(("ant-1", "silver", 2), ("leh-1", "silver", 2), ("fel-1", "bronze", 2)),
    ),
    "berths": Flow(
        title="Berth assignments",
        delivery="reliable",
        source="rot-1",
        rate_min=1,
        rate_max=4,
        publishers=1,
        wanted=(("rot-1", "gold", 2), ("ham-1", "silver", 2), ("leh-1", "silver", 2)),
    ),
    "gates.antwerp": Flow(
        title="Trucks through the gates",
        delivery="reliable",
        source="ant-1",
        rate_min=1,
        rate_max=5,
        publishers=2,
        wanted=(("ant-1", "gold", 2), ("rot-1", "silver", 2), ("leh-1", "bronze", 3)),
    ),
    "customs": Flow(
        title="Customs releases",
        delivery="reliable",
        source="leh-1",
        rate_min=1,
        rate_max=4,
        publishers=1,
        wanted=(("leh-1", "gold", 2), ("ant-1", "silver", 2), ("rot-1", "bronze", 2)),
    ),
    "alarms": Flow(
        title="Alarms of every terminal",
        delivery="reliable",
        source="ham-1",
        rate_min=1,
        rate_max=3,
        publishers=1,
        wanted=(("ham-1", "gold", 2), ("bre-1", "silver", 2), ("fel-1", "gold", 2)),
        delay_p99_s=0.1,
    ),
}

GROUPS = 2
STREAMS = (0, 0, 1, 1)
"""Stream -> its group."""
STREAM_OF = {
    "cranes.rotterdam": 0,
    "vessels.elbe": 0,
    "reefers.bremerhaven": 1,
    "vessels.felixstowe": 2,
    "tides": 2,
}
DESKS_AT = "ham-1"
DESKS = {
    "terminal-1": ("cranes.rotterdam", "reefers.bremerhaven"),
    "terminal-2": ("cranes.rotterdam",),
    "terminal-3": ("cranes.rotterdam", "reefers.bremerhaven", "tides"),
    "vessel-traffic-1": ("vessels.elbe", "vessels.felixstowe"),
    "vessel-traffic-2": ("vessels.elbe", "vessels.felixstowe", "tides"),
    "pilots": ("vessels.elbe", "tides"),
}
"""Subscriber -> the topics that it wants."""


@dataclass(slots=True)
class _Loader:
    """Collect the created objects, so that later ones can refer to earlier ones."""

    drafts: Drafts
    tree: "nx.Graph[str]" = field(default_factory=lambda: nx.Graph(EDGES))
    brokers: dict[str, Broker] = field(default_factory=dict)
    links: dict[frozenset[str], Link] = field(default_factory=dict)
    utilities: dict[str, UtilityFunction] = field(default_factory=dict)
    streams: list[Stream] = field(default_factory=list)
    topics: dict[str, Topic] = field(default_factory=dict)

    def topology(self) -> None:
        for name, region, x, y, cpu, publish_rate in BROKERS:
            capacities = [{"resource": "cpu", "capacity": cpu}]
            self.brokers[name] = self.drafts.add(
                Broker,
                name=name,
                region=region,
                map_x=x,
                map_y=y,
                publish_rate_max_per_s=publish_rate,
                children={"capacities": capacities},
            )
        for source, target, capacity, latency_s in LINKS:
            self.links[frozenset((source, target))] = self.drafts.add(
                Link,
                name=f"{source}.{target}",
                source=self.brokers[source],
                target=self.brokers[target],
                capacity=capacity,
                latency_s=latency_s,
            )
        self.overlay("v1", EDGES, in_force=True, note="As built.")
        self.overlay(
            "le-havre-on-rotterdam",
            GOAL_EDGES,
            purpose="goal",
            note="Le Havre's traffic comes from Rotterdam; take Antwerp out of its way.",
        )

    def overlay(self, name: str, edges: tuple[tuple[str, str], ...], **values: Any) -> None:
        rows = [{"a": self.brokers[a], "b": self.brokers[b]} for a, b in edges]
        self.drafts.add(Overlay, name=name, children={"edges": rows}, **values)

    def streams_and_groups(self) -> None:
        groups = [
            self.drafts.add(Group, name=f"group-{number}", number=number)
            for number in range(GROUPS)
        ]
        for number, group in enumerate(STREAMS):
            self.streams.append(
                self.drafts.add(Stream, name=f"stream-{number}", number=number, group=groups[group])
            )

    def desks(self) -> None:
        for name, wanted in DESKS.items():
            interests = [{"topic": self.topics[topic]} for topic in wanted]
            self.drafts.add(
                Subscriber, {"interests": interests}, name=name, broker=self.brokers[DESKS_AT]
            )

    def flow(self, name: str, flow: Flow) -> None:
        """Create the topic with a cost at each broker and link between source and consumers."""
        goals = {flow.source, *(broker for broker, _, _ in flow.wanted)}
        paths = [nx.shortest_path(self.tree, flow.source, broker) for broker in sorted(goals)]
        nodes = sorted({node for path in paths for node in path})
        used = {frozenset(pair) for path in paths for pair in nx.utils.pairwise(path)}
        links = sorted((self.links[pair] for pair in used), key=lambda link: link.name)
        cost = FLOW_COST[flow.delivery]
        topic = self.topics[name] = self.drafts.add(
            Topic,
            name=name,
            stream=self.streams[STREAM_OF[name]] if name in STREAM_OF else None,
            description=flow.title,
            delivery=flow.delivery,
            rate_min_per_s=flow.rate_min,
            rate_max_per_s=flow.rate_max,
            token_rate_per_s=flow.token_rate,
            token_bucket=flow.bucket,
            source=self.brokers[flow.source],
            children={
                "node_costs": [
                    {"broker": self.brokers[node], "resource": "cpu", "cost": cost}
                    for node in nodes
                ],
                "link_costs": [{"link": link, "cost": 1.0} for link in links],
            },
        )
        for broker, tier, wanted in flow.wanted:
            self.drafts.add(
                ConsumerClass,
                name=f"{name}.{tier}@{broker}",
                topic=topic,
                broker=self.brokers[broker],
                utility=self.utilities[f"harbour-{tier}"],
                tier=tier,
                population_max=wanted,
                children={"costs": [{"resource": "cpu", "cost": CONSUMER_COST[flow.delivery]}]},
            )
        bursting = flow.bursting(name)
        rates = {
            one: 1.0 / flow.bursts[burst].every_s
            for burst, publishers in bursting.items()
            for one in publishers
        }
        steady = (flow.rate_max - sum(rates.values())) / flow.publishers
        rates |= {f"{name}/{number}": steady for number in range(1, flow.publishers + 1)}
        for publisher, rate in rates.items():
            self.drafts.add(
                Publisher,
                name=publisher,
                topic=topic,
                broker=topic.source,
                rate_per_s=round(rate, 3),
            )
        self.slos(topic, flow)

    def slos(self, topic: Topic, flow: Flow) -> None:
        reliable = flow.delivery == "reliable"
        self.drafts.add(
            Slo,
            name=f"{topic.name} p99",
            topic=topic,
            quantity="delay_p99_s",
            target=flow.delay_p99_s,
            objective=0.999 if reliable else 0.99,
        )
        if reliable:
            self.drafts.add(
                Slo,
                name=f"{topic.name} loss",
                topic=topic,
                quantity="loss_ratio",
                target=0.0,
                objective=0.9999,
            )


def load() -> System:
    """Create the system with everything in it, as one edit."""
    with one_edit():
        system = system_create(
            actor=None,
            values={
                "name": NAME,
                "description": "Port telemetry on six brokers that run beside this demo.",
                "product": "nats",
                "resources": ["cpu"],
            },
        )
        loader = _Loader(Drafts(system))
        loader.topology()
        for name, (kind, parameters) in UTILITIES.items():
            loader.utilities[name] = loader.drafts.add(
                UtilityFunction, name=name, kind=kind, parameters=parameters
            )
        loader.streams_and_groups()
        for name, flow in FLOWS.items():
            loader.flow(name, flow)
        loader.desks()
        entities_create(drafts=loader.drafts, actor=None)
        # Before an agent is enrolled: the fleet carries it from its first start on.
        model_adopt(system=system, actor=None, reason="Loaded with the demo.")
    return system
