"""Where reliable messages wait for neighbours: made for each link, dropped where links have gone.

An outbox is dropped only when nothing waits in it; what waits for somebody who is no neighbour any
more is named, since nobody knows whether somebody else has it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping

from agent.drivers.base import Channel, Driver, Place
from weir.coordination.wire import Delivery

_LEFT = "left for "


class Outboxes:
    """Those of one broker; every method raises DriverError."""

    def __init__(
        self,
        driver: Driver,
        problems: MutableMapping[str, str],
        *,
        drop: Callable[[str], Awaitable[None]],
    ) -> None:
        """`drop` ends a link with its outbox."""
        self._driver = driver
        self._problems = problems
        self._drop = drop

    async def ensure(self, neighbours: Iterable[str]) -> None:
        """Each of them has one; nothing where the broker has no reliable class."""
        if Delivery.RELIABLE not in self._driver.capabilities.deliveries:
            return
        for neighbour in sorted(neighbours):
            await self._driver.ensure_channel(
                Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour=neighbour)
            )

    async def held(self) -> set[str]:
        """For whom there is one."""
        return set((await self._driver.stats()).outbox_backlog)

    async def sweep(self, left: Iterable[str]) -> bool:
        """Drop those of nobody's neighbours. False: messages wait in some."""
        clean = True
        for neighbour in sorted(left):
            waiting = await self._driver.waiting(neighbour)
            if waiting:
                clean = False
                self._problems[_LEFT + neighbour] = (
                    f"{waiting} messages wait for {neighbour}, which is no neighbour any more"
                )
                continue
            await self._drop(neighbour)
            self._problems.pop(_LEFT + neighbour, None)
        return clean
