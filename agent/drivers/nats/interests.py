"""What brokers want of each other: kept at the broker that is wanted something of.

A value is written against the number of the one before it and names the incarnation that says it,
so an agent that was replaced cannot speak after its successor, whenever it wakes up. It is said
again on the first connection to every new process of the neighbour's server, which may have come up
with an older disk.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass

from agent.drivers.base import Fenced, Interest, Retryable
from agent.drivers.nats import jetstream, names, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.session import Session
from agent.drivers.nats.stream_reader import Stored, StreamReader

log = logging.getLogger("weir.agent")

_EXPECTED = b"Nats-Expected-Last-Subject-Sequence"
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Said:
    """What we said last."""

    flows: frozenset[str]
    epoch: str
    asks: bool


async def say(connection: Connection, broker: str, said: Said, incarnation: int) -> None:
    """Write it at the neighbour's broker. Raises Retryable, Fenced (a newer agent has spoken)."""
    subject = names.interest_subject(broker)
    body = json.dumps(
        {
            "flows": sorted(said.flows),
            "epoch": said.epoch,
            "asks": said.asks,
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
                    f"incarnation {newest} of this broker has said what it wants",
                    incarnation=newest,
                )
        header = wire.header_block({_EXPECTED: b"%d" % sequence})
        answer = json.loads((await connection.request(subject, body, header=header))[3])
        fault = answer.get("error")
        if not fault:
            return
        if fault.get("err_code") != jetstream.WRONG_LAST_SEQUENCE:
            raise Retryable(f"our interest is not kept there: {fault.get('description')}")
    raise Retryable("somebody else says what this broker wants at the same time")


async def hear(
    own: Session,
    started: Callable[[Connection], Awaitable[int | None]],
    owned: jetstream.Owned,
) -> AsyncIterator[Mapping[str, Interest]]:
    """Everything that is kept at our broker, again after each change; see `Driver.interests`.
    `owned`: what to make again where it is missing: nobody could say anything here."""
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
    saying = f"{message.sequence} {message.time}"
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
            # Agents of before this member do not ask.
            asks=body.get("asks") is True,
            saying=saying,
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        log.error("what %s wants cannot be read: %r", neighbour, message.payload[:200])
        return Interest(
            neighbour=neighbour, flows=frozenset(), unreadable=why, stale=stale, saying=saying
        )


def _incarnation(payload: bytes) -> int:
    try:
        return int(json.loads(payload)["incarnation"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0
