"""What waits in an agent's memory is bounded in bytes: more waits at the broker, or is shed."""

from __future__ import annotations

import asyncio

import pytest

from agent.drivers.base import Channel, Place
from agent.drivers.nats.driver import NatsDriver
from agent.memory import MIB, Memory, Pool
from agent.router import Router
from tests.agent.planes import client, listen, stored_count, until
from tests.nats_clients import processed
from tests.nats_server import NatsServer
from weir.coordination.tables import Tables
from weir.coordination.wire import Delivery, FlowSpec, Gate

LIMIT_S = 60
FLOWS = tuple(f"f{number}" for number in range(4))
LARGE = b"x" * (256 << 10)


def test_a_pool_tells_when_there_is_room() -> None:
    pool, told = Pool(10), []
    assert (pool.used, pool.most, pool.free) == (0, 0, 10)
    pool.take(12)
    assert (pool.full, pool.free) == (True, 0)
    pool.on_room(lambda: told.append(pool.used))
    pool.give(1)
    assert told == []
    pool.give(2)
    pool.give(2)
    assert (told, pool.most) == ([9], 12)


def test_a_reader_may_always_ask_for_one_message() -> None:
    memory = Memory(8 * MIB)
    memory.readers = 4
    assert memory.share(1000) == 4 * MIB // 8
    memory.reliable.take(4 * MIB)
    assert memory.share(1000) == 1000


class Plane:
    """One broker's data plane with so much memory."""

    def __init__(self, server: NatsServer, memory: Memory) -> None:
        self.memory = memory
        self.driver = NatsDriver(url=server.url, broker="a", memory=memory)
        self.router = Router(self.driver, tables=Tables(), memory=memory)

    async def start(self, delivery: Delivery, gate: Gate | None = None) -> None:
        await self.driver.open()
        for flow in FLOWS:
            self.router.flows.set_gate(flow, gate)
            await self.router.flows.ensure_flow(flow, FlowSpec(delivery=delivery, ingress=True))
        await self.router.flows.set_local(FLOWS)
        self.router.start()

    async def close(self) -> None:
        await self.router.close()
        await self.driver.close()


@pytest.mark.slow
@pytest.mark.asyncio
async def test_reliable_messages_wait_at_the_broker_and_all_arrive(server: NatsServer) -> None:
    """64 MiB wait at gates that let nothing pass; then they open."""
    async with asyncio.timeout(LIMIT_S):
        plane = Plane(server, Memory(16 * MIB))
        here = await client(server)
        await plane.driver.open()
        for flow in FLOWS:
            await plane.driver.ensure_channel(
                Channel(place=Place.INGRESS, delivery=Delivery.RELIABLE, flow=flow)
            )
            for _ in range(64):
                await here.jetstream().publish(f"weir.in.{flow}", LARGE)
        await plane.start(Delivery.RELIABLE, Gate(rate_per_s=0.01, burst=1.0))
        await until(lambda: plane.memory.reliable.used > MIB, "the readers have begun")
        await asyncio.sleep(1)
        largest = MIB + (64 << 10)
        assert plane.memory.reliable.most <= 8 * MIB + 2 * len(FLOWS) * largest
        for flow in FLOWS:
            plane.router.flows.set_gate(flow, None)
        for flow in FLOWS:
            while await stored_count(here, flow) < 64:
                await asyncio.sleep(0.05)
        assert plane.memory.reliable.most <= 8 * MIB + 2 * len(FLOWS) * largest
        await until(lambda: plane.memory.used == 0, "and nothing is counted any more")
        await plane.close()
        await here.close()


@pytest.mark.slow
@pytest.mark.asyncio
async def test_best_effort_beyond_the_bound_is_shed_and_counted(server: NatsServer) -> None:
    async with asyncio.timeout(LIMIT_S):
        plane = Plane(server, Memory(16 * MIB))
        await plane.start(Delivery.BEST_EFFORT, Gate(rate_per_s=0.01, burst=1.0))
        here = await client(server)
        got = {flow: await listen(here, flow) for flow in FLOWS}
        await until(
            lambda: (
                all(reader.subscribed.is_set() for reader in plane.driver._ingress.values())
                and len(plane.driver._ingress) == len(FLOWS)
            ),
            "subscribed",
        )
        for _ in range(64):
            for flow in FLOWS:
                await here.publish(f"weir.in.{flow}", LARGE)
        await processed(here)

        def accounted() -> int:
            readers = plane.driver._ingress.values()
            waiting = plane.router.counters().waiting
            passed = plane.router.counters().passed
            return (
                sum(reader.shed + reader.waiting for reader in readers)
                + sum(waiting.values())
                + sum(passed.values())
            )

        await until(lambda: accounted() == 64 * len(FLOWS), "every one is somewhere")
        assert plane.memory.best_effort.most <= 8 * MIB
        shed = sum((await plane.driver.stats()).ingress_shed.values())
        assert shed >= 64 * len(FLOWS) - 8 * MIB // len(LARGE) - len(FLOWS)
        for flow in FLOWS:
            plane.router.flows.set_gate(flow, None)
        await until(
            lambda: sum(map(len, got.values())) == 64 * len(FLOWS) - shed, "the others arrive"
        )
        await until(lambda: plane.memory.used == 0, "and nothing is counted any more")
        await plane.close()
        await here.close()
