"""Receive reliable flows at one NATS broker, from whatever kept streams they are on.

    async with await ReliableSubscriber.connect(URL, name="desk-7", key=KEY) as desk:
        await desk.want("orders.eu")
        async for message in desk.messages():
            print(message)

A reader reads whole streams and drops what is not wanted (`filtered`). A message is done once the
application asks for the next one, and the broker knows it a tenth of a second later. So each
message comes once, in the order of its flow, also over moves, restarts and lost connections; where
the reader's process or machine ends before, the messages that the broker does not know to be done
come again. Where the broker comes back with an older disk, all that it has may come again.

What the reader wants, and where it reads it, is kept at the broker under its name, and so is how
far each stream was read. There is one reader of a name: one that connects ends the one before.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from nats import errors

from weir_client import subjects
from weir_client.following import end
from weir_client.frames import Place
from weir_client.keeping import (
    Courses,
    Signal,
    courses_from_bytes,
    signal_from_bytes,
)
from weir_client.kept_following import (
    KEPT,
    NEWEST,
    Following,
    Known,
    Lost,
    most_bytes,
    unsettled,
)
from weir_client.kept_reading import Calls, Item, Message, OpenStreams, StreamReading
from weir_client.kept_record import Record, Refused, Superseded, is_conflict
from weir_client.subscriber_login import PersistentClient, log_in

ASK_S = 0.5
"""The pause before the agent is asked (again) about flows that are in doubt."""
ASK_MOST_S = 4.0
"""The pause doubles up to this while no answer changes anything."""
ASK_ALL_S = 30.0
AT_ONCE = 100
"""Flows in one question."""
AGAIN_S = 0.2
"""The pause before the broker is tried again."""
LONGEST_NAME = 200

__all__ = ["KEPT", "NEWEST", "Lost", "Message", "ReliableSubscriber", "Superseded"]


@dataclass(slots=True)
class Filtered:
    """What came and was not wanted, since the client began."""

    flows: int = 0
    """Messages of flows that are not wanted."""
    repeated: int = 0
    """Messages that were read again for the sake of another flow."""
    malformed: int = 0


@dataclass(slots=True)
class _InHand:
    """A message that the application has."""

    place: Place
    item: Item
    generation: int


class ReliableSubscriber:
    """A client that receives reliable flows. Use `connect`."""

    def __init__(self, client: Any, name: str) -> None:
        self.filtered = Filtered()
        self._client = client
        self._record = Record(client, name)
        self._following = Following()
        self._pending: dict[str, str] = {}
        """Flow that is wanted and whose course is not known yet -> where it is to begin."""
        self._held: dict[Place, str] = {}
        """Stream that waits -> the flow it waits for."""
        self._losses: deque[Lost] = deque()
        self._in_hand: _InHand | None = None
        self._changing = asyncio.Lock()
        self._news = asyncio.Event()
        self._is_in_doubt = asyncio.Event()
        self._is_back = asyncio.Event()
        self._is_unsettled = False
        """Whether nobody has settled what was changed."""
        self._is_closed = False
        self._failure: Exception | None = None
        self._streams = OpenStreams(
            client,
            self._record,
            Calls(
                news=self._news.set,
                broken=self._is_in_doubt.set,
                superseded=self._make_sure_of_life,
                other=self._is_in_doubt.set,
                failed=self._fail,
            ),
        )
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def connect(cls, url: str, *, name: str, key: str, **options: Any) -> ReliableSubscriber:
        """Connect under a name of one's own, by which the broker knows how far this reader is, with
        the key of the system's clients. `options` are those of `nats.connect`; unless they say
        otherwise, a broker that is away, and one without streams yet, is tried again for ever: put
        a timeout around it. Raises ValueError for a name that is no name, or of which the broker
        has kept what no reader writes, and what `nats.connect` raises."""
        if not name or len(subjects.token(name)) > LONGEST_NAME:
            raise ValueError(f"a reader's name has 1 to {LONGEST_NAME} characters: {name!r}")
        reader = cls(PersistentClient(), name)
        try:
            await log_in(
                reader._client,
                url,
                name=name,
                key=key,
                inbox=subjects.reader_inbox(name),
                back=reader._is_back.set,
                closed=reader._end,
                options=options,
            )
            await reader._go_on_where_it_was()
        except BaseException:
            await reader.close()
            raise
        loops = (reader._watch, reader._come_back, reader._streams.keep_acknowledging)
        reader._tasks = [asyncio.create_task(reader._run(loop)) for loop in loops]
        return reader

    async def __aenter__(self) -> ReliableSubscriber:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Disconnect. What the application has not asked beyond comes again."""
        self._end()
        tasks, self._tasks = self._tasks, []
        await end(*tasks)
        with suppress(errors.Error, TimeoutError):
            await self._streams.acknowledge()
        await self._streams.close()
        with suppress(errors.Error, TimeoutError):
            await self._client.flush(2)
        await self._client.close()

    async def want(self, *flows: str, start: str = NEWEST) -> None:
        """Receive these flows from now on, and no others. Those that were wanted before go on where
        they were; new ones begin with the newest message, or with `start="kept"` with the oldest
        one that is kept. Returns once that is settled for the flows that the agent knows. Raises
        ValueError for more flows than the broker keeps of one reader, Superseded, and what
        `messages` raises."""
        if start not in (NEWEST, KEPT):
            raise ValueError(f"a flow begins with {NEWEST!r} or {KEPT!r}, not {start!r}")
        wanted = set(flows)
        needed, most = most_bytes(wanted), self._record.most_bytes
        if needed > most:
            raise ValueError(
                f"{len(wanted):,} flows take up to {needed:,} bytes in the record of a reader, and "
                f"this broker keeps {most:,} bytes: share them among several readers"
            )
        async with self._changing:
            for flow in self._following.flows.keys() - wanted:
                self._following.end(flow)
            known = self._following.flows
            self._pending = {
                flow: self._pending.get(flow, start) for flow in flows if flow not in known
            }
            await self._settle()
        await self._ask(set(self._pending))
        if self._pending:
            self._is_in_doubt.set()
        self._news.set()

    async def messages(self) -> AsyncIterator[Message | Lost]:
        """Yield messages as they come, and what was removed before it was read, until this is
        closed. To ask for the next one acknowledges the one before. Raises Superseded, and what
        went wrong within."""
        while True:
            await self._finish()
            each = await self._next()
            if each is None:
                return
            yield each

    # --- the application's side

    async def _finish(self) -> None:
        """Acknowledge what the application had."""
        done, self._in_hand = self._in_hand, None
        if done is not None:
            self._following.finish(done.place, done.item.number, done.item.flow, done.generation)
            if self._following.is_changed:
                async with self._changing:
                    await self._settle()
            self._streams.finish(done.place, done.item, done.generation)

    async def _next(self) -> Message | Lost | None:
        while True:
            if self._failure is not None:
                raise self._failure
            if self._is_closed:
                return None
            self._news.clear()
            if self._losses:
                return self._losses.popleft()
            is_moving = False
            for place in self._streams.places():
                step = await self._step(place)
                if isinstance(step, Message):
                    # The next question begins with another stream.
                    self._streams.put_last(place)
                    return step
                is_moving = is_moving or step
            if not is_moving:
                await self._news.wait()

    async def _step(self, place: Place) -> Message | bool:
        """Go on in one stream; return what is for the application, or whether anything moved."""
        reading = self._streams.get(place)
        if reading is None or not reading.is_open or not reading.waiting:
            return False
        current = self._following.streams.get(place)
        if current is None or current.generation != reading.generation:
            return False  # it is about to be opened anew
        item = reading.waiting[0]
        if item.number <= current.position:
            reading.take()
            return True
        lost = self._following.lost_before(place, item.number)
        if lost is not None or item.number > current.position + 1:
            self._following.finish(place, item.number - 1, "", reading.generation)
            self._is_in_doubt.set()
            if lost is not None:
                self._losses.append(lost)
                # It is kept before anything behind it is acknowledged.
                async with self._changing:
                    await self._settle()
            return True
        signal = self._signal_of(item)
        if self._following.holds(place, item.number, item.flow, signal):
            if self._held.get(place) != item.flow:
                self._held[place] = item.flow
                self._is_in_doubt.set()
            return False
        self._held.pop(place, None)
        if signal is not None:
            await self._take_signals(place, reading, item, signal)
            return True
        reading.take()
        if not item.is_signal and not item.is_memory:
            if self._following.is_wanted(place, item.number, item.flow):
                self._in_hand = _InHand(place, item, reading.generation)
                return item.message()
            is_known = item.flow in self._following.flows
            self.filtered.repeated += is_known
            self.filtered.flows += not is_known
        self._following.finish(place, item.number, "", reading.generation)
        self._streams.finish(place, item, reading.generation)
        return True

    def _signal_of(self, item: Item) -> Signal | None:
        if item.is_signal:
            try:
                return signal_from_bytes(item.payload)
            except ValueError:
                self.filtered.malformed += 1
        return None

    async def _take_signals(
        self, place: Place, reading: StreamReading, item: Item, signal: Signal
    ) -> None:
        """Take a signal, and those that follow at once: flows that go the same way go together, and
        what is kept of them is written once. The application may stop waiting at any moment."""
        generation, done = reading.generation, None
        async with self._changing:
            while self._is_next(place, generation, item):
                done = reading.take()
                self._following.take_signal(place, done.number, done.flow, signal)
                self._following.finish(place, done.number, "", generation)
                if not reading.waiting or reading.waiting[0].number != done.number + 1:
                    break
                item = reading.waiting[0]
                following = self._signal_of(item)
                if following is None or self._following.holds(
                    place, item.number, item.flow, following
                ):
                    break
                signal = following
            await self._settle()
        if done is not None:
            self._streams.finish(place, done, generation)

    def _is_next(self, place: Place, generation: int, item: Item) -> bool:
        """Return whether an item is the next one of a stream that is not to be read anew."""
        reading, current = self._streams.get(place), self._following.streams.get(place)
        return (
            reading is not None
            and current is not None
            and reading.generation == current.generation == generation
            and bool(reading.waiting)
            and reading.waiting[0] is item
        )

    # --- what is kept

    async def _go_on_where_it_was(self) -> None:
        """Take over what an earlier life of this name has kept, and end that life."""
        while not self._is_closed:
            try:
                state = await self._record.take_over()
                if state is not None:
                    self._following = await self._restored(state)
                # Fails where the earlier life has kept something meanwhile: that is taken over.
                await self._record.keep({"reader": self._following.to_json()})
                break
            except (errors.Error, TimeoutError):
                await asyncio.sleep(AGAIN_S)
        self._following.is_changed = False
        async with self._changing:
            await self._settle()
        self._is_in_doubt.set()

    async def _restored(self, state: Any) -> Following:
        if not isinstance(state, dict) or "reader" not in state:
            raise ValueError(f"the record of reader {self._record.name!r} is none of a reader")
        following = Following.from_json(state["reader"])
        for place, reading in following.streams.items():
            answer = await self._record.request(
                "acknowledged", place=place, lane=reading.lane, generation=reading.generation
            )
            reading.position = max(reading.position, int(answer["number"]))
        for place in list(following.streams):
            following.begin_anew(place)
        return following

    async def _settle(self) -> None:
        """Keep what has changed, which waits for the broker as long as that takes; then read the
        streams that are to be read, each as soon as it can be."""
        try:
            await self._keep()
            for place in self._streams.end_unfit(self._following):
                self._held.pop(place, None)
            await self._streams.match(self._following)
        except asyncio.CancelledError:
            # The application does not wait for it any more: it is done elsewhere.
            self._is_unsettled = True
            self._is_in_doubt.set()
            raise
        self._is_unsettled = False
        self._news.set()

    async def _keep(self) -> None:
        while not self._is_closed:
            if self._failure is not None:
                raise self._failure
            if not self._following.is_changed:
                return
            try:
                await self._save()
            except (errors.MaxPayloadError, Superseded) as error:
                self._fail(error)
            except (errors.Error, TimeoutError):
                await asyncio.sleep(AGAIN_S)

    async def _save(self) -> None:
        # What changes while this is under way is kept the next time.
        self._following.is_changed = False
        try:
            await self._record.keep({"reader": self._following.to_json()})
        except BaseException as error:
            self._following.is_changed = True
            is_conflicting = isinstance(error, Refused) and is_conflict(error)
            if is_conflicting and await self._record.settle_conflict():
                self._losses.extend(self._following.forget_all())
            raise

    def _make_sure_of_life(self) -> None:
        """Have the record written again: that shows whether another reader has connected."""
        self._following.is_changed = True
        self._is_in_doubt.set()

    # --- the agent's side

    async def _run(self, loop: Callable[[], Awaitable[None]]) -> None:
        try:
            await loop()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Have the application learn what ends this reader."""
        if self._failure is None:
            self._failure = error
        self._news.set()

    async def _watch(self) -> None:
        """Have doubts settled, by the agent and by reading anew."""
        pause_s, all_at = ASK_S, 0.0
        loop = asyncio.get_running_loop()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(ASK_ALL_S):
                    await self._is_in_doubt.wait()
            self._is_in_doubt.clear()
            await self._forget_others()
            await self._read_anew(self._streams.broken())
            flows = unsettled(self._following, self._held.values()) | self._pending.keys()
            if loop.time() >= all_at:
                flows |= self._following.flows.keys()
                all_at = loop.time() + ASK_ALL_S
            is_settled = await self._ask(flows)
            if unsettled(self._following, self._held.values()) or self._pending:
                pause_s = ASK_S if is_settled else min(2 * pause_s, ASK_MOST_S)
                self._is_in_doubt.set()
            else:
                pause_s = ASK_S
            await asyncio.sleep(pause_s)

    async def _come_back(self) -> None:
        """After each reconnect, read everything anew from where it was done: what was on its way is
        lost."""
        while True:
            await self._is_back.wait()
            self._is_back.clear()
            # Writing shows whether the broker has the disk that it had, and this reader its name.
            self._following.is_changed = True
            await self._read_anew(self._streams.places())
            self._following.doubtful.update(self._following.flows)
            self._is_in_doubt.set()

    async def _forget_others(self) -> None:
        """Begin anew with flows of streams that have another history than was read."""
        async with self._changing:
            for place in self._streams.others():
                self._losses.extend(self._following.forget(place))
            if self._following.is_changed or self._is_unsettled:
                await self._settle()

    async def _read_anew(self, places: list[Place]) -> None:
        async with self._changing:
            for place in places:
                if place in self._following.streams:
                    self._following.begin_anew(place)
            if self._following.is_changed:
                await self._settle()

    async def _ask(self, flows: set[str]) -> bool:
        """Ask the agent where flows are; return whether that has changed anything."""
        names, is_changed, known = sorted(flows), False, self._following.known()
        for first in range(0, len(names), AT_ONCE):
            question = json.dumps(names[first : first + AT_ONCE]).encode()
            try:
                answer = await self._client.request(subjects.COURSE, question, timeout=2)
                courses = courses_from_bytes(answer.data)
            except (errors.Error, TimeoutError):
                return is_changed
            except ValueError:
                self.filtered.malformed += 1
                return is_changed
            async with self._changing:
                self._take(courses, known)
                is_changed = is_changed or self._following.is_changed
                await self._settle()
        return is_changed

    def _take(self, courses: Courses, known: Known) -> None:
        for flow in self._pending.keys() & courses.flows.keys():
            start = self._pending.pop(flow)
            self._following.begin(flow, courses.flows[flow], courses, start)
        received = self._streams.received()
        self._losses.extend(self._following.compare(courses, received, known, self._held))
        self._news.set()

    def _end(self) -> None:
        self._is_closed = True
        self._news.set()
