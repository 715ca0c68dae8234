"""Receive the interest of neighbours, whatever they write and whatever the disk does.

A value that cannot be read is left out and reported; the others count. Received interest takes
effect at once and is stored on disk soon after: after a restart the agent reads it again at the
broker before it forwards anything.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping

from agent.drivers.base import Driver, DriverError, Interest
from agent.store import Change, StoreError
from agent.tasks import Watched
from weir.coordination.tables import Tables, interest_accepted

log = logging.getLogger(__name__)

_RETRY_S = 0.2
_LONGEST_RETRY_S = 5.0
_UNREADABLE = "interest: "
_UNSAVED = "interest is not saved"


def apply_interest(
    tables: Tables, received: Mapping[str, Interest], first_revisions: Mapping[str, str]
) -> Tables:
    """Return the tables with the received interest, as far as it belongs to the tables' epochs.
    `first_revisions` holds the revisions that were there when this agent began to listen."""
    for neighbour, interest in received.items():
        flows = interest.flows
        if neighbour in tables.unheard and interest.revision == first_revisions.get(neighbour):
            # The neighbour may have written it before an action that this agent has forgotten. It
            # writes its interest again, since this agent asks for it.
            continue
        if interest.stale:
            # It may come from an older disk. The neighbour writes it again soon; until then too
            # much is better than too little, and nothing where nothing is known.
            if neighbour in tables.unheard:
                continue
            flows |= tables.interest.get(neighbour, frozenset())
        if neighbour in tables.unheard:
            # Nothing is known of this link, so what the neighbour writes now counts.
            tables = tables.with_link(neighbour, flows, interest.epoch)
        tables = interest_accepted(tables, neighbour, interest.epoch, flows)
    return tables


class InterestListener:
    """Receive the interest in one broker's flows. Call `start`, then `save` when the tables'
    interest has changed."""

    def __init__(
        self,
        driver: Driver,
        problems: MutableMapping[str, str],
        *,
        received: Callable[[Mapping[str, Interest], Mapping[str, str]], None],
        save: Callable[[Change], Awaitable[None]],
        change: Change,
    ) -> None:
        """Take the functions that this needs. `received` gets all stored values and the first
        revisions. `save` is durable and may raise StoreError. `change` returns stored tables with
        the interest of this moment."""
        self._driver = driver
        self._problems = problems
        self._received = received
        self._save = save
        self._change = change
        self._unsaved = asyncio.Event()
        self._first_revisions: Mapping[str, str] | None = None

    def start(self, tasks: Watched) -> None:
        """Receive interest until `tasks` end."""
        tasks.start(self._listen(), "interest of neighbours")
        tasks.start(self._save_changes(), "keeping interest")

    def save(self) -> None:
        """Request that the changed interest is saved."""
        self._unsaved.set()

    async def _listen(self) -> None:
        while True:
            try:
                async for interest in self._driver.interests():
                    self._take(interest)
            except DriverError as error:
                log.info("cannot receive the interest of neighbours: %s", error)
            await asyncio.sleep(_RETRY_S)

    def _take(self, interest: Mapping[str, Interest]) -> None:
        unreadable = {
            f"{_UNREADABLE}{name}": f"what {name} wants cannot be read ({one.unreadable}); what "
            "it wanted before holds until its agent says it again"
            for name, one in interest.items()
            if one.unreadable
        }
        for key in [key for key in self._problems if key.startswith(_UNREADABLE)]:
            if key not in unreadable:
                del self._problems[key]
        self._problems.update(unreadable)
        if self._first_revisions is None:
            self._first_revisions = {name: one.revision for name, one in interest.items()}
        self._received(
            {name: one for name, one in interest.items() if not one.unreadable},
            self._first_revisions,
        )

    async def _save_changes(self) -> None:
        wait_s = _RETRY_S
        while True:
            await self._unsaved.wait()
            self._unsaved.clear()
            try:
                await self._save(self._change)
            except StoreError as error:
                self._problems[_UNSAVED] = str(error)
                self._unsaved.set()
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, _LONGEST_RETRY_S)
                continue
            self._problems.pop(_UNSAVED, None)
            wait_s = _RETRY_S
