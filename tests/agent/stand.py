"""Three brokers in a row with agents that enforce documents, without a control plane."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nats
import nats.errors

from agent.drivers.base import Channel, Message, Place, Stats
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.link_access import LinkKey
from agent.drivers.nats.server_config import BrokerSecrets
from agent.enforcement import Enforcer
from agent.tasks import end
from tests.agent.brokers import Broker
from tests.agent.planes import Plane, TimedDriver, listen, stored, until
from tests.agent.publishing import log_in
from weir.coordination.tables import Tables
from weir.coordination.wire import (
    ClassSpec,
    Delivery,
    Document,
    FlowSpec,
    Gate,
    Neighbour,
    Publishers,
    publishers_digest,
)

LINKS = {"a": "b", "b": "ac", "c": "b"}
"""Messages from a reach the consumers at c over b."""
FLOWS = {"core": Delivery.BEST_EFFORT, "rel": Delivery.RELIABLE}


class Slow(TimedDriver):
    """Takes its time with what it appends to outboxes; the order stays."""

    slow_s = 0.0

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        if channel.place is Place.OUTBOX and self.slow_s:
            await asyncio.sleep(self.slow_s)
        await super().publish(channel, messages)


class Agent:
    """An agent that enforces one document after the other, without a control plane."""

    def __init__(self, broker: Broker, stand: Stand, tables: Tables | None = None) -> None:
        self.name, self.broker, self.stand = broker.name, broker, stand
        self.plane = Plane(
            broker.name,
            broker,
            tables=Tables() if tables is None else tables,
            secrets=broker.secrets,
            driver=Slow,
        )
        self.document: Document | None = None
        self.news = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def driver(self) -> NatsDriver:
        return self.plane.driver

    async def start(self) -> Agent:
        def changed() -> None:
            self.news += 1

        await self.driver.open()
        self.enforcer = Enforcer(
            driver=self.driver, router=self.plane.router, busy=frozenset, changed=changed
        )
        await self.driver.trust(
            {n: LinkKey(b.secrets.link_seed).public for n, b in self.stand.brokers.items()}
        )
        if self.document is not None:  # from the disk, before anything moves
            await self.enforcer.apply(self.document, current=lambda: False)
        self.plane.router.start()
        self._task = asyncio.create_task(self._enforce())
        return self

    async def _enforce(self) -> None:
        while True:
            if self.document is not None:
                await self.enforcer.apply(self.document, current=lambda: True)
            await asyncio.sleep(0.1)

    @property
    def observed(self) -> Mapping[str, str]:
        return self.enforcer.observed(Stats()).publishers

    @property
    def problems(self) -> str:
        return "\n".join(self.enforcer.observed(Stats()).problems)

    async def kill(self) -> None:
        """What is on its way stays where it is."""
        if self._task is not None:
            await end(self._task)
            self._task = None
            await self.plane.close()

    async def again(self) -> Agent:
        """Another process of the same agent, with its state directory."""
        other = Agent(self.broker, self.stand, self.plane.saved)
        other.document = self.document
        self.stand.agents[self.name] = other
        return await other.start()


class Stand:
    """Brokers a - b - c with agents; consumers of both flows at b and c."""

    def __init__(self, directory: Path) -> None:
        shared = BrokerSecrets.generate().client_key
        self.brokers = {
            name: Broker(name, directory / name, BrokerSecrets.generate(client_key=shared))
            for name in LINKS
        }
        self.agents: dict[str, Agent] = {}
        self.lists: dict[str, dict[str, Publishers]] = {name: {} for name in LINKS}
        self.gates: dict[str, dict[str, Gate]] = {name: {} for name in LINKS}
        self.entering = {"a", "c"}
        self.clients: list[Any] = []
        self.best_effort: dict[str, list[bytes]] = {}
        self._readers: dict[str, Any] = {}
        self._version = 0

    async def start(self) -> None:
        for broker in self.brokers.values():
            broker.start()
        for name, broker in self.brokers.items():
            self.agents[name] = await Agent(broker, self).start()
        self.say()
        for name in "bc":
            broker = self.brokers[name]
            self._readers[name] = await nats.connect(
                broker.url,
                user="agent",
                password=broker.secrets.agent_password,
                inbox_prefix="_WEIR.agent",
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.1,
            )
            self.best_effort[name] = await listen(self._readers[name], "core")
        await until(
            lambda: (
                all(
                    set(FLOWS) <= agent.plane.router.tables.interest.get(n, frozenset())
                    for name, agent in self.agents.items()
                    for n in LINKS[name]
                    if n != "a"
                )
                and all(a.plane.router.ready for a in self.agents.values())
            ),
            "everybody knows what the others want",
        )

    def say(self) -> None:
        """Write a document for everybody."""
        self._version += 1
        for name, agent in self.agents.items():
            classes = {f"k-{flow}": ClassSpec(flow=flow) for flow in FLOWS}
            agent.document = Document(
                system="s",
                broker=name,
                version=f"{self._version}",
                number=self._version,
                flows={
                    flow: FlowSpec(delivery=delivery, ingress=name in self.entering)
                    for flow, delivery in FLOWS.items()
                },
                gates=self.gates[name],
                publishers=self.lists[name],
                classes=classes if name != "a" else {},
                neighbours={n: Neighbour(address=self.brokers[n].url) for n in LINKS[name]},
            )

    def assign(self, flow: str, **here: Sequence[str]) -> None:
        """Let each broker let these in; the others are told where they belong."""
        for broker, names in here.items():
            others = {name: tuple(n) for name, n in here.items() if name != broker}
            self.lists[broker] = {
                **self.lists[broker],
                flow: Publishers(
                    here=tuple(sorted(names)),
                    elsewhere=others,
                    addresses={name: self.brokers[name].url for name in others},
                    next=tuple(sorted(others)),
                ),
            }
        self.say()

    async def in_force(self, broker: str, flow: str, *names: str) -> None:
        wanted = publishers_digest(names)
        await until(
            lambda: self.agents[broker].observed.get(flow) == wanted,
            f"{names} at {broker}: {self.agents[broker].problems}",
        )

    async def move(self, flow: str, name: str) -> None:
        """From a to c, as an execution does: released first, then let in."""
        self.assign(flow, a=(), c=())
        await self.in_force("a", flow)
        self.assign(flow, a=(), c=(name,))
        await self.in_force("c", flow, name)

    async def got(self, broker: str, flow: str, count: int) -> list[int]:
        """What consumers get: all of it, and no more."""
        if FLOWS[flow] is Delivery.BEST_EFFORT:
            got = self.best_effort[broker]
            with contextlib.suppress(AssertionError):
                await until(lambda: len(got) >= count, "all", 20)
            return [int(number) for number in got]
        reader = self._readers[broker]
        numbers: list[int] = []
        async with asyncio.timeout(60):
            while len(numbers) < count:
                await asyncio.sleep(0.1)
                numbers = [int(number) for number in await stored(reader, flow)]
        return numbers

    async def client(self, broker: str, name: str, **more: Any) -> Any:
        client = await log_in(self.brokers[broker], name, **more)
        self.clients.append(client)
        return client

    async def stop(self) -> None:
        for client in (*self.clients, *self._readers.values()):
            with contextlib.suppress(Exception):
                await asyncio.wait_for(client.close(), 2)
        for agent in self.agents.values():
            await agent.kill()
        for broker in self.brokers.values():
            broker.kill()
