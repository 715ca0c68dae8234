"""Keep the session with the control plane: open it, report in it, and log when it is
interrupted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agent.client import Away, Backoff, ControlPlane, Introduction, Refused, Session
from agent.store import Store, StoreError
from weir.coordination.wire import Observed, Report

log = logging.getLogger("weir.agent")

ORDERED_S = 1.0
REFUSED_S = 30.0
"""The pause between two attempts when a person has to act first."""


class Problems:
    """Collect problems that a person should know, by subject, while they last."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.news = asyncio.Event()
        """This event is set whenever the problems change."""

    def show(self, what: str, text: str) -> None:
        """Show a problem; an empty text removes it."""
        if self._texts.get(what, "") == text:
            return
        if text:
            log.error("%s", text)
            self._texts[what] = text
        else:
            del self._texts[what]
        self.news.set()

    @property
    def texts(self) -> list[str]:
        """Return the texts of all problems."""
        return list(self._texts.values())


class ControlSession:
    """Keep the session of one agent. Call `join`, then `report` and `queue`; run `send_reports`
    concurrently."""

    def __init__(
        self,
        control: ControlPlane,
        store: Store,
        problems: Problems,
        *,
        obeyed: Callable[[], int],
        seen: Callable[[], int],
        urgent: Callable[[], bool],
    ) -> None:
        """Take functions that return the largest document number that was `obeyed`, the newest
        incarnation `seen` at the broker, and whether messages may be paused until the control plane
        answers (`urgent`)."""
        self._control = control
        self._store = store
        self._problems = problems
        self._obeyed = obeyed
        self._seen = seen
        self._urgent = urgent
        self.session: Session | None = None
        """The newest session, once its predecessors are disconnected."""
        self.others_acted = False
        """Whether another agent had a session of this broker since this agent's last one."""
        self._incarnation = 0
        self._sequence = 0
        self._away = ""
        self._reports: dict[tuple[str, int, str], Report] = {}
        self._queued = asyncio.Event()

    async def join(self, introduction: Introduction) -> Session:
        """Open a session, trying until it succeeds."""
        backoff = Backoff()
        while True:
            own = max(self._incarnation, self._store.saved.incarnation)
            newest = max(own, self._seen())
            try:
                session = await self._control.session(
                    replace(introduction, incarnation=newest, number=self._obeyed())
                )
            except (Away, Refused) as error:
                await self.record_failure(error, backoff)
                continue
            self.record_answer()
            self.others_acted = own < session.incarnation - 1
            self._incarnation, self._sequence = session.incarnation, 0
            self._problems.show("restored", session.restored)
            try:
                await self._store.save_session(session.incarnation)
            except StoreError as error:
                # Only a control plane that was restored from a backup needs the number.
                self._problems.show("session", str(error))
            else:
                self._problems.show("session", "")
            log.info(
                "session %d of broker %s in system %s",
                session.incarnation,
                session.broker,
                session.system,
            )
            return session

    def use(self, session: Session) -> None:
        """Report in this session from now on."""
        self.session = session
        self._queued.set()

    async def report(
        self, session: Session, *, observed: Observed, telemetry: dict[str, Any] | None
    ) -> None:
        """Report what is in force. Raises Away, Refused, Superseded."""
        await self._control.report(
            session, sequence=self._next(), observed=observed, telemetry=telemetry
        )

    def queue(self, report: Report) -> None:
        """Queue a participant's report; only the newest of each phase is kept, as it repeats
        itself."""
        self._reports[report.action, report.attempt, report.phase] = report
        self._queued.set()

    async def send_reports(self) -> None:
        """Send queued reports at once, and again until they are answered. Raises Superseded."""
        backoff = Backoff(0.1, 5.0)
        while True:
            await self._queued.wait()
            self._queued.clear()
            session = self.session
            reports = dict(self._reports)
            if session is None or not reports:
                continue
            try:
                await self._control.report(session, sequence=self._next(), reports=reports.values())
            except (Away, Refused) as error:
                await self.record_failure(error, backoff)
                self._queued.set()
                continue
            backoff.reset()
            for key, report in reports.items():
                # A report that was queued again meanwhile may hold more.
                if self._reports.get(key) is report:
                    del self._reports[key]
            if self._reports:
                self._queued.set()

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    async def record_failure(self, error: Away | Refused, backoff: Backoff) -> None:
        """Log that the control plane did not answer or refused, once per error, and wait."""
        if str(error) != self._away:
            if isinstance(error, Refused):
                log.error("the control plane refuses this agent: %s", error)
            elif not self._away:
                log.warning(
                    "the control plane is away (%s); forwarding and admission go on unchanged",
                    error,
                )
        self._away = str(error)
        pause_s = REFUSED_S if isinstance(error, Refused) else backoff.pause_s()
        await asyncio.sleep(min(pause_s, ORDERED_S) if self._urgent() else pause_s)

    def record_answer(self) -> None:
        """Log that the control plane answers again."""
        if self._away:
            log.info("the control plane answers again")
        self._away = ""
