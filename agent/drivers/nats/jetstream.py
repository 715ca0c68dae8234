"""Make the few requests of the JetStream API that the agent needs.

Reference: https://docs.nats.io/reference/reference-protocols/nats_api_reference
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.drivers.base import DriverError, Retryable, Room, Unsupported
from agent.drivers.nats import wire
from agent.drivers.nats.connection import Connection, NobodyAnswers

log = logging.getLogger("weir.agent")

NANOSECONDS = 1_000_000_000
PAGE = 1_000
"""The messages that one request for many is answered with."""
SILENCE_S = 3.0
"""A server that sends nothing more for so long has ended an answer of many messages."""

NOT_FOUND = 404
_END_OF_PAGE = 204
NO_SUCH_STREAM = 10059
STREAM_DIFFERS = 10058
WRONG_LAST_SEQUENCE = 10071
NO_JETSTREAM = (10039, 10076)


class JetStreamError(DriverError):
    """Signal that the server understood and refused; `code` is its own."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{text} ({code})")
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """Describe the state of a stream. `created` distinguishes streams that had the same name."""

    first: int
    last: int
    messages: int
    created: str
    first_time: str = ""
    """When the first message was stored, by the server's clock."""
    config: Mapping[str, Any] = field(default_factory=dict)


async def call(
    connection: Connection,
    subject: str,
    body: dict[str, Any] | None = None,
    *,
    timeout_s: float = 3.0,
) -> dict[str, Any]:
    """Make one request. Raises Retryable, Unsupported (no JetStream), JetStreamError."""
    payload = b"" if body is None else json.dumps(body).encode()
    try:
        frame = await connection.request(f"$JS.API.{subject}", payload, timeout_s=timeout_s)
    except NobodyAnswers as error:
        raise Unsupported("the server runs without JetStream") from error
    answer = json.loads(frame[3])
    fault = answer.get("error")
    if fault:
        code = int(fault.get("err_code", fault.get("code", 0)))
        text = str(fault.get("description", "refused"))
        if code in NO_JETSTREAM:
            raise Unsupported(f"JetStream is not enabled: {text}")
        if fault.get("code") == 503:
            raise Retryable(text)
        raise JetStreamError(code, text)
    return dict(answer)


async def ensure_stream(connection: Connection, config: dict[str, Any]) -> None:
    """Create or change the stream to have this configuration; other settings (metadata, its first
    number) stay."""
    name = config["name"]
    config = {"storage": "file", "num_replicas": 1, "allow_direct": True, **config}
    while True:
        state = await stream_state(connection, name)
        if state is not None:
            await change_stream(connection, state, config)
            return
        try:
            await call(connection, f"STREAM.CREATE.{name}", config)
        except JetStreamError as error:
            if error.code != STREAM_DIFFERS:
                raise
            continue  # another client has just created it
        return


class Owned:
    """Keep the configurations of our broker's streams, and create a stream again that is missing:
    somebody may delete it, or the broker may start with another disk."""

    def __init__(self) -> None:
        self._configs: dict[str, dict[str, Any]] = {}

    def note(self, config: dict[str, Any]) -> None:
        """Require this stream from now on."""
        self._configs[config["name"]] = config

    def forget(self, name: str) -> None:
        """Stop requiring this stream from now on."""
        self._configs.pop(name, None)

    async def find(self, connection: Connection, name: str) -> StreamState:
        """Return the stream's state, creating the stream again if it is required. Raises
        Retryable."""
        state = await stream_state(connection, name)
        config = self._configs.get(name)
        if state is None and config is not None:
            log.error("the stream %s was deleted with its messages; creating it again", name)
            if "first_seq" in config:
                # No number may be used twice.
                config = {**config, "first_seq": first_number(time.time())}
            await ensure_stream(connection, config)
            state = await stream_state(connection, name)
        if state is None:
            raise Retryable("the stream does not exist")
        return state


def first_number(now: float) -> int:
    """Return the first number of a stream whose numbers never repeat, however often it is created:
    the time in microseconds."""
    return int(now * 1_000_000)


async def change_stream(
    connection: Connection, state: StreamState, config: Mapping[str, Any]
) -> None:
    """Change these settings of a stream and keep all others. Nothing is sent when nothing differs.
    Raises JetStreamError."""
    before = state.config
    wanted = {**config, "metadata": {**before.get("metadata", {}), **config.get("metadata", {})}}
    # The first number only matters at creation; the server would store it and do nothing.
    wanted.pop("first_seq", None)
    # The server omits settings that have their default.
    if any(before.get(key) != value and (value or key in before) for key, value in wanted.items()):
        await call(connection, f"STREAM.UPDATE.{before['name']}", {**before, **wanted})


async def delete_stream(connection: Connection, name: str) -> None:
    """Delete the stream; it need not exist."""
    try:
        await call(connection, f"STREAM.DELETE.{name}")
    except JetStreamError as error:
        if error.code != NO_SUCH_STREAM:
            raise


async def stream_state(connection: Connection, name: str) -> StreamState | None:
    """Return the stream's state; None when there is no such stream."""
    try:
        answer = await call(connection, f"STREAM.INFO.{name}")
    except JetStreamError as error:
        if error.code == NO_SUCH_STREAM:
            return None
        raise
    state = answer["state"]
    return StreamState(
        first=state["first_seq"],
        last=state["last_seq"],
        messages=state["messages"],
        created=answer["created"],
        first_time=str(state.get("first_ts", "")),
        config=answer["config"],
    )


async def time_of_server(connection: Connection, stream: str) -> str:
    """Return what the server's clock shows, as its answers about a stream say it; empty where they
    do not (before NATS 2.10). Raises DriverError."""
    return str((await call(connection, f"STREAM.INFO.{stream}")).get("ts", ""))


async def count_of(connection: Connection, name: str, subject: str) -> int:
    """Return the number of messages of one subject in a stream that exists."""
    answer = await call(connection, f"STREAM.INFO.{name}", {"subjects_filter": subject})
    return sum(int(number) for number in (answer["state"].get("subjects") or {}).values())


async def subjects_of(connection: Connection, name: str, subject: str) -> list[str]:
    """Return the subjects that a stream holds messages of, of those that match `subject`; none
    where there is no such stream."""
    subjects: list[str] = []
    while True:
        body = {"subjects_filter": subject, "offset": len(subjects)}
        try:
            answer = await call(connection, f"STREAM.INFO.{name}", body)
        except JetStreamError as error:
            if error.code == NO_SUCH_STREAM:
                return []
            raise
        page = list(answer["state"].get("subjects") or {})
        subjects += page
        if not page or len(subjects) >= int(answer.get("total", 0)):
            return subjects


async def contents(connection: Connection) -> dict[str, tuple[int, Room]]:
    """Return the number of messages in every stream, and its room."""
    streams: dict[str, tuple[int, Room]] = {}
    while True:
        answer = await call(connection, "STREAM.LIST", {"offset": len(streams)})
        page = {
            s["config"]["name"]: (int(s["state"]["messages"]), _room(s))
            for s in answer["streams"] or ()
        }
        streams |= page
        if not page or len(streams) >= answer["total"]:
            return streams


def _room(stream: Mapping[str, Any]) -> Room:
    """Return the room of a stream; the server says 0 or -1, or nothing, where there is no limit."""
    state, config = stream["state"], stream["config"]

    def limit(name: str) -> int | None:
        value = int(config.get(name) or 0)
        return value if value > 0 else None

    age = limit("max_age")
    return Room(
        size_bytes=int(state.get("bytes", 0)),
        most_messages=limit("max_msgs"),
        most_bytes=limit("max_bytes"),
        keep_s=None if age is None else age / NANOSECONDS,
        newest=int(state["last_seq"]) if "last_seq" in state else None,
        made=str(stream.get("created", "")),
    )


async def stream_names(connection: Connection, subject: str) -> list[str]:
    """Return the streams that store a subject, which may hold wildcards."""
    names: list[str] = []
    while True:
        answer = await call(connection, "STREAM.NAMES", {"offset": len(names), "subject": subject})
        piece = answer["streams"] or ()
        names += piece
        if not piece or len(names) >= answer["total"]:
            return names


async def purge_before(connection: Connection, name: str, sequence: int) -> None:
    """Delete the messages before `sequence` from the stream."""
    await call(connection, f"STREAM.PURGE.{name}", {"seq": sequence})


async def append(connection: Connection, subject: str, payload: bytes) -> None:
    """Append one message to the stream that stores the subject. Raises Retryable, also when the
    stream does not take it."""
    frame = await connection.request(subject, payload)
    try:
        answer = json.loads(frame[3])
        fault = answer.get("error")
    except (ValueError, AttributeError) as error:
        raise Retryable(f"{subject}: not an acknowledgement: {frame[3][:80]!r}") from error
    if fault:
        raise Retryable(f"{subject}: {fault.get('description')}")


async def append_all(
    connection: Connection, appends: Sequence[tuple[str, bytes, int]]
) -> list[int]:
    """Append messages of one stream (subject, payload, number of the subject's last message until
    then, 0 for none), all or none; return their numbers. Raises JetStreamError when none is stored,
    Retryable when that is not known."""
    batch, most = b"%x-%d" % (id(appends), time.time_ns()), len(appends)
    headers = []
    for number, (_, _, last) in enumerate(appends, 1):
        fields = {b"Nats-Expected-Last-Subject-Sequence": b"%d" % last}
        if most > 1:
            fields |= {b"Nats-Batch-Id": batch, b"Nats-Batch-Sequence": b"%d" % number}
        headers.append(fields)
    if most > 1:
        headers[-1][b"Nats-Batch-Commit"] = b"1"
    *before, (subject, payload, header) = (
        (subject, payload, wire.header_block(fields))
        for (subject, payload, _), fields in zip(appends, headers, strict=True)
    )
    for each, content, lines in before:
        connection.write(wire.publication(each.encode(), content, header=lines))
    frame = await connection.request(subject, payload, header=header)
    try:
        answer = json.loads(frame[3])
        fault = answer.get("error")
        stored = int(answer.get("seq", 0))
    except (ValueError, TypeError, AttributeError) as error:
        raise Retryable(f"{subject}: not an acknowledgement: {frame[3][:80]!r}") from error
    if fault:
        raise JetStreamError(int(fault.get("err_code", 0)), str(fault.get("description")))
    return list(range(stored - most + 1, stored + 1))


async def messages_of(
    connection: Connection, stream: str, subject: str
) -> AsyncIterator[list[wire.Frame]]:
    """Return the messages of a stream that match `subject`, in pieces; none where there is no such
    stream. Raises DriverError."""
    if await stream_state(connection, stream) is None:
        return
    inbox = connection.inbox()
    arrived: asyncio.Queue[list[wire.Frame]] = asyncio.Queue()

    def on_lost() -> None:
        arrived.put_nowait([])

    connection.on_lost(on_lost)
    sid = connection.subscribe(inbox, arrived.put_nowait)
    get = f"$JS.API.DIRECT.GET.{stream}".encode()
    first, is_more = 1, True
    try:
        while is_more:
            body = json.dumps({"seq": first, "next_by_subj": subject, "batch": PAGE}).encode()
            connection.write(wire.publication(get, body, reply=inbox.encode()))
            page: list[wire.Frame] = []
            end = b""
            while not end:
                async with asyncio.timeout(SILENCE_S):
                    frames = await arrived.get()
                if not frames:
                    raise Retryable(connection.reason or "connection lost")
                page += [frame for frame in frames if not wire.status(frame[2])]
                end = next((frame[2] for frame in frames if wire.status(frame[2])), b"")
            if wire.status(end) not in (_END_OF_PAGE, NOT_FOUND):
                raise Retryable(f"{stream}: status {wire.status(end)}")
            if page:
                first = int(wire.header_value(page[-1][2], b"Nats-Sequence")) + 1
                yield page
            pending = wire.header_value(end, b"Nats-Num-Pending")
            is_more = bool(page) and pending.isdigit() and int(pending) > 0
    except TimeoutError as error:
        raise Retryable(f"{stream}: no answer in {SILENCE_S:g} s") from error
    finally:
        connection.forget(on_lost)
        connection.unsubscribe(sid)


async def last_of(connection: Connection, stream: str, subject: str) -> wire.Frame | None:
    """Return the last message of a subject as stored; None when there is none."""
    frame = await connection.request(f"$JS.API.DIRECT.GET.{stream}.{subject}")
    code = wire.status(frame[2])
    if code == NOT_FOUND:
        return None
    if code:
        raise Retryable(f"{stream}: status {code}")
    return frame


async def create_consumer(
    connection: Connection, stream: str, *, start: int, last_per_subject: bool = False
) -> str:
    """Create a consumer without acknowledgements, which the server forgets half a minute after its
    last use."""
    config: dict[str, Any] = {
        "ack_policy": "none",
        "mem_storage": True,
        "num_replicas": 1,
        "inactive_threshold": 30 * NANOSECONDS,
        "max_waiting": 16,
    }
    if last_per_subject:
        config["deliver_policy"] = "last_per_subject"
        config["filter_subject"] = ">"
    elif start > 1:
        config["deliver_policy"] = "by_start_sequence"
        config["opt_start_seq"] = start
    else:
        config["deliver_policy"] = "all"
    answer = await call(
        connection, f"CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": config}
    )
    return str(answer["name"])
