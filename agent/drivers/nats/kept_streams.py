"""Keep reliable mapped flows on JetStream streams at our own server, one stream for each place.

What is published to a flow's delivery is appended to the stream of its place, too, each message
once (`kept_appending`). Which place that is, is recorded at the broker, on the disk that has the
messages (`course_records`): documents only say where a flow shall go, and `kept_hand_over` moves it
there.

**Held up is only who has to be.** The streams of a hand-over are made before anything of it is
recorded. Where that fails, its flows go on being appended to where they are, and other hand-overs
go on.

**One hand-over at a time.** A reader waits at First on S2 until it has read Last on S1. Were First
of another flow appended to S1 in between, whose Last follows on S2, both streams would wait for
each other. So what has begun is completed first. Flows that go from one stream to the same other
one may go together: then nothing is appended to S1 but Lasts.
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

from agent.drivers.base import DriverError, Message, Retryable
from agent.drivers.nats import course_records, jetstream, names, streams
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.course_records import Recorded, RecordsInDoubt
from agent.drivers.nats.kept_appending import KeptAppending, KeptFlow, SubjectOf, Way, server_id
from agent.drivers.nats.kept_hand_over import hand_over
from agent.drivers.nats.readers_questions import ReadersQuestions
from agent.drivers.nats.session import Session
from agent.mapped_flows import KEEP_S, MOST_KEPT
from agent.tasks import Watched
from weir.coordination.wire import KEEP_S as DEFAULT_KEEP_S
from weir.coordination.wire import HandOver, HandOverPhase, StreamPlace
from weir_client import subjects
from weir_client.frames import Place
from weir_client.keeping import Course

log = logging.getLogger(__name__)

TOGETHER = 200
"""The flows of one hand-over: they wait for each other."""
DRAIN_S = 2.0
"""How long a hand-over waits for messages that the stream of its flows does not hold yet."""
RETRY_S = 1.0
"""The pause before what could not begin is tried again."""
COMPLETE_S = 0.2
"""The pause before what has begun is tried again, and before records are read again."""
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
        self._began: dict[str, float] = {}
        """Flow on its way -> since when, in Unix seconds."""
        self._moved: dict[str, HandOver] = {}
        self._problems: Sequence[str] = ()
        self.tasks = Watched()
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
        return (*self._problems, *self._appending.problems)

    def observed(self) -> dict[str, HandOver]:
        """Return the last hand-over of each flow that is on its way, or has been lately. One that
        comes to the map or leaves it is shown while that is under way, as if from where it goes."""
        if not self._is_mapped:
            return {}
        now = time.time()
        for flow, entry in list(self._moved.items()):
            if entry.began_at + (entry.took_s or 0) < now - KEEP_S or len(self._moved) > MOST_KEPT:
                del self._moved[flow]
        ways = {name: (*flow.way, flow.goal) for name, flow in self._flows.items() if flow.is_due}
        if not self._appending.loaded.is_set():
            ways |= {flow: (None, goal, goal) for flow, goal in self._wanted.items()}
        entries = dict(self._moved)
        for name, (source, target, goal) in ways.items():
            begin, end = source or target or goal, target or source or goal
            if begin is not None and end is not None:
                entries[name] = HandOver(
                    source=_stream_place(begin),
                    target=_stream_place(end),
                    phase=HandOverPhase.PREPARING,
                    began_at=round(self._began.setdefault(name, now), 3),
                    next=None if goal in (None, target) else _stream_place(goal),
                )
        return entries

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
        now = time.time()
        for name, flow in self._flows.items():
            flow.goal, flow.is_wanted = self._wanted.get(name), name in self._wanted
            if flow.is_due:
                self._began.setdefault(name, now)
            self._appending.give(flow)
        self._changed.set()

    async def _run(self) -> None:
        while True:
            connection = await self._session.connection()
            self._changed.clear()
            try:
                if server_id(connection) != self._appending.server:
                    await self._load(connection)
                problems = await self._follow_the_map(connection)
            except (DriverError, ValueError) as error:
                problems = [f"reliable flows do not follow the map: {error}"]
            self._show(problems)
            has_begun = any(flow.is_going for flow in self._flows.values())
            is_urgent = has_begun or not self._appending.loaded.is_set()
            pause_s = COMPLETE_S if is_urgent else RETRY_S
            connection.on_lost(self._changed.set)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s if problems else None):
                    await self._changed.wait()
            connection.forget(self._changed.set)

    def _show(self, problems: Sequence[str]) -> None:
        if (more := len(problems) - MOST_PROBLEMS) > 0:
            problems = [*problems[:MOST_PROBLEMS], f"{more} more reliable flows or streams wait"]
        for problem in problems:
            if problem not in self._problems:
                log.warning("%s", problem)
        self._problems = problems

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

    async def _follow_the_map(self, connection: Connection) -> list[str]:
        """Hand over what has to be, and return what cannot be done now. Raises DriverError."""
        problems = await self._read_again(connection)
        problems += await self._look_after_streams(connection)
        flows = [flow for flow in self._flows.values() if flow.is_going]
        for way, group in _by_way(flows):
            problems += await self._hand_over_all(connection, way, group)
        failed: set[Way] = set()
        while not any(flow.is_going for flow in flows):
            flows = [
                flow
                for flow in self._flows.values()
                if flow.is_due and flow.way not in failed and not flow.recorded.problem
            ]
            if not flows:
                break
            for way, group in _by_way(flows):
                if more := await self._hand_over_all(connection, way, group):
                    problems += more
                    failed.add(way)
                if any(flow.is_going for flow in group):
                    break
        return problems

    async def _read_again(self, connection: Connection) -> list[str]:
        """Read again the records that could not be read, and return why they cannot be now."""
        unread = [flow for flow in self._flows.values() if flow.recorded.problem]
        for flow in unread[:TOGETHER]:
            try:
                flow.recorded = await course_records.read(connection, flow.name)
            except DriverError as error:
                _check_alive(connection, error)
            if not flow.recorded.problem:
                flow.goal = self._wanted.get(flow.name) if self._is_mapped else flow.place
                flow.is_astray = flow.place is None and flow.goal is not None
                self._appending.give(flow)
        return [_unreadable(flow) for flow in unread if flow.recorded.problem]

    # --- streams

    async def _look_after_streams(self, connection: Connection) -> list[str]:
        """Ensure the streams that flows are on, and return why some are not there."""
        missing, self._missing = self._missing, set()
        used = {flow.place for flow in self._flows.values() if flow.place is not None}
        for place in missing - used:
            await self._appending.end_writer(place)
        late = missing & used
        steps: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        if self._is_mapped and (self._wanted or used):
            keep_s = self._keep_s or DEFAULT_KEEP_S
            late |= {place for place in used if self._ensured.get(place) != keep_s}
            readers = streams.readers_config()
            steps = [
                (names.COURSES_STREAM, partial(self._ensure_courses, connection)),
                (subjects.READERS_STREAM, partial(self._make, connection, readers)),
            ]
        steps += [(subjects.kept_stream(at), partial(self._ensure, connection, at)) for at in late]
        problems = []
        for stream, step in steps:
            try:
                await step()
            except RecordsInDoubt:
                raise
            except DriverError as error:
                _check_alive(connection, error)
                problems.append(f"the stream {stream} cannot be made as it shall be: {error}")
        return problems

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
            self._began.setdefault(flow.name, time.time())
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
                await self._recording(course_records.write(connection, readable))
            del self._unrecorded[:TOGETHER]

    async def _make(self, connection: Connection, config: dict[str, Any]) -> None:
        async with self._changing:
            await jetstream.ensure_stream(connection, config)

    # --- hand-overs

    async def _hand_over_all(
        self, connection: Connection, way: Way, flows: Sequence[KeptFlow]
    ) -> list[str]:
        """Hand over flows that go this way, and return why that is not done. Raises DriverError
        where nothing at all can be done now."""
        for start in range(0, len(flows), TOGETHER):
            try:
                await self._hand_over(connection, way, flows[start : start + TOGETHER])
            except RecordsInDoubt:
                raise
            except (DriverError, ValueError) as error:
                _check_alive(connection, error)
                late = flows[start:]
                every = ", ".join(sorted(flow.name for flow in late)[:5])
                if any(flow.is_going or flow.is_astray for flow in late):
                    what = "wait to be handed over between streams"
                else:
                    what = "stay where they are, as they cannot be handed over between streams"
                return [f"reliable flows {what}, {len(late)} in all ({every}): {error}"]
        return []

    async def _hand_over(self, connection: Connection, way: Way, flows: Sequence[KeptFlow]) -> None:
        """Hand over flows that go this way, unless documents have come meanwhile."""
        await self._allowed()
        await self._ensure_courses(connection)
        for place in way:
            if place is not None:
                await self._ensure(connection, place)
        for flow in flows:
            flow.is_paused = True
        try:
            await self._drain(flows)
            if group := [flow for flow in flows if flow.is_due and flow.way == way]:
                await self._write(connection, way, group)
                self._note_moved(way, group)
        finally:
            for flow in flows:
                flow.is_paused = False
                self._appending.give(flow)

    async def _drain(self, flows: Sequence[KeptFlow]) -> None:
        """Wait until streams hold all messages of flows that are paused. Raises Retryable."""
        jobs = [each.job for flow in flows for each in flow.given if each.job is not None]
        if jobs and (await asyncio.wait(jobs, timeout=DRAIN_S))[1]:
            raise Retryable("the stream that they are on takes nothing")

    async def _write(self, connection: Connection, way: Way, group: Sequence[KeptFlow]) -> None:
        source, target = way
        recorded = [flow.recorded for flow in group]
        keep_s = self._keep_s or DEFAULT_KEEP_S
        writer = self._appending.writer
        try:
            await self._recording(
                hand_over(connection, recorded, source, target, writer=writer, keep_s=keep_s)
            )
        except (DriverError, ValueError):
            for place in way:
                if place is not None:
                    # The next attempt gives its signals again: these must not pile up.
                    await self._appending.end_writer(place)
            raise

    async def _recording(self, writing: Awaitable[None]) -> None:
        """Write records; where it is not known what they are, everything waits until they are read
        again."""
        try:
            await writing
        except RecordsInDoubt:
            self._appending.forget()
            raise

    def _note_moved(self, way: Way, group: Sequence[KeptFlow]) -> None:
        source, target = way
        now = time.time()
        for flow in group:
            flow.is_astray = False
            began = self._began.pop(flow.name, now)
            if flow.is_due:
                self._began[flow.name] = now
            if source is not None and target is not None:
                self._moved.pop(flow.name, None)
                self._moved[flow.name] = HandOver(
                    source=_stream_place(source),
                    target=_stream_place(target),
                    phase=HandOverPhase.DONE,
                    began_at=round(began, 3),
                    took_s=max(0.0, now - began),
                )


def _by_way(flows: Sequence[KeptFlow]) -> list[tuple[Way, list[KeptFlow]]]:
    """Return flows, those together that go the same way."""
    ways: dict[Way, list[KeptFlow]] = {}
    for flow in flows:
        ways.setdefault(flow.way, []).append(flow)
    return list(ways.items())


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


def _stream_place(place: Place) -> StreamPlace:
    return StreamPlace(group=place.group, stream=place.stream)
