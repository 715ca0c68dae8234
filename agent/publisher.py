"""Publish as one publisher of a flow, at the broker where it belongs, and follow when it is moved.

It follows as every client does (`weir_client.following`); what is its own is that it sends at a
steady rate and in bursts, for ever, and counts what becomes of it.

A broker that cannot be reached, a login that is refused and a message that is not allowed are
counted apart, and none says where the publisher belongs.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections import Counter
from dataclasses import dataclass, field

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from agent.drivers.nats import names
from weir.coordination.wire import token
from weir_client import following
from weir_client.delays import SENT_HEADER, sent_now
from weir_client.following import (
    ACKNOWLEDGE_S,
    FAILURES,
    Whereabouts,
    connect,
    happens,
    leave,
    until_lost,
)

log = logging.getLogger("weir.traffic")

BACK_OFF_S = (2.0, 4.0)
"""The pause before a retry; a client that asks less often than every six seconds loses its turn
(see `agent.admission`)."""
IDLE_S = 60.0
"""The longest that a publisher without a steady rate waits at once."""
LATE_S = 1.0
"""A publisher that is late by more than this does not catch up."""


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
        subscribed = ("on streams", "filtered", "lost")
        return f"{self.admitted} admitted; " + ", ".join(
            f"{self.counts[name]} {name}" for name in (*shown, *checked, *subscribed)
        )

    def count_failure(self, error: Exception) -> None:
        """Count a connection that was not made: the broker is away, or refused the login."""
        away = isinstance(error, (TimeoutError, ConnectionRefusedError, nats.errors.NoServersError))
        self.counts["away" if away else "refused"] += 1


class Publisher:
    """Send numbered messages at a steady rate for ever, in order, wherever the publisher
    belongs."""

    def __init__(self, own: PublisherTraffic, *, access: Access, tally: Tally, life: str) -> None:
        """Take `life`, which distinguishes this process from others that count from 1, too."""
        self.whereabouts = Whereabouts(
            access.brokers[own.broker], broker=own.broker, addresses=access.brokers
        )
        self.number = 0
        """The last message that is on its way: of a reliable flow, that a broker holds."""
        self._own = own
        self._access = access
        self._tally = tally
        self._life = life
        self._published_at = ""
        self._burst = 0
        """The messages that it has to send at once."""
        self._wakes = asyncio.Event()
        """Set when it has to send at once, or may have been moved."""

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
            if following.is_denied(error, self._own.flow):
                # It was not let in, and does not know: what it sends is lost.
                self._tally.counts["denied"] += 1
                closed.set()

        try:
            client = await connect(
                self.whereabouts.url,
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
        return self.whereabouts.pause_s()

    async def _follow(self, client: Client) -> None:
        """Publish as long as the publisher belongs here; return when another connection is due."""
        moved = asyncio.Event()

        async def on_moved(_: Msg) -> None:
            moved.set()
            self._wakes.set()

        # Of every flow: the first list of another one may ask for a new login, too.
        await client.subscribe(f"{names.MOVED}.*", cb=on_moved)
        await self.whereabouts.follow(
            lambda: following.where(client, self._own.flow, self._own.name),
            moved,
            lambda: self._publish(client, moved),
        )

    async def _publish(self, client: Client, moved: asyncio.Event) -> None:
        """Send steadily and in bursts until the publisher may have moved; then nothing is on its
        way."""
        broker = self.whereabouts.broker
        if self._published_at not in ("", broker):
            self._tally.counts["moved"] += 1
            log.info("%s: from %s to %s", self._own.name, self._published_at, broker)
        self._published_at = broker
        self._burst = 0
        now = time.monotonic()
        every_s = 1.0 / self._own.rate_per_s if self._own.rate_per_s > 0 else math.inf
        due = now if self._own.rate_per_s > 0 else math.inf
        while not moved.is_set():
            self._wakes.clear()
            now = time.monotonic()
            if due > now and not self._burst:
                await happens(self._wakes, min(due - now, IDLE_S))
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
            await happens(moved, pause_s)
        if not self._own.reliable:
            await following.settle(client)

    async def _send(self, client: Client, number: int) -> bool:
        """Send one message; return whether it is on its way, of a reliable flow whether the broker
        holds it. Raises one of FAILURES with the connection."""
        subject = names.ingress_subject(self._own.flow)
        who = token(self._own.name)
        payload = f"{self._life} {who} {number}".encode()
        if not self._own.reliable:
            await client.publish(subject, payload, headers={SENT_HEADER: sent_now()})
            self._tally.counts["published"] += 1
            return True
        # The same at every broker: sent again elsewhere it can be known again.
        sent_as = following.message_id(self._own.flow, self._own.name, self._life, number)
        headers = {"Nats-Msg-Id": sent_as, SENT_HEADER: sent_now()}
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
