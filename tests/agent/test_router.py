"""Forwarding on real brokers: by interest, in order, once, never before it is known where to."""

import asyncio
from collections.abc import Iterator

import nats.js.errors
import pytest
import pytest_asyncio

from agent.drivers.nats import stream_reader, streams
from tests.agent.planes import Plane, client, flows, join, listen, stored, stored_count, until
from tests.nats_server import NatsServer
from weir.coordination.tables import Tables

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 60.0
NAMES = ("a", "b.1", "c")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[NatsServer]]:
    servers = [NatsServer(tmp_path_factory.mktemp(name)) for name in "abc"]
    for server in servers:
        server.start()
    yield servers
    for server in servers:
        server.stop()


@pytest_asyncio.fixture
async def line(servers: list[NatsServer]):
    """a - b - c; both flows come in at a, consumers are at c."""
    planes = [Plane(name, server) for name, server in zip(NAMES, servers, strict=True)]
    for server in servers:
        await _wipe(server)
    for plane in planes:
        await plane.open()
    a, b, c = planes
    await flows(a, ingress=("core", "rel"))
    await flows(b)
    await flows(c, local=("core", "rel"))
    await join(a, b)
    await join(b, c)
    await until(lambda: a.router.tables.interest.get("b.1") == {"core", "rel"}, "interest")
    yield planes
    for plane in planes:
        await plane.close()


async def _wipe(server: NatsServer) -> None:
    connection = await client(server)
    js = connection.jetstream()
    for stream in await js.streams_info():
        await js.delete_stream(stream.config.name)
    await connection.close()


async def _publish(connection, flow: str, first: int, last: int) -> None:
    js = connection.jetstream()
    for number in range(first, last + 1):
        await js.publish(f"weir.in.{flow}", b"%d" % number)


def _numbers(first: int, last: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, last + 1)]


async def test_both_classes_reach_consumers_two_links_away(line, servers):
    async with asyncio.timeout(LIMIT_S):
        here, there = await client(servers[0]), await client(servers[2])
        got = await listen(there, "core")
        for number in range(1, 301):
            headers = {"trace": "x"} if number % 7 == 0 else None
            await here.publish("weir.in.core", b"%d" % number, headers=headers)
        await _publish(here, "rel", 1, 300)
        await until(lambda: len(got) == 300, "best effort")
        assert got == _numbers(1, 300)
        while await stored_count(there, "rel") < 300:
            await asyncio.sleep(0.02)
        assert await stored(there, "rel") == _numbers(1, 300)
        await here.close()
        await there.close()


async def test_what_nobody_behind_a_link_wants_does_not_cross_it(line, servers):
    async with asyncio.timeout(LIMIT_S):
        a, _, c = line
        await c.router.flows.set_local(("core",))
        await until(lambda: a.router.tables.interest["b.1"] == {"core"}, "interest went back")
        here = await client(servers[0])
        await _publish(here, "rel", 1, 20)
        await until(lambda: a.router.counters().passed.get("rel") == 20, "passed the gate")
        assert a.router.counters().sent.get("b.1", 0) == 0
        await here.close()


async def test_a_message_is_read_again_and_delivered_once(line, servers, monkeypatch):
    """The agent dies between forwarding and settling: everything is still in its sources."""
    monkeypatch.setattr(stream_reader.Settler, "settle", lambda *_: None)
    async with asyncio.timeout(LIMIT_S):
        here, there = await client(servers[0]), await client(servers[2])
        await _publish(here, "rel", 1, 100)
        while await stored_count(there, "rel") < 100:
            await asyncio.sleep(0.02)
        for index, plane in enumerate(line):
            await plane.close()
            line[index] = await Plane(plane.name, plane.server, tables=plane.saved).open()
        a, b, c = line
        await flows(a, ingress=("core", "rel"))
        await flows(b)
        await flows(c, local=("core", "rel"))
        a.router.set_addresses({"b.1": servers[1].url})
        b.router.set_addresses({"a": servers[0].url, "c": servers[2].url})
        c.router.set_addresses({"b.1": servers[1].url})
        await _publish(here, "rel", 101, 150)
        while await stored_count(there, "rel") < 150:
            await asyncio.sleep(0.02)
        assert await stored(there, "rel") == _numbers(1, 150)
        assert a.router.counters().passed["rel"] == 150
        await here.close()
        await there.close()


async def test_reliable_waits_until_every_neighbour_has_said_what_it_wants(line, servers):
    async with asyncio.timeout(LIMIT_S):
        a, b, _ = line
        here, there = await client(servers[0]), await client(servers[2])
        # a comes back without a memory, and what b told it is gone from its broker, too.
        for plane in (a, b):
            await plane.close()
        await (here.jetstream()).purge_stream("WEIR_INTEREST")
        line[0] = a = await Plane("a", servers[0], tables=None).open()
        await flows(a, ingress=("core", "rel"))
        await a.router.add_link("b.1", servers[1].url)
        await a.router.know(("core", "rel"), {"b.1"})
        await _publish(here, "rel", 1, 20)
        await asyncio.sleep(0.3)
        assert not a.router.ready
        assert not a.router.counters().forwarded
        line[1] = b = await Plane("b.1", servers[1], tables=b.saved).open()
        await flows(b)
        b.router.set_addresses({"a": servers[0].url, "c": servers[2].url})
        while await stored_count(there, "rel") < 20:
            await asyncio.sleep(0.02)
        assert await stored(there, "rel") == _numbers(1, 20)
        await here.close()
        await there.close()


async def test_a_pause_keeps_everything_and_a_swap_is_between_two_messages(line, servers):
    async with asyncio.timeout(LIMIT_S):
        a = line[0]
        here, there = await client(servers[0]), await client(servers[2])
        got = await listen(there, "core")
        a.router.pause(frozenset())
        await a.router.drained()
        for number in range(1, 51):
            await here.publish("weir.in.core", b"%d" % number)
        await _publish(here, "rel", 1, 50)
        await asyncio.sleep(0.2)
        assert (len(got), a.router.counters().forwarded) == (0, 0)
        # Of an epoch of its own: what b said before belongs to the old one.
        a.router.swap(a.router.tables.with_link("b.1", {"rel"}, "shift-1"))
        a.router.resume()
        while await stored_count(there, "rel") < 50:
            await asyncio.sleep(0.02)
        assert await stored(there, "rel") == _numbers(1, 50)
        assert got == []
        await here.close()
        await there.close()


async def test_a_mark_comes_behind_everything_that_was_sent_before_it(line, servers):
    async with asyncio.timeout(LIMIT_S):
        a, b, _ = line
        seen = []

        async def mark(source, payload):
            seen.append((source.delivery, payload, dict(b.router.counters().received)))

        b.router.on_mark = mark
        here = await client(servers[0])
        for number in range(1, 101):
            await here.publish("weir.in.core", b"%d" % number)
        await _publish(here, "rel", 1, 100)
        await until(lambda: sum(a.router.counters().passed.values()) == 200, "passed")
        a.router.pause(frozenset())
        await a.router.drained()
        await a.router.send_mark("b.1", b"mark")
        await until(lambda: len(seen) == 2, "marks of both classes")
        assert {payload for _, payload, _ in seen} == {b"mark"}
        assert b.router.counters().received["a"] == 200
        await here.close()


async def test_a_full_ingress_refuses_the_publisher_instead_of_losing(servers, monkeypatch):
    monkeypatch.setattr(streams, "INGRESS_MESSAGES", 30)
    async with asyncio.timeout(LIMIT_S):
        await _wipe(servers[0])
        plane = await Plane("a", servers[0], tables=Tables(links=frozenset({"never"}))).open()
        await flows(plane, ingress=("rel",), local=("rel",))
        here = await client(servers[0])
        await _publish(here, "rel", 1, 30)
        with pytest.raises(nats.js.errors.APIError, match="maximum messages exceeded"):
            await _publish(here, "rel", 31, 31)
        await plane.router.remove_link("never")
        while await stored_count(here, "rel") < 30:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)
        await _publish(here, "rel", 31, 40)
        while await stored_count(here, "rel") < 40:
            await asyncio.sleep(0.02)
        assert await stored(here, "rel") == _numbers(1, 40)
        await plane.close()
        await here.close()


async def test_a_mark_that_ends_its_own_link_is_handled_to_its_end(line):
    """What follows from a mark may drop the very link it came over."""
    async with asyncio.timeout(LIMIT_S):
        a, b, _ = line
        done = []

        async def mark(source, payload):
            await b.router.drop_link(source.neighbour)
            done.append(payload)

        b.router.on_mark = mark
        await a.router.send_mark("b.1", b"mark")
        await until(lambda: done, "a mark that drops its link")


async def test_what_another_disk_of_the_broker_lacks_is_made_again(line, servers):
    async with asyncio.timeout(LIMIT_S):
        middle = await client(servers[1])
        js = middle.jetstream()

        async def names() -> set[str]:
            return {stream.config.name for stream in await js.streams_info()}

        outboxes = {name for name in await names() if name.startswith("WEIR_TO_")}
        assert len(outboxes) == 2
        for name in outboxes:
            await js.delete_stream(name)
        await line[1].router.ensure_channels()
        assert outboxes <= await names()
