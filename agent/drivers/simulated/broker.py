"""Simulate brokers: keep in memory what a real broker would keep.

Simplifications, all on the optimistic side: links have no delay and no capacity of their own, the
broker is never slow, and what consumers got is counted but not kept (unless `keep_delivered`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from agent.admission import AdmissionBook, Admitted
from agent.drivers.base import Batch, Channel, Interest, Message, Place, Retryable, Source
from weir.coordination.wire import Delivery, Publishers

BATCH = 256
WORK_S = {Delivery.BEST_EFFORT: 1.46092e-5, Delivery.RELIABLE: 1.48354e-4}
"""Processor time per message that is written to a place."""
WORK_PER_COPY_S = {Delivery.BEST_EFFORT: 1.03146e-5, Delivery.RELIABLE: 1.13717e-5}
"""Processor time per copy for a consumer; Bhola 2006, section V, measured both constants."""
MAX_PAYLOAD_BYTES = 1 << 20
BEST_EFFORT_WAITING = 10_000
"""The number of best-effort messages that may wait in one place; more are shed, newest first."""


class Line:
    """Keep the messages that wait in one place, in order; reliable ones until they are settled."""

    def __init__(self, *, reliable: bool) -> None:
        self.reliable = reliable
        self.shed = 0
        self.most_bytes = MAX_PAYLOAD_BYTES
        """Publishers of larger reliable messages are refused."""
        self.closed = False
        """While true, publishers are refused."""
        self.ended = False
        self._waiting: deque[Message] = deque()
        self._arrived_at: deque[float] = deque()
        """When each of them arrived."""
        self._first = 0
        """The sequence number of the first message that waits."""
        self._last: dict[tuple[str, str], int] = {}
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def first(self) -> int:
        """Return a number that rises with every message that is settled."""
        return self._first

    @property
    def waiting(self) -> list[Message]:
        """Return what is not settled, in order."""
        return list(self._waiting)

    def append(self, messages: Sequence[Message], *, now: float = 0.0) -> list[Message]:
        """Add messages and return those that were taken, leaving out duplicates and best-effort
        messages above the bound. `now` is by a clock that is never set back; only waits at the gate
        are computed from it."""
        if self.reliable:
            taken = [m for m in messages if self._is_new(m)]
        else:
            taken = list(messages[: max(0, BEST_EFFORT_WAITING - len(self._waiting))])
            self.shed += len(messages) - len(taken)
        self._waiting.extend(taken)
        self._arrived_at.extend([now] * len(taken))
        if taken:
            self._news.set()
        return taken

    def _is_new(self, message: Message) -> bool:
        if message.mark:
            return True
        known = (message.flow, message.origin)
        if message.position <= self._last.get(known, 0):
            return False
        self._last[known] = message.position
        return True

    async def read(self, source: Source) -> AsyncIterator[Batch]:
        """Return batches of one flow, or one mark; every reader begins at the first unsettled
        message."""
        at = self._first
        while True:
            at = max(at, self._first)
            batch = self._cut(at - self._first)
            if batch:
                start, at = at - self._first, at + len(batch)
                arrived_at: Sequence[float] = ()
                if source.flow:
                    arrived_at = list(islice(self._arrived_at, start, start + len(batch)))
                if not self.reliable:
                    self.settle(at)
                token = at if self.reliable else None
                yield Batch(source, batch, token, arrived_at=arrived_at)
                continue
            self._news.clear()
            if self.ended:
                return
            await self._news.wait()

    def _cut(self, start: int) -> list[Message]:
        batch: list[Message] = []
        for index in range(start, min(len(self._waiting), start + BATCH)):
            message = self._waiting[index]
            if batch and (message.mark or message.flow != batch[0].flow):
                break
            batch.append(message)
            if message.mark:
                break
        return batch

    def settle(self, before: int) -> None:
        """Forget the messages before this sequence number."""
        while self._first < before and self._waiting:
            self._waiting.popleft()
            self._arrived_at.popleft()
            self._first += 1

    def end(self) -> None:
        """End the place: its readers learn that nothing more comes."""
        self.ended = True
        self._news.set()


@dataclass(slots=True)
class VirtualBroker:
    """Hold and count what one simulated broker does."""

    address: str
    clock: Callable[[], float] = time.monotonic
    """The clock of the agents of this broker."""
    away: bool = False
    """Tests and what-if studies set this to make the broker unreachable."""
    keep_delivered: bool = False
    incarnation: int = 0
    noted_state: int = 0
    """The recorded number of its agent's state directory."""
    holder: object = None
    """The driver that acts for this broker."""
    claimed: asyncio.Event = field(default_factory=asyncio.Event)
    """This event is set, and replaced by a new one, whenever another driver takes over."""
    lines: dict[Channel, Line] = field(default_factory=dict)
    interests: dict[str, Interest] = field(default_factory=dict)
    revisions: int = 0
    """How often neighbours have written their interest."""
    interest_changed: asyncio.Event = field(default_factory=asyncio.Event)
    questions: asyncio.Queue[tuple[str, bytes, asyncio.Future[bytes]]] | None = None
    """Questions to this broker's agent; None while nobody listens."""
    book: AdmissionBook = field(default_factory=AdmissionBook)
    publishers: dict[str, Publishers] = field(default_factory=dict)
    """Flow -> the list of its publishers; the simulated ones have no names, and send all the same.
    """
    delivered: dict[str, list[Message]] = field(default_factory=dict)
    """Flow -> messages that its consumers received, with `keep_delivered`."""
    got: dict[str, int] = field(default_factory=dict)
    """Class -> messages that consumers received, each counted."""
    in_messages: int = 0
    out_messages: int = 0
    in_bytes: int = 0
    out_bytes: int = 0
    worked_s: float = 0.0
    """Processor time that a real broker would have used for what agents wrote."""
    _last: dict[tuple[str, str], int] = field(default_factory=dict)
    _connections: int = 0
    _positions: dict[str, int] = field(default_factory=dict)

    def line(self, channel: Channel) -> Line:
        """Return the place where messages of a channel wait."""
        line = self.lines.get(channel)
        if line is None:
            reliable = channel.delivery is Delivery.RELIABLE
            line = self.lines[channel] = Line(reliable=reliable)
        return line

    def publish(self, flow: str, delivery: Delivery, payloads: Sequence[bytes]) -> int:
        """Send messages of a publisher to the ingress; return how many were refused, as too large
        or closed."""
        if self.away:
            return 0
        count = len(payloads)
        if delivery is Delivery.RELIABLE:
            line = self.line(Channel(place=Place.INGRESS, delivery=delivery, flow=flow))
            if line.closed:
                return count
            payloads = [payload for payload in payloads if len(payload) <= line.most_bytes]
        self.in_messages += len(payloads)
        self.in_bytes += sum([len(payload) for payload in payloads])
        first = self._positions.get(flow, 0) + 1
        self._positions[flow] = first + len(payloads) - 1
        self.line(Channel(place=Place.INGRESS, delivery=delivery, flow=flow)).append(
            [
                Message(flow, payload, self.address, first + index)
                for index, payload in enumerate(payloads)
            ],
            now=self.clock(),
        )
        return count - len(payloads)

    def deliver(self, flow: str, messages: Sequence[Message], *, reliable: bool) -> None:
        """Hand messages to every consumer that is admitted to a class of the flow."""
        if reliable:
            messages = [m for m in messages if self._is_new(m)]
        delivery = Delivery.RELIABLE if reliable else Delivery.BEST_EFFORT
        self.worked_s += WORK_S[delivery] * len(messages)
        size = sum([len(message.payload) + len(message.headers) for message in messages])
        for name, spec in self.book.classes.items():
            if spec.flow == flow:
                admitted = self.book.admitted(name)
                copies = admitted * len(messages)
                self.got[name] = self.got.get(name, 0) + copies
                self.out_messages += copies
                self.out_bytes += admitted * size
                self.worked_s += WORK_PER_COPY_S[delivery] * copies
        if self.keep_delivered:
            self.delivered.setdefault(flow, []).extend(messages)

    def _is_new(self, message: Message) -> bool:
        known = (message.flow, message.origin)
        if message.position <= self._last.get(known, 0):
            return False
        self._last[known] = message.position
        return True

    def ask(self, name: str, consumer: str, now: float) -> int | None:
        """Ask for a consumer's admission; return the number of its connection, None when it
        waits."""
        if self.away or name not in self.book.classes:
            return None
        self._connections += 1
        answer = self.book.ask(name=name, consumer=consumer, connection=self._connections, now=now)
        return self._connections if isinstance(answer, Admitted) else None


class VirtualNetwork:
    """Hold all simulated brokers of a process, by address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the `clock` of all agents."""
        self._clock = clock
        self._brokers: dict[str, VirtualBroker] = {}

    def at(self, address: str) -> VirtualBroker:
        """Return the broker at an address; the first call creates it."""
        if address not in self._brokers:
            self._brokers[address] = VirtualBroker(address, self._clock)
        return self._brokers[address]

    def reach(self, address: str) -> VirtualBroker:
        """Return the broker at an address if it is reachable. Raises Retryable."""
        broker = self._brokers.get(address)
        if broker is None or broker.away:
            raise Retryable(f"{address} does not answer")
        return broker
