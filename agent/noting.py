"""The broker remembers how far the state directory has come: an older copy is known for one.

A directory from a backup has forgotten votes: its agent would move messages that have to wait, by
tables of another day. The empty directory is harmless, since its agent knows that it knows nothing.
So a vote is said only after the broker has noted the number of the directory that holds it; an
agent whose directory has a smaller number than its broker begins as if it were empty.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from agent.drivers.base import Driver, DriverError
from agent.store import Store
from weir.coordination.wire import Report, ReportPhase

log = logging.getLogger(__name__)

_RETRY_S = 0.2


class Noting:
    """What one agent's broker knows of its directory, and votes that wait for it."""

    def __init__(self, driver: Driver, store: Store, say: Callable[[Report], None]) -> None:
        """`say` hands a report to whoever speaks with the control plane."""
        self._driver = driver
        self._store = store
        self._say = say
        self._noted = -1
        self._behind = asyncio.Event()
        self._unsaid: dict[str, Report] = {}
        """Action -> its vote."""

    def say(self, report: Report) -> None:
        """A vote waits until the directory that holds it is noted; all else is said at once."""
        self._unsaid.pop(report.action, None)
        if report.phase is ReportPhase.READY and self._noted < self._store.saved.number:
            self._unsaid[report.action] = report
            self._behind.set()
        else:
            self._say(report)

    def look(self) -> None:
        """Whether there is something to note."""
        if self._noted < self._store.saved.number:
            self._behind.set()

    async def run(self) -> None:
        """Note for ever."""
        while True:
            await self._behind.wait()
            self._behind.clear()
            number = self._store.saved.number
            votes = dict(self._unsaid)
            try:
                await self._driver.note_state(number)
            except DriverError as error:
                log.info("the number of the state directory: %s", error)
                await asyncio.sleep(_RETRY_S)
                self._behind.set()
                continue
            self._noted = number
            for action, report in votes.items():
                # Another report of the action may have come meanwhile.
                if self._unsaid.get(action) is report:
                    del self._unsaid[action]
                    self._say(report)
