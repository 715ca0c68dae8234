"""Read one stream in order from the first unsettled message, and again after every loss.

A pull consumer without acknowledgements: what is settled is purged from the stream, so a new
consumer begins where it matters. Where reading stopped is remembered as long as the same server
process answers: the next one may have come up with an older disk, and counts as that says. Pulls
overlap, so that the server never waits for us, and no more than `window` messages wait here, so
that a slow pump is felt by the stream and not by our memory.

What is settled is purged up to its number a few times a second: a purge makes the server rewrite a
block, a message only costs its bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import NamedTuple

from agent.drivers.base import DriverError, Retryable
from agent.drivers.nats import jetstream, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.session import Session
from agent.memory import MIB, Memory

log = logging.getLogger(__name__)

_EXPIRES_S = 10.0
_BEAT_S = 1.0
"""The interval of heartbeats; a server that is silent three times as long has forgotten us."""
_RETRY_S = 0.05
_EVERY_S = 0.2
_DELIVERED = b"$JS.ACK."
_COMPLETED = b"409 Batch Completed"
_ENVELOPE = 64 << 10
"""The room for headers and subject, which count towards the bytes of a pull."""


class Stored(NamedTuple):
    """Hold a message as it is stored in a stream."""

    sequence: int
    subject: bytes
    header: bytes
    payload: bytes
    time: int
    """When the server stored it, in nanoseconds since 1970 by its own clock."""


class Read(NamedTuple):
    """Hold the messages that came at once, and in `behind` how many the stream still holds after
    them."""

    messages: list[Stored]
    created: str
    """When the stream was created; another value means another life with new sequence numbers."""
    server: str
    """The server process from which it was read."""
    behind: int


Meet = Callable[[Connection, str], Awaitable[None]]


class StreamReader:
    """Read one stream; iterate `read` once."""

    def __init__(
        self,
        session: Session,
        stream: str,
        *,
        window: int = 2_000,
        last_per_subject: bool = False,
        meet: Meet | None = None,
        memory: Memory | None = None,
        owned: jetstream.Owned | None = None,
    ) -> None:
        """Take `meet`, which is called on every new connection before anything is read there,
        `memory`, which is shared with other readers and stops pulls while it is full, and `owned`,
        which creates the stream again where it is missing."""
        self._owned = owned or jetstream.Owned()
        self._memory = memory or Memory()
        self._held = 0
        self._session = session
        self._stream = stream
        self._window = window
        self._last_per_subject = last_per_subject
        self._next = 0
        """The sequence to begin with after a loss; 0 means the first there is."""
        self._buffer: deque[wire.Frame] = deque()
        self._news = asyncio.Event()
        self._wanted = 0
        self._last_received = 0.0
        self._created = ""
        self._server = ""
        self._meet = meet
        self.restarts = 0
        self.problem = ""

    async def read(self) -> AsyncGenerator[Read]:
        """Return everything in the stream, then everything that is added."""
        self._memory.readers += 1
        try:
            async for piece in self._read():
                yield piece
        finally:
            self._memory.readers -= 1

    async def _read(self) -> AsyncIterator[Read]:
        while True:
            connection = await self._session.connection()
            try:
                async for piece in self._serve(connection):
                    yield piece
            except (DriverError, ValueError) as error:
                self.restarts += 1
                self.problem = f"{self._stream}: {error}"
                log.info("%s", self.problem)
                await asyncio.sleep(_RETRY_S)

    async def _serve(self, connection: Connection) -> AsyncIterator[Read]:
        state = await self._owned.find(connection, self._stream)
        server = str(connection.info.get("server_id", ""))
        if (state.created, server) != (self._created, self._server):
            self._created, self._server, self._next = state.created, server, 0
        if self._meet is not None:
            await self._meet(connection, self._stream)
        start = 0 if self._last_per_subject else max(self._next, state.first)
        consumer = await jetstream.create_consumer(
            connection, self._stream, start=start, last_per_subject=self._last_per_subject
        )
        self._buffer.clear()
        self._hold(0)
        self._wanted = 0
        self._news.clear()
        loop = asyncio.get_running_loop()
        self._last_received = loop.time()
        inbox = connection.inbox()
        sid = connection.subscribe(inbox, self._arrived)
        delivered = 0
        self.problem = ""
        try:
            while True:
                if self._memory.reliable.full:
                    if not self._wanted and not self._buffer:
                        await self._wait_for_memory(connection)
                        continue
                elif self._wanted <= self._window // 2:
                    self._ask(connection, consumer, inbox, self._window - self._wanted)
                if not self._buffer:
                    await self._wait_for_frames(connection)
                    continue
                messages: list[Stored] = []
                behind, ended = 0, ""
                while self._buffer:
                    frame = self._buffer.popleft()
                    # A publisher's header may look like a status; delivered messages have a reply
                    # subject.
                    if not frame[1].startswith(_DELIVERED):
                        ended = self._status(wire.status(frame[2]), frame[2])
                        if ended:
                            break
                        continue
                    sequence, number, stored, behind = _numbers(frame[1])
                    if number != delivered + 1:
                        raise Retryable("a message was lost on the way")
                    delivered = number
                    self._wanted -= 1
                    messages.append(Stored(sequence, frame[0], frame[2], frame[3], stored))
                if messages:
                    self._next = messages[-1].sequence + 1
                    yield Read(messages, self._created, server, behind)
                # Whoever reads has handed them on by now and counts them itself; what the server
                # only said, such as heartbeats, is gone.
                self._hold(sum([_size(frame) for frame in self._buffer]))
                if ended:
                    # Handle the status last, so that the messages before it are not lost again and
                    # again.
                    raise Retryable(ended)
        finally:
            self._hold(0)
            self._memory.reliable.forget(self._news.set)
            connection.unsubscribe(sid)

    def _ask(self, connection: Connection, consumer: str, inbox: str, count: int) -> None:
        body = {
            "batch": count,
            "expires": int(_EXPIRES_S * jetstream.NANOSECONDS),
            "idle_heartbeat": int(_BEAT_S * jetstream.NANOSECONDS),
            "max_bytes": self._memory.share(connection.info.get("max_payload", MIB) + _ENVELOPE),
        }
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{consumer}"
        connection.write(
            wire.publication(subject.encode(), json.dumps(body).encode(), reply=inbox.encode())
        )
        self._wanted += count

    def _arrived(self, frames: list[wire.Frame]) -> None:
        self._buffer.extend(frames)
        self._hold(self._held + sum([_size(frame) for frame in frames]))
        self._news.set()

    async def _wait_for_memory(self, connection: Connection) -> None:
        """Wait until there is memory again. Raises Retryable when the server is gone."""
        self._news.clear()
        self._memory.reliable.on_room(self._news.set)
        if self._memory.reliable.full and connection.alive:
            await self._first(connection)
        if not connection.alive:
            raise Retryable(connection.reason or "connection lost")

    async def _wait_for_frames(self, connection: Connection) -> None:
        """Wait until frames have come. Raises Retryable when the server is gone or has forgotten
        us."""
        try:
            async with asyncio.timeout(3 * _BEAT_S):
                while not self._buffer and connection.alive:
                    self._news.clear()
                    await self._first(connection)
        except TimeoutError as error:
            raise Retryable("the server does not send heartbeats") from error
        if not connection.alive:
            raise Retryable(connection.reason or "connection lost")

    async def _first(self, connection: Connection) -> None:
        connection.on_lost(self._news.set)
        try:
            await self._news.wait()
        finally:
            connection.forget(self._news.set)

    def _hold(self, size: int) -> None:
        """Set the number of bytes that this reader holds."""
        before, self._held = self._held, size
        if size > before:
            self._memory.reliable.take(size - before)
        else:
            self._memory.reliable.give(before - size)

    def _status(self, code: int, header: bytes) -> str:
        """Return why this consumer gets nothing more; empty where it does."""
        description = header[9:60].split(wire.CRLF)[0]
        # A heartbeat, or a pull that got all its messages and leaves some of its bytes unused.
        if code == 100 or description == _COMPLETED:
            return ""
        if code in (404, 408) or (
            code == 409 and b"MaxBytes" in header
        ):  # a pull ended with fewer messages than asked for
            left = wire.header_value(header, b"Nats-Pending-Messages")
            self._wanted -= int(left) if left.isdigit() else self._wanted
            return ""
        return f"the server ended the pull: {description!r}"


def _size(frame: wire.Frame) -> int:
    return len(frame[2]) + len(frame[3])


def _numbers(reply: bytes) -> tuple[int, int, int, int]:
    """Return stream sequence, number within the consumer, time of storing and number of following
    messages, from `$JS.ACK...`."""
    words = reply.split(b".")
    try:
        if len(words) == 9:
            return int(words[5]), int(words[6]), int(words[7]), int(words[8])
        return int(words[7]), int(words[8]), int(words[9]), int(words[10])
    except (ValueError, IndexError) as error:
        raise Retryable(f"not a delivery: {reply[:80]!r}") from error


class Settler:
    """Acknowledge the messages of one source. What is not purged when the agent ends is read again,
    and left out by targets that have it already.

    A number means something only to the server process it was read from: the next one may have
    come up with an older disk and give the same numbers to other messages. So what was read from
    one process is never purged at another; it is read there again. And nothing is purged before
    `allowed` has said that nobody newer acts for us, after everything to be purged was handled
    (`agent.drivers.nats.fence` says why that is enough).
    """

    def __init__(
        self, session: Session, stream: str, allowed: Callable[[], Awaitable[None]]
    ) -> None:
        self._session = session
        self._stream = stream
        self._allowed = allowed
        self._server = ""
        self._wanted = 0
        self._done = 0
        self._work = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name=f"settler {stream}")

    def settle(self, sequence: int, server: str) -> None:
        """Let everything up to `sequence` be purged, as read from the process `server`."""
        if server != self._server or sequence < self._wanted:
            # Another process, or a new stream: numbers rise within one life only.
            self._server, self._done = server, 0
        self._wanted = sequence
        self._work.set()

    async def close(self) -> None:
        """Stop settling; what was settled and not yet purged is read again by a successor."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            sequence, server = self._wanted, self._server
            if sequence > self._done:
                try:
                    await self._allowed()
                    connection = await self._session.connection()
                    if connection.info.get("server_id", "") == server:
                        await jetstream.purge_before(connection, self._stream, sequence + 1)
                    self._settled(sequence, server)
                except jetstream.JetStreamError as error:
                    if error.code == jetstream.NO_SUCH_STREAM:
                        self._settled(sequence, server)
                    else:
                        log.warning("%s: cannot be purged: %s", self._stream, error)
                        self._work.set()
                except DriverError as error:
                    log.info("%s: %s", self._stream, error)
                    self._work.set()
            await asyncio.sleep(_EVERY_S)

    def _settled(self, sequence: int, server: str) -> None:
        if server == self._server and sequence <= self._wanted:
            self._done = sequence
