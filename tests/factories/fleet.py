"""A small fleet: brokers in a tree, topics, classes, and agents that speak HTTP as real ones do."""

import asyncio
import threading
import uuid
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from apps.catalog.models import ConsumerClass, Topic
from apps.executions.models import Execution, Setting
from apps.executions.selectors.modelled import asked_by_model
from apps.executions.services import execution_start
from apps.executions.services.documents import document_of, facts_of, revision_bump
from apps.systems.models import System
from apps.systems.services import entity_create
from apps.telemetry.models import Agent
from apps.telemetry.services import agent_enrol
from apps.topology.models import Broker, Overlay
from tests.factories import make_broker, make_class, make_system, make_topic
from weir.coordination.wire import (
    Document,
    document_from_dict,
    publishers_digest,
    to_dict,
)
from weir.model.plan import Action, Step

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Harbour:
    """Four brokers in a row, a - b - c - d; flow `tides` enters at a, class `gulls` reads at c."""

    system: System
    brokers: Mapping[str, Broker]
    overlay: Overlay
    topic: Topic
    consumers: ConsumerClass


def document_for(agent: Agent) -> Document:
    """What should be true at the agent's broker now."""
    facts = facts_of(agent.system_id)
    assert facts is not None
    return document_of(facts[1], agent.broker.name)


def make_overlay(system: System, brokers: Mapping[str, Broker], *edges: str) -> Overlay:
    """An overlay in force; an edge is written `ab`."""
    return entity_create(
        model=Overlay,
        system=system,
        actor=None,
        values={"name": "tree", "in_force": True},
        children={"edges": [{"a": brokers[e[0]], "b": brokers[e[1]]} for e in edges]},
    )


def make_harbour(name: str = "harbour") -> Harbour:
    system = make_system(name)
    brokers = {letter: make_broker(system, letter) for letter in "abcd"}
    topic = make_topic(system, "tides", source=brokers["a"], delivery="reliable")
    harbour = Harbour(
        system=system,
        brokers=brokers,
        overlay=make_overlay(system, brokers, "ab", "bc", "cd"),
        topic=topic,
        consumers=make_class(system, topic, brokers["c"], "gulls"),
    )
    put_in_force(system)
    return harbour


def put_in_force(system: System) -> None:
    """The flows and classes of the model as it is, in force as if a plan had brought them."""
    for wanted in asked_by_model(system).values():
        Setting.objects.update_or_create(
            system=system,
            kind=wanted.kind,
            target_key=wanted.key[1],
            defaults={
                "target": dict(wanted.target),
                "in_force": dict(wanted.value),
                "desired": dict(wanted.value),
            },
        )
    revision_bump(system)


def seen_at(system: System, broker: str) -> dict[str, Any]:
    """What an agent sees at the broker that has taken over all that it is asked for."""
    document = document_of(must(facts_of(system.pk))[1], broker)
    return {
        "version": document.version,
        "number": document.number,
        "gates": {
            flow: {"rate_per_s": gate.rate_per_s, "burst": gate.burst}
            for flow, gate in document.gates.items()
        },
        "buckets": to_dict(document)["buckets"],
        "publishers": digests_of(document),
        "limits": {n: c.limit for n, c in document.classes.items() if c.limit is not None},
        "ingress": {f: spec.delivery for f, spec in document.flows.items() if spec.ingress},
        "served": {name: spec.flow for name, spec in document.classes.items()},
        "admitted": {},
        "waiting": {},
        "links": sorted(document.neighbours),
        "problems": [],
    }


def digests_of(document: Document) -> dict[str, str]:
    """What an agent says of the publishers that it lets in once all others have left."""
    return {flow: publishers_digest(entry.here) for flow, entry in document.publishers.items()}


def must(value: T | None) -> T:
    """The value, which is there."""
    assert value is not None
    return value


def rate(before: float | None, after: float | None, flow: str = "tides", at: str = "a") -> Action:
    """Set a flow's rate; None: no limit."""

    def value(rate_per_s: float | None) -> dict[str, float] | None:
        return None if rate_per_s is None else {"rate_per_s": rate_per_s, "burst": 5.0}

    return Action(
        kind="set_flow_rate",
        target={"flow": flow, "broker": at},
        before=value(before),
        after=value(after),
    )


def population(before: int | None, after: int | None) -> Action:
    """Admit so many gulls; None: everybody."""

    def value(limit: int | None) -> dict[str, int] | None:
        return None if limit is None else {"limit": limit}

    return Action(
        kind="set_population",
        target={"class": "gulls", "flow": "tides", "broker": "c"},
        before=value(before),
        after=value(after),
    )


def shift(i: str, j: str, k: str) -> Action:
    """SHIFT(i, j, k)."""
    return Action(kind="shift_link", target={"i": i, "j": j, "k": k})


def start(system: System, *steps: Iterable[Action], actor: Any = None, **values: Any) -> Execution:
    """An execution of these steps."""
    return execution_start(
        system=system,
        actor=actor,
        subject_id=values.pop("subject_id", None) or uuid.uuid4(),
        subject_name="P-7",
        subject_title="Spring tide",
        steps=[Step(actions=tuple(step)) for step in steps],
        **{"pace_s": 0.0, "max_parallel": 8, **values},
    )


class Loop:
    """An event loop in a thread of its own, in which the whole web application answers."""

    def __init__(self) -> None:
        from config.asgi import application

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        transport = httpx.ASGITransport(app=application)
        self.client = httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", timeout=30
        )

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start it; the result comes in the future."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T], within_s: float = 20.0) -> T:
        """Start it and wait."""
        return self.begin(work).result(within_s)

    def close(self) -> None:
        """End everything that still waits."""
        from apps.executions.services.pool import pool_close

        async def end() -> None:
            await self.client.aclose()
            waiting = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

        self.run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()
        pool_close()


@dataclass
class FakeAgent:
    """Speaks the protocol as an agent does; what it says is up to the test."""

    loop: Loop
    broker: str
    credential: str
    incarnation: int = 0
    seen: str = ""
    gates: dict[str, Any] = field(default_factory=dict)
    buckets: dict[str, Any] = field(default_factory=dict)
    publishers: dict[str, str] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    ingress: dict[str, str] = field(default_factory=dict)
    served: dict[str, str] = field(default_factory=dict)
    document: Document | None = None
    sequence: int = 0
    obeyed: int = 0
    """The largest number of a document that it has obeyed."""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.credential}"}

    def post(self, what: str, body: Any) -> httpx.Response:
        """POST to the agent's own addresses."""
        return self.loop.run(
            self.loop.client.post(f"/agent/v1/{what}", json=body, headers=self.headers)
        )

    def come(self) -> "FakeAgent":
        """Open a session."""
        answer = self.post(
            "session",
            {
                "agent_version": "1.0",
                "product": "simulated",
                "address": f"sim://{self.broker}",
                "facts": {"version": "2.14"},
                "capabilities": {"burst": True},
                "incarnation": self.incarnation,
                "number": self.obeyed,
            },
        )
        assert answer.status_code == 200, answer.text
        assert answer.json()["broker"] == self.broker
        self.incarnation, self.sequence = answer.json()["incarnation"], 0
        return self

    def asking(self, seen: str | None = None) -> Future[httpx.Response]:
        """A poll under way."""
        query = {
            "incarnation": str(self.incarnation),
            "seen": self.seen if seen is None else seen,
            "number": str(self.obeyed),
        }
        return self.loop.begin(
            self.loop.client.get("/agent/v1/document", params=query, headers=self.headers)
        )

    def poll(self, seen: str | None = None) -> Document:
        """The next document."""
        answer = self.asking(seen).result(25)
        assert answer.status_code == 200, answer.text
        self.document = document_from_dict(answer.json())
        self.seen, self.obeyed = self.document.version, self.document.number
        return self.document

    def poll_now(self) -> Document:
        """The document as it is, seen or not."""
        return self.poll(seen="")

    def say(self, *reports: Mapping[str, Any], **members: Any) -> httpx.Response:
        """Report."""
        self.sequence += 1
        body = {"incarnation": self.incarnation, "sequence": self.sequence}
        return self.post("report", {**body, "reports": list(reports), **members})

    def observed(self, **members: Any) -> dict[str, Any]:
        """What it would see at its broker; `members` besides or instead."""
        return {
            "version": self.seen,
            "number": self.document.number if self.document else 0,
            "gates": self.gates,
            "buckets": self.buckets,
            "publishers": self.publishers,
            "limits": self.limits,
            "ingress": self.ingress,
            "served": self.served,
            "links": sorted(self.document.neighbours) if self.document else [],
            **members,
        }

    def obey(self, **members: Any) -> Document:
        """Take over the document as it is now, and say so; see `observed`."""
        document = self.poll_now()
        self.gates = {
            flow: {"rate_per_s": gate.rate_per_s, "burst": gate.burst}
            for flow, gate in document.gates.items()
        }
        self.buckets = to_dict(document)["buckets"]
        self.publishers = digests_of(document)
        self.limits = {n: c.limit for n, c in document.classes.items() if c.limit is not None}
        self.ingress = {f: spec.delivery for f, spec in document.flows.items() if spec.ingress}
        self.served = {name: spec.flow for name, spec in document.classes.items()}
        assert self.say(observed=self.observed(**members)).status_code == 200
        return document

    def answer(self, phase: str, *interest: str, **members: Any) -> None:
        """Answer every order of the document as it is now."""
        document = self.poll_now()
        assert document.orders, f"{self.broker} has no order"
        reports = [
            {
                "action": order.action,
                "attempt": order.attempt,
                "phase": phase,
                "interest": list(interest),
                **members,
            }
            for order in document.orders
        ]
        assert self.say(*reports).status_code == 200


def enrol(loop: Loop, broker: Broker) -> FakeAgent:
    """An agent with a credential, not yet come."""
    _, secret = agent_enrol(broker=broker, actor=None)
    return FakeAgent(loop=loop, broker=broker.name, credential=secret)


def agent_row(agent: FakeAgent) -> Agent:
    """Its row as it is now."""
    return Agent.objects.select_related("broker", "system").get(broker__name=agent.broker)
