"""Read kept streams, each from a number on: a consumer that the agent makes sends it here.

**Nothing is missing on the way unnoticed.** The broker counts what a consumer sends, and says the
count in each heartbeat. A gap there is a loss on the way, and reading begins anew; a gap in the
numbers of the stream alone is what was removed from it.

**What waits here is bounded.** The broker sends no more than so many messages that are not
acknowledged, and no more than 32 MiB beyond its last request for a sign of life, which is answered
when everything before it was taken.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from nats import errors

from weir_client import subjects
from weir_client.following import end
from weir_client.frames import Place
from weir_client.keeping import MOST_ACKNOWLEDGED, SUPERSEDED
from weir_client.kept_following import Following
from weir_client.kept_record import Record, Refused

AGAIN_S = 0.2
"""The pause before a stream that cannot be opened is tried again; it doubles."""
AGAIN_MOST_S = 4.0
BEAT_S = 1.0
SILENT_BEATS = 4
"""A consumer of which nothing is heard for so long is not known to the broker any more."""
ACK_S = 0.1
"""The pause between two acknowledgements."""
MOST_UNACKNOWLEDGED = 500
"""With so many messages done there is no pause: the broker sends no more than 2,000 ahead."""
_DELIVERED = "$JS.ACK."
_FLOW_CONTROL = "$JS.FC."


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


class Item(NamedTuple):
    """A message of a stream, as it was read."""

    number: int
    sent: int
    """It counts what the consumer has sent."""
    flow: str
    origin: str
    payload: bytes
    headers: Mapping[str, str]

    @property
    def is_signal(self) -> bool:
        return self.origin == subjects.SIGNAL

    @property
    def is_memory(self) -> bool:
        """Return whether it only says to the agent which messages are known."""
        return "Weir-Memory" in self.headers

    def message(self) -> Message:
        """Return what the application gets of it."""
        return Message(
            self.flow,
            self.origin,
            int(self.headers.get("Weir-Position", "0")),
            self.headers.get("Weir-Id", ""),
            self.payload,
            self.headers,
        )


@dataclass(frozen=True, slots=True)
class Calls:
    """What a reading calls its owner for."""

    news: Callable[[], None]
    """Something has come."""
    broken: Callable[[], None]
    """This consumer brings nothing any more (`is_broken`)."""
    superseded: Callable[[], None]
    """The record is not of this life."""
    other: Callable[[], None]
    """A stream has never given the numbers that were read of it (`is_other`)."""
    failed: Callable[[Exception], None]


class StreamReading:
    """One consumer, and what it has brought. Call `start`, then take from `waiting`."""

    def __init__(
        self,
        client: Any,
        record: Record,
        place: Place,
        *,
        lane: int,
        generation: int,
        position: int,
        reach: int,
        calls: Calls,
    ) -> None:
        """Take `position`, behind which to begin, and `reach`, the last number of the stream that
        is known."""
        self.generation = generation
        self.waiting: deque[Item] = deque()
        self.received = 0
        """The last number that has come."""
        self.is_open = False
        self.is_broken = False
        self.is_other = False
        self.done: tuple[int, int] | None = None
        """Number and count of the last message that is done and not acknowledged."""
        self._client = client
        self._record = record
        self._place = place
        self._lane = lane
        self._position = position
        self._reach = reach
        self._calls = calls
        self._is_heard = False
        self._count = 0
        """The count of the last message that has come."""
        self._acknowledged = 0
        self._owed: dict[str, int] = {}
        """Request for a sign of life -> the count of the last message before it."""
        self._is_due = asyncio.Event()
        """Set when requests of flow control may have to be answered."""
        self._subscription: Any = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to read, as soon as the agent and the broker allow it."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop reading; the consumer stays. To be called again where it was cancelled."""
        if self._task is not None:
            await end(self._task)
        await self._leave()

    async def remove(self) -> None:
        """Have the consumer deleted. One that stays is forgotten in time."""
        with suppress(errors.Error):
            await self._record.post("remove", **self._fields())

    def take(self) -> Item:
        """Return the first of those that wait."""
        item = self.waiting.popleft()
        if self._owed:
            self._is_due.set()
        return item

    # --- what is done

    def finish(self, item: Item) -> None:
        """Take note that everything up to a message is done."""
        self.done = (item.number, item.sent)

    @property
    def unacknowledged(self) -> int:
        """Return how many messages are done and not acknowledged."""
        return 0 if self.done is None else self.done[1] - self._acknowledged

    def row(self) -> list[int]:
        """Return what is to be acknowledged, as the agent takes it."""
        assert self.done is not None
        return [*self._place, self._lane, self.generation, *self.done]

    def acknowledge(self, row: list[int]) -> None:
        """Take note that the broker knows what `row` was."""
        self._acknowledged = row[-1]
        if self.done == tuple(row[-2:]):
            self.done = None

    def _fields(self) -> dict[str, Any]:
        return {"place": self._place, "lane": self._lane, "generation": self.generation}

    # --- what comes

    async def _run(self) -> None:
        try:
            pause_s = AGAIN_S
            while (last := await self._open()) is None:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, AGAIN_MOST_S)
            if last < self._reach:
                self.is_other = True
                self._calls.other()
                return
            self.is_open = True
            self._calls.news()
            await self._listen()
        except Exception as error:
            self._calls.failed(error)

    async def _open(self) -> int | None:
        """Have a consumer made; return the last number of the stream, None where that fails."""
        self.waiting.clear()
        self._owed.clear()
        self._count = self.received = 0
        self.is_broken = False
        # A new one each time: what an earlier attempt brings late is not heard.
        inbox = f"{subjects.reader_inbox(self._record.name)}.{secrets.token_hex(16)}"
        try:
            self._subscription = await self._client.subscribe(
                inbox, cb=self._on_message, pending_msgs_limit=-1, pending_bytes_limit=-1
            )
            answer = await self._record.request(
                "open",
                life=self._record.life,
                start=self._position + 1,
                deliver=inbox,
                **self._fields(),
            )
            return int(answer["last"])
        except Refused as error:
            if error.reason == SUPERSEDED:
                self._calls.superseded()
        except (errors.Error, TimeoutError):
            pass
        await self._leave()
        return None

    async def _leave(self) -> None:
        if self._subscription is not None:
            with suppress(errors.Error):
                await self._subscription.unsubscribe()
        self._subscription = None

    async def _listen(self) -> None:
        """Return when nothing more comes. It is beats that count, not time: a process that stood
        still hears afterwards what has come meanwhile."""
        silent = 0
        while not self.is_broken:
            self._is_heard = False
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT_S):
                    await self._answer_flow_control()
            silent = 0 if self._is_heard else silent + 1
            if silent >= SILENT_BEATS:
                self._break()

    async def _on_message(self, message: Any) -> None:
        try:
            self._take_in(message)
        except Exception as error:
            self._calls.failed(error)

    def _take_in(self, message: Any) -> None:
        self._is_heard = True
        if self.is_broken:
            return
        headers = message.headers or {}
        if not message.reply.startswith(_DELIVERED):
            self._take_sign(message.reply, headers)
            return
        at = message.metadata.sequence
        if at.consumer != self._count + 1:
            self._break()
            return
        self._count, self.received = at.consumer, at.stream
        flow, origin = message.subject.split(".")[-2:]
        name = subjects.name_of(flow)
        self.waiting.append(Item(at.stream, at.consumer, name, origin, message.data, headers))
        self._calls.news()

    def _take_sign(self, reply: str, headers: Mapping[str, str]) -> None:
        """Take what is no message: a heartbeat, or a request of flow control, which is repeated in
        heartbeats while the broker waits for it."""
        last = headers.get("Nats-Last-Consumer", "")
        if headers.get("Status") != "100" or (last.isdecimal() and int(last) > self._count):
            self._break()
            return
        request = reply or headers.get("Nats-Consumer-Stalled", "")
        if request.startswith(_FLOW_CONTROL):
            self._owed.setdefault(request, self._count)
            self._is_due.set()

    async def _answer_flow_control(self) -> None:
        """Answer each request when everything before it was taken, until cancelled. One that stays
        without an answer is repeated."""
        while True:
            await self._is_due.wait()
            self._is_due.clear()
            first = self.waiting[0].sent if self.waiting else self._count + 1
            for request in [each for each, count in self._owed.items() if count < first]:
                del self._owed[request]
                with suppress(errors.Error):
                    await self._client.publish(request)

    def _break(self) -> None:
        self.is_broken = True
        self._calls.broken()


class OpenStreams:
    """The streams that a reader reads."""

    def __init__(self, client: Any, record: Record, calls: Calls) -> None:
        self._client = client
        self._record = record
        self._calls = calls
        self._readings: dict[Place, StreamReading] = {}
        self._ended: deque[tuple[StreamReading, bool]] = deque()
        """Those that are to be closed, and whether the consumer is to be deleted."""
        self._is_done = asyncio.Event()
        """Set when something is to be acknowledged."""
        self._is_much = asyncio.Event()

    def get(self, place: Place) -> StreamReading | None:
        """Return how a stream is read; None where it is not."""
        return self._readings.get(place)

    def places(self) -> list[Place]:
        """Return the streams, in the order in which they are to be gone on with."""
        return list(self._readings)

    def put_last(self, place: Place) -> None:
        """Go on with the others first."""
        if place in self._readings:
            self._readings[place] = self._readings.pop(place)

    def broken(self) -> list[Place]:
        """Return the streams that are to be read anew."""
        return [place for place, reading in self._readings.items() if reading.is_broken]

    def others(self) -> list[Place]:
        """Return the streams that have another history than was read."""
        return [place for place, reading in self._readings.items() if reading.is_other]

    def received(self) -> dict[Place, int]:
        """Return the last number that has come of each."""
        return {place: reading.received for place, reading in self._readings.items()}

    def end_unfit(self, following: Following) -> list[Place]:
        """Take out streams that are not to be read any more, or anew, and return them; `match`
        closes them."""
        ended = []
        for place, reading in list(self._readings.items()):
            current = following.streams.get(place)
            if current is None or current.generation != reading.generation:
                self._ended.append((self._readings.pop(place), current is None))
                ended.append(place)
        return ended

    async def match(self, following: Following) -> None:
        """Read what is to be read. May be cancelled at any moment: the next call goes on."""
        while self._ended:
            reading, is_removed = self._ended[0]
            await reading.close()
            if is_removed:
                await reading.remove()
            self._ended.popleft()
        reaches = following.reaches()
        for place, current in list(following.streams.items()):
            if place not in self._readings:
                reading = self._readings[place] = StreamReading(
                    self._client,
                    self._record,
                    place,
                    lane=current.lane,
                    generation=current.generation,
                    position=current.position,
                    reach=reaches[place],
                    calls=self._calls,
                )
                reading.start()

    def finish(self, place: Place, item: Item, generation: int) -> None:
        """Have a message acknowledged, and all before it in its stream."""
        reading = self._readings.get(place)
        if reading is not None and reading.generation == generation:
            reading.finish(item)
            self._is_done.set()
            if reading.unacknowledged >= MOST_UNACKNOWLEDGED:
                self._is_much.set()

    async def keep_acknowledging(self) -> None:
        """Have the broker know what is done, until cancelled."""
        while True:
            await self._is_done.wait()
            self._is_done.clear()
            self._is_much.clear()
            with suppress(errors.Error, TimeoutError):
                await self.acknowledge()
            if any(reading.done for reading in self._readings.values()):
                self._is_done.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(ACK_S):
                    await self._is_much.wait()

    async def acknowledge(self) -> None:
        """Have the broker know what is done. Raises what the client of NATS raises."""
        done = [(reading, reading.row()) for reading in self._readings.values() if reading.done]
        for first in range(0, len(done), MOST_ACKNOWLEDGED):
            piece = done[first : first + MOST_ACKNOWLEDGED]
            rows = [row for _, row in piece]
            answer = await self._record.request("acknowledge", streams=rows)
            for (reading, row), is_kept in zip(piece, answer["kept"], strict=True):
                if is_kept:
                    reading.acknowledge(row)

    async def close(self) -> None:
        """Stop reading; the consumers stay."""
        for reading in (*self._readings.values(), *(reading for reading, _ in self._ended)):
            await reading.close()
