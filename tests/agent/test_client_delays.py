"""How long messages took from publishers to consumers, over real brokers, as records have it."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import nats
import numpy as np
import pytest
from django.utils import timezone
from nats.aio.msg import Msg

from agent.drivers.nats.names import class_inbox
from agent.tasks import end
from agent.telemetry import Counters, Meter
from apps.records.models import SetAsideRow
from apps.records.services import measurements_take
from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.models import Sample
from tests.agent.planes import until
from tests.agent.stand import Stand
from tests.apps.records.files import kept
from tests.factories import make_class
from tests.factories.lab import Lab, make_lab
from weir.coordination.wire import Gate
from weir.queueing.delay_histograms import bins_of_buckets
from weir.queueing.wait_histogram import bin_of
from weir_client.delays import SENT_HEADER, Delays
from weir_client.publisher import Publisher

LIMIT_S = 120
MESSAGES = 40
HELD_S = 0.5
"""The last messages wait at the gate for longer than this."""


@pytest.fixture
def lab(db: None, settings: Any, tmp_path: Path) -> Lab:
    settings.WEIR_DATA_DIR = str(tmp_path / "data")
    return make_lab()


class Consumer:
    """A consumer of a class that counts delays, and what its own clock says of each message."""

    def __init__(self, name: str, client: Any) -> None:
        self.delays_s: list[float] = []
        self.counted = Delays(clock=lambda: self._now)
        self._now = 0.0
        self._reporting = asyncio.create_task(self.counted.hand_over(client, name, every_s=0.2))

    async def receive(self, message: Msg) -> None:
        self._now = time.time()
        self.counted.receive(message.headers)
        self.delays_s.append(self._now - float(message.headers[SENT_HEADER]))

    async def leave(self) -> None:
        await end(self._reporting)


async def measured(directory: Path, flow: str) -> tuple[dict[str, Any], list[float]]:
    """Return what the control plane takes of the agent at c after messages of a publisher at a have
    come over b, behind a gate, to a consumer at c; and what each took by the consumer's clock."""
    stand = Stand(directory)
    stand.gates["a"] = {
        "core": Gate(rate_per_s=50.0, burst=5.0),
        "rel": Gate(rate_per_s=50.0, burst=5.0),
    }
    name = f"k-{flow}"
    try:
        await stand.start()
        at_c = stand.brokers["c"]
        client = await nats.connect(
            at_c.url, user=name, password=at_c.secrets.client_key, inbox_prefix=class_inbox(name)
        )
        stand.clients.append(client)
        consumer = Consumer(name, client)
        if flow == "core":
            await client.subscribe("weir.msg.core", cb=consumer.receive)
        else:
            await client.jetstream(timeout=30).subscribe(
                "weir.msg.rel.>", stream="WEIR_MSG_rel", cb=consumer.receive, ordered_consumer=True
            )
        await client.flush()
        at_a = stand.brokers["a"]
        async with await Publisher.connect(
            at_a.url, name="p", key=at_a.secrets.client_key
        ) as publisher:
            await asyncio.gather(
                *(
                    publisher.publish(flow, b"%d" % number, reliable=flow == "rel")
                    for number in range(MESSAGES)
                )
            )
            await until(lambda: len(consumer.delays_s) == MESSAGES, "all have come")
        # A consumer speaks for its own class alone.
        other = "k-rel" if flow == "core" else "k-core"
        await client.publish(f"weir.delays.{other}", b'{"skewed": 3}')
        meter, reported = Meter(time.monotonic()), []

        def is_reported() -> bool:
            counts = [row["delivery_delays"] for row in reported]
            return sum(number for bins in counts for _, number in bins) == MESSAGES

        async with asyncio.timeout(LIMIT_S):
            while not is_reported():
                await asyncio.sleep(0.05)
                stats = await stand.agents["c"].driver.stats()
                sample = meter.measure(time.monotonic(), Counters(), stats)
                classes = telemetry_checked(sample)["classes"]
                assert "skewed" not in classes.get(other, {})
                row = classes.get(name, {})
                if "delivery_delays" in row:
                    reported.append(row)
                    last = telemetry_checked(sample)
        await consumer.leave()
    finally:
        await stand.stop()
    bins = [each for row in reported for each in row["delivery_delays"]]
    longest_s = max(row["delivery_longest_s"] for row in reported)
    whole = {bin_: sum(n for other, n in bins if other == bin_) for bin_, _ in bins}
    last["classes"] = {
        name: {"delivery_delays": sorted(whole.items()), "delivery_longest_s": longest_s}
    }
    return telemetry_checked(last), consumer.delays_s


@pytest.mark.slow
@pytest.mark.parametrize("flow", ["core", "rel"])
def test_delays_of_deliveries_over_real_brokers_are_records_of_their_class(
    lab: Lab, tmp_path: Path, flow: str
) -> None:
    name = f"k-{flow}"
    make_class(lab.system, lab.topic, lab.there, name)
    payload, delays_s = asyncio.run(measured(tmp_path, flow))
    assert max(delays_s) > HELD_S
    noon = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=5)
    Sample.objects.create(broker=lab.there, at=noon, payload=payload)
    assert measurements_take(noon + timedelta(seconds=75)) == 1
    assert not SetAsideRow.objects.exists()
    rows = [row for row in kept(lab.system) if row.get("kind") == "delivery"]
    places = {(row["topic"], row["consumer_class"], row["broker"]) for row in rows}
    assert places == {("prices", name, "there")}
    bins = bins_of_buckets(np.array([row["delay_s"] for row in rows])).tolist()
    counted = {bin_: row["messages"] for bin_, row in zip(bins, rows, strict=True)}
    known = [bin_of(delay_s) for delay_s in delays_s]
    assert counted == {bin_: known.count(bin_) for bin_ in known}
    assert max(row["delay_s"] for row in rows) == max(delays_s)
