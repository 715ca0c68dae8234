"""Append the messages of reliable flows to the kept streams that they are on.

Messages that wait belong to their flow, not to a stream: they go, in their order, to where it is
when they may. They wait until the records at the server are read (behind a connection to another
server may be another disk), and while their flow is held: from when its hand-over begins until
that is complete, while its stream is missing, and while its record cannot be read.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from agent.drivers.base import Message, Retryable
from agent.drivers.nats import jetstream
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.course_records import Recorded, RecordsInDoubt
from agent.drivers.nats.session import Session
from agent.drivers.nats.stream_writer import Outgoing, StreamWriter
from weir_client import subjects
from weir_client.frames import Place

log = logging.getLogger(__name__)

Way: TypeAlias = tuple[Place | None, Place | None]
"""From where flows go to where; None: no stream."""
SubjectOf: TypeAlias = Callable[[str, Message], bytes]


@dataclass(slots=True, eq=False)
class _Appending:
    """Messages of a flow that no stream holds yet."""

    messages: Sequence[Message]
    subject: SubjectOf
    stored: asyncio.Future[None]
    job: asyncio.Future[None] | None = None
    """What the writer that has them said when it took them."""

    def finish(self) -> None:
        """Let whoever publishes them go on."""
        if not self.stored.done():
            self.stored.set_result(None)


@dataclass(slots=True, eq=False)
class KeptFlow:
    """A flow that is, was or shall be on a stream here."""

    name: str
    recorded: Recorded
    goal: Place | None = None
    """Where the document wants it; None: nowhere. Without a document, where it is."""
    is_wanted: bool = True
    """Whether it may be on a stream, so that its messages must not pass it."""
    is_astray: bool = False
    """Whether its stream or its record is gone, so that it has to come to a stream anew."""
    is_paused: bool = False
    """Whether it is being handed over."""
    waiting: deque[_Appending] = field(default_factory=deque)
    given: deque[_Appending] = field(default_factory=deque)
    """Those that the writer of its stream has."""

    @property
    def place(self) -> Place | None:
        """Return the stream that its messages go to."""
        return self.recorded.state.place

    @property
    def way(self) -> Way:
        """Return from where to where it has to be handed over."""
        going = self.recorded.state.going
        return self.place, self.goal if going is None else going.target

    @property
    def is_going(self) -> bool:
        """Return whether a hand-over is recorded that may not be complete."""
        return self.recorded.state.going is not None

    @property
    def is_due(self) -> bool:
        """Return whether it has to be handed over."""
        return self.is_going or self.is_astray or self.place != self.goal

    @property
    def is_held(self) -> bool:
        """Return whether its messages wait."""
        is_unknown = bool(self.recorded.problem) and self.is_wanted
        return self.is_paused or self.is_astray or self.is_going or is_unknown

    def take_back(self) -> None:
        """Have the messages wait again that a writer has, and that are not stored."""
        while self.given:
            each = self.given.pop()
            if each.job is not None and each.job.done() and each.job.exception() is None:
                each.finish()
            else:
                self.waiting.appendleft(each)


class _KeptStream(jetstream.Owned):
    """Reports that a kept stream is missing instead of creating it: flows have to come to it."""

    def __init__(self, report: Callable[[], None]) -> None:
        super().__init__()
        self._report = report

    async def find(self, connection: Connection, name: str) -> jetstream.StreamState:
        """Return the stream's state. Raises Retryable."""
        state = await jetstream.stream_state(connection, name)
        if state is None:
            self._report()
            raise Retryable("the stream does not exist")
        return state


class KeptAppending:
    """The appending at one server."""

    def __init__(
        self,
        session: Session,
        *,
        allowed: Callable[[], Awaitable[None]],
        missing: Callable[[Place], None],
    ) -> None:
        """Take `allowed`, which raises Fenced when a newer agent acts, and `missing`, which takes a
        stream that is not there. Nothing is appended before `go_on`."""
        self._session = session
        self._allowed = allowed
        self._missing = missing
        self._writers: dict[Place, StreamWriter] = {}
        self.flows: dict[str, KeptFlow] = {}
        self.server = ""
        """The id of the server whose records are read; every process of a server has its own."""
        self.loaded = asyncio.Event()
        """Set while the records are read."""

    async def close(self) -> None:
        """Stop; messages that are not stored yet fail with Retryable."""
        self.forget()
        writers, self._writers = self._writers, {}
        for flow in self.flows.values():
            flow.take_back()
            for each in flow.waiting:
                if not each.stored.done():
                    each.stored.set_exception(Retryable(f"{flow.name}: closed"))
                    each.stored.exception()
            flow.waiting.clear()
        for writer in writers.values():
            await writer.close()

    async def append(self, flow: str, messages: Sequence[Message], subject: SubjectOf) -> None:
        """Append messages of a flow to its stream; returns when it holds them. Nothing where the
        flow is on none. `subject` adds flow and origin to a prefix. Cancelling takes nothing
        back."""
        known = self.flows.get(flow)
        if known is None:
            if self.loaded.is_set():
                return
            known = self.flows[flow] = KeptFlow(flow, Recorded(flow))
        # Who waits here is not overtaken: a message that comes behind a later one is left out.
        each = _Appending(messages, subject, asyncio.get_running_loop().create_future())
        known.waiting.append(each)
        self.give(known)
        await each.stored

    @property
    def problems(self) -> list[str]:
        """Return a sentence for each stream that takes nothing."""
        return [text for writer in self._writers.values() if (text := writer.stuck)]

    def forget(self) -> None:
        """Have everything wait until the records are read again."""
        self.loaded.clear()
        self.server = ""

    async def recording(self, writing: Awaitable[None]) -> None:
        """Write records; where it is not known what they are, everything waits until they are read
        again."""
        try:
            await writing
        except RecordsInDoubt:
            self.forget()
            raise

    async def end_writers(self) -> None:
        """End the writers of all streams."""
        for place in tuple(self._writers):
            await self.end_writer(place)

    def go_on(self, server: str) -> None:
        """Append to where flows are by the records at this server."""
        self.server = server
        self.loaded.set()
        for flow in self.flows.values():
            self.give(flow)

    def give(self, flow: KeptFlow) -> None:
        """Give what waits of a flow to the writer of its stream, unless it has to wait."""
        if not flow.waiting or not self.loaded.is_set() or flow.is_held:
            return
        place = flow.place
        while flow.waiting:
            each = flow.waiting.popleft()
            if place is None:
                each.finish()
                continue
            prefix = subjects.kept_subject(place)
            each.job = self.writer(place).add(
                [
                    Outgoing(each.subject(prefix, m), m.position, m.headers, m.payload)
                    for m in each.messages
                ]
            )
            flow.given.append(each)
            each.job.add_done_callback(partial(_take_stored, flow, each))

    def writer(self, place: Place) -> StreamWriter:
        """Return the writer of a stream."""
        writer = self._writers.get(place)
        if writer is None:
            writer = self._writers[place] = StreamWriter(
                self._session,
                subjects.kept_stream(place),
                # The writer to the delivery sets aside what no stream takes.
                set_aside=_leave_out,
                allowed=self._check_server,
                owned=_KeptStream(partial(self._missing, place)),
            )
        return writer

    async def end_writer(self, place: Place) -> None:
        """End the writer of a stream; what it has not stored goes to where its flow is then."""
        writer = self._writers.pop(place, None)
        if writer is None:
            return
        on = [flow for flow in self.flows.values() if flow.place == place]
        for flow in on:
            flow.take_back()
        await writer.close()
        for flow in on:
            self.give(flow)

    async def _check_server(self) -> None:
        """Raise Retryable while the records at the server are not read, Fenced when a newer agent
        acts."""
        await self._allowed()
        current = self._session.current
        if current is None or server_id(current) != self.server:
            raise Retryable("it is not known yet where flows are at this server")


def _take_stored(flow: KeptFlow, each: _Appending, job: asyncio.Future[None]) -> None:
    """Let whoever publishes go on once a writer has stored the messages."""
    if not job.cancelled() and job.exception() is None and each in flow.given:
        flow.given.remove(each)
        each.finish()


async def _leave_out(connection: Connection, message: Outgoing, why: str) -> None:
    log.debug("%s is left out of its stream: %s", message.subject, why)


def server_id(connection: Connection) -> str:
    """Return which process of a server is behind a connection."""
    return str(connection.info.get("server_id", ""))
