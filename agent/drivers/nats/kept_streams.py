"""Keep reliable mapped flows on JetStream streams at our own server, one stream for each place.

What is published to a flow's delivery is appended to the stream of its place, too, each message
once (`kept_appending`). Which place that is, is recorded at the broker, on the disk that has the
messages (`course_records`): documents only say where a flow shall go, and `kept_moving` brings it
there. Where no reliable flow is mapped or recorded nothing is made.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agent.drivers.base import DriverError, Fenced, Message, Retryable
from agent.drivers.nats import course_records, jetstream, names, streams
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.course_records import Recorded, RecordsInDoubt
from agent.drivers.nats.kept_appending import KeptAppending, KeptFlow, SubjectOf, server_id
from agent.drivers.nats.kept_moving import COMPLETE_S, RETRY_S, TOGETHER, KeptMoving
from agent.drivers.nats.readers_questions import ReadersQuestions
from agent.drivers.nats.session import Session
from agent.tasks import Watched
from weir.coordination.wire import KEEP_S as DEFAULT_KEEP_S
from weir.coordination.wire import HandOver, StreamPlace
from weir_client import subjects
from weir_client.frames import Place
from weir_client.keeping import Course

log = logging.getLogger(__name__)

MOST_PROBLEMS = 20


class KeptStreams:
    """The kept streams at one server. Call `start` once its session is open."""

    def __init__(
        self,
        session: Session,
        *,
        changing: asyncio.Lock,
        allowed: Callable[[], Awaitable[None]],
    ) -> None:
        """Take `changing`, the lock for changes of streams' settings, and `allowed`, which raises
        Fenced when a newer agent acts."""
        self._session = session
        self._changing = changing
        self._allowed = allowed
        self._appending = KeptAppending(session, allowed=allowed, missing=self.stream_is_missing)
        self._flows = self._appending.flows
        self._wanted: dict[str, Place] = {}
        """Flow -> where the document wants it."""
        self._is_mapped = False
        self._keep_s = 0
        self._ensured: dict[Place, int] = {}
        """Stream -> how long it keeps messages, as far as is known since the records were read."""
        self._missing: set[Place] = set()
        """Streams that somebody did not find."""
        self._unrecorded: list[Recorded] = []
        """Flows whose records were deleted."""
        self._changed = asyncio.Event()
        self._making = asyncio.Lock()
        """This lock is held while somebody makes sure of streams."""
        self._problems: Sequence[str] = ()
        self._logged: Sequence[str] = ()
        self.tasks = Watched()
        self._moving = KeptMoving(
            self._appending,
            self.tasks,
            allowed=allowed,
            prepare=self._prepare,
            changed=self._changed.set,
        )
        self._is_started = False
        self._readers = ReadersQuestions(session, self._course, self.stream_is_missing)

    def start(self) -> None:
        """Begin to hand over and to answer; idempotent."""
        if not self._is_started:
            self._is_started = True
            self.tasks.start(self._run(), "kept streams")
            self._readers.start(self.tasks)

    async def close(self) -> None:
        """Stop; what is not complete is completed by the next life."""
        await self.tasks.close()
        await self._moving.end()
        await self._appending.close()
        self._is_started = False

    # --- what drivers use

    def map_to(self, places: Mapping[str, StreamPlace], keep_s: int) -> None:
        """Keep these flows, and no others, on these streams, and messages for so many seconds."""
        self._wanted = {flow: Place(at.group, at.stream) for flow, at in places.items()}
        self._keep_s = keep_s or self._keep_s
        self._is_mapped = True
        if self._appending.loaded.is_set():
            self._take_goals()

    def may_hold(self, flow: str) -> bool:
        """Return whether messages of a flow have to be appended here, too. Where nothing reliable
        was ever mapped, that is no flow once it is known that there are no records."""
        loaded = self._appending.loaded.is_set()
        return self._is_started and (flow in self._flows or not loaded)

    async def append(self, flow: str, messages: Sequence[Message], subject: SubjectOf) -> None:
        """Append messages of a flow to its stream; see `KeptAppending.append`."""
        await self._appending.append(flow, messages, subject)

    def stream_is_missing(self, place: Place) -> None:
        """Look whether a stream is there, and have its flows come to it anew if it is not."""
        self._missing.add(place)
        self._changed.set()

    @property
    def problems(self) -> tuple[str, ...]:
        """Return a sentence for each thing that stands still now."""
        waiting = [*self._problems, *self._moving.problems]
        if (more := len(waiting) - MOST_PROBLEMS) > 0:
            waiting[MOST_PROBLEMS:] = [f"{more} more reliable flows or streams wait"]
        return (*waiting, *self._appending.problems)

    def observed(self) -> dict[str, HandOver]:
        """Return the last hand-over of each flow that is on its way, or has been lately."""
        return self._moving.observed(self._wanted) if self._is_mapped else {}

    def places(self, flows: Iterable[str]) -> dict[str, tuple[Place, ...]]:
        """Return the streams of those of the flows that are kept."""
        known = {flow: self._flows[flow].place for flow in flows if flow in self._flows}
        return {flow: (place,) for flow, place in known.items() if place is not None}

    async def _course(self, name: str) -> Course | None:
        """Return a flow's course; None while it is on its way, or not known."""
        await self._appending.loaded.wait()
        flow = self._flows.get(name)
        if flow is None:
            return ()
        if flow.is_going or flow.is_astray or flow.recorded.problem:
            return None
        return flow.recorded.state.course

    # --- what has to be done

    def _take_goals(self) -> None:
        for name in self._wanted.keys() - self._flows.keys():
            self._flows[name] = KeptFlow(name, Recorded(name))
        for name, flow in self._flows.items():
            flow.goal, flow.is_wanted = self._wanted.get(name), name in self._wanted
            self._moving.note_due(flow)
            self._appending.give(flow)
        self._moving.hurry()
        self._changed.set()

    async def _run(self) -> None:
        while True:
            connection = await self._session.connection()
            self._changed.clear()
            problems: list[str] = []
            pause_s = None
            try:
                if server_id(connection) != self._appending.server:
                    self._appending.forget()
                    await self._moving.end()
                    await self._load(connection)
                problems += await self._look_after_streams(connection)
                # What is readable now is begun with at once: a hand-over that such a record says to
                # have begun keeps its streams before another one gets them.
                problems += await self._read_again(connection)
                pause_s = self._moving.begin(connection, self._keep_s or DEFAULT_KEEP_S)
            except (DriverError, ValueError) as error:
                problems = [f"reliable flows do not follow the map: {error}"]
            if problems:
                again_s = RETRY_S if self._appending.loaded.is_set() else COMPLETE_S
                pause_s = again_s if pause_s is None else min(pause_s, again_s)
            self._problems = problems
            self._log()
            connection.on_lost(self._changed.set)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._changed.wait()
            connection.forget(self._changed.set)

    def _log(self) -> None:
        problems = self.problems
        for problem in problems:
            if problem not in self._logged:
                log.warning("%s", problem)
        self._logged = problems

    async def _load(self, connection: Connection) -> None:
        """Read where every flow is, and what was begun. Nothing is created, so that a full disk
        holds up no flow that is not mapped."""
        self._appending.forget()
        await self._appending.end_writers()
        self._ensured.clear()
        self._missing.clear()
        self._unrecorded.clear()
        recorded = await course_records.read_all(connection)
        for name in recorded.keys() - self._flows.keys():
            self._flows[name] = KeptFlow(name, recorded[name])
        for name, flow in self._flows.items():
            former = flow.place or (flow.way[1] if flow.is_held else None)
            flow.recorded = recorded.get(name) or Recorded(name)
            flow.is_astray = former is not None and flow.place is None
            flow.goal = flow.place or former
            self._keep_s = self._keep_s or flow.recorded.state.keep_s
        if self._is_mapped:
            self._take_goals()
        self._appending.go_on(server_id(connection))

    async def _read_again(self, connection: Connection) -> list[str]:
        """Read again the records that could not be read, and return why they cannot be now."""
        unread = [flow for flow in self._flows.values() if flow.recorded.problem]
        read: list[tuple[KeptFlow, Recorded]] = []
        for flow in unread[:TOGETHER]:
            try:
                read.append((flow, await course_records.read(connection, flow.name)))
            except DriverError as error:
                _check_alive(connection, error)
        for flow, recorded in read:
            flow.recorded = recorded
            if not recorded.problem:
                flow.goal = self._wanted.get(flow.name) if self._is_mapped else flow.place
                flow.is_astray = flow.place is None and flow.goal is not None
                self._appending.give(flow)
                # The stream that it is on is looked after in the next turn.
                self._changed.set()
        return [_unreadable(flow) for flow in unread if flow.recorded.problem]

    # --- streams

    async def _look_after_streams(self, connection: Connection) -> list[str]:
        """Ensure the streams that flows are on, and return why some are not there."""
        # Hand-overs that are under way make sure of their streams.
        busy = self._moving.busy
        missing, self._missing = self._missing - busy, self._missing & busy
        used = {flow.place for flow in self._flows.values() if flow.place is not None}
        for place in missing - used:
            await self._appending.end_writer(place)
        late = missing & used
        steps: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        if self._is_mapped and (self._wanted or used):
            keep_s = self._keep_s or DEFAULT_KEEP_S
            late |= {place for place in used - busy if self._ensured.get(place) != keep_s}
            readers = streams.readers_config()
            steps = [
                (names.COURSES_STREAM, partial(self._ensure_courses, connection)),
                (subjects.READERS_STREAM, partial(self._make, connection, readers)),
            ]
        steps += [(subjects.kept_stream(at), partial(self._ensure, connection, at)) for at in late]
        problems = []
        for stream, step in steps:
            try:
                await self._make_sure(stream, step)
            except RecordsInDoubt:
                raise
            except DriverError as error:
                _check_alive(connection, error)
                problems.append(str(error))
        return problems

    async def _prepare(self, connection: Connection, places: Iterable[Place]) -> None:
        """Make sure of the records and of the streams of a hand-over. Raises DriverError."""
        await self._make_sure(names.COURSES_STREAM, partial(self._ensure_courses, connection))
        for place in places:
            await self._make_sure(
                subjects.kept_stream(place), partial(self._ensure, connection, place)
            )

    async def _make_sure(self, stream: str, step: Callable[[], Awaitable[None]]) -> None:
        """Take a step of which a stream is as it shall be. Raises DriverError that names it."""
        try:
            async with self._making:
                await step()
        except (RecordsInDoubt, Fenced):
            raise
        except DriverError as error:
            raise Retryable(
                f"the stream {stream} cannot be made as it shall be: {error}"
            ) from error

    async def _ensure(self, connection: Connection, place: Place) -> None:
        """Make a stream, or change it to what it shall be. Raises DriverError."""
        keep_s = self._keep_s or DEFAULT_KEEP_S
        if await jetstream.stream_state(connection, subjects.kept_stream(place)) is None:
            await self._lead_astray(place)
        await self._make(connection, streams.kept_config(place, keep_s, time.time()))
        self._ensured[place] = keep_s

    async def _lead_astray(self, place: Place) -> None:
        """Have the flows of a stream that is missing come to it anew, before anything is appended
        to the next one of its name."""
        flows = [flow for flow in self._flows.values() if flow.place == place and not flow.is_going]
        for flow in flows:
            flow.is_astray = True
        await self._appending.end_writer(place)
        for flow in flows:
            state = flow.recorded.state
            stays = tuple(stay for stay in state.course if stay.place != place)
            flow.recorded.state = replace(state, course=stays)
            self._moving.note_due(flow)
        if flows:
            stream = subjects.kept_stream(place)
            log.error("the stream %s was deleted with its messages; making it again", stream)

    async def _ensure_courses(self, connection: Connection) -> None:
        """Make the stream of the records, and write them again where somebody deleted it: what is
        known here is of this process of the server, so of its disk. Raises DriverError."""
        if await jetstream.stream_state(connection, names.COURSES_STREAM) is None:
            every = (flow.recorded for flow in self._flows.values())
            self._unrecorded = [each for each in every if each.revision]
            for each in self._unrecorded:
                each.revision = 0
        await self._make(connection, streams.courses_config(time.time()))
        while some := self._unrecorded[:TOGETHER]:
            readable = {each: each.state for each in some if not each.problem}
            if readable:
                await self._appending.recording(course_records.write(connection, readable))
            del self._unrecorded[:TOGETHER]

    async def _make(self, connection: Connection, config: dict[str, Any]) -> None:
        async with self._changing:
            await jetstream.ensure_stream(connection, config)


def _check_alive(connection: Connection, error: Exception) -> None:
    """Raise the error where the reason is the connection, so that nothing else can be done."""
    if not connection.alive:
        raise error


def _unreadable(flow: KeptFlow) -> str:
    return (
        f"the record of where the reliable flow {flow.name} is cannot be read "
        f"({flow.recorded.problem}), so its messages wait: purge the subject "
        f"{names.course_subject(flow.name)} from the stream {names.COURSES_STREAM}, and the flow "
        f"begins anew"
    )
