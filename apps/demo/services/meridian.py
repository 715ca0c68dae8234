"""Create Meridian: a market-data and an IoT tenant, 41 topics on a tree of six brokers.

Invented, but lifelike: venues publish trades, quotes, depth and orders; sites send telemetry and
alarms; the feed handlers of all venues send to one tape, which is to be placed. Everything is drawn
from one seed, so that the system is the same on every machine.
"""

import math
import random
from dataclasses import dataclass, field
from typing import Any

import networkx as nx

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
from apps.executions.services.adopt_model import model_adopt
from apps.systems.models import System
from apps.systems.services import Drafts, entities_create, one_edit, system_create
from apps.topology.models import Broker, Link, Overlay

NAME = "Meridian"
SEED = 2006
# name, region, place on the map, CPU units per second, messages per second of publishers
BROKERS = (
    ("lon-1", "London", 0.44, 0.42, 20_000_000.0, 12_000.0),
    ("fra-1", "Frankfurt", 0.62, 0.52, 8_000_000.0, 10_000.0),
    ("ams-1", "Amsterdam", 0.60, 0.18, 9_000_000.0, 10_000.0),
    ("nyc-1", "New York", 0.22, 0.48, 2_400_000.0, 9_000.0),
    ("chi-1", "Chicago", 0.08, 0.26, 900_000.0, 6_000.0),
    ("sin-1", "Singapore", 0.88, 0.78, 1_200_000.0, 6_000.0),
)
# ends, messages per second, latency in seconds
LINKS = (
    ("lon-1", "fra-1", 2_600.0, 0.0061),
    ("fra-1", "ams-1", 1_500.0, 0.0036),
    ("lon-1", "nyc-1", 2_600.0, 0.0341),
    ("nyc-1", "chi-1", 1_000.0, 0.0093),
    ("fra-1", "sin-1", 1_300.0, 0.0812),
)
# Existing links that today's tree does not use.
SPARE = (
    ("lon-1", "ams-1", 1_500.0, 0.0042),
    ("lon-1", "chi-1", 1_000.0, 0.0409),
    ("lon-1", "sin-1", 1_300.0, 0.0735),
)
GOALS = {
    "singapore-on-london": (
        "Singapore's traffic comes from London; take Frankfurt out of its way.",
        {("fra-1", "sin-1"): ("lon-1", "sin-1")},
    ),
    "hub-london": (
        "Every place speaks to London directly; Frankfurt and New York relay nothing any more.",
        {
            ("fra-1", "sin-1"): ("lon-1", "sin-1"),
            ("fra-1", "ams-1"): ("lon-1", "ams-1"),
            ("nyc-1", "chi-1"): ("lon-1", "chi-1"),
        },
    ),
}
VENUES = {
    "london": "lon-1",
    "frankfurt": "fra-1",
    "amsterdam": "ams-1",
    "newyork": "nyc-1",
    "chicago": "chi-1",
    "singapore": "sin-1",
}
UTILITIES: dict[str, tuple[str, dict[str, Any]]] = {
    "market-gold": ("log", {"weight": 40}),
    "market-silver": ("log", {"weight": 12}),
    "market-bronze": ("log", {"weight": 2}),
    "depth-gold": ("power", {"weight": 6, "exponent": 0.5}),
    "depth-silver": ("power", {"weight": 2, "exponent": 0.5}),
    "iot-gold": ("log", {"weight": 18}),
    "iot-silver": ("log", {"weight": 5}),
    "iot-bronze": ("log", {"weight": 1}),
    "alarm": ("piecewise", {"points": [[0, 0], [20, 60], [100, 120], [400, 150]]}),
    "command": (
        "latency",
        {"max_utility": 900, "threshold_s": 0.5, "senders": 20, "think_s": 0.1, "exec_s": 0.008},
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Describe what the topics of one kind have in common."""

    title: str
    rate_min: float
    rate_max: float
    delivery: str
    delay_p99_s: float
    tiers: tuple[tuple[str, str, int], ...]  # tier, utility, consumers per broker
    consumer_cost: float
    publishers: int
    pattern: str = "one_to_many"


KINDS = {
    "trades": Kind(
        title="Executed trades",
        rate_min=20,
        rate_max=1200,
        delivery="reliable",
        delay_p99_s=0.025,
        tiers=(
            ("gold", "market-gold", 60),
            ("silver", "market-silver", 180),
            ("bronze", "market-bronze", 600),
        ),
        consumer_cost=16,
        publishers=4,
    ),
    "quotes": Kind(
        title="Best bid and offer",
        rate_min=10,
        rate_max=2000,
        delivery="best_effort",
        delay_p99_s=0.015,
        tiers=(
            ("gold", "market-gold", 40),
            ("silver", "market-silver", 120),
            ("bronze", "market-bronze", 900),
        ),
        consumer_cost=9,
        publishers=6,
    ),
    "depth": Kind(
        title="Order book depth",
        rate_min=5,
        rate_max=800,
        delivery="best_effort",
        delay_p99_s=0.05,
        tiers=(("gold", "depth-gold", 30), ("silver", "depth-silver", 90)),
        consumer_cost=22,
        publishers=3,
    ),
    "orders": Kind(
        title="Order acknowledgements",
        rate_min=15,
        rate_max=500,
        delivery="reliable",
        delay_p99_s=0.02,
        tiers=(("gold", "market-gold", 25),),
        consumer_cost=24,
        publishers=3,
        pattern="one_to_one",
    ),
    "telemetry": Kind(
        title="Sensor readings",
        rate_min=5,
        rate_max=1500,
        delivery="best_effort",
        delay_p99_s=0.5,
        tiers=(("silver", "iot-silver", 150), ("bronze", "iot-bronze", 500)),
        consumer_cost=7,
        publishers=5,
    ),
    "alarms": Kind(
        title="Alarms of a site",
        rate_min=10,
        rate_max=400,
        delivery="reliable",
        delay_p99_s=0.1,
        tiers=(("gold", "alarm", 20), ("silver", "iot-gold", 60)),
        consumer_cost=20,
        publishers=2,
    ),
    "fleet": Kind(
        title="Commands to vehicles and their answers",
        rate_min=34,
        rate_max=203.7,
        delivery="reliable",
        delay_p99_s=0.25,
        tiers=(("gold", "command", 1),),
        consumer_cost=30,
        publishers=1,
        pattern="request_response",
    ),
}
FLEETS = {
    "fleet.trucks": "fra-1",
    "fleet.ships": "sin-1",
    "fleet.rail": "lon-1",
    "fleet.drones": "chi-1",
}
TAPE = "tape.consolidated"
TAPE_HOMES = ("lon-1", "nyc-1")
"""Where its feed handlers send to today: two brokers, which are nearly full."""
TAPE_HANDLERS, TAPE_AT_THE_OPEN = 400, 60
"""The number of its publishers, and of those that send when their venue opens, the same of each."""
TAPE_RATES_PER_S = (24.0, 30.0, 36.0)
MARKET = ("trades", "quotes", "depth", "orders")
FLOW_COST = {"reliable": 9.0, "best_effort": 3.0}


@dataclass(slots=True)
class _Loader:
    """Collect the created objects, so that later ones can refer to earlier ones."""

    drafts: Drafts
    chance: random.Random
    tree: "nx.Graph[str]" = field(default_factory=nx.Graph)
    brokers: dict[str, Broker] = field(default_factory=dict)
    links: dict[frozenset[str], Link] = field(default_factory=dict)
    utilities: dict[str, UtilityFunction] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)

    def topology(self) -> None:
        for name, region, x, y, cpu, publish_rate in BROKERS:
            self.brokers[name] = self.drafts.add(
                Broker,
                name=name,
                region=region,
                map_x=x,
                map_y=y,
                publish_rate_max_per_s=publish_rate,
                children={"capacities": [{"resource": "cpu", "capacity": cpu}]},
            )
        self.tree.add_edges_from((source, target) for source, target, *_ in LINKS)
        for source, target, capacity, latency_s in (*LINKS, *SPARE):
            self.links[frozenset((source, target))] = self.drafts.add(
                Link,
                name=f"{source}.{target}",
                source=self.brokers[source],
                target=self.brokers[target],
                capacity=capacity,
                latency_s=latency_s,
            )
        edges = [{"a": self.brokers[a], "b": self.brokers[b]} for a, b, *_ in LINKS]
        self.drafts.add(
            Overlay,
            name="v1",
            in_force=True,
            note="As built.",
            children={"edges": edges},
        )
        for name, (note, moved) in GOALS.items():
            pairs = [moved.get((a, b), (a, b)) for a, b, *_ in LINKS]
            self.drafts.add(
                Overlay,
                name=name,
                purpose="goal",
                note=note,
                children={
                    "edges": [{"a": self.brokers[a], "b": self.brokers[b]} for a, b in pairs]
                },
            )

    def topic(self, name: str, kind: Kind, source: str, stream: Stream) -> None:
        others = [b for b in self.brokers if b != source]
        reached = [source, *self.chance.sample(others, 2 if len(kind.tiers) > 1 else 1)]
        paths = [nx.shortest_path(self.tree, source, node) for node in reached]
        nodes = sorted({node for path in paths for node in path})
        used = {frozenset(pair) for path in paths for pair in nx.utils.pairwise(path)}
        links = sorted((self.links[pair] for pair in used), key=lambda link: link.name)
        self.topics[name] = topic = self.drafts.add(
            Topic,
            name=name,
            description=kind.title,
            pattern=kind.pattern,
            delivery=kind.delivery,
            rate_min_per_s=kind.rate_min,
            rate_max_per_s=kind.rate_max,
            source=self.brokers[source],
            token_rate_per_s=kind.rate_max,
            token_bucket=round(kind.rate_max / 4),
            stream=stream,
            children={
                "node_costs": [
                    {
                        "broker": self.brokers[node],
                        "resource": "cpu",
                        "cost": FLOW_COST[kind.delivery],
                    }
                    for node in nodes
                ],
                "link_costs": [{"link": link, "cost": 1.0} for link in links],
            },
        )
        for node in reached:
            for tier, utility, population in kind.tiers:
                wanted = max(1, round(population * self.chance.uniform(0.6, 1.4)))
                self.drafts.add(
                    ConsumerClass,
                    name=f"{name}.{tier}@{node}",
                    topic=topic,
                    broker=self.brokers[node],
                    utility=self.utilities[utility],
                    tier=tier,
                    population_max=wanted,
                    children={"costs": [{"resource": "cpu", "cost": kind.consumer_cost}]},
                )
        self.drafts.add(
            Slo,
            name=f"{name} p99",
            topic=topic,
            quantity="delay_p99_s",
            target=kind.delay_p99_s,
            objective=0.999 if kind.delivery == "reliable" else 0.99,
        )

    def publishers(self, name: str, kind: Kind, key: CorrelationKey | None) -> None:
        topic = self.topics[name]
        for index in range(kind.publishers):
            # What they send is drawn from whole rates.
            rate = math.ceil(kind.rate_max)
            share = self.chance.uniform(0.5, 1.5) * rate / (2 * kind.publishers)
            self.drafts.add(
                Publisher,
                name=f"{name}/{index + 1}",
                topic=topic,
                broker=topic.source,
                correlation_key=key,
                rate_per_s=round(share, 1),
            )

    def tape(self, keys: dict[str, CorrelationKey]) -> None:
        """Add a topic of many publishers that has no consumers here: where to place it is open.

        It comes last: what is drawn before stays as it is.
        """
        rates = [self.chance.choice(TAPE_RATES_PER_S) for _ in range(TAPE_HANDLERS)]
        topic = self.drafts.add(
            Topic,
            name=TAPE,
            description="Every venue's ticks for the record; archived outside Meridian.",
            rate_min_per_s=sum(rates),
            rate_max_per_s=sum(rates),
            token_rate_per_s=round(1.1 * sum(rates)),
            token_bucket=60.0,
        )
        for index, rate in enumerate(rates):
            venue = list(VENUES)[index % len(VENUES)]
            self.drafts.add(
                Publisher,
                name=f"{TAPE}/{venue}-{index // len(VENUES) + 1:02d}",
                topic=topic,
                broker=self.brokers[TAPE_HOMES[index % len(TAPE_HOMES)]],
                correlation_key=keys[venue] if index < TAPE_AT_THE_OPEN else None,
                rate_per_s=rate,
            )
        self.drafts.add(Slo, name=f"{TAPE} p99", topic=topic, quantity="delay_p99_s", target=0.005)

    def subscribers(self) -> None:
        names = sorted(self.topics)
        for index in range(24):
            tenant = "desk" if index < 14 else "plant"
            iot = tenant == "plant"
            mine = [n for n in names if n.startswith(("telemetry", "alarms", "fleet")) == iot]
            wanted = sorted(self.chance.sample(mine, self.chance.randint(3, 8)))
            self.drafts.add(
                Subscriber,
                name=f"{tenant}-{index + 1:02d}",
                broker=self.brokers[self.chance.choice(sorted(self.brokers))],
                children={"interests": [{"topic": self.topics[n]} for n in wanted]},
            )


def load() -> System:
    """Create the system with everything in it, as one edit."""
    with one_edit():
        system = system_create(
            actor=None,
            values={
                "name": NAME,
                "description": "Market data and IoT on six brokers.",
                "product": "nats",
                "resources": ["cpu"],
            },
        )
        loader = _Loader(Drafts(system), random.Random(SEED))
        loader.topology()
        for name, (utility_kind, parameters) in UTILITIES.items():
            loader.utilities[name] = loader.drafts.add(
                UtilityFunction, name=name, kind=utility_kind, parameters=parameters
            )
        groups = [
            loader.drafts.add(Group, name=n, number=i) for i, n in enumerate(("market", "iot"))
        ]
        streams: dict[str, Stream] = {
            name: loader.drafts.add(
                Stream,
                name=name,
                number=number,
                group=groups[0 if name in MARKET else 1],
            )
            for number, name in enumerate(KINDS)
        }
        keys = {
            place: loader.drafts.add(
                CorrelationKey, name=f"open-{place}", description="Everybody sends at the open."
            )
            for place in VENUES
        }
        for kind_name, kind in KINDS.items():
            places = {f"{kind_name}.{p}": b for p, b in VENUES.items()}
            for name, source in (FLEETS if kind_name == "fleet" else places).items():
                loader.topic(name, kind, source, streams[kind_name])
                key = keys[name.split(".")[1]] if kind_name in MARKET else None
                loader.publishers(name, kind, key)
        loader.subscribers()
        loader.tape(keys)
        entities_create(drafts=loader.drafts, actor=None)
    model_adopt(system=system, actor=None, reason="Loaded with the demo.")
    return system
