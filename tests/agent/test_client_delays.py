"""How long messages and answers took over real brokers, as consumers and requesters count it."""

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
REQUESTERS = 4
PAUSE_S, SERVED_S = 0.15, 0.1


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


class Requester:
    """One that asks over a flow, waits for its answer on another, pauses, and asks again."""

    def __init__(self, name: str, publisher: Publisher, client: Any) -> None:
        self.name, self.publisher = name, publisher
        self.counted = Delays()
        self.answered = asyncio.Event()
        self.trips_s: list[float] = []
        self._tasks = [
            asyncio.create_task(self.counted.hand_over(client, "k-rel", every_s=0.2)),
            asyncio.create_task(self._ask()),
        ]

    async def _ask(self) -> None:
        while True:
            began = time.monotonic()
            with self.counted.request():
                self.answered.clear()
                await self.publisher.publish("core", self.name.encode(), reliable=False)
                await self.answered.wait()
            self.trips_s.append(time.monotonic() - began)
            await asyncio.sleep(PAUSE_S)

    async def leave(self) -> None:
        for task in self._tasks:
            await end(task)


async def asked(directory: Path, seconds: float) -> tuple[dict[str, Any], list[Requester]]:
    """Return what agent b measured of requesters there whose requests go over a and b to a service
    at c, which answers over c and b; and these."""
    stand = Stand(directory)
    rows: list[dict[str, Any]] = []
    try:
        await stand.start()
        clients = {}
        for broker, name in (("b", "k-rel"), ("c", "k-core")):
            at = stand.brokers[broker]
            clients[broker] = await nats.connect(
                at.url, user=name, password=at.secrets.client_key, inbox_prefix=class_inbox(name)
            )
            stand.clients.append(clients[broker])
        key = {name: broker.secrets.client_key for name, broker in stand.brokers.items()}
        urls = {name: broker.url for name, broker in stand.brokers.items()}
        requesters: dict[str, Requester] = {}
        async with (
            await Publisher.connect(urls["a"], name="asking", key=key["a"]) as asking,
            await Publisher.connect(urls["c"], name="service", key=key["c"]) as service,
        ):

            async def serve(message: Msg) -> None:
                await asyncio.sleep(SERVED_S)
                await service.publish("rel", message.data, reliable=True)

            async def answer(message: Msg) -> None:
                requesters[message.data.decode()].answered.set()

            await clients["c"].subscribe("weir.msg.core", cb=serve)
            await clients["c"].flush()
            await (
                clients["b"]
                .jetstream(timeout=30)
                .subscribe(
                    "weir.msg.rel.>", stream="WEIR_MSG_rel", cb=answer, ordered_consumer=True
                )
            )
            for number in range(REQUESTERS):
                name = f"r{number}"
                requesters[name] = Requester(name, asking, clients["b"])
            meter, until_s = Meter(time.monotonic()), time.monotonic() + seconds
            while time.monotonic() < until_s:
                await asyncio.sleep(0.2)
                stats = await stand.agents["b"].driver.stats()
                sample = meter.measure(time.monotonic(), Counters(), stats)
                rows.append(telemetry_checked(sample)["classes"]["k-rel"])
            for requester in requesters.values():
                await requester.leave()
    finally:
        await stand.stop()
    counts = {
        name: sum(row.get(name, 0) for row in rows) for name in ("pauses", "paused_s", "unanswered")
    }
    bins = [each for row in rows for each in row.get("answer_delays", ())]
    answers = sum(messages for _, messages in bins)
    total_s = sum(messages * 2 ** ((bin_ + 0.5) / 16) for bin_, messages in bins)
    return {**counts, "answers": answers, "total_s": total_s}, list(requesters.values())


@pytest.mark.slow
def test_requesters_over_real_brokers_are_counted_by_the_law_of_their_loop(tmp_path: Path) -> None:
    seconds = 8.0
    counts, requesters = asyncio.run(asked(tmp_path, seconds))
    trips_s = [trip_s for requester in requesters for trip_s in requester.trips_s]
    # The last ones of each may be in no report.
    assert len(trips_s) - 3 * REQUESTERS <= counts["answers"] <= len(trips_s)
    assert counts["answers"] >= 10
    assert counts["unanswered"] == 0
    response_s = counts["total_s"] / counts["answers"]
    assert response_s == pytest.approx(np.mean(trips_s), rel=0.1)
    pause_s = counts["paused_s"] / counts["pauses"]
    assert pause_s >= PAUSE_S
    # Each loop began once without a pause, and one may be under way: a part of all that ended.
    senders = counts["answers"] / seconds * (pause_s + response_s)
    assert senders == pytest.approx(REQUESTERS, rel=0.2)
