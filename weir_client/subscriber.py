"""Receive flows at one NATS broker, from whatever streams they are on.

    async with await Subscriber.connect("nats://broker:4222", name="desk-7", key=KEY) as desk:
        await desk.want("quotes.eurusd", "quotes.usdjpy")
        async for message in desk.messages():
            print(message)

Who listens to a group gets all of its streams; the client drops what is not wanted, and counts it
(`filtered`). It follows flows that move by itself, and hears groups by multicast where the agent
sends them so. What it knows to be lost comes as `Lost`,
between the messages, where it belongs.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any

from nats import errors

from weir_client import subjects
from weir_client.arrivals import MOST_WAITING, Arrivals, Message
from weir_client.following import end
from weir_client.frames import Place, frame_from_bytes, reply_to_bytes
from weir_client.groups import Groups, NatsGroup
from weir_client.multicast import GroupReader
from weir_client.receiving import FlowReceiver, Lost, Quality, Received
from weir_client.subscriber_login import PersistentClient, log_in
from weir_client.waking import WakeUps

__all__ = ["Filtered", "Lost", "Message", "Quality", "Subscriber"]

PLACE_S = 2.0
"""How long the agent may take to say where flows are, or how groups are sent."""
AGAIN_S = 0.5
"""The pause before the question is repeated; it doubles while there is no answer."""
AGAIN_MOST_S = 8.0
MOST_AT_ONCE = 1_000
"""Flows in one question, so that the answer is a message that a broker takes."""
_MOST_SUBJECTS = 65_536


@dataclass(slots=True)
class Filtered:
    """What came and was not wanted, since the client began."""

    streams: int = 0
    """Frames of streams that carry nothing that is wanted, dropped by their stream alone."""
    flows: int = 0
    """Frames of flows that are not wanted, on streams that carry wanted ones."""
    malformed: int = 0
    """What was no frame, or no answer of an agent."""
    strangers: int = 0
    """Datagrams in multicast groups that this broker's agent did not send, or by a former key."""


class Subscriber:
    """A client that receives flows. Use `connect`."""

    def __init__(
        self,
        client: Any,
        *,
        name: str,
        quality: Quality,
        wait_s: float,
        most_waiting: int = MOST_WAITING,
        interface: str = "",
        multicast: bool = True,
    ) -> None:
        self.filtered = Filtered()
        self._client = client
        self._name = name
        self._quality = quality
        self._wait_s = wait_s
        self._flows: dict[str, FlowReceiver] = {}
        self._unplaced: set[str] = set()
        """Flows of which it is not known where they are, or not any more."""
        self._places: dict[str, frozenset[Place]] = {}
        """Flow -> the streams that it needs."""
        self._streams: Counter[Place] = Counter()
        """Stream -> how many flows need it; none that nobody needs."""
        self._groups: Counter[int] = Counter()
        """The same of groups, counted by flow and stream."""
        self._regrouping = asyncio.Lock()
        self._is_regrouped = asyncio.Event()
        """Set when groups may have to be joined or left, or heard in another way."""
        self._wants_by_nats: bool | None = None
        """What the agent was last given to know; None before that."""
        self._subscriptions: dict[int, NatsGroup | GroupReader] = {}
        """Group -> how it is listened to now."""
        self._listening = Groups(
            client,
            interface=interface,
            multicast=multicast,
            on_message=self._on_frame,
            on_datagram=self._on_datagram,
            on_stranger=self._count_stranger,
            on_change=self._is_regrouped.set,
        )
        self._wake_ups = WakeUps()
        self._is_back = asyncio.Event()
        self._arrived = Arrivals(most_waiting)
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        name: str,
        key: str,
        quality: Quality = Quality.ORDERED,
        wait_s: float = 0.5,
        most_waiting: int = MOST_WAITING,
        interface: str = "",
        multicast: bool = True,
        **options: Any,
    ) -> Subscriber:
        """Connect under a name of one's own, with the key of the system's clients. `interface` is
        the IPv4 address of the interface to hear multicast on, unless it is where the route goes;
        without `multicast` the agent sends all by NATS. `options` are those of `nats.connect`;
        unless they say otherwise, a broker that is away or lets nobody in is tried again for ever:
        put a timeout around it. Raises what `nats.connect` raises."""
        # Two clients of one name are two receivers.
        name = f"{name}/{secrets.token_hex(4)}"
        subscriber = cls(
            PersistentClient(),
            name=name,
            quality=quality,
            wait_s=wait_s,
            most_waiting=most_waiting,
            interface=interface,
            multicast=multicast,
        )
        try:
            await log_in(
                subscriber._client,
                url,
                name=name,
                key=key,
                inbox=subjects.INBOX,
                back=subscriber._is_back.set,
                closed=subscriber._arrived.close,
                options=options,
            )
            await subscriber._open()
        except BaseException:
            await subscriber.close()
            raise
        return subscriber

    async def __aenter__(self) -> Subscriber:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop receiving, and disconnect. Whoever iterates gets what has come, then the end."""
        tasks, self._tasks = self._tasks, []
        await end(*tasks)
        self._arrived.close()
        await self._client.close()
        for listening in self._subscriptions.values():
            if isinstance(listening, GroupReader):
                await listening.leave()
        self._subscriptions.clear()

    async def want(self, *flows: str) -> None:
        """Receive these flows from now on, and no others. Returns once the broker sends those that
        the agent knows; for others the question is repeated until it does. Raises what the client
        of NATS raises while the broker is away: the flows are wanted as soon as it is back."""
        for flow in self._flows.keys() - set(flows):
            self._forget(flow)
        new = [flow for flow in dict.fromkeys(flows) if flow not in self._flows]
        for flow in new:
            self._flows[flow] = FlowReceiver(
                flow, self._name, quality=self._quality, wait_s=self._wait_s
            )
        self._unplaced.update(new)
        await self._locate(new)
        await self._regroup()
        await self._reach_broker()
        # Only now is it waited for: senders may begin a hand-over with the next message.
        await self._publish_wants()

    async def messages(self) -> AsyncIterator[Message | Lost]:
        """Yield messages as they come, and what is known to be lost, until this is closed."""
        while (each := await self._arrived.next()) is not None:
            yield each

    # --- the agent

    async def _open(self) -> None:
        await self._client.subscribe(subjects.PLACED, cb=self._on_placed)
        await self._client.subscribe(subjects.CARRIED, cb=self._on_carried)
        await self._client.subscribe(subjects.WHO, cb=self._on_who)
        await self._reach_broker()
        await self._ask_of_groups()
        hear = self._listening.run
        loops = (hear, self._wake, self._follow, self._locate_rest, self._come_back)
        self._tasks = [asyncio.create_task(loop()) for loop in loops]
        await self._listening.known()

    async def _reach_broker(self) -> None:
        """Return once the broker has taken all subscriptions until now."""
        # The first PING of this client overtakes what it has not written yet; the second does not.
        await self._client.flush()
        await self._client.flush()

    async def _ask_of_groups(self) -> None:
        """Ask the agent how groups are sent. One that is away says it when it comes."""
        with suppress(errors.TimeoutError, errors.NoRespondersError):
            answer = await self._client.request(subjects.CARRY, b"", timeout=PLACE_S)
            await self._on_carried(answer)

    async def _locate(self, flows: Iterable[str]) -> None:
        """Ask the agent where flows are; those of which it does not say stay in `_unplaced`."""
        names = list(flows)
        for first in range(0, len(names), MOST_AT_ONCE):
            question = json.dumps(names[first : first + MOST_AT_ONCE]).encode()
            try:
                answer = await self._client.request(subjects.PLACE, question, timeout=PLACE_S)
            except (errors.TimeoutError, errors.NoRespondersError):
                return
            self._take_places(answer.data)

    async def _locate_rest(self) -> None:
        pause_s = AGAIN_S
        while True:
            await asyncio.sleep(pause_s)
            before = len(self._unplaced)
            with suppress(errors.Error):
                await self._locate(self._unplaced)
            is_stuck = 0 < before <= len(self._unplaced)
            pause_s = min(pause_s * 2, AGAIN_MOST_S) if is_stuck else AGAIN_S

    async def _come_back(self) -> None:
        """After each reconnect, want again what was wanted: the agent dropped it with the
        connection, and flows may have moved meanwhile."""
        while True:
            await self._is_back.wait()
            self._is_back.clear()
            self._unplaced.update(self._flows)
            with suppress(errors.Error):
                await self._ask_of_groups()
                await self._publish_wants()
                await self._locate(self._unplaced)

    async def _on_placed(self, message: Any) -> None:
        self._take_places(message.data)

    async def _on_carried(self, message: Any) -> None:
        try:
            self._listening.take(message.data)
        except ValueError:
            self.filtered.malformed += 1

    async def _on_who(self, _: Any) -> None:
        with suppress(errors.Error):
            await self._publish_wants()

    async def _publish_wants(self) -> None:
        flows = sorted(self._flows)
        self._wants_by_nats = self._listening.by_nats
        for first in range(0, max(1, len(flows)), MOST_AT_ONCE):
            piece = flows[first : first + MOST_AT_ONCE]
            by = "nats" if self._wants_by_nats else "multicast"
            wants = {"receiver": self._name, "flows": piece, "more": first > 0, "by": by}
            await self._client.publish(subjects.WANT, json.dumps(wants).encode())

    def _take_places(self, data: bytes) -> None:
        try:
            places = _places_from_json(data)
        except ValueError:
            self.filtered.malformed += 1
            return
        for flow in places.keys() & self._flows.keys():
            self._flows[flow].mapped = places[flow]
            (self._unplaced.discard if places[flow] else self._unplaced.add)(flow)
            self._reckon(flow)

    # --- streams

    def _reckon(self, flow: str) -> None:
        """Take note of which streams a flow needs now, and of when it is to be woken."""
        receiver = self._flows[flow]
        self._need(flow, receiver.places(time.monotonic()))
        wake_at = receiver.wake_at()
        if wake_at is not None:
            self._wake_ups.wake(flow, wake_at)

    def _need(self, flow: str, after: frozenset[Place]) -> None:
        before = self._places.get(flow, frozenset())
        if after == before:
            return
        self._places[flow] = after
        for places, by in ((after - before, 1), (before - after, -1)):
            for place in places:
                _count(self._streams, place, by)
                _count(self._groups, place.group, by)
        self._is_regrouped.set()

    def _forget(self, flow: str) -> None:
        self._need(flow, frozenset())
        del self._flows[flow]
        self._places.pop(flow, None)
        self._wake_ups.remove(flow)
        self._unplaced.discard(flow)

    async def _follow(self) -> None:
        """Join and leave groups. Not where frames are taken: leaving a group ends the task that
        takes its frames."""
        while True:
            await self._is_regrouped.wait()
            try:
                await self._regroup()
            except errors.Error:
                self._is_regrouped.set()
                await asyncio.sleep(AGAIN_S)

    async def _regroup(self) -> None:
        async with self._regrouping:
            self._is_regrouped.clear()
            for group in tuple(self._groups):
                before = self._subscriptions.get(group)
                if before is not None and before.carried == self._listening.carried(group):
                    continue
                self._subscriptions[group] = await self._listening.listen(group)
                if before is not None:
                    await before.leave()
            for group in self._subscriptions.keys() - self._groups.keys():
                await self._subscriptions.pop(group).leave()
            if self._wants_by_nats not in (None, self._listening.by_nats):
                # Again: by now groups that were joined before may have to be heard otherwise.
                self._is_regrouped.set()
                await self._publish_wants()

    async def _on_frame(self, message: Any) -> None:
        try:
            place, flow = _place_and_flow(message.subject)
            if place not in self._streams:
                self.filtered.streams += 1
                return
            receiver = self._flows.get(flow)
            if receiver is None:
                self.filtered.flows += 1
                return
            frame = frame_from_bytes(message.data)
            if frame.flow != flow:
                raise ValueError(f"a frame of {frame.flow!r} on {message.subject!r}")
        except ValueError:
            self.filtered.malformed += 1
            return
        await self._act(flow, receiver.take(place, frame, time.monotonic()))

    async def _on_datagram(self, place: Place, data: bytes) -> None:
        if place not in self._streams:
            self.filtered.streams += 1
            return
        try:
            frame = frame_from_bytes(data)
        except ValueError:
            self.filtered.malformed += 1
            return
        receiver = self._flows.get(frame.flow)
        if receiver is None:
            self.filtered.flows += 1
            return
        await self._act(frame.flow, receiver.take(place, frame, time.monotonic()))

    def _count_stranger(self) -> None:
        self.filtered.strangers += 1

    async def _act(self, flow: str, received: Received) -> None:
        for lost in received.lost:
            self._arrived.lost(lost)
        for frame in received.messages:
            self._arrived.message(
                Message(frame.flow, frame.sender, frame.life, frame.number, frame.payload)
            )
        if received.is_changed:
            self._reckon(flow)
        for reply in received.replies:
            # A reply that is lost is asked for again: the sender repeats its signals.
            with suppress(errors.Error):
                subject = subjects.reply_subject(reply.flow)
                await self._client.publish(subject, reply_to_bytes(reply))

    async def _wake(self) -> None:
        """Give up in time what receivers wait for."""
        while True:
            now = time.monotonic()
            while (flow := self._wake_ups.next_due(now)) is not None:
                received = self._flows[flow].wake(now)
                received.is_changed = True
                await self._act(flow, received)
            await self._wake_ups.wait(now)


def _count(counter: Counter[Any], key: Any, by: int) -> None:
    counter[key] += by
    if counter[key] == 0:
        del counter[key]


@lru_cache(_MOST_SUBJECTS)
def _place_and_flow(subject: str) -> tuple[Place, str]:
    return subjects.place_of(subject), subjects.flow_of(subject)


def _places_from_json(data: bytes) -> dict[str, frozenset[Place]]:
    """Read where flows are. Raises ValueError for whatever is no object of lists of pairs."""
    try:
        placed = json.loads(data)
        return {
            flow: frozenset(_place(group, stream) for group, stream in where)
            for flow, where in placed.items()
        }
    except (AttributeError, TypeError, RecursionError) as error:
        raise ValueError(f"not where flows are: {error}") from error


def _place(group: Any, stream: Any) -> Place:
    for number in (group, stream):
        if type(number) is not int or not 0 <= number < 2**32:
            raise ValueError(f"no number of a stream or group: {number!r}")
    return Place(group, stream)
