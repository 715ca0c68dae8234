"""The longest names on real brokers: what fits is carried, what does not silences nobody else."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from agent.drivers.base import NameTooLong
from tests.agent.planes import Plane, client, join, stored, stored_count
from tests.nats_server import NatsServer
from weir.coordination.wire import BROKER_BYTES, RELIABLE_FLOW_BYTES, Delivery, FlowSpec, token

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 60
CJK = "\u677f"
LONGEST = CJK * 27 + "abc"
TOO_LONG = LONGEST + "d"
RELIABLE = FlowSpec(delivery=Delivery.RELIABLE)
INGRESS = FlowSpec(delivery=Delivery.RELIABLE, ingress=True)


@pytest.fixture
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[NatsServer]]:
    servers = [NatsServer(tmp_path_factory.mktemp(name)) for name in "ab"]
    for server in servers:
        server.start()
    yield servers
    for server in servers:
        server.stop()


@pytest_asyncio.fixture
async def pair(servers: list[NatsServer]) -> AsyncIterator[list[Plane]]:
    """Two brokers whose names are as long as they may be."""
    names = [CJK * 27 + end for end in ("aaaa", "bbbb")]
    assert [len(token(name)) for name in names] == [BROKER_BYTES] * 2
    planes = [Plane(name, server) for name, server in zip(names, servers, strict=True)]
    for plane in planes:
        await plane.open()
    yield planes
    for plane in planes:
        await plane.close()


async def test_the_longest_names_cross_a_link(pair: list[Plane], servers: list[NatsServer]) -> None:
    assert len(token(LONGEST)) == RELIABLE_FLOW_BYTES
    async with asyncio.timeout(LIMIT_S):
        here, there = pair
        await here.router.flows.ensure_flow(LONGEST, INGRESS)
        await there.router.flows.ensure_flow(LONGEST, RELIABLE)
        for plane, local in ((here, ()), (there, (LONGEST,))):
            await plane.router.know((LONGEST,), None)
            assert await plane.router.flows.set_local(local) == {}
        await join(here, there)
        publisher, reader = await client(servers[0]), await client(servers[1])
        for number in range(20):
            await publisher.jetstream().publish(f"weir.in.{token(LONGEST)}", b"%d" % number)
        while await stored_count(reader, token(LONGEST)) < 20:
            await asyncio.sleep(0.02)
        assert await stored(reader, token(LONGEST)) == [b"%d" % number for number in range(20)]
        await publisher.close()
        await reader.close()


async def test_a_longer_name_silences_no_other_flow(
    pair: list[Plane], servers: list[NatsServer]
) -> None:
    async with asyncio.timeout(LIMIT_S):
        here, _ = pair
        with pytest.raises(NameTooLong, match="takes 247 bytes in the names of streams"):
            await here.router.flows.ensure_flow(TOO_LONG, INGRESS)
        await here.router.flows.ensure_flow(TOO_LONG, RELIABLE)
        await here.router.flows.ensure_flow("rel", INGRESS)
        await here.router.know(("rel", TOO_LONG), ())
        failures = await here.router.flows.set_local({"rel", TOO_LONG})
        assert list(failures) == [TOO_LONG]
        assert here.router.flows.local == {"rel"}
        publisher = await client(servers[0])
        await publisher.jetstream().publish("weir.in.rel", b"1")
        while not await stored_count(publisher, "rel"):
            await asyncio.sleep(0.02)
        assert await stored(publisher, "rel") == [b"1"]
        await publisher.close()
