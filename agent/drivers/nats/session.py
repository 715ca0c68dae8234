"""A server we stay connected to: one connection after the other, until closed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from agent.drivers.base import Retryable
from agent.drivers.nats.connection import Connection

log = logging.getLogger(__name__)

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.02, 1.0


class Session:
    """Reconnects for as long as it is open; whoever needs the server waits in `connection`."""

    def __init__(self, url: Callable[[], str] | str, *, name: str) -> None:
        self._url = url if callable(url) else lambda: url
        self.name = name
        self._current: Connection | None = None
        self._there = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.problem = ""
        """Why there is no connection now; empty while there is one."""

    def start(self) -> Session:
        """Begin to connect. Returns itself."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep(), name=f"session {self.name}")
        return self

    async def close(self) -> None:
        """Leave the server; idempotent."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    @property
    def current(self) -> Connection | None:
        """The live connection, if there is one at this moment."""
        return self._current if self._current is not None and self._current.alive else None

    async def connection(self, timeout_s: float | None = None) -> Connection:
        """The live connection, waiting for one. Raises Retryable after `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.current is None:
                    self._there.clear()
                    await self._there.wait()
        except TimeoutError as error:
            raise Retryable(self.problem or "not connected yet") from error
        assert self._current is not None
        return self._current

    async def _keep(self) -> None:
        wait_s = _FIRST_WAIT_S
        try:
            while True:
                try:
                    self._current = await Connection.open(self._url(), name=self.name)
                except Retryable as error:
                    self.problem = str(error)
                    await asyncio.sleep(wait_s)
                    wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
                    continue
                self.problem, wait_s = "", _FIRST_WAIT_S
                self._there.set()
                await self._current.lost.wait()
                self.problem = self._current.reason or "connection lost"
                log.info("%s: %s", self.name, self.problem)
                # A server that accepts and drops us at once must not make us spin.
                await asyncio.sleep(_FIRST_WAIT_S)
        finally:
            if self._current is not None:
                self._current.close()
            self.problem = "closed"
