"""Parts of a bucket that are moved while messages wait at them, and what is unfinished there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

import pytest
from nats.errors import NoRespondersError
from nats.js.errors import NoStreamResponseError

from agent.drivers.base import Batch, Message, Room, Source
from agent.drivers.simulated.broker import VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from agent.profile import ProfileKey
from agent.pump import Pump, ReadUpTo
from tests.agent.gated_broker import FLOWS, GatedBroker
from tests.agent.planes import Plane, until
from weir.coordination.wire import Bucket, Delivery, Gate

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 90
PART = Bucket(rate_per_s=200.0, size=3.0)
BURST = 61
LATE_S = 0.03
"""How much later than the gate let it go a message is seen to leave, on a busy machine."""
FAST = Bucket(rate_per_s=100_000.0, size=10_000.0)
SLOW = Bucket(rate_per_s=1.0, size=2.0)
PARTS = (
    Bucket(rate_per_s=240.0, size=12.0),
    Bucket(rate_per_s=40.0, size=2.0),
    Bucket(rate_per_s=120.0, size=0.5),
    Bucket(rate_per_s=300.0, size=20.0),
)


@pytest.mark.parametrize("flow", list(FLOWS))
async def test_a_burst_shows_what_it_leaves_unfinished_whatever_the_size(
    gated: GatedBroker, flow: str
) -> None:
    async with asyncio.timeout(LIMIT_S):
        for size in (3.0, 40.0):
            passed = gated.passed
            await gated.set(**{flow: replace(PART, size=size)})
            await asyncio.sleep(size / PART.rate_per_s + 0.2)  # until it is full
            await gated.work_peak(flow)
            assert await gated.work_peak(flow) == pytest.approx(0.0, abs=0.1)
            began = time.monotonic()
            await gated.publish(flow, BURST)
            lasted_s = time.monotonic() - began
            await until(lambda want=passed + BURST: gated.passed == want, "all left")  # type: ignore[misc]
            peak = await gated.work_peak(flow)
            assert gated.waiting == 0, "none waits, though the broker may still store some"
            assert peak is not None
            assert BURST - 1 - PART.rate_per_s * (lasted_s + LATE_S) <= peak <= BURST + 0.1
            assert peak > 0.7 * BURST, "or nothing is shown"
            await asyncio.sleep(BURST / PART.rate_per_s)
        await gated.set(**{flow: replace(PART, count_only=True)})
        assert await gated.work_peak(flow) is None, "nothing is enforced"


async def test_what_waits_in_the_broker_is_unfinished_at_once(gated: GatedBroker) -> None:
    """Far more than the agent reads ahead of a gate that lets one go each second."""
    async with asyncio.timeout(LIMIT_S):
        await gated.set(rel=SLOW)
        await asyncio.sleep(2.2)
        await gated.publish("rel", 5)
        await until(lambda: gated.passed == 2, "the bucket is empty")
        js = gated.publisher.jetstream()
        await asyncio.gather(*(js.publish("weir.in.rel", b"x") for _ in range(3_000)))
        peak = await gated.work_peak("rel")
        assert peak == pytest.approx(3_005, abs=10)
        assert gated.passed < 20, "they have not passed"
        assert gated.waiting == pytest.approx(3_005 - gated.passed, abs=2)
        # Not a peak of before: they wait still.
        assert await gated.work_peak("rel") == pytest.approx(3_005, abs=20)
        await gated.set(rel=FAST)
        await until(lambda: gated.passed == 3_005, "none is lost")
        await gated.work_peak("rel")
        assert await gated.work_peak("rel") == pytest.approx(0.0, abs=0.1)


async def test_nothing_waits_at_a_pump_that_begins_at_a_source_with_a_past() -> None:
    """The numbers of what passed before it began, or of a stream that is gone, are no backlog."""
    driver = SimulatedDriver(network=VirtualNetwork(), address="sim://a", broker="a")
    source = Source(delivery=Delivery.RELIABLE, flow="rel")
    pump = Pump(driver, source, route=lambda *_: (), on_mark=no_mark, gated=True)
    pump.set_gate(Gate(rate_per_s=SLOW.rate_per_s, burst=SLOW.size), 0.0)
    part = {"rate_per_s": SLOW.rate_per_s, "size": SLOW.size}
    pump.set_profile(ProfileKey(**part, publishers=None, is_settled=True), 0.0)

    def waiting(backlog: int, newest: int) -> int:
        room = Room(size_bytes=0, newest=newest, made="1")
        known = pump.unfinished(10.0, backlog=backlog, room=room)
        assert known is not None
        return known[1]

    assert waiting(0, 1_000_000) == 0
    assert waiting(7, 1_000_007) == 7
    read = ReadUpTo()
    batch = Batch(source, [Message("rel", b"", "a-1", 1_000_007)], made="1")
    read.take(batch)
    assert read.unread(9, Room(size_bytes=0, newest=1_000_010, made="1")) == 3
    assert read.unread(2, Room(size_bytes=0, newest=1_000_010, made="1")) == 2, "some were deleted"
    anew = Room(size_bytes=0, newest=5_000, made="2")
    assert read.unread(5_000, anew) == 5_000
    read.take(Batch(source, [Message("rel", b"", "a-2", 4_000)], made="2"))
    assert read.unread(5_000, anew) == 1_000
    await pump.close()


async def no_mark(source: Source, mark: bytes) -> None:
    """Take a mark."""


async def test_an_agent_that_begins_again_reports_nothing_that_has_passed(
    gated: GatedBroker,
) -> None:
    async with asyncio.timeout(LIMIT_S):
        await gated.set(rel=FAST)
        await gated.publish("rel", 500)
        await until(lambda: gated.passed == 500, "all left")
        while (await gated.plane.driver.stats()).ingress_backlog["rel"]:
            await asyncio.sleep(0.05)
        await gated.plane.close()
        again = GatedBroker(await Plane("a", gated.plane.server).open(), gated.publisher)
        gated.plane = again.plane
        await again.set(rel=SLOW)
        await asyncio.sleep(2.2)
        for _ in range(2):
            assert await again.work_peak("rel") == pytest.approx(0.0, abs=SLOW.size)
            assert again.waiting == 0
        await again.publish("rel", 12)
        await until(lambda: again.passed == 2, "the bucket is empty")
        await again.work_peak("rel")
        assert again.waiting == pytest.approx(10, abs=1)


async def test_what_waits_in_a_stream_made_anew_is_unfinished(gated: GatedBroker) -> None:
    """Its numbers begin again, below those of what has passed."""
    async with asyncio.timeout(LIMIT_S):
        await gated.set(rel=FAST)
        await gated.publish("rel", 900)
        await until(lambda: gated.passed == 900, "all left")
        await asyncio.sleep(0.3)
        await gated.work_peak("rel")
        assert await gated.work_peak("rel") == pytest.approx(0.0, abs=0.1)
        await gated.set(rel=SLOW)
        js = gated.publisher.jetstream()
        await js.delete_stream("WEIR_IN_rel")
        while True:
            try:
                await js.publish("weir.in.rel", b"x")
            except (NoStreamResponseError, NoRespondersError):
                await asyncio.sleep(0.05)
            else:
                break
        await asyncio.gather(*(js.publish("weir.in.rel", b"x") for _ in range(399)))
        assert await gated.work_peak("rel") == pytest.approx(400, abs=10)
        assert gated.waiting == pytest.approx(1_300 - gated.passed, abs=2)
        await asyncio.sleep(1.5)
        await gated.work_peak("rel")
        assert gated.waiting == pytest.approx(1_300 - gated.passed, abs=2)


def surplus(passed_at: Sequence[float], changes: Sequence[tuple[float, float, Bucket]]) -> float:
    """By how much any interval holds more than the size at its beginning and what flowed in since;
    a part holds from some moment between two on, here from the one that allows more."""
    pieces: list[tuple[float, float, float]] = []
    for (before, after, part), following in zip(changes, [*changes[1:], None], strict=True):
        held = pieces[-1] if pieces else (before, 0.0, 0.0)
        pieces.append((before, max(part.rate_per_s, held[1]), max(1.0, part.size, held[2])))
        if following is None or after < following[0]:
            pieces.append((after, part.rate_per_s, max(1.0, part.size)))

    def inflow(at: float) -> tuple[float, float]:
        total, size = 0.0, 0.0
        for (begins, rate, holds), end in zip(
            pieces, [*(piece[0] for piece in pieces[1:]), float("inf")], strict=True
        ):
            if at < begins:
                break
            total += rate * (min(at, end) - begins)
            size = holds
        return total, size

    least, most = float("inf"), float("-inf")
    for index, at in enumerate(passed_at):
        total, size = inflow(at)
        least = min(least, index - total + size)
        most = max(most, index + 1 - total - least)
    return most


@pytest.mark.parametrize("flow", list(FLOWS))
async def test_parts_that_move_lose_stall_and_let_through_nothing_too_much(
    gated: GatedBroker, flow: str
) -> None:
    """Messages wait all the time, while the part shrinks and grows every 0.7 s."""
    count = 800
    async with asyncio.timeout(LIMIT_S):
        parts = cycle(PARTS)
        changes: list[tuple[float, float, Bucket]] = []

        async def move() -> None:
            part, before = next(parts), time.monotonic()
            await gated.set(**{flow: part})
            changes.append((before, time.monotonic(), part))

        await move()
        await gated.publish(flow, count)
        while gated.passed < count:
            stalled = gated.passed
            await asyncio.sleep(0.7)
            part = changes[-1][2]
            if gated.passed < count:
                assert gated.passed - stalled >= 0.6 * 0.7 * part.rate_per_s, part
            await move()
            assert len(changes) < 30
        await until(lambda: len(gated.plane.driver.passed_at) == count, "each is delivered once")
        assert len(changes) >= 5
        passed_at = gated.plane.driver.passed_at
        assert surplus(passed_at, changes) <= LATE_S * max(part.rate_per_s for part in PARTS)
