"""Parts of a bucket that are moved while messages wait at them, and what is unfinished there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from nats.errors import NoRespondersError
from nats.js.errors import NoStreamResponseError

from agent.drivers.base import Batch, Message, Room, Source, Stats
from agent.drivers.simulated.broker import VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from agent.enforcement import Enforcer
from agent.profile import ProfileKey
from agent.pump import Pump, ReadUpTo
from agent.telemetry import Meter
from apps.telemetry.domain.payload import telemetry_checked
from tests.agent.planes import Plane, client, until
from tests.nats_server import NatsServer
from weir.coordination.wire import Bucket, ClassSpec, Delivery, Document, FlowSpec, Gate

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 90
FLOWS = {"core": Delivery.BEST_EFFORT, "rel": Delivery.RELIABLE}
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


class Here:
    """An agent's enforcement at a real broker, and a publisher beside it."""

    def __init__(self, plane: Plane, publisher: Any) -> None:
        self.plane = plane
        self.publisher = publisher
        self.enforcer = Enforcer(driver=plane.driver, router=plane.router, busy=frozenset)
        self.meter = Meter(time.monotonic())
        self.number = 0
        self.waiting = 0.0

    async def set(self, **parts: Bucket) -> None:
        self.number += 1
        document = Document(
            system="s",
            broker="a",
            version=f"v{self.number}",
            number=self.number,
            flows={flow: FlowSpec(delivery=how, ingress=True) for flow, how in FLOWS.items()},
            classes={f"of {flow}": ClassSpec(flow=flow) for flow in FLOWS},
            buckets=parts,
        )
        assert await self.enforcer.apply(document, current=lambda: True)
        assert self.enforcer.observed(Stats()).buckets == parts

    async def publish(self, flow: str, count: int) -> None:
        for _ in range(count):
            await self.publisher.publish(f"weir.in.{flow}", b"x")
        await self.publisher.flush()

    @property
    def passed(self) -> int:
        return sum(self.plane.router.counters().passed.values())

    async def work_peak(self, flow: str) -> float | None:
        """What the agent reports since the last call."""
        stats = await self.plane.driver.stats()
        assert stats.streams_read
        sample = self.meter.measure(time.monotonic(), self.plane.router.counters(), stats)
        known = telemetry_checked(sample)["flows"].get(flow, {})
        assert ("work_peak" in known) == ("work_waiting" in known)
        if "work_peak" not in known:
            return None
        self.waiting = known["work_waiting"]
        return float(known["work_peak"])


@pytest_asyncio.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    with NatsServer(tmp_path / "nats") as server:
        plane = await Plane("a", server).open()
        publisher = await client(server)
        yield Here(plane, publisher)
        await publisher.close()
        await plane.close()


@pytest.mark.parametrize("flow", list(FLOWS))
async def test_a_burst_shows_what_it_leaves_unfinished_whatever_the_size(
    here: Here, flow: str
) -> None:
    async with asyncio.timeout(LIMIT_S):
        for size in (3.0, 40.0):
            passed = here.passed
            await here.set(**{flow: replace(PART, size=size)})
            await asyncio.sleep(size / PART.rate_per_s + 0.2)  # until it is full
            await here.work_peak(flow)
            assert await here.work_peak(flow) == pytest.approx(0.0, abs=0.1)
            began = time.monotonic()
            await here.publish(flow, BURST)
            lasted_s = time.monotonic() - began
            await until(lambda want=passed + BURST: here.passed == want, "all left")  # type: ignore[misc]
            peak = await here.work_peak(flow)
            assert here.waiting == 0, "none waits, though the broker may still store some"
            assert peak is not None
            assert BURST - 1 - PART.rate_per_s * (lasted_s + LATE_S) <= peak <= BURST + 0.1
            assert peak > 0.7 * BURST, "or nothing is shown"
            await asyncio.sleep(BURST / PART.rate_per_s)
        await here.set(**{flow: replace(PART, count_only=True)})
        assert await here.work_peak(flow) is None, "nothing is enforced"


async def test_what_waits_in_the_broker_is_unfinished_at_once(here: Here) -> None:
    """Far more than the agent reads ahead of a gate that lets one go each second."""
    async with asyncio.timeout(LIMIT_S):
        await here.set(rel=SLOW)
        await asyncio.sleep(2.2)
        await here.publish("rel", 5)
        await until(lambda: here.passed == 2, "the bucket is empty")
        js = here.publisher.jetstream()
        await asyncio.gather(*(js.publish("weir.in.rel", b"x") for _ in range(3_000)))
        peak = await here.work_peak("rel")
        assert peak == pytest.approx(3_005, abs=10)
        assert here.passed < 20, "they have not passed"
        assert here.waiting == pytest.approx(3_005 - here.passed, abs=2)
        # Not a peak of before: they wait still.
        assert await here.work_peak("rel") == pytest.approx(3_005, abs=20)
        await here.set(rel=FAST)
        await until(lambda: here.passed == 3_005, "none is lost")
        await here.work_peak("rel")
        assert await here.work_peak("rel") == pytest.approx(0.0, abs=0.1)


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


async def test_an_agent_that_begins_again_reports_nothing_that_has_passed(here: Here) -> None:
    async with asyncio.timeout(LIMIT_S):
        await here.set(rel=FAST)
        await here.publish("rel", 500)
        await until(lambda: here.passed == 500, "all left")
        while (await here.plane.driver.stats()).ingress_backlog["rel"]:
            await asyncio.sleep(0.05)
        await here.plane.close()
        again = Here(await Plane("a", here.plane.server).open(), here.publisher)
        here.plane = again.plane
        await again.set(rel=SLOW)
        await asyncio.sleep(2.2)
        for _ in range(2):
            assert await again.work_peak("rel") == pytest.approx(0.0, abs=SLOW.size)
            assert again.waiting == 0
        await again.publish("rel", 12)
        await until(lambda: again.passed == 2, "the bucket is empty")
        await again.work_peak("rel")
        assert again.waiting == pytest.approx(10, abs=1)


async def test_what_waits_in_a_stream_made_anew_is_unfinished(here: Here) -> None:
    """Its numbers begin again, below those of what has passed."""
    async with asyncio.timeout(LIMIT_S):
        await here.set(rel=FAST)
        await here.publish("rel", 900)
        await until(lambda: here.passed == 900, "all left")
        await asyncio.sleep(0.3)
        await here.work_peak("rel")
        assert await here.work_peak("rel") == pytest.approx(0.0, abs=0.1)
        await here.set(rel=SLOW)
        js = here.publisher.jetstream()
        await js.delete_stream("WEIR_IN_rel")
        while True:
            try:
                await js.publish("weir.in.rel", b"x")
            except (NoStreamResponseError, NoRespondersError):
                await asyncio.sleep(0.05)
            else:
                break
        await asyncio.gather(*(js.publish("weir.in.rel", b"x") for _ in range(399)))
        assert await here.work_peak("rel") == pytest.approx(400, abs=10)
        assert here.waiting == pytest.approx(1_300 - here.passed, abs=2)
        await asyncio.sleep(1.5)
        await here.work_peak("rel")
        assert here.waiting == pytest.approx(1_300 - here.passed, abs=2)


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
    here: Here, flow: str
) -> None:
    """Messages wait all the time, while the part shrinks and grows every 0.7 s."""
    count = 800
    async with asyncio.timeout(LIMIT_S):
        parts = cycle(PARTS)
        changes: list[tuple[float, float, Bucket]] = []

        async def move() -> None:
            part, before = next(parts), time.monotonic()
            await here.set(**{flow: part})
            changes.append((before, time.monotonic(), part))

        await move()
        await here.publish(flow, count)
        while here.passed < count:
            stalled = here.passed
            await asyncio.sleep(0.7)
            part = changes[-1][2]
            if here.passed < count:
                assert here.passed - stalled >= 0.6 * 0.7 * part.rate_per_s, part
            await move()
            assert len(changes) < 30
        await until(lambda: len(here.plane.driver.passed_at) == count, "each is delivered once")
        assert len(changes) >= 5
        passed_at = here.plane.driver.passed_at
        assert surplus(passed_at, changes) <= LATE_S * max(part.rate_per_s for part in PARTS)
