"""Configure the streams of the reliable class, and convert their messages.

| stream | holds | limit |
|---|---|---|
| `WEIR_IN_F` | what publishers were told is safe, until forwarded | refuses what is too much |
| `WEIR_TO_B` | what waits for neighbour B, until B has forwarded it | refuses what is too much |
| `WEIR_MSG_F` | what consumers read | forgets what is older than the system says |
| `WEIR_INTEREST` | the last word of each neighbour | one message per neighbour |
| `WEIR_FENCE` | who acts for the broker (`fence.py`) | one message |
| `WEIR_ON_G_S` | what subscribers of a stream read | forgets as `WEIR_MSG_F` does |
| `WEIR_COURSES` | on which of those each flow was and is | one message per flow |
| `WEIR_READERS` | what readers of those read, and how far | one message per reader |
| `WEIR_DEAD` | what cannot be carried (`set_aside.py`) | forgets the oldest |

A refusal is backpressure: a full outbox stops the pump, a full ingress stream the publisher.
Publishers' own `Nats-Msg-Id` is honoured at the ingress (their retries are stored once) and travels
on as `Weir-Id`: further on positions do its work, without a window and without memory.

A message's identity is its origin and its number in the ingress stream. The stream's creation is
part of the origin, as a stream made anew counts anew; so is the life of the stream (`Lives`).
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable
from typing import Any

from agent.drivers.base import Batch, Message, Source
from agent.drivers.nats import jetstream, names
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.jetstream import StreamState
from agent.drivers.nats.server_clock import ServerClock
from agent.drivers.nats.stream_reader import Read, Stored
from agent.drivers.nats.stream_writer import ADDED_BYTES, POSITION
from agent.drivers.nats.system_account import nanoseconds
from weir.coordination.wire import token
from weir_client import subjects
from weir_client.frames import Place

PUBLISHER_ID = b"Nats-Msg-Id"
WEIR_ID = b"Weir-Id"
INGRESS_MESSAGES = 100_000
OUTBOX_MESSAGES = 200_000
READERS = 100_000
"""The readers of kept streams that a broker remembers; the one that moved least lately is
forgotten first."""
IDENTITY_BYTES = 256
"""The size of the lines that Weir adds at the ingress, without the names of flow and broker in
them."""
LIVES_KEY = "weir.lives"
LIVES_KEPT = 100
"""The number of beginnings to keep: as many restarts as unsettled messages may have seen."""
_DEDUPLICATE_S = 120
_WEIRS_OWN = frozenset({WEIR_ID.lower(), POSITION.lower()})


def largest(flow: str, broker: str, max_payload: int) -> int:
    """Return the bytes of headers and payload that a publisher may send, so that the message still
    fits, with everything Weir adds, where no server takes more than `max_payload`."""
    added = IDENTITY_BYTES + ADDED_BYTES + len(token(flow)) + len(token(broker))
    return max(1, max_payload - added)


def ingress_config(flow: str, broker: str, max_payload: int) -> dict[str, Any]:
    """Return the configuration of the stream before a flow's gate; it refuses a message too large
    for its way, so that the publisher sees the error."""
    return {
        "max_msg_size": largest(flow, broker, max_payload),
        "name": names.ingress_stream(flow),
        "subjects": [names.ingress_subject(flow), names.ingress_mark_subject(flow)],
        "max_msgs": INGRESS_MESSAGES,
        "discard": "new",
        "duplicate_window": _DEDUPLICATE_S * jetstream.NANOSECONDS,
    }


def outbox_config(neighbour: str, now: float) -> dict[str, Any]:
    """Return the configuration of the stream of all reliable messages for a neighbour.

    It begins with the microsecond it is made in, as no number of an outbox may be given twice: the
    neighbour's agent may have stood still between deciding on a purge and sending it.
    """
    return {
        "first_seq": jetstream.first_number(now),
        "name": names.outbox_stream(neighbour),
        "subjects": [f"{names.OUT}.{token(neighbour)}.*.*"],
        "max_msgs": OUTBOX_MESSAGES,
        "discard": "new",
        "allow_atomic": True,
        "duplicate_window": jetstream.NANOSECONDS,
    }


def without_bound(neighbour: str, now: float) -> dict[str, Any]:
    """Return the same configuration without a bound, for carrying over the messages of a neighbour
    that is gone."""
    return {**outbox_config(neighbour, now), "max_msgs": -1, "max_bytes": -1}


def delivery_config(flow: str, keep_s: int) -> dict[str, Any]:
    """Return the configuration of the stream that a flow's consumers read. Its messages also
    distinguish messages that were delivered before from new ones."""
    return {
        "name": names.delivery_stream(flow),
        "subjects": [f"{names.delivery_subject(flow)}.*"],
        "max_age": keep_s * jetstream.NANOSECONDS,
        "allow_atomic": True,
        "duplicate_window": jetstream.NANOSECONDS,
    }


def kept_config(place: Place, keep_s: int, now: float) -> dict[str, Any]:
    """Return the configuration of the stream of all reliable flows of a place. Like an outbox it
    begins with the microsecond it is made in: readers remember its numbers."""
    return {
        "first_seq": jetstream.first_number(now),
        "name": subjects.kept_stream(place),
        "subjects": [f"{subjects.kept_subject(place)}.*.*"],
        "max_age": keep_s * jetstream.NANOSECONDS,
        "allow_atomic": True,
        "duplicate_window": jetstream.NANOSECONDS,
    }


def courses_config(now: float) -> dict[str, Any]:
    """Return the configuration of the stream of flows' courses. It begins with the microsecond it
    is made in: records are written over the numbers of those before, also of a former stream's."""
    return {
        "first_seq": jetstream.first_number(now),
        "name": names.COURSES_STREAM,
        "subjects": [f"{names.COURSES}.*"],
        "max_msgs_per_subject": 1,
        "allow_atomic": True,
        "duplicate_window": jetstream.NANOSECONDS,
    }


def readers_config() -> dict[str, Any]:
    """Return the configuration of the stream where readers keep how far they are. Reading a kept
    stream needs nothing of it: it only says where to go on."""
    return {
        "name": subjects.READERS_STREAM,
        "subjects": [f"{subjects.READER}.*"],
        "max_msgs_per_subject": 1,
        "max_msgs": READERS,
        "discard": "old",
        "duplicate_window": jetstream.NANOSECONDS,
    }


def interest_config() -> dict[str, Any]:
    """Return the configuration of the stream of neighbours' interest."""
    return {
        "name": names.INTEREST_STREAM,
        "subjects": [f"{names.INTEREST}.*"],
        "max_msgs_per_subject": 1,
        "duplicate_window": jetstream.NANOSECONDS,
    }


Started = Callable[[Connection], Awaitable[int | None]]
"""A function that returns when the process behind a connection began, or None when that is
unknown."""


class Lives:
    """Keep the lives of one ingress stream, as its reader finds them.

    A message's identity is its origin and its number in the ingress stream. The stream's creation
    is part of the origin, as a stream made anew counts anew. That is not enough: a server that
    comes up with an older copy of its disk, or with one whose tail is gone, goes on under the same
    creation with numbers it has given before, and everybody further on would leave its new messages
    out as known.

    Such a disk appears between two processes of the server, never within one. So every start of the
    process that finds the stream there begins a life, and a message belongs to the last one that
    began before it was stored, both by the server's own clock. A message keeps its life for ever,
    whoever reads it and how often the agent or the server are restarted meanwhile, because the
    beginnings are kept in the stream's metadata: beside the messages, on the disk that may be
    restored, and written before the first message of a life is read. What an old copy brings back
    has the origin it had, and is known further on; what is published after it has one that nobody
    has met.

    Beginnings never fall: a clock that was set back between two processes puts what comes next into
    the life before, where its numbers go on. Only a clock set back *and* a restored disk give one
    identity twice.
    """

    def __init__(self, started: Started, lock: asyncio.Lock) -> None:
        """Take `lock`, which protects changes of the stream's settings."""
        self._started = started
        self._lock = lock
        self._beginnings: list[int] = []

    async def meet(self, connection: Connection, stream: str) -> None:
        """Learn the lives before the first message is read over a connection. Raises
        DriverError."""
        began = await self._started(connection)
        async with self._lock:
            state = await jetstream.stream_state(connection, stream)
            if state is None:
                self._beginnings = []
                return
            known = _read(state)
            self._beginnings = _with(known, began, state) if began is not None else known
            if self._beginnings != known:
                metadata = {LIVES_KEY: ",".join(str(moment) for moment in self._beginnings)}
                await jetstream.change_stream(connection, state, {"metadata": metadata})

    @property
    def newest(self) -> int:
        """Return when the last life began; 0 while the stream is in its first."""
        return self._beginnings[-1] if self._beginnings else 0

    def of(self, stored: int) -> int:
        """Return the beginning of the life in which a message was stored; 0 for the first."""
        place = bisect_right(self._beginnings, stored)
        return self._beginnings[place - 1] if place else 0


def _with(known: list[int], began: int, state: StreamState) -> list[int]:
    """Return the beginnings with that of this process, without those that have no messages left."""
    if began > nanoseconds(state.created) and began > max(known, default=0):
        known = [*known, began]
    if state.messages:
        first = nanoseconds(state.first_time)
        past = bisect_right(known, first) - 1
    else:
        past = len(known) - 1
    return known[max(0, past) :][-LIVES_KEPT:]


def _read(state: StreamState) -> list[int]:
    text = str(state.config.get("metadata", {}).get(LIVES_KEY, ""))
    return sorted(int(word) for word in text.split(",") if word.isdigit())


def origin(broker: str, created: str, life: int = 0) -> str:
    """Return the origin of messages that came in at `broker` in one life of its ingress stream."""
    moment = "".join(c for c in created if c.isalnum())
    return f"{token(broker)}-{moment}" + (f"-{life:x}" if life else "")


def ingress_messages(
    flow: str, broker: str, read: Read, source: Source, lives: Lives, clock: ServerClock
) -> list[Batch]:
    """Return messages that were read before the gate, with the identity that they keep everywhere
    and when they were stored, and the agent's own marks, each in its place."""
    newest = lives.newest
    latest = where = origin(broker, read.created, newest)
    start = f"{token(flow)}:"
    prefix = f"{start}{where}:".encode()
    batches: list[Batch] = []
    messages: list[Message] = []
    times: list[int] = []

    def close() -> None:
        if messages:
            batch = Batch(source, messages.copy(), life=read.server, made=read.created)
            batch.arrived_at = clock.here(times)
            batches.append(batch)
            messages.clear()
            times.clear()

    for sequence, subject, header, payload, stored in read.messages:
        if names.is_ingress_mark(subject):
            close()
            mark = Message(flow, payload, "", sequence, mark=True)
            batches.append(Batch(source, [mark], life=read.server, made=read.created))
            continue
        if stored < newest or where is not latest:
            where = latest if stored >= newest else origin(broker, read.created, lives.of(stored))
            prefix = f"{start}{where}:".encode()
        own, rest = (b"", b"") if not header else _taken(header)
        lines = b"%b: %d\r\n%b: %b\r\n%b" % (
            POSITION,
            sequence,
            WEIR_ID,
            own or prefix + b"%d" % sequence,
            rest,
        )
        messages.append(Message(flow, payload, where, sequence, lines))
        times.append(stored)
    close()
    return batches


class OutboxMessages:
    """Cut the messages of an outbox into batches of one flow, or one mark."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._known: dict[bytes, tuple[str, str]] = {}
        self.unreadable: list[Stored] = []
        """Messages that the last call of `batches` left out because Weir did not write them."""

    def batches(self, read: Read) -> list[Batch]:
        """Return batches that keep the order of every flow; the last one settles all of them. Empty
        when nothing could be read: the next batch settles that, too."""
        self.unreadable = []
        out: list[Batch] = []
        flows: dict[str, list[Message]] = {}
        name = b"\r\n" + POSITION
        for stored in read.messages:
            flow, where = self._known.get(stored.subject) or self._learn(stored.subject)
            if flow == names.MARK:
                out += self._cut(flows)
                flows = {}
                out.append(Batch(self._source, [Message("", stored.payload, mark=True)]))
                continue
            header = stored.header
            # Headers of the last append precede it.
            start = header.find(name) + 2
            end = header.find(b"\r\n", start)
            number = header[start + len(POSITION) + 1 : end].strip()
            if start == 1 or not number.isdigit() or not (position := int(number)):
                self.unreadable.append(stored)
                continue
            message = Message(flow, stored.payload, where, position, header[start:-2])
            if flow in flows:
                flows[flow].append(message)
            else:
                flows[flow] = [message]
        out += self._cut(flows)
        if out:
            out[-1].token = read.messages[-1].sequence
            out[-1].life = read.server
        return out

    def _cut(self, flows: dict[str, list[Message]]) -> list[Batch]:
        return [Batch(self._source, messages) for messages in flows.values()]

    def _learn(self, subject: bytes) -> tuple[str, str]:
        words = subject.decode(errors="replace").split(".")
        flow, where = words[3], words[4]
        known = (names.MARK if flow == names.MARK else names.name_of(flow), where)
        self._known[subject] = known
        return known


def _taken(header: bytes) -> tuple[bytes, bytes]:
    """Return the publisher's id, and the lines of all other headers that may travel on.

    What begins with `Nats-` is an instruction to the server that read it first and must not be
    one to the next; what only Weir says, it says itself.
    """
    value, lines = b"", []
    for line in header.split(b"\r\n")[1:]:
        key, _, text = line.partition(b":")
        if key == PUBLISHER_ID:
            value = text.strip()
        elif line and not (key := key.lower()).startswith(b"nats-") and key not in _WEIRS_OWN:
            lines.append(line + b"\r\n")
    return value, b"".join(lines)
