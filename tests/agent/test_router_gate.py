"""The gate at the ingress, on a real broker: exact where it stands, and nothing lost unseen."""

import asyncio
import time
from collections.abc import Sequence

import pytest

from agent.drivers.base import Channel, DriverError, Message, Place, Stats
from agent.telemetry import Meter
from tests.agent.planes import (
    Plane,
    TimedDriver,
    client,
    excess,
    flows,
    listen,
    stored_count,
    until,
)
from weir.coordination.wire import Gate

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 60.0


async def _offer(connection, rate_per_s: float, seconds: float) -> int:
    """Publish best effort at a rate; how many were published."""
    start, sent = time.monotonic(), 0
    while (now := time.monotonic()) < start + seconds:
        for _ in range(int((now - start) * rate_per_s) - sent):
            sent += 1
            await connection.publish("weir.in.core", b"%d" % sent)
        await asyncio.sleep(0.005)
    await connection.flush()
    return sent


async def test_overload_passes_the_rate_exactly_and_counts_what_is_shed(server):
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server).open()
        gate = Gate(rate_per_s=500, burst=250)
        plane.router.flows.set_gate("core", gate)
        await flows(plane, ingress=("core",), local=("core",))
        here = await client(server)
        got = await listen(here, "core")
        sent = await _offer(here, 2_500, 3.0)
        reader = plane.driver._ingress["core"]
        passed = plane.router.counters().passed["core"]
        waiting = plane.router.counters().waiting["core"] + reader.waiting
        assert passed + reader.shed + waiting == sent
        assert reader.shed > 0
        measured = Meter(0.0).measure(1.0, plane.router.counters(), Stats())["flows"]["core"]
        assert (measured["limit_per_s"], measured["limit_burst"]) == (500, 250)
        times = plane.driver.passed_at
        assert excess(times, gate.rate_per_s, gate.burst) <= 1
        # Something always waits, so no token is left lying: the rate is kept, not only bounded.
        kept = (len(times) - 1) / (times[-1] - times[0])
        assert kept == pytest.approx(gate.rate_per_s, rel=0.02)
        await until(lambda: len(got) >= passed, "consumers got what passed")
        numbers = [int(data) for data in got]
        assert numbers == sorted(set(numbers))
        await plane.close()
        await here.close()


async def test_a_gate_changes_while_messages_pass(server):
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server).open()
        plane.router.flows.set_gate("core", Gate(rate_per_s=100, burst=20))
        await flows(plane, ingress=("core",), local=("core",))
        here = await client(server)
        offering = asyncio.create_task(_offer(here, 2_000, 2.5))
        await asyncio.sleep(1.0)
        before = len(plane.driver.passed_at)
        plane.router.flows.set_gate("core", Gate(rate_per_s=1_000, burst=200))
        await asyncio.sleep(1.0)
        after = len(plane.driver.passed_at) - before
        assert before <= 20 + 100 * 1.5
        assert after > 5 * before
        limited = Meter(0.0).measure(1.0, plane.router.counters(), Stats())["flows"]["core"]
        assert (limited["limit_per_s"], limited["limit_burst"]) == (1_000, 200)
        plane.router.flows.set_gate("core", Gate(rate_per_s=0, burst=1))
        closed = len(plane.driver.passed_at)
        await offering
        # One token may be left of the larger burst.
        assert len(plane.driver.passed_at) - closed <= 1
        await plane.close()
        await here.close()


async def test_reliable_messages_wait_at_the_gate_and_none_is_shed(server):
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server).open()
        gate = Gate(rate_per_s=200, burst=20)
        plane.router.flows.set_gate("rel", gate)
        await flows(plane, ingress=("rel",), local=("rel",))
        here = await client(server)
        js = here.jetstream()
        for number in range(300):
            await js.publish("weir.in.rel", b"%d" % number)
        while await stored_count(here, "rel") < 300:
            await asyncio.sleep(0.02)
        assert excess(plane.driver.passed_at, gate.rate_per_s, gate.burst) <= 1
        assert plane.router.counters().passed["rel"] == 300
        await plane.close()
        await here.close()


async def test_what_waits_at_a_gate_whose_flow_goes_is_counted(server):
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server).open()
        plane.router.flows.set_gate("core", Gate(rate_per_s=1, burst=1))
        await flows(plane, ingress=("core",), local=("core",))
        here = await client(server)
        for number in range(200):
            await here.publish("weir.in.core", b"%d" % number)
        await here.flush()
        reader = plane.driver._ingress["core"]

        def read() -> int:
            counters = plane.router.counters()
            return counters.passed["core"] + counters.waiting["core"] + reader.waiting

        await until(lambda: read() == 200, "all are read")
        await plane.router.flows.forget_flow("core")
        counters, lost = plane.router.counters(), (await plane.driver.stats()).lost
        assert counters.left["core"] > 0
        unread = lost.get("core", {}).get("not_read", 0)
        assert counters.passed["core"] + counters.left["core"] + unread == 200
        await plane.close()


class Refusing(TimedDriver):
    """Every third batch for consumers is refused."""

    asked = 0

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        if channel.place is Place.DELIVERY:
            self.asked += 1
            if self.asked % 3 == 2:
                raise DriverError("Not now.")
        await super().publish(channel, messages)


async def test_what_a_broken_off_batch_held_is_counted(server):
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server, driver=Refusing).open()
        plane.router.flows.set_gate("core", Gate(rate_per_s=1000, burst=20))
        await flows(plane, ingress=("core",), local=("core",))
        here = await client(server)
        for number in range(200):
            await here.publish("weir.in.core", b"%d" % number)
        await here.flush()

        def known() -> int:
            counters = plane.router.counters()
            return counters.passed["core"] + counters.left.get("core", 0)

        await until(lambda: known() == 200, "all are accounted for")
        counters = plane.router.counters()
        assert counters.passed["core"] == len(plane.driver.passed_at)
        assert counters.left["core"] > 0
        await plane.close()
