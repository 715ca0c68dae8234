"""Run publishers and consumers for a demo or a trial in one process: `python -m agent.traffic`.

Publishers send numbered messages at a steady rate, whatever the gates do with them. Consumers
connect as their class, are admitted or refused, and ask again; those of a reliable flow read its
stream and check that no number is missing, repeated or out of order. Everything survives the death
of brokers and agents: whoever is cut off comes back after a moment.

`--traffic FILE` says who sends and who wants what, `--access FILE` where and with which key:

    {"flows": {FLOW: {"broker", "delivery", "rate_per_s"}},
     "classes": {CLASS: {"flow", "broker", "delivery", "consumers"}}}
    {"brokers": {BROKER: URL}, "publisher": USER, "client_key": PASSWORD}
"""

import argparse
import asyncio
import json
import logging
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nats
import nats.errors
import nats.js.errors
import uvloop
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig, DeliverPolicy

from agent.drivers.nats import names
from agent.tasks import end

log = logging.getLogger("weir.traffic")

CONNECT_S = 4.0
"""The time for connecting: a busy agent may take a second to answer, the server waits two at
most."""
BACK_OFF_S = (2.0, 4.0)
"""The pause before a retry; a client that asks less often than every six seconds loses its turn
(see `agent.admission`)."""
ACKNOWLEDGE_S = 5.0
CLOSE_S = 5.0
CHECK_S = 1.0
TELL_S = 60.0
LATE_S = 1.0
"""A publisher that is late by more than this does not catch up."""


class BadTraffic(ValueError):
    """Signal that a file lacks an entry or has a wrong one; the message names both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTraffic:
    """Describe the publisher of one flow."""

    name: str
    broker: str
    reliable: bool
    rate_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTraffic:
    """Describe the consumers of one class, each of which asks for admission."""

    name: str
    flow: str
    broker: str
    reliable: bool
    consumers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Say where the brokers are and with which key clients connect."""

    brokers: dict[str, str]
    publisher: str
    client_key: str


def read_traffic(path: Path) -> tuple[list[FlowTraffic], list[ClassTraffic]]:
    """Read the publishers and consumers. Raises BadTraffic."""
    plain = _object(path)
    flows = [
        FlowTraffic(
            name=name,
            broker=_entry(path, f"flows.{name}", row, "broker", str),
            reliable=_entry(path, f"flows.{name}", row, "delivery", str) == "reliable",
            rate_per_s=float(_entry(path, f"flows.{name}", row, "rate_per_s", (int, float))),
        )
        for name, row in _entry(path, "", plain, "flows", dict).items()
    ]
    classes = [
        ClassTraffic(
            name=name,
            flow=_entry(path, f"classes.{name}", row, "flow", str),
            broker=_entry(path, f"classes.{name}", row, "broker", str),
            reliable=_entry(path, f"classes.{name}", row, "delivery", str) == "reliable",
            consumers=_entry(path, f"classes.{name}", row, "consumers", int),
        )
        for name, row in _entry(path, "", plain, "classes", dict).items()
    ]
    return flows, classes


def read_access(path: Path) -> Access:
    """Read the addresses of brokers and the client key. Raises BadTraffic."""
    plain = _object(path)
    return Access(
        brokers=_entry(path, "", plain, "brokers", dict),
        publisher=_entry(path, "", plain, "publisher", str),
        client_key=_entry(path, "", plain, "client_key", str),
    )


def _object(path: Path) -> dict[str, Any]:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadTraffic(f"{path}: {error}") from error
    if not isinstance(plain, dict):
        raise BadTraffic(f"{path}: must hold an object")
    return plain


def _entry(path: Path, where: str, row: Any, name: str, kind: Any) -> Any:
    value = row.get(name) if isinstance(row, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadTraffic(f"{path}: {where + '.' if where else ''}{name} is missing or malformed")
    return value


@dataclass(slots=True)
class Tally:
    """Count what happened since the start, and the consumers admitted now."""

    counts: Counter[str] = field(default_factory=Counter)
    admitted: int = 0

    def line(self) -> str:
        shown = ("published", "not taken", "delivered", "refused", "missing", "repeated")
        return f"{self.admitted} admitted; " + ", ".join(f"{self.counts[n]} {n}" for n in shown)


class Clients:
    """Run all publishers and consumers, and count their messages."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.tally = Tally()
        # Numbers start again with each process; this distinguishes the processes.
        self.life = f"{time.time_ns():x}"

    # --- connections

    async def _stay(
        self, broker: str, user: str, name: str, work: Callable[[Client], Coroutine[Any, Any, None]]
    ) -> None:
        """Do `work` on a connection for ever, on a new one whenever it ends."""
        while True:
            client: Client | None = None
            try:
                client, closed = await self._connect(broker, user, name)
                await _until_lost(client, closed, work(client))
            except (OSError, TimeoutError, nats.errors.Error, nats.js.errors.Error) as error:
                self.tally.counts["refused"] += client is None
                log.debug("%s: %s", name, error)
            except Exception:
                # An error of the client library ends one connection, not the publisher or consumer.
                log.exception("%s", name)
            finally:
                if client is not None:
                    with suppress(Exception):
                        async with asyncio.timeout(CLOSE_S):
                            await client.close()
            await asyncio.sleep(random.uniform(*BACK_OFF_S))

    async def _connect(self, broker: str, user: str, name: str) -> tuple[Client, asyncio.Event]:
        closed = asyncio.Event()

        async def on_closed() -> None:
            closed.set()

        async def on_error(error: Exception) -> None:
            log.debug("%s: %s", name, error)

        async with asyncio.timeout(CONNECT_S + 1.0):
            client = await nats.connect(
                self.access.brokers[broker],
                user=quote(user, safe=""),
                password=self.access.client_key,
                name=name,
                inbox_prefix=self._inbox(user),
                allow_reconnect=False,
                connect_timeout=CONNECT_S,
                closed_cb=on_closed,
                disconnected_cb=on_closed,
                error_cb=on_error,
            )
        return client, closed

    def _inbox(self, user: str) -> str:
        """Return the prefix of a user's inboxes: consumers may listen to those of their class
        only."""
        return "_INBOX" if user == self.access.publisher else names.class_inbox(user)

    # --- publishing

    async def publish(self, flow: FlowTraffic) -> None:
        """Send at the flow's rate for ever; repeat a reliable message until the broker has stored
        it."""
        number = 0

        async def work(client: Client) -> None:
            nonlocal number
            due = time.monotonic()
            while True:
                sent = await self._send(client, flow, number + 1)
                number += sent
                now = time.monotonic()
                due = max(due + 1.0 / flow.rate_per_s, now - LATE_S)
                await asyncio.sleep(max(0.0, due - now))

        await self._stay(flow.broker, self.access.publisher, f"publisher {flow.name}", work)

    async def _send(self, client: Client, flow: FlowTraffic, number: int) -> bool:
        subject = names.ingress_subject(flow.name)
        payload = f"{self.life} {number}".encode()
        if not flow.reliable:
            await client.publish(subject, payload)
            self.tally.counts["published"] += 1
            return True
        headers = {"Nats-Msg-Id": f"{quote(flow.name)}:{self.life}:{number}"}
        try:
            await client.jetstream(timeout=ACKNOWLEDGE_S).publish(subject, payload, headers=headers)
        except (nats.errors.Error, nats.js.errors.Error, TimeoutError) as error:
            self.tally.counts["not taken"] += 1
            log.debug("publisher %s: %s", flow.name, error)
            if client.is_closed:
                raise
            await asyncio.sleep(random.uniform(*BACK_OFF_S))
            return False
        self.tally.counts["published"] += 1
        return True

    # --- consuming

    async def consume(self, wanted: ClassTraffic, number: int) -> None:
        """Run one consumer: ask for admission, read messages, ask again when disconnected."""
        name = f"{wanted.name}#{number}"
        last: tuple[str, int] | None = None

        async def receive(message: Msg) -> None:
            nonlocal last
            self.tally.counts["delivered"] += 1
            if wanted.reliable:
                last = self._check(name, last, message.data)

        async def work(client: Client) -> None:
            nonlocal last
            last = None
            self.tally.admitted += 1
            try:
                await self._subscribe(client, wanted, receive)
                await asyncio.Event().wait()
            finally:
                self.tally.admitted -= 1

        # Spread the starts: the agent answers one request after the other.
        await asyncio.sleep(random.uniform(0.0, BACK_OFF_S[1]))
        await self._stay(wanted.broker, wanted.name, name, work)

    async def _subscribe(
        self, client: Client, wanted: ClassTraffic, receive: Callable[[Msg], Awaitable[None]]
    ) -> None:
        subject = names.delivery_subject(wanted.flow)
        if not wanted.reliable:
            await client.subscribe(subject, cb=receive)
            return
        await client.jetstream(timeout=ACKNOWLEDGE_S).subscribe(
            f"{subject}.>",
            stream=names.delivery_stream(wanted.flow),
            cb=receive,
            ordered_consumer=True,
            config=ConsumerConfig(deliver_policy=DeliverPolicy.NEW),
        )

    def _check(
        self, name: str, last: tuple[str, int] | None, payload: bytes
    ) -> tuple[str, int] | None:
        life, _, text = payload.decode(errors="replace").partition(" ")
        if not text.isdigit():  # somebody else's message
            return last
        number = int(text)
        if last is not None and last[0] == life:
            if number > last[1] + 1:
                self.tally.counts["missing"] += number - last[1] - 1
                log.warning("%s: %s after %s", name, number, last[1])
            elif number <= last[1]:
                self.tally.counts["repeated"] += 1
                log.warning("%s: %s after %s", name, number, last[1])
                return last
        return life, number

    async def log_counts(self) -> None:
        while True:
            await asyncio.sleep(TELL_S)
            log.info("%s", self.tally.line())


async def _until_lost(
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
        with suppress(TimeoutError):
            async with asyncio.timeout(CHECK_S):
                await closed.wait()


async def run_traffic(
    flows: list[FlowTraffic], classes: list[ClassTraffic], access: Access
) -> None:
    """Run all publishers and consumers until SIGTERM or SIGINT."""
    clients = Clients(access)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    consumers = [(row, number) for row in classes for number in range(1, row.consumers + 1)]
    log.info("%d flows, %d consumers", len(flows), len(consumers))
    work = [
        *(clients.publish(flow) for flow in flows if flow.rate_per_s > 0),
        *(clients.consume(row, number) for row, number in consumers),
        clients.log_counts(),
    ]
    tasks = [asyncio.ensure_future(one) for one in work]
    await stop.wait()
    await end(*tasks)
    log.info("%s", clients.tally.line())


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 when asked to stop, 2 for a wrong command line or file."""
    parser = argparse.ArgumentParser(prog="agent.traffic", description=__doc__.split("\n")[0])
    parser.add_argument("--traffic", type=Path, required=True, help="who sends, who wants what")
    parser.add_argument("--access", type=Path, required=True, help="brokers and the client key")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("nats").setLevel(logging.CRITICAL)
    try:
        flows, classes = read_traffic(options.traffic)
        access = read_access(options.access)
        brokers = {flow.broker for flow in flows} | {row.broker for row in classes}
        for broker in sorted(brokers - set(access.brokers)):
            raise BadTraffic(f"{options.access}: brokers.{broker} is missing")
    except BadTraffic as error:
        print(f"traffic: {error}", file=sys.stderr)
        return 2
    uvloop.run(run_traffic(flows, classes, access))
    return 0


if __name__ == "__main__":
    sys.exit(main())
