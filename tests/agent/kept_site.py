"""A broker that keeps reliable flows on streams, with publishers and readers of those."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from agent.drivers.base import Fenced, Stats
from agent.enforcement import Enforcer
from agent.tasks import end
from tests.agent.brokers import Broker
from tests.agent.planes import Plane, until
from weir.coordination.wire import (
    Delivery,
    Document,
    FlowSpec,
    HandOver,
    HandOverPhase,
    StreamPlace,
)
from weir_client import subjects
from weir_client.reliable import KEPT, Lost, ReliableSubscriber

FLOWS = tuple(f"orders.{number}" for number in range(6))
PASSING = "quotes"
STREAMS = tuple(StreamPlace(group=g, stream=10 * g + s) for g in range(2) for s in range(2))


class Site:
    """A broker with its agent's enforcement, which documents of a test map flows at."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.places: dict[str, StreamPlace] = {}
        self.number = 0

    async def open(self) -> Site:
        self.plane = await Plane(
            "a", self.broker, secrets=self.broker.secrets, reliable_streams=True
        ).open()
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
        follow = desk.reader._following
        raise AssertionError(
            f"{flow}: {len(desk.numbers[flow])} of {count}; {follow}; held {desk.reader._held}; "
            f"broken {desk.reader._streams.broken()}"
        ) from None
    assert desk.numbers[flow] == list(range(len(desk.numbers[flow])))
