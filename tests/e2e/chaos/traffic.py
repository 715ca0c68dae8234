"""Publishers and recorders that know NATS and nothing of the agent.

Publishers number their messages per flow and send the next one when the last is acknowledged;
one that got no answer is sent again under the same id. Recorders write down what they get and,
after a lost connection, go on behind the last stream sequence they saw. Both live through anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import nats
import nats.errors
import nats.js.errors
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from agent.drivers.nats.names import class_inbox

_TIMEOUT_S = 2.0
_RETRY_S = 0.1


@dataclass(slots=True)
class Published:
    """What one publisher was told is safe."""

    flow: str
    acknowledged: int = 0
    """Messages 1..acknowledged are."""
    repeated: int = 0


@dataclass(slots=True)
class Recorded:
    """What one consumer got, in its order."""

    name: str
    flow: str
    numbers: list[int] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    """Of messages that are not numbered as they should be."""
    times: list[float] = field(default_factory=list)
    connects: int = 0

    def take(self, data: bytes) -> None:
        """One message."""
        flow, _, number = data.partition(b":")
        if flow.decode() != self.flow or not number.isdigit():
            self.texts.append(data)
        else:
            self.numbers.append(int(number))
            self.times.append(time.monotonic())


async def connect(url: str, user: str, password: str, name: str) -> Any:
    """Connect as a publisher or as a consumer of a class, whose name is its user."""

    async def ignore(_: Exception) -> None:
        pass

    return await asyncio.wait_for(
        nats.connect(
            url,
            user=user,
            password=password,
            name=name,
            inbox_prefix="_INBOX" if user == "publisher" else class_inbox(user),
            allow_reconnect=False,
            connect_timeout=_TIMEOUT_S,
            error_cb=ignore,
        ),
        2 * _TIMEOUT_S,
    )


async def close(client: Any) -> None:
    """End a connection, also one that is lost."""
    if client is not None:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(client.close(), 1)


async def publish_reliable(
    url: str, key: str, published: Published, *, rate_per_s: float, enough: Callable[[], bool]
) -> None:
    """Publish until `enough` says so, at most `rate_per_s`, each message until acknowledged."""
    client, flow = None, published.flow
    due = time.monotonic()
    try:
        while not enough():
            number = published.acknowledged + 1
            try:
                if client is None:
                    client = await connect(url, "publisher", key, f"publisher {flow}")
                    stream = client.jetstream(timeout=_TIMEOUT_S)
                await stream.publish(
                    f"weir.in.{flow}",
                    f"{flow}:{number}".encode(),
                    headers={"Nats-Msg-Id": f"{flow}:{number}"},
                )
            except (nats.errors.Error, nats.js.errors.Error, OSError, TimeoutError):
                published.repeated += 1
                if client is not None and not client.is_connected:
                    await close(client)
                    client = None
                await asyncio.sleep(_RETRY_S)
                continue
            published.acknowledged = number
            due = max(due + 1 / rate_per_s, time.monotonic() - 0.5)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
    finally:
        await close(client)


async def record_reliable(url: str, key: str, recorded: Recorded) -> None:
    """Record a class's stream from its beginning until cancelled."""
    stream, last = f"WEIR_MSG_{recorded.flow}", 0
    client = None
    try:
        while True:
            try:
                client = await connect(url, recorded.name, key, f"{recorded.name}#1")
                recorded.connects += 1
                js = client.jetstream(timeout=_TIMEOUT_S)
                config = ConsumerConfig(
                    ack_policy=AckPolicy.NONE,
                    deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
                    opt_start_seq=last + 1,
                    mem_storage=True,
                    inactive_threshold=60,
                )
                info = await js.add_consumer(stream, config=config)
                subscription = await js.pull_subscribe_bind(info.name, stream=stream)
                while client.is_connected:
                    try:
                        messages = await subscription.fetch(500, timeout=1)
                    except (nats.errors.TimeoutError, TimeoutError):
                        continue
                    for message in messages:
                        # Fetching again after a timeout may bring what came meanwhile: the
                        # stream's own number says whether we have it.
                        sequence = message.metadata.sequence.stream
                        if sequence == last + 1:
                            last = sequence
                            recorded.take(message.data)
                        elif sequence > last:
                            raise nats.errors.Error("a gap in what the server sent")
            except (nats.errors.Error, nats.js.errors.Error, OSError, TimeoutError):
                pass
            await close(client)
            client = None
            await asyncio.sleep(_RETRY_S)
    finally:
        await close(client)
