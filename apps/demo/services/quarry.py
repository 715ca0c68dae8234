"""Create Quarry: a market whose instruments share streams and groups, small enough to watch.

Drawn from one seed by the market model of the slides (`weir/clustering/loads.py`). Its map was made
for the interests of some weeks ago; since then a part of them, and of the rates, has changed.
"""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from apps.catalog.models import Group, Stream, Subscriber, Topic
from apps.executions.services.adopt_model import model_adopt
from apps.mappings.selectors.settings import settings_of
from apps.mappings.services.settings import settings_update
from apps.systems.models import System
from apps.systems.services import Drafts, entities_create, one_edit, system_create
from apps.topology.models import Broker, Link, Overlay
from weir.clustering import clusterer
from weir.clustering.loads import MarketShape, drifted, market_load
from weir.model.mapping import NOWHERE, FlowMap, MappingProblem, Weights
from weir.stop import never

NAME = "Quarry"
SEED: Final = 2011
SHAPE: Final = MarketShape(
    flows=720,
    users=60,
    least=6,
    mean=22.0,
    most=40,
    fan_out=4.0,
    markets=6,
    rate_per_s=24_000.0,
)
STREAMS, GROUPS = 36, 9
DRIFT = 0.15
"""Part of the interests that has changed since the map was made."""
MOVING = {"flow_move_work": 100_000.0, "stream_move_work": 200_000.0, "horizon_s": 600.0}
"""Receivers join and leave groups of the network for a move, which is dear, and interests change
fast."""
WEIGHTS: Final = Weights(transport=2.0, messaging=1.0, aggregation=8.0)
MARKETS = ("equities", "futures", "fx", "rates", "metals", "energy")
"""The largest market first."""
# name, region, place on the map, CPU units per second
BROKERS = (
    ("lon-1", "London", 0.5, 0.3, 900_000.0),
    ("nyc-1", "New York", 0.18, 0.5, 600_000.0),
    ("tok-1", "Tokyo", 0.84, 0.56, 600_000.0),
)
# ends, messages per second, latency in seconds
LINKS = (("lon-1", "nyc-1", 40_000.0, 0.035), ("lon-1", "tok-1", 40_000.0, 0.118))
REASON = "Loaded with the demo."
DESKS = {"lon-1": "london", "nyc-1": "newyork", "tok-1": "tokyo"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """What the catalogue is made of."""

    problem: MappingProblem
    """Today's interests and rates."""
    flow_map: FlowMap
    """The map in force, made for what they were before."""
    topics: tuple[str, ...]
    """By flow."""


def market() -> Market:
    """Return today's load with the map that is in force; the same on every machine."""
    before = market_load(SEED, SHAPE, max_streams=STREAMS, max_groups=GROUPS, weights=WEIGHTS)
    method = clusterer("iterative")
    made = method.cluster(
        before, method.Params(), seed=SEED, stop=lambda: never(None), report=lambda seen: None
    )
    return Market(
        problem=drifted(before, DRIFT, SEED), flow_map=made, topics=tuple(_topics(before.flows))
    )


def _topics(flows: tuple[str, ...]) -> Iterator[str]:
    """Yield market and ticker of each flow, which the load calls by market and rank."""
    chance = random.Random(SEED)
    given: set[str] = set()
    for flow in flows:
        number = int(flow.split("/")[0].removeprefix("m"))
        while True:
            ticker = "".join(chance.choices("ABCDEFGHIKLMNOPRSTUVW", k=4))
            if ticker not in given:
                break
        given.add(ticker)
        yield f"{MARKETS[number - 1]}.{ticker}"


def load() -> System:
    """Create the system with everything in it, as one edit."""
    today = market()
    with one_edit():
        system = system_create(
            actor=None,
            values={
                "name": NAME,
                "description": f"A market of {SHAPE.flows} instruments in {STREAMS} streams and "
                f"{GROUPS} groups; only modelled, no broker runs.",
                "product": "kafka",
                "resources": ["cpu"],
            },
        )
        drafts = Drafts(system)
        brokers = _topology(drafts)
        streams = _streams(drafts, today.flow_map)
        topics = _topics_of(drafts, today, streams, brokers)
        _subscribers(drafts, today.problem, topics, brokers)
        entities_create(drafts=drafts, actor=None)
        settings_update(
            settings=settings_of(system),
            actor=None,
            expected_version=1,
            values={**asdict(WEIGHTS), **MOVING},
            reason=REASON,
        )
    model_adopt(system=system, actor=None, reason=REASON)
    return system


def _topology(drafts: Drafts) -> list[Broker]:
    brokers = {
        name: drafts.add(
            Broker,
            {"capacities": [{"resource": "cpu", "capacity": cpu}]},
            name=name,
            region=region,
            map_x=x,
            map_y=y,
        )
        for name, region, x, y, cpu in BROKERS
    }
    for source, target, capacity, latency_s in LINKS:
        drafts.add(
            Link,
            name=f"{source}.{target}",
            source=brokers[source],
            target=brokers[target],
            capacity=capacity,
            latency_s=latency_s,
        )
    edges = [{"a": brokers[a], "b": brokers[b]} for a, b, *_ in LINKS]
    drafts.add(Overlay, {"edges": edges}, name="v1", in_force=True, note="As built.")
    return list(brokers.values())


def _streams(drafts: Drafts, flow_map: FlowMap) -> list[Stream]:
    """Add all groups and streams; one stream that carries something stays in its group."""
    groups = [drafts.add(Group, name=f"group-{number}", number=number) for number in range(GROUPS)]
    used = np.flatnonzero(flow_map.group_of != NOWHERE)
    pinned = int(used[len(used) // 2])
    streams = []
    for number, at in enumerate(flow_map.group_of.tolist()):
        group = None if at == NOWHERE else groups[at]
        streams.append(
            drafts.add(
                Stream,
                name=f"stream-{number:02d}",
                number=number,
                group=group,
                pinned_group=group if number == pinned else None,
            )
        )
    return streams


def _topics_of(
    drafts: Drafts, today: Market, streams: list[Stream], brokers: list[Broker]
) -> list[Topic]:
    """Add a topic for each flow; the two busiest of the smallest market stay in their stream."""
    rates_per_s, stream_of = today.problem.rates_per_s, today.flow_map.stream_of
    mapped = [at for at, name in enumerate(today.topics) if name.startswith(MARKETS[-1])]
    mapped = [at for at in mapped if stream_of[at] != NOWHERE]
    pinned = set(sorted(mapped, key=lambda at: -rates_per_s[at])[:2])
    topics = []
    for at, name in enumerate(today.topics):
        stream = None if stream_of[at] == NOWHERE else streams[stream_of[at]]
        values: dict[str, Any] = {"pinned_stream": stream} if at in pinned else {}
        topics.append(
            drafts.add(
                Topic,
                name=name,
                rate_max_per_s=round(float(rates_per_s[at]), 3),
                source=brokers[at % len(brokers)],
                stream=stream,
                **values,
            )
        )
    return topics


def _subscribers(
    drafts: Drafts, problem: MappingProblem, topics: list[Topic], brokers: list[Broker]
) -> None:
    starts, wanted = (column.tolist() for column in problem.interests.by_user)
    for at in range(len(problem.users)):
        broker = brokers[at % len(brokers)]
        flows = wanted[starts[at] : starts[at + 1]]
        drafts.add(
            Subscriber,
            {"interests": [{"topic": topics[flow]} for flow in flows]},
            name=f"desk.{DESKS[broker.name]}-{at // len(brokers) + 1:02d}",
            broker=broker,
        )
