"""Our end of an overlay link: a session at the neighbour's server, subscribed to our outbox."""

from __future__ import annotations

import asyncio

from agent.drivers.base import Retryable, Source
from agent.drivers.nats import jetstream, names
from agent.drivers.nats.core_reader import CoreReader
from agent.drivers.nats.session import Session
from weir.coordination.wire import Delivery

READY_S = 4.0
"""How long a link may take to be ready. Longer than the first attempt at a shift waits, shorter
than the later ones: a busy machine gets more time, and who cannot reach the other end says so."""
WAITING = 50_000
"""Best-effort messages that may wait here while intake is paused; more are shed."""


class Link:
    """Kept until closed, whatever happens to the neighbour's server."""

    def __init__(self, neighbour: str, address: str, url: str, *, own: str, reliable: bool) -> None:
        self.neighbour = neighbour
        self.address = address
        self._own = own
        self._reliable = reliable
        self.session = Session(url, name=f"weir link {own}").start()
        self.core = CoreReader(
            self.session,
            f"{names.OUT}.{names.token(own)}.*",
            Source(delivery=Delivery.BEST_EFFORT, neighbour=neighbour),
            FlowOfOutbox(),
            limit=WAITING,
        )

    async def ready(self, timeout_s: float = READY_S) -> None:
        """Returns when our outbox there can be read. Raises Retryable after `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.core.subscribed.wait()
                while self._reliable and not await self._outbox_exists():
                    await asyncio.sleep(0.02)
        except TimeoutError as error:
            why = self.session.problem or f"{self.neighbour} has no outbox for us"
            raise Retryable(why) from error

    async def _outbox_exists(self) -> bool:
        connection = await self.session.connection()
        return await jetstream.stream_state(connection, names.outbox_stream(self._own)) is not None

    async def close(self) -> None:
        """Leave the neighbour's server."""
        await self.core.close()
        await self.session.close()


class FlowOfOutbox:
    """The flow of an outbox subject, empty for marks."""

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def __call__(self, subject: bytes) -> str:
        flow = self._known.get(subject)
        if flow is None:
            word = subject.decode().rsplit(".", 1)[1]
            flow = "" if word == names.MARK else names.name_of(word)
            self._known[subject] = flow
        return flow
