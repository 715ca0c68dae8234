"""Read and write best-effort messages: what waits is bounded, and every loss is counted."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence

from agent.drivers.base import Batch, Channel, Message, Place, Retryable, Source
from agent.drivers.nats import names, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.session import Session
from agent.drivers.nats.stats import LINK_AWAY, NOT_CONNECTED, NOT_READ, TOO_LARGE, Losses
from agent.memory import DEFAULT_MIB, MIB, Pool
from weir.coordination.wire import token

FlowOf = Callable[[bytes], str]
"""A function that returns the flow of a subject; empty for the subject of marks."""


class CoreReader:
    """Stay subscribed while open, through every reconnect. Messages above `limit` are shed, newest
    first, since the oldest have come furthest."""

    def __init__(
        self,
        session: Session,
        subject: str,
        source: Source,
        flow_of: FlowOf,
        *,
        limit: int,
        losses: Losses,
        reason: str,
        memory: Pool | None = None,
        marks: str = "",
    ) -> None:
        """Take the `losses` that count shed messages under `reason`, `memory`, shared with other
        readers: messages are shed also when it is full, and `marks`, a second subject, of marks
        that come no earlier than what was sent before them."""
        self._marks = marks
        self._memory = memory or Pool(DEFAULT_MIB * MIB)
        self._session = session
        self._subject = subject
        self._source = source
        self._flow_of = flow_of
        self._limit = limit
        self._losses = losses
        self._reason = reason
        self._queue: deque[tuple[Batch, int]] = deque()
        """Batches with the bytes that they take of the memory."""
        self._news = asyncio.Event()
        self.subscribed = asyncio.Event()
        self.waiting = 0
        self.shed = 0
        self._task = asyncio.create_task(self._keep(), name=f"subscription {subject}")

    async def close(self) -> None:
        """Unsubscribe; `read` ends, and messages that still wait are lost."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        while self._queue:
            batch, held_bytes = self._queue.popleft()
            self._memory.give(held_bytes)
            first, *rest = batch.messages
            if not first.mark:
                self._losses.add(first.flow, NOT_READ, 1 + len(rest))
        self.waiting = 0
        self._news.set()

    async def _keep(self) -> None:
        sids: list[int] = []
        connection = None
        try:
            while True:
                connection = await self._session.connection()
                sids = [connection.subscribe(self._subject, self._arrived)]
                if self._marks:
                    sids.append(connection.subscribe(self._marks, self._marks_arrived))
                with contextlib.suppress(Exception):
                    await connection.flush()
                    self.subscribed.set()
                await connection.lost.wait()
                self.subscribed.clear()
                await asyncio.sleep(0.01)
        finally:
            if connection is not None:
                for sid in sids:
                    connection.unsubscribe(sid)

    def _marks_arrived(self, frames: list[wire.Frame]) -> None:
        # What came at once is handed over by subscription: the messages may come after this call.
        asyncio.get_running_loop().call_soon(self._arrived, frames)

    def _arrived(self, frames: list[wire.Frame]) -> None:
        room = self._limit - self.waiting
        size = sum([len(frame[2]) + len(frame[3]) for frame in frames])
        if room < len(frames) or size > self._memory.free:
            frames = self._marks_and(frames, max(0, room), self._memory.free)
        flows: dict[bytes, list[Message]] = {}
        flow_of = self._flow_of
        last, kept, flow = b"", [], ""
        for subject, _, header, payload in frames:
            if subject != last:
                flow, last = flow_of(subject), subject
                if not flow:
                    # A mark: earlier messages must be handled before it.
                    self._keep_all(flows)
                    flows = {b"": [Message("", payload, mark=True)]}
                    self._keep_all(flows)
                    flows, last = {}, b""
                    continue
                kept = flows.setdefault(subject, [])
            lines = wire.without_orders(header) if header else header
            kept.append(Message(flow, payload, "", 0, lines))
        self._keep_all(flows)

    def _marks_and(self, frames: list[wire.Frame], room: int, free: int) -> list[wire.Frame]:
        """Return the first `room` messages that fit into `free` bytes and every mark, in order."""
        chosen = []
        for frame in frames:
            flow = self._flow_of(frame[0])
            if not flow:
                chosen.append(frame)
            elif room > 0 and free >= len(frame[2]) + len(frame[3]):
                chosen.append(frame)
                room -= 1
                free -= len(frame[2]) + len(frame[3])
            else:
                room = 0  # later messages do not overtake
                self.shed += 1
                self._losses.add(flow, self._reason)
        return chosen

    def _keep_all(self, flows: dict[bytes, list[Message]]) -> None:
        now = time.monotonic()
        for messages in flows.values():
            self.waiting += len(messages)
            held_bytes = _size(messages)
            self._memory.take(held_bytes)
            batch = Batch(self._source, messages, arrived_at=[now] * len(messages))
            self._queue.append((batch, held_bytes))
        self._news.set()

    async def read(self) -> AsyncIterator[Batch]:
        """Return batches as they come, until closed."""
        while not self._task.done():
            while self._queue:
                batch, held_bytes = self._queue.popleft()
                self.waiting -= len(batch.messages)
                # The reader has forwarded the batch when it asks for the next: free its memory.
                try:
                    yield batch
                finally:
                    self._memory.give(held_bytes)
            self._news.clear()
            if not self._queue:
                await self._news.wait()


def _size(messages: Sequence[Message]) -> int:
    return sum([len(message.payload) + len(message.headers) for message in messages])


class CoreWriter:
    """Write best-effort messages, checking their size: a message too large for the server would end
    the connection."""

    def __init__(
        self, session: Session, losses: Losses, misses: Callable[[str], bool] = lambda _: False
    ) -> None:
        """Take `misses`, which returns whether a neighbour is known not to listen at our broker."""
        self._misses = misses
        self._session = session
        self._losses = losses

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        """Write messages of one flow, or one mark. Messages that a broken connection swallows are
        counted."""
        flow = messages[0].flow
        connection = self._session.current
        if connection is None:
            self._losses.add(flow, NOT_CONNECTED, len(messages))
            return
        subject = _subject(channel, messages[0])
        data = _publications(subject, messages)
        most = int(connection.info.get("max_payload", 1 << 20))
        if len(data) > most:
            # One of them may be too large; only now is it worth checking each.
            messages = self._fitting(flow, messages, most, connection)
            data = _publications(subject, messages)
        if not data:
            return
        try:
            connection.write(data)
            await connection.writable()
        except Retryable:
            self._losses.add(flow, NOT_CONNECTED, len(messages))
            return
        if channel.neighbour and flow and self._misses(channel.neighbour):
            # Write it all the same: the neighbour may be reconnecting at this moment.
            self._losses.add(flow, LINK_AWAY, len(messages))

    def _fitting(
        self, flow: str, messages: Sequence[Message], most: int, connection: Connection
    ) -> list[Message]:
        fitting = [m for m in messages if len(m.headers) + len(m.payload) <= most]
        count = len(messages) - len(fitting)
        if count:
            server = connection.info.get("server_name", "this broker")
            limit = f"flow {flow}: {server} takes no more than {most} bytes in one message"
            self._losses.add(flow, TOO_LARGE, count, f"{limit}; larger ones are lost and counted")
        return fitting


def _subject(channel: Channel, first: Message) -> bytes:
    if channel.place is Place.DELIVERY:
        return names.delivery_subject(first.flow).encode()
    if first.mark:
        return f"{names.OUT}.{token(channel.neighbour)}.{names.MARK}".encode()
    return names.outbox_subject(channel.neighbour, first.flow).encode()


def _publications(subject: bytes, messages: Sequence[Message]) -> bytes:
    start = b"PUB " + subject
    return b"".join(
        [
            b"%b %d\r\n%b\r\n" % (start, len(payload), payload)
            if not header
            else wire.publication(subject, payload, header=header)
            for _, payload, _, _, header, _ in messages
        ]
    )
