"""The driver for model brokers: what `agent.drivers.nats` does, over the simulated network.

Appending, reading and settling repeat themselves until they have succeeded, as the NATS driver's
writers, readers and settlers do; an ingress names its messages by its broker and the life of its
stream; interest is kept at the neighbour's broker.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextvars import copy_context
from typing import Any, NoReturn, cast

from agent.drivers.base import (
    Batch,
    BrokerFacts,
    Capabilities,
    Channel,
    ClassAdmission,
    DriverError,
    Enforcement,
    Fenced,
    Inquiry,
    Interest,
    LimiterScope,
    Message,
    NotGone,
    Place,
    Retryable,
    Source,
    Stats,
    Unknown,
    Unsupported,
)
from tests.lives.broker import MAX_PAYLOAD, ModelBroker, Record, Refusal, Replaced
from tests.lives.network import Later, Network, Wire
from weir.coordination.wire import (
    KEEP_S,
    ClassSpec,
    Delivery,
    HandOver,
    Publishers,
    StreamPlace,
)

READ = 8
"""Messages in one piece."""
BEAT_S = 3.0
"""A broker that has nothing for a reader says so this often ..."""
DEAF_S = 5.0
"""... and a reader that hears nothing for so long asks again."""
RETRY_S = 0.05
SETTLE_EVERY_S = 0.2
LINK_READY_S = 4.0
BEST_EFFORT_WAITING = 200


class ModelDriver:
    """The driver for one model broker; see `agent.drivers.base.Driver`."""

    lives = 0
    """Drivers ever made: no two have one name."""

    def __init__(
        self,
        *,
        network: Network,
        brokers: Mapping[str, ModelBroker],
        broker: str,
        host: str = "",
    ) -> None:
        self._network = network
        self._brokers = brokers
        """`host`: the machine of this agent, when it is not the broker's."""
        self._name = broker
        self._host = host or broker
        self._wires: dict[str, Wire] = {}
        self._links: dict[str, str] = {}
        self._firsts: dict[str, int] = {}
        """Who may be gone -> the first number in the outbox for it when that was looked at."""
        self._locks: dict[Channel, asyncio.Lock] = {}
        self._settling: dict[Source, _Settling] = {}
        self._queues: dict[Source, _Queue] = {}
        self._mine = Record()
        ModelDriver.lives += 1
        self._life = f"{self._host}#{ModelDriver.lives}"
        self._closed = False

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            product="model",
            deliveries=tuple(Delivery),
            limiter_scope=LimiterScope.AGENT,
            burst_settable=True,
            admission=Enforcement.ENFORCED,
        )

    @property
    def server(self) -> str:
        broker = self._brokers[self._name]
        return f"{broker.name} {broker.boots}" if broker.up else ""

    # --- calls

    def _wire(self, name: str) -> Wire:
        wire = self._wires.get(name)
        if wire is None:
            wire = self._wires[name] = Wire(self._network, self._host, self._brokers[name])
        return wire

    async def _own(self, do: Callable[[ModelBroker], Any], what: str) -> Any:
        def checked(broker: ModelBroker) -> Any:
            broker.check(self._mine)
            return do(broker)

        return await self._wire(self._name).ask(checked, what)

    async def _at(self, neighbour: str, do: Callable[[ModelBroker], Any], what: str) -> Any:
        """At a neighbour's broker, over the link."""
        return await self._wire(self._address(neighbour)).ask(do, what)

    def _address(self, neighbour: str) -> str:
        try:
            return self._links[neighbour]
        except KeyError:
            raise Retryable(f"no link to {neighbour}") from None

    # --- life

    async def open(self) -> BrokerFacts:
        self._closed = False
        await self._own(lambda broker: None, "open")
        return BrokerFacts(
            name=self._name,
            version="1",
            jetstream=True,
            max_payload_bytes=MAX_PAYLOAD,
            round_trip_s=0.0,
        )

    async def close(self) -> None:
        self._closed = True
        self._links.clear()
        for settling in self._settling.values():
            settling.end()
        for queue in self._queues.values():
            queue.end()
        self._settling.clear()
        self._queues.clear()

    # --- channels and links

    async def ensure_channel(
        self, channel: Channel, *, max_message_bytes: int = 0, keep_s: int = KEEP_S
    ) -> None:
        await self._own(lambda broker: broker.ensure(channel, max_message_bytes), "make a channel")

    async def ensure_link(self, neighbour: str, address: str) -> None:
        name = address.removeprefix("model://")
        if name not in self._brokers:
            raise Retryable(f"{address} cannot be reached")
        self._links[neighbour] = name
        await self.ensure_channel(
            Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour=neighbour)
        )
        source = Source(delivery=Delivery.BEST_EFFORT, neighbour=neighbour)
        self._queue(source)
        there = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour=self._name)
        loop = asyncio.get_running_loop()
        end = loop.time() + LINK_READY_S
        while True:
            # Another task may have dropped the link meanwhile.
            self._address(neighbour)
            with contextlib.suppress(Retryable, Unknown):
                await self._at(neighbour, lambda broker: broker.stream(there), "link")
                if self._queue(source).subscribed:
                    return
            if loop.time() > end:
                raise Retryable(f"{neighbour} has no outbox for us")
            await asyncio.sleep(RETRY_S)

    async def trust(self, public_keys: Mapping[str, str]) -> None:
        """Nobody comes from outside."""

    async def close_link(self, neighbour: str) -> None:
        self._links.pop(neighbour, None)
        for delivery in Delivery:
            source = Source(delivery=delivery, neighbour=neighbour)
            settling = self._settling.pop(source, None)
            if settling is not None:
                settling.end()
            queue = self._queues.pop(source, None)
            if queue is not None:
                queue.end()

    async def drop_link(self, neighbour: str) -> None:
        await self.close_link(neighbour)
        outbox = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour=neighbour)
        await self._own(lambda broker: broker.drop(outbox), f"drop {outbox}")

    async def waiting(self, neighbour: str) -> int:
        outbox = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour=neighbour)

        def count(broker: ModelBroker) -> int:
            stream = broker.streams.get(outbox)
            return 0 if stream is None else sum(not m.mark for _, m in stream.waiting)

        return cast("int", await self._own(count, "what waits"))

    def answers(self, neighbour: str) -> bool:
        name = self._links.get(neighbour)
        return name is not None and self._brokers[name].up

    async def lift_bound(self, neighbour: str) -> None:
        """Nothing bounds an outbox here; from now on it is seen whether somebody reads it."""
        outbox = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour=neighbour)
        first = await self._own(lambda broker: broker.stream(outbox).first, "where an outbox is")
        self._firsts[neighbour] = first

    async def set_bounds(self) -> None:
        """Nothing bounds an outbox here."""

    async def carry_over(self, gone: str, to: str) -> int:
        if gone not in self._firsts:
            raise Retryable(f"nobody has looked yet at what waits for {gone}")
        here, there = (
            Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour=name)
            for name in (gone, to)
        )

        def copy(broker: ModelBroker) -> int | None:
            stream = broker.stream(here)
            if stream.first != self._firsts[gone]:
                return None
            held = [message for _, message in stream.waiting if not message.mark]
            broker.append(there, held)
            broker.carried += len(held)
            return len(held)

        copied = cast("int | None", await self._own(copy, f"carry over to {to}"))
        if copied is None:
            raise NotGone(f"{gone} has read from its outbox meanwhile, so it is not gone")
        return copied

    # --- messages

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        if channel.place is Place.INGRESS and not all(message.mark for message in messages):
            raise Unsupported("only publishers write messages to an ingress")
        held = list(messages)
        if channel.delivery is Delivery.BEST_EFFORT:

            def send(broker: ModelBroker) -> None:
                broker.check(self._mine)
                broker.send(channel, held)

            self._wire(self._name).call(send)
            await asyncio.sleep(0)
            return
        lock = self._locks.get(channel)
        if lock is None:
            lock = self._locks[channel] = asyncio.Lock()
        async with lock:
            while not self._closed:
                try:
                    await self._own(lambda broker: broker.append(channel, held), "append")
                except Fenced:
                    raise
                except DriverError:
                    await asyncio.sleep(RETRY_S)
                else:
                    return
            raise Retryable("closed")

    async def read(self, source: Source) -> AsyncIterator[Batch]:
        if source.delivery is Delivery.BEST_EFFORT:
            queue = self._queue(source)
            async for batch in queue.read():
                yield batch
            return
        if source.flow:
            name = self._name
            channel = Channel(place=Place.INGRESS, delivery=source.delivery, flow=source.flow)
        else:
            name = self._address(source.neighbour)
            channel = Channel(place=Place.OUTBOX, delivery=source.delivery, neighbour=self._name)
        life = (0, 0)
        number = 0
        while not self._closed:
            if source.neighbour and source.neighbour not in self._links:
                return
            try:
                life, piece = await self._pull(name, channel, life, number)
            except Fenced:
                raise
            except DriverError:
                await asyncio.sleep(RETRY_S)
                continue
            if piece is None:
                number = 0
                continue
            if not piece:
                continue
            number = piece[-1][0] + 1
            for batch in _batches(source, f"{life[0]}", piece):
                yield batch

    async def _pull(
        self, name: str, channel: Channel, life: tuple[int, int], number: int
    ) -> tuple[tuple[int, int], list[tuple[int, Message]] | None]:
        """Messages from `number` on; none after a beat without any. None: it is another life of
        the server or of the stream, begin with the first there is."""
        loop = self._network.loop
        own = name == self._name

        def pull(broker: ModelBroker) -> Any:
            if own:
                broker.check(self._mine)
            stream = broker.stream(channel)
            if (broker.boots, stream.made) != life:
                return (broker.boots, stream.made), None
            piece = stream.since(number, READ)
            if piece:
                return life, piece

            def begin(then: Callable[[Any], None]) -> None:
                answered = False

                def answer() -> None:
                    nonlocal answered
                    if answered:
                        return
                    answered = True
                    if broker.boots != life[0]:
                        then(Retryable("connection lost"))
                    elif broker.streams.get(channel) is stream:
                        then((life, stream.since(number, READ)))
                    else:
                        then((life, []))

                stream.watchers.append(answer)
                loop.call_later(BEAT_S, answer)

            return Later(begin)

        call = self._wire(name).call(pull)
        try:
            async with asyncio.timeout(DEAF_S):
                return await call
        except TimeoutError:
            raise Unknown(f"{name} is silent") from None

    async def settle(self, batch: Batch) -> None:
        source = batch.source
        if source.delivery is Delivery.BEST_EFFORT:
            return
        number = batch.messages[-1].position if source.flow else batch.token
        if not isinstance(number, int):
            return
        settling = self._settling.get(source)
        if settling is None:
            settling = self._settling[source] = _Settling(self, source)
        settling.settle(number, batch.life)

    async def purge(self, source: Source, before: int, life: str) -> None:
        """The source forgets what was settled, if its server is still the one it was read from."""
        if source.flow:
            channel = Channel(place=Place.INGRESS, delivery=source.delivery, flow=source.flow)
        else:
            channel = Channel(place=Place.OUTBOX, delivery=source.delivery, neighbour=self._name)

        def purge(broker: ModelBroker) -> None:
            if f"{broker.boots}" == life:
                broker.stream(channel).purge(before)

        if source.flow:
            await self._own(purge, "settle")
            return
        # Whoever handled them must still be the one who acts: at its own broker it is known.
        await self._own(lambda broker: None, "verify")
        await self._at(source.neighbour, purge, "settle")

    async def assign(self, publishers: Mapping[str, Publishers]) -> frozenset[str]:
        return frozenset()  # nobody who publishes has a name or a connection

    def map_flows(
        self, places: Mapping[str, StreamPlace], reliable: Mapping[str, int] | None = None
    ) -> None:
        """Do nothing: nobody subscribes to streams here."""

    def hand_overs(self) -> Mapping[str, HandOver] | None:
        return None

    async def stop_reading(self, source: Source) -> None:
        queue = self._queues.pop(source, None)
        if queue is not None:
            queue.end()

    async def close_ingress(self, but: Collection[str]) -> None:
        # Not over the wire: no ingress of a life moves, so there is nothing that could fail.
        self._brokers[self._name].close_ingress(but)

    def _queue(self, source: Source) -> _Queue:
        queue = self._queues.get(source)
        if queue is None:
            name = self._address(source.neighbour) if source.neighbour else self._name
            queue = self._queues[source] = _Queue(
                self._network, self._wire(name), source, self._name
            )
        return queue

    # --- interest

    async def interest(
        self, neighbour: str, flows: frozenset[str], epoch: str, *, asks: bool = False
    ) -> None:
        said = Interest(neighbour=self._name, flows=flows, epoch=epoch, asks=asks)

        await self._own(lambda broker: None, "verify")
        await self._at(neighbour, lambda broker: broker.keep(said), "interest")

    async def _follow(self, look: Callable[[ModelBroker], Any], known: Any) -> Any:
        """What `look` sees, as soon as it is not `known`, or after a beat. Raises DriverError."""
        loop = self._network.loop

        def see(broker: ModelBroker) -> Any:
            now = look(broker)
            if now != known:
                return now
            boots = broker.boots

            def begin(then: Callable[[Any], None]) -> None:
                answered = False

                def answer() -> None:
                    nonlocal answered
                    if answered:
                        return
                    answered = True
                    if broker.boots != boots:
                        then(Retryable("connection lost"))
                        return
                    try:
                        then(look(broker))
                    except Replaced as error:
                        then(Fenced(str(error), incarnation=error.incarnation))

                broker.listeners.append(answer)
                loop.call_later(BEAT_S, answer)

            return Later(begin)

        call = self._wire(self._name).call(see)
        try:
            async with asyncio.timeout(DEAF_S):
                return await call
        except TimeoutError:
            raise Unknown(f"{self._name} is silent") from None

    async def interests(self) -> AsyncIterator[Mapping[str, Interest]]:
        known: Mapping[str, Interest] | None = None

        def look(broker: ModelBroker) -> Mapping[str, Interest]:
            broker.check(self._mine)
            return broker.wanted()

        while True:
            try:
                said = await self._follow(look, known)
            except Fenced:
                raise
            except DriverError:
                await asyncio.sleep(RETRY_S)
                continue
            if said != known:
                known = said
                yield dict(said)

    # --- questions

    async def ask(self, neighbour: str, payload: bytes) -> bytes:
        def inquire(broker: ModelBroker) -> Any:
            if not broker.asked:
                raise Refusal(f"the agent of {broker.name} does not listen")
            inquire_of = broker.asked[-1]
            return Later(lambda then: inquire_of(self._name, payload, then))

        return cast("bytes", await self._at(neighbour, inquire, "a question"))

    async def inquiries(self) -> AsyncIterator[Inquiry]:
        waiting: deque[Inquiry] = deque()
        news = asyncio.Event()
        context = copy_context()
        wire, network = self._wire(self._name), self._network

        def arrived(inquiry: Inquiry) -> None:
            waiting.append(inquiry)
            news.set()

        def asked(neighbour: str, payload: bytes, reply: Callable[[bytes], None]) -> None:
            if not network.blocked(wire.broker.name, wire.here):
                inquiry = Inquiry(neighbour, payload, reply)
                network.loop.call_at(wire.return_at(), arrived, inquiry, context=context)

        def listen(broker: ModelBroker) -> int:
            broker.check(self._mine)
            broker.asked[:] = [asked]
            return broker.boots

        while True:
            try:
                boots = await wire.ask(listen, "listen")
            except Fenced:
                raise
            except DriverError:
                await asyncio.sleep(RETRY_S)
                continue
            while wire.broker.boots == boots:
                while waiting:
                    yield waiting.popleft()
                news.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(BEAT_S):
                        await news.wait()

    async def answer(self, inquiry: Inquiry, payload: bytes) -> None:
        reply = cast("Callable[[bytes], None]", inquiry.reply)
        await self._own(lambda broker: reply(payload), "an answer")

    # --- admission

    async def admit(self, classes: Mapping[str, ClassSpec], *, unmanaged: str) -> None:
        now = self._network.loop.time()
        await self._own(lambda broker: broker.rule(self._life, classes, now), "admit")

    async def revoke(self, name: str, consumer: str) -> None:
        raise Unsupported("nobody is released by name here")

    async def fence(self, incarnation: int) -> None:
        def claim(broker: ModelBroker) -> None:
            broker.claim(incarnation, self._life)
            # What the server knows of our connections, so it holds from this instant on.
            self._mine = Record(incarnation, self._life)

        await self._wire(self._name).ask(claim, "fence")

    async def note_state(self, number: int) -> None:
        await self._own(lambda broker: broker.note_state(number), "note the state")

    async def noted_state(self) -> int:
        noted = await self._own(lambda broker: broker.noted_state, "the state that was noted")
        return cast("int", noted)

    async def fenced(self) -> NoReturn:
        def look(broker: ModelBroker) -> None:
            broker.check(self._mine)

        while True:
            try:
                await self._follow(look, None)
            except Fenced:
                raise
            except DriverError:
                await asyncio.sleep(RETRY_S)

    async def stats(self) -> Stats:
        broker = self._brokers[self._name]
        now = self._network.loop.time()
        ingress: dict[str, int] = {}
        outbox: dict[str, int] = {}
        for channel, stream in broker.streams.items():
            if channel.place is Place.INGRESS:
                ingress[channel.flow] = len(stream.waiting)
            elif channel.place is Place.OUTBOX:
                outbox[channel.neighbour] = len(stream.waiting)
        book = broker.book
        return Stats(
            sync_always=True,
            ingress_backlog=ingress,
            outbox_backlog=outbox,
            classes={
                name: ClassAdmission(
                    limit=spec.limit, admitted=book.admitted(name), waiting=book.waiting(name, now)
                )
                for name, spec in book.classes.items()
            },
        )


def _batches(source: Source, life: str, piece: list[tuple[int, Message]]) -> list[Batch]:
    """Cut into batches of one flow, or one mark."""
    batches: list[Batch] = []
    held: list[Message] = []
    for number, message in piece:
        if source.flow:
            message = message._replace(position=number)
        if not held or message.mark or held[0].mark or held[0].flow != message.flow:
            held = []
            batches.append(Batch(source, held, None, life))
        held.append(message)
        batches[-1].token = number
    return batches


class _Settling:
    """Purges one source up to what was settled, a few times a second, until it has succeeded."""

    def __init__(self, driver: ModelDriver, source: Source) -> None:
        self._driver = driver
        self._source = source
        self._wanted = (0, "")
        self._done = (0, "")
        self._work = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def settle(self, number: int, life: str) -> None:
        """Everything up to this number may go, in this life of the server."""
        self._wanted = (number, life)
        self._work.set()

    def end(self) -> None:
        """What is not purged yet is read again by somebody."""
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            await self._work.wait()
            await asyncio.sleep(SETTLE_EVERY_S)
            self._work.clear()
            wanted = self._wanted
            if wanted == self._done:
                continue
            try:
                await self._driver.purge(self._source, wanted[0] + 1, wanted[1])
                self._done = wanted
            except DriverError:
                # Fenced, too: a disk that was lost knows nobody until we claim it again.
                self._work.set()


class _Queue:
    """A subscription: what came while it was open and has not been read."""

    def __init__(self, network: Network, wire: Wire, source: Source, name: str) -> None:
        self._name = name
        self._network = network
        self._wire = wire
        self._source = source
        self._waiting: deque[Batch] = deque()
        self._news = asyncio.Event()
        self.subscribed = False
        self.shed = 0
        self._ended = False
        self._task = asyncio.create_task(self._keep())

    def end(self) -> None:
        """Nothing more comes."""
        self._ended = True
        self._task.cancel()
        self._news.set()

    async def _keep(self) -> None:
        """Subscribed through every restart of the broker."""
        if self._source.flow:
            channel = Channel(
                place=Place.INGRESS, delivery=Delivery.BEST_EFFORT, flow=self._source.flow
            )
        else:
            channel = Channel(
                place=Place.OUTBOX, delivery=Delivery.BEST_EFFORT, neighbour=self._name
            )
        context = copy_context()
        network, wire = self._network, self._wire

        def subscriber(messages: list[Message]) -> None:
            if not network.blocked(wire.broker.name, wire.here):
                network.loop.call_at(wire.return_at(), self._arrived, messages, context=context)

        def subscribe(broker: ModelBroker) -> int:
            subscribers = broker.subscribers.setdefault(channel, [])
            if subscriber not in subscribers:
                subscribers.append(subscriber)
            return broker.boots

        boots = -1
        try:
            while True:
                try:
                    boots = await wire.ask(subscribe, "subscribe")
                except DriverError:
                    self.subscribed = False
                    await asyncio.sleep(RETRY_S)
                    continue
                self.subscribed = True
                while wire.broker.boots == boots:
                    await asyncio.sleep(0.5)
                self.subscribed = False
        finally:
            with contextlib.suppress(KeyError, ValueError):
                wire.broker.subscribers[channel].remove(subscriber)

    def _arrived(self, messages: list[Message]) -> None:
        if self._ended:
            return
        if len(self._waiting) >= BEST_EFFORT_WAITING and not messages[0].mark:
            self.shed += len(messages)
            return
        self._waiting.append(Batch(self._source, messages))
        self._news.set()

    async def read(self) -> AsyncIterator[Batch]:
        """Batches as they come."""
        while not self._ended:
            while self._waiting:
                yield self._waiting.popleft()
            self._news.clear()
            if not self._ended:
                await self._news.wait()
