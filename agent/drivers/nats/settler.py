"""Purges a stream up to what was settled, a few times a second: a purge costs the server the
rewriting of a block, a message only its bytes."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from agent.drivers.base import DriverError
from agent.drivers.nats import jetstream
from agent.drivers.nats.session import Session

log = logging.getLogger(__name__)

_EVERY_S = 0.2


class Settler:
    """The acknowledgements of one source. What is not purged when we die is read again, and left
    out by whoever has it already."""

    def __init__(self, session: Session, stream: str) -> None:
        self._session = session
        self._stream = stream
        self._wanted = 0
        self._done = 0
        self._work = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name=f"settler {stream}")

    def settle(self, sequence: int) -> None:
        """Everything up to `sequence` may go. A smaller one than before begins a new life of the
        stream: sequences rise within one."""
        if sequence < self._wanted:
            self._done = 0
        self._wanted = sequence
        self._work.set()

    async def close(self) -> None:
        """Settle no more; what was settled and not yet purged is read again by somebody."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            sequence = self._wanted
            if sequence > self._done:
                connection = await self._session.connection()
                try:
                    await jetstream.purge_before(connection, self._stream, sequence + 1)
                    self._done = sequence
                except jetstream.JetStreamError as error:
                    if error.code != jetstream.NO_SUCH_STREAM:
                        log.warning("%s: cannot be purged: %s", self._stream, error)
                    self._done = sequence
                except DriverError as error:
                    log.info("%s: %s", self._stream, error)
                    self._work.set()
                    await asyncio.sleep(_EVERY_S)
                    continue
            await asyncio.sleep(_EVERY_S)
