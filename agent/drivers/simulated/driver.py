"""Drive simulated brokers for the agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import NoReturn

from agent.drivers.base import (
    Batch,
    BrokerFacts,
    Capabilities,
    Channel,
    ClassAdmission,
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
    Unsupported,
)
from agent.drivers.simulated.broker import (
    MAX_PAYLOAD_BYTES,
    WORK_S,
    Line,
    VirtualBroker,
    VirtualNetwork,
)
from weir.coordination.wire import (
    KEEP_S,
    ClassSpec,
    Delivery,
    HandOver,
    Publishers,
    StreamPlace,
)

ANSWER_S = 2.0


class SimulatedDriver:
    """Drive one simulated broker; see `agent.drivers.base.Driver`."""

    def __init__(self, *, network: VirtualNetwork, address: str, broker: str) -> None:
        """Take `broker`, our name in documents, under which neighbours store our interest."""
        self._network = network
        self._broker = network.at(address)
        self._name = broker
        self._links: dict[str, str] = {}
        self._firsts: dict[str, int] = {}
        self._incarnation: int | None = None
        self._looked: tuple[float, float] | None = None
        """When stats were read last, and the work done by then."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            product="simulated",
            deliveries=tuple(Delivery),
            limiter_scope=LimiterScope.AGENT,
            burst_settable=True,
            admission=Enforcement.ENFORCED,
        )

    @property
    def server(self) -> str:
        return "" if self._broker.away else self._broker.address

    async def open(self) -> BrokerFacts:
        self._own()
        return BrokerFacts(
            name=self._name,
            version="1",
            jetstream=True,
            max_payload_bytes=MAX_PAYLOAD_BYTES,
            round_trip_s=0.0,
        )

    async def close(self) -> None:
        self._links.clear()

    def _own(self) -> VirtualBroker:
        """Return our broker, if it is there and still ours. Raises Retryable, Fenced."""
        if self._broker.away:
            raise Retryable(f"{self._broker.address} does not answer")
        if self._incarnation is not None and self._broker.holder is not self:
            raise self._superseded()
        return self._broker

    def _superseded(self) -> Fenced:
        newest = self._broker.incarnation
        return Fenced(f"incarnation {newest} acts for this broker", incarnation=newest)

    def _outbox_at(self, neighbour: str, delivery: Delivery) -> Line:
        """Return where messages for us wait at a neighbour's broker."""
        address = self._links.get(neighbour)
        if address is None:
            raise Retryable(f"no link to {neighbour}")
        channel = Channel(place=Place.OUTBOX, delivery=delivery, neighbour=self._name)
        return self._network.reach(address).line(channel)

    # --- channels and links

    async def ensure_channel(
        self, channel: Channel, *, max_message_bytes: int = 0, keep_s: int = KEEP_S
    ) -> None:
        line = self._own().line(channel)
        if channel.place is Place.INGRESS:
            line.most_bytes = min(MAX_PAYLOAD_BYTES, max_message_bytes or MAX_PAYLOAD_BYTES)
            line.closed = False

    async def ensure_link(self, neighbour: str, address: str) -> None:
        self._network.reach(address)
        self._links[neighbour] = address
        for delivery in Delivery:
            self._own().line(self._outbox(neighbour, delivery))
            self._outbox_at(neighbour, delivery)

    async def trust(self, public_keys: Mapping[str, str]) -> None:
        return  # nobody comes from outside

    async def close_link(self, neighbour: str) -> None:
        self._links.pop(neighbour, None)

    async def drop_link(self, neighbour: str) -> None:
        self._links.pop(neighbour, None)
        for delivery in Delivery:
            line = self._own().lines.pop(self._outbox(neighbour, delivery), None)
            if line is not None:
                line.end()

    async def waiting(self, neighbour: str) -> int:
        line = self._own().lines.get(self._outbox(neighbour, Delivery.RELIABLE))
        count = 0 if line is None else len(line)
        try:
            return count + len(self._outbox_at(neighbour, Delivery.RELIABLE))
        except Retryable:
            return count

    def _outbox(self, neighbour: str, delivery: Delivery) -> Channel:
        return Channel(place=Place.OUTBOX, delivery=delivery, neighbour=neighbour)

    def answers(self, neighbour: str) -> bool:
        address = self._links.get(neighbour)
        try:
            return address is not None and self._network.reach(address) is not None
        except Retryable:
            return False

    async def lift_bound(self, neighbour: str) -> None:
        line = self._own().line(self._outbox(neighbour, Delivery.RELIABLE))
        self._firsts[neighbour] = line.first

    async def set_bounds(self) -> None:
        """Do nothing: a simulated outbox has no bound."""

    async def carry_over(self, gone: str, to: str) -> int:
        if gone not in self._firsts:
            raise Retryable(f"the outbox for {gone} was not prepared for copying")
        line = self._own().line(self._outbox(gone, Delivery.RELIABLE))
        if line.first != self._firsts[gone]:
            raise NotGone(f"{gone} has read from its outbox meanwhile, so it is not gone for good")
        held = [message for message in line.waiting if not message.mark]
        self._own().line(self._outbox(to, Delivery.RELIABLE)).append(held)
        return len(held)

    # --- messages

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        broker = self._own()
        match channel.place:
            case Place.DELIVERY:
                reliable = channel.delivery is Delivery.RELIABLE
                broker.deliver(channel.flow, messages, reliable=reliable)
            case Place.OUTBOX:
                broker.line(channel).append(messages)
                broker.worked_s += WORK_S[channel.delivery] * len(messages)
            case Place.INGRESS:
                if not all(message.mark for message in messages):
                    raise Unsupported("only publishers write messages to an ingress")
                broker.line(channel).append(messages)
        # A publisher that never yields would starve the readers.
        await asyncio.sleep(0)

    async def read(self, source: Source) -> AsyncIterator[Batch]:
        if source.flow:
            channel = Channel(place=Place.INGRESS, delivery=source.delivery, flow=source.flow)
            line = self._own().line(channel)
            line.ended = False
        else:
            line = self._outbox_at(source.neighbour, source.delivery)
        async for batch in line.read(source):
            self._own()
            if source.neighbour and source.neighbour not in self._links:
                return
            yield batch

    async def settle(self, batch: Batch) -> None:
        if not isinstance(batch.token, int):
            return
        self._own()
        source = batch.source
        if source.flow:
            channel = Channel(place=Place.INGRESS, delivery=source.delivery, flow=source.flow)
            self._own().line(channel).settle(batch.token)
        else:
            self._outbox_at(source.neighbour, source.delivery).settle(batch.token)

    async def settled(self, source: Source) -> None:
        return  # settling is immediate

    async def stop_reading(self, source: Source) -> None:
        channel = Channel(place=Place.INGRESS, delivery=source.delivery, flow=source.flow)
        line = self._own().lines.get(channel)
        if line is not None:
            line.end()

    async def close_ingress(self, but: Collection[str]) -> None:
        for channel, line in self._own().lines.items():
            if channel.place is Place.INGRESS and channel.delivery is Delivery.RELIABLE:
                line.closed = line.closed or channel.flow not in but

    # --- interest

    async def interest(
        self, neighbour: str, flows: frozenset[str], epoch: str, *, asks: bool = False
    ) -> None:
        address = self._links.get(neighbour)
        if address is None:
            raise Retryable(f"no link to {neighbour}")
        self._own()
        there = self._network.reach(address)
        there.revisions += 1
        there.interests[self._name] = Interest(
            neighbour=self._name, flows=flows, epoch=epoch, asks=asks, revision=str(there.revisions)
        )
        there.interest_changed.set()

    async def interests(self) -> AsyncIterator[Mapping[str, Interest]]:
        while True:
            self._broker.interest_changed.clear()
            yield dict(self._own().interests)
            await self._broker.interest_changed.wait()

    # --- questions

    async def ask(self, neighbour: str, payload: bytes) -> bytes:
        address = self._links.get(neighbour)
        if address is None:
            raise Retryable(f"no link to {neighbour}")
        questions = self._network.reach(address).questions
        if questions is None:
            raise Retryable(f"the agent of {neighbour} does not listen")
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        questions.put_nowait((self._name, payload, answer))
        try:
            async with asyncio.timeout(ANSWER_S):
                return await answer
        except TimeoutError as error:
            raise Retryable(f"the agent of {neighbour} does not answer") from error

    async def inquiries(self) -> AsyncIterator[Inquiry]:
        questions = self._broker.questions = asyncio.Queue()
        try:
            while True:
                neighbour, payload, answer = await questions.get()
                yield Inquiry(neighbour, payload, answer)
        finally:
            if self._broker.questions is questions:
                self._broker.questions = None

    async def answer(self, inquiry: Inquiry, payload: bytes) -> None:
        assert isinstance(inquiry.reply, asyncio.Future)
        if not self._broker.away and not inquiry.reply.done():
            inquiry.reply.set_result(payload)

    # --- admission

    async def admit(self, classes: Mapping[str, ClassSpec], *, unmanaged: str) -> None:
        book = self._own().book
        now = asyncio.get_running_loop().time()
        for place in book.rule(classes):
            book.gone(place.connection, now)

    async def assign(self, publishers: Mapping[str, Publishers]) -> frozenset[str]:
        self._own().publishers = dict(publishers)
        return frozenset()  # simulated publishers have no names and no connections

    def map_flows(
        self, places: Mapping[str, StreamPlace], reliable: Mapping[str, int] | None = None
    ) -> None:
        """Do nothing: a simulated broker has consumers, and no subscribers of streams."""

    def hand_overs(self) -> Mapping[str, HandOver] | None:
        return None

    async def revoke(self, name: str, consumer: str) -> None:
        book = self._own().book
        for place in book.places(name):
            if place.consumer == consumer:
                book.gone(place.connection, asyncio.get_running_loop().time())

    async def fence(self, incarnation: int) -> None:
        broker = self._broker
        if broker.away:
            raise Retryable(f"{broker.address} does not answer")
        if incarnation < broker.incarnation:
            raise self._superseded()
        self._incarnation = broker.incarnation = incarnation
        if broker.holder is not self:
            broker.holder = self
            before, broker.claimed = broker.claimed, asyncio.Event()
            before.set()

    async def note_state(self, number: int) -> None:
        broker = self._own()
        broker.noted_state = max(broker.noted_state, number)

    async def noted_state(self) -> int:
        return self._own().noted_state

    async def fenced(self) -> NoReturn:
        while self._incarnation is None or self._broker.holder is self:
            await self._broker.claimed.wait()
        raise self._superseded()

    def _busy(self, now: float, worked_s: float) -> float | None:
        """Return the share of one core since the last reading; None for the first."""
        before, self._looked = self._looked, (now, worked_s)
        if before is None or now <= before[0]:
            return None
        return (worked_s - before[1]) / (now - before[0])

    async def stats(self) -> Stats:
        broker = self._broker
        now = asyncio.get_running_loop().time()
        ingress: dict[str, int] = {}
        shed: dict[str, int] = {}
        outbox: dict[str, int] = {}
        for channel, line in broker.lines.items():
            if channel.place is Place.INGRESS:
                ingress[channel.flow] = ingress.get(channel.flow, 0) + len(line)
                shed[channel.flow] = shed.get(channel.flow, 0) + line.shed
            elif channel.place is Place.OUTBOX:
                outbox[channel.neighbour] = outbox.get(channel.neighbour, 0) + len(line)
        classes = {
            name: ClassAdmission(
                limit=spec.limit,
                admitted=broker.book.admitted(name),
                waiting=broker.book.waiting(name, now),
            )
            for name, spec in broker.book.classes.items()
        }
        return Stats(
            connections=sum(state.admitted for state in classes.values()),
            in_messages=broker.in_messages,
            out_messages=broker.out_messages,
            in_bytes=broker.in_bytes,
            out_bytes=broker.out_bytes,
            cpu_ratio=self._busy(now, broker.worked_s),
            cores=1,
            sync_always=True,
            ingress_backlog=ingress,
            ingress_shed=shed,
            outbox_backlog=outbox,
            delivered=dict(broker.got),
            classes=classes,
        )
