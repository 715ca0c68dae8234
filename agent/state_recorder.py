"""Let the broker remember the number of the state directory, to recognise an older copy.

A directory restored from a backup lacks votes: its agent would move messages that have to wait, by
outdated tables. An empty directory is harmless, since its agent knows that it knows nothing. So a
vote is sent only after the broker has recorded the number of the directory that holds it; an agent
whose directory has a smaller number than its broker starts as if it were empty.
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


class StateRecorder:
    """Record the directory's number at one agent's broker, and hold back votes until then."""

    def __init__(self, driver: Driver, store: Store, send: Callable[[Report], None]) -> None:
        """Take `send`, which passes a report to the session with the control plane."""
        self._driver = driver
        self._store = store
        self._send = send
        self._recorded = -1
        self._behind = asyncio.Event()
        self._waiting: dict[str, Report] = {}
        """Action -> its vote that waits."""

    def send(self, report: Report) -> None:
        """Send a report, but a vote only once the number of the directory that holds it is
        recorded."""
        self._waiting.pop(report.action, None)
        if report.phase is ReportPhase.READY and self._recorded < self._store.saved.number:
            self._waiting[report.action] = report
            self._behind.set()
        else:
            self._send(report)

    def check(self) -> None:
        """Start recording when the number has risen."""
        if self._recorded < self._store.saved.number:
            self._behind.set()

    async def run(self) -> None:
        """Record the number whenever it rises, until cancelled."""
        while True:
            await self._behind.wait()
            self._behind.clear()
            number = self._store.saved.number
            votes = dict(self._waiting)
            try:
                await self._driver.note_state(number)
            except DriverError as error:
                log.info("the broker could not record the number of the state directory: %s", error)
                await asyncio.sleep(_RETRY_S)
                self._behind.set()
                continue
            self._recorded = number
            for action, report in votes.items():
                # Another report of the action may have replaced it meanwhile.
                if self._waiting.get(action) is report:
                    del self._waiting[action]
                    self._send(report)
