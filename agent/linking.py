"""Makes the links of the tables: in the background, for as long as it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping

from agent.drivers.base import DriverError
from agent.tasks import Watched

_RETRY_S = 0.2


class Linking:
    """Knows where neighbours are. `meet` whenever that, or which links there are, has changed."""

    def __init__(
        self,
        tasks: Watched,
        problems: MutableMapping[str, str],
        *,
        wanted: Callable[[str], bool],
        connect: Callable[[str, str, bool], Awaitable[None]],
    ) -> None:
        """`wanted`: whether a link to this neighbour is to be made. `connect` makes it (neighbour,
        address, whether it was somewhere else before) or raises DriverError."""
        self._tasks = tasks
        self._problems = problems
        self._wanted = wanted
        self._connect = connect
        self._addresses: dict[str, str] = {}
        self._linking: dict[str, asyncio.Task[None]] = {}

    def met(self, neighbour: str, address: str) -> None:
        """Somebody else makes the link, at this address."""
        self._addresses[neighbour] = address

    def meet(self, addresses: Mapping[str, str], reading: Callable[[str], bool]) -> None:
        """Make whichever link is wanted and not read yet, or was read under another address."""
        for neighbour, address in addresses.items():
            if not address:
                continue  # nobody has said where it is
            moved = self._addresses.get(neighbour, address) != address
            self._addresses[neighbour] = address
            if not self._wanted(neighbour):
                continue
            task = self._linking.get(neighbour)
            if moved or (not reading(neighbour) and (task is None or task.done())):
                if task is not None:
                    task.cancel()
                self._linking[neighbour] = self._tasks.start(
                    self._make(neighbour, moved), name=f"link {neighbour}"
                )

    def forget(self, neighbour: str) -> None:
        """No link to it is made any more."""
        task = self._linking.pop(neighbour, None)
        if task is not None:
            task.cancel()
        self._problems.pop(neighbour, None)

    async def _make(self, neighbour: str, moved: bool) -> None:
        while True:
            try:
                await self._connect(neighbour, self._addresses[neighbour], moved)
            except DriverError as error:
                self._problems[neighbour] = f"the link to {neighbour} cannot be used: {error}"
                await asyncio.sleep(_RETRY_S)
                continue
            self._problems.pop(neighbour, None)
            return
