"""Six brokers in a tree with four flows and sixteen consumers, and the traffic on them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import nats.errors

from benchmarks.fleet.fleet import Fleet
from tests.e2e.chaos.audit import Verdict, judge
from tests.e2e.chaos.traffic import (
    Published,
    Recorded,
    close,
    connect,
    publish_reliable,
    record_reliable,
)
from weir.coordination.wire import Delivery

BROKERS = tuple("abcdef")
EDGES = (("a", "b"), ("b", "c"), ("c", "d"), ("c", "e"), ("e", "f"))
INGRESS = {"r1": "a", "r2": "c", "r3": "d", "r4": "f"}
READERS = {"r1": "bcdf", "r2": "abef", "r3": "acef", "r4": "abdf"}
GATE_PER_S = 400.0
"""Far above the traffic."""
RATE_PER_S = 100.0
"""Of each publisher."""
BEGIN_S = 2.0
"""From the first publishers to the first shift."""
ARRIVE_S = 60.0
RETRY_S = 0.1


def system(delivery: Delivery) -> dict[str, Any]:
    """The description of the system, for `Fleet`."""
    return {
        "brokers": list(BROKERS),
        "edges": [list(edge) for edge in EDGES],
        "flows": {
            flow: {
                "delivery": delivery,
                "ingress": broker,
                "rate_per_s": GATE_PER_S,
                "burst": GATE_PER_S / 20,
            }
            for flow, broker in INGRESS.items()
        },
        "classes": {
            f"{flow}@{broker}": {"flow": flow, "broker": broker, "limit": 1}
            for flow, brokers in READERS.items()
            for broker in brokers
        },
    }


def under_load(fleet: Fleet, delivery: Delivery, work: Callable[[], None]) -> Verdict:
    """Carry out `work` while everybody publishes and records; what came of the messages. Best
    effort promises nothing, so that its verdict counts only what nobody has published."""
    return asyncio.run(_under_load(fleet, delivery, work))


async def _under_load(fleet: Fleet, delivery: Delivery, work: Callable[[], None]) -> Verdict:
    url = {name: broker.url for name, broker in fleet.brokers.items()}
    key, done = fleet.client_key, asyncio.Event()
    published = {flow: Published(flow) for flow in INGRESS}
    recorded = {
        (flow, broker): Recorded(f"{flow}@{broker}", flow)
        for flow, brokers in READERS.items()
        for broker in brokers
    }
    reliable = delivery is Delivery.RELIABLE
    publish = publish_reliable if reliable else publish_best_effort
    record = record_reliable if reliable else record_best_effort
    recording = [
        asyncio.create_task(record(url[broker], key, each))
        for (_, broker), each in recorded.items()
    ]
    publishing = [
        asyncio.create_task(
            publish(url[INGRESS[flow]], key, each, rate_per_s=RATE_PER_S, enough=done.is_set)
        )
        for flow, each in published.items()
    ]
    try:
        await asyncio.sleep(BEGIN_S)
        await asyncio.to_thread(work)
        done.set()
        await asyncio.gather(*publishing)
        until = time.monotonic() + ARRIVE_S
        while reliable and time.monotonic() < until:
            if all(
                len(set(each.numbers)) >= published[flow].acknowledged
                for (flow, _), each in recorded.items()
            ):
                break
            await asyncio.sleep(0.1)
    finally:
        done.set()
        for task in (*publishing, *recording):
            task.cancel()
        await asyncio.gather(*publishing, *recording, return_exceptions=True)
    total = Verdict()
    for (flow, _), each in recorded.items():
        sent = published[flow].acknowledged
        safe = sent if reliable else 0
        total += judge(safe, sent + reliable, each.numbers, len(each.texts))
    return total


async def publish_best_effort(
    url: str, key: str, published: Published, *, rate_per_s: float, enough: Callable[[], bool]
) -> None:
    """Publish without asking, in slices of 10 ms; `acknowledged` counts what was written."""
    flow = published.flow
    due = time.monotonic()
    client = await connect(url, "publisher", key, f"publisher {flow}")
    try:
        while not enough():
            for _ in range(max(1, int(rate_per_s / 100))):
                published.acknowledged += 1
                await client.publish(f"weir.in.{flow}", f"{flow}:{published.acknowledged}".encode())
            due = max(due + 0.01, time.monotonic() - 0.1)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
    finally:
        await close(client)


async def record_best_effort(url: str, key: str, recorded: Recorded) -> None:
    """Record a class's subject until cancelled; wait for admission as long as it takes."""
    client = None

    async def take(message: Any) -> None:
        recorded.take(message.data)

    try:
        while True:
            with contextlib.suppress(nats.errors.Error, OSError, TimeoutError):
                client = await connect(url, recorded.name, key, f"{recorded.name}#1")
                await client.subscribe(f"weir.msg.{recorded.flow}", cb=take)
                while client.is_connected:
                    await asyncio.sleep(0.1)
            await close(client)
            client = None
            await asyncio.sleep(RETRY_S)
    finally:
        await close(client)
