"""Data planes for tests: routers on real brokers, without a control plane."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import nats

from agent.drivers.base import Channel, Message, Place
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.multicast import MulticastOptions
from agent.drivers.nats.server_config import BrokerSecrets
from agent.router import Router
from agent.store import Change
from tests.agent.brokers import Broker
from tests.nats_clients import processed
from tests.nats_server import NatsServer
from weir.coordination.tables import Tables
from weir.coordination.wire import Delivery, FlowSpec

WAIT_S = 60.0
NO_LINKS = Tables()
"""Of a broker that has no neighbours and knows it."""


class TimedDriver(NatsDriver):
    """Writes down when each message of a flow was delivered: what its gate let through."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.passed_at: list[float] = []

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        if channel.place is Place.DELIVERY:
            self.passed_at += [time.monotonic()] * len(messages)
        await super().publish(channel, messages)


class Plane:
    """One broker's driver and router."""

    def __init__(
        self,
        name: str,
        server: NatsServer | Broker,
        *,
        tables: Tables | None = NO_LINKS,
        secrets: BrokerSecrets | None = None,
        driver: type[TimedDriver] = TimedDriver,
        multicast: MulticastOptions | None = None,
    ) -> None:
        """`tables`: what was saved; None: an agent that has lost its memory."""
        self.name = name
        self.server = server
        self.driver = driver(
            url=server.url,
            broker=name,
            secrets=secrets,
            multicast=multicast,
        )
        self.saved = tables
        self.router = Router(self.driver, tables=tables, save=self.save, broker=name)

    async def save(self, change: Change) -> None:
        self.saved = change(self.saved or Tables(complete=False))

    async def open(self) -> Plane:
        await self.driver.open()
        self.router.start()
        return self

    async def close(self) -> None:
        await self.router.close()
        await self.driver.close()


async def until(true: Callable[[], bool], what: str, within_s: float = WAIT_S) -> None:
    """Wait for something. Raises AssertionError naming it."""
    end = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < end, what
        await asyncio.sleep(0.01)


async def flows(plane: Plane, ingress: Iterable[str] = (), local: Iterable[str] = ()) -> None:
    """Flow `core` is best effort, flow `rel` reliable."""
    for flow, delivery in (("core", Delivery.BEST_EFFORT), ("rel", Delivery.RELIABLE)):
        spec = FlowSpec(delivery=delivery, ingress=flow in ingress)
        await plane.router.flows.ensure_flow(flow, spec)
    await plane.router.know(("core", "rel"), None)
    await plane.router.flows.set_local(local)


async def join(one: Plane, other: Plane) -> None:
    """A link between two brokers, known and told at both ends."""
    await one.router.add_link(other.name, other.server.url)
    await other.router.add_link(one.name, one.server.url)
    await until(
        lambda: one.router.ready and other.router.ready,
        f"{one.router.problems} {other.router.problems}",
    )


async def client(server: NatsServer) -> Any:
    """Somebody with a broker and no agent."""
    return await asyncio.wait_for(nats.connect(server.url, allow_reconnect=False), WAIT_S)


async def listen(connection: Any, flow: str) -> list[bytes]:
    """What arrives for best-effort consumers of a flow, from now on."""
    got: list[bytes] = []

    async def take(message: Any) -> None:
        got.append(message.data)

    await connection.subscribe(f"weir.msg.{flow}", cb=take)
    await processed(connection)
    return got


async def stored(connection: Any, flow: str) -> list[bytes]:
    """Everything in a flow's delivery stream."""
    js = connection.jetstream()
    stream = f"WEIR_MSG_{flow}"
    count = (await js.stream_info(stream)).state.messages
    if not count:
        return []
    subscription = await js.subscribe("", stream=stream, ordered_consumer=True)
    got = [(await subscription.next_msg(timeout=60)).data for _ in range(count)]
    await subscription.unsubscribe()
    return got


async def stored_count(connection: Any, flow: str) -> int:
    """How many messages a flow's delivery stream holds."""
    info = await connection.jetstream().stream_info(f"WEIR_MSG_{flow}")
    return int(info.state.messages)


def excess(times: Sequence[float], rate_per_s: float, burst: float) -> float:
    """The most by which any interval holds more than burst + rate * length; times ascend.

    Over all pairs s <= t: count(s..t) - (b + r (t - s)), in one pass: the count up to t minus r t
    may rise above its least earlier value by at most b.
    """
    least, most = float("inf"), float("-inf")
    for index, moment in enumerate(times):
        least = min(least, index - rate_per_s * moment)
        most = max(most, index + 1 - rate_per_s * moment - least)
    return most - burst
