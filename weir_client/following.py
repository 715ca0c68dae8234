"""Stay with one flow at the broker where a publisher of it belongs, and go on when that changes.

A flow may give each of its publishers a broker of its own. The agent beside a broker answers
whoever asks where it belongs; a publisher asks when it has connected and when it hears that
somebody has to leave, and never in between:

| answer | what the publisher does |
|---|---|
| `here` | it publishes; on a new connection if this one was kept out, or the answer has `again` |
| `elsewhere` | it connects to the broker that is named, and asks there |
| `wait` | it asks again after a moment: what it sent before is still on its way |
| none | it publishes: an agent of an older version answers nobody |

Every way round has a pause that grows while nothing is published, so that answers that contradict
each other cost little.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import nats
import nats.js.errors
from nats import errors
from nats.aio.client import Client

from weir_client import subjects

log = logging.getLogger("weir_client")

CONNECT_S = 4.0
"""The time for connecting: a busy agent may take a second to answer, the server waits two at
most."""
ACKNOWLEDGE_S = 5
WHERE_S = 2.0
"""How long an answer to where a publisher belongs may take."""
SETTLED_S = 5.0
"""Who has published for as long at one broker has arrived: pauses are short again."""
CLOSE_S = 5.0
CHECK_S = 1.0

FAILURES = (OSError, TimeoutError, errors.Error, nats.js.errors.Error)
"""What a connection may raise that ends it and nothing else."""


async def connect(
    url: str,
    *,
    user: str,
    password: str,
    name: str,
    inbox: str,
    closed: asyncio.Event,
    on_error: Callable[[Exception], None] | None = None,
    **options: Any,
) -> Client:
    """Return a connection that sets `closed` when it has ended; `on_error` gets what the server
    complains about meanwhile; `options` are others of `nats.connect`. Raises one of FAILURES."""

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
            **options,
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
        await happens(closed, CHECK_S)


async def end(*tasks: asyncio.Task[None], again_s: float = 0.5) -> None:
    """Cancel tasks and wait until they have ended; they are cancelled again after `again_s`. What
    they raise is known to others."""
    # Python 3.11's `wait_for` loses a cancellation that comes when its future is done.
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=again_s)
    await asyncio.gather(*tasks, return_exceptions=True)


async def happens(event: asyncio.Event, within_s: float) -> bool:
    """Wait for an event, but no longer than given; return whether it has happened."""
    with suppress(TimeoutError):
        async with asyncio.timeout(max(0.0, within_s)):
            await event.wait()
    return event.is_set()


async def settle(client: Client) -> None:
    """Return when the broker has processed all that was sent. Raises one of FAILURES."""
    # A server that says INFO late answers the first PING before what was written ahead of it.
    await client.flush(timeout=ACKNOWLEDGE_S)
    await client.flush(timeout=ACKNOWLEDGE_S)


async def where(client: Client, flow: str, name: str) -> dict[str, Any]:
    """Ask the agent where a publisher of a flow belongs; return nothing where nobody answers."""
    subject = subjects.where_subject(flow)
    try:
        reply = await client.request(subject, name.encode(), timeout=WHERE_S)
        answer = json.loads(reply.data)
    except (errors.NoRespondersError, TimeoutError, ValueError) as error:
        log.debug("%s: nobody answers %s: %s", name, subject, error)
        return {}
    return answer if isinstance(answer, dict) else {}


def is_denied(error: Exception, flow: str) -> bool:
    """Return whether a broker complains that this flow may not be published."""
    return f'"{subjects.ingress_subject(flow)}"'.lower() in str(error).lower()


def message_id(flow: str, name: str, life: str, number: int) -> str:
    """Return the id of a message: the same at every broker, so that one that is sent again can be
    known again. `life` distinguishes what counts from 1 under one name."""
    return f"{subjects.token(flow)}:{subjects.token(name)}:{life}:{number}"


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


class Whereabouts:
    """Where a publisher of one flow belongs, as far as it knows."""

    def __init__(self, url: str, *, broker: str, addresses: Mapping[str, str]) -> None:
        """Take the broker to begin with, and `addresses` of brokers by their names, for answers
        that name none."""
        self.url = url
        self.broker = broker
        self.is_let_in = True
        """Whether the last answer was that it may publish."""
        self._addresses = addresses
        self._waits = Pauses(first_s=0.3, growth=1.2)
        self._ways = Pauses(first_s=0.05, growth=2.0)

    def pause_s(self) -> float:
        """Return the pause before the next connection."""
        return self._ways.next()

    async def follow(
        self,
        where: Callable[[], Awaitable[dict[str, Any]]],
        moved: asyncio.Event,
        publish: Callable[[], Awaitable[None]],
    ) -> bool:
        """Publish as long as the publisher belongs here. `publish` returns when `moved` is set,
        with nothing on its way. Return when another connection is due: whether to this broker."""
        kept_out = False
        while True:
            moved.clear()
            answer = await where()
            self.is_let_in = answer.get("state") not in ("elsewhere", "wait")
            match answer.get("state"):
                case "elsewhere" if self._go(answer):
                    return False
                case "elsewhere" | "wait":
                    kept_out = True
                    await happens(moved, self._waits.next())
                case _ if kept_out or answer.get("again"):
                    # It may publish, but a connection has the rights of its login.
                    return True
                case _:
                    began = time.monotonic()
                    try:
                        await publish()
                    finally:
                        if time.monotonic() - began >= SETTLED_S:
                            self._waits.reset()
                            self._ways.reset()

    def _go(self, answer: dict[str, Any]) -> bool:
        """Take the broker that the answer names; return False where it is not known how to reach
        it."""
        broker = str(answer.get("broker", ""))
        url = answer.get("address") or self._addresses.get(broker)
        if not url:
            log.warning("no address of %s", broker)
            return False
        self.broker, self.url = broker, str(url)
        return True
