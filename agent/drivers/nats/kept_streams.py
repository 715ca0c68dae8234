"""Keep reliable mapped flows on JetStream streams at our own server, one stream for each place.

What is published to a flow's delivery is appended to the stream of its place, too, each message
once. Which place that is, is recorded at the broker, on the disk that has the messages: documents
only say where a flow shall go. A hand-over from S1 to S2 is

0. a record of what is about to be done;
1. on S2 the memory of S1 (for each origin the position of its last message, so that a message that
   S1 has is not stored here again when it is repeated after a crash), and First;
2. on S1 Last, which names S2 and First's number there;
3. a record of where the flow is.

Nothing else is appended for the flow meanwhile. A crash in between is repaired by doing all of it
again, before anything else: signals carry the number of the move, and who has read one skips its
double.

**One hand-over at a time.** A reader waits at First on S2 until it has read Last on S1. Were First
of another flow appended to S1 in between, whose Last follows on S2, both streams would wait for
each other. Flows that go from one stream to the same other one may go together: then nothing is
appended to S1 but Lasts.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.drivers.base import DriverError, Message, Retryable
from agent.drivers.nats import jetstream, names, streams, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.readers_questions import ReadersQuestions, bounds_of, is_gone
from agent.drivers.nats.session import Session
from agent.drivers.nats.stream_writer import POSITION, Outgoing, StreamWriter, position_of
from agent.drivers.nats.system_account import nanoseconds
from agent.mapped_flows import KEEP_S, MOST_KEPT
from agent.tasks import Watched
from weir.coordination.wire import KEEP_S as DEFAULT_KEEP_S
from weir.coordination.wire import HandOver, HandOverPhase, StreamPlace, token
from weir_client import subjects
from weir_client.frames import Place
from weir_client.keeping import (
    Course,
    Kind,
    Signal,
    Stay,
    course_from_list,
    course_to_list,
    is_there,
    moves_of,
    signal_to_bytes,
)

log = logging.getLogger(__name__)

MEMORY = b"Weir-Memory"
"""The header of messages that only say up to which position an origin is known."""
TOGETHER = 200
"""The flows of one hand-over: they wait for each other."""
MOST_STAYS = 800
"""The stays that a course names, so that its record is a message that every broker takes."""
RETRY_S = 0.2


@dataclass(slots=True, eq=False)
class _Flow:
    """A flow that is or was on a stream here."""

    name: str
    course: Course = ()
    is_going: bool = False
    """Whether a hand-over is recorded that may not be complete."""
    going_to: Place | None = None
    goal: Place | None = None
    """Where the document wants it; None: nowhere."""
    queue: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the messages that are next."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while messages are given to a writer, and during a hand-over."""
    appending: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def place(self) -> Place | None:
        """Return the stream that its messages go to."""
        return self.course[-1].place if is_there(self.course) else None

    @property
    def is_due(self) -> bool:
        """Return whether it has to be handed over."""
        return self.is_going or self.place != self.goal


class KeptStreams:
    """The kept streams at one server. Call `start` once its session is open."""

    def __init__(
        self,
        session: Session,
        *,
        writer: Callable[[str], StreamWriter],
        owned: jetstream.Owned,
        changing: asyncio.Lock,
        allowed: Callable[[], Awaitable[None]],
    ) -> None:
        """Take `changing`, the lock for changes of streams' settings, and `allowed`, which raises
        Fenced when a newer agent acts."""
        self._session = session
        self._writer = writer
        self._owned = owned
        self._changing = changing
        self._allowed = allowed
        self._flows: dict[str, _Flow] = {}
        self._loaded = asyncio.Event()
        self._wanted: dict[str, Place] = {}
        """Flow -> where the document wants it."""
        self._is_mapped = False
        self._keep_s = 0
        self._ensured: dict[Place, int] = {}
        """Stream -> how long it keeps messages, as far as this life has made sure."""
        self._changed = asyncio.Event()
        self._began: dict[str, float] = {}
        """Flow on its way -> since when, in Unix seconds."""
        self._moved: dict[str, HandOver] = {}
        self.problem = ""
        """Why a hand-over does not come to its end; empty while they do."""
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
        self._is_started = False

    # --- what drivers use

    def map_to(self, places: Mapping[str, StreamPlace], keep_s: int) -> None:
        """Keep these flows, and no others, on these streams, and messages for so many seconds."""
        self._wanted = {flow: Place(at.group, at.stream) for flow, at in places.items()}
        self._keep_s = keep_s or self._keep_s
        self._is_mapped = True
        self._take_goals()

    async def append(
        self, flow: str, messages: Sequence[Message], subject: Callable[[str, Message], bytes]
    ) -> None:
        """Append messages of a flow to its stream; returns when it holds them. Nothing where the
        flow is on none. `subject` adds flow and origin to a prefix."""
        known = self._flows.get(flow)
        if known is None:
            if self._loaded.is_set():
                return
            known = self._flows[flow] = _Flow(flow)
        # Who waits here is not overtaken: a message that comes behind a later one is left out.
        async with known.queue:
            await self._loaded.wait()
            task = await self._begin(known, messages, subject)
        if task is not None:
            await asyncio.shield(task)

    async def _begin(
        self, known: _Flow, messages: Sequence[Message], subject: Callable[[str, Message], bytes]
    ) -> asyncio.Task[None] | None:
        """Give messages to the writer of the flow's stream."""
        async with known.lock:
            place = known.place
            if place is None:
                return None
            prefix = subjects.kept_subject(place)
            outgoing = [
                Outgoing(subject(prefix, m), m.position, m.headers, m.payload) for m in messages
            ]
            writer = self._writer(subjects.kept_stream(place))
            # Cancelling who publishes does not take a message back: hand-overs wait for it.
            task = asyncio.create_task(writer.append(outgoing))
            known.appending.add(task)
            task.add_done_callback(known.appending.discard)
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
            return task

    def observed(self) -> dict[str, HandOver]:
        """Return the last hand-over of each flow that is on its way, or has been lately. One that
        comes to the map or leaves it is shown while that is under way, as if from where it goes."""
        if not self._is_mapped:
            return {}
        now = time.time()
        for flow, entry in list(self._moved.items()):
            if entry.began_at + (entry.took_s or 0) < now - KEEP_S or len(self._moved) > MOST_KEPT:
                del self._moved[flow]
        ways = {name: (*_way(flow), flow.goal) for name, flow in self._flows.items() if flow.is_due}
        if not self._loaded.is_set():
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
        """Return a flow's course; None while the flow is on its way."""
        await self._loaded.wait()
        flow = self._flows.get(name)
        if flow is None:
            return ()
        return None if flow.is_going else flow.course

    def stream_is_missing(self, place: Place) -> None:
        """Have a stream that is not there any more made again."""
        self._ensured.pop(place, None)
        self._changed.set()

    # --- hand-overs

    def _take_goals(self) -> None:
        if not self._loaded.is_set() or not self._is_mapped:
            return
        for flow in self._wanted.keys() - self._flows.keys():
            self._flows[flow] = _Flow(flow)
        for flow, known in self._flows.items():
            known.goal = self._wanted.get(flow)
            if known.is_due:
                self._began.setdefault(flow, time.time())
        self._changed.set()

    async def _run(self) -> None:
        server = ""
        while True:
            try:
                connection = await self._session.connection()
                self._changed.clear()
                if connection.info.get("server_id") != server:
                    # Its disk may be another one. Nothing is appended before what an earlier life
                    # has begun is complete.
                    self._loaded.clear()
                    await self._load(connection)
                    await self._hand_over_all([f for f in self._flows.values() if f.is_going])
                    server = str(connection.info.get("server_id"))
                    self._loaded.set()
                    self._take_goals()
                if self._is_mapped:
                    for config in (streams.courses_config(), streams.readers_config()):
                        await self._make(connection, config)
                    for place in {f.place for f in self._flows.values()}:
                        if place is not None:
                            await self._ensure(connection, place)
                    while due := [f for f in self._flows.values() if f.is_due]:
                        await self._hand_over_all(due)
            except (DriverError, ValueError) as error:
                await self._report(f"reliable flows do not follow the map: {error}")
                continue
            self.problem = ""
            connection.on_lost(self._changed.set)
            await self._changed.wait()
            connection.forget(self._changed.set)

    async def _report(self, problem: str) -> None:
        """Show what went wrong, and wait before the next attempt."""
        if problem != self.problem:
            log.warning("%s", problem)
        self.problem = problem
        await asyncio.sleep(RETRY_S)

    async def _load(self, connection: Connection) -> None:
        """Read where every flow is, and what was begun. Nothing is created, so that a full disk
        holds up no flow that is not mapped."""
        self._ensured.clear()
        prefix = f"{names.COURSES}."
        recorded: set[str] = set()
        for subject in await jetstream.subjects_of(connection, names.COURSES_STREAM, f"{prefix}*"):
            frame = await jetstream.last_of(connection, names.COURSES_STREAM, subject)
            if frame is not None:
                flow = names.name_of(subject.removeprefix(prefix))
                recorded.add(flow)
                self._read(self._flows.setdefault(flow, _Flow(flow)), frame[3])
        for flow in self._flows.keys() - recorded:
            self._flows[flow].course, self._flows[flow].is_going = (), False

    def _read(self, flow: _Flow, payload: bytes) -> None:
        record = json.loads(payload)
        flow.course = course_from_list(record["stays"])
        flow.is_going, flow.going_to = record["is_going"], _place(record["going_to"])
        self._keep_s = self._keep_s or int(record["keep_s"])

    async def _hand_over_all(self, due: Sequence[_Flow]) -> None:
        """Hand flows over, those together that go the same way."""
        ways: dict[tuple[Place | None, Place | None], list[_Flow]] = {}
        for flow in due:
            ways.setdefault(_way(flow), []).append(flow)
        for way, flows in ways.items():
            for start in range(0, len(flows), TOGETHER):
                await self._go_through(way, flows[start : start + TOGETHER])

    async def _go_through(
        self, way: tuple[Place | None, Place | None], group: Sequence[_Flow]
    ) -> None:
        """Hand over flows that go this way, however often that fails."""
        source, target = way
        async with contextlib.AsyncExitStack() as locks:
            for flow in group:
                await locks.enter_async_context(flow.lock)
                while flow.appending:
                    await asyncio.wait(flow.appending)
            # Documents may have come meanwhile.
            group = [flow for flow in group if flow.is_due and _way(flow) == way]
            # Whatever is done of it, no message of these flows may follow before all is done.
            while True:
                try:
                    if group:
                        await self._hand_over(group, source, target)
                    break
                except (DriverError, ValueError) as error:
                    every = ", ".join(sorted(flow.name for flow in group)[:5])
                    await self._report(
                        f"reliable flows wait to be handed over between streams, {len(group)} in "
                        f"all ({every}): {error}"
                    )
        now = time.time()
        for flow in group:
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

    async def _hand_over(
        self, group: Sequence[_Flow], source: Place | None, target: Place | None
    ) -> None:
        connection = await self._session.connection()
        await self._allowed()
        for flow in group:
            flow.is_going, flow.going_to = True, target
        await self._record(connection, {flow: flow.course for flow in group}, is_going=True)
        firsts: dict[str, int] = {}
        lasts: dict[str, int] = {}
        if target is not None:
            await self._ensure(connection, target)
            known = await asyncio.gather(*(self._memory(connection, f, target) for f in group))
            memory = [each for of_flow in known for each in of_flow]
            firsts = await self._signal(
                connection, target, {f: Signal(Kind.FIRST, _next(f), source) for f in group}, memory
            )
        if source is not None:
            await self._ensure(connection, source)
            lasts = await self._signal(
                connection,
                source,
                {f: Signal(Kind.LAST, _next(f), target, firsts.get(f.name, 0)) for f in group},
            )
        courses: dict[_Flow, Course] = {}
        bounds: dict[Place, tuple[int, int]] = {}
        for flow in group:
            stays = list(flow.course)
            if source is not None:
                left = stays.pop()
                stays.append(Stay(left.move, left.place, left.first, lasts[flow.name]))
            if target is not None:
                stays.append(Stay(_next(flow), target, firsts[flow.name]))
            while len(stays) > 1:
                oldest = stays[0]
                if oldest.place not in bounds:
                    bounds[oldest.place] = await bounds_of(connection, oldest.place)
                if len(stays) <= MOST_STAYS and not is_gone(oldest, bounds):
                    break
                del stays[0]
            courses[flow] = tuple(stays)
        await self._record(connection, courses, is_going=False)
        for flow, course in courses.items():
            flow.course, flow.is_going, flow.going_to = course, False, None

    async def _record(
        self, connection: Connection, courses: Mapping[_Flow, Course], *, is_going: bool
    ) -> None:
        """Record where flows are; returns once the broker has it."""
        records = {
            flow.name: {
                "stays": course_to_list(course),
                "is_going": is_going,
                "going_to": flow.going_to if is_going else None,
                "keep_s": self._keep_s,
            }
            for flow, course in courses.items()
        }
        appends = (
            jetstream.append(connection, names.course_subject(flow), json.dumps(record).encode())
            for flow, record in records.items()
        )
        await asyncio.gather(*appends)

    async def _signal(
        self,
        connection: Connection,
        place: Place,
        signals: Mapping[_Flow, Signal],
        before: Sequence[Outgoing] = (),
    ) -> dict[str, int]:
        """Append a signal of each flow, `before` first; return their numbers in the stream."""
        prefix, stream = subjects.kept_subject(place), subjects.kept_stream(place)
        every = {f"{prefix}.{token(f.name)}.{subjects.SIGNAL}": f.name for f in signals}
        outgoing = [
            Outgoing(subject.encode(), 0, b"", signal_to_bytes(signal))
            for subject, signal in zip(every, signals.values(), strict=True)
        ]
        await self._writer(stream).append([*before, *outgoing])
        frames = await asyncio.gather(
            *(jetstream.last_of(connection, stream, subject) for subject in every)
        )
        numbers = {}
        for flow, frame in zip(every.values(), frames, strict=True):
            if frame is None:
                raise Retryable(f"{stream}: a signal of {flow} is not there any more")
            numbers[flow] = int(wire.header_value(frame[2], b"Nats-Sequence"))
        return numbers

    async def _memory(self, connection: Connection, flow: _Flow, target: Place) -> list[Outgoing]:
        """Return what makes the next stream of a flow know what the last one holds. An origin that
        was silent for as long as messages are kept is forgotten, as it is everywhere."""
        if not flow.course or flow.course[-1].place == target:
            return []
        former, name = flow.course[-1].place, token(flow.name)
        stream, prefix = subjects.kept_stream(former), subjects.kept_subject(former)
        known = []
        for subject in await jetstream.subjects_of(connection, stream, f"{prefix}.{name}.*"):
            origin = subject.rpartition(".")[2]
            if origin != subjects.SIGNAL:
                frame = await jetstream.last_of(connection, stream, subject)
                if frame is not None and (position := position_of(frame[2])):
                    known.append((origin, position, _stored(frame[2])))
        if not known:
            return []
        now = nanoseconds(await jetstream.time_of_server(connection, stream))
        oldest = now - self._keep_s * jetstream.NANOSECONDS
        return [
            Outgoing(
                f"{subjects.kept_subject(target)}.{name}.{origin}".encode(),
                position,
                b"%b: %d\r\n%b: %d\r\n" % (POSITION, position, MEMORY, stored),
                b"",
                is_memory=True,
            )
            for origin, position, stored in known
            if stored >= oldest
        ]

    async def _ensure(self, connection: Connection, place: Place) -> None:
        keep_s = self._keep_s or DEFAULT_KEEP_S
        if self._ensured.get(place) == keep_s:
            return
        await self._make(connection, streams.kept_config(place, keep_s, time.time()))
        self._ensured[place] = keep_s

    async def _make(self, connection: Connection, config: dict[str, Any]) -> None:
        async with self._changing:
            await jetstream.ensure_stream(connection, config)
        self._owned.note(config)


def _way(flow: _Flow) -> tuple[Place | None, Place | None]:
    return flow.place, flow.going_to if flow.is_going else flow.goal


def _next(flow: _Flow) -> int:
    return moves_of(flow.course) + 1


def _stored(header: bytes) -> int:
    """Return when a message was stored first, in nanoseconds of the server's clock."""
    memory = wire.header_value(header, MEMORY)
    if memory.isdigit():
        return int(memory)
    return nanoseconds(wire.header_value(header, b"Nats-Time-Stamp").decode())


def _place(pair: Any) -> Place | None:
    return None if pair is None else Place(*pair)


def _stream_place(place: Place) -> StreamPlace:
    return StreamPlace(group=place.group, stream=place.stream)
