"""Appends to one stream in order, each message once, as fast as the server stores them.

Messages travel in atomic batches (`Nats-Batch-Id`): the server stores all of a batch or nothing,
flushes the disk once and acknowledges once. The first of each names the sequence number it must
follow (`Nats-Expected-Last-Sequence`), so the batches form a chain:
- a batch that fails takes all later ones with it: order survives without waiting for answers;
- a second writer (an older incarnation of this agent) cannot slip anything in unnoticed.

A chain knows how many messages are ahead of it, not which. Were a batch of an earlier chain stored
after a new one had begun, and as large as its first batch, that one would be refused and the second
one stored: the first would be lost, as the last position is above it. So a chain begins once the
server has processed all that was written before: on this connection it has when it refuses a
message that asks for a number that no stream reaches, and of a former connection it reads nothing
once the session has the next one (`session.py`; ADR 55 says what is left).

After a break (connection lost, broker restarted, chain refused) it reads where the stream stands
and, per subject, which message came last; subjects carry one origin each and positions in an
origin rise, so whatever is not above the last position is already there and is left out. That
needs no deduplication window: the stream itself remembers for as long as it keeps the subject's
last message.

A message the server does not take, with what an append adds to it, would make the server hang up
again and again: its size is looked at before it is written, and it is set aside instead.

With `sync_interval: always` a batch costs what a message alone would (server 2.15, which flushes
once per batch; 2.14 flushes per message). Atomic batches: ADR-50 of nats-architecture-and-design.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from agent.drivers.base import DriverError, Retryable
from agent.drivers.nats import jetstream, names, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.session import Session

log = logging.getLogger(__name__)

EXPECTED = b"Nats-Expected-Last-Sequence"
_NEVER = 1 << 62
"""A number that no stream reaches."""
POSITION = b"Weir-Position"
BATCH = 500
"""The number of messages in one batch; the server takes 1,000."""
BATCH_BYTES = 4 << 20
ADDED_BYTES = 192
"""The largest size of an append's header lines: first line, expected sequence, batch, end."""
MAX_HEADER_BYTES = 65_535
"""JetStream's own limit."""
_BATCHES = 3
"""The number of batches on the way: one is stored, one arrives, one is written."""
_ACK_TIMEOUT_S = 5.0
_RETRY_S = 0.05
STUCK_S = 5.0
"""After this time a stream that takes nothing is reported as a problem."""


class Outgoing(NamedTuple):
    """Hold a message for a stream."""

    subject: bytes
    position: int
    """It rises within a subject; 0 for marks, which are appended whenever asked."""
    header: bytes
    """The header lines without the first and without the closing empty one."""
    payload: bytes
    is_memory: bool = False
    """Whether it only says that messages of its subject up to its position are known: it is
    appended whenever asked, and what is not above its position is left out from then on."""


SetAside = Callable[[Connection, Outgoing, str], Awaitable[None]]
"""A function that keeps a message that cannot be appended, with the reason; it returns when the
message is kept."""


class _Job:
    __slots__ = ("aside", "done", "largest", "messages", "subjects")

    def __init__(self, messages: Sequence[Outgoing], done: asyncio.Future[None]) -> None:
        self.messages = messages
        self.done = done
        self.subjects = {message.subject for message in messages if message.position}
        self.largest = max(
            (len(header) + len(payload) for _, _, header, payload, _ in messages), default=0
        )
        self.aside: set[Outgoing] = set()
        """The messages that were set aside."""

    def fitting(self) -> list[Outgoing]:
        """Return the messages that the server takes."""
        return [message for message in self.messages if message not in self.aside]

    def held(self) -> None:
        """Finish the job when the stream holds all of it."""
        if not self.done.done():
            self.done.set_result(None)


class _Batch(NamedTuple):
    jobs: list[_Job]
    """The jobs that end with this batch."""
    last: int
    """The sequence that its last message gets."""
    size: int


async def _nothing() -> None:
    return


async def _keep(_: Connection, message: Outgoing, why: str) -> None:
    raise Retryable(f"message {message.position} cannot be appended: {why}")


class _Broken(Exception):
    """Signal that the chain is broken; the writer reads the stream's state again."""


class StreamWriter:
    """Append to a stream as its only writer."""

    def __init__(
        self,
        session: Session,
        stream: str,
        *,
        set_aside: SetAside = _keep,
        allowed: Callable[[], Awaitable[None]] = _nothing,
        owned: jetstream.Owned | None = None,
    ) -> None:
        """Take `allowed`, which raises Fenced when a newer agent writes and is called before every
        chain, and `owned`, which creates the stream again where it is missing."""
        self._owned = owned or jetstream.Owned()
        self._session = session
        self._stream = stream
        self._set_aside = set_aside
        self._allowed = allowed
        self._waiting: deque[_Job] = deque()
        self._sent: deque[_Batch] = deque()
        self._number = 0
        self._work = asyncio.Event()
        self._broken = asyncio.Event()
        self._wait = False
        self._last = 0
        self._high: dict[bytes, int] = {}
        self._task = asyncio.create_task(self._run(), name=f"writer {stream}")
        self.appended = 0
        self.duplicates = 0
        self.breaks = 0
        self.aside = 0
        self._problem = ""
        self._since = 0.0
        """When the problem began."""

    @property
    def problem(self) -> str:
        """Return why the stream takes nothing; empty while it does."""
        return self._problem

    @problem.setter
    def problem(self, why: str) -> None:
        if why and not self._problem:
            self._since = time.monotonic()
        self._problem = why

    @property
    def stuck(self) -> str:
        """Return a sentence about messages that cannot be stored; empty while they can."""
        if not self._problem or not self.unsent or time.monotonic() < self._since + STUCK_S:
            return ""
        return (
            f"{self._problem}: the stream takes nothing, so its reliable messages wait, and "
            "publishers are refused once the ingress is full"
        )

    @property
    def unsent(self) -> int:
        """Return the number of messages that the stream does not hold yet."""
        sent = sum(batch.size for batch in self._sent)
        return sent + sum(len(job.messages) for job in self._waiting)

    async def append(self, messages: Sequence[Outgoing]) -> None:
        """Append in the order of calls; returns when the stream holds all messages."""
        await self.add(messages)

    def add(self, messages: Sequence[Outgoing]) -> asyncio.Future[None]:
        """Append in the order of calls; the future is done when the stream holds all messages.
        Cancelling it takes nothing back."""
        job = _Job(messages, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._work.set()
        return job.done

    async def close(self) -> None:
        """Stop; messages that are not stored yet fail with Retryable."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        for job in (*(job for batch in self._sent for job in batch.jobs), *self._waiting):
            if not job.done.done():
                job.done.set_exception(Retryable(f"{self._stream}: closed"))
                job.done.exception()

    async def _run(self) -> None:
        while True:
            connection = await self._session.connection()
            try:
                await self._serve(connection)
            except _Broken:
                self.breaks += 1
                if self._wait:  # the stream is full or missing: an immediate retry is useless
                    await asyncio.sleep(_RETRY_S)
            except (DriverError, ValueError) as error:
                self.breaks += 1
                self.problem = f"{self._stream}: {error}"
                log.info("%s", self.problem)
                await asyncio.sleep(_RETRY_S)

    async def _serve(self, connection: Connection) -> None:
        """Send batches and collect acknowledgements until the chain breaks."""
        self._waiting.extendleft(job for batch in reversed(self._sent) for job in batch.jobs[::-1])
        self._sent.clear()
        state = await self._owned.find(connection, self._stream)
        await self._until_processed(connection, state.config.get("subjects") or [])
        # First read the last number, then the positions: a message of another agent that arrives in
        # between breaks the chain; in the other order it would be appended twice.
        state = await self._owned.find(connection, self._stream)
        # Check after the last number is known: an agent that claims the broker later breaks this
        # chain with its first append, and the next chain checks again.
        await self._allowed()
        self._last = state.last
        self._high.clear()
        self._broken.clear()
        inbox = connection.inbox()
        sid = connection.subscribe(inbox, self._acknowledged)
        try:
            while True:
                while self._waiting and len(self._sent) < _BATCHES:
                    await self._send(connection, inbox.encode())
                self._work.clear()
                await self._wait_for_work(connection)
        finally:
            connection.unsubscribe(sid)

    async def _until_processed(self, connection: Connection, patterns: Sequence[str]) -> None:
        """Wait until the stream, which has subjects of these patterns, has stored or refused all
        that was written to it on this connection. Raises _Broken or Retryable."""
        # Answers about a stream overtake what is on its way there; a message does not, and this one
        # is never stored.
        for pattern in patterns[:1]:
            frame = await connection.request(
                pattern.replace("*", names.MARK).replace(">", names.MARK),
                header=wire.header_block({EXPECTED: b"%d" % _NEVER}),
                timeout_s=_ACK_TIMEOUT_S,
            )
            answer = json.loads(frame[3])
            fault = answer.get("error") if isinstance(answer, dict) else None
            code = fault.get("err_code", 0) if fault else 0
            if code != jetstream.WRONG_LAST_SEQUENCE:
                # A server that has too much to do says so ahead of what it has.
                self._break(str(fault.get("description") if fault else answer), code=code)
                raise _Broken

    async def _wait_for_work(self, connection: Connection) -> None:
        """Wait until there is work again. Raises _Broken or Retryable when the chain may be
        broken."""
        connection.on_lost(self._work.set)
        try:
            async with asyncio.timeout(_ACK_TIMEOUT_S if self._sent else None):
                await self._work.wait()
        except TimeoutError as error:
            raise Retryable("no acknowledgement in time") from error
        finally:
            connection.forget(self._work.set)
        if self._broken.is_set():
            raise _Broken
        if connection.lost.is_set():
            raise Retryable(connection.reason or "connection lost")

    async def _send(self, connection: Connection, inbox: bytes) -> None:
        """Send one batch of the messages that wait and are not stored yet."""
        high = self._high
        for subject in self._waiting[0].subjects - high.keys():
            high[subject] = await self._position(connection, subject)
        if self._too_large(self._waiting[0], connection):
            await self._make_fit(self._waiting[0], connection)
        if self._broken.is_set():
            raise _Broken
        if not connection.alive:
            # A message taken from the queue must be sent.
            raise Retryable(connection.reason or "connection lost")
        news: list[Outgoing] = []
        jobs: list[_Job] = []
        while self._waiting and (not news or len(news) + len(self._waiting[0].messages) <= BATCH):
            job = self._waiting[0]
            if job.subjects - high.keys() or (jobs and self._too_large(job, connection)):
                break  # the next batch, after asking for its positions, or setting aside
            self._waiting.popleft()
            jobs.append(job)
            before = len(news)
            for message in job.messages if not job.aside else job.fitting():
                if message.position:
                    known = high[message.subject]
                    if message.position <= known and not message.is_memory:
                        continue
                    high[message.subject] = max(known, message.position)
                news.append(message)
            self.duplicates += len(job.messages) - (len(news) - before)
        if not news:
            if self._sent:
                # What it repeats may be on its way.
                self._sent[-1].jobs.extend(jobs)
                return
            for job in jobs:
                job.held()
            return
        # A job may be larger than a batch; it ends with its last one.
        start = 0
        while start < len(news):
            piece = _cut(news, start)
            start += len(piece)
            connection.write(self._encoded(piece, inbox))
            self._last += len(piece)
            self._sent.append(_Batch(jobs if start == len(news) else [], self._last, len(piece)))
        await connection.writable()

    def _too_large(self, job: _Job, connection: Connection) -> bool:
        room = min(int(connection.info.get("max_payload", 1 << 20)), MAX_HEADER_BYTES)
        return job.largest + ADDED_BYTES > room

    async def _make_fit(self, job: _Job, connection: Connection) -> None:
        """Set aside the messages that the server does not take and the stream does not hold."""
        most = int(connection.info.get("max_payload", 1 << 20))
        for message in job.messages:
            header = len(message.header) + ADDED_BYTES
            if header > MAX_HEADER_BYTES:
                why = f"its headers exceed the {MAX_HEADER_BYTES} bytes that JetStream takes"
            elif header + len(message.payload) > most:
                why = f"with Weir's headers it exceeds the {most} bytes that this broker takes"
            else:
                continue
            if message not in job.aside and message.position > self._high.get(message.subject, 0):
                await self._set_aside(connection, message, why)
                job.aside.add(message)
                self.aside += 1

    def _encoded(self, messages: list[Outgoing], inbox: bytes) -> bytes:
        start = b"NATS/1.0\r\n%b: %d\r\n" % (EXPECTED, self._last)
        if len(messages) == 1:
            subject, _, lines, payload, _ = messages[0]
            header = start + lines + b"\r\n"
            return wire.publication(subject, payload, reply=inbox, header=header)
        self._number += 1
        batch = b"Nats-Batch-Id: %x-%d\r\nNats-Batch-Sequence: " % (id(self), self._number)
        parts: list[bytes] = []
        for number, (subject, _, lines, payload, _) in enumerate(messages, 1):
            header = b"%b%b%d\r\n%b\r\n" % (start, batch, number, lines)
            start = b"NATS/1.0\r\n"
            if number == len(messages):
                header = b"%b%b%d\r\nNats-Batch-Commit: 1\r\n%b\r\n" % (
                    start,
                    batch,
                    number,
                    lines,
                )
                parts.append(wire.publication(subject, payload, reply=inbox, header=header))
                break
            parts.append(
                b"HPUB %b %d %d\r\n%b%b\r\n"
                % (subject, len(header), len(header) + len(payload), header, payload)
            )
        return b"".join(parts)

    async def _position(self, connection: Connection, subject: bytes) -> int:
        frame = await jetstream.last_of(connection, self._stream, subject.decode())
        return position_of(frame[2]) if frame else 0

    def _acknowledged(self, frames: list[wire.Frame]) -> None:
        for _, _, header, payload in frames:
            if self._broken.is_set():
                # What is stored behind a gap says nothing of what is before it.
                return
            if wire.status(header) == 503:
                self._break("no stream stores it")
                return
            try:
                answer = json.loads(payload)
                fault = answer.get("error")
                sequence = int(answer.get("seq", 0))
            except (ValueError, TypeError, AttributeError):
                self._break(f"not an acknowledgement: {payload[:80]!r}")
                return
            if fault:
                self._break(str(fault.get("description")), code=fault.get("err_code", 0))
                return
            while self._sent and self._sent[0].last <= sequence:
                batch = self._sent.popleft()
                self.appended += batch.size
                for job in batch.jobs:
                    job.held()
            self.problem = ""
        self._work.set()

    def _break(self, reason: str, *, code: int = 0) -> None:
        self.problem = f"{self._stream}: {reason}"
        self._wait = code != jetstream.WRONG_LAST_SEQUENCE
        self._broken.set()
        self._work.set()


def _cut(messages: list[Outgoing], start: int) -> list[Outgoing]:
    """Return as many messages from `start` on as make one batch."""
    size, stop = 0, start
    while stop < len(messages) and stop - start < BATCH:
        size += len(messages[stop].payload) + len(messages[stop].header)
        if size > BATCH_BYTES and stop > start:
            break
        stop += 1
    return messages[start:stop]


def position_of(header: bytes) -> int:
    """Return the position in its origin that a stored message carries; 0 when it carries none."""
    word = wire.header_value(header, POSITION)
    return int(word) if word.isdigit() else 0
