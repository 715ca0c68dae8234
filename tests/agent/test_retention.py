"""How long a broker keeps delivered reliable messages follows the document."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.planes import Plane, client
from tests.nats_server import NatsServer
from weir.coordination.wire import Delivery, FlowSpec

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 60.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    server = NatsServer(tmp_path / "a")
    server.start()
    yield server
    server.stop()


async def test_a_stream_that_is_there_takes_over_another_retention(server: NatsServer) -> None:
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server).open()
        connection = await client(server)
        for keep_s in (3600, 86_400, 120):
            spec = FlowSpec(delivery=Delivery.RELIABLE, ingress=True, keep_s=keep_s)
            await plane.router.flows.ensure_flow("rel", spec)
            await plane.router.flows.set_local({"rel"})
            info = await connection.jetstream().stream_info("WEIR_MSG_rel")
            assert info.config.max_age == keep_s
        await connection.close()
        await plane.close()
