"""Write the hand-over of reliable flows from one kept stream to another.

A hand-over from S1 to S2 is

0. a record of what is about to be done;
1. on S2 the memory of S1 (for each origin the position of its last message, so that a message that
   S1 has is not stored here again when it is repeated after a crash), and First;
2. on S1 Last, which names S2 and First's number there;
3. a record of where the flow is.

Nothing else is appended for the flow meanwhile. A crash in between is repaired by doing all of it
again, before anything else: signals carry the number of the move, which is in the record, and who
has read one skips its double.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.drivers.base import Retryable
from agent.drivers.nats import course_records, jetstream, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.course_records import FlowState, Going, Recorded
from agent.drivers.nats.readers_questions import bounds_of, is_gone
from agent.drivers.nats.stream_writer import POSITION, Outgoing, StreamWriter, position_of
from agent.drivers.nats.system_account import nanoseconds
from weir.coordination.wire import token
from weir_client import subjects
from weir_client.frames import Place
from weir_client.keeping import Kind, Signal, Stay, signal_to_bytes

MEMORY = b"Weir-Memory"
"""The header of messages that only say up to which position an origin is known."""
MOST_STAYS = 800
"""The stays that a course names, so that its record is a message that every broker takes."""
STORE_S = 10.0
"""A stream that has not taken a signal for so long is reported, and the signal is given anew."""


async def hand_over(
    connection: Connection,
    flows: Sequence[Recorded],
    source: Place | None,
    target: Place | None,
    *,
    writer: Callable[[Place], StreamWriter],
    keep_s: int,
) -> None:
    """Hand over flows that go the same way; the streams are there, and nothing is being appended.
    Raises DriverError: those whose state says `going` by then have to be handed over again with new
    writers, and all are to be read again after RecordsInDoubt."""
    begun = {
        flow: replace(flow.state, going=Going(target, _next_move(flow.state)), keep_s=keep_s)
        for flow in flows
        if flow.state.going is None
    }
    if begun:
        await course_records.write(connection, begun)
    moves = {flow: flow.state.going.move for flow in flows if flow.state.going is not None}
    firsts: Mapping[Recorded, int] = {}
    lasts: Mapping[Recorded, int] = {}
    if target is not None:
        known = await asyncio.gather(*(_memory(connection, f, target, keep_s) for f in flows))
        firsts = await append_signals(
            connection,
            target,
            {flow: Signal(Kind.FIRST, move, source) for flow, move in moves.items()},
            writer(target),
            before=[each for of_flow in known for each in of_flow],
        )
    if source is not None:
        lasts = await append_signals(
            connection,
            source,
            {f: Signal(Kind.LAST, move, target, firsts.get(f, 0)) for f, move in moves.items()},
            writer(source),
        )
    bounds: dict[Place, tuple[int, int]] = {}
    done = {}
    for flow, move in moves.items():
        stays = list(flow.state.course)
        if source is not None:
            stays[-1] = replace(stays[-1], last=lasts[flow])
        if target is not None:
            stays.append(Stay(move, target, firsts[flow]))
        while len(stays) > 1:
            oldest = stays[0]
            if oldest.place not in bounds:
                bounds[oldest.place] = await bounds_of(connection, oldest.place)
            if len(stays) <= MOST_STAYS and not is_gone(oldest, bounds):
                break
            del stays[0]
        done[flow] = FlowState(tuple(stays), move, None, keep_s)
    await course_records.write(connection, done)


def _next_move(state: FlowState) -> int:
    """Return the number of a flow's next move. The first one of a course is the time in
    microseconds: it is above those of every course that the flow had on a disk that is lost."""
    return state.moves + 1 if state.moves else jetstream.first_number(time.time())


async def append_signals(
    connection: Connection,
    place: Place,
    signals: Mapping[Recorded, Signal],
    writer: StreamWriter,
    before: Sequence[Outgoing] = (),
) -> dict[Recorded, int]:
    """Append a signal of each flow, `before` first; return their numbers in the stream."""
    prefix, stream = subjects.kept_subject(place), subjects.kept_stream(place)
    every = {f"{prefix}.{token(f.flow)}.{subjects.SIGNAL}": f for f in signals}
    outgoing = [
        Outgoing(subject.encode(), 0, b"", signal_to_bytes(signal))
        for subject, signal in zip(every, signals.values(), strict=True)
    ]
    await _stored(connection, writer, [*before, *outgoing], stream)
    frames = await asyncio.gather(
        *(jetstream.last_of(connection, stream, subject) for subject in every)
    )
    numbers = {}
    for flow, frame in zip(every.values(), frames, strict=True):
        if frame is None:
            raise Retryable(f"{stream}: a signal of {flow.flow} is not there any more")
        numbers[flow] = int(wire.header_value(frame[2], b"Nats-Sequence"))
    return numbers


async def _stored(
    connection: Connection, writer: StreamWriter, messages: Sequence[Outgoing], stream: str
) -> None:
    """Append messages while this connection lasts: behind the next one may be another disk."""
    job = writer.add(messages)
    lost = asyncio.create_task(connection.lost.wait())
    first: set[asyncio.Future[Any]] = {job, lost}
    try:
        await asyncio.wait(first, timeout=STORE_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        lost.cancel()
    if not job.done():
        if connection.lost.is_set():
            raise Retryable(connection.reason or "connection lost")
        raise Retryable(writer.problem or f"{stream}: no acknowledgement in {STORE_S:g} s")
    job.result()


async def _memory(
    connection: Connection, flow: Recorded, target: Place, keep_s: int
) -> list[Outgoing]:
    """Return what makes the next stream of a flow know what the last one holds. An origin that was
    silent for as long as messages are kept is forgotten, as it is everywhere."""
    course = flow.state.course
    if not course or course[-1].place == target:
        return []
    former, name = course[-1].place, token(flow.flow)
    stream, prefix = subjects.kept_stream(former), subjects.kept_subject(former)
    known = []
    for subject in await jetstream.subjects_of(connection, stream, f"{prefix}.{name}.*"):
        origin = subject.rpartition(".")[2]
        if origin != subjects.SIGNAL:
            frame = await jetstream.last_of(connection, stream, subject)
            if frame is not None and (position := position_of(frame[2])):
                known.append((origin, position, _first_stored(frame[2])))
    if not known:
        return []
    now = nanoseconds(await jetstream.time_of_server(connection, stream))
    return [
        Outgoing(
            f"{subjects.kept_subject(target)}.{name}.{origin}".encode(),
            position,
            b"%b: %d\r\n%b: %d\r\n" % (POSITION, position, MEMORY, stored),
            b"",
            is_memory=True,
        )
        for origin, position, stored in known
        if stored >= now - keep_s * jetstream.NANOSECONDS
    ]


def _first_stored(header: bytes) -> int:
    """Return when a message was stored first, in nanoseconds of the server's clock."""
    memory = wire.header_value(header, MEMORY)
    if memory.isdigit():
        return int(memory)
    return nanoseconds(wire.header_value(header, b"Nats-Time-Stamp").decode())
