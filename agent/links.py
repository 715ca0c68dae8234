"""Make the links of the forwarding tables, and the outboxes in which messages for neighbours wait.

Links are made in the background, retrying until they work. An outbox is removed only when it is
empty. Messages for a former neighbour are reported as a problem, since the agent cannot know
whether they reached anybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping

from agent.drivers.base import Channel, Driver, DriverError, Place
from agent.tasks import Watched
from weir.coordination.wire import Delivery

_RETRY_S = 0.2
_SUSPENDED = (
    "the link to {} is suspended: its agent never connected, was revoked, has not connected since "
    "it was enrolled again, or has no address; reliable messages for it wait. Enrol it again, or "
    "detach the broker"
)
_LEFT = "left for "


class LinkMaker:
    """Make and renew links. Call `update` whenever addresses or the set of links have changed."""

    def __init__(
        self,
        tasks: Watched,
        problems: MutableMapping[str, str],
        *,
        wanted: Callable[[str], bool],
        connect: Callable[[str, str, bool], Awaitable[None]],
    ) -> None:
        """Take the functions that this needs. `wanted` returns whether to make a link to a
        neighbour. `connect` makes it, given the neighbour, its address and whether the address has
        changed; it suspends the link where the address is empty, and raises DriverError."""
        self._tasks = tasks
        self._problems = problems
        self._wanted = wanted
        self._connect = connect
        self._addresses: dict[str, str] = {}
        self._tasks_by_neighbour: dict[str, asyncio.Task[None]] = {}
        self._suspended: set[str] = set()

    def set_address(self, neighbour: str, address: str) -> None:
        """Record the address at which another component makes the link."""
        self._addresses[neighbour] = address

    def update(self, addresses: Mapping[str, str], reading: Callable[[str], bool]) -> None:
        """Make each wanted link that is not read yet or whose address has changed, and suspend
        links to neighbours without an address, which have no agent now."""
        for neighbour, address in addresses.items():
            moved = self._addresses.get(neighbour, address) != address
            self._addresses[neighbour] = address
            if not self._wanted(neighbour):
                continue
            task = self._tasks_by_neighbour.get(neighbour)
            idle = task is None or task.done()
            done = reading(neighbour) if address else neighbour in self._suspended
            if moved or (idle and not done):
                if task is not None:
                    task.cancel()
                self._tasks_by_neighbour[neighbour] = self._tasks.start(
                    self._make(neighbour, moved), name=f"link {neighbour}"
                )

    def forget(self, neighbour: str) -> None:
        """Stop making a link to this neighbour."""
        task = self._tasks_by_neighbour.pop(neighbour, None)
        if task is not None:
            task.cancel()
        self._suspended.discard(neighbour)
        self._problems.pop(neighbour, None)

    async def _make(self, neighbour: str, moved: bool) -> None:
        self._suspended.discard(neighbour)
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
                self._suspended.add(neighbour)
                self._problems[neighbour] = _SUSPENDED.format(neighbour)
            return


class Outboxes:
    """Manage the outboxes of one broker; every method raises DriverError."""

    def __init__(
        self,
        driver: Driver,
        problems: MutableMapping[str, str],
        *,
        drop: Callable[[str], Awaitable[None]],
    ) -> None:
        """Take `drop`, which removes a link with its outbox."""
        self._driver = driver
        self._problems = problems
        self._drop = drop

    async def ensure(self, neighbours: Iterable[str]) -> None:
        """Create the outboxes of these neighbours, unless the broker has no reliable delivery."""
        if Delivery.RELIABLE not in self._driver.capabilities.deliveries:
            return
        for neighbour in sorted(neighbours):
            await self._driver.ensure_channel(
                Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour=neighbour)
            )

    async def existing(self) -> set[str]:
        """Return the neighbours that have an outbox."""
        return set((await self._driver.stats()).outbox_backlog)

    async def sweep(self, left: Iterable[str]) -> bool:
        """Remove the empty outboxes of former neighbours. Returns False when messages wait in
        some."""
        clean = True
        for neighbour in sorted(left):
            waiting = await self._driver.waiting(neighbour)
            if waiting:
                clean = False
                self._problems[_LEFT + neighbour] = (
                    f"{waiting} messages wait for {neighbour}, which is not a neighbour any more"
                )
                continue
            await self._drop(neighbour)
            self._problems.pop(_LEFT + neighbour, None)
        return clean
