"""An agent's enforcement at a real broker, for tests of what waits at the parts of buckets."""

from __future__ import annotations

import time
from typing import Any

from agent.drivers.base import Stats
from agent.enforcement import Enforcer
from agent.router import Router
from agent.telemetry import Meter
from apps.telemetry.domain.payload import telemetry_checked
from tests.agent.planes import Plane, until
from weir.coordination.wire import Bucket, ClassSpec, Delivery, Document, FlowSpec

FLOWS = {"core": Delivery.BEST_EFFORT, "rel": Delivery.RELIABLE}


def flow_telemetry(router: Router, flow: str) -> dict[str, Any]:
    """Return what the control plane takes from an agent of one flow, of all that was measured."""
    now = time.monotonic()
    sample = Meter(now - 1.0).measure(now, router.counters(), Stats())
    return dict(telemetry_checked(sample)["flows"][flow])


class GatedBroker:
    """One broker with its agent's enforcement, and a publisher beside it."""

    def __init__(self, plane: Plane, publisher: Any) -> None:
        self.plane = plane
        self.publisher = publisher
        self.enforcer = Enforcer(driver=plane.driver, router=plane.router, busy=frozenset)
        self.meter = Meter(time.monotonic())
        self.number = 0
        self.waiting = 0.0

    async def set(self, **parts: Bucket) -> None:
        """Bring parts of buckets into force by a document, by flow; those of others end."""
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
        """Publish so many messages; the broker has taken them when this returns."""
        for _ in range(count):
            await self.publisher.publish(f"weir.in.{flow}", b"x")
        await self.publisher.flush()

    @property
    def passed(self) -> int:
        """Messages of all flows that have left since the agent began."""
        return sum(self.plane.router.counters().passed.values())

    async def wait_passed(self, flow: str, count: int) -> None:
        """Wait until so many messages of a flow have left since the agent began."""
        await until(lambda: self.plane.router.counters().passed.get(flow, 0) == count, "all left")

    async def wait_held(self, flow: str) -> None:
        """Wait until messages of a flow are held at its gate."""
        await until(lambda: self.plane.router.counters().waiting.get(flow, 0) > 0, "some wait")

    async def work_peak(self, flow: str) -> float | None:
        """Return what the agent reports since the last call; `waiting` is what it says beside."""
        stats = await self.plane.driver.stats()
        assert stats.streams_read
        sample = self.meter.measure(time.monotonic(), self.plane.router.counters(), stats)
        known = telemetry_checked(sample)["flows"].get(flow, {})
        assert ("work_peak" in known) == ("work_waiting" in known)
        if "work_peak" not in known:
            return None
        self.waiting = known["work_waiting"]
        return float(known["work_peak"])

    def profile(self, flow: str) -> dict[str, float]:
        """Return the profile of a flow's waits since its part was set."""
        members = flow_telemetry(self.plane.router, flow).items()
        return {name: value for name, value in members if name.startswith("profile_")}
