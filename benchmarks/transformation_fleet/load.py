"""Publishers and subscribers in one event loop: light enough for a thousand of them.

Every message says who sent it, its number among that publisher's messages on its topic, and when
it was sent; a subscriber notes that with the time of arrival. Both clocks are this process's.
"""

from __future__ import annotations

import asyncio
import random
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from agent.drivers.base import Retryable
from agent.drivers.nats import names, wire
from agent.drivers.nats.connection import Connection
from benchmarks.transformation_fleet.workload import PUBLISHERS, RATE_PER_S, Subscriber, topics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

HEAD = struct.Struct("<IId")
"""Publisher, number, seconds since the epoch."""
PAYLOAD = bytes(100 - HEAD.size)
RECORD = np.dtype([("publisher", "<u4"), ("number", "<u4"), ("sent", "<f8"), ("got", "<f8")])
ADMITTED_AT_ONCE = 20
ADMIT_TRIES = 10
LATE_S = 0.5
"""A publisher that fell behind by more than this does not catch up."""

_STAMP = struct.Struct("<d")


@dataclass(slots=True)
class Listener:
    """One subscriber on its own connection, and what it got."""

    wanted: Subscriber
    connection: Connection | None = None
    records: bytearray = field(default_factory=bytearray)

    def got(self, frames: list[wire.Frame]) -> None:
        """Write down what has come."""
        stamp = _STAMP.pack(time.time())
        for frame in frames:
            self.records += frame[3][: HEAD.size]
            self.records += stamp

    def taken(self) -> NDArray[np.void]:
        """What was written down since the last call, in the order of arrival."""
        records, self.records = self.records, bytearray()
        return np.frombuffer(bytes(records), dtype=RECORD)


class Load:
    """Publishers at the root and as many subscribers as were asked for. `close` it."""

    def __init__(self, urls: Mapping[str, str], *, key: str, root: str, seed: int) -> None:
        self._urls = urls
        self._key = key
        self._root = root
        self._rng = random.Random(seed)
        self._publishing: list[asyncio.Task[None]] = []
        self._quiet = asyncio.Event()
        self._sending = 0
        self.listeners: list[Listener] = []
        self.sent: dict[tuple[int, str], int] = {}
        """(publisher, topic) -> messages sent."""

    async def admit(self, wanted: Sequence[Subscriber]) -> None:
        """Connect those beyond the ones there are. Raises Retryable when one is not admitted."""
        new = [Listener(subscriber) for subscriber in wanted[len(self.listeners) :]]
        first = len(self.listeners)
        self.listeners += new
        for at in range(0, len(new), ADMITTED_AT_ONCE):
            some = new[at : at + ADMITTED_AT_ONCE]
            await asyncio.gather(
                *(self._connect(one, first + at + n) for n, one in enumerate(some))
            )

    async def _connect(self, listener: Listener, number: int) -> None:
        wanted = listener.wanted
        for tried in range(ADMIT_TRIES):
            try:
                url = self._as(wanted.broker, wanted.consumers)
                name = f"{wanted.consumers}#{number}"
                listener.connection = await Connection.open(
                    url, name=name, inbox=names.class_inbox(wanted.consumers)
                )
                break
            except Retryable:
                if tried + 1 == ADMIT_TRIES:
                    raise
                await asyncio.sleep(0.2 * (tried + 1))
        assert listener.connection is not None
        listener.connection.subscribe(names.delivery_subject(wanted.topic), listener.got)
        await listener.connection.flush()

    def _as(self, broker: str, user: str) -> str:
        host = self._urls[broker].removeprefix("nats://")
        return f"nats://{quote(user, safe='')}:{quote(self._key, safe='')}@{host}"

    # --- publishing

    async def publish(self) -> None:
        """Send until `hush`."""
        for number in range(PUBLISHERS):
            connection = await Connection.open(
                self._as(self._root, "publisher"), name=f"publisher {number}"
            )
            self._publishing.append(asyncio.create_task(self._send(number, connection)))

    async def _send(self, publisher: int, connection: Connection) -> None:
        every_s = 1.0 / RATE_PER_S
        due = time.time() + self._rng.uniform(0.0, every_s)
        known = topics()
        try:
            while True:
                await asyncio.sleep(max(0.0, due - time.time()))
                if not self._quiet.is_set():
                    topic = self._rng.choice(known)
                    number = self.sent[publisher, topic] = self.sent.get((publisher, topic), 0) + 1
                    payload = HEAD.pack(publisher, number, time.time()) + PAYLOAD
                    subject = names.ingress_subject(topic).encode()
                    connection.write(wire.publication(subject, payload))
                due = max(due + every_s, time.time() - LATE_S)
        finally:
            connection.close()

    async def quiet(self, seconds: float) -> None:
        """Nobody sends for a while, so that everything sent has arrived."""
        self._quiet.set()
        await asyncio.sleep(seconds)

    def speak(self) -> None:
        """Send again."""
        self._quiet.clear()

    def forget(self) -> dict[tuple[int, str], int]:
        """Drop what was recorded; where each sequence stands now."""
        for listener in self.listeners:
            listener.records.clear()
        return dict(self.sent)

    async def close(self) -> None:
        """Everybody leaves."""
        for task in self._publishing:
            task.cancel()
        await asyncio.gather(*self._publishing, return_exceptions=True)
        for listener in self.listeners:
            if listener.connection is not None:
                listener.connection.close()
