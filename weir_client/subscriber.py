"""Receive flows at one NATS broker, from whatever streams they are on.

    async with await Subscriber.connect("nats://broker:4222", name="desk-7", key=KEY) as desk:
        await desk.want("quotes.eurusd", "quotes.usdjpy")
        async for message in desk.messages():
            print(message.flow, message.payload)

Who listens to a group gets all of its streams; the client drops what it did not ask for, and counts
it (`filtered`). It follows flows that move by itself. What it knows to be lost comes as `Lost`,
between the messages, where it belongs.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import nats

from weir_client import subjects
from weir_client.frames import Place, frame_from_bytes, reply_to_bytes
from weir_client.receiving import FlowReceiver, Lost, Quality, Received

SUBSCRIBER_USER = "subscriber"
PLACE_S = 2.0
"""How long the agent may take to say where flows are."""
AGAIN_S = 0.5
"""The pause before it is asked again."""
FORGET_S = 1.0
"""How often streams that nobody needs any more are looked for."""
MOST_WAITING = 100_000
"""Messages that wait for whoever iterates over them; more are dropped, and reported as lost."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a flow."""

    flow: str
    sender: str
    life: int
    number: int
    """It counts the messages of the flow by one life of one sender, from 1."""
    payload: bytes


@dataclass(slots=True)
class Filtered:
    """What came and was not asked for, since the client began."""

    streams: int = 0
    """Frames of streams that carry nothing that is wanted, dropped by their stream alone."""
    flows: int = 0
    """Messages of flows that are not wanted, on streams that carry wanted ones."""


class Subscriber:
    """A client that receives flows. Use `connect`."""

    def __init__(self, client: Any, *, name: str, quality: Quality, wait_s: float) -> None:
        self.filtered = Filtered()
        self._client = client
        self._name = name
        self._quality = quality
        self._wait_s = wait_s
        self._flows: dict[str, FlowReceiver] = {}
        self._groups: dict[int, Any] = {}
        """Group -> subscription."""
        self._needed: frozenset[Place] = frozenset()
        self._arrived: asyncio.Queue[Message | Lost] = asyncio.Queue(MOST_WAITING)
        self._changed = asyncio.Event()
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
        **options: Any,
    ) -> Subscriber:
        """Connect under a name of one's own, with the key of the system's clients. `options` are
        those of `nats.connect`. Raises what that raises."""
        options = {"max_reconnect_attempts": -1, "reconnect_time_wait": 0.2, **options}
        subscriber: Subscriber
        # Two clients of one name are two receivers.
        name = f"{name}/{secrets.token_hex(4)}"

        async def back() -> None:
            subscriber._changed.set()
            await subscriber._locate(list(subscriber._flows))

        client = await nats.connect(
            url,
            name=name,
            user=SUBSCRIBER_USER,
            password=key,
            inbox_prefix=subjects.INBOX,
            reconnected_cb=back,
            **options,
        )
        subscriber = cls(client, name=name, quality=quality, wait_s=wait_s)
        await subscriber._open()
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
        """Stop receiving, and disconnect."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()

    async def want(self, *flows: str) -> None:
        """Receive these flows from now on, and no others. Returns once the broker knows where they
        are and sends them."""
        for flow in set(self._flows) - set(flows):
            del self._flows[flow]
        new = [flow for flow in flows if flow not in self._flows]
        for flow in new:
            self._flows[flow] = FlowReceiver(
                flow, self._name, quality=self._quality, wait_s=self._wait_s
            )
        await self._locate(new)
        await self._client.flush()
        await self._say_wants()

    async def messages(self) -> AsyncIterator[Message | Lost]:
        """Yield messages as they come, and what is known to be lost."""
        while True:
            yield await self._arrived.get()

    # --- the agent

    async def _open(self) -> None:
        await self._client.subscribe(subjects.PLACED, cb=self._on_placed)
        await self._client.subscribe(subjects.WHO, cb=self._on_who)
        await self._client.flush()
        self._tasks = [asyncio.create_task(self._wake()), asyncio.create_task(self._locate_rest())]

    async def _locate(self, flows: Iterable[str]) -> None:
        """Ask the agent where flows are; whoever it does not answer is asked for again later."""
        names = list(flows)
        if not names:
            return
        try:
            answer = await self._client.request(
                subjects.PLACE, json.dumps(names).encode(), timeout=PLACE_S
            )
        except (nats.errors.Error, TimeoutError):
            return
        await self._take_places(json.loads(answer.data))

    async def _locate_rest(self) -> None:
        while True:
            await asyncio.sleep(AGAIN_S)
            await self._locate([flow for flow, each in self._flows.items() if not each.mapped])

    async def _on_placed(self, message: Any) -> None:
        await self._take_places(json.loads(message.data))

    async def _on_who(self, _: Any) -> None:
        await self._say_wants()

    async def _say_wants(self) -> None:
        wants = {"receiver": self._name, "flows": sorted(self._flows)}
        await self._client.publish(subjects.WANT, json.dumps(wants).encode())

    async def _take_places(self, places: dict[str, list[list[int]]]) -> None:
        for flow, where in places.items():
            receiver = self._flows.get(flow)
            if receiver is not None:
                receiver.mapped = frozenset(Place(*each) for each in where)
        await self._listen()

    # --- streams

    async def _listen(self) -> None:
        """Subscribe to the groups of all streams that are needed, and leave the others."""
        now = time.monotonic()
        needed: set[Place] = set()
        for receiver in self._flows.values():
            needed |= receiver.places(now)
        self._needed = frozenset(needed)
        groups = {place.group for place in needed}
        for group in groups - self._groups.keys():
            self._groups[group] = None
            self._groups[group] = await self._client.subscribe(
                subjects.group_subject(group), cb=self._on_frame, pending_msgs_limit=-1
            )
        for group in self._groups.keys() - groups:
            subscription = self._groups.pop(group)
            if subscription is not None:
                await subscription.unsubscribe()

    async def _on_frame(self, message: Any) -> None:
        place = subjects.place_of(message.subject)
        if place not in self._needed:
            self.filtered.streams += 1
            return
        frame = frame_from_bytes(message.data)
        receiver = self._flows.get(frame.flow)
        if receiver is None:
            self.filtered.flows += 1
            return
        received = receiver.take(place, frame, time.monotonic())
        await self._act(receiver, received)

    async def _act(self, receiver: FlowReceiver, received: Received) -> None:
        for lost in received.lost:
            self._arrived.put_nowait(lost)
        for frame in received.messages:
            self._arrived.put_nowait(
                Message(frame.flow, frame.sender, frame.life, frame.number, frame.payload)
            )
        if received.replies or receiver.wake_at() is not None:
            await self._listen()
            self._changed.set()
        for reply in received.replies:
            subject = subjects.reply_subject(reply.flow)
            await self._client.publish(subject, reply_to_bytes(reply))

    async def _wake(self) -> None:
        """Give up in time what receivers wait for, and leave streams that nobody needs."""
        while True:
            now = time.monotonic()
            for receiver in list(self._flows.values()):
                wake_at = receiver.wake_at()
                if wake_at is not None and wake_at <= now:
                    await self._act(receiver, receiver.wake(now))
            await self._listen()
            waits = [each.wake_at() for each in self._flows.values()]
            next_at = min((at for at in waits if at is not None), default=now + FORGET_S)
            self._changed.clear()
            try:
                async with asyncio.timeout(max(0.0, min(next_at, now + FORGET_S) - now)):
                    await self._changed.wait()
            except TimeoutError:
                continue
