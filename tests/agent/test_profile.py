"""What messages waited since a part of a bucket was set, and what of that the part explains."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent.drivers.base import Stats
from agent.enforcement import Enforcer
from agent.telemetry import Meter
from apps.telemetry.domain.payload import telemetry_checked
from tests.agent.planes import Plane, client, until
from tests.nats_server import NatsServer
from weir.coordination.wire import Bucket, ClassSpec, Delivery, Document, FlowSpec

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 90
SLOW = Bucket(rate_per_s=50.0, size=2.0)
PART = Bucket(rate_per_s=200.0, size=3.0)
BURST = 61
LAST_S = (BURST - PART.size) / PART.rate_per_s
"""What the part holds the last message of a burst that finds it full."""
CLOCKS_S = 0.01
SLICE_S = 0.05
"""Longer than the agent takes for a message on a busy machine, shorter than what the part holds."""
FLOWS = {"core": Delivery.BEST_EFFORT, "rel": Delivery.RELIABLE}


class Here:
    """An agent's enforcement at a real broker, and a publisher beside it."""

    def __init__(self, plane: Plane, publisher: Any) -> None:
        self.plane = plane
        self.publisher = publisher
        self.enforcer = Enforcer(driver=plane.driver, router=plane.router, busy=frozenset)
        self.number = 0

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
        await self.enforcer.apply(document, current=lambda: True)
        assert self.enforcer.observed(Stats()).buckets == parts

    async def publish(self, flow: str, count: int) -> None:
        for _ in range(count):
            await self.publisher.publish(f"weir.in.{flow}", b"x")
        await self.publisher.flush()

    async def passed(self, flow: str, count: int) -> None:
        """Wait until so many messages have left since the agent began."""
        await until(lambda: self.plane.router.counters().passed.get(flow, 0) == count, "all left")

    def measured(self, flow: str) -> dict[str, float]:
        now = time.monotonic()
        sample = Meter(now - 1.0).measure(now, self.plane.router.counters(), Stats())
        members = telemetry_checked(sample)["flows"].get(flow, {}).items()
        return {name: value for name, value in members if name.startswith("profile_")}


@pytest_asyncio.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    with NatsServer(tmp_path / "nats") as server:
        plane = await Plane("a", server).open()
        publisher = await client(server)
        yield Here(plane, publisher)
        await publisher.close()
        await plane.close()


@pytest.mark.parametrize("flow", list(FLOWS))
async def test_a_profile_counts_what_arrived_since_and_says_what_the_part_explains(
    here: Here, flow: str
) -> None:
    async with asyncio.timeout(LIMIT_S):
        await here.set(**{flow: SLOW})
        assert here.measured(flow).keys() <= {
            *("profile_s", "profile_messages", "profile_rate_per_s", "profile_size"),
        }
        await here.publish(flow, 30)
        await until(lambda: here.plane.router.counters().waiting.get(flow, 0) > 0, "some wait")
        await asyncio.sleep(0.1)
        await here.set(**{flow: PART})
        # Those who come while some of before still wait, wait for the tokens that these take.
        await here.publish(flow, 5)
        await asyncio.sleep(0.1)
        await here.passed(flow, 35)
        await asyncio.sleep(0.1)
        since = time.monotonic()
        assert here.measured(flow)["profile_messages"] == 0, "they came before the part was set"
        for number in range(1, 4):
            await here.publish(flow, BURST)
            await here.passed(flow, 35 + number * BURST)
            await asyncio.sleep(0.1)
        known = here.measured(flow)
        assert known["profile_messages"] == 3 * BURST
        assert known["profile_s"] == pytest.approx(time.monotonic() - since, abs=0.5)
        assert (known["profile_rate_per_s"], known["profile_size"]) == (200.0, 3.0)
        assert LAST_S - CLOCKS_S - 0.02 <= known["profile_p99_s"] <= LAST_S + SLICE_S
        assert known["profile_mean_s"] > 0.3 * LAST_S
        assert known["profile_own_p99_s"] <= SLICE_S < 0.5 * known["profile_p99_s"]
        assert known["profile_p99_low_s"] == 0.0, "far too few"
        assert "profile_p99_high_s" not in known

        await here.set(**{flow: PART})
        assert here.measured(flow)["profile_messages"] == 3 * BURST, "what stays goes on"
        await here.set(**{flow: Bucket(rate_per_s=200.0, size=4.0)})
        assert here.measured(flow)["profile_messages"] == 0
        await here.set(**{flow: Bucket(rate_per_s=200.0, size=4.0, count_only=True)})
        assert here.measured(flow) == {}, "nothing is enforced"
        await here.set()
        assert here.measured(flow) == {}


@pytest.mark.parametrize("flow", list(FLOWS))
async def test_what_arrives_in_a_pause_is_left_out_and_who_waits_behind_it(
    here: Here, flow: str
) -> None:
    async with asyncio.timeout(LIMIT_S):
        await here.set(**{flow: PART})
        await here.publish(flow, 1)
        await here.passed(flow, 1)
        here.plane.router.pause(frozenset())
        await here.publish(flow, BURST)
        await asyncio.sleep(0.5)
        here.plane.router.resume()
        await asyncio.sleep(0.05)
        # They wait behind those of the pause, for tokens: 0.2 s later these are gone.
        await here.publish(flow, 5)
        await here.passed(flow, BURST + 6)
        assert here.measured(flow)["profile_messages"] == 1
        await asyncio.sleep(0.1)
        await here.publish(flow, 2)
        await here.passed(flow, BURST + 8)
        known = here.measured(flow)
        assert known["profile_messages"] == 3
        assert known["profile_p99_s"] <= SLICE_S


async def test_who_waits_behind_others_for_long_is_counted_in_the_end(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More is sent than the part lets through: nobody ever finds a token again."""
    monkeypatch.setattr("agent.profile.PATIENCE_S", 2.0)
    async with asyncio.timeout(LIMIT_S):
        await here.set(core=SLOW)
        await here.publish("core", 300)
        await until(lambda: here.plane.router.counters().waiting.get("core", 0) > 0, "some wait")
        await here.set(core=Bucket(rate_per_s=60.0, size=2.0))
        await here.publish("core", 5)
        await asyncio.sleep(2.5)
        await here.publish("core", 5)
        await here.passed("core", 310)
        known = here.measured("core")
        assert known["profile_messages"] == 5
        assert known["profile_p99_s"] > 0.1, "they waited behind those of before"


async def test_a_gate_without_a_part_has_no_profile(here: Here) -> None:
    async with asyncio.timeout(LIMIT_S):
        await here.set()
        assert PART.gate is not None
        here.plane.router.flows.set_gate("core", PART.gate)
        await here.publish("core", 5)
        await here.passed("core", 5)
        assert here.measured("core") == {}
