"""A broker that comes up with an older disk: nothing new is taken for old, nothing old for new.

Two brokers with one link; publishers at a, consumers at b. A server is stopped, a part
of its store is put back to what it was, and it is started again.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import nats
import pytest
import pytest_asyncio

from agent.drivers.base import DriverError
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.link_access import LinkKey
from agent.drivers.nats.server_config import BrokerSecrets
from tests.agent.brokers import Broker
from tests.agent.planes import NO_LINKS, Plane, flows, join, stored, stored_count

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 90
NOT_THERE_YET = nats.js.errors.ServiceUnavailableError, nats.js.errors.NoStreamResponseError
"""What a server that has just come up says of a stream: nothing was stored."""
STREAMS = "jetstream/WEIR/streams"
WHOLE = "."
INGRESS = f"{STREAMS}/WEIR_IN_rel"
OUTBOX = f"{STREAMS}/WEIR_TO_b"
DELIVERY = f"{STREAMS}/WEIR_MSG_rel"
INTEREST = f"{STREAMS}/WEIR_INTEREST"


class Disks:
    """Two brokers whose stores can be put back."""

    def __init__(self, directory: Path) -> None:
        shared = BrokerSecrets.generate()
        self.brokers = {
            name: Broker(
                name,
                directory / name,
                BrokerSecrets.generate(client_key=shared.client_key),
            )
            for name in "ab"
        }
        for broker in self.brokers.values():
            broker.start()

    def keep(self, name: str) -> None:
        """A copy of the store as it is, of a server that stands still."""
        broker = self.brokers[name]
        broker.kill()
        shutil.copytree(broker.directory / "store", broker.directory / "kept")
        broker.start()

    def put_back(self, name: str, part: str) -> None:
        """The server is stopped, a part of its store is what it was, the server is started."""
        broker = self.brokers[name]
        broker.kill()
        now, kept = broker.directory / "store" / part, broker.directory / "kept" / part
        shutil.rmtree(now)
        if kept.exists():
            shutil.copytree(kept, now)
        broker.start()


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Disks]:
    disks = Disks(tmp_path)
    yield disks
    for broker in disks.brokers.values():
        broker.kill()


class Agents:
    """The data planes of a and b."""

    def __init__(self, disks: Disks) -> None:
        self._disks = disks
        self.planes: dict[str, Plane] = {}

    async def start(self, name: str, *, forget: bool = False) -> None:
        """Begin, or begin again with the tables of before, unless they are lost, too."""
        before = self.planes.get(name)
        if before is not None:
            await before.close()
        tables = NO_LINKS if before is None else None if forget else before.saved
        broker = self._disks.brokers[name]
        plane = Plane(name, broker, tables=tables, secrets=broker.secrets)
        self.planes[name] = await plane.open()
        other = "b" if name == "a" else "a"
        key = LinkKey(self._disks.brokers[other].secrets.link_seed)
        await plane.driver.trust({other: key.public})
        await flows(plane, ingress=("rel",) if name == "a" else (), local=("rel",) * (name == "b"))
        if before is not None:
            await plane.router.add_link(other, self._disks.brokers[other].url)
            await plane.router.know(("core", "rel"), (other,))

    async def close(self) -> None:
        for plane in self.planes.values():
            await plane.close()


@pytest_asyncio.fixture
async def agents(disks: Disks) -> AsyncIterator[Agents]:
    agents = Agents(disks)
    for name in "ab":
        await agents.start(name)
    await join(agents.planes["a"], agents.planes["b"])
    yield agents
    await agents.close()


async def _client(broker: Broker) -> Any:
    return await nats.connect(broker.url, user="agent", password=broker.secrets.agent_password)


async def _publish(broker: Broker, first: int, last: int) -> None:
    """Each is acknowledged."""
    client = await _client(broker)
    for number in range(first, last + 1):
        while True:
            try:
                await client.jetstream().publish("weir.in.rel", b"%d" % number)
            except NOT_THERE_YET:
                await asyncio.sleep(0.05)
            else:
                break
    await client.close()


async def _at_b(disks: Disks, enough: Callable[[int], bool]) -> list[int]:
    """What b's consumers have, once it is enough."""
    client = await _client(disks.brokers["b"])
    while not enough(await stored_count(client, "rel")):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)  # what should not come would come now
    got = [int(payload) for payload in await stored(client, "rel")]
    await client.close()
    return got


async def _settled(disks: Disks) -> None:
    client = await _client(disks.brokers["a"])
    for stream in ("WEIR_IN_rel", "WEIR_TO_b"):
        while (await client.jetstream().stream_info(stream)).state.messages:
            await asyncio.sleep(0.05)
    await client.close()


@pytest.mark.parametrize("agent", ["runs on", "is restarted", "has lost its state"])
@pytest.mark.parametrize("part", [WHOLE, INGRESS, OUTBOX], ids=["whole", "ingress", "outbox"])
async def test_new_messages_after_a_restored_disk_arrive_once(disks, agents, part, agent):
    async with asyncio.timeout(LIMIT_S):
        a = disks.brokers["a"]
        await _publish(a, 1, 50)
        await _at_b(disks, lambda count: count >= 50)
        await _settled(disks)
        disks.keep("a")
        await _publish(a, 51, 200)
        assert await _at_b(disks, lambda count: count >= 200) == list(range(1, 201))
        await _settled(disks)

        disks.put_back("a", part)
        if agent != "runs on":
            await agents.start("a", forget=agent == "has lost its state")
        await _publish(a, 1001, 1100)
        assert await _at_b(disks, lambda count: count >= 300) == [
            *range(1, 201),
            *range(1001, 1101),
        ]


async def test_what_an_old_copy_brings_back_is_known_and_what_is_published_over_it_is_new(
    disks, agents
):
    """The copy holds messages that nobody had settled when it was made."""
    async with asyncio.timeout(LIMIT_S):
        a = disks.brokers["a"]
        await _publish(a, 1, 50)
        await _at_b(disks, lambda count: count >= 50)
        await agents.planes["a"].close()
        await _publish(a, 51, 90)
        disks.keep("a")
        await agents.start("a")
        await _publish(a, 91, 200)
        assert await _at_b(disks, lambda count: count >= 200) == list(range(1, 201))

        await agents.planes["a"].close()
        disks.put_back("a", WHOLE)
        # They get the numbers of 91 to 190, before the agent is there to see it.
        await _publish(a, 1001, 1100)
        await agents.start("a")
        assert await _at_b(disks, lambda count: count >= 300) == [
            *range(1, 201),
            *range(1001, 1101),
        ]


async def test_a_broker_that_is_only_restarted_doubles_nothing(disks, agents):
    async with asyncio.timeout(LIMIT_S):
        a = disks.brokers["a"]
        for start in range(1, 301, 60):
            await _publish(a, start, start + 59)
            a.kill()
            a.start()
            if start == 121:
                await agents.start("a")
        assert await _at_b(disks, lambda count: count >= 300) == list(range(1, 301))


async def test_an_older_word_of_a_neighbour_takes_nothing_away(disks, agents):
    """When the copy was made b wanted nothing yet; since then it has said that it does."""
    async with asyncio.timeout(LIMIT_S):
        a, b = disks.brokers["a"], agents.planes["b"]
        await b.router.flows.set_local(())
        router = agents.planes["a"].router
        while "rel" in router.tables.interest["b"]:
            await asyncio.sleep(0.02)
        disks.keep("a")
        await b.router.flows.set_local(("rel",))
        while "rel" not in router.tables.interest["b"]:
            await asyncio.sleep(0.02)
        await _publish(a, 1, 20)
        await _at_b(disks, lambda count: count >= 20)
        await b.close()  # it cannot say it again

        disks.put_back("a", INTEREST)
        await _publish(a, 21, 100)
        client = await _client(a)
        while (await client.jetstream().stream_info("WEIR_IN_rel")).state.messages:
            await asyncio.sleep(0.05)
        await client.close()
        await agents.start("b")
        assert await _at_b(disks, lambda count: count >= 100) == list(range(1, 101))


async def test_a_restored_delivery_stream_goes_on(disks, agents):
    async with asyncio.timeout(LIMIT_S):
        a = disks.brokers["a"]
        await _publish(a, 1, 50)
        await _at_b(disks, lambda count: count >= 50)
        disks.keep("b")
        await _publish(a, 51, 100)
        await _at_b(disks, lambda count: count >= 100)
        await _settled(disks)
        disks.put_back("b", DELIVERY)
        await _publish(a, 101, 200)
        got = await _at_b(disks, lambda count: count >= 150)
        assert got == [*range(1, 51), *range(101, 201)]


@pytest.mark.parametrize("kept", [False, True], ids=["lost", "older"])
async def test_a_broker_is_told_again_how_far_the_state_directory_has_come(disks, kept):
    """Else an older copy of the directory would not be known for one, months later."""
    broker = disks.brokers["a"]
    driver = NatsDriver(url=broker.url, broker="a", secrets=broker.secrets)
    async with asyncio.timeout(LIMIT_S):
        try:
            await driver.open()
            await driver.fence(1)
            await driver.note_state(7)
            if kept:
                disks.keep("a")
                await _told(lambda: driver.note_state(9))
            noted = await _told(driver.noted_state)
            disks.put_back("a", WHOLE)
            while await _told(driver.noted_state) != noted:
                await asyncio.sleep(0.1)
        finally:
            await driver.close()


async def _told(ask: Callable[[], Awaitable[Any]]) -> Any:
    """What a driver answers once its broker is back."""
    while True:
        with contextlib.suppress(DriverError):
            return await ask()
        await asyncio.sleep(0.1)
