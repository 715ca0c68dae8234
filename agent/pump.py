"""Move messages from one source to the targets that the router names, in order.

Best-effort messages are forwarded as they come. Of reliable messages several batches are on their
way at a time; a batch is settled at its source when every target holds it and everything before it,
so a batch that is lost is read again, and targets that have it discard the copy. An error restarts
the pump at its first unsettled message, never in the middle: order matters more than speed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from agent.drivers.base import Batch, Channel, Driver, DriverError, Message, Room, Source
from agent.memory import DEFAULT_MIB, MIB, Pool
from agent.profile import Profile, ProfileKey
from weir.coordination.wire import Delivery, Gate
from weir.queueing.counting_bucket import CountingBucket
from weir.queueing.delay_counts import DelayCounts
from weir.queueing.token_bucket import TokenBucket
from weir.queueing.unfinished_work import UnfinishedWork
from weir.queueing.wait_histogram import Piece, WaitWindow

log = logging.getLogger(__name__)

Route = Callable[[str, Source], Sequence[Channel]]
OnMark = Callable[[Source, bytes], Awaitable[None]]

IN_FLIGHT = 4_000
"""The number of reliable messages on their way to targets at a time."""
_RETRY_S = 0.1
_SLICE_S = 0.004
"""Messages that wait at a gate pass in slices of this length, where the burst allows it."""
_LONGEST_WAIT_S = 0.25


class Pump:
    """Move the messages of one source. `open` and `shut` start and stop it before its next
    message."""

    def __init__(
        self,
        driver: Driver,
        source: Source,
        *,
        route: Route,
        on_mark: OnMark,
        unsure: Callable[[Source], bool] = lambda _: False,
        memory: Pool | None = None,
        gated: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take `unsure`, which returns whether some neighbour may want messages that it is not
        sent, and `memory`, which bounds reliable messages on their way together with other
        pumps."""
        self.source = source
        self.passed = 0
        """Messages that left through the gate, or came over the link."""
        self.sent: dict[str, int] = {}
        """Neighbour -> messages sent to it."""
        self.sized = (0, 0)
        """Bytes of payloads and number of the messages that left; 0 of those that came over a
        link."""
        self.acked = (0.0, 0)
        """Seconds until the broker had stored a batch, summed, and the number of batches."""
        self.lost: dict[str, int] = {}
        """Flow -> best-effort messages that may not have reached everybody who wants them."""
        self.left: dict[str, int] = {}
        """Flow -> best-effort messages that were read but did not reach all their targets."""
        self.problem = ""
        self.fault = ""
        """An unexpected error, as a sentence; empty again once messages move."""
        self._driver = driver
        self._route = route
        self._unsure = unsure
        self._memory = memory or Pool(DEFAULT_MIB * MIB)
        self._on_mark = on_mark
        self._gated = gated
        self._clock = clock
        self._bucket: TokenBucket | None = None
        self.counting: CountingBucket | None = None
        """What the broker's part of a bucket would hold, where that is only counted."""
        self.waits: WaitWindow | None = None
        """How long messages waited, from their arrival until they left through the gate; None
        without one."""
        self.profile: Profile | None = None
        """The same since the part of a bucket and the list of publishers were set; None where no
        part is enforced."""
        self.delays = DelayCounts()
        """How long messages of this flow waited here, also where no gate is set, since that was
        last taken."""
        self._profiled: ProfileKey | None = None
        self._unfinished: UnfinishedWork | None = None
        """What is unfinished at the gate; None where no part of a bucket is enforced."""
        self._counted, self._measured = _Newest(), _Newest()
        self._read_up_to = ReadUpTo()
        self._may_move = asyncio.Event()
        self._gate_changed = asyncio.Event()
        self._moving: deque[tuple[asyncio.Future[list[None]], Batch, int]] = deque()
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._room = asyncio.Event()
        self._room.set()
        self._held, self._flow = 0, ""
        self._work = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name=f"pump {source.flow}{source.neighbour}")

    @property
    def limit(self) -> tuple[float, float] | None:
        """Return the rate in messages per second and the bucket in messages that the gate holds to;
        None: it lets everything pass."""
        return None if self._bucket is None else (self._bucket.rate_per_s, self._bucket.burst)

    # --- control

    def open(self) -> None:
        """Start to move messages of the source."""
        if self.profile is not None and not self._may_move.is_set():
            self.profile.opened(self._clock())
        self._may_move.set()

    def shut(self) -> None:
        """Stop before the next message; messages that were forwarded still arrive."""
        self._may_move.clear()

    def set_gate(self, gate: Gate | None, now: float) -> None:
        """Set the rate and burst, or let everything pass with None. A new gate begins empty, so
        that its limit also holds over restarts."""
        if gate is None:
            self._bucket = self.waits = None
        elif self._bucket is None:
            self.waits = WaitWindow()
            self._bucket = TokenBucket(
                rate_per_s=gate.rate_per_s, burst=gate.burst, now=now, level=0.0, collects=True
            )
        elif (gate.rate_per_s, gate.burst) != (self._bucket.rate_per_s, self._bucket.burst):
            if self._unfinished is not None:
                level = self._bucket.level(now)
                self._unfinished.change(
                    now, rate_per_s=gate.rate_per_s, size=gate.burst, level=level
                )
            self._bucket.change(now, rate_per_s=gate.rate_per_s, burst=gate.burst)
        self._begin_profile(now)
        self._gate_changed.set()

    def set_profile(self, key: ProfileKey | None, now: float) -> None:
        """Begin a profile where this is not what the present one belongs to; None: have none."""
        if key != self._profiled:
            self._profiled, self.profile = key, None
            self._begin_profile(now)

    def _begin_profile(self, now: float) -> None:
        """Begin a profile once the gate is what it belongs to, and end it with the gate. What is
        unfinished there goes on when a part changes."""
        key, gate = self._profiled, self._bucket
        if key is None or gate is None:
            self._unfinished = None
        elif self._unfinished is None:
            level = gate.level(now)
            self._unfinished = UnfinishedWork(
                rate_per_s=gate.rate_per_s, size=gate.burst, level=level, now=now
            )
        if key is None or gate is None or not key.fits(gate):
            self.profile = None
        elif self.profile is None:
            self.profile = Profile(key, gate, now)

    def unfinished(
        self, now: float, *, backlog: int, room: Room | None
    ) -> tuple[float, int] | None:
        """Return the largest unfinished work at the gate since the last call, and how many messages
        wait there now; None where no part of a bucket is enforced. `backlog` is what the source
        holds, `room` what its product says of it."""
        work, bucket = self._unfinished, self._bucket
        if work is None or bucket is None:
            return None
        if self.source.delivery is Delivery.BEST_EFFORT:
            unread = backlog
        else:
            known = self._read_up_to.unread(backlog, room)
            # Without numbers: messages stay in the source until they are settled.
            settling = self._held + self._in_flight
            unread = max(0, backlog - settling) if known is None else known
        level, read = bucket.level(now), self._held
        return work.reading(now, level=level, read=read, unread=unread), read + unread

    @property
    def waiting(self) -> int:
        """Return the number of messages read and not yet forwarded."""
        return self._held

    async def drained(self) -> None:
        """Wait until all forwarded messages are held by their targets, and settled.

        The source may purge them a little later: targets discard messages that are read again.
        """
        await self._idle.wait()

    async def close(self) -> None:
        """End the pump; its successor reads what is not settled."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    # --- moving

    async def _run(self) -> None:
        while True:
            settling = asyncio.create_task(self._settle())
            reading = asyncio.create_task(self._read())
            try:
                done, _ = await asyncio.wait(
                    (settling, reading), return_when=asyncio.FIRST_COMPLETED
                )
                error = next((t.exception() for t in done if t.exception()), None)
            finally:
                for task in (settling, reading):
                    task.cancel()
                await asyncio.gather(settling, reading, return_exceptions=True)
                self._reset()
            if error is not None and not isinstance(error, DriverError):
                log.error("pump %s: unexpected error", self.source, exc_info=error)
                name = self.source.flow or self.source.neighbour
                self.fault = f"{name} is not forwarded: {type(error).__name__}: {error}"
            self.problem = str(error or "the source ended")
            log.info("pump %s: %s", self.source, self.problem)
            await asyncio.sleep(_RETRY_S)

    def _reset(self) -> None:
        for futures, _, held_bytes in self._moving:
            futures.cancel()
            self._memory.give(held_bytes)
        self._moving.clear()
        if self._held and self.source.delivery is Delivery.BEST_EFFORT:
            self.left[self._flow] = self.left.get(self._flow, 0) + self._held
        self._in_flight = self._held = 0
        self._idle.set()
        self._room.set()

    async def _read(self) -> None:
        reliable = self.source.delivery is Delivery.RELIABLE
        async for batch in self._driver.read(self.source):
            first = batch.messages[0]
            # A mark is no message.
            self._held, self._flow = 0 if first.mark else len(batch.messages), first.flow
            self._read_up_to.take(batch)
            if not first.mark and (self.counting is not None or self._unfinished is not None):
                self._count(batch)
            while not self._may_move.is_set():
                await self._may_move.wait()
            if first.mark:
                await self._mark(batch)
            elif self._gated:
                await self._through_gate(batch, reliable)
            elif reliable:
                await self._hand_on(batch)
            else:
                await self._pass_on(batch)
            self._held = 0
            self.fault = ""

    async def _mark(self, batch: Batch) -> None:
        await self.drained()
        await self._on_mark(self.source, batch.messages[0].payload)
        await self._driver.settle(batch)

    async def _through_gate(self, batch: Batch, reliable: bool) -> None:
        messages, arrived_at = batch.messages, batch.arrived_at
        start, count = 0, len(messages)
        while start < count:
            while not self._may_move.is_set():
                await self._may_move.wait()
            bucket = self._bucket
            if bucket is None:
                passed = count - start
            else:
                now = self._clock()
                passed = bucket.take(now, count - start)
                if not passed:
                    await self._wait_for_tokens(bucket, now, count - start)
                    continue
            piece = batch
            if passed < count:
                end = start + passed
                token = batch.token if end == count else None
                piece = Batch(
                    *(batch.source, messages[start:end], token, batch.life),
                    arrived_at[start:end],
                )
            start += passed
            if reliable:
                await self._hand_on(piece)
            else:
                await self._pass_on(piece)
            self._held = count - start

    async def _wait_for_tokens(self, bucket: TokenBucket, now: float, wanted: int) -> None:
        """Wait until tokens are available, or the gate has changed."""
        # Wait for a slice of tokens, but never for so many that a late wake-up overflows.
        slice_ = min(wanted, int(bucket.rate_per_s * _SLICE_S), int(bucket.burst / 2))
        wait_s = min(bucket.wait_s(now, max(1, slice_)), _LONGEST_WAIT_S)
        self._gate_changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._gate_changed.wait()

    def _count(self, batch: Batch) -> None:
        """Count what a part would hold, or what is unfinished at it, by when messages arrived:
        neither a gate nor a pause changes that."""
        known = self._counted.known(batch.messages)
        arrived_at = batch.arrived_at
        if not arrived_at:
            arrived_at = [self._clock()] * len(batch.messages)
        if known:
            arrived_at = arrived_at[known:]
        if self.counting is not None:
            self.counting.count_arrivals(arrived_at)
        if self._unfinished is not None:
            self._unfinished.count(arrived_at)

    def _measure(self, batch: Batch) -> None:
        """Measure the size of the messages that leave now, and how long each has waited."""
        if self.source.flow:
            size, number = self.sized
            size += sum([len(message.payload) for message in batch.messages])
            self.sized = (size, number + len(batch.messages))
        if self._gated and batch.arrived_at:
            known = self._measured.known(batch.messages)
            arrived_at = batch.arrived_at[known:] if known else batch.arrived_at
            now = self._clock()
            piece = Piece.of(now, arrived_at)
            self.delays.count(piece)
            if self.waits is not None:
                self.waits.count(now, piece)
            if self.profile is not None:
                self.profile.count(now, arrived_at, piece)

    async def _pass_on(self, batch: Batch) -> None:
        messages = batch.messages
        count = len(messages)
        self._measure(batch)
        self._idle.clear()
        if self._unsure(self.source):
            flow = messages[0].flow
            self.lost[flow] = self.lost.get(flow, 0) + count
        for channel in self._route(messages[0].flow, self.source):
            if channel.neighbour:
                self.sent[channel.neighbour] = self.sent.get(channel.neighbour, 0) + count
            await self._driver.publish(channel, messages)
        self.passed += count
        self._idle.set()

    async def _hand_on(self, batch: Batch) -> None:
        count = len(batch.messages)
        while self._in_flight > IN_FLIGHT or (self._in_flight and self._memory.full):
            self._room.clear()
            self._memory.on_room(self._room.set)
            await self._room.wait()
            while not self._may_move.is_set():
                await self._may_move.wait()
        # Do not await from here on: the tables must not change meanwhile.
        self.passed += count
        self._in_flight += count
        held_bytes = _size(batch)
        self._memory.take(held_bytes)
        self._measure(batch)
        self._idle.clear()
        publishing = []
        for channel in self._route(batch.messages[0].flow, self.source):
            if channel.neighbour:
                self.sent[channel.neighbour] = self.sent.get(channel.neighbour, 0) + count
            publishing.append(asyncio.create_task(self._publish(channel, batch.messages)))
        self._moving.append((asyncio.gather(*publishing), batch, held_bytes))
        self._work.set()

    async def _publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        began = self._clock()
        await self._driver.publish(channel, messages)
        seconds, number = self.acked
        self.acked = (seconds + self._clock() - began, number + 1)

    async def _settle(self) -> None:
        while True:
            while self._moving:
                futures, batch, held_bytes = self._moving[0]
                await futures
                await self._driver.settle(batch)
                self._moving.popleft()
                self._memory.give(held_bytes)
                self._in_flight -= len(batch.messages)
                self._room.set()
            self._idle.set()
            self.problem = ""
            self._work.clear()
            await self._work.wait()


class _Newest:
    """The newest message of each origin: a pump that begins again reads some a second time."""

    def __init__(self) -> None:
        self._positions: dict[str, int] = {}

    def known(self, messages: Sequence[Message]) -> int:
        """Return how many messages at the beginning were there before, and take all of them.

        Best-effort messages of products that number none are never read twice.
        """
        first, last = messages[0], messages[-1]
        known = 0
        if last.position:
            if first.position <= self._positions.get(first.origin, 0):
                for message in messages:
                    if message.position > self._positions.get(message.origin, 0):
                        break
                    known += 1
            before = self._positions.get(last.origin, 0)
            self._positions[last.origin] = max(before, last.position)
        return known


class ReadUpTo:
    """How far a source was read, by positions that rise within one stream."""

    def __init__(self) -> None:
        self._made = ""
        self._position: int | None = None

    def take(self, batch: Batch) -> None:
        """Take what was read; what is read again, after a failure, waits again from there on."""
        self._made, self._position = batch.made, batch.messages[-1].position

    def unread(self, backlog: int, room: Room | None) -> int | None:
        """Return how many of the messages in the source were not read; None where the product does
        not number them."""
        if room is None or room.newest is None:
            return None
        if self._position is None or room.made != self._made:
            # Numbers of what passed before this pump began, or of a stream that is gone.
            return backlog
        # Numbers rise by more than one where messages were deleted.
        return min(backlog, max(0, room.newest - self._position))


def _size(batch: Batch) -> int:
    return sum([len(message.payload) + len(message.headers) for message in batch.messages])
