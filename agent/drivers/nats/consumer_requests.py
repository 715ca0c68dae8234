"""Make the consumers that classes request of JetStream.

A consumer sends its messages wherever its configuration says, with the rights of its stream's
account. So requests to make one come from the clients' account to the agent (`server_config`),
which makes what sends to an inbox of the class alone, or nothing before it is fetched. Clients see
no difference: they send JetStream's own requests, and get its own answers.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

from agent.drivers.base import DriverError, Retryable
from agent.drivers.nats import names, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.login import class_of
from agent.drivers.nats.session import Session
from agent.tasks import Watched, end

log = logging.getLogger(__name__)

WORKERS = 4
MOST_BYTES = 64 * 1024
"""The size of one request."""
MOST_WAITING = 1_000
"""Requests that wait; more are left to be made again."""
REQUESTER = b"Nats-Request-Info"
"""The header in which the server says whose connection a request came by."""
REFUSED = 10012
"""JetStream's own number of a consumer that cannot be made."""
_CREATE = f"{names.CONSUMER}.create."
_DURABLE = f"{names.CONSUMER}.durable."
_PARTS = frozenset({"stream_name", "config", "action", "pedantic"})
_SETTINGS = frozenset(
    {
        "name",
        "durable_name",
        "description",
        "metadata",
        "deliver_policy",
        "deliver_subject",
        "deliver_group",
        "opt_start_seq",
        "opt_start_time",
        "ack_policy",
        "ack_wait",
        "max_deliver",
        "backoff",
        "filter_subject",
        "filter_subjects",
        "replay_policy",
        "rate_limit_bps",
        "sample_freq",
        "max_waiting",
        "max_ack_pending",
        "flow_control",
        "idle_heartbeat",
        "headers_only",
        "max_batch",
        "max_expires",
        "max_bytes",
        "inactive_threshold",
        "num_replicas",
        "mem_storage",
        "pause_until",
        "priority_groups",
        "priority_policy",
        "priority_timeout",
    }
)
"""What a consumer may be made with. Others are refused: the server knows what is only for its own
use, too, and reads every name in any case."""


class ConsumerRequests:
    """The requests of classes at one server."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: asyncio.Queue[wire.Frame] = asyncio.Queue(MOST_WAITING)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, tasks: Watched) -> None:
        """Begin to hear and to carry out requests; idempotent."""
        if not self._tasks:
            self._tasks = [
                tasks.start(self._listen(), "requests for consumers"),
                *(
                    tasks.start(self._work(), f"consumers of classes {number}")
                    for number in range(WORKERS)
                ),
            ]

    async def close(self) -> None:
        """Stop; what waits is not answered."""
        tasks, self._tasks = self._tasks, []
        await end(*tasks)

    async def _listen(self) -> None:
        """Hear requests through every loss of the connection, or until the session has ended for
        good."""
        while True:
            try:
                connection = await self._session.connection()
            except DriverError:
                return
            try:
                sid = connection.subscribe(f"{names.CONSUMER}.>", self._take)
                await connection.lost.wait()
                connection.unsubscribe(sid)
            except Retryable:
                pass
            await asyncio.sleep(0.01)

    def _take(self, frames: list[wire.Frame]) -> None:
        for frame in frames:
            if frame[1].startswith(names.ACROSS_ACCOUNTS) and not self._waiting.full():
                self._waiting.put_nowait(frame)

    async def _work(self) -> None:
        while True:
            frame = await self._waiting.get()
            try:
                connection = await self._session.connection()
                answer = await self._answer(connection, frame)
                connection.write(wire.publication(frame[1], answer))
            except DriverError as error:  # the client requests it again
                log.debug("a request for a consumer: %s", error)

    async def _answer(self, connection: Connection, frame: wire.Frame) -> bytes:
        """Return what JetStream answers, or a refusal as it would write it. Raises DriverError."""
        subject, _, header, payload = frame
        try:
            name = class_of(requester(header))
            body = json.dumps(checked(payload, inbox=names.class_inbox(name))).encode()
            create = _api_subject(subject.decode())
        except ValueError as error:
            log.info("a consumer was refused: %s", error)
            return _refusal(str(error))
        return (await connection.request(create, body))[3]


def requester(header: bytes) -> str:
    """Return the name in the token of the connection by which a request came. Raises ValueError
    unless the server alone says so."""
    lines = [
        line.partition(b":")[2]
        for line in header.split(b"\r\n")
        if line.partition(b":")[0].strip().lower() == REQUESTER.lower()
    ]
    if len(lines) != 1:
        raise ValueError(f"{len(lines)} headers say who requests it")
    info = json.loads(lines[0])
    user = info.get("user") if isinstance(info, dict) else None
    if not isinstance(user, str):
        raise ValueError("no header says who requests it")
    return user


def checked(payload: bytes, *, inbox: str) -> Mapping[str, Any]:
    """Return a request for a consumer that sends to this inbox, or to nobody by itself.

    Raises ValueError.
    """
    if len(payload) > MOST_BYTES:
        raise ValueError(f"a request has at most {MOST_BYTES:,} bytes")
    try:
        request: Any = json.loads(payload)
    except RecursionError as error:
        raise ValueError("the request is nested too deeply") from error
    config = request.get("config") if isinstance(request, dict) else None
    if not isinstance(request, dict) or not isinstance(config, dict):
        raise ValueError("the request has no config")
    unknown = sorted(request.keys() - _PARTS) + sorted(config.keys() - _SETTINGS)
    if unknown:
        raise ValueError(f"Weir makes no consumer with {', '.join(unknown)[:200]}")
    deliver = config.get("deliver_subject") or ""
    if not isinstance(deliver, str):
        raise ValueError("deliver_subject is no text")
    if deliver and not _is_below(deliver, inbox):
        raise ValueError(f"deliver_subject must be an inbox of the class, {inbox}.…")
    return request


def _is_below(subject: str, prefix: str) -> bool:
    tokens = subject.removeprefix(f"{prefix}.").split(".")
    return (
        subject.startswith(f"{prefix}.")
        and subject.isascii()
        and subject.isprintable()
        and " " not in subject
        and not {"", "*", ">"}.intersection(tokens)
    )


def _api_subject(subject: str) -> str:
    if subject.startswith(_DURABLE):
        return f"$JS.API.CONSUMER.DURABLE.CREATE.{subject.removeprefix(_DURABLE)}"
    return f"$JS.API.CONSUMER.CREATE.{subject.removeprefix(_CREATE)}"


def _refusal(description: str) -> bytes:
    return json.dumps(
        {
            "type": "io.nats.jetstream.api.v1.consumer_create_response",
            "error": {"code": 400, "err_code": REFUSED, "description": description},
        }
    ).encode()
