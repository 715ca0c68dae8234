"""Stay connected to a server: open one connection after the other, until closed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Awaitable, Callable, Set

from agent.drivers.base import DriverError, Fenced, Retryable
from agent.drivers.nats.connection import Connection, Proof

log = logging.getLogger(__name__)

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.02, 1.0
GONE_S = 10.0
"""How long the server may need to read what it has of the connection before: it needs longer where
it cannot know that that one is lost."""

Greet = Callable[[Connection], Awaitable[None]]


class Session:
    """Reconnect for as long as it is open; callers that need the server wait in `connection`."""

    def __init__(
        self,
        url: Callable[[], str] | str,
        *,
        name: str,
        greet: Greet | None = None,
        inbox: str = "_INBOX",
        tls: ssl.SSLContext | None = None,
        proof: Proof | None = None,
        is_ordered: bool = False,
    ) -> None:
        """Take `greet`, which runs first on every connection. It raises Unsupported (nobody may use
        this server until it is another one), Fenced (the session does not connect again) or
        Retryable. For `inbox`, `tls` and `proof` see `Connection.open`. With `is_ordered` the
        server reads nothing more of one connection once there is the next, after `GONE_S` at the
        latest."""
        self._inbox = inbox
        self._tls = tls
        self._proof = proof
        self._url = url if callable(url) else lambda: url
        self._greet = greet
        self._is_ordered = is_ordered
        self.name = name
        self._current: Connection | None = None
        self._former: Connection | None = None
        """The one before, while the server may still read it, and where that matters."""
        self._there = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.problem = ""
        """Why there is no connection now; empty while there is one."""
        self._refusal: DriverError | None = None
        self._met = ""
        """The name of the server that the last attempt reached, whether it let us in or not."""
        self._known = ""
        """The name of the server that let us in last."""

    def start(self) -> Session:
        """Begin to connect, and return the session."""
        if self._task is None:
            self._refusal = None
            self._task = asyncio.create_task(self._keep(), name=f"session {self.name}")
        return self

    async def close(self) -> None:
        """Disconnect from the server; idempotent."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def end(self, error: Fenced) -> None:
        """Disconnect from the server for good; written bytes that are not sent yet are dropped."""
        self._refusal, self.problem = error, str(error)
        if self._task is not None:
            self._task.cancel()
        if self._current is not None:
            self._current.close(str(error), at_once=True)

    @property
    def current(self) -> Connection | None:
        """Return the live connection, if there is one that may be used now."""
        return self._current if self._current is not None and self._current.alive else None

    def meets(self, names: Set[str]) -> bool:
        """Return whether the last attempt reached the server that let us in before, or one of
        `names`."""
        return self.current is not None or bool(self._met and self._met in {*names, self._known})

    async def connection(self, timeout_s: float | None = None) -> Connection:
        """Wait for a live connection and return it. After `timeout_s` raises what `greet` raised
        last, Retryable if the server was not reached."""
        try:
            async with asyncio.timeout(timeout_s):
                while (current := self.current) is None:
                    self._there.clear()
                    await self._there.wait()
                return current
        except TimeoutError as error:
            raise (self._refusal or Retryable(self.problem or "not connected yet")) from error

    async def _keep(self) -> None:
        wait_s = _FIRST_WAIT_S
        try:
            while True:
                met: list[str] = []
                try:
                    self._current = await self._open(met.append)
                except DriverError as error:
                    self._met = "".join(met)
                    self.problem = str(error)
                    self._refusal = None if isinstance(error, Retryable) else error
                    if isinstance(error, Fenced):
                        return
                    await asyncio.sleep(wait_s)
                    wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
                    continue
                self.problem, self._refusal, wait_s = "", None, _FIRST_WAIT_S
                self._met = self._known = "".join(met)
                self._there.set()
                await self._current.lost.wait()
                if self._is_ordered:
                    self._former = self._current
                    self._former.cut()
                self.problem = self._current.reason or "connection lost"
                log.info("%s: %s", self.name, self.problem)
                # A server that accepts and closes connections at once must not cause a busy loop.
                await asyncio.sleep(_FIRST_WAIT_S)
        except Exception as error:
            # It would be seen by nobody before the session is closed.
            self.problem = f"a fault of the agent: {error!r}; its log has more"
            log.exception("%s: the session has ended by a fault", self.name)
            raise
        finally:
            if self._current is not None:
                self._current.close()
            self.problem = self.problem or "closed"

    async def _open(self, met: Callable[[str], None]) -> Connection:
        connection = await Connection.open(
            self._url(),
            name=self.name,
            inbox=self._inbox,
            tls=self._tls,
            proof=self._proof,
            met=met,
        )
        try:
            if self._greet is not None:
                await self._greet(connection)
            if self._former is not None:
                await self._outlive(connection, self._former)
                self._former = None
        except BaseException:
            connection.close("not greeted")
            raise
        return connection

    async def _outlive(self, connection: Connection, former: Connection) -> None:
        is_gone = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GONE_S):
                is_gone = await connection.until_gone(former)
        if not is_gone:
            log.warning("%s: the server may still read the connection before", self.name)
