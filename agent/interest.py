"""Exchange interest with neighbours: receive theirs in this broker's flows, declare ours in theirs.

Received: a value that cannot be read is left out and reported; the others count. It takes effect at
once and is stored on disk soon after: after a restart the agent reads it again at the broker before
it forwards anything.

Sent: until the neighbour's broker stores it, and again from time to time, since a broker that has
lost its disk has forgotten it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping

from agent.drivers.base import Driver, DriverError, Interest
from agent.store import Change, StoreError
from agent.tasks import Watched
from weir.coordination.tables import Tables, interest_accepted

log = logging.getLogger(__name__)

_RETRY_S = 0.2
_LONGEST_RETRY_S = 5.0
AGAIN_S = 10.0
_UNREADABLE = "interest: "
_UNSAVED = "interest is not saved"

Wanted = tuple[frozenset[str], str, bool]
"""The wanted flows, the epoch of their link, and whether this agent does not know yet what the
neighbour wants."""


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
