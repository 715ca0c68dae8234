"""Create and remove the outboxes in which reliable messages wait for neighbours.

An outbox is removed only when it is empty. Messages for a former neighbour are reported as a
problem, since the agent cannot know whether they reached anybody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping

from agent.drivers.base import Channel, Driver, Place
from weir.coordination.wire import Delivery

_LEFT = "left for "


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
