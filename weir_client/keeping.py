"""What is kept of reliable flows beside their messages: signals in streams, and flows' courses.

A stay is the time that a flow spends on one stream. It begins with First and ends with Last, both
signals in the stream itself, among the messages:

| signal | on | says |
|---|---|---|
| `FIRST` | the new stream, before the flow's first message there | where it comes from |
| `LAST` | the old stream, after the flow's last one there | where it goes, and First's number |

Moves are counted by flow. A flow that leaves the map says Last with a number of its own, and no
stream to go to; it comes back with First, and no stream that it comes from.

A reader has no rights to the streams themselves: the agent does for it what it requests on
`weir.read.R`, each a line of JSON, with a record behind it where there is one.

| `do` | with | the answer, if no `error` |
|---|---|---|
| `record` | | `revision` (0: there is none), `life`, and the record behind the line |
| `keep` | `life`, the `revision` before, and the record behind the line | `revision` |
| `open` | `life`, `place`, `lane`, `generation`, `start`, `deliver` | `last`: its last number |
| `acknowledge` | `streams`: a list of `[group, stream, lane, generation, number, count]` | `kept` |
| `acknowledged` | `place`, `lane`, `generation` | `number`; 0 where that consumer is gone |
| `remove` | `place`, `lane`, `generation` | |

`open` replaces both consumers that the reader has in a stream by one that sends what it holds from
`start` on to `deliver`. It is refused (`SUPERSEDED`) unless the record is of this life, and where
there is no such stream (`MISSING`). `count` counts what a consumer has sent; `kept` says for each
stream whether the broker knows it now.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from weir_client.frames import Place

SUPERSEDED = "superseded"
"""The record is of another life of the reader, or of none."""
MISSING = "missing"
"""There is no such stream now."""
CONFLICT = "conflict"
"""The record has another revision by now."""
MALFORMED = "malformed"
"""This is no request."""
MOST_ACKNOWLEDGED = 50
"""Streams in one `acknowledge`."""
MOST_LINE = 8_192
"""The bytes of a request without its record."""
ENVELOPE = 4_096
"""The room that a message needs beside a record."""


class Kind(StrEnum):
    """What a signal says."""

    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Signal:
    """One end of a stay."""

    kind: Kind
    move: int
    other: Place | None
    """`FIRST`: where the flow comes from; `LAST`: where it goes; None: nowhere."""
    number: int = 0
    """`LAST`: the number of First in the stream that the flow goes to."""


@dataclass(frozen=True, slots=True)
class Stay:
    """A stay of a flow on a stream."""

    move: int
    """The move by which it came."""
    place: Place
    first: int
    """The number of First in the stream."""
    last: int | None = None
    """The number of Last; None while the flow is there."""


Course = tuple[Stay, ...]
"""The stays of a flow, oldest first; those that retention has removed are left out in the end."""


@dataclass(frozen=True, slots=True)
class Courses:
    """The answer to a question about flows."""

    flows: Mapping[str, Course]
    """Flows that are on their way are absent: ask again. Those that never were on a stream here
    have no stay."""
    bounds: Mapping[Place, tuple[int, int]]
    """Of each stream that the courses name: the first number that it holds, and the last one that
    it has given."""


def moves_of(course: Course) -> int:
    """Return how many moves a flow has made."""
    return course[-1].move + (course[-1].last is not None) if course else 0


def is_there(course: Course) -> bool:
    """Return whether a flow is on a stream now."""
    return bool(course) and course[-1].last is None


def signal_to_bytes(signal: Signal) -> bytes:
    """Return what a signal's message holds."""
    return json.dumps([signal.kind, signal.move, signal.other, signal.number]).encode()


def signal_from_bytes(data: bytes) -> Signal:
    """Read a signal. Raises ValueError for what is none."""
    match _json(data):
        case [str(kind), int(move), None | [int(), int()] as other, int(number)]:
            return Signal(Kind(kind), move, None if other is None else Place(*other), number)
    raise ValueError(f"no signal: {data[:80]!r}")


def course_to_list(course: Iterable[Stay]) -> list[list[int | None]]:
    """Return a course as JSON has it."""
    return [[s.move, s.place.group, s.place.stream, s.first, s.last] for s in course]


def course_from_list(rows: Any) -> Course:
    """Read a course. Raises ValueError for what is none."""
    stays = []
    for row in rows:
        match row:
            case [int(move), int(group), int(stream), int(first), None | int() as last]:
                stays.append(Stay(move, Place(group, stream), first, last))
            case _:
                raise ValueError(f"no stay: {row!r}")
    return tuple(stays)


def courses_to_bytes(courses: Courses) -> bytes:
    """Return an answer as it is sent."""
    flows = {flow: course_to_list(course) for flow, course in courses.flows.items()}
    bounds = [[*place, *bound] for place, bound in courses.bounds.items()]
    return json.dumps({"flows": flows, "streams": bounds}).encode()


def courses_from_bytes(data: bytes) -> Courses:
    """Read an answer. Raises ValueError for what is none."""
    match _json(data):
        case {"flows": dict(flows), "streams": list(bounds)}:
            try:
                return Courses(
                    {str(flow): course_from_list(rows) for flow, rows in flows.items()},
                    {Place(int(g), int(s)): (int(a), int(b)) for g, s, a, b in bounds},
                )
            except TypeError as error:
                raise ValueError(f"no courses: {error}") from error
    raise ValueError(f"no courses: {data[:80]!r}")


def lined(line: Mapping[str, Any], record: bytes = b"") -> bytes:
    """Return a request of a reader, or the answer to one."""
    return json.dumps(line).encode() + b"\n" + record


def line_and_record(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Read a request or an answer. Raises ValueError for what is none."""
    line, _, record = data.partition(b"\n")
    if len(line) > MOST_LINE:
        raise ValueError(f"a line of {len(line)} bytes")
    match _json(line):
        case dict(fields):
            return fields, record
    raise ValueError(f"no line of JSON: {line[:80]!r}")


def _json(data: bytes) -> object:
    try:
        value: object = json.loads(data)
    except RecursionError as error:
        raise ValueError("not readable") from error
    return value
