"""When publishers sent, as a real server says it of real connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nats
import pytest
import pytest_asyncio

from agent.drivers.base import Sent
from agent.drivers.nats.admission import POLL_S, Admission
from agent.drivers.nats.server_config import BrokerSecrets
from agent.drivers.nats.stats import Losses, read_stats
from tests.agent.brokers import Broker
from tests.agent.publishing import log_in
from tests.nats_clients import processed

pytestmark = [pytest.mark.stack, pytest.mark.asyncio]

NEAR_S = 0.03
"""A busy machine writes late what was sent at a known time; on a quiet one it is a millisecond."""
SUBJECT = "weir.in.depth"
WAIT_S = 60.0


class Heard:
    """What the readings of one broker's connections gave."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self._number = 0
        self.sent: dict[str, list[Sent]] = {}

    def collect(self) -> None:
        for reading in self.admission.publisher_times.readings:
            if reading.number > self._number:
                self._number = reading.number
                for name, row in reading.sent.items():
                    self.sent.setdefault(name, []).append(row)

    def messages(self, name: str) -> int:
        self.collect()
        return sum(row.messages for row in self.sent.get(name, ()))

    def moments(self, name: str) -> list[float]:
        self.collect()
        return [row.at_s for row in self.sent.get(name, ()) if row.at_s is not None]

    async def until(self, name: str, messages: int) -> None:
        async with asyncio.timeout(WAIT_S):
            while self.messages(name) < messages:
                await asyncio.sleep(0.1)


@pytest.fixture
def broker(tmp_path: Path) -> Any:
    broker = Broker("b1", tmp_path, BrokerSecrets.generate())
    broker.start()
    yield broker
    broker.kill()


@pytest_asyncio.fixture
async def heard(broker: Broker) -> AsyncIterator[Heard]:
    admission = Admission(url=broker.url, secrets=broker.secrets)
    await admission.open()
    await admission.admit({})
    yield Heard(admission)
    await admission.close()


async def send(client: Any) -> float:
    """Returns when the message was sent, half-way to the answer that it has arrived."""
    before_s = time.time()
    await client.publish(SUBJECT, b"x")
    await processed(client)
    return (before_s + time.time()) / 2


async def seen(heard: Heard) -> None:
    """Let the connections be read, so that those of now are known."""
    await asyncio.sleep(2 * POLL_S + 0.2)
    heard.collect()


async def test_moments_are_when_the_server_got_the_messages(broker: Broker, heard: Heard) -> None:
    clients = {name: await log_in(broker, name) for name in ("s-1", "s-2", "busy", "bursts")}
    await seen(heard)
    stop = asyncio.Event()

    async def hurry() -> int:
        count = 0
        while not stop.is_set():
            await clients["busy"].publish(SUBJECT, b"x")
            count += 1
            await asyncio.sleep(0.02)
        return count

    hurrying = asyncio.create_task(hurry())
    sent: dict[str, list[float]] = {"s-1": [], "s-2": []}
    for name, pause_s in (("s-1", 0.4), ("s-2", 1.3), ("s-1", 1.7), ("s-2", 1.1), ("s-1", 0.1)):
        sent[name].append(await send(clients[name]))
        await asyncio.sleep(pause_s)
    burst_s = [await send(clients["bursts"]) for _ in range(5)]
    await heard.until("bursts", 5)
    stop.set()
    await heard.until("busy", await hurrying)
    await heard.until("s-1", 3)
    for name, times in sent.items():
        assert heard.moments(name) == pytest.approx(times, abs=NEAR_S)
    # Over the end of an interval, or in it: one moment at most, and never another time.
    assert heard.messages("bursts") == 5
    assert heard.moments("bursts") in ([], [pytest.approx(burst_s[-1], abs=NEAR_S)])
    # Its first and its last message may be alone in their intervals.
    often = [row for row in heard.sent["busy"] if row.messages > 1]
    assert len(often) >= 3
    assert {row.at_s for row in often} == {None}
    stats = await read_stats(
        ingress={}, losses=Losses(), admission=heard.admission, connection=None, streams=False
    )
    assert stats.publishers == heard.admission.publisher_times.readings
    for client in clients.values():
        await client.close()


async def test_a_reliable_message_counts_when_it_was_acknowledged(
    broker: Broker, heard: Heard
) -> None:
    agent = await nats.connect(
        broker.url, user="agent", password=broker.secrets.agent_password, name="stream"
    )
    await agent.jetstream().add_stream(name="DEPTH", subjects=[SUBJECT])
    client = await log_in(broker, "s-1")
    await client.jetstream().publish(SUBJECT, b"first")
    await seen(heard)
    began_s = time.time()
    await client.jetstream().publish(SUBJECT, b"x")
    ended_s = time.time()
    await heard.until("s-1", 1)
    (moment_s,) = heard.moments("s-1")
    assert began_s - NEAR_S <= moment_s <= ended_s + NEAR_S
    await client.close()
    await agent.close()


async def test_a_restart_and_a_new_login_begin_anew(broker: Broker, heard: Heard) -> None:
    client = await log_in(broker, "s-1")
    await seen(heard)
    first_s = await send(client)
    await heard.until("s-1", 1)
    await client.close()
    broker.kill()
    broker.start()
    client = None
    async with asyncio.timeout(WAIT_S):
        while client is None:
            try:
                client = await log_in(broker, "s-1", connect_timeout=2)
            except (OSError, TimeoutError, nats.errors.Error):
                await asyncio.sleep(0.2)
    await send(client)
    await seen(heard)
    again_s = await send(client)
    await heard.until("s-1", 2)
    assert heard.messages("s-1") == 2, "what was sent before the first reading is not counted"
    assert heard.moments("s-1") == pytest.approx([first_s, again_s], abs=NEAR_S)
    await client.close()
