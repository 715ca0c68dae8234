"""NATS as the agent sees it: one server of its own, and the outboxes at its neighbours' servers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote, urlsplit, urlunsplit

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
    Place,
    Retryable,
    Source,
    Stats,
    Unsupported,
)
from agent.drivers.nats import jetstream, names, streams, wire
from agent.drivers.nats.admission import Admission
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.core_reader import CoreReader
from agent.drivers.nats.inquiries import inquiries
from agent.drivers.nats.link import Link
from agent.drivers.nats.server_config import AGENT_USER, LINK_USER, BrokerSecrets
from agent.drivers.nats.session import Session
from agent.drivers.nats.settler import Settler
from agent.drivers.nats.stream_reader import StreamReader
from agent.drivers.nats.stream_writer import Outgoing, StreamWriter
from weir.coordination.wire import ClassSpec, Delivery

OPEN_S = 3.0
INGRESS_WAITING = 2_000
"""Best-effort messages that may wait before a gate; more are shed."""


class NatsDriver:
    """The driver for one NATS server; see `agent.drivers.base.Driver`."""

    def __init__(
        self,
        *,
        url: str,
        broker: str,
        secrets: BrokerSecrets | None = None,
        lease_s: float = 3600.0,
    ) -> None:
        """`broker`: our name in documents. Without `secrets` the server asks nobody: whoever
        connects is in, and limits are refused as unsupported."""
        self._broker = broker
        self._secrets = secrets
        own = _with_user(url, AGENT_USER, secrets.agent_password) if secrets else url
        self._own = Session(own, name=f"weir agent {broker}")
        self._admission = (
            Admission(url=url, secrets=secrets, lease_s=lease_s) if secrets is not None else None
        )
        self._links: dict[str, Link] = {}
        self._writers: dict[str, StreamWriter] = {}
        self._ingress: dict[str, CoreReader] = {}
        self._settlers: dict[Source, Settler] = {}
        self._subjects: dict[tuple[str, str], bytes] = {}
        self._jetstream = True
        self.lost = 0
        """Best-effort messages that could not be passed on because our broker was away."""

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

    async def open(self) -> BrokerFacts:
        connection = await self._own.start().connection(OPEN_S)
        start = time.perf_counter()
        await connection.flush()
        round_trip_s = time.perf_counter() - start
        info = connection.info
        self._jetstream = bool(info.get("jetstream", False))
        if self._jetstream:
            await jetstream.ensure_stream(connection, streams.interest_config())
        if self._admission is not None:
            await self._admission.open()
        return BrokerFacts(
            name=str(info.get("server_name", "")),
            version=str(info.get("version", "")),
            jetstream=self._jetstream,
            max_payload_bytes=int(info.get("max_payload", 0)),
            round_trip_s=round_trip_s,
        )

    async def close(self) -> None:
        for neighbour in tuple(self._links):
            await self._links.pop(neighbour).close()
        for reader in self._ingress.values():
            await reader.close()
        for writer in self._writers.values():
            await writer.close()
        for settler in self._settlers.values():
            await settler.close()
        if self._admission is not None:
            await self._admission.close()
        await self._own.close()

    # --- channels and links

    async def ensure_channel(self, channel: Channel) -> None:
        if channel.delivery is Delivery.BEST_EFFORT:
            # A subject exists by being used; a stream on it would go on storing what passes.
            if channel.place is Place.INGRESS and self._jetstream:
                await self._retire_ingress(channel.flow)
            return
        if not self._jetstream:
            raise Unsupported("the reliable class needs a server with JetStream")
        connection = await self._own.connection(OPEN_S)
        match channel.place:
            case Place.INGRESS:
                config = streams.ingress_config(channel.flow)
            case Place.DELIVERY:
                config = streams.delivery_config(channel.flow)
            case Place.OUTBOX:
                config = streams.outbox_config(channel.neighbour)
        await jetstream.ensure_stream(connection, config)

    async def _retire_ingress(self, flow: str) -> None:
        """No stream stores what publishers send any more. Raises Retryable until it is empty."""
        connection = await self._own.connection(OPEN_S)
        stream = names.ingress_stream(flow)
        if await jetstream.stream_state(connection, stream) is None:
            return
        # First nothing comes in, and reliable publishers hear that; then what is there goes out.
        config = {**streams.ingress_config(flow), "subjects": [f"weir.closed.{names.token(flow)}"]}
        await jetstream.ensure_stream(connection, config)
        state = await jetstream.stream_state(connection, stream)
        if state is not None and state.messages:
            raise Retryable(f"{state.messages} reliable messages of {flow} have to pass first")
        await jetstream.delete_stream(connection, stream)

    async def ensure_link(self, neighbour: str, address: str) -> None:
        link = self._links.get(neighbour)
        if link is not None and link.address != address:
            await self._links.pop(neighbour).close()
            link = None
        if link is None:
            url = address
            if self._secrets is not None:
                url = _with_user(address, LINK_USER, self._secrets.link_key)
            link = self._links[neighbour] = Link(
                neighbour, address, url, own=self._broker, reliable=self._jetstream
            )
        if self._jetstream:
            await self.ensure_channel(
                Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour=neighbour)
            )
        await link.ready()

    async def drop_link(self, neighbour: str) -> None:
        link = self._links.pop(neighbour, None)
        for delivery in Delivery:
            settler = self._settlers.pop(Source(delivery=delivery, neighbour=neighbour), None)
            if settler is not None:
                await settler.close()
        if link is not None:
            await link.close()
        stream = names.outbox_stream(neighbour)
        writer = self._writers.pop(stream, None)
        if writer is not None:
            await writer.close()
        if self._jetstream:
            await jetstream.delete_stream(await self._own.connection(OPEN_S), stream)

    async def waiting(self, neighbour: str) -> int:
        if not self._jetstream:
            return 0
        stream = names.outbox_stream(neighbour)
        # First what is on its way into the stream: seen the other way round it could be missed.
        writer = self._writers.get(stream)
        count = 0 if writer is None else writer.unsent
        state = await jetstream.stream_state(await self._own.connection(OPEN_S), stream)
        count += 0 if state is None else state.messages
        link = self._links.get(neighbour)
        theirs = link.session.current if link is not None else None
        if theirs is not None:
            with contextlib.suppress(DriverError):
                for_us = await jetstream.stream_state(theirs, names.outbox_stream(self._broker))
                count += 0 if for_us is None else for_us.messages
        return count

    # --- messages

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        if channel.delivery is Delivery.BEST_EFFORT:
            await self._publish_core(channel, messages)
            return
        match channel.place:
            case Place.OUTBOX:
                stream = names.outbox_stream(channel.neighbour)
                prefix = f"{names.OUT}.{names.token(channel.neighbour)}"
            case Place.DELIVERY:
                stream = names.delivery_stream(channel.flow)
                prefix = names.DELIVERY
            case Place.INGRESS:
                raise Unsupported("only publishers write to an ingress")
        writer = self._writers.get(stream)
        if writer is None:
            writer = self._writers[stream] = StreamWriter(self._own, stream)
        subject = self._subject
        await writer.append(
            [
                Outgoing(subject(prefix, m), m.position, m.headers, m.payload)
                if not m.mark
                else Outgoing(f"{prefix}.{names.MARK}.{names.MARK}".encode(), 0, b"", m.payload)
                for m in messages
            ]
        )

    def _subject(self, prefix: str, message: Message) -> bytes:
        key = (prefix, message.origin + message.flow)
        known = self._subjects.get(key)
        if known is None:
            text = f"{prefix}.{names.token(message.flow)}.{message.origin}"
            known = self._subjects[key] = text.encode()
        return known

    async def _publish_core(self, channel: Channel, messages: Sequence[Message]) -> None:
        connection = self._own.current
        if connection is None:
            self.lost += len(messages)
            return
        flow = messages[0].flow
        if channel.place is Place.DELIVERY:
            subject = names.delivery_subject(flow).encode()
        elif messages[0].mark:
            subject = f"{names.OUT}.{names.token(channel.neighbour)}.{names.MARK}".encode()
        else:
            subject = names.outbox_subject(channel.neighbour, flow).encode()
        start = b"PUB " + subject
        connection.write(
            b"".join(
                [
                    b"%b %d\r\n%b\r\n" % (start, len(payload), payload)
                    if not header
                    else wire.publication(subject, payload, header=header)
                    for _, payload, _, _, header, _ in messages
                ]
            )
        )
        await connection.writable()

    async def read(self, source: Source) -> AsyncIterator[Batch]:
        if source.delivery is Delivery.BEST_EFFORT:
            async for batch in self._core_reader(source).read():
                yield batch
            return
        if source.flow:
            reader = StreamReader(self._own, names.ingress_stream(source.flow))
            async for piece in reader.read():
                yield streams.ingress_messages(source.flow, self._broker, piece, source)
            return
        link = self._link(source.neighbour)
        cutter = streams.OutboxMessages(source)
        async for piece in StreamReader(link.session, names.outbox_stream(self._broker)).read():
            for batch in cutter.batches(piece):
                yield batch

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
                lambda _: flow,
                limit=INGRESS_WAITING,
            )
        return reader

    async def stop_reading(self, source: Source) -> None:
        """An ingress that is none any more: its best-effort messages are nobody's."""
        reader = self._ingress.pop(source.flow, None)
        if reader is not None:
            await reader.close()

    async def settle(self, batch: Batch) -> None:
        sequence = batch.messages[-1].position if batch.source.flow else batch.token
        if not isinstance(sequence, int) or batch.source.delivery is Delivery.BEST_EFFORT:
            return
        settler = self._settlers.get(batch.source)
        if settler is None:
            source = batch.source
            if source.flow:
                settler = Settler(self._own, names.ingress_stream(source.flow))
            else:
                session = self._link(source.neighbour).session
                settler = Settler(session, names.outbox_stream(self._broker))
            self._settlers[source] = settler
        settler.settle(sequence)

    def _link(self, neighbour: str) -> Link:
        try:
            return self._links[neighbour]
        except KeyError:
            raise Retryable(f"no link to {neighbour}") from None

    # --- interest

    async def interest(self, neighbour: str, flows: frozenset[str], epoch: str) -> None:
        connection = await self._link(neighbour).session.connection(OPEN_S)
        body = json.dumps({"flows": sorted(flows), "epoch": epoch}).encode()
        answer = await connection.request(names.interest_subject(self._broker), body)
        if "error" in json.loads(answer[3]):
            raise Retryable(f"{neighbour} does not keep our interest: {answer[3].decode()}")

    async def interests(self) -> AsyncIterator[Mapping[str, Interest]]:
        known: dict[str, Interest] = {}
        state = await jetstream.stream_state(await self._own.connection(), names.INTEREST_STREAM)
        if state is None or not state.messages:
            yield {}
        reader = StreamReader(self._own, names.INTEREST_STREAM, last_per_subject=True)
        async for piece in reader.read():
            for message in piece.messages:
                said = streams.interest_of(message)
                known[said.neighbour] = said
            if piece.behind == 0:
                yield dict(known)

    # --- questions

    async def ask(self, neighbour: str, payload: bytes) -> bytes:
        connection = await self._link(neighbour).session.connection(OPEN_S)
        return (await connection.request(names.INQUIRIES, payload))[3]

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

    async def revoke(self, name: str, consumer: str) -> None:
        if self._admission is None:
            raise Unsupported("nobody is admitted here, so nobody can be released")
        await self._admission.revoke(name, consumer)

    async def fence(self, incarnation: int) -> None:
        if self._admission is not None:
            await self._admission.cut_off_predecessors()

    async def stats(self) -> Stats:
        stats = Stats(
            ingress_backlog={flow: reader.waiting for flow, reader in self._ingress.items()},
            ingress_shed={flow: reader.shed for flow, reader in self._ingress.items()},
        )
        if self._admission is not None:
            load = self._admission.load
            stats = replace(
                stats,
                connections=load.connections,
                in_messages=load.in_messages,
                out_messages=load.out_messages,
                cpu_ratio=load.cpu_ratio,
                cores=load.cores,
                memory_bytes=load.memory_bytes,
                sync_always=load.sync_always,
                delivered=self._admission.delivered(),
                classes=self._admission.classes(),
                unmanaged=self._admission.unmanaged(),
            )
        connection = self._own.current
        if connection is not None and self._jetstream:
            with contextlib.suppress(DriverError, asyncio.TimeoutError):
                stats = await self._with_backlogs(connection, stats)
        return stats

    async def _with_backlogs(self, connection: Connection, stats: Stats) -> Stats:
        held = await jetstream.message_counts(connection)
        ingress, outbox = dict(stats.ingress_backlog), dict(stats.outbox_backlog)
        for name, count in held.items():
            if name.startswith("WEIR_IN_"):
                ingress[names.name_of(name[8:])] = count
            elif name.startswith("WEIR_TO_"):
                outbox[names.name_of(name[8:])] = count
        return replace(stats, ingress_backlog=ingress, outbox_backlog=outbox)


def _with_user(url: str, user: str, password: str) -> str:
    parts = urlsplit(url)
    place = f"{parts.hostname}:{parts.port or 4222}"
    return urlunsplit(
        (parts.scheme, f"{quote(user)}:{quote(password, safe='')}@{place}", parts.path, "", "")
    )
