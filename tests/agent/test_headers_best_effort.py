"""Headers of best-effort messages are data: no server obeys them in an agent's name."""

from __future__ import annotations

import asyncio

import pytest

from agent.drivers.nats import wire
from tests.agent.planes import Plane, client, flows, join, stored_count, until
from tests.nats_clients import processed
from tests.nats_server import NatsServer

LIMIT_S = 60


@pytest.mark.asyncio
@pytest.mark.slow
async def test_a_publishers_header_writes_into_no_stream_of_another_broker(tmp_path):
    async with asyncio.timeout(LIMIT_S):
        with NatsServer(tmp_path / "a") as server, NatsServer(tmp_path / "b") as other:
            a, b = await Plane("a", server).open(), await Plane("b", other).open()
            await flows(a, ingress=("core",))
            await flows(b, local=("core", "rel"))
            await join(a, b)
            await until(lambda: "core" in a.router.tables.interest["b"], "wanted")
            here, there = await client(server), await client(other)
            got = []

            async def take(message):
                got.append((message.data, message.headers))

            await there.subscribe("weir.msg.core", cb=take)
            await processed(there)
            for name in ("Nats-Trace-Dest", "nats-trace-dest"):
                headers = {name: "weir.msg.rel.phantom", "Mine": "1"}
                await here.publish("weir.in.core", b"with", headers=headers)
            await here.publish("weir.in.core", b"only", headers={"Nats-Trace-Dest": "elsewhere"})
            await until(lambda: len(got) == 3, "all arrive")
            assert got == [(b"with", {"Mine": "1"}), (b"with", {"Mine": "1"}), (b"only", None)]
            # What a server traces is written before it answers whoever has sent it.
            await b.driver._own.current.flush()
            assert await stored_count(there, "rel") == 0
            for one in (here, there):
                await one.close()
            await a.close()
            await b.close()


@pytest.mark.parametrize(
    ("header", "kept"),
    [
        (b"NATS/1.0\r\nA: nats-b\r\n\r\n", b"NATS/1.0\r\nA: nats-b\r\n\r\n"),
        (b"NATS/1.0\r\nA: 1\r\nNats-X: 2\r\nB: 3\r\n\r\n", b"NATS/1.0\r\nA: 1\r\nB: 3\r\n\r\n"),
        (b"NATS/1.0\r\nNATS-X: 2\r\n\r\n", b""),
        (b"NATS/1.0\r\nNats-X", b""),
        (b"NATS/1.0 100 nats-\r\nNats-X: 2\r\n\r\n", b"NATS/1.0 100 nats-\r\n\r\n"),
        (b"NATS/1.0\r\n\r\nNats-X: 2\r\n\r\n", b""),
    ],
)
def test_orders_to_the_server_are_left_out(header, kept):
    assert wire.without_orders(header) == kept
