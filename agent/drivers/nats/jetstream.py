"""The few requests of the JetStream API that the agent makes.

Reference: https://docs.nats.io/reference/reference-protocols/nats_api_reference
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.drivers.base import DriverError, Retryable, Unsupported
from agent.drivers.nats import wire
from agent.drivers.nats.connection import Connection

log = logging.getLogger("weir.agent")

NANOSECONDS = 1_000_000_000

NOT_FOUND = 404
NO_SUCH_STREAM = 10059
STREAM_DIFFERS = 10058
WRONG_LAST_SEQUENCE = 10071
NO_JETSTREAM = (10039, 10076)


class JetStreamError(DriverError):
    """The server understood and said no; `code` is its own."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{text} ({code})")
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """Where a stream stands. `created` tells one life of a stream's name from the next."""

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
    """One request. Raises Retryable, Unsupported (no JetStream), JetStreamError."""
    payload = b"" if body is None else json.dumps(body).encode()
    try:
        frame = await connection.request(f"$JS.API.{subject}", payload, timeout_s=timeout_s)
    except Retryable as error:
        if "nobody answers" in str(error):
            raise Unsupported("the server runs without JetStream") from error
        raise
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
    """The stream exists with this configuration; what it was given besides (metadata, its first
    number) it keeps."""
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
            continue  # somebody else has just made it
        return


class Owned:
    """The streams of our own broker that must be there, and how: whoever finds one missing makes
    it again. Somebody may delete it, or the broker come up with another disk."""

    def __init__(self) -> None:
        self._configs: dict[str, dict[str, Any]] = {}

    def note(self, config: dict[str, Any]) -> None:
        """This one must be there from now on."""
        self._configs[config["name"]] = config

    def forget(self, name: str) -> None:
        """Nobody needs this one any more."""
        self._configs.pop(name, None)

    async def find(self, connection: Connection, name: str) -> StreamState:
        """Where it stands, made again where it must be. Raises Retryable."""
        state = await stream_state(connection, name)
        config = self._configs.get(name)
        if state is None and config is not None:
            log.error("the stream %s was deleted, with what was in it; making it again", name)
            if "first_seq" in config:
                # No number is given twice.
                config = {**config, "first_seq": first_number(time.time())}
            await ensure_stream(connection, config)
            state = await stream_state(connection, name)
        if state is None:
            raise Retryable("the stream does not exist")
        return state


def first_number(now: float) -> int:
    """Of a stream whose numbers never repeat, however often it is made: the microsecond."""
    return int(now * 1_000_000)


async def change_stream(
    connection: Connection, state: StreamState, config: Mapping[str, Any]
) -> None:
    """These settings of a stream that exists; all others stay. Nothing is sent when nothing
    differs. Raises JetStreamError."""
    before = state.config
    wanted = {**config, "metadata": {**before.get("metadata", {}), **config.get("metadata", {})}}
    # Where numbers begin is of the past; the server would write it down and do nothing.
    wanted.pop("first_seq", None)
    # The server leaves out what has its default.
    if any(before.get(key) != value and (value or key in before) for key, value in wanted.items()):
        await call(connection, f"STREAM.UPDATE.{before['name']}", {**before, **wanted})


async def delete_stream(connection: Connection, name: str) -> None:
    """The stream does not exist."""
    try:
        await call(connection, f"STREAM.DELETE.{name}")
    except JetStreamError as error:
        if error.code != NO_SUCH_STREAM:
            raise


async def stream_state(connection: Connection, name: str) -> StreamState | None:
    """Where it stands; None when there is no such stream."""
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


async def message_counts(connection: Connection) -> dict[str, int]:
    """Stream -> messages in it, for every stream."""
    counts: dict[str, int] = {}
    while True:
        answer = await call(connection, "STREAM.LIST", {"offset": len(counts)})
        found = {s["config"]["name"]: int(s["state"]["messages"]) for s in answer["streams"] or ()}
        counts |= found
        if not found or len(counts) >= answer["total"]:
            return counts


async def stream_names(connection: Connection, subject: str) -> list[str]:
    """Streams that store something of a subject, which may hold wildcards."""
    found: list[str] = []
    while True:
        answer = await call(connection, "STREAM.NAMES", {"offset": len(found), "subject": subject})
        piece = answer["streams"] or ()
        found += piece
        if not piece or len(found) >= answer["total"]:
            return found


async def purge_before(connection: Connection, name: str, sequence: int) -> None:
    """Everything before `sequence` is gone."""
    await call(connection, f"STREAM.PURGE.{name}", {"seq": sequence})


async def last_of(connection: Connection, stream: str, subject: str) -> wire.Frame | None:
    """The last message of a subject as stored; None when there is none."""
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
    """A consumer without acknowledgements, forgotten half a minute after its last use."""
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
