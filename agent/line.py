"""The line to the control plane: a session, what is said in it, what happens while it is cut."""

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
"""Between two tries when a person has to do something first."""


class Problems:
    """What a person should know, each as long as it lasts; by what it is about."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.news = asyncio.Event()
        """Set whenever they changed."""

    def show(self, what: str, text: str) -> None:
        """No text: it is over."""
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
        """All of them, in sentences."""
        return list(self._texts.values())


class Line:
    """One life's line. `join`, then `report` and `say`; `say_all` runs beside them."""

    def __init__(
        self,
        control: ControlPlane,
        store: Store,
        problems: Problems,
        *,
        obeyed: Callable[[], int],
        met: Callable[[], int],
        hurried: Callable[[], bool],
    ) -> None:
        """`obeyed`: the largest number of a document that was. `met`: the newest incarnation that
        was met at the broker. `hurried`: whether somebody's
        messages may stand still until we hear."""
        self._control = control
        self._store = store
        self._problems = problems
        self._obeyed = obeyed
        self._met = met
        self._hurried = hurried
        self.session: Session | None = None
        """The newest, once its predecessors are cut off."""
        self.others_acted = False
        """Whether somebody else had a session of this broker since the last one of this agent."""
        self._incarnation = 0
        self._sequence = 0
        self._away = ""
        self._reports: dict[tuple[str, int, str], Report] = {}
        self._to_say = asyncio.Event()

    async def join(self, introduction: Introduction) -> Session:
        """Open a session, for as long as that takes."""
        backoff = Backoff()
        while True:
            own = max(self._incarnation, self._store.saved.incarnation)
            newest = max(own, self._met())
            try:
                session = await self._control.session(
                    replace(introduction, incarnation=newest, number=self._obeyed())
                )
            except (Away, Refused) as error:
                await self.miss(error, backoff)
                continue
            self.found()
            self.others_acted = own < session.incarnation - 1
            self._incarnation, self._sequence = session.incarnation, 0
            self._problems.show("restored", session.restored)
            try:
                await self._store.save_session(session.incarnation)
            except StoreError as error:
                # It is only a hint for a control plane whose database has gone back.
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

    def begin(self, session: Session) -> None:
        """Speak in this session from now on."""
        self.session = session
        self._to_say.set()

    async def report(
        self, session: Session, *, observed: Observed, telemetry: dict[str, Any] | None
    ) -> None:
        """What is in force. Raises Away, Refused, Superseded."""
        await self._control.report(
            session, sequence=self._next(), observed=observed, telemetry=telemetry
        )

    def say(self, report: Report) -> None:
        """A participant speaks; it repeats itself, so the newest of a kind is enough."""
        self._reports[report.action, report.attempt, report.phase] = report
        self._to_say.set()

    async def say_all(self) -> None:
        """Reports of orders, each at once and until it is answered. Raises Superseded."""
        backoff = Backoff(0.1, 5.0)
        while True:
            await self._to_say.wait()
            self._to_say.clear()
            session = self.session
            reports = dict(self._reports)
            if session is None or not reports:
                continue
            try:
                await self._control.report(session, sequence=self._next(), reports=reports.values())
            except (Away, Refused) as error:
                await self.miss(error, backoff)
                self._to_say.set()
                continue
            backoff.reset()
            for key, report in reports.items():
                # What was said again meanwhile may say more.
                if self._reports.get(key) is report:
                    del self._reports[key]
            if self._reports:
                self._to_say.set()

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    async def miss(self, error: Away | Refused, backoff: Backoff) -> None:
        """The control plane gave no answer, or said no. Told once, however often it is tried."""
        if str(error) != self._away:
            if isinstance(error, Refused):
                log.error("the control plane refuses this agent: %s", error)
            elif not self._away:
                log.warning(
                    "the control plane is away (%s); forwarding and admission go on as told last",
                    error,
                )
        self._away = str(error)
        pause_s = REFUSED_S if isinstance(error, Refused) else backoff.pause_s()
        await asyncio.sleep(min(pause_s, ORDERED_S) if self._hurried() else pause_s)

    def found(self) -> None:
        """The control plane has answered."""
        if self._away:
            log.info("the control plane answers again")
        self._away = ""
