"""Answer readers of kept streams: on which of those were these flows, and what do they hold?"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from agent.drivers.base import DriverError
from agent.drivers.nats import jetstream, names, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.reader_requests import ReaderRequests, send
from agent.drivers.nats.session import Session
from agent.tasks import Watched
from weir_client import subjects
from weir_client.frames import Place
from weir_client.keeping import Course, Courses, Stay, courses_to_bytes, is_there

log = logging.getLogger(__name__)

MOST_BYTES = 400_000
"""The size of one answer; servers take more than twice as much."""
MOST_FLOWS = 1_000
"""Flows in one question; more are left out of the answer, to be asked for again."""
MOST_WAITING = 1_000
"""Questions that wait; more are left to be asked again."""
_BEYOND = 2**63
"""Above all numbers: the first one of a stream that is not there."""
_GONE = (_BEYOND, 0)
_INBOXES = (
    f"{subjects.INBOX}.".encode(),
    f"{subjects.READER_INBOX}.".encode(),
    names.ACROSS_ACCOUNTS,
)


class ReadersQuestions:
    """The questions and requests of readers at one server."""

    def __init__(
        self,
        session: Session,
        course: Callable[[str], Awaitable[Course | None]],
        missing: Callable[[Place], None],
    ) -> None:
        """Take `course`, which returns that of a flow; None where it cannot be given now, and
        `missing`, which takes a stream that flows are on and that is not there."""
        self._session = session
        self._course = course
        self._missing = missing
        self._questions: asyncio.Queue[tuple[bytes, list[str]]] = asyncio.Queue(MOST_WAITING)
        self._requests = ReaderRequests(session, missing)

    def start(self, tasks: Watched) -> None:
        """Begin to hear and to answer."""
        tasks.start(self._listen(), "questions of readers")
        tasks.start(self._answer(), "answers to readers")
        self._requests.start(tasks)

    async def _listen(self) -> None:
        """Hear questions through every loss of the connection."""
        while True:
            try:
                connection = await self._session.connection()
                sids = [
                    connection.subscribe(subjects.COURSE, self._on_questions),
                    connection.subscribe(f"{subjects.READ}.*", self._requests.take),
                ]
                await connection.lost.wait()
                for sid in sids:
                    connection.unsubscribe(sid)
            except DriverError as error:
                log.debug("questions of readers: %s", error)
            await asyncio.sleep(0.01)

    def _on_questions(self, frames: list[wire.Frame]) -> None:
        for _, reply, _, payload in frames:
            if not reply.startswith(_INBOXES) or len(payload) > MOST_BYTES:
                continue
            try:
                flows = json.loads(payload)
            except (ValueError, RecursionError):
                continue
            if isinstance(flows, list) and not self._questions.full():
                requested = [flow for flow in flows[:MOST_FLOWS] if isinstance(flow, str)]
                self._questions.put_nowait((reply, requested))

    async def _answer(self) -> None:
        while True:
            reply, flows = await self._questions.get()
            try:
                connection = await self._session.connection()
                answer = courses_to_bytes(await self._courses(connection, flows))
                send(connection, reply, answer)
            except DriverError as error:  # whoever asked asks again
                log.debug("a question of a reader: %s", error)

    async def _courses(self, connection: Connection, flows: Sequence[str]) -> Courses:
        """Return the courses of flows, with bounds from before: nothing that a course does not name
        yet has a number up to those. One on its way, and one whose stream is not there now, is left
        out, to be asked for again."""
        bounds: dict[Place, tuple[int, int]] = {}
        while True:
            every: dict[str, Course] = {}
            room = MOST_BYTES
            for name in flows:
                course = await self._course(name)
                if course is None:
                    continue
                room -= 6 * len(name) + 60 * len(course)
                if room < 0:
                    break
                every[name] = course
            missing = {s.place for course in every.values() for s in course} - bounds.keys()
            if not missing:
                gone = {place for place, bound in bounds.items() if bound == _GONE}
                there = {
                    flow: course[-1].place for flow, course in every.items() if is_there(course)
                }
                for place in gone.intersection(there.values()):
                    self._missing(place)
                left = {flow: c for flow, c in every.items() if there.get(flow) not in gone}
                return Courses(left, bounds)
            for place in missing:
                bounds[place] = await bounds_of(connection, place)


async def bounds_of(connection: Connection, place: Place) -> tuple[int, int]:
    """Return the first number that a stream holds, and the last one that it has given."""
    state = await jetstream.stream_state(connection, subjects.kept_stream(place))
    if state is None:
        return _GONE
    return (state.first if state.messages else state.last + 1, state.last)


def is_gone(stay: Stay, bounds: Mapping[Place, tuple[int, int]]) -> bool:
    """Return whether retention has removed all of a stay that has ended."""
    first, _ = bounds.get(stay.place, (0, 0))
    return stay.last is not None and stay.last < first
