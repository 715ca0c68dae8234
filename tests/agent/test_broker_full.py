"""A broker that stores nothing more: messages wait before it, and somebody is told."""

from __future__ import annotations

import asyncio

import pytest

from agent.drivers.nats import stream_writer
from tests.agent.planes import Plane, client, flows, join, stored_count
from tests.nats_server import NatsServer

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 60
SMALL = (
    "listen: 127.0.0.1:{port}\n"
    "jetstream { store_dir: {store}, max_file_store: 1MB, max_mem: 64MB }\n"
)


async def test_reliable_messages_wait_before_a_full_broker_and_its_page_says_why(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(stream_writer, "STUCK_S", 0.2)
    async with asyncio.timeout(LIMIT_S):
        full = NatsServer(tmp_path / "b", config=SMALL)
        with NatsServer(tmp_path / "a") as server, full as other:
            a, b = await Plane("a", server).open(), await Plane("b", other).open()
            await flows(a, ingress=("rel",))
            await flows(b, local=("rel",))
            await join(a, b)
            here, there = await client(server), await client(other)
            for _ in range(8):
                await here.jetstream().publish("weir.in.rel", b"x" * 200_000)
            while not (problems := (await b.driver.stats()).problems):
                await asyncio.sleep(0.05)
            (problem,) = problems
            assert problem.startswith("WEIR_MSG_rel: ")
            assert "takes nothing" in problem
            assert (await a.driver.stats()).problems == ()
            held = await stored_count(there, "rel")
            assert 0 < held < 8
            # Room again: all of them come, and nobody is told any more.
            await there.jetstream().purge_stream("WEIR_MSG_rel")
            while await stored_count(there, "rel") < 8 - held:
                await asyncio.sleep(0.05)
            while (await b.driver.stats()).problems:
                await asyncio.sleep(0.05)
            for one in (here, there):
                await one.close()
            await a.close()
            await b.close()
