"""Hand over reliable flows between kept streams: what goes now, what waits for what.

**Hand-overs of one stream go one after the other.** A reader waits at First on S2 until it has read
Last on S1. Were First of another flow appended to S1 in between, whose Last follows on S2, both
streams would wait for each other. So what has begun keeps its two streams until it is complete.
Flows that go from one stream to the same other one may go together: then nothing is appended to S1
but Lasts. Hand-overs that share no stream do not meet (`weir_client.kept_following` says why that
is enough), so that a stream that takes nothing holds up its own hand-overs alone.

**Held up is only who has to be.** The streams of a hand-over are made before anything of it is
recorded. Where that fails, its flows go on being appended to where they are, and others that want
one of its streams take their turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from agent.drivers.base import DriverError, Retryable
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.course_records import RecordsInDoubt
from agent.drivers.nats.kept_appending import KeptAppending, KeptFlow, Way
from agent.drivers.nats.kept_hand_over import hand_over
from agent.mapped_flows import KEEP_S, MOST_KEPT
from agent.tasks import Watched, end
from weir.coordination.wire import HandOver, HandOverPhase, StreamPlace
from weir_client.frames import Place

TOGETHER = 200
"""The flows of one hand-over: they wait for each other."""
AT_ONCE = 8
"""The hand-overs that are under way at a time; one that cannot go on gives its turn to others."""
DRAIN_S = 2.0
"""How long a hand-over waits for messages that the stream of its flows does not hold yet."""
RETRY_S = 1.0
"""The pause before what could not begin is tried again."""
COMPLETE_S = 0.2
"""The pause before what has begun is tried again, and before records are read again."""


class KeptMoving:
    """The hand-overs at one server."""

    def __init__(
        self,
        appending: KeptAppending,
        tasks: Watched,
        *,
        allowed: Callable[[], Awaitable[None]],
        prepare: Callable[[Connection, Iterable[Place]], Awaitable[None]],
        changed: Callable[[], None],
    ) -> None:
        """Take `allowed`, which raises Fenced when a newer agent acts, `prepare`, which makes sure
        of streams and of records or raises DriverError, and `changed`, which has `begin` called
        again."""
        self._appending = appending
        self._flows = appending.flows
        self._tasks = tasks
        self._allowed = allowed
        self._prepare = prepare
        self._changed = changed
        self._running: dict[Way, asyncio.Task[None]] = {}
        self._taken: set[KeptFlow] = set()
        """Flows of those; a document that comes meanwhile may send them another way."""
        self._ways: dict[Way, list[KeptFlow]] = {}
        """What waits, as it was when `begin` was called last."""
        self._begun: set[Way] = set()
        self._tried: dict[Way, float] = {}
        """Way that did not come to its end -> when it was tried last, on the loop's clock."""
        self._again: dict[Way, float] = {}
        """Way -> when it may be tried again."""
        self._problems: dict[Way, str] = {}
        self._began: dict[str, float] = {}
        """Flow on its way -> since when, in Unix seconds."""
        self._moved: dict[str, HandOver] = {}

    def begin(self, connection: Connection, keep_s: int) -> float | None:
        """Begin, or go on with, what has to be done and has its streams for itself; messages are
        kept for so many seconds. Return after how many seconds to call this again at the latest."""
        if not self._appending.loaded.is_set():
            return None
        self._ways = _by_way(
            flow
            for flow in self._flows.values()
            if flow.is_due and not flow.recorded.problem and flow not in self._taken
        )
        self._begun = {way for way, flows in self._ways.items() if _has_begun(flows)}
        for known in (self._tried, self._again, self._problems):
            for way in known.keys() - self._ways.keys() - self._running.keys():
                known.pop(way)
        self._start(connection, keep_s)
        now = asyncio.get_running_loop().time()
        later = [at for way, at in self._again.items() if way in self._ways and at > now]
        return min(later) - now if later else None

    def _start(self, connection: Connection, keep_s: int) -> None:
        """Start what waits and has its streams for itself, who was tried longest ago first."""
        now = asyncio.get_running_loop().time()
        waiting = [way for way in self._ways if way not in self._running]
        waiting.sort(key=lambda way: self._tried.get(way, 0.0))
        # What has begun keeps its streams, also while it waits to be tried again.
        reserved = {place for way in self._running for place in way}
        kept = []
        for way in waiting:
            if way in self._begun and _is_free(way, reserved):
                reserved.update(way)
                kept.append(way)
        for way in waiting:
            if len(self._running) >= AT_ONCE:
                break
            if self._again.get(way, now) > now:
                continue
            if way not in kept:
                if way in self._begun or not _is_free(way, reserved):
                    continue
                reserved.update(way)
            self._tried[way] = now
            flows = self._ways.pop(way)
            going = [flow for flow in flows if flow.is_going]
            if going and len(going) < len(flows):
                self._ways[way] = [flow for flow in flows if flow not in going]
            self._begun.discard(way)
            self._taken.update(going or flows)
            work = self._go(connection, way, going or flows, keep_s)
            self._running[way] = self._tasks.start(work, "a hand-over between kept streams")

    def hurry(self) -> None:
        """Have what waits to be tried again be tried at once."""
        self._again.clear()

    async def end(self) -> None:
        """End what is under way, as a crash would; what has begun is recorded."""
        # One that comes to its end instead may put flows back, or start another.
        while running := [task for task in self._running.values() if not task.done()]:
            self._ways.clear()
            await end(*running)
        self._ways.clear()
        self._running.clear()
        self._taken.clear()
        self.hurry()

    @property
    def busy(self) -> frozenset[Place]:
        """Return the streams of which hand-overs are under way, which make sure of them."""
        return frozenset(place for way in self._running for place in way if place is not None)

    @property
    def problems(self) -> list[str]:
        """Return a sentence for each way on which flows cannot go on now."""
        return list(dict.fromkeys(self._problems.values()))

    # --- what is observed

    def note_due(self, flow: KeptFlow) -> None:
        """Note since when a flow has to be handed over."""
        if flow.is_due:
            self._began.setdefault(flow.name, time.time())

    def observed(self, wanted: Mapping[str, Place]) -> dict[str, HandOver]:
        """Return the last hand-over of each flow that is on its way, or has been lately. One that
        comes to the map or leaves it is shown while that is under way, as if from where it goes.
        `wanted` is the map."""
        now = time.time()
        for flow, entry in list(self._moved.items()):
            if entry.began_at + (entry.took_s or 0) < now - KEEP_S or len(self._moved) > MOST_KEPT:
                del self._moved[flow]
        ways = {name: (*flow.way, flow.goal) for name, flow in self._flows.items() if flow.is_due}
        if not self._appending.loaded.is_set():
            ways |= {flow: (None, goal, goal) for flow, goal in wanted.items()}
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

    # --- one way

    async def _go(
        self, connection: Connection, way: Way, flows: Sequence[KeptFlow], keep_s: int
    ) -> None:
        """Hand over the flows that go this way, as far as that can be done now."""
        loop, start = asyncio.get_running_loop(), 0
        try:
            while start < len(flows):
                await self._hand_over(connection, way, flows[start : start + TOGETHER], keep_s)
                start += TOGETHER
            for known in (self._tried, self._again, self._problems):
                known.pop(way, None)
        except (DriverError, ValueError) as error:
            late = flows[start:]
            self._problems[way] = _why(connection, late, error)
            pause_s = COMPLETE_S if _has_begun(late) else RETRY_S
            self._again[way] = loop.time() + pause_s
            self._put_back(late)
        del self._running[way]
        self._taken.difference_update(flows)
        if start >= len(flows) and self._appending.loaded.is_set():
            self._start(connection, keep_s)
        # What failed is tried again, and those sent on meanwhile are not among what waits.
        if not self._running or any(flow.is_due for flow in flows):
            self._changed()

    def _put_back(self, late: Iterable[KeptFlow]) -> None:
        """Have flows wait that could not be handed over. Another hand-over may come to its end
        before `begin` is called again: what follows it must not get streams of what has begun."""
        # They were taken until now, so that they are not among what waits already.
        for way, flows in _by_way(flow for flow in late if flow.is_due).items():
            self._ways[way] = flows + self._ways.get(way, [])
            if _has_begun(flows):
                self._begun.add(way)

    async def _hand_over(
        self, connection: Connection, way: Way, flows: Sequence[KeptFlow], keep_s: int
    ) -> None:
        """Hand over flows that go this way, unless documents have come meanwhile."""
        await self._allowed()
        await self._prepare(connection, [place for place in way if place is not None])
        for flow in flows:
            flow.is_paused = True
        try:
            await _drain(flows)
            if group := [flow for flow in flows if flow.is_due and flow.way == way]:
                await self._write(connection, way, group, keep_s)
                self._note_moved(way, group)
        finally:
            for flow in flows:
                flow.is_paused = False
                self._appending.give(flow)

    async def _write(
        self, connection: Connection, way: Way, group: Sequence[KeptFlow], keep_s: int
    ) -> None:
        recorded = [flow.recorded for flow in group]
        writer = self._appending.writer
        try:
            await self._appending.recording(
                hand_over(connection, recorded, *way, writer=writer, keep_s=keep_s)
            )
        except (DriverError, ValueError):
            for place in way:
                if place is not None:
                    # The next attempt gives its signals again: these must not pile up.
                    await self._appending.end_writer(place)
            raise


async def _drain(flows: Sequence[KeptFlow]) -> None:
    """Wait until streams hold all messages of flows that are paused. Raises Retryable."""
    jobs = [each.job for flow in flows for each in flow.given if each.job is not None]
    if jobs and (await asyncio.wait(jobs, timeout=DRAIN_S))[1]:
        raise Retryable("the stream that they are on takes nothing")


def _by_way(flows: Iterable[KeptFlow]) -> dict[Way, list[KeptFlow]]:
    """Return flows, those together that go the same way."""
    ways: dict[Way, list[KeptFlow]] = {}
    for flow in flows:
        ways.setdefault(flow.way, []).append(flow)
    return ways


def _has_begun(flows: Iterable[KeptFlow]) -> bool:
    return any(flow.is_going for flow in flows)


def _is_free(way: Way, reserved: Iterable[Place | None]) -> bool:
    return not any(place is not None and place in reserved for place in way)


def _why(connection: Connection, late: Sequence[KeptFlow], error: Exception) -> str:
    """Return why flows are not handed over now."""
    if not connection.alive or isinstance(error, RecordsInDoubt):
        return f"reliable flows do not follow the map: {error}"
    every = ", ".join(sorted(flow.name for flow in late)[:5])
    if any(flow.is_going or flow.is_astray for flow in late):
        what = "wait to be handed over between streams"
    else:
        what = "stay where they are, as they cannot be handed over between streams"
    return f"reliable flows {what}, {len(late)} in all ({every}): {error}"


def _stream_place(place: Place) -> StreamPlace:
    return StreamPlace(group=place.group, stream=place.stream)
