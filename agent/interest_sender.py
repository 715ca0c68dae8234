"""Declare to each neighbour what this broker wants, until its broker stores it, and again from time
to time: a broker that has lost its disk has forgotten it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from agent.drivers.base import Driver, DriverError
from agent.tasks import Watched

Wanted = tuple[frozenset[str], str, bool]
"""The wanted flows, the epoch of their link, and whether this agent does not know yet what the
neighbour wants."""

_RETRY_S = 0.2
_LONGEST_RETRY_S = 5.0
AGAIN_S = 10.0


class InterestSender:
    """Send interest to neighbours and remember what was sent last; call `send` when it may have
    changed."""

    def __init__(
        self,
        driver: Driver,
        wanted: Callable[[str], Wanted | None],
        problems: dict[str, str],
        tasks: Watched,
    ) -> None:
        """Take `wanted`, which returns what this broker wants of a neighbour now, or None when it
        is not a neighbour or that is not known yet. `problems` takes the errors of sending."""
        self._driver = driver
        self._wanted = wanted
        self._problems = problems
        self._watched = tasks
        self._changed: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()

    def send(self, neighbour: str, *, again: bool = False) -> None:
        """Send the interest to a neighbour in the background; `again` even if it has not
        changed."""
        if again:
            self._again.add(neighbour)
        task = self._tasks.get(neighbour)
        if task is None or task.done():
            self._changed[neighbour] = asyncio.Event()
            self._tasks[neighbour] = self._watched.start(
                self._send(neighbour, self._changed[neighbour]), name=f"interest for {neighbour}"
            )
        self._changed[neighbour].set()

    def forget(self, neighbour: str) -> None:
        """Forget a former neighbour; should it be one again, it gets everything."""
        task = self._tasks.pop(neighbour, None)
        if task is not None:
            task.cancel()
        self._changed.pop(neighbour, None)
        self._again.discard(neighbour)
        self._problems.pop(_key(neighbour), None)

    async def _send(self, neighbour: str, changed: asyncio.Event) -> None:
        wait_s = _RETRY_S
        sent: Wanted | None = None
        loop = asyncio.get_running_loop()
        again_at = 0.0
        while (wanted := self._wanted(neighbour)) is not None:
            changed.clear()
            if sent == wanted and neighbour not in self._again:
                with contextlib.suppress(TimeoutError):
                    # Count from when it was sent: most calls of `send` bring nothing new.
                    async with asyncio.timeout_at(again_at):
                        await changed.wait()
                        continue
            self._again.discard(neighbour)
            flows, epoch, asks = wanted
            try:
                await self._driver.interest(neighbour, flows, epoch, asks=asks)
            except DriverError as error:
                self._problems[_key(neighbour)] = (
                    f"could not send the wanted flows to {neighbour}: {error}"
                )
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, _LONGEST_RETRY_S)
                continue
            sent, wait_s, again_at = wanted, _RETRY_S, loop.time() + AGAIN_S
            self._problems.pop(_key(neighbour), None)


def _key(neighbour: str) -> str:
    return f"interest {neighbour}"
