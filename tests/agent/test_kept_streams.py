"""Reliable mapped flows at a real broker: readers follow them, whoever is killed meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import nats
import nats.errors
import pytest
import pytest_asyncio

from agent.drivers.base import Fenced, Stats
from agent.drivers.nats.server_config import BrokerSecrets
from agent.enforcement import Enforcer
from tests.agent.brokers import Broker
from tests.agent.planes import Plane, until
from tests.agent.publishing import log_in
from tests.suites import effort
from weir.coordination.wire import (
    Delivery,
    Document,
    FlowSpec,
    HandOver,
    HandOverPhase,
    StreamPlace,
)
from weir_client import subjects
from weir_client.frames import Place
from weir_client.reliable import KEPT, Lost, Message, ReliableSubscriber, Superseded
from weir_client.subscriber import SUBSCRIBER_USER

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

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

    async def map(self, places: Mapping[str, StreamPlace]) -> None:
        self.places = dict(places)
        self.number += 1
        flows = {
            flow: FlowSpec(ingress=True, delivery=Delivery.RELIABLE, keep_s=3_600) for flow in FLOWS
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
        self.repeated = 0
        self.in_hand: Message | None = None

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
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
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
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        js = self._client.jetstream(timeout=5)
        while True:
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
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._client.close()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker("a", tmp_path / "a", BrokerSecrets.generate())
    broker.start()
    yield broker
    broker.kill()


@pytest_asyncio.fixture
async def site(broker: Broker) -> AsyncIterator[Site]:
    site = await Site(broker).open()
    await site.map({**dict.fromkeys(FLOWS, STREAMS[0]), PASSING: STREAMS[0]})
    await site.settle()
    yield site
    await site.close()


async def received(desk: Desk, flow: str, count: int) -> None:
    """Wait until a reader has so many numbers of a flow, all in order and each once."""
    try:
        await until(lambda: len(desk.numbers[flow]) >= count, f"{desk.name} {flow}", 30)
    except AssertionError:
        follow = desk.reader._following
        raise AssertionError(
            f"{flow}: {len(desk.numbers[flow])} of {count}; {follow}; held {desk.reader._held}; "
            f"{[(p, r.is_broken, len(r.waiting)) for p, r in desk.reader._open.items()]}"
        ) from None
    assert desk.numbers[flow] == list(range(len(desk.numbers[flow])))


async def test_flows_move_under_load_and_every_message_comes_once_in_order(site: Site) -> None:
    pick = random.Random(3)
    desks = [await Desk(site.broker, f"desk-{n}", *FLOWS[n : n + 4]).open() for n in range(3)]
    publisher = Publisher(await log_in(site.broker, "p"))
    for turn in effort(range(25), range(200)):
        await site.move(*pick.sample(FLOWS, 3), to=pick.choice(STREAMS))
        if pick.random() < 0.5:
            await site.settle()
            assert all(each.took_s is not None for each in site.hand_overs().values())
        if turn % 8 == 3:
            victim = pick.choice(desks)
            await victim.close()
            await site.move(*pick.sample(FLOWS, 3), to=pick.choice(STREAMS))
            await victim.open()
    await site.settle()
    await publisher.stop()
    for desk in desks:
        for flow in desk.flows:
            await received(desk, flow, publisher.sent[flow])
        assert not desk.lost
        assert set(desk.numbers) == set(desk.flows)
        await desk.close()
