"""A small system with a map whose brokers have agents that say which flows they hand over."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.catalog.models import Group, Stream, Subscriber, Topic
from apps.executions.services.reports import agent_heard
from apps.systems.models import System
from apps.systems.services import entity_create
from apps.telemetry.models import Agent
from apps.telemetry.services import Introduction, agent_enrol, agent_session
from apps.topology.models import Broker
from tests.factories import make_broker, make_system, make_topic
from tests.factories.fleet import put_in_force, seen_at
from weir.coordination.wire import HandOver, HandOverPhase, StreamPlace, to_dict
from weir.model.plan import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Brokers a, b and c. Topics `gold` and `silver` are in stream s-1, `tin` in s-2, `lead` in
    none; s-1 is in group g-1, s-2 in g-2, s-3 in none. `amy` at a wants gold and lead, `bea` at b
    gold, silver and tin, and nobody is at c."""

    system: System
    brokers: Mapping[str, Broker]
    topics: Mapping[str, Topic]
    streams: Mapping[str, Stream]
    groups: Mapping[str, Group]
    subscribers: Mapping[str, Subscriber]


def make_exchange(name: str = "exchange") -> Exchange:
    system = make_system(name)

    def made(model: Any, name: str, **values: Any) -> Any:
        children = {"interests": [{"topic": topics[t]} for t in values.pop("wants", ())]}
        return entity_create(
            model=model,
            system=system,
            actor=None,
            values={"name": name, **values},
            children=children if model is Subscriber else None,
        )

    topics: dict[str, Topic] = {}
    brokers = {letter: make_broker(system, letter) for letter in "abc"}
    groups = {f"g-{n}": made(Group, f"g-{n}", number=n + 10) for n in (1, 2)}
    streams = {
        f"s-{n}": made(Stream, f"s-{n}", number=n, group=groups.get(f"g-{n}")) for n in (1, 2, 3)
    }
    for flow, stream in {"gold": "s-1", "silver": "s-1", "tin": "s-2", "lead": ""}.items():
        topics[flow] = make_topic(system, flow, stream=streams.get(stream))
    subscribers = {
        "amy": made(Subscriber, "amy", broker=brokers["a"], wants=("gold", "lead")),
        "bea": made(Subscriber, "bea", broker=brokers["b"], wants=("gold", "silver", "tin")),
    }
    put_in_force(system)
    return Exchange(
        system=system,
        brokers=brokers,
        topics=topics,
        streams=streams,
        groups=groups,
        subscribers=subscribers,
    )


@dataclass(slots=True)
class Follower:
    """A broker's agent, as the control plane hears it."""

    broker: Broker

    @property
    def row(self) -> Agent:
        return Agent.objects.select_related("broker", "system").get(broker=self.broker)

    def come(self) -> "Follower":
        """Enrol and open a session."""
        agent, _ = agent_enrol(broker=self.broker, actor=None)
        introduction = Introduction(
            agent_version="1", product="simulated", address="", facts={}, capabilities={}, key=""
        )
        agent_session(agent=agent, introduction=introduction)
        return self

    def sees(self) -> dict[str, Any]:
        """What it observes once it has taken over the document of now, without hand-overs."""
        return seen_at(self.row.system, self.broker.name)

    def say(self, observed: Mapping[str, Any]) -> None:
        agent = self.row
        agent_heard(
            agent=agent,
            incarnation=agent.incarnation,
            reports=(),
            observed=observed,
            telemetry=None,
        )

    def follow(self, **hand_overs: HandOver) -> None:
        """Take over the document of now and say so, with these flows' last hand-overs."""
        reported = {flow: to_dict(each) for flow, each in hand_overs.items()}
        self.say({**self.sees(), "hand_overs": reported})

    def fall_silent(self) -> None:
        """Let its lease end."""
        Agent.objects.filter(broker=self.broker).update(lease_until="2020-01-01T00:00:00Z")


def handed(phase: HandOverPhase, *, to: int = 2, next: StreamPlace | None = None) -> HandOver:
    """A hand-over from stream 1."""
    return HandOver(
        source=StreamPlace(group=11, stream=1),
        target=StreamPlace(group=12, stream=to),
        phase=phase,
        began_at=1_700_000_000.0,
        next=next,
    )


def move(flow: str, before: str | None, after: str | None) -> Action:
    """Move a flow from stream to stream."""
    return _moved("move_flow", "flow", flow, "stream", before, after)


def move_stream(stream: str, before: str | None, after: str | None) -> Action:
    """Move a stream from group to group."""
    return _moved("move_stream", "stream", stream, "group", before, after)


def _moved(
    kind: str, member: str, name: str, where: str, before: str | None, after: str | None
) -> Action:
    return Action(
        kind=kind,
        target={member: name},
        before=None if before is None else {where: before},
        after=None if after is None else {where: after},
    )
