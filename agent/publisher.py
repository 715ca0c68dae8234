"""Publish as one publisher of a flow, at the broker where it belongs, and follow when it is moved.

A flow may give each of its publishers a broker of its own (`weir.actions.assign_publishers`). The
agent beside a broker answers whoever asks where it belongs; a publisher asks when it has connected
and when it hears that somebody has to leave, and never in between:

| answer | what the publisher does |
|---|---|
| `here` | it publishes; on a new connection if this one was kept out, or the answer has `again` |
| `elsewhere` | it connects to the broker that is named, and asks there |
| `wait` | it asks again after a moment: what it sent before is still on its way |
| none | it publishes: an agent of an older version answers nobody |

A broker that cannot be reached, a login that is refused and a message that is not allowed are
counted apart, and none says where the publisher belongs. Every way round has a pause that grows
while nothing is published, so that answers that contradict each other cost little.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import nats
import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from agent.drivers.nats import names
from agent.tasks import end
from weir.coordination.wire import token

log = logging.getLogger("weir.traffic")

CONNECT_S = 4.0
"""The time for connecting: a busy agent may take a second to answer, the server waits two at
most."""
BACK_OFF_S = (2.0, 4.0)
"""The pause before a retry; a client that asks less often than every six seconds loses its turn
(see `agent.admission`)."""
ACKNOWLEDGE_S = 5
WHERE_S = 2.0
"""How long an answer to where a publisher belongs may take."""
SETTLED_S = 5.0
"""Who has published for as long at one broker has arrived: pauses are short again."""
CLOSE_S = 5.0
CHECK_S = 1.0
IDLE_S = 60.0
"""The longest that a publisher without a steady rate waits at once."""
LATE_S = 1.0
"""A publisher that is late by more than this does not catch up."""

FAILURES = (OSError, TimeoutError, nats.errors.Error, nats.js.errors.Error)
"""What a connection may raise that ends it and nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherTraffic:
    """Describe one publisher: its broker until an agent names another, its steady rate in messages
    per second; 0: it sends in bursts only."""

    name: str
    flow: str
    broker: str
    reliable: bool
    rate_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Say where the brokers are and with which key clients connect."""

    brokers: dict[str, str]
    publisher: str
    client_key: str


@dataclass(slots=True)
class Tally:
    """Count what happened since the start, and the consumers admitted now."""

    counts: Counter[str] = field(default_factory=Counter)
    admitted: int = 0

    def line(self) -> str:
        """Return the counts as one line of the log."""
        shown = ("published", "not taken", "delivered", "moved", "refused", "denied", "away")
        checked = ("missing", "repeated")
        return f"{self.admitted} admitted; " + ", ".join(
            f"{self.counts[name]} {name}" for name in (*shown, *checked)
        )

    def count_failure(self, error: Exception) -> None:
        """Count a connection that was not made: the broker is away, or refused the login."""
        away = isinstance(error, (TimeoutError, ConnectionRefusedError, nats.errors.NoServersError))
        self.counts["away" if away else "refused"] += 1


async def connect(
    url: str,
    *,
    user: str,
    password: str,
    name: str,
    inbox: str,
    closed: asyncio.Event,
    on_error: Callable[[Exception], None] | None = None,
) -> Client:
    """Return a connection that sets `closed` when it has ended; `on_error` gets what the server
    complains about meanwhile. Raises one of FAILURES."""

    async def on_closed() -> None:
        closed.set()

    async def on_any_error(error: Exception) -> None:
        log.debug("%s: %s", name, error)
        if on_error is not None:
            on_error(error)

    async with asyncio.timeout(CONNECT_S + 1.0):
        return await nats.connect(
            url,
            user=quote(user, safe=""),
            password=password,
            name=name,
            inbox_prefix=inbox,
            allow_reconnect=False,
            connect_timeout=CONNECT_S,
            closed_cb=on_closed,
            disconnected_cb=on_closed,
            error_cb=on_any_error,
        )


async def leave(client: Client) -> None:
    """Close a connection, whatever state it is in."""
    with suppress(Exception):
        async with asyncio.timeout(CLOSE_S):
            await client.close()


async def until_lost(
    client: Client, closed: asyncio.Event, work: Coroutine[Any, Any, None]
) -> None:
    """Do `work` until it ends, raising what it raises, or until the connection is lost."""
    working = asyncio.create_task(work)
    lost = asyncio.create_task(_lost(client, closed))
    try:
        await asyncio.wait((lost, working), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end(lost, working)
    if not working.cancelled():
        working.result()


async def _lost(client: Client, closed: asyncio.Event) -> None:
    # The client library calls nobody back when its last flush into a lost connection fails.
    while client.is_connected and not closed.is_set():
        await _happens(closed, CHECK_S)


async def _happens(event: asyncio.Event, within_s: float) -> bool:
    """Wait for an event, but no longer than given; return whether it has happened."""
    with suppress(TimeoutError):
        async with asyncio.timeout(max(0.0, within_s)):
            await event.wait()
    return event.is_set()


class Pauses:
    """Give pauses in seconds, each longer than the one before, up to a longest."""

    def __init__(self, *, first_s: float, growth: float, longest_s: float = 5.0) -> None:
        self._first_s, self._growth, self._longest_s = first_s, growth, longest_s
        self._next_s = first_s

    def next(self) -> float:
        """Return the pause to make now, spread by a fifth, so that many do not come at once."""
        pause_s = self._next_s
        self._next_s = min(self._longest_s, pause_s * self._growth)
        return pause_s * random.uniform(0.9, 1.1)

    def reset(self) -> None:
        """Begin with the first pause again."""
        self._next_s = self._first_s


class Publisher:
    """Send numbered messages at a steady rate for ever, in order, wherever the publisher
    belongs."""

    def __init__(self, own: PublisherTraffic, *, access: Access, tally: Tally, life: str) -> None:
        """Take `life`, which distinguishes this process from others that count from 1, too."""
        self.broker = own.broker
        """Where it belongs, as far as it knows."""
        self.number = 0
        """The last message that is on its way: of a reliable flow, that a broker holds."""
        self._own = own
        self._access = access
        self._tally = tally
        self._life = life
        self._url = access.brokers[own.broker]
        self._published_at = ""
        self._burst = 0
        """The messages that it has to send at once."""
        self._wakes = asyncio.Event()
        """Set when it has to send at once, or may have been moved."""
        self._waits = Pauses(first_s=0.3, growth=1.2)
        self._ways = Pauses(first_s=0.05, growth=2.0)

    async def run(self) -> None:
        """Publish for ever, on a new connection whenever one ends."""
        while True:
            await asyncio.sleep(await self._visit())

    def burst(self, messages: int) -> None:
        """Send so many messages now, beside what is sent at the steady rate. They are dropped while
        the publisher is not where it belongs: a burst that comes later is none."""
        self._burst += messages
        self._wakes.set()

    async def _visit(self) -> float:
        """Do what can be done on one connection; return the pause before the next one."""
        closed = asyncio.Event()

        def on_error(error: Exception) -> None:
            if names.ingress_subject(self._own.flow).lower() in str(error).lower():
                # It was not let in, and does not know: what it sends is lost.
                self._tally.counts["denied"] += 1
                closed.set()

        try:
            client = await connect(
                self._url,
                user=self._access.publisher,
                password=self._access.client_key,
                name=self._own.name,
                inbox="_INBOX",
                closed=closed,
                on_error=on_error,
            )
        except FAILURES as error:
            self._tally.count_failure(error)
            log.debug("%s: %s", self._own.name, error)
            return random.uniform(*BACK_OFF_S)
        try:
            await until_lost(client, closed, self._follow(client))
        except FAILURES as error:
            log.debug("%s: %s", self._own.name, error)
        except Exception:
            # An error of the client library ends one connection, not the publisher.
            log.exception("%s", self._own.name)
        finally:
            await leave(client)
        return self._ways.next()

    async def _follow(self, client: Client) -> None:
        """Publish as long as the publisher belongs here; return when another connection is due."""
        moved = asyncio.Event()

        async def on_moved(_: Msg) -> None:
            moved.set()
            self._wakes.set()

        # Of every flow: the first list of another one may ask for a new login, too.
        await client.subscribe(f"{names.MOVED}.*", cb=on_moved)
        kept_out = False
        while True:
            moved.clear()
            answer = await self._where(client)
            match answer.get("state"):
                case "elsewhere" if self._go(answer):
                    return
                case "elsewhere" | "wait":
                    kept_out = True
                    await _happens(moved, self._waits.next())
                case _ if kept_out or answer.get("again"):
                    # It may publish, but a connection has the rights of its login.
                    return
                case _:
                    await self._publish(client, moved)

    async def _where(self, client: Client) -> dict[str, Any]:
        """Ask the agent where the publisher belongs; return nothing where nobody answers."""
        subject = names.where_subject(self._own.flow)
        try:
            reply = await client.request(subject, self._own.name.encode(), timeout=WHERE_S)
            answer = json.loads(reply.data)
        except (nats.errors.NoRespondersError, TimeoutError, ValueError) as error:
            log.debug("%s: nobody answers %s: %s", self._own.name, subject, error)
            return {}
        return answer if isinstance(answer, dict) else {}

    def _go(self, answer: dict[str, Any]) -> bool:
        """Take the broker that the answer names; return False where it is not known how to reach
        it."""
        broker = str(answer.get("broker", ""))
        url = answer.get("address") or self._access.brokers.get(broker)
        if not url:
            log.warning("%s: no address of %s", self._own.name, broker)
            return False
        self.broker, self._url = broker, str(url)
        return True

    async def _publish(self, client: Client, moved: asyncio.Event) -> None:
        """Send steadily and in bursts until the publisher may have moved; then nothing is on its
        way."""
        if self._published_at not in ("", self.broker):
            self._tally.counts["moved"] += 1
            log.info("%s: from %s to %s", self._own.name, self._published_at, self.broker)
        self._published_at = self.broker
        self._burst = 0
        began = time.monotonic()
        every_s = 1.0 / self._own.rate_per_s if self._own.rate_per_s > 0 else math.inf
        due = began if self._own.rate_per_s > 0 else math.inf
        try:
            while not moved.is_set():
                self._wakes.clear()
                now = time.monotonic()
                if due > now and not self._burst:
                    await _happens(self._wakes, min(due - now, IDLE_S))
                    continue
                if due <= now:
                    due = max(due + every_s, now - LATE_S)
                else:
                    self._burst -= 1
                pause_s = 0.0
                if await self._send(client, self.number + 1):
                    self.number += 1
                else:
                    self._burst = 0
                    pause_s = random.uniform(*BACK_OFF_S)
                # Others come to their turn also where this one is late.
                await _happens(moved, pause_s)
            if not self._own.reliable:
                await client.flush(timeout=ACKNOWLEDGE_S)
        finally:
            if time.monotonic() - began >= SETTLED_S:
                self._waits.reset()
                self._ways.reset()

    async def _send(self, client: Client, number: int) -> bool:
        """Send one message; return whether it is on its way, of a reliable flow whether the broker
        holds it. Raises one of FAILURES with the connection."""
        subject = names.ingress_subject(self._own.flow)
        who = token(self._own.name)
        payload = f"{self._life} {who} {number}".encode()
        if not self._own.reliable:
            await client.publish(subject, payload)
            self._tally.counts["published"] += 1
            return True
        # The same at every broker: sent again elsewhere it can be known again.
        headers = {"Nats-Msg-Id": f"{token(self._own.flow)}:{who}:{self._life}:{number}"}
        try:
            await client.jetstream(timeout=ACKNOWLEDGE_S).publish(subject, payload, headers=headers)
        except FAILURES as error:
            self._tally.counts["not taken"] += 1
            log.debug("%s: %s", self._own.name, error)
            if client.is_closed:
                raise
            return False
        self._tally.counts["published"] += 1
        return True
