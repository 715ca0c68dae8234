"""Purge a stream up to what was settled, a few times a second: a purge makes the server rewrite a
block, a message only costs its bytes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from agent.drivers.base import DriverError
from agent.drivers.nats import jetstream
from agent.drivers.nats.session import Session

log = logging.getLogger(__name__)

_EVERY_S = 0.2


class Settler:
    """Acknowledge the messages of one source. What is not purged when the agent ends is read again,
    and left out by targets that have it already.

    A number means something only to the server process it was read from: the next one may have
    come up with an older disk and give the same numbers to other messages. So what was read from
    one process is never purged at another; it is read there again. And nothing is purged before
    `allowed` has said that nobody newer acts for us, after everything to be purged was handled
    (`agent.drivers.nats.fence` says why that is enough).
    """

    def __init__(
        self, session: Session, stream: str, allowed: Callable[[], Awaitable[None]]
    ) -> None:
        self._session = session
        self._stream = stream
        self._allowed = allowed
        self._server = ""
        self._wanted = 0
        self._done = 0
        self._work = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name=f"settler {stream}")

    def settle(self, sequence: int, server: str) -> None:
        """Let everything up to `sequence` be purged, as read from the process `server`."""
        if server != self._server or sequence < self._wanted:
            # Another process, or a new stream: numbers rise within one life only.
            self._server, self._done = server, 0
        self._wanted = sequence
        self._work.set()

    async def close(self) -> None:
        """Stop settling; what was settled and not yet purged is read again by a successor."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            sequence, server = self._wanted, self._server
            if sequence > self._done:
                try:
                    await self._allowed()
                    connection = await self._session.connection()
                    if connection.info.get("server_id", "") == server:
                        await jetstream.purge_before(connection, self._stream, sequence + 1)
                    self._settled(sequence, server)
                except jetstream.JetStreamError as error:
                    if error.code == jetstream.NO_SUCH_STREAM:
                        self._settled(sequence, server)
                    else:
                        log.warning("%s: cannot be purged: %s", self._stream, error)
                        self._work.set()
                except DriverError as error:
                    log.info("%s: %s", self._stream, error)
                    self._work.set()
            await asyncio.sleep(_EVERY_S)

    def _settled(self, sequence: int, server: str) -> None:
        if server == self._server and sequence <= self._wanted:
            self._done = sequence
