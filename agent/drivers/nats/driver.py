"""Drive NATS for the agent: one server of its own, and the outboxes at its neighbours' servers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit, urlunsplit

from agent.class_delays import ClassDelays
from agent.drivers.base import (
    Batch,
    BrokerFacts,
    Capabilities,
    Channel,
    DriverError,
    Enforcement,
    Inquiry,
    Interest,
    LimiterScope,
    Message,
    NameTooLong,
    Place,
    Retryable,
    Source,
    Stats,
    Unsupported,
)
from agent.drivers.nats import (
    delay_reports,
    jetstream,
    names,
    neighbours,
    streams,
    whereabouts,
    wire,
)
from agent.drivers.nats.carry_over import Carrier
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.consumer_requests import ConsumerRequests
from agent.drivers.nats.core import CoreReader, CoreWriter
from agent.drivers.nats.kept_streams import KeptStreams
from agent.drivers.nats.link import Link
from agent.drivers.nats.link_access import LinkKey
from agent.drivers.nats.mapped_streams import MappedStreams
from agent.drivers.nats.multicast import MulticastOptions
from agent.drivers.nats.neighbours import Declared, inquiries
from agent.drivers.nats.own_server import OPEN_S, OwnServer
from agent.drivers.nats.server_clock import ServerClock
from agent.drivers.nats.server_config import AGENT_USER, BrokerSecrets
from agent.drivers.nats.set_aside import SetAside
from agent.drivers.nats.stats import INGRESS_FULL, TOO_LARGE, UNREADABLE, Losses, read_stats
from agent.drivers.nats.stream_reader import Settler, Stored, StreamReader
from agent.drivers.nats.stream_writer import Outgoing, StreamWriter
from agent.drivers.nats.streams import Lives
from agent.memory import Memory
from agent.tasks import Watched, end, until_one_ends
from weir.coordination.wire import (
    KEEP_S,
    ClassSpec,
    Delivery,
    HandOver,
    Publishers,
    StreamPlace,
    broker_too_long,
    reliable_flow_too_long,
    token,
)

log = logging.getLogger(__name__)

INGRESS_WAITING = 2_000
"""Best-effort messages that may wait before a gate; more are shed."""


class NatsDriver:
    """Drive one NATS server; see `agent.drivers.base.Driver`."""

    def __init__(
        self,
        *,
        url: str,
        broker: str,
        secrets: BrokerSecrets | None = None,
        lease_s: float = 3600.0,
        memory: Memory | None = None,
        tls: ssl.SSLContext | None = None,
        multicast: MulticastOptions | None = None,
    ) -> None:
        """Take `broker`, our name in documents. Without `secrets` the server asks nobody: it admits
        every client, and limits are refused as unsupported. `tls` verifies our broker and the
        neighbours' instead of the system's certificates. With `multicast` streams are sent to
        multicast groups, too."""
        self._broker = broker
        self._memory = memory or Memory()
        self._tls = tls
        own = _with_user(url, AGENT_USER, secrets.agent_password) if secrets else url
        self._key = LinkKey(secrets.link_seed) if secrets is not None else None
        self._server = OwnServer(
            url=url,
            own_url=own,
            broker=broker,
            secrets=secrets,
            lease_s=lease_s,
            tls=tls,
        )
        self._own, self._admission = self._server.session, self._server.admission
        self._owned = jetstream.Owned()
        self._links: dict[str, Link] = {}
        self._entering: set[str] = set()
        """The flows whose ingress is read here."""
        self._whereabouts: asyncio.Task[None] | None = None
        self._writers: dict[str, StreamWriter] = {}
        self._ingress: dict[str, CoreReader] = {}
        self._settlers: dict[Source, Settler] = {}
        self._subjects: dict[tuple[str, str], bytes] = {}
        self._jetstream = True
        self._losses = Losses()
        self._core = CoreWriter(self._own, self._losses, self._misses)
        self._tasks = Watched()
        self._mapped = MappedStreams(self._own, broker, self._losses, self._tasks, multicast)
        if self._admission is not None:
            self._admission.subscribers.gone = self._mapped.remove_receiver
            self._admission.subscribers.compared = self._mapped.compare_receivers
        self._consumers = ConsumerRequests(self._own)
        self._class_delays = ClassDelays()
        self._delay_reports: asyncio.Task[None] | None = None
        self._set_aside = SetAside(self._losses)
        self._clock = ServerClock()
        self._changing = asyncio.Lock()
        """This lock is held while a stream's settings are read and written back."""
        self._kept = KeptStreams(
            self._own, changing=self._changing, allowed=self._server.check_ours
        )
        self._mapped.kept_places = self._kept.places
        self._carrier = Carrier(self._own, self._writer, self._changing, self._keep_unreadable)

    # --- life

    @property
    def capabilities(self) -> Capabilities:
        both = (Delivery.BEST_EFFORT, Delivery.RELIABLE)
        return Capabilities(
            product="nats",
            deliveries=both if self._jetstream else both[:1],
            limiter_scope=LimiterScope.AGENT,
            burst_settable=True,
            admission=Enforcement.ENFORCED if self._admission else Enforcement.COOPERATIVE,
        )

    @property
    def server(self) -> str:
        current = self._own.current
        return "" if current is None else str(current.info.get("server_id", ""))

    async def open(self) -> BrokerFacts:
        connection = await self._own.start().connection(OPEN_S)
        start = time.perf_counter()
        await connection.flush()
        round_trip_s = time.perf_counter() - start
        info = connection.info
        self._jetstream = bool(info.get("jetstream", False))
        if self._jetstream:
            config = streams.interest_config()
            await jetstream.ensure_stream(connection, config)
            self._owned.note(config)
        if self._admission is not None:
            await self._admission.open()
        if self._whereabouts is None:
            self._whereabouts = self._tasks.start(
                whereabouts.answer(self._own, self._where), "questions of publishers"
            )
        if self._admission is not None:
            self._consumers.start(self._tasks)
            if self._delay_reports is None:
                book = self._admission.book
                self._delay_reports = self._tasks.start(
                    delay_reports.hear(self._own, self._class_delays, lambda: book.classes),
                    "reports of delays",
                )
        self._mapped.start()
        if self._jetstream:
            self._kept.start()
        return BrokerFacts(
            name=str(info.get("server_name", "")),
            version=str(info.get("version", "")),
            jetstream=self._jetstream,
            max_payload_bytes=int(info.get("max_payload", 0)),
            round_trip_s=round_trip_s,
        )

    async def fence(self, incarnation: int) -> None:
        await self._server.fence(incarnation, recorded=self._jetstream)

    async def note_state(self, number: int) -> None:
        await self._server.note_state(number)

    async def noted_state(self) -> int:
        return await self._server.noted_state()

    async def fenced(self) -> NoReturn:
        async def superseded() -> None:
            raise await self._server.guard.fenced()

        await until_one_ends(superseded(), self._tasks.fault(), self._kept.tasks.fault())
        raise AssertionError("neither of the two returns")

    async def close(self) -> None:
        if self._whereabouts is not None:
            await end(self._whereabouts)
            self._whereabouts = None
        if self._delay_reports is not None:
            await end(self._delay_reports)
            self._delay_reports = None
        await self._consumers.close()
        await self._mapped.close()
        await self._kept.close()
        for neighbour in tuple(self._links):
            await self._links.pop(neighbour).close()
        for reader in self._ingress.values():
            await reader.close()
        for writer in self._writers.values():
            await writer.close()
        for settler in self._settlers.values():
            await settler.close()
        await self._server.close()

    # --- channels and links

    async def ensure_channel(
        self, channel: Channel, *, max_message_bytes: int = 0, keep_s: int = KEEP_S
    ) -> None:
        if channel.delivery is Delivery.BEST_EFFORT:
            # A subject needs no creation, but a stream on it would go on storing what passes.
            if channel.place is Place.INGRESS and self._jetstream:
                await self._retire_ingress(channel.flow)
            return
        if not self._jetstream:
            raise Unsupported("the reliable class needs a server with JetStream")
        too_long = (
            broker_too_long(channel.neighbour)
            if channel.place is Place.OUTBOX
            else reliable_flow_too_long(channel.flow)
        )
        if too_long:
            raise NameTooLong(f"the name {too_long}")
        connection = await self._own.connection(OPEN_S)
        match channel.place:
            case Place.INGRESS:
                config = self._ingress_config(channel.flow, connection, max_message_bytes)
            case Place.DELIVERY:
                config = streams.delivery_config(channel.flow, keep_s)
            case Place.OUTBOX:
                config = self._carrier.outbox_config(channel.neighbour)
        async with self._changing:
            await jetstream.ensure_stream(connection, config)
        self._owned.note(config)

    def _ingress_config(self, flow: str, connection: Connection, most: int) -> dict[str, Any]:
        own = int(connection.info.get("max_payload", 1 << 20))
        return streams.ingress_config(flow, self._broker, min(own, most) if most else own)

    async def _retire_ingress(self, flow: str) -> None:
        """Remove the stream of a former ingress once it is empty. Raises Retryable until then."""
        connection = await self._own.connection(OPEN_S)
        stream = names.ingress_stream(flow)
        self._owned.forget(stream)
        if await jetstream.stream_state(connection, stream) is None:
            return
        # First close the ingress, which reliable publishers see; then let its messages leave.
        config = {
            **self._ingress_config(flow, connection, 0),
            "subjects": [names.closed_subject(flow)],
        }
        async with self._changing:
            await jetstream.ensure_stream(connection, config)
        state = await jetstream.stream_state(connection, stream)
        if state is not None and state.messages:
            raise Retryable(f"{state.messages} reliable messages of {flow} have to pass first")
        await jetstream.delete_stream(connection, stream)

    async def trust(self, public_keys: Mapping[str, str]) -> None:
        if self._admission is not None:
            await self._admission.trust(public_keys)

    async def ensure_link(self, neighbour: str, address: str) -> None:
        link = self._links.get(neighbour)
        if link is not None and link.address != address:
            await self.close_link(neighbour)
            link = None
        if link is None:
            link = self._links[neighbour] = Link(
                neighbour,
                address,
                own=self._broker,
                reliable=self._jetstream,
                incarnation=lambda: self._server.incarnation,
                losses=self._losses,
                memory=self._memory,
                key=self._key,
                tls=self._tls,
            )
        if self._jetstream:
            await self.ensure_channel(
                Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour=neighbour)
            )
        await link.ready()

    async def close_link(self, neighbour: str) -> None:
        link = self._links.pop(neighbour, None)
        for delivery in Delivery:
            settler = self._settlers.pop(Source(delivery=delivery, neighbour=neighbour), None)
            if settler is not None:
                await settler.close()
        if link is not None:
            await link.close()

    async def drop_link(self, neighbour: str) -> None:
        self._carrier.dropped(neighbour)
        await self.close_link(neighbour)
        stream = names.outbox_stream(neighbour)
        self._owned.forget(stream)
        writer = self._writers.pop(stream, None)
        if writer is not None:
            await writer.close()
        if self._jetstream:
            await jetstream.delete_stream(await self._own.connection(OPEN_S), stream)

    async def waiting(self, neighbour: str) -> int:
        if not self._jetstream:
            return 0
        stream = names.outbox_stream(neighbour)
        # First count messages on their way into the stream: in the other order some could be
        # missed.
        writer = self._writers.get(stream)
        count = 0 if writer is None else writer.unsent
        count += await self._stored(await self._own.connection(OPEN_S), neighbour)
        link = self._links.get(neighbour)
        theirs = link.session.current if link is not None else None
        if theirs is not None:
            with contextlib.suppress(DriverError):
                count += await self._stored(theirs, self._broker)
        return count

    async def _stored(self, connection: Connection, reader: str) -> int:
        """Return the number of messages in the outbox of a reader; marks are none."""
        stream = names.outbox_stream(reader)
        state = await jetstream.stream_state(connection, stream)
        if state is None or not state.messages:
            return 0
        marks = await jetstream.count_of(connection, stream, names.stored_mark_subject(reader))
        return max(0, state.messages - marks)

    # --- messages for a neighbour that is gone

    def _misses(self, neighbour: str) -> bool:
        return self._admission is not None and self._admission.misses(neighbour)

    def answers(self, neighbour: str) -> bool:
        link = self._links.get(neighbour)
        return link is not None and link.answers

    async def lift_bound(self, neighbour: str) -> None:
        if self._jetstream:
            await self._carrier.lift_bound(neighbour)

    async def set_bounds(self) -> None:
        await self._carrier.set_bounds()

    async def carry_over(self, gone: str, to: str) -> int:
        return await self._carrier.carry_over(gone, to) if self._jetstream else 0

    # --- messages

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        if channel.place is Place.INGRESS:
            await self._mark_ingress(channel, messages)
            return
        if channel.delivery is Delivery.BEST_EFFORT:
            await self._core.publish(channel, messages)
            if channel.place is Place.DELIVERY:
                self._mapped.send(channel.flow, messages)
            return
        match channel.place:
            case Place.OUTBOX:
                stream = names.outbox_stream(channel.neighbour)
                prefix = f"{names.OUT}.{token(channel.neighbour)}"
            case Place.DELIVERY:
                stream = names.delivery_stream(channel.flow)
                prefix = names.DELIVERY
        writer = self._writer(stream)
        subject = self._subject
        appending = writer.append(
            [
                Outgoing(subject(prefix, m), m.position, m.headers, m.payload)
                if not m.mark
                else Outgoing(f"{prefix}{names.STORED_MARK}".encode(), 0, b"", m.payload)
                for m in messages
            ]
        )
        if channel.place is Place.DELIVERY and self._kept.may_hold(channel.flow):
            await asyncio.gather(appending, self._kept.append(channel.flow, messages, subject))
        else:
            await appending

    async def _mark_ingress(self, channel: Channel, marks: Sequence[Message]) -> None:
        """Append marks to an ingress; nothing else may be appended there by an agent."""
        if not all(message.mark for message in marks):
            raise Unsupported("only publishers write messages to an ingress")
        connection = await self._own.connection(OPEN_S)
        subject = names.ingress_mark_subject(channel.flow)
        for mark in marks:
            if channel.delivery is Delivery.BEST_EFFORT:
                connection.write(wire.publication(subject.encode(), mark.payload))
            else:
                await jetstream.append(connection, subject, mark.payload)

    def _writer(self, stream: str) -> StreamWriter:
        writer = self._writers.get(stream)
        if writer is None:
            writer = self._writers[stream] = StreamWriter(
                self._own,
                stream,
                set_aside=self._set_aside_message,
                allowed=self._server.check_ours,
                owned=self._owned,
            )
        return writer

    async def _set_aside_message(self, connection: Connection, message: Outgoing, why: str) -> None:
        """Keep a message that a writer cannot append; its subject ends in flow and origin."""
        *_, flow, where = message.subject.decode().split(".")
        await self._set_aside.put(
            connection,
            flow=names.name_of(flow),
            where=names.name_of(where),
            position=message.position,
            header=message.header,
            payload=message.payload,
            reason=TOO_LARGE,
            why=why,
        )

    def _subject(self, prefix: str, message: Message) -> bytes:
        key = (prefix, message.origin + message.flow)
        known = self._subjects.get(key)
        if known is None:
            text = f"{prefix}.{token(message.flow)}.{message.origin}"
            known = self._subjects[key] = text.encode()
        return known

    async def read(self, source: Source) -> AsyncIterator[Batch]:
        if source.flow:
            self._entering.add(source.flow)
        if source.delivery is Delivery.BEST_EFFORT:
            async for batch in self._core_reader(source).read():
                yield batch
            return
        if source.flow:
            lives = Lives(self._server.began, self._changing)
            stream, clock = names.ingress_stream(source.flow), self._clock

            async def meet(connection: Connection, stream: str) -> None:
                await lives.meet(connection, stream)
                await clock.compare(connection)

            reader = StreamReader(
                self._own, stream, meet=meet, memory=self._memory, owned=self._owned
            )
            async for piece in reader.read():
                for batch in streams.ingress_messages(
                    source.flow, self._broker, piece, source, lives, clock
                ):
                    yield batch
            return
        link = self._link(source.neighbour)
        cutter = streams.OutboxMessages(source)
        outbox = names.outbox_stream(self._broker)
        async for piece in StreamReader(link.session, outbox, memory=self._memory).read():
            batches = cutter.batches(piece)
            for stored in cutter.unreadable:
                await self._keep_unreadable(source.neighbour, stored)
            for batch in batches:
                yield batch

    async def _keep_unreadable(self, neighbour: str, stored: Stored) -> None:
        """Keep a message of an outbox to or from a neighbour that Weir did not write."""
        await self._set_aside.put(
            await self._own.connection(OPEN_S),
            flow="",
            where=f"{neighbour} {stored.subject.decode(errors='replace')}",
            position=stored.sequence,
            header=stored.header,
            payload=stored.payload,
            reason=UNREADABLE,
            why="it is in an outbox without the headers of Weir",
        )

    def _core_reader(self, source: Source) -> CoreReader:
        if source.neighbour:
            return self._link(source.neighbour).core
        reader = self._ingress.get(source.flow)
        if reader is None:
            flow = source.flow
            reader = self._ingress[flow] = CoreReader(
                self._own,
                names.ingress_subject(flow),
                source,
                lambda subject: "" if names.is_ingress_mark(subject) else flow,
                limit=INGRESS_WAITING,
                losses=self._losses,
                reason=INGRESS_FULL,
                memory=self._memory.best_effort,
                marks=names.ingress_mark_subject(flow),
            )
        return reader

    async def stop_reading(self, source: Source) -> None:
        """Stop reading a former ingress, and count its remaining best-effort messages as lost."""
        self._entering.discard(source.flow)
        reader = self._ingress.pop(source.flow, None)
        if reader is not None:
            await reader.close()
        settler = self._settlers.pop(source, None)
        if settler is not None:
            # The stream may be created again, and its numbers start again with it.
            await settler.close()

    async def close_ingress(self, but: Collection[str]) -> None:
        if not self._jetstream:
            return
        connection = await self._own.connection(OPEN_S)
        prefix, kept = names.ingress_stream(""), {names.ingress_stream(flow) for flow in but}
        for stream in await jetstream.stream_names(connection, f"{names.IN}.*"):
            if stream in kept or not stream.startswith(prefix):
                continue
            closed = names.closed_subject(names.name_of(stream.removeprefix(prefix)))
            async with self._changing:
                state = await jetstream.stream_state(connection, stream)
                if state is not None:
                    await jetstream.change_stream(connection, state, {"subjects": [closed]})

    async def settle(self, batch: Batch) -> None:
        sequence = batch.messages[-1].position if batch.source.flow else batch.token
        if not isinstance(sequence, int) or batch.source.delivery is Delivery.BEST_EFFORT:
            return
        settler = self._settlers.get(batch.source)
        if settler is None:
            source = batch.source
            if source.flow:
                settler = Settler(
                    self._own, names.ingress_stream(source.flow), self._server.check_ours
                )
            else:
                session = self._link(source.neighbour).session
                settler = Settler(
                    session, names.outbox_stream(self._broker), self._server.check_ours
                )
            self._settlers[source] = settler
        settler.settle(sequence, batch.life)

    def _link(self, neighbour: str) -> Link:
        try:
            return self._links[neighbour]
        except KeyError:
            raise Retryable(f"no link to {neighbour}") from None

    # --- interest

    async def interest(
        self, neighbour: str, flows: frozenset[str], epoch: str, *, asks: bool = False
    ) -> None:
        await self._link(neighbour).declare(Declared(flows, epoch, asks))

    async def interests(self) -> AsyncIterator[Mapping[str, Interest]]:
        async for wanted in neighbours.read_interests(self._own, self._server.began, self._owned):
            yield wanted

    # --- questions between agents

    async def ask(self, neighbour: str, payload: bytes) -> bytes:
        connection = await self._link(neighbour).session.connection(OPEN_S)
        subject = names.inquiry_subject(token(self._broker))
        return (await connection.request(subject, payload))[3]

    def inquiries(self) -> AsyncIterator[Inquiry]:
        return inquiries(self._own)

    async def answer(self, inquiry: Inquiry, payload: bytes) -> None:
        connection = await self._own.connection(OPEN_S)
        assert isinstance(inquiry.reply, bytes)
        connection.write(wire.publication(inquiry.reply, payload))

    # --- admission

    async def admit(self, classes: Mapping[str, ClassSpec], *, unmanaged: str) -> None:
        if self._admission is not None:
            await self._admission.admit(classes, unmanaged=unmanaged)
        elif any(spec.limit is not None for spec in classes.values()):
            raise Unsupported("limits need a server whose auth callout asks this agent")

    async def assign(self, publishers: Mapping[str, Publishers]) -> frozenset[str]:
        if self._admission is not None:
            return self._admission.assign(publishers)
        if publishers:
            raise Unsupported(
                "lists of publishers need a server whose auth callout asks this agent"
            )
        return frozenset()

    def map_flows(
        self, places: Mapping[str, StreamPlace], reliable: Mapping[str, int] | None = None
    ) -> None:
        kept = reliable or {}
        self._mapped.map_to({flow: at for flow, at in places.items() if flow not in kept})
        if self._jetstream:
            reliable_places = {flow: at for flow, at in places.items() if flow in kept}
            self._kept.map_to(reliable_places, max(kept.values(), default=0))

    def hand_overs(self) -> Mapping[str, HandOver] | None:
        passing = self._mapped.observed()
        return None if passing is None else {**passing, **self._kept.observed()}

    def _where(self, flow: str, name: str) -> dict[str, str | bool]:
        """Return where a publisher of a flow belongs."""
        enters = flow in self._entering
        if self._admission is None:
            return {"state": "here" if enters else "wait"}
        self._admission.publisher_times.questioned(name)
        return self._admission.publishers.where(flow, name, enters=enters)

    async def revoke(self, name: str, consumer: str) -> None:
        if self._admission is None:
            raise Unsupported("this broker admits no consumers, so none can be disconnected")
        await self._admission.revoke(name, consumer)

    async def stats(self) -> Stats:
        if self._jetstream and (connection := self._own.current) is not None:
            await self._clock.compare(connection)
        stats = await read_stats(
            ingress=self._ingress,
            losses=self._losses,
            admission=self._admission,
            connection=self._own.current,
            streams=self._jetstream,
        )
        stuck = tuple(writer.stuck for writer in self._writers.values() if writer.stuck)
        problems = stats.problems + stuck + self._kept.problems + self._mapped.problems
        if self._admission is not None:
            problems += self._admission.problems
        return replace(stats, problems=problems, class_delays=self._class_delays)


def _with_user(url: str, user: str, password: str) -> str:
    parts = urlsplit(url)
    place = f"{parts.hostname}:{parts.port or 4222}"
    return urlunsplit(
        (parts.scheme, f"{quote(user)}:{quote(password, safe='')}@{place}", parts.path, "", "")
    )
