"""Declare and read interest, which brokers store for each other, and receive neighbours' questions.

Interest is written against the sequence of its predecessor and names the incarnation that wrote it,
so an agent that was replaced cannot write after its successor, whenever it wakes up. It is written
again on the first connection to every new process of the neighbour's server, which may have an
older disk. Questions are requests to our broker, which this agent answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass

from agent.drivers.base import Fenced, Inquiry, Interest, Retryable
from agent.drivers.nats import jetstream, names, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.session import Session
from agent.drivers.nats.stream_reader import Stored, StreamReader

log = logging.getLogger("weir.agent")

MOST_INQUIRIES = 256
"""The number of questions that may wait for their answer; whoever asked more asks again."""
_EXPECTED = b"Nats-Expected-Last-Subject-Sequence"
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Declared:
    """Hold the interest that we declared last."""

    flows: frozenset[str]
    epoch: str
    asks: bool


async def declare(
    connection: Connection, broker: str, declared: Declared, incarnation: int
) -> None:
    """Write our interest at the neighbour's broker. Raises Retryable, and Fenced when a newer agent
    has written."""
    subject = names.interest_subject(broker)
    body = json.dumps(
        {
            "flows": sorted(declared.flows),
            "epoch": declared.epoch,
            "asks": declared.asks,
            "incarnation": incarnation,
        }
    ).encode()
    for _ in range(_TRIES):
        frame = await jetstream.last_of(connection, names.INTEREST_STREAM, subject)
        sequence = 0
        if frame is not None:
            word = wire.header_value(frame[2], b"Nats-Sequence")
            sequence = int(word) if word.isdigit() else 0
            newest = _incarnation(frame[3])
            if incarnation and newest > incarnation:
                raise Fenced(
                    f"incarnation {newest} of this broker has declared its interest",
                    incarnation=newest,
                )
        header = wire.header_block({_EXPECTED: b"%d" % sequence})
        answer = json.loads((await connection.request(subject, body, header=header))[3])
        fault = answer.get("error")
        if not fault:
            return
        if fault.get("err_code") != jetstream.WRONG_LAST_SEQUENCE:
            raise Retryable(
                f"the neighbour's broker did not store our interest: {fault.get('description')}"
            )
    raise Retryable("another agent declares this broker's interest at the same time")


async def read_interests(
    own: Session,
    started: Callable[[Connection], Awaitable[int | None]],
    owned: jetstream.Owned,
) -> AsyncIterator[Mapping[str, Interest]]:
    """Return all interest stored at our broker, again after each change; see `Driver.interests`.
    `owned` makes the stream again where it is missing."""
    known: dict[str, Interest] = {}
    began = 0

    async def meet(connection: Connection, _: str) -> None:
        nonlocal began
        began = await started(connection) or 0

    state = await jetstream.stream_state(await own.connection(), names.INTEREST_STREAM)
    if state is None or not state.messages:
        yield {}
    reader = StreamReader(own, names.INTEREST_STREAM, last_per_subject=True, meet=meet, owned=owned)
    async for piece in reader.read():
        for message in piece.messages:
            neighbour = names.name_of(message.subject.decode(errors="replace").rsplit(".", 1)[1])
            known[neighbour] = _interest(neighbour, message, stale=message.time < began)
        if piece.behind == 0:
            yield dict(known)


def _interest(neighbour: str, message: Stored, *, stale: bool) -> Interest:
    revision = f"{message.sequence} {message.time}"
    try:
        body = json.loads(message.payload)
        flows, epoch = body["flows"], body["epoch"]
        if not isinstance(flows, list) or not all(
            isinstance(name, str) for name in (*flows, epoch)
        ):
            raise TypeError("not names")
        return Interest(
            neighbour=neighbour,
            flows=frozenset(flows),
            epoch=epoch,
            stale=stale,
            # Older agents do not write this member, and do not ask.
            asks=body.get("asks") is True,
            revision=revision,
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        log.error("the interest of %s cannot be read: %r", neighbour, message.payload[:200])
        return Interest(
            neighbour=neighbour, flows=frozenset(), unreadable=why, stale=stale, revision=revision
        )


def _incarnation(payload: bytes) -> int:
    try:
        return int(json.loads(payload)["incarnation"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0


async def inquiries(session: Session) -> AsyncIterator[Inquiry]:
    """Return the questions that arrive at our own broker."""
    waiting: deque[Inquiry] = deque(maxlen=MOST_INQUIRIES)
    news = asyncio.Event()

    def arrived(frames: list[wire.Frame]) -> None:
        for subject, reply, _, payload in frames:
            if reply:
                word = subject.decode(errors="replace").rsplit(".", 1)[1]
                waiting.append(Inquiry(names.name_of(word), payload, reply))
        news.set()

    while True:
        connection = await session.connection()
        connection.on_lost(news.set)
        sid = 0
        try:
            with contextlib.suppress(Retryable):
                sid = connection.subscribe(names.inquiry_subject("*"), arrived)
            while connection.alive:
                while waiting:
                    yield waiting.popleft()
                news.clear()
                if connection.alive and not waiting:
                    await news.wait()
        finally:
            connection.forget(news.set)
            connection.unsubscribe(sid)
        waiting.clear()
