"""Makes the links of the tables: in the background, for as long as it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping

from agent.drivers.base import DriverError
from agent.tasks import Watched

_RETRY_S = 0.2
_RESTS = (
    "the link to {} rests: its agent never came, was revoked, has not come since it was enrolled "
    "anew, or has no address; reliable messages for it wait. Enrol it again, or detach the broker"
)


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
        address, whether it was somewhere else before), lets it rest where the address is empty, or
        raises DriverError."""
        self._tasks = tasks
        self._problems = problems
        self._wanted = wanted
        self._connect = connect
        self._addresses: dict[str, str] = {}
        self._linking: dict[str, asyncio.Task[None]] = {}
        self._resting: set[str] = set()

    def met(self, neighbour: str, address: str) -> None:
        """Somebody else makes the link, at this address."""
        self._addresses[neighbour] = address

    def meet(self, addresses: Mapping[str, str], reading: Callable[[str], bool]) -> None:
        """Make whichever link is wanted and not read yet, or was read under another address; let
        those rest that have none: nobody speaks for the neighbour now."""
        for neighbour, address in addresses.items():
            moved = self._addresses.get(neighbour, address) != address
            self._addresses[neighbour] = address
            if not self._wanted(neighbour):
                continue
            task = self._linking.get(neighbour)
            idle = task is None or task.done()
            done = reading(neighbour) if address else neighbour in self._resting
            if moved or (idle and not done):
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
        self._resting.discard(neighbour)
        self._problems.pop(neighbour, None)

    async def _make(self, neighbour: str, moved: bool) -> None:
        self._resting.discard(neighbour)
        while True:
            address = self._addresses[neighbour]
            try:
                await self._connect(neighbour, address, moved)
            except DriverError as error:
                self._problems[neighbour] = f"the link to {neighbour} cannot be used: {error}"
                await asyncio.sleep(_RETRY_S)
                continue
            if address:
                self._problems.pop(neighbour, None)
            else:
                self._resting.add(neighbour)
                self._problems[neighbour] = _RESTS.format(neighbour)
            return
