"""Lets each neighbour know what we want of it: in the background, until its broker keeps it, and
again now and then: a broker that has lost its disk has forgotten it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from agent.drivers.base import Driver, DriverError
from agent.tasks import Watched

Wanted = tuple[frozenset[str], str, bool]
"""Flows, the epoch of the link they are wanted over, and whether we do not know yet what the
neighbour wants of us."""

_RETRY_S = 0.2
_LONGEST_RETRY_S = 5.0
AGAIN_S = 10.0


class Telling:
    """Remembers what each neighbour was told last; `tell` again whenever it may have changed."""

    def __init__(
        self,
        driver: Driver,
        wanted: Callable[[str], Wanted | None],
        problems: dict[str, str],
        tasks: Watched,
    ) -> None:
        """`wanted`: what we want of a neighbour now; None: it is none any more, or we cannot say
        yet. `problems`: where to say whom we could not tell."""
        self._driver = driver
        self._wanted = wanted
        self._problems = problems
        self._watched = tasks
        self._news: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()

    def tell(self, neighbour: str, *, again: bool = False) -> None:
        """See to it that the neighbour knows; `again`: it asks."""
        if again:
            self._again.add(neighbour)
        task = self._tasks.get(neighbour)
        if task is None or task.done():
            self._news[neighbour] = asyncio.Event()
            self._tasks[neighbour] = self._watched.start(
                self._tell(neighbour, self._news[neighbour]), name=f"interest for {neighbour}"
            )
        self._news[neighbour].set()

    def forget(self, neighbour: str) -> None:
        """It is no neighbour any more; should it be one again, it knows nothing."""
        task = self._tasks.pop(neighbour, None)
        if task is not None:
            task.cancel()
        self._news.pop(neighbour, None)
        self._again.discard(neighbour)
        self._problems.pop(_key(neighbour), None)

    async def _tell(self, neighbour: str, news: asyncio.Event) -> None:
        wait_s = _RETRY_S
        told: Wanted | None = None
        loop = asyncio.get_running_loop()
        again_at = 0.0
        while (wanted := self._wanted(neighbour)) is not None:
            news.clear()
            if told == wanted and neighbour not in self._again:
                with contextlib.suppress(TimeoutError):
                    # From when it was told: looking at the tables is often, and no news.
                    async with asyncio.timeout_at(again_at):
                        await news.wait()
                        continue
            self._again.discard(neighbour)
            flows, epoch, asks = wanted
            try:
                await self._driver.interest(neighbour, flows, epoch, asks=asks)
            except DriverError as error:
                self._problems[_key(neighbour)] = f"{neighbour} was not told: {error}"
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, _LONGEST_RETRY_S)
                continue
            told, wait_s, again_at = wanted, _RETRY_S, loop.time() + AGAIN_S
            self._problems.pop(_key(neighbour), None)


def _key(neighbour: str) -> str:
    return f"interest {neighbour}"
