"""Keep best-effort messages of one subject in a bounded queue until they are read."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence

from agent.drivers.base import Batch, Message, Source
from agent.drivers.nats import wire
from agent.drivers.nats.losses import NOT_READ, Losses
from agent.drivers.nats.session import Session
from agent.memory import DEFAULT_MIB, MIB, Pool

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
    ) -> None:
        """Take the `losses` that count shed messages under `reason`, and `memory`, shared with
        other readers: messages are shed also when it is full."""
        self._memory = memory or Pool(DEFAULT_MIB * MIB)
        self._session = session
        self._subject = subject
        self._source = source
        self._flow_of = flow_of
        self._limit = limit
        self._losses = losses
        self._reason = reason
        self._queue: deque[Batch] = deque()
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
            batch = self._queue.popleft()
            self._memory.give(_size(batch.messages))
            first, *rest = batch.messages
            if not first.mark:
                self._losses.add(first.flow, NOT_READ, 1 + len(rest))
        self.waiting = 0
        self._news.set()

    async def _keep(self) -> None:
        sid, connection = 0, None
        try:
            while True:
                connection = await self._session.connection()
                sid = connection.subscribe(self._subject, self._arrived)
                with contextlib.suppress(Exception):
                    await connection.flush()
                    self.subscribed.set()
                await connection.lost.wait()
                self.subscribed.clear()
                await asyncio.sleep(0.01)
        finally:
            if connection is not None:
                connection.unsubscribe(sid)

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
        for messages in flows.values():
            self.waiting += len(messages)
            self._memory.take(_size(messages))
            self._queue.append(Batch(self._source, messages))
        self._news.set()

    async def read(self) -> AsyncIterator[Batch]:
        """Return batches as they come, until closed."""
        while not self._task.done():
            while self._queue:
                batch = self._queue.popleft()
                self.waiting -= len(batch.messages)
                # The reader has forwarded the batch when it asks for the next: free its memory.
                try:
                    yield batch
                finally:
                    self._memory.give(_size(batch.messages))
            self._news.clear()
            if not self._queue:
                await self._news.wait()


def _size(messages: Sequence[Message]) -> int:
    return sum([len(message.payload) + len(message.headers) for message in messages])
