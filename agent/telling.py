"""Lets each neighbour know what we want of it: in the background, until its broker keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent.drivers.base import Driver, DriverError

Wanted = tuple[frozenset[str], str]
"""Flows, and the epoch of the link they are wanted over."""

_RETRY_S = 0.2
_LONGEST_RETRY_S = 5.0


class Telling:
    """Remembers what each neighbour was told last; `tell` again whenever it may have changed."""

    def __init__(
        self, driver: Driver, wanted: Callable[[str], Wanted | None], problems: dict[str, str]
    ) -> None:
        """`wanted`: what we want of a neighbour now; None: it is none any more. `problems`: where
        to say whom we could not tell."""
        self._driver = driver
        self._wanted = wanted
        self._problems = problems
        self._told: dict[str, Wanted] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def tell(self, neighbour: str) -> None:
        """See to it that the neighbour knows."""
        task = self._tasks.get(neighbour)
        if task is None or task.done():
            self._tasks[neighbour] = asyncio.create_task(
                self._tell(neighbour), name=f"interest {neighbour}"
            )

    def forget(self, neighbour: str) -> None:
        """It is no neighbour any more; should it be one again, it knows nothing."""
        task = self._tasks.pop(neighbour, None)
        if task is not None:
            task.cancel()
        self._told.pop(neighbour, None)
        self._problems.pop(_key(neighbour), None)

    async def close(self) -> None:
        """Tell nobody any more."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _tell(self, neighbour: str) -> None:
        wait_s = _RETRY_S
        while (wanted := self._wanted(neighbour)) is not None:
            if self._told.get(neighbour) == wanted:
                return
            flows, epoch = wanted
            try:
                await self._driver.interest(neighbour, flows, epoch)
                self._told[neighbour] = wanted
                self._problems.pop(_key(neighbour), None)
            except DriverError as error:
                self._problems[_key(neighbour)] = f"{neighbour} was not told: {error}"
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, _LONGEST_RETRY_S)


def _key(neighbour: str) -> str:
    return f"interest {neighbour}"
