"""A reliable flow of the map: what its publisher sends, and what a reader elsewhere gets of it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agent.tasks import end
from config.stack.parts import brokers
from tests.e2e.fleet import Fleet
from weir_client.publisher import Publisher
from weir_client.reliable import KEPT, Lost, ReliableSubscriber

EVERY_S = 0.02


class KeptFlow:
    """A publisher that numbers its messages, and a reader; they run beside the browser's loop."""

    def __init__(self, fleet: Fleet, flow: str, *, source: str, reader: str) -> None:
        """`source` and `reader`: the brokers that they connect to."""
        self.sent_at: list[float] = []
        """Unix time at which each message was acknowledged, the first of which has number 1."""
        self.received: list[int] = []
        self.lost: list[Lost] = []
        self._flow = flow
        self._source = brokers.address_of(fleet.weir.site, source)
        self._reader = brokers.address_of(fleet.weir.site, reader)
        self._key = fleet.weir.site.secrets["clients"]
        self._loop = asyncio.new_event_loop()
        self._over, self._enough = asyncio.Event(), asyncio.Event()
        self._failures: list[BaseException] = []
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._live(),))

    def __enter__(self) -> "KeptFlow":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(60)
        self._loop.close()

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Send for a while, each message when the last is acknowledged, and come back when the
        reader has the last one."""
        self._enough.clear()
        sending = asyncio.run_coroutine_threadsafe(self._send(), self._loop)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._enough.set)
            sending.result(60)
        self.wait(lambda: self.received[-1:] == [len(self.sent_at)])

    def wait(self, is_so: Callable[[], bool], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not is_so():
            assert self._failures == []
            assert time.monotonic() < deadline, (len(self.sent_at), self.received[-5:], self.lost)
            time.sleep(0.1)

    async def _live(self) -> None:
        reader = asyncio.create_task(self._read())
        await self._over.wait()
        await end(reader)

    async def _read(self) -> None:
        try:
            async with await ReliableSubscriber.connect(
                self._reader, name=f"reader of {self._flow}", key=self._key
            ) as reader:
                await reader.want(self._flow, start=KEPT)
                async for each in reader.messages():
                    if isinstance(each, Lost):
                        self.lost.append(each)
                    else:
                        self.received.append(int(each.payload))
        except Exception as error:
            self._failures.append(error)

    async def _send(self) -> None:
        async with await Publisher.connect(
            self._source, name=f"publisher of {self._flow}", key=self._key
        ) as feed:
            while not self._enough.is_set():
                number = len(self.sent_at) + 1
                await feed.publish(self._flow, str(number).encode(), reliable=True)
                self.sent_at.append(time.time())
                await asyncio.sleep(EVERY_S)
