"""What a real server's counters become: rates without bursts, and no class above its broker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import nats
import pytest
import pytest_asyncio

from agent.drivers.base import Retryable
from agent.drivers.nats.admission import Admission
from agent.drivers.nats.names import class_inbox
from agent.drivers.nats.server_config import BrokerSecrets
from agent.drivers.nats.stats import Losses, read_stats
from agent.drivers.nats.system_account import ServerLoad
from agent.tasks import end
from agent.telemetry import Counters, Meter
from apps.telemetry.domain.payload import (
    TIMING_PER_S,
    TIMING_SHARE,
    contradiction,
    telemetry_checked,
)
from tests.agent.brokers import Broker, consumers_made
from tests.nats_clients import processed
from weir.coordination.wire import ClassSpec, token

pytestmark = pytest.mark.stack

GOLD = "gold"
RATE_PER_S = 100
LOOKS = 8
LIMIT_S = 60.0
MOST_PER_S = 3 * RATE_PER_S
"""A busy machine may hand over late what it should have handed over before."""


class Fleet:
    """One broker with its admission; someone delivers at a steady rate, someone reads."""

    def __init__(self, broker: Broker, admission: Admission) -> None:
        self.broker = broker
        self.admission = admission
        self.meter = Meter(time.monotonic())
        self.said: list[dict[str, Any]] = []
        self.clients: list[Any] = []

    async def connect(self, name: str, *, user: str, key: str) -> Any:
        client = await nats.connect(
            self.broker.url,
            name=name,
            user=user,
            password=key,
            inbox_prefix=class_inbox(GOLD) if user == token(GOLD) else "_INBOX",
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.1,
            error_cb=_nothing,
        )
        self.clients.append(client)
        return client

    async def consumer(self, name: str) -> Any:
        client = await self.connect(name, user=token(GOLD), key=self.broker.secrets.client_key)
        await client.subscribe("weir.msg.trades", cb=_nothing)
        await processed(client)
        return client

    async def deliver(self, agent: Any) -> None:
        while True:
            await agent.publish("weir.msg.trades", b"x")
            await asyncio.sleep(1 / RATE_PER_S)

    async def look(self) -> dict[str, Any]:
        await asyncio.sleep(1.0)
        stats = await read_stats(
            ingress={},
            losses=Losses(),
            admission=self.admission,
            connection=None,
            streams=False,
        )
        told = self.meter.measure(time.monotonic(), Counters(), stats)
        self.said.append(told)
        return told

    async def look_until_counted(self) -> None:
        """Look until a sample counts most of what is delivered; a busy machine takes its time."""
        deadline = time.monotonic() + LIMIT_S
        while (await self.look())["classes"][GOLD].get("delivered_per_s", 0.0) <= RATE_PER_S / 2:
            assert time.monotonic() < deadline, self.said

    def check(self, *, timing_per_s: float = 10.0) -> None:
        """No sample says more than is delivered, or more than the broker sent."""
        for told in self.said:
            gold = told["classes"].get(GOLD, {}).get("delivered_per_s", 0.0)
            out = told["broker"].get("out_msgs_per_s", 0.0)
            assert gold <= MOST_PER_S, self.said
            # The other messages out are the agent's own questions and their answers.
            assert gold <= (1 + TIMING_SHARE) * out + timing_per_s, self.said


async def _nothing(_: Any) -> None:
    return None


async def _no_answer() -> Any:
    raise Retryable("no answer in time")


@pytest_asyncio.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    broker = Broker("b1", tmp_path, BrokerSecrets.generate())
    broker.start()
    admission = Admission(url=broker.url, secrets=broker.secrets)
    await admission.open()
    await admission.admit({GOLD: ClassSpec(flow="trades", limit=None)})
    fleet = Fleet(broker, admission)
    agent = await fleet.connect("agent", user="agent", key=broker.secrets.agent_password)
    delivering = asyncio.create_task(fleet.deliver(agent))
    yield fleet
    await end(delivering)
    for client in fleet.clients:
        await client.close()
    await fleet.admission.close()
    broker.kill()


@pytest.mark.asyncio
async def test_consumers_that_come_and_go_bring_no_burst(fleet: Fleet) -> None:
    stays = await fleet.consumer("stays")
    for number in range(LOOKS):
        goes = await fleet.consumer(f"goes-{number}")
        await fleet.look()
        await goes.close()
    assert stays.is_connected
    fleet.check()
    assert max(t["classes"][GOLD].get("delivered_per_s", 0) for t in fleet.said) > RATE_PER_S / 2


@pytest.mark.asyncio
async def test_a_new_agent_reports_nothing_of_what_was_delivered_before_it(fleet: Fleet) -> None:
    await fleet.consumer("stays")
    for _ in range(4):
        await fleet.look()
    await fleet.admission.close()
    successor = fleet.admission = Admission(url=fleet.broker.url, secrets=fleet.broker.secrets)
    await successor.open()
    await successor.admit({GOLD: ClassSpec(flow="trades", limit=None)})
    fleet.meter = Meter(time.monotonic())
    first = await fleet.look()
    assert first["classes"][GOLD]["admitted"] == 1
    assert "delivered_per_s" not in first["classes"][GOLD]
    assert "out_msgs_per_s" not in first["broker"]
    await fleet.look()
    await fleet.look_until_counted()
    fleet.check()


@pytest.mark.asyncio
@pytest.mark.parametrize("unread_s", [0, 2], ids=["read", "unread"])
async def test_a_restarted_server_brings_no_burst(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, unread_s: int
) -> None:
    """With `unread` its own total is not read just before its end, while its consumers' are."""
    consumer = await fleet.consumer("stays")
    for _ in range(4):
        await fleet.look()
    with monkeypatch.context() as patched:
        patched.setattr(fleet.admission.system, "load", _no_answer)
        for _ in range(unread_s):
            await fleet.look()
        fleet.broker.kill()
    await fleet.look()
    fleet.broker.start()
    deadline = time.monotonic() + LIMIT_S
    while not consumer.is_connected:
        assert time.monotonic() < deadline
        await fleet.look()
    for _ in range(4):
        await fleet.look()
    await fleet.look_until_counted()
    # Of the first second of a server little is counted, and its consumers a moment after itself.
    fleet.check(timing_per_s=TIMING_PER_S)


@pytest.mark.asyncio
async def test_counters_of_another_process_than_the_connections_are_no_reading(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server restarts after its connections were read, before its counters are."""
    system = fleet.admission.system
    load = system.load

    async def of_successor() -> ServerLoad:
        return replace(await load(), server="successor")

    monkeypatch.setattr(system, "load", of_successor)
    with pytest.raises(Retryable, match="was restarted"):
        await fleet.admission._count(await load())
    assert fleet.admission.load.server == system.server


@pytest.mark.asyncio
async def test_missed_answers_are_neither_silence_nor_a_burst(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fleet.consumer("stays")
    for _ in range(3):
        await fleet.look()
    system = fleet.admission.system
    answers = system.connections
    monkeypatch.setattr(system, "connections", _no_answer)
    for _ in range(6):
        await fleet.look()
    assert "delivered_per_s" not in fleet.said[-1]["classes"][GOLD]
    monkeypatch.setattr(system, "connections", answers)
    for _ in range(3):
        await fleet.look()
    await fleet.look_until_counted()
    fleet.check()


@pytest.mark.asyncio
async def test_what_is_read_at_once_between_two_counts_makes_no_sample_suspect(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A consumer takes a stock right after the connections were read, every other time."""
    agent = await fleet.connect("js", user="agent", key=fleet.broker.secrets.agent_password)
    stream = agent.jetstream()
    await stream.add_stream(name="WEIR_MSG_trades", subjects=["weir.msg.trades"])
    client = await fleet.connect("c0", user=token(GOLD), key=fleet.broker.secrets.client_key)
    async with consumers_made(fleet.broker):
        reader = await client.jetstream(timeout=2.0).pull_subscribe(
            "weir.msg.trades", durable="c0", stream="WEIR_MSG_trades"
        )
    await fleet.look()
    connections, readings = fleet.admission.system.connections, count()

    async def then_a_stock() -> Any:
        answer = await connections()
        if next(readings) % 2:
            await reader.fetch(10 * RATE_PER_S // 4, timeout=LIMIT_S)
        return answer

    monkeypatch.setattr(fleet.admission.system, "connections", then_a_stock)
    for _ in range(LOOKS):
        await fleet.look()
    samples = [telemetry_checked(sample) for sample in fleet.said[-LOOKS:]]
    assert not any("suspect" in sample for sample in samples)
    # By the plain total, they would be.
    for sample in samples:
        sample["broker"].pop("out_most_per_s", None)
    assert any(contradiction(sample) for sample in samples), samples


@pytest.mark.asyncio
async def test_what_streams_deliver_is_in_the_servers_own_total(fleet: Fleet) -> None:
    agent = await fleet.connect("js", user="agent", key=fleet.broker.secrets.agent_password)
    stream = agent.jetstream()
    await stream.add_stream(name="WEIR_MSG_trades", subjects=["weir.msg.trades"])
    client = await fleet.connect("c0", user=token(GOLD), key=fleet.broker.secrets.client_key)
    async with consumers_made(fleet.broker):
        reader = await client.jetstream(timeout=2.0).pull_subscribe(
            "weir.msg.trades", durable="c0", stream="WEIR_MSG_trades"
        )

    async def read() -> None:
        # Steadily: a stock given at once may fall between the two readings of one moment.
        while True:
            await reader.fetch(10, timeout=LIMIT_S)

    reading = asyncio.create_task(read())
    await fleet.look_until_counted()
    for _ in range(LOOKS):
        await fleet.look()
    await end(reading)
    fleet.check()
    assert max(t["classes"][GOLD].get("delivered_per_s", 0) for t in fleet.said) > 20


@pytest.mark.asyncio
async def test_bytes_of_messages_in_and_out_are_the_servers_own(fleet: Fleet) -> None:
    await fleet.consumer("stays")
    agent = await fleet.connect("more", user="agent", key=fleet.broker.secrets.agent_password)
    await fleet.look()
    deadline, least_per_s = time.monotonic() + LIMIT_S, 1e6
    for member in ("in_bytes_per_s", "out_bytes_per_s"):
        while fleet.said[-1]["broker"].get(member, 0.0) <= least_per_s:
            assert time.monotonic() < deadline, fleet.said
            for _ in range(100):
                await agent.publish("weir.msg.trades", bytes(100_000))
            await fleet.look()
    # Of a server that begins anew nothing counts that the former one had counted.
    fleet.broker.kill()
    fleet.broker.start()
    began_at, server = time.monotonic(), fleet.admission.load.server
    while fleet.admission.load.server == server:
        assert time.monotonic() < began_at + LIMIT_S
        await fleet.look()
    rates = [fleet.said[-1]["broker"].get(name) for name in ("in_bytes_per_s", "out_bytes_per_s")]
    assert all(rate is None or rate < least_per_s for rate in rates)
