"""Streams that somebody deletes at a running broker: what was in them is gone, the flow goes on."""

from __future__ import annotations

import asyncio
import shutil

import pytest
from nats.errors import NoRespondersError
from nats.js.errors import NoStreamResponseError

from tests.agent.planes import Plane, client, flows, join, stored
from tests.nats_server import NatsServer

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 60


@pytest.mark.parametrize("stream", ["WEIR_IN_rel", "WEIR_TO_b", "WEIR_MSG_rel"])
async def test_a_stream_that_was_deleted_is_made_again(tmp_path, stream):
    async with asyncio.timeout(LIMIT_S):
        with NatsServer(tmp_path / "a") as server, NatsServer(tmp_path / "b") as other:
            a, b = await Plane("a", server).open(), await Plane("b", other).open()
            await flows(a, ingress=("rel",))
            await flows(b, local=("rel",))
            await join(a, b)
            here, there = await client(server), await client(other)
            await here.jetstream().publish("weir.in.rel", b"before")
            while await stored(there, "rel") != [b"before"]:
                await asyncio.sleep(0.02)
            owner = there if stream == "WEIR_MSG_rel" else here
            await owner.jetstream().delete_stream(stream)
            while True:
                try:
                    await here.jetstream().publish("weir.in.rel", b"after")
                except (NoStreamResponseError, NoRespondersError):
                    await asyncio.sleep(0.05)
                else:
                    break
            expected = [b"after"] if stream == "WEIR_MSG_rel" else [b"before", b"after"]
            while await delivered(there) != expected:
                await asyncio.sleep(0.05)
            for one in (here, there):
                await one.close()
            await a.close()
            await b.close()


async def delivered(connection):
    names = [info.config.name for info in await connection.jetstream().streams_info()]
    return await stored(connection, "rel") if "WEIR_MSG_rel" in names else []


@pytest.mark.parametrize("lost", ["deleted", "with the whole disk"])
async def test_what_neighbours_want_is_heard_again_where_nobody_keeps_it(tmp_path, lost):
    async with asyncio.timeout(LIMIT_S):
        with NatsServer(tmp_path / "a") as server, NatsServer(tmp_path / "b") as other:
            a, b = await Plane("a", server).open(), await Plane("b", other).open()
            await flows(a, ingress=("rel",))
            await flows(b)
            await join(a, b)
            if lost == "deleted":
                here = await client(server)
                await here.jetstream().delete_stream("WEIR_INTEREST")
                await here.close()
            else:
                server.stop()
                shutil.rmtree(tmp_path / "a" / "store")
                server.start()
            await b.router.flows.set_local(("rel",))
            while "rel" not in a.router.tables.interest["b"]:
                await asyncio.sleep(0.05)
            await a.close()
            await b.close()


async def test_an_agent_goes_on_acting_where_its_record_was_deleted(tmp_path):
    async with asyncio.timeout(LIMIT_S):
        with NatsServer(tmp_path / "a") as server:
            a = await Plane("a", server).open()
            await a.driver.fence(7)
            await a.driver.note_state(31)
            here = await client(server)
            await here.jetstream().delete_stream("WEIR_FENCE")
            await a.driver._server.check_ours()
            assert await a.driver.noted_state() == 31
            await here.close()
            await a.close()
