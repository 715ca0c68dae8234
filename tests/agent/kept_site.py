"""A broker that keeps reliable flows on streams, with publishers and readers of those."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import nats.errors

from agent.drivers.base import Fenced, Stats
from agent.drivers.nats import course_records, jetstream, kept_hand_over, wire
from agent.drivers.nats.connection import Connection
from agent.enforcement import Enforcer
from agent.tasks import end
from tests.agent.brokers import Broker
from tests.agent.planes import Plane, until
from tests.agent.publishing import log_in
from weir.coordination.wire import (
    ClassSpec,
    Delivery,
    Document,
    FlowSpec,
    HandOver,
    HandOverPhase,
    StreamPlace,
    token,
)
from weir_client import subjects
from weir_client.frames import Place
from weir_client.keeping import Signal, signal_from_bytes
from weir_client.reliable import KEPT, Lost, ReliableSubscriber

FLOWS = tuple(f"orders.{number}" for number in range(6))
PASSING = "quotes"
STREAMS = tuple(StreamPlace(group=g, stream=10 * g + s) for g in range(2) for s in range(2))


class Site:
    """A broker with its agent's enforcement, which documents of a test map flows at."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.places: dict[str, StreamPlace] = {}
        self.classes: dict[str, ClassSpec] = {}
        self.number = 0

    async def open(self) -> Site:
        self.plane = await Plane("a", self.broker, secrets=self.broker.secrets).open()
        self.enforcer = Enforcer(driver=self.plane.driver, router=self.plane.router, busy=frozenset)
        return self

    async def close(self) -> None:
        await self.plane.close()

    async def kill(self) -> None:
        """End the agent where it is: nothing that it has begun is completed."""
        await self.plane.router.close()
        self.plane.driver._server.session.end(Fenced("killed", incarnation=1))
        await self.plane.driver.close()

    async def map(self, places: Mapping[str, StreamPlace], *more: str) -> None:
        self.places = dict(places)
        self.number += 1
        flows = {
            flow: FlowSpec(ingress=flow not in more, delivery=Delivery.RELIABLE, keep_s=3_600)
            for flow in (*FLOWS, *more)
        }
        document = Document(
            system="s",
            broker="a",
            version=f"v{self.number}",
            number=self.number,
            flows={**flows, PASSING: FlowSpec(ingress=True)},
            classes=self.classes,
            places=self.places,
        )
        assert await self.enforcer.apply(document, current=lambda: True)

    async def move(self, *flows: str, to: StreamPlace) -> None:
        await self.map({**self.places, **dict.fromkeys(flows, to)})

    def hand_overs(self) -> Mapping[str, HandOver]:
        observed = self.enforcer.observed(Stats())
        assert observed.number == self.number
        assert observed.hand_overs is not None
        return observed.hand_overs

    def settled(self) -> bool:
        return all(
            each.phase is HandOverPhase.DONE and each.next is None
            for each in self.hand_overs().values()
        )

    async def settle(self) -> None:
        await until(self.settled, "hand-overs are under way", 30)


class Desk:
    """A reader that keeps what it receives, over its restarts."""

    def __init__(self, broker: Broker, name: str, *flows: str, start: str = KEPT) -> None:
        self.broker, self.name, self.flows, self.start = broker, name, flows, start
        self.numbers: dict[str, list[int]] = defaultdict(list)
        self.lost: list[Lost] = []

    async def open(self) -> Desk:
        self.reader = await asyncio.wait_for(
            ReliableSubscriber.connect(
                self.broker.url, name=self.name, key=self.broker.secrets.client_key
            ),
            30,
        )
        await self.reader.want(*self.flows, start=self.start)
        self._task = asyncio.create_task(self._read())
        return self

    async def _read(self) -> None:
        async for each in self.reader.messages():
            if isinstance(each, Lost):
                self.lost.append(each)
                continue
            self.numbers[each.flow].append(int(each.payload))

    async def close(self) -> None:
        await end(self._task)
        await self.reader.close()

    async def kill(self) -> None:
        """End it as a crash would: no acknowledgement is flushed."""
        self._task.cancel()
        self.reader._client.options["allow_reconnect"] = False
        self.reader._client._transport._io_writer.transport.abort()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.reader.close()


class Publisher:
    """A publisher that sends numbers of all flows, each until it is acknowledged."""

    def __init__(self, client: Any) -> None:
        self.sent: dict[str, int] = dict.fromkeys(FLOWS, 0)
        self._client = client
        self._is_stopped = False
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        js = self._client.jetstream(timeout=5)
        while not self._is_stopped:
            for flow in FLOWS:
                number = self.sent[flow]
                await js.publish(
                    f"weir.in.{subjects.token(flow)}",
                    b"%d" % number,
                    headers={"Nats-Msg-Id": f"{id(self)} {flow} {number}"},
                )
                self.sent[flow] += 1
            await asyncio.sleep(0.002)

    async def stop(self) -> None:
        """Return once all that was sent is acknowledged, and counted."""
        self._is_stopped = True
        await self._task
        await self._client.close()


async def received(desk: Desk, flow: str, count: int) -> None:
    """Wait until a reader has so many numbers of a flow, all in order and each once."""
    try:
        await until(lambda: len(desk.numbers[flow]) >= count, f"{desk.name} {flow}", 30)
    except AssertionError:
        follow, numbers = desk.reader._following, desk.numbers[flow]
        raise AssertionError(
            f"{flow}: {len(numbers)} of {count}, without {sorted(set(range(count)) - set(numbers))}"
            f"; {follow}; held {desk.reader._held}; broken {desk.reader._streams.broken()}"
        ) from None
    assert desk.numbers[flow] == list(range(len(desk.numbers[flow])))


class Kept(NamedTuple):
    """A message of a kept stream."""

    number: int
    flow: str
    content: Signal | bytes


async def connection_of(site: Site) -> Connection:
    return await site.plane.driver._own.connection()


async def kept(site: Site, at: StreamPlace, flow: str) -> list[Kept]:
    """What a stream holds of a flow."""
    place = Place(at.group, at.stream)
    every = []
    subject = f"{subjects.kept_subject(place)}.{token(flow)}.*"
    connection = await connection_of(site)
    async for frames in jetstream.messages_of(connection, subjects.kept_stream(place), subject):
        for _, _, header, payload in frames:
            is_signal = wire.header_value(header, b"Nats-Subject").endswith(b".!")
            content = signal_from_bytes(payload) if is_signal else payload
            if not wire.header_value(header, kept_hand_over.MEMORY):
                every.append(Kept(int(wire.header_value(header, b"Nats-Sequence")), flow, content))
    return every


async def contents(site: Site, at: StreamPlace, flow: str) -> list[Any]:
    """What a stream holds of a flow: kinds of signals, and payloads."""
    return [
        each.content.kind if isinstance(each.content, Signal) else each.content
        for each in await kept(site, at, flow)
    ]


async def record_of(site: Site, flow: str) -> course_records.Recorded:
    return await course_records.read(await connection_of(site), flow)


async def problems(site: Site) -> tuple[str, ...]:
    return (await site.plane.driver.stats()).problems


class Sender:
    """Publishes single numbers of flows; each is acknowledged by the broker."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._js = client.jetstream(timeout=5)

    async def send(self, number: int, *flows: str) -> None:
        for flow in flows:
            await self._js.publish(f"weir.in.{subjects.token(flow)}", b"%d" % number)

    async def close(self) -> None:
        await self._client.close()


async def log_in_again(broker: Broker) -> Any:
    """A publisher's connection to a broker that has just started: its agent has to be back."""
    while True:
        try:
            return await log_in(broker, "p")
        except (nats.errors.Error, OSError, TimeoutError):
            await asyncio.sleep(0.1)
