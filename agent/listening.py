"""Hears what neighbours want: for ever, whatever a neighbour wrote and whatever the disk does.

A value that is not one is left out and named; the others count. What was heard is true at once and
kept on the disk soon after: a restart reads it again at the broker before anything moves.
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


def tables_heard(tables: Tables, heard: Mapping[str, Interest], found: Mapping[str, str]) -> Tables:
    """The tables with what neighbours have said, as far as it is of the tables' epochs. `found`:
    the sayings that were there when this agent began to listen."""
    for neighbour, said in heard.items():
        flows = said.flows
        if neighbour in tables.unheard and said.saying == found.get(neighbour):
            # The neighbour may have said it before an action of which we know nothing any more.
            # It says again what it wants, since we ask.
            continue
        if said.stale:
            # An older disk may be speaking. The neighbour itself says it again soon; until
            # then rather too much than too little, and nothing where nothing is known.
            if neighbour in tables.unheard:
                continue
            flows |= tables.interest.get(neighbour, frozenset())
        if neighbour in tables.unheard:
            # We know nothing of this link, so whatever is said now is true.
            tables = tables.with_link(neighbour, flows, said.epoch)
        tables = interest_accepted(tables, neighbour, said.epoch, flows)
    return tables


class Listening:
    """One broker's ear. `start`, then `save` whenever the tables' interest has changed."""

    def __init__(
        self,
        driver: Driver,
        problems: MutableMapping[str, str],
        *,
        heard: Callable[[Mapping[str, Interest], Mapping[str, str]], None],
        save: Callable[[Change], Awaitable[None]],
        change: Change,
    ) -> None:
        """`heard` gets everything that is kept, and the sayings of the first time. `save` is
        durable and may raise StoreError;
        `change` makes of kept tables those with the interest of this moment."""
        self._driver = driver
        self._problems = problems
        self._heard = heard
        self._save = save
        self._change = change
        self._unsaved = asyncio.Event()
        self._found: Mapping[str, str] | None = None

    def start(self, tasks: Watched) -> None:
        """Listen until `tasks` end."""
        tasks.start(self._listen(), "interest of neighbours")
        tasks.start(self._keep(), "keeping interest")

    def save(self) -> None:
        """What is kept has changed."""
        self._unsaved.set()

    async def _listen(self) -> None:
        while True:
            try:
                async for said in self._driver.interests():
                    self._take(said)
            except DriverError as error:
                log.info("interest: %s", error)
            await asyncio.sleep(_RETRY_S)

    def _take(self, said: Mapping[str, Interest]) -> None:
        unreadable = {
            f"{_UNREADABLE}{name}": f"what {name} wants cannot be read ({one.unreadable}); what "
            "it wanted before holds until its agent says it again"
            for name, one in said.items()
            if one.unreadable
        }
        for key in [key for key in self._problems if key.startswith(_UNREADABLE)]:
            if key not in unreadable:
                del self._problems[key]
        self._problems.update(unreadable)
        if self._found is None:
            self._found = {name: one.saying for name, one in said.items()}
        self._heard({name: one for name, one in said.items() if not one.unreadable}, self._found)

    async def _keep(self) -> None:
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
