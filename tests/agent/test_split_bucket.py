"""A topic that enters at two real brokers, each with its part of one token bucket."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from agent.drivers.base import Channel, Message, Place
from tests.agent.planes import (
    Plane,
    TimedDriver,
    client,
    excess,
    flows,
    join,
    stored,
    stored_count,
    until,
)
from tests.nats_server import NatsServer
from weir.coordination.tables import destinations
from weir.coordination.wire import Gate

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

MESSAGES = 40
PARTS = {"a": Gate(rate_per_s=60.0, burst=4.0), "c": Gate(rate_per_s=30.0, burst=0.5)}


class Leaving(TimedDriver):
    """Writes down when each message of a flow leaves for a neighbour: what its gate let through."""

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        if channel.place is Place.OUTBOX:
            self.passed_at += [time.monotonic()] * sum(not message.mark for message in messages)
        await super().publish(channel, messages)


@pytest_asyncio.fixture
async def planes(tmp_path: Path) -> AsyncIterator[dict[str, Plane]]:
    """Brokers a and c at the ends of b, where the consumers of `rel` are."""
    servers = {name: NatsServer(tmp_path / name) for name in "abc"}
    for server in servers.values():
        server.__enter__()
    planes = {
        name: await Plane(name, server, driver=Leaving if name in PARTS else TimedDriver).open()
        for name, server in servers.items()
    }
    yield planes
    for plane in planes.values():
        await plane.close()
    for server in servers.values():
        server.__exit__(None, None, None)


async def test_both_ingresses_deliver_everything_in_order_within_one_bucket(
    planes: dict[str, Plane],
) -> None:
    async with asyncio.timeout(120):
        await flows(planes["b"], local=["rel"])
        for name, part in PARTS.items():
            await flows(planes[name], ingress=["rel"])
            planes[name].router.flows.set_gate("rel", part)
            await join(planes[name], planes["b"])
        await until(
            lambda: all(
                destinations("rel", None, planes[n].router.tables) == ("b",) for n in PARTS
            ),
            "both ends know that b wants it",
        )
        publishers = {name: await client(planes[name].server) for name in PARTS}

        async def publish(name: str) -> None:
            js = publishers[name].jetstream()
            for number in range(MESSAGES):
                await js.publish("weir.in.rel", f"{name} {number}".encode())

        await asyncio.gather(*map(publish, PARTS))
        reader = await client(planes["b"].server)
        while await stored_count(reader, "rel") < 2 * MESSAGES:
            await asyncio.sleep(0.05)
        got = [message.decode() for message in await stored(reader, "rel")]
        for name in PARTS:
            mine = [text for text in got if text.startswith(name)]
            assert mine == [f"{name} {number}" for number in range(MESSAGES)]
        passed: list[float] = []
        for name, part in PARTS.items():
            times = planes[name].driver.passed_at
            assert len(times) == MESSAGES
            # A part below one message lets the one that waits collect a whole token.
            assert excess(times, part.rate_per_s, max(1.0, part.burst)) <= 1
            passed += times
        rate = sum(part.rate_per_s for part in PARTS.values())
        burst = sum(max(1.0, part.burst) for part in PARTS.values())
        assert excess(sorted(passed), rate, burst) <= len(PARTS)
        for each in (*publishers.values(), reader):
            await each.close()
