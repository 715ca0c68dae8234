"""Run publishers, consumers and subscribers for a demo or a trial in one process: `python -m
agent.traffic`.

Publishers send numbered messages at a steady rate, whatever the gates do with them, each at the
broker where it belongs (`agent.publisher`). Consumers connect as their class, are admitted or
refused, and ask again, and report how long messages took (`weir_client.delays`); those of a
reliable flow read its stream and check that of each publisher no number is missing, repeated or out
of order. Subscribers receive flows on the streams of the map
(`weir_client.subscriber`) and count what they filter. Everything survives the death of brokers and
agents: whoever is cut off comes back after a moment.

`--traffic FILE` says who sends and who wants what, `--access FILE` where and with which key; a flow
without `publishers` is sent by one client that has no name of its own:

    {"flows": {FLOW: {"broker", "delivery", "rate_per_s",
                      "publishers": {PUBLISHER: {"broker", "rate_per_s"}},
                      "bursts": {NAME: {"publishers": [PUBLISHER], "every_s", "spread_s",
                                        "messages"}}}},
     "classes": {CLASS: {"flow", "broker", "delivery", "consumers"}},
     "subscribers": {SUBSCRIBER: {"broker", "flows": [FLOW]}}}
    {"brokers": {BROKER: URL}, "publisher": USER, "client_key": PASSWORD}

`subscribers` and `bursts` may be left out. `bursts` makes publishers of a flow send together beside
their steady rates, which may be 0: at random moments, `every_s` apart on average (a Poisson
process), each of them sends `messages` (1 where it is left out) at once, within `spread_s` of the
others.
"""

import argparse
import asyncio
import json
import logging
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig, DeliverPolicy

from agent import publisher
from agent.drivers.nats import names
from agent.publisher import Access, Publisher, PublisherTraffic, Tally
from agent.tasks import end
from weir_client import delays
from weir_client.following import ACKNOWLEDGE_S, FAILURES, connect, leave, until_lost
from weir_client.receiving import Lost
from weir_client.subscriber import Subscriber

log = logging.getLogger("weir.traffic")

TELL_S = 60.0


class BadTraffic(ValueError):
    """Signal that a file lacks an entry or has a wrong one; the message names both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTraffic:
    """Describe the consumers of one class, each of which asks for admission."""

    name: str
    flow: str
    broker: str
    reliable: bool
    consumers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstTraffic:
    """Publishers of one flow that send together."""

    flow: str
    publishers: tuple[str, ...]
    every_s: float
    """How far apart the bursts are on average, in seconds."""
    spread_s: float
    """How far apart the publishers begin within one burst at most, in seconds."""
    messages: int
    """How many each of them sends in one burst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriberTraffic:
    """Describe one subscriber: its broker, and the flows that it receives on their streams."""

    name: str
    broker: str
    flows: tuple[str, ...]


def read_subscribers(path: Path) -> list[SubscriberTraffic]:
    """Read who receives flows on streams. Raises BadTraffic."""
    plain = {"subscribers": {}, **_object(path)}
    subscribers = []
    for name, row in _entry(path, "", plain, "subscribers", dict).items():
        where = f"subscribers.{name}"
        flows = _entry(path, where, row, "flows", list)
        if not all(isinstance(flow, str) for flow in flows):
            raise BadTraffic(f"{path}: {where}.flows: names of flows are strings")
        broker = _entry(path, where, row, "broker", str)
        subscribers.append(SubscriberTraffic(name=name, broker=broker, flows=tuple(flows)))
    return subscribers


def read_bursts(path: Path) -> list[BurstTraffic]:
    """Read which publishers send together. Raises BadTraffic."""
    bursts = []
    for flow, row in _entry(path, "", _object(path), "flows", dict).items():
        if not isinstance(row, dict) or "bursts" not in row:
            continue
        named = row.get("publishers") or {}
        for name, own in _entry(path, f"flows.{flow}", row, "bursts", dict).items():
            where = f"flows.{flow}.bursts.{name}"
            publishers = _entry(path, where, own, "publishers", list)
            for one in publishers:
                if not isinstance(one, str) or one not in named:
                    raise BadTraffic(f"{path}: {where}.publishers: {one} is no publisher of {flow}")
            burst = BurstTraffic(
                flow=flow,
                publishers=tuple(publishers),
                every_s=float(_entry(path, where, own, "every_s", (int, float))),
                spread_s=float(_entry(path, where, own, "spread_s", (int, float))),
                messages=_entry(path, where, {"messages": 1, **own}, "messages", int),
            )
            if burst.every_s <= 0 or burst.spread_s < 0 or burst.messages < 1:
                raise BadTraffic(f"{path}: {where}: every_s and messages are positive")
            bursts.append(burst)
    return bursts


def read_traffic(path: Path) -> tuple[list[PublisherTraffic], list[ClassTraffic]]:
    """Read the publishers and consumers. Raises BadTraffic."""
    plain = _object(path)
    publishers = [
        own
        for name, row in _entry(path, "", plain, "flows", dict).items()
        for own in _publishers(path, name, row)
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
    return publishers, classes


def _publishers(path: Path, flow: str, row: Any) -> Iterator[PublisherTraffic]:
    """Read the publishers of one flow: those that it names, else one that nobody has named."""
    where = f"flows.{flow}"
    clients = {f"publisher {flow}": (where, row)}
    if isinstance(row, dict) and row.get("publishers"):
        named = _entry(path, where, row, "publishers", dict)
        clients = {name: (f"{where}.publishers.{name}", own) for name, own in named.items()}
    for name, (at, own) in clients.items():
        yield PublisherTraffic(
            name=name,
            flow=flow,
            broker=_entry(path, at, own, "broker", str),
            reliable=_entry(path, where, row, "delivery", str) == "reliable",
            rate_per_s=float(_entry(path, at, own, "rate_per_s", (int, float))),
        )


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


class Clients:
    """Run all publishers, consumers and subscribers, and count their messages."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.tally = Tally()
        # Numbers start again with each process; this distinguishes the processes.
        self.life = f"{time.time_ns():x}"
        self._publishers: dict[tuple[str, str], Publisher] = {}
        """Flow and name -> the publisher."""

    async def _stay(
        self, broker: str, user: str, name: str, work: Callable[[Client], Coroutine[Any, Any, None]]
    ) -> None:
        """Do `work` on a consumer's connection for ever, on a new one whenever it ends."""
        while True:
            client: Client | None = None
            closed = asyncio.Event()
            try:
                client = await connect(
                    self.access.brokers[broker],
                    user=user,
                    password=self.access.client_key,
                    name=name,
                    # Consumers may listen to the inboxes of their class only.
                    inbox=names.class_inbox(user),
                    closed=closed,
                )
                await until_lost(client, closed, work(client))
            except FAILURES as error:
                if client is None:
                    self.tally.count_failure(error)
                log.debug("%s: %s", name, error)
            except Exception:
                # An error of the client library ends one connection, not the consumer.
                log.exception("%s", name)
            finally:
                if client is not None:
                    await leave(client)
            await asyncio.sleep(random.uniform(*publisher.BACK_OFF_S))

    async def publish(self, own: PublisherTraffic) -> None:
        """Run one publisher: it sends at its rate for ever, at the broker where it belongs."""
        one = Publisher(own, access=self.access, tally=self.tally, life=self.life)
        self._publishers[own.flow, own.name] = one
        await one.run()

    async def burst(self, wanted: BurstTraffic) -> None:
        """Let publishers send together for ever, at random moments."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(random.expovariate(1.0 / wanted.every_s))
            for name in wanted.publishers:
                one = self._publishers.get((wanted.flow, name))
                if one is not None:
                    delay_s = random.uniform(0.0, wanted.spread_s)
                    loop.call_later(delay_s, one.burst, wanted.messages)

    async def consume(self, wanted: ClassTraffic, number: int) -> None:
        """Run one consumer: ask for admission, read messages, ask again when disconnected."""
        name = f"{wanted.name}#{number}"
        received: dict[str, tuple[str, int]] = {}
        counted = delays.Delays()

        async def receive(message: Msg) -> None:
            counted.receive(message.headers)
            self.tally.counts["delivered"] += 1
            if wanted.reliable:
                self._check(name, received, message.data)

        async def work(client: Client) -> None:
            received.clear()
            self.tally.admitted += 1
            try:
                await self._subscribe(client, wanted, receive)
                await counted.hand_over(client, wanted.name)
            finally:
                self.tally.admitted -= 1

        # Spread the starts: the agent answers one request after the other.
        await asyncio.sleep(random.uniform(0.0, publisher.BACK_OFF_S[1]))
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

    def _check(self, name: str, received: dict[str, tuple[str, int]], payload: bytes) -> None:
        """Compare a message with the last one of its publisher in `received`, and keep it there."""
        try:
            life, who, text = payload.decode().split(" ")
            number = int(text)
        except ValueError:  # somebody else's message
            return
        last_life, last = received.get(who, ("", 0))
        if last_life == life:
            if number > last + 1:
                self.tally.counts["missing"] += number - last - 1
                log.warning("%s: %s of %s after %s", name, number, who, last)
            elif number <= last:
                self.tally.counts["repeated"] += 1
                log.warning("%s: %s of %s after %s", name, number, who, last)
                return
        received[who] = life, number

    async def receive(self, wanted: SubscriberTraffic) -> None:
        """Run one subscriber: it receives its flows on whatever streams they are, for ever."""
        url, key = self.access.brokers[wanted.broker], self.access.client_key
        while True:
            try:
                async with await Subscriber.connect(url, name=wanted.name, key=key) as subscriber:
                    await self._read(wanted, subscriber)
            except FAILURES as error:
                log.debug("%s: %s", wanted.name, error)
            except Exception:
                # An error of the client library ends one connection, not the subscriber.
                log.exception("%s", wanted.name)
            await asyncio.sleep(random.uniform(*publisher.BACK_OFF_S))

    async def _read(self, wanted: SubscriberTraffic, subscriber: Subscriber) -> None:
        counts, filtered = self.tally.counts, 0
        await subscriber.want(*wanted.flows)
        async for each in subscriber.messages():
            if isinstance(each, Lost):
                counts["lost"] += each.last - each.first + 1
            else:
                counts["on streams"] += 1
            now = subscriber.filtered.streams + subscriber.filtered.flows
            counts["filtered"] += now - filtered
            filtered = now

    async def log_counts(self) -> None:
        while True:
            await asyncio.sleep(TELL_S)
            log.info("%s", self.tally.line())


async def run_traffic(
    publishers: list[PublisherTraffic],
    classes: list[ClassTraffic],
    bursts: list[BurstTraffic],
    subscribers: list[SubscriberTraffic],
    access: Access,
) -> None:
    """Run all clients until SIGTERM or SIGINT."""
    clients = Clients(access)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    consumers = [(row, number) for row in classes for number in range(1, row.consumers + 1)]
    log.info(
        "%d publishers, %d consumers, %d subscribers",
        len(publishers),
        len(consumers),
        len(subscribers),
    )
    bursting = {(row.flow, name) for row in bursts for name in row.publishers}
    sending = [own for own in publishers if own.rate_per_s > 0 or (own.flow, own.name) in bursting]
    work = [
        *(clients.publish(own) for own in sending),
        *(clients.burst(row) for row in bursts),
        *(clients.consume(row, number) for row, number in consumers),
        *(clients.receive(row) for row in subscribers),
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
        publishers, classes = read_traffic(options.traffic)
        bursts = read_bursts(options.traffic)
        subscribers = read_subscribers(options.traffic)
        access = read_access(options.access)
        brokers = {own.broker for own in publishers} | {row.broker for row in classes}
        brokers |= {row.broker for row in subscribers}
        for broker in sorted(brokers - set(access.brokers)):
            raise BadTraffic(f"{options.access}: brokers.{broker} is missing")
    except BadTraffic as error:
        print(f"traffic: {error}", file=sys.stderr)
        return 2
    uvloop.run(run_traffic(publishers, classes, bursts, subscribers, access))
    return 0


if __name__ == "__main__":
    sys.exit(main())
