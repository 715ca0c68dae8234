"""The client for publishers beside real agents that move them: nothing is lost, the order stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio

from tests.agent.planes import until
from tests.agent.stand import FLOWS, Stand
from weir.coordination.wire import Delivery, Gate
from weir_client.publisher import NoIngress, Publisher

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 120
GATE = Gate(rate_per_s=60.0, burst=2.0)


@pytest_asyncio.fixture
async def stand(tmp_path: Path) -> AsyncIterator[Stand]:
    stand = Stand(tmp_path)
    try:
        await stand.start()
        yield stand
    finally:
        await stand.stop()


async def connected(stand: Stand, at: str = "a") -> Publisher:
    broker = stand.brokers[at]
    return await Publisher.connect(broker.url, name="p", key=broker.secrets.client_key)


class Sending:
    """Numbers of a flow, published one after the other or many at once until it is enough."""

    def __init__(self, feed: Publisher, flow: str, *, at_once: int = 1) -> None:
        self.flow, self.number = flow, 0
        self._feed, self._at_once = feed, at_once
        self._enough = asyncio.Event()
        self._task = asyncio.create_task(self._send())

    async def _send(self) -> None:
        reliable = FLOWS[self.flow] is Delivery.RELIABLE
        while not self._enough.is_set():
            numbers = range(self.number, self.number + self._at_once)
            sending = (self._feed.publish(self.flow, b"%d" % n, reliable=reliable) for n in numbers)
            await asyncio.gather(*sending)
            self.number += self._at_once
            await asyncio.sleep(0.01 * self._at_once)

    async def reach(self, number: int) -> None:
        await until(lambda: self.number >= number or self._task.done(), f"{number} are published")

    async def finish(self) -> None:
        self._enough.set()
        await self._task


async def connections(stand: Stand) -> dict[str, int]:
    """Broker -> the publisher's connections that its agent knows."""
    return {
        name: sum(
            each.name == "p" for each in agent.driver._admission.publishers._connections.values()
        )
        for name, agent in stand.agents.items()
    }


@pytest.mark.parametrize("at_once", [1, 40])
@pytest.mark.parametrize("flow", FLOWS)
async def test_whoever_is_moved_there_and_back_keeps_the_order_and_loses_nothing(
    stand: Stand, flow: str, at_once: int
) -> None:
    async with asyncio.timeout(LIMIT_S):
        stand.gates["a"] = {flow: GATE}
        stand.assign(flow, a=("p",), c=())
        await stand.in_force("a", flow, "p")
        async with await connected(stand) as feed:
            sending = Sending(feed, flow, at_once=at_once)
            await sending.reach(50)
            await stand.move(flow, "p")
            await sending.reach(sending.number + 50)
            assert (await connections(stand))["a"] == 0
            stand.assign(flow, a=(), c=())
            await stand.in_force("c", flow)
            stand.assign(flow, a=("p",), c=())
            await sending.reach(sending.number + 50)
            await sending.finish()
        for broker in "bc":
            got = await stand.got(broker, flow, sending.number)
            assert got == list(range(sending.number)), broker


async def test_one_of_two_flows_is_moved_and_the_other_goes_on(stand: Stand) -> None:
    async with asyncio.timeout(LIMIT_S):
        stand.assign("rel", a=("p",), c=())
        await stand.in_force("a", "rel", "p")
        async with await connected(stand) as feed:
            moved, other = Sending(feed, "rel", at_once=10), Sending(feed, "core")
            await moved.reach(30)
            await stand.move("rel", "p")
            await moved.reach(moved.number + 30)
            await other.reach(other.number + 30)
            assert await connections(stand) == {"a": 1, "b": 0, "c": 1}
            for each in (moved, other):
                await each.finish()
        assert await stand.got("c", "rel", moved.number) == list(range(moved.number))
        assert await stand.got("c", "core", other.number) == list(range(other.number))


@pytest.mark.parametrize("part", ["agent", "broker"])
async def test_it_goes_on_when_its_agent_or_broker_dies_while_it_is_moved(
    stand: Stand, part: str
) -> None:
    async with asyncio.timeout(LIMIT_S):
        stand.assign("rel", a=("p",), c=())
        await stand.in_force("a", "rel", "p")
        async with await connected(stand) as feed:
            sending = Sending(feed, "rel", at_once=10)
            await sending.reach(50)
            stand.assign("rel", a=(), c=())
            await asyncio.sleep(0.05)
            if part == "agent":
                await stand.agents["a"].kill()
                await asyncio.sleep(0.3)
                await stand.agents["a"].again()
            else:
                stand.brokers["a"].kill()
                await asyncio.sleep(0.3)
                stand.brokers["a"].start()
            await stand.in_force("a", "rel")
            stand.assign("rel", a=(), c=("p",))
            await sending.reach(sending.number + 50)
            await sending.finish()
        got = await stand.got("c", "rel", sending.number)
        # What was stored at a and not acknowledged came a second time, from c.
        first = list(dict.fromkeys(got))
        assert first == list(range(sending.number))
        assert len(got) - len(first) <= 10


async def test_whoever_no_list_names_is_let_in_when_one_does(stand: Stand) -> None:
    async with asyncio.timeout(LIMIT_S):
        stand.assign("rel", a=("q",), c=())
        await stand.in_force("a", "rel", "q")
        async with await connected(stand) as feed:
            with pytest.raises(NoIngress):
                await feed.publish("rel", b"0", reliable=True, timeout_s=1.0)
            with suppress(NoIngress):
                await feed.publish("nowhere", b"0", reliable=True, timeout_s=0.3)
            waiting = asyncio.create_task(feed.publish("rel", b"1", reliable=True))
            await asyncio.sleep(0.2)
            stand.assign("rel", a=("p", "q"), c=())
            await waiting
        assert await stand.got("c", "rel", 1) == [1]
