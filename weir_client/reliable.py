"""Receive reliable flows at one NATS broker, from whatever kept streams they are on.

    async with await ReliableSubscriber.connect(URL, name="desk-7", key=KEY) as desk:
        await desk.want("orders.eu")
        async for message in desk.messages():
            print(message)

A reader reads whole streams and drops what is not wanted (`filtered`). A message is acknowledged
once the application asks for the next one. So each message comes once, in the order of its flow,
also over moves, restarts and lost connections; where the reader's process or machine ends before
its acknowledgements have reached the broker, the messages since the last one that has come again.

What the reader wants, and where it reads it, is kept at the broker under its name, and so is how
far each stream was read. There is one reader of a name: one that connects ends the one before.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from nats import errors

from weir_client import subjects
from weir_client.frames import Place
from weir_client.keeping import Courses, Signal, courses_from_bytes, signal_from_bytes
from weir_client.kept_following import KEPT, NEWEST, Following, Lost, unsettled
from weir_client.kept_reading import AGAIN_S, Item, StreamReading, ask, end
from weir_client.subscriber import SUBSCRIBER_USER, PersistentClient, _each

ASK_S = 0.5
"""The pause before the agent is asked (again) about flows that are in doubt."""
ASK_MOST_S = 4.0
"""The pause doubles up to this while no answer changes anything."""
ASK_ALL_S = 30.0
AT_ONCE = 100
"""Flows in one question."""
ACK_EVERY = 100
"""Messages that are not wanted are acknowledged so many at a time."""
LONGEST_NAME = 200

__all__ = ["KEPT", "NEWEST", "Lost", "Message", "ReliableSubscriber", "Superseded"]


class Superseded(Exception):
    """Signal that another reader has connected under this name."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a reliable flow."""

    flow: str
    origin: str
    """Where it came in, and in which life of that ingress."""
    position: int
    """It rises with every message of an origin; there may be gaps without a loss."""
    id: str
    """The publisher's own id, or the one that Weir made."""
    payload: bytes
    headers: Mapping[str, str]


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
        self._name = name
        self._life = secrets.token_hex(8)
        self._following = Following()
        self._revision = 0
        """The number of the state that is kept, of which the next one must be the successor."""
        self._pending: dict[str, str] = {}
        """Flow that is wanted and whose course is not known yet -> where it is to begin."""
        self._open: dict[Place, StreamReading] = {}
        self._held: dict[Place, str] = {}
        """Stream that waits -> the flow it waits for."""
        self._losses: deque[Lost] = deque()
        self._in_hand: _InHand | None = None
        self._changing = asyncio.Lock()
        self._news = asyncio.Event()
        self._is_in_doubt = asyncio.Event()
        self._is_back = asyncio.Event()
        self._is_closed = False
        self._failure: Exception | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def connect(cls, url: str, *, name: str, key: str, **options: Any) -> ReliableSubscriber:
        """Connect under a name of one's own, by which the broker knows how far this reader is, with
        the key of the system's clients. `options` are those of `nats.connect`; unless they say
        otherwise, a broker that is away, and one without streams yet, is tried again for ever: put
        a timeout around it. Raises ValueError for a name that is no name, and what `nats.connect`
        raises."""
        if not name or len(subjects.token(name)) > LONGEST_NAME:
            raise ValueError(f"a reader's name has 1 to {LONGEST_NAME} characters: {name!r}")
        options = {"max_reconnect_attempts": -1, "reconnect_time_wait": 0.2, **options}
        reader = cls(PersistentClient(), name)
        back = _each(reader._is_back.set, options.pop("reconnected_cb", None))
        closed = _each(reader._end, options.pop("closed_cb", None))
        try:
            await reader._client.connect(
                url,
                name=name,
                user=SUBSCRIBER_USER,
                password=key,
                inbox_prefix=subjects.INBOX,
                reconnected_cb=back,
                closed_cb=closed,
                **options,
            )
            await reader._go_on_where_it_was()
        except BaseException:
            await reader.close()
            raise
        reader._tasks = [asyncio.create_task(loop()) for loop in (reader._watch, reader._come_back)]
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
        for reading in self._open.values():
            await reading.close()
        with suppress(errors.Error, TimeoutError):
            await self._client.flush(2)
        await self._client.close()

    async def want(self, *flows: str, start: str = NEWEST) -> None:
        """Receive these flows from now on, and no others. Those that were wanted before go on where
        they were; new ones begin with the newest message, or with `start="kept"` with the oldest
        one that is kept. Returns once that is settled for the flows that the agent knows. Raises
        Superseded."""
        if start not in (NEWEST, KEPT):
            raise ValueError(f"a flow begins with {NEWEST!r} or {KEPT!r}, not {start!r}")
        async with self._changing:
            for flow in self._following.flows.keys() - set(flows):
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
        closed. To ask for the next one acknowledges the one before. Raises Superseded."""
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
            await self._acknowledge(done.place, done.item, done.generation)
            if self._following.is_changed:
                async with self._changing:
                    await self._settle()

    async def _next(self) -> Message | Lost | None:
        while True:
            if self._failure is not None:
                raise self._failure
            if self._is_closed:
                return None
            self._news.clear()
            if self._losses:
                return self._losses.popleft()
            places = list(self._open)
            is_moving = False
            for place in places:
                step = await self._step(place)
                if isinstance(step, Message | Lost):
                    # The next question begins with another stream.
                    if place in self._open:
                        self._open[place] = self._open.pop(place)
                    return step
                is_moving = is_moving or step
            if not is_moving:
                await self._news.wait()

    async def _step(self, place: Place) -> Message | Lost | bool:
        """Go on in one stream; return what is for the application, or whether anything moved."""
        reading = self._open.get(place)
        if reading is None or not reading.waiting:
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
            return lost or True
        signal = self._signal_of(item)
        if self._following.holds(place, item.number, item.flow, signal):
            if self._held.get(place) != item.flow:
                self._held[place] = item.flow
                self._is_in_doubt.set()
            return False
        self._held.pop(place, None)
        reading.take()
        if signal is not None:
            await self._take_signals(place, reading, item, signal)
            return True
        if not item.is_signal and not item.is_memory:
            if self._following.is_wanted(place, item.number, item.flow):
                self._in_hand = _InHand(place, item, reading.generation)
                return _message(item)
            is_known = item.flow in self._following.flows
            self.filtered.repeated += is_known
            self.filtered.flows += not is_known
        self._following.finish(place, item.number, "", reading.generation)
        if not reading.waiting or item.number % ACK_EVERY == 0:
            await self._acknowledge(place, item, reading.generation)
        return True

    def _signal_of(self, item: Item) -> Signal | None:
        if item.is_signal:
            try:
                return signal_from_bytes(item.payload)
            except ValueError:
                self.filtered.malformed += 1
        return None

    async def _take_signals(
        self, place: Place, reading: StreamReading, item: Item, signal: Signal | None
    ) -> None:
        """Take a signal, and those that follow at once: flows that go the same way go together, and
        what is kept of them is written once."""
        async with self._changing:
            while signal is not None:
                self._following.take_signal(place, item.number, item.flow, signal)
                current = self._following.streams.get(place)
                if current is None or current.generation != reading.generation:
                    break
                signal = None
                if reading.waiting and reading.waiting[0].number == item.number + 1:
                    then = reading.waiting[0]
                    signal = self._signal_of(then)
                    if signal is None or self._following.holds(
                        place, then.number, then.flow, signal
                    ):
                        break
                    item = reading.take()
            await self._settle()
        self._following.finish(place, item.number, "", reading.generation)
        await self._acknowledge(place, item, reading.generation)

    async def _acknowledge(self, place: Place, item: Item, generation: int) -> None:
        reading = self._open.get(place)
        if reading is None or reading.generation != generation:
            return
        # One that is lost, is lost with its connection: after that reading begins anew.
        with suppress(errors.Error):
            await self._client.publish(item.reply, b"+ACK")

    # --- what is kept

    async def _go_on_where_it_was(self) -> None:
        """Take over what an earlier life of this name has kept, and end that life."""
        while True:
            with suppress(errors.Error, TimeoutError):
                revision, state = await self._kept_state()
                self._revision = revision
                if state is not None:
                    self._following = Following.from_json(state["reader"])
                    for place, reading in self._following.streams.items():
                        reading.position = max(
                            reading.position, await self._acknowledged(place, reading.generation)
                        )
                    for place in list(self._following.streams):
                        self._following.begin_anew(place)
                break
            await asyncio.sleep(AGAIN_S)
        self._following.is_changed = True
        async with self._changing:
            await self._settle()
        self._is_in_doubt.set()

    async def _kept_state(self) -> tuple[int, Any]:
        subject = subjects.reader_subject(self._name)
        answer = await self._client.request(
            f"$JS.API.DIRECT.GET.{subjects.READERS_STREAM}.{subject}", b"", timeout=2
        )
        headers = answer.headers or {}
        if headers.get("Status") == "404":
            return 0, None
        return int(headers["Nats-Sequence"]), json.loads(answer.data)

    async def _acknowledged(self, place: Place, generation: int) -> int:
        """Return up to which number an earlier consumer was acknowledged; 0 where it is gone."""
        reading = self._following.streams[place]
        consumer = subjects.consumer_of(self._name, subjects.LANES[reading.lane])
        stream = subjects.kept_stream(place)
        answer = await ask(self._client, f"CONSUMER.INFO.{stream}.{consumer}")
        if "error" in answer or answer["config"].get("description") != str(generation):
            return 0
        return int(answer["ack_floor"]["stream_seq"])

    async def _settle(self) -> None:
        """Keep what has changed, then read the streams that are to be read. Waits for the broker
        as long as that takes."""
        while not self._is_closed:
            try:
                if self._following.is_changed:
                    await self._save()
                await self._open_and_close()
                return
            except (errors.Error, TimeoutError, ValueError, KeyError):
                await asyncio.sleep(AGAIN_S)
            except Superseded as error:
                self._failure = error
                self._news.set()
                raise

    async def _save(self) -> None:
        state = {"life": self._life, "reader": self._following.to_json()}
        answer = await self._client.request(
            subjects.reader_subject(self._name),
            json.dumps(state).encode(),
            timeout=2,
            headers={"Nats-Expected-Last-Subject-Sequence": str(self._revision)},
        )
        kept = json.loads(answer.data)
        if "error" not in kept:
            self._revision = int(kept["seq"])
            self._following.is_changed = False
            return
        revision, state = await self._kept_state()
        if revision != self._revision and (state or {}).get("life") not in (None, self._life):
            raise Superseded(f"another reader has connected as {self._name!r}")
        # What was written before, without an answer; or another disk, which does not have it.
        self._revision = revision
        raise ValueError(f"not kept: {kept['error']}")

    async def _open_and_close(self) -> None:
        wanted = self._following.streams
        for place, reading in list(self._open.items()):
            current = wanted.get(place)
            if current is None or current.generation != reading.generation:
                del self._open[place]
                self._held.pop(place, None)
                await reading.close()
                if current is None:
                    await reading.remove()
        for place, current in list(wanted.items()):
            if place not in self._open:
                reading = StreamReading(
                    self._client,
                    place,
                    self._name,
                    lane=current.lane,
                    generation=current.generation,
                    news=self._news.set,
                    broken=self._is_in_doubt.set,
                )
                await reading.open(current.position + 1)
                self._open[place] = reading
        self._news.set()

    # --- the agent's side

    async def _watch(self) -> None:
        """Have doubts settled, by the agent and by reading anew."""
        pause_s, all_at = ASK_S, 0.0
        loop = asyncio.get_running_loop()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(ASK_ALL_S):
                    await self._is_in_doubt.wait()
            self._is_in_doubt.clear()
            try:
                await self._read_anew([p for p, r in self._open.items() if r.is_broken])
                flows = unsettled(self._following, self._held.values()) | self._pending.keys()
                if loop.time() >= all_at:
                    flows |= self._following.flows.keys()
                    all_at = loop.time() + ASK_ALL_S
                is_settled = await self._ask(flows)
            except Superseded:
                return
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
            try:
                await self._read_anew(list(self._open))
            except Superseded:
                return
            self._following.doubtful.update(self._following.flows)
            self._is_in_doubt.set()

    async def _read_anew(self, places: list[Place]) -> None:
        if not places:
            return
        async with self._changing:
            for place in places:
                if place in self._following.streams:
                    self._following.begin_anew(place)
            await self._settle()

    async def _ask(self, flows: set[str]) -> bool:
        """Ask the agent where flows are; return whether that has changed anything."""
        names, is_changed = sorted(flows), False
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
                self._take(courses)
                is_changed = is_changed or self._following.is_changed
                await self._settle()
        return is_changed

    def _take(self, courses: Courses) -> None:
        for flow in self._pending.keys() & courses.flows.keys():
            start = self._pending.pop(flow)
            self._following.begin(flow, courses.flows[flow], courses, start)
        received = {place: reading.received for place, reading in self._open.items()}
        self._losses.extend(self._following.compare(courses, received))
        self._news.set()

    def _end(self) -> None:
        self._is_closed = True
        self._news.set()


def _message(item: Item) -> Message:
    headers = item.headers
    return Message(
        item.flow,
        item.origin,
        int(headers.get("Weir-Position", "0")),
        headers.get("Weir-Id", ""),
        item.payload,
        headers,
    )
