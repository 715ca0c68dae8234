"""Read one kept stream from a number on, with a durable consumer that has the reader's name."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from nats import errors

from weir_client import subjects
from weir_client.frames import Place

AGAIN_S = 0.2
WINDOW = 500
"""Messages that wait here at most."""
EXPIRES_S = 10.0
BEAT_S = 1.0
SILENT_S = 4.0
"""A pull of which nothing is heard for so long is not known to the broker any more."""
FORGOTTEN_S = 31 * 24 * 3600
"""A reader that is away for longer than any message is kept begins anew."""
_NANOSECONDS = 1_000_000_000
_NO_CONSUMER = 10014


class Item(NamedTuple):
    """A message of a stream, as it was read."""

    number: int
    flow: str
    origin: str
    payload: bytes
    headers: Mapping[str, str]
    reply: str

    @property
    def is_signal(self) -> bool:
        return self.origin == subjects.SIGNAL

    @property
    def is_memory(self) -> bool:
        """Return whether it only says to the agent which messages are known."""
        return "Weir-Memory" in self.headers


class StreamReading:
    """One consumer, and what it has brought. Call `open`, then take from `waiting`."""

    def __init__(
        self,
        client: Any,
        place: Place,
        reader: str,
        *,
        lane: int,
        generation: int,
        news: Callable[[], None],
        broken: Callable[[], None],
    ) -> None:
        """Take what is called when something has come, and when this consumer brings nothing any
        more (`is_broken`)."""
        self.generation = generation
        self.waiting: deque[Item] = deque()
        self.received = 0
        """The last number that has come."""
        self.is_broken = False
        self._client = client
        self._stream = subjects.kept_stream(place)
        self._filter = f"{subjects.kept_subject(place)}.>"
        self._consumers = [subjects.consumer_of(reader, lane) for lane in subjects.LANES]
        self._lane = lane
        self._news = news
        self._broken = broken
        self._room = asyncio.Event()
        self._wanted = 0
        """Messages that the broker may still send for the last pull."""
        self._heard_at = 0.0
        self._inbox = ""
        self._subscription: Any = None
        self._task: asyncio.Task[None] | None = None

    async def open(self, start: int) -> None:
        """Begin to read, and let no other consumer of this reader be. Raises what the client of
        NATS raises."""
        await self._delete(self._lane)
        consumer = self._consumers[self._lane]
        config = {
            "durable_name": consumer,
            "name": consumer,
            "description": str(self.generation),
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": max(1, start),
            "ack_policy": "all",
            # Whoever takes over begins anew where this one was acknowledged.
            "ack_wait": FORGOTTEN_S * _NANOSECONDS,
            "max_ack_pending": 4 * WINDOW,
            "max_deliver": -1,
            "filter_subject": self._filter,
            "inactive_threshold": FORGOTTEN_S * _NANOSECONDS,
            "replay_policy": "instant",
        }
        answer = await ask(
            self._client,
            f"CONSUMER.CREATE.{self._stream}.{consumer}.{self._filter}",
            {"stream_name": self._stream, "config": config, "action": "create"},
        )
        if "error" in answer:
            raise errors.Error(f"{self._stream}: {answer['error'].get('description')}")
        self._inbox = self._client.new_inbox()
        self._subscription = await self._client.subscribe(
            f"{self._inbox}.*", cb=self._on_message, pending_msgs_limit=-1
        )
        await self._delete(1 - self._lane)
        self._task = asyncio.create_task(self._pull())

    async def close(self) -> None:
        """Stop reading; the consumer stays."""
        task, self._task = self._task, None
        if task is not None:
            await end(task)
        if self._subscription is not None:
            with suppress(errors.Error):
                await self._subscription.unsubscribe()

    async def remove(self) -> None:
        """Delete the consumer of a stream that is not read any more. One that stays because the
        broker is away is forgotten in time."""
        with suppress(errors.Error, TimeoutError):
            await self._delete(self._lane)

    def take(self) -> Item:
        """Return the first of those that wait."""
        item = self.waiting.popleft()
        self._room.set()
        return item

    async def _delete(self, lane: int) -> None:
        await ask(self._client, f"CONSUMER.DELETE.{self._stream}.{self._consumers[lane]}")

    async def _pull(self) -> None:
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._consumers[self._lane]}"
        number = 0
        while not self.is_broken:
            self._room.clear()
            now = time.monotonic()
            room = WINDOW - len(self.waiting)
            if self._wanted and now > self._heard_at + SILENT_S:
                self._break()
                return
            if not self._wanted and room >= WINDOW // 2:
                number += 1
                self._wanted, self._heard_at = room, now
                request = {
                    "batch": room,
                    "expires": int(EXPIRES_S * _NANOSECONDS),
                    "idle_heartbeat": int(BEAT_S * _NANOSECONDS),
                }
                with suppress(errors.Error):
                    await self._client.publish(
                        subject, json.dumps(request).encode(), reply=f"{self._inbox}.{number}"
                    )
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT_S):
                    await self._room.wait()

    async def _on_message(self, message: Any) -> None:
        self._heard_at = time.monotonic()
        headers = message.headers or {}
        status = headers.get("Status")
        if status is not None and not message.reply.startswith("$JS.ACK."):
            if status == "100":
                return
            if status in ("404", "408") or "Batch Completed" in headers.get("Description", ""):
                self._wanted = 0
                self._room.set()
            else:
                self._break()
            return
        number = message.metadata.sequence.stream
        flow, origin = message.subject.split(".")[-2:]
        self._wanted = max(0, self._wanted - 1)
        if number > self.received:
            self.received = number
            name = subjects.name_of(flow)
            self.waiting.append(Item(number, name, origin, message.data, headers, message.reply))
        self._room.set()
        self._news()

    def _break(self) -> None:
        self.is_broken = True
        self._room.set()
        self._broken()


async def ask(client: Any, subject: str, body: Any = None) -> Any:
    """Make one request of the JetStream API; return its answer, also when that is a refusal."""
    data = b"" if body is None else json.dumps(body).encode()
    answer = await client.request(f"$JS.API.{subject}", data, timeout=2)
    return json.loads(answer.data)


async def end(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks until they have ended: the client of NATS waits in a way that may lose a
    cancellation, before Python 3.12."""
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=0.5)
    await asyncio.gather(*tasks, return_exceptions=True)
