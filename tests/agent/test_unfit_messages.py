"""Messages that do not fit or cannot be read: refused where the publisher sees it, or set aside and
counted; the flow goes on, and nobody else's connection is lost for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from nats.js.errors import APIError

from agent.drivers.base import Stats
from agent.drivers.nats import wire
from agent.drivers.nats.connection import Connection
from tests.agent.planes import Plane, client, flows, join, listen, stored, stored_count, until
from tests.nats_clients import processed
from tests.nats_server import NatsServer
from weir.coordination.wire import Delivery, FlowSpec

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 60
MOST = 1 << 20
SMALL = 64 << 10
CONFIG = "listen: 127.0.0.1:{port}\nmax_payload: MOST\njetstream { store_dir: {store} }\n"


def config(most: int) -> str:
    return CONFIG.replace("MOST", str(most))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with NatsServer(tmp_path / "a") as server:
        yield server


@pytest.fixture
def small(tmp_path: Path) -> Iterator[NatsServer]:
    with NatsServer(tmp_path / "b", config=config(SMALL)) as server:
        yield server


async def arrives(plane: Plane, here: Any, count: int) -> list[bytes]:
    while await stored_count(here, "rel") < count:
        await asyncio.sleep(0.02)
    return await stored(here, "rel")


async def eventually(plane: Plane, true: Callable[[Stats], bool]) -> Stats:
    while not true(stats := await plane.driver.stats()):
        await asyncio.sleep(0.02)
    return stats


async def dead(here: Any) -> list[Any]:
    js = here.jetstream()
    count = (await js.stream_info("WEIR_DEAD")).state.messages
    return [await js.get_msg("WEIR_DEAD", number) for number in range(1, count + 1)]


@pytest.mark.parametrize("below", [0, 1, 100, 160, 300])
async def test_a_message_without_room_for_weirs_headers_is_refused_or_arrives(server, below):
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server).open()
        await flows(plane, ingress=("rel",), local=("rel",))
        here = await client(server)
        js = here.jetstream()
        await js.publish("weir.in.rel", b"before")
        with pytest.raises(APIError, match="message size exceeds maximum allowed"):
            await js.publish("weir.in.rel", b"x" * (MOST - below))
        await js.publish("weir.in.rel", b"after")
        assert await arrives(plane, here, 2) == [b"before", b"after"]
        await here.close()
        await plane.close()


async def test_the_largest_message_that_is_taken_arrives_over_a_link(tmp_path, server):
    async with asyncio.timeout(LIMIT_S):
        with NatsServer(tmp_path / "other") as other:
            a, b = await Plane("a", server).open(), await Plane("b", other).open()
            await flows(a, ingress=("rel",))
            await flows(b, local=("rel",))
            await join(a, b)
            here, there = await client(server), await client(other)
            largest = (await here.jetstream().stream_info("WEIR_IN_rel")).config.max_msg_size
            for headers in (None, {"Nats-Msg-Id": "m" * 40}):
                room = largest - (len("NATS/1.0\r\nNats-Msg-Id: \r\n\r\n") + 40 if headers else 0)
                await here.jetstream().publish("weir.in.rel", b"x" * room, headers=headers)
            got = await arrives(b, there, 2)
            assert [len(payload) for payload in got] == [largest, largest - 67]
            assert (await b.driver.stats()).lost == {}
            for connection in (here, there):
                await connection.close()
            await a.close()
            await b.close()


async def test_what_the_smallest_broker_on_the_way_does_not_take_is_refused(server):
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server).open()
        spec = FlowSpec(delivery=Delivery.RELIABLE, ingress=True, max_message_bytes=SMALL)
        await plane.router.flows.ensure_flow("rel", spec)
        here = await client(server)
        await here.jetstream().publish("weir.in.rel", b"x" * (SMALL - 1_000))
        with pytest.raises(APIError, match="message size exceeds maximum allowed"):
            await here.jetstream().publish("weir.in.rel", b"x" * SMALL)
        await here.close()
        await plane.close()


async def test_a_stored_message_too_large_for_a_neighbour_is_set_aside_there(server, small):
    async with asyncio.timeout(LIMIT_S):
        a, b = await Plane("a", server).open(), await Plane("b", small).open()
        await flows(a, ingress=("rel",))
        await flows(b, local=("rel",))
        await join(a, b)
        here, there = await client(server), await client(small)
        large = b"x" * 200_000
        for payload in (b"1", large, b"2"):
            await here.jetstream().publish("weir.in.rel", payload)
        assert await arrives(b, there, 2) == [b"1", b"2"]
        stats = await b.driver.stats()
        assert stats.lost == {"rel": {"too_large": 1}}
        (said,) = stats.problems
        assert "flow rel: message 2 of a-" in said
        assert "WEIR_DEAD" in said
        # Nothing of it is gone.
        pieces = await dead(there)
        whole = b"".join(piece.data for piece in pieces)
        assert whole.endswith(large)
        assert [piece.headers["Weir-Piece"] for piece in pieces] == ["1/4", "2/4", "3/4", "4/4"]
        for connection in (here, there):
            await connection.close()
        await a.close()
        await b.close()


async def test_a_limit_that_falls_under_what_is_stored_stops_nothing(tmp_path):
    async with asyncio.timeout(LIMIT_S):
        with NatsServer(tmp_path / "a", config=config(MOST)) as server:
            plane = await Plane("a", server).open()
            await flows(plane, ingress=("rel",), local=("rel",))
            await plane.close()
            here = await client(server)
            for payload in (b"1", b"x" * 900_000, b"2"):
                await here.jetstream().publish("weir.in.rel", payload)
            await here.close()
            server.stop()
            server._config = config(SMALL)
            server.start()
            plane = await Plane("a", server).open()
            await flows(plane, ingress=("rel",), local=("rel",))
            here = await client(server)
            got = await arrives(plane, here, 2)
            assert got == [b"1", b"2"]
            assert (await plane.driver.stats()).lost == {"rel": {"too_large": 1}}
            await here.close()
            await plane.close()


async def test_a_best_effort_message_too_large_is_lost_alone_and_counted(server, small):
    async with asyncio.timeout(LIMIT_S):
        a, b = await Plane("a", server).open(), await Plane("b", small).open()
        await flows(a, ingress=("core",))
        await flows(b, local=("core",))
        await join(a, b)
        await until(lambda: "core" in a.router.tables.interest["b"], "wanted")
        here, there = await client(server), await client(small)
        got = await listen(there, "core")
        connection = b.driver._own.current
        for payload in (b"1", b"x" * 200_000, b"2", b"x" * (SMALL + 1), b"3"):
            await here.publish("weir.in.core", payload)
        await processed(here)
        await until(lambda: len(got) == 3, "the small ones")
        assert got == [b"1", b"2", b"3"]
        assert (await b.driver.stats()).lost == {"core": {"too_large": 2}}
        assert b.driver._own.current is connection
        for one in (here, there):
            await one.close()
        await a.close()
        await b.close()


LOOKS_LIKE_A_STATUS = b"NATS/1.0 503 no responders\r\n\r\n"
ODD = {
    "a heartbeat": b"NATS/1.0 100 Idle Heartbeat\r\n\r\n",
    "no responders": LOOKS_LIKE_A_STATUS,
    "the end of a pull": b"NATS/1.0 408 Timeout\r\nNats-Pending-Messages: 9\r\n\r\n",
    "no headers at all": b"\xff\x00garbage",
    "lines without a name": b"NATS/1.0\r\nnothing\r\n:\r\n: x\r\n\r\n",
    "another's position": b"NATS/1.0\r\nWeir-Position: 999999999\r\nWeir-Id: mine\r\n\r\n",
    "orders to the server": b"NATS/1.0\r\nNats-Trace-Dest: x\r\nNats-Required-Api-Level: 0\r\n\r\n",
    "no text": b"NATS/1.0\r\nA: \xff\xfe\x00\r\n\r\n",
}


async def _store(connection: Connection, header: bytes, payload: bytes) -> None:
    frame = await connection.request("weir.in.rel", payload, header=header)
    assert b"error" not in frame[3], frame[3]


@pytest.mark.parametrize("header", ODD.values(), ids=ODD.keys())
async def test_whatever_headers_a_publisher_sends_its_message_arrives_and_the_next(
    tmp_path, server, header
):
    async with asyncio.timeout(LIMIT_S):
        with NatsServer(tmp_path / "other") as other:
            a, b = await Plane("a", server).open(), await Plane("b", other).open()
            await flows(a, ingress=("rel",))
            await flows(b, local=("rel",))
            await join(a, b)
            publisher = await Connection.open(server.url, name="publisher")
            there = await client(other)
            await _store(publisher, header, b"odd")
            await _store(publisher, b"", b"")
            await _store(publisher, b"", b"last")
            assert await arrives(b, there, 3) == [b"odd", b"", b"last"]
            publisher.close()
            await there.close()
            await a.close()
            await b.close()


async def test_headers_that_leave_no_room_for_weirs_are_set_aside(server):
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server).open()
        await flows(plane, ingress=("rel",), local=("rel",))
        publisher = await Connection.open(server.url, name="publisher")
        here = await client(server)
        full = b"NATS/1.0\r\nA: " + b"x" * (65_535 - 17) + b"\r\n\r\n"
        for header, payload in ((b"", b"1"), (full, b"full"), (b"", b"2")):
            await _store(publisher, header, payload)
        assert await arrives(plane, here, 2) == [b"1", b"2"]
        assert (await plane.driver.stats()).lost == {"rel": {"too_large": 1}}
        publisher.close()
        await here.close()
        await plane.close()


async def test_what_somebody_else_writes_into_an_outbox_is_set_aside(tmp_path, server):
    async with asyncio.timeout(LIMIT_S):
        with NatsServer(tmp_path / "other") as other:
            a, b = await Plane("a", server).open(), await Plane("b", other).open()
            await flows(a, ingress=("rel",))
            await flows(b, local=("rel",))
            await join(a, b)
            somebody = await Connection.open(server.url, name="somebody")
            there = await client(other)
            header = wire.header_block({b"Weir-Position": b"-1"})
            for strange in (b"", header, wire.header_block({b"Weir-Position": b""})):
                await somebody.request("weir.to.b.rel.x", b"strange", header=strange)
            await _store(somebody, b"", b"mine")
            assert await arrives(b, there, 1) == [b"mine"]
            stats = await eventually(b, lambda stats: bool(stats.lost))
            assert stats.lost == {"": {"unreadable": 3}}
            assert "weir.to.b.rel.x" in stats.problems[0]
            somebody.close()
            await there.close()
            await a.close()
            await b.close()
