"""Make the consumers of readers of kept streams, and keep their records.

Readers have no rights to JetStream, as its server sends answers and messages wherever a request
says. What they need is requested on `weir.read.R`, where reader R alone may publish
(`weir_client.keeping` says what), and done here with the agent's rights. So names and subjects are
made here, of what was checked; a reader is answered, and its streams are sent, to its own inbox.

Requests of one reader are carried out one after the other; readers take turns.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from agent.drivers.base import DriverError, Retryable
from agent.drivers.nats import jetstream, names, streams, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.jetstream import NANOSECONDS, JetStreamError
from agent.drivers.nats.session import Session
from agent.tasks import Watched
from weir_client import subjects
from weir_client.frames import Place
from weir_client.keeping import (
    CONFLICT,
    MALFORMED,
    MISSING,
    MOST_ACKNOWLEDGED,
    SUPERSEDED,
    line_and_record,
    lined,
)

log = logging.getLogger(__name__)

WORKERS = 4
MOST_OF_ONE = 16
"""Requests of one reader that wait; more are left to be made again."""
MOST_BYTES_OF_ONE = 4 << 20
MOST_READERS = 10_000
MOST_BYTES = 64 << 20
"""What waits of all readers."""
MOST_PENDING = 2_000
"""Messages of a stream that a reader has not acknowledged."""
FORGOTTEN_S = 31 * 24 * 3600
"""A reader that is away for longer than any message is kept begins anew."""
BEAT_S = 1
MOST_KNOWN = 100_000
"""Consumers whose generation is known here without a question."""
_NO_CONSUMER = 10014
_MOST_PLACE = 2**32 - 1
_MOST_NUMBER = 2**63 - 1
_LIFE = re.compile(r"[0-9a-f]{8,64}")
_DELIVER = re.compile(r"[0-9A-Za-z]{8,64}")

Line = Mapping[str, Any]


class ReaderRequests:
    """The requests of all readers at one server."""

    def __init__(self, session: Session, missing: Callable[[Place], None]) -> None:
        """Take `missing`, which learns of a stream that is wanted and not there."""
        self._session = session
        self._missing = missing
        self._waiting: dict[str, deque[tuple[bytes, bytes]]] = {}
        """Reader -> its requests that are not carried out yet, as inbox and payload."""
        self._turns: asyncio.Queue[str] = asyncio.Queue()
        """Readers with a request that waits, unless another one of theirs is being carried out."""
        self._bytes = 0
        self._known: dict[tuple[str, str], int] = {}
        """Stream and consumer -> the generation of reading that it is of."""

    def start(self, tasks: Watched) -> None:
        """Begin to carry out requests."""
        for number in range(WORKERS):
            tasks.start(self._work(), f"requests of readers {number}")

    def take(self, frames: list[wire.Frame]) -> None:
        """Take requests as they come; what finds no room is made again by its reader."""
        for subject, reply, _, payload in frames:
            reader = subject.decode(errors="replace").rpartition(".")[2]
            own = f"{subjects.READER_INBOX}.{reader}.".encode()
            if not reply.startswith((own, names.ACROSS_ACCOUNTS)):
                continue
            waiting = self._waiting.get(reader)
            if self._bytes + len(payload) > MOST_BYTES:
                continue
            if waiting is None:
                if len(self._waiting) >= MOST_READERS:
                    continue
                waiting = self._waiting[reader] = deque()
                self._turns.put_nowait(reader)
            elif (
                len(waiting) >= MOST_OF_ONE
                or sum(len(each) for _, each in waiting) + len(payload) > MOST_BYTES_OF_ONE
            ):
                continue
            waiting.append((reply, payload))
            self._bytes += len(payload)

    async def _work(self) -> None:
        while True:
            reader = await self._turns.get()
            waiting = self._waiting[reader]
            reply, payload = waiting[0]
            try:
                connection = await self._session.connection()
                send(connection, reply, await self._answer(connection, reader, payload))
            except DriverError as error:  # the reader requests it again
                log.debug("a request of reader %s: %s", reader, error)
            waiting.popleft()
            self._bytes -= len(payload)
            if waiting:
                self._turns.put_nowait(reader)
            else:
                del self._waiting[reader]

    async def _answer(self, connection: Connection, reader: str, payload: bytes) -> bytes:
        try:
            line, record = line_and_record(payload)
            match line.get("do"):
                case "record":
                    return await self._record(connection, reader)
                case "keep":
                    answer = await self._keep(connection, reader, line, record)
                case "open":
                    answer = await self._open(connection, reader, line)
                case "acknowledge":
                    answer = await self._acknowledge(connection, reader, line)
                case "acknowledged":
                    answer = await self._acknowledged(connection, reader, line)
                case "remove":
                    answer = await self._remove(connection, reader, line)
                case _:
                    answer = {"error": MALFORMED}
        except ValueError:
            answer = {"error": MALFORMED}
        except DriverError as error:
            answer = {"error": str(error)[:200]}
        return lined(answer)

    # --- the record

    async def _record(self, connection: Connection, reader: str) -> bytes:
        frame = await self._stored(connection, reader)
        if frame is None:
            return lined({"revision": 0, "life": ""})
        life, record = _life_and_record(frame)
        revision = int(wire.header_value(frame[2], b"Nats-Sequence"))
        return lined({"revision": revision, "life": life}, record)

    async def _stored(self, connection: Connection, reader: str) -> wire.Frame | None:
        """Return the record of a reader as it is stored. Raises DriverError."""
        try:
            return await jetstream.last_of(
                connection, subjects.READERS_STREAM, f"{subjects.READER}.{reader}"
            )
        except Retryable:
            await self._ensure(connection)
            raise

    async def _ensure(self, connection: Connection) -> None:
        """Have a stream of records: nothing may be mapped yet, or somebody may have deleted it."""
        if await jetstream.stream_state(connection, subjects.READERS_STREAM) is None:
            await jetstream.ensure_stream(connection, streams.readers_config())

    async def _keep(self, connection: Connection, reader: str, line: Line, record: bytes) -> Line:
        life, revision = _life(line), _number(line, "revision", least=0)
        header = wire.header_block({b"Nats-Expected-Last-Subject-Sequence": str(revision).encode()})
        body = life.encode() + b"\n" + record
        if len(header) + len(body) > largest_payload(connection):
            return {"error": f"a record of {len(record)} bytes is too large"}
        try:
            frame = await connection.request(f"{subjects.READER}.{reader}", body, header=header)
        except Retryable:
            await self._ensure(connection)
            raise
        answer = json.loads(frame[3])
        fault = answer.get("error")
        if not fault:
            return {"revision": int(answer["seq"])}
        if fault.get("err_code") == jetstream.WRONG_LAST_SEQUENCE:
            return {"error": CONFLICT}
        return {"error": str(fault.get("description"))}

    # --- consumers

    async def _open(self, connection: Connection, reader: str, line: Line) -> Line:
        life, place, lane = _life(line), _place(line.get("place")), _lane(line.get("lane"))
        generation = _number(line, "generation")
        start = _number(line, "start")
        deliver = _deliver(line, reader)
        stored = await self._stored(connection, reader)
        if stored is None or _life_and_record(stored)[0] != life:
            return {"error": SUPERSEDED}
        stream = subjects.kept_stream(place)
        state = await jetstream.stream_state(connection, stream)
        if state is None:
            self._missing(place)
            return {"error": MISSING}
        await self._delete(connection, stream, _consumer(reader, lane))
        consumer = _consumer(reader, lane)
        config = {
            "durable_name": consumer,
            "name": consumer,
            "description": str(generation),
            "deliver_subject": deliver,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": start,
            "ack_policy": "all",
            # Whoever takes over begins anew where this one was acknowledged.
            "ack_wait": FORGOTTEN_S * NANOSECONDS,
            "max_ack_pending": MOST_PENDING,
            "max_deliver": -1,
            "idle_heartbeat": BEAT_S * NANOSECONDS,
            "flow_control": True,
            "inactive_threshold": FORGOTTEN_S * NANOSECONDS,
            "replay_policy": "instant",
        }
        await jetstream.call(
            connection,
            f"CONSUMER.CREATE.{stream}.{consumer}",
            {"stream_name": stream, "config": config, "action": "create"},
        )
        self._know(stream, consumer, generation)
        await self._delete(connection, stream, _consumer(reader, 1 - lane))
        return {"last": state.last}

    async def _acknowledge(self, connection: Connection, reader: str, line: Line) -> Line:
        rows = line.get("streams")
        if not isinstance(rows, list) or len(rows) > MOST_ACKNOWLEDGED:
            raise ValueError(f"not what was read: {rows!r}")
        every = [_read(row) for row in rows]
        return {
            "kept": await asyncio.gather(*(self._confirm(connection, reader, *r) for r in every))
        }

    async def _confirm(
        self,
        connection: Connection,
        reader: str,
        place: Place,
        lane: int,
        generation: int,
        number: int,
        count: int,
    ) -> bool:
        """Acknowledge what a consumer has sent up to a number, if it is still the same one; return
        whether that is settled."""
        stream, consumer = subjects.kept_stream(place), _consumer(reader, lane)
        try:
            if (stream, consumer) not in self._known:
                await self._info(connection, stream, consumer)
            if self._known.get((stream, consumer)) == generation:
                subject = f"$JS.ACK.{stream}.{consumer}.1.{number}.{count}.0.0"
                await connection.request(subject, b"+ACK")
        except DriverError as error:
            log.debug("an acknowledgement of reader %s: %s", reader, error)
            self._known.pop((stream, consumer), None)
            return False
        return True

    async def _acknowledged(self, connection: Connection, reader: str, line: Line) -> Line:
        place, lane = _place(line.get("place")), _lane(line.get("lane"))
        generation = _number(line, "generation")
        stream, consumer = subjects.kept_stream(place), _consumer(reader, lane)
        info = await self._info(connection, stream, consumer)
        if self._known.get((stream, consumer)) != generation:
            return {"number": 0}
        return {"number": int(info["ack_floor"]["stream_seq"])}

    async def _remove(self, connection: Connection, reader: str, line: Line) -> Line:
        place, lane = _place(line.get("place")), _lane(line.get("lane"))
        generation = _number(line, "generation")
        stream, consumer = subjects.kept_stream(place), _consumer(reader, lane)
        await self._info(connection, stream, consumer)
        if self._known.get((stream, consumer)) == generation:
            await self._delete(connection, stream, consumer)
        return {}

    async def _info(self, connection: Connection, stream: str, consumer: str) -> Line:
        """Return what the server knows of a consumer; nothing where it is gone."""
        try:
            info = await jetstream.call(connection, f"CONSUMER.INFO.{stream}.{consumer}")
        except JetStreamError as error:
            if error.code not in (_NO_CONSUMER, jetstream.NO_SUCH_STREAM):
                raise
            self._known.pop((stream, consumer), None)
            return {}
        description = str(info["config"].get("description", ""))
        self._know(stream, consumer, int(description) if description.isdecimal() else -1)
        return info

    async def _delete(self, connection: Connection, stream: str, consumer: str) -> None:
        self._known.pop((stream, consumer), None)
        try:
            await jetstream.call(connection, f"CONSUMER.DELETE.{stream}.{consumer}")
        except JetStreamError as error:
            if error.code not in (_NO_CONSUMER, jetstream.NO_SUCH_STREAM):
                raise

    def _know(self, stream: str, consumer: str, generation: int) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[stream, consumer] = generation


def largest_payload(connection: Connection) -> int:
    """Return the most bytes of headers and payload that the server takes; it ends a connection
    that sends more."""
    return int(connection.info.get("max_payload", 1 << 20))


def send(connection: Connection, reply: bytes, body: bytes) -> None:
    """Answer a reader, unless the server would not take that. Raises Retryable."""
    if len(body) <= largest_payload(connection):
        connection.write(wire.publication(reply, body))


def _life_and_record(frame: wire.Frame) -> tuple[str, bytes]:
    life, _, record = frame[3].partition(b"\n")
    return life.decode(errors="replace"), record


def _consumer(reader: str, lane: int) -> str:
    """Return the name of a consumer; `reader` is a token already."""
    return subjects.consumer_of(names.name_of(reader), subjects.LANES[lane])


def _life(line: Line) -> str:
    life = line.get("life")
    if isinstance(life, str) and _LIFE.fullmatch(life):
        return life
    raise ValueError(f"no life: {life!r}")


def _place(pair: object) -> Place:
    match pair:
        case [group, stream]:
            return Place(_checked(group, 0, _MOST_PLACE), _checked(stream, 0, _MOST_PLACE))
    raise ValueError(f"no place: {pair!r}")


def _lane(lane: object) -> int:
    return _checked(lane, 0, len(subjects.LANES) - 1)


def _number(line: Line, name: str, *, least: int = 1) -> int:
    return _checked(line.get(name), least, _MOST_NUMBER)


def _checked(number: object, least: int, most: int) -> int:
    # No bool, which is an int, too.
    if type(number) is int and least <= number <= most:
        return number
    raise ValueError(f"no number from {least} to {most}: {number!r}")


def _deliver(line: Line, reader: str) -> str:
    deliver = line.get("deliver")
    prefix = f"{subjects.READER_INBOX}.{reader}."
    if isinstance(deliver, str) and deliver.startswith(prefix):
        rest = deliver.removeprefix(prefix)
        if _DELIVER.fullmatch(rest):
            return prefix + rest
    raise ValueError(f"no inbox of {reader}: {deliver!r}")


def _read(row: object) -> tuple[Place, int, int, int, int]:
    match row:
        case [group, stream, lane, generation, number, count]:
            return (
                _place([group, stream]),
                _lane(lane),
                _checked(generation, 1, _MOST_NUMBER),
                _checked(number, 1, _MOST_NUMBER),
                _checked(count, 1, _MOST_NUMBER),
            )
    raise ValueError(f"no acknowledgement: {row!r}")
