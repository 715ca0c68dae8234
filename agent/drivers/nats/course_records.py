"""Record at our broker on which kept streams each reliable flow was and is.

`WEIR_COURSES` has one record for each flow. Those of a group are written in one atomic batch, each
over the number of the one that it replaces: all are stored or none, and an agent that stood still
while a newer one wrote is refused. Whoever does not know whether its records are stored reads all
of them again; then its own are there, or another's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from agent.drivers.base import Retryable
from agent.drivers.nats import jetstream, names, wire
from agent.drivers.nats.connection import Connection
from weir_client.frames import Place
from weir_client.keeping import Course, course_from_list, course_to_list, is_there, moves_of

STREAM = names.COURSES_STREAM


class RecordsInDoubt(Retryable):
    """Signal that the records are not those that are known here, or that nobody knows."""


@dataclass(frozen=True, slots=True)
class Going:
    """A hand-over that is recorded and may not be complete."""

    target: Place | None
    move: int


@dataclass(frozen=True, slots=True)
class FlowState:
    """Where a flow was and is."""

    course: Course = ()
    moves: int = 0
    """The number of its last move; what is left of the course may not show it."""
    going: Going | None = None
    keep_s: int = 0
    """How long messages were kept when this was recorded."""

    @property
    def place(self) -> Place | None:
        """Return the stream that the flow is on."""
        return self.course[-1].place if is_there(self.course) else None


@dataclass(slots=True, eq=False)
class Recorded:
    """A flow with its record."""

    flow: str
    state: FlowState = field(default_factory=FlowState)
    revision: int = 0
    """The number of the record in its stream; 0: there is none."""
    problem: str = ""
    """Why the record cannot be read."""


async def read_all(connection: Connection) -> dict[str, Recorded]:
    """Return the flows that have a record. Nothing is created. Raises DriverError."""
    prefix = f"{names.COURSES}."
    every: dict[str, Recorded] = {}
    async for frames in jetstream.messages_of(connection, STREAM, f"{prefix}*"):
        for frame in frames:
            subject = wire.header_value(frame[2], b"Nats-Subject").decode(errors="replace")
            flow = names.name_of(subject.removeprefix(prefix))
            every[flow] = _recorded(flow, frame)
    return every


async def read(connection: Connection, flow: str) -> Recorded:
    """Return one flow with its record. Raises DriverError."""
    frame = await jetstream.last_of(connection, STREAM, names.course_subject(flow))
    return Recorded(flow) if frame is None else _recorded(flow, frame)


async def write(connection: Connection, changes: Mapping[Recorded, FlowState]) -> None:
    """Record where these flows are, all or none. Raises RecordsInDoubt, and JetStreamError when
    nothing is recorded."""
    appends = [
        (names.course_subject(recorded.flow), state_to_bytes(state), recorded.revision)
        for recorded, state in changes.items()
    ]
    try:
        numbers = await jetstream.append_all(connection, appends)
    except jetstream.JetStreamError as error:
        if error.code != jetstream.WRONG_LAST_SEQUENCE:
            raise
        raise RecordsInDoubt(f"{STREAM} was written by another agent: {error}") from error
    except Retryable as error:
        raise RecordsInDoubt(str(error)) from error
    for (recorded, state), number in zip(changes.items(), numbers, strict=True):
        recorded.state, recorded.revision = state, number


def state_to_bytes(state: FlowState) -> bytes:
    """Return what a record holds."""
    going = state.going
    return json.dumps(
        {
            "stays": course_to_list(state.course),
            "moves": state.moves,
            "going": None if going is None else {"to": going.target, "move": going.move},
            "keep_s": state.keep_s,
        }
    ).encode()


def state_from_bytes(data: bytes) -> FlowState:
    """Read a record. Raises ValueError for what is none."""
    try:
        plain: Any = json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    match plain:
        case {"stays": list(rows), "moves": int(moves), "going": going, "keep_s": int(keep_s)}:
            course = course_from_list(rows)
            if not _is_course(course) or moves < moves_of(course):
                raise ValueError("its stays do not follow each other")
            return FlowState(course, moves, _going(going), keep_s)
    raise ValueError("it does not say where a flow is")


def _is_course(course: Course) -> bool:
    return all(
        before.last is not None and before.move < after.move for before, after in pairwise(course)
    )


def _going(plain: Any) -> Going | None:
    match plain:
        case None:
            return None
        case {"to": None, "move": int(move)}:
            return Going(None, move)
        case {"to": [int(group), int(stream)], "move": int(move)}:
            return Going(Place(group, stream), move)
    raise ValueError("it does not say where a flow goes")


def _recorded(flow: str, frame: wire.Frame) -> Recorded:
    revision = int(wire.header_value(frame[2], b"Nats-Sequence"))
    try:
        return Recorded(flow, state_from_bytes(frame[3]), revision)
    except ValueError as error:
        return Recorded(flow, revision=revision, problem=str(error))
