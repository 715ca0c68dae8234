"""One agent: hears what shall be true, makes it true, says what is true.

    state directory -> forward and admit by the last document -> session -> documents -> reports

Forwarding and gating need the broker only. While the control plane is away they go on as told
last; while the broker is away everything waits in the brokers. When a newer session of this broker
appears, this one stops acting at once, and after a pause asks to be the newest again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from agent.client import Away, Backoff, ControlPlane, Introduction, Refused, Session, Superseded
from agent.drivers.base import BrokerFacts, Driver, DriverError
from agent.enforcement import Enforcer
from agent.router import Router
from agent.shift import Shifts
from agent.store import Store, StoreError
from agent.tasks import end
from agent.telemetry import Meter
from weir.coordination.wire import Document, Report

log = logging.getLogger("weir.agent")

ORDERED_S = 1.0
REFUSED_S = 30.0
"""Between two tries when a person has to do something first."""
FENCED_MOST_S = 600.0
"""The longest pause after fencing; whoever lived longer than this begins with the shortest."""
LEAVE_S = 3.0
"""How long what was read may take to arrive when the agent is asked to end."""
RETRY_S = 1.0
LOOK_S = 2.0
"""Reconcile this often even without news: a link may be free again, a table have changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """What acts at the broker, for one life of the agent."""

    driver: Driver
    facts: BrokerFacts
    router: Router
    shifts: Shifts
    enforcer: Enforcer


class Runtime:
    """One agent's life; `run` returns when `stop` is set. Raises StoreError for its directory."""

    def __init__(
        self,
        *,
        control: ControlPlane,
        store: Store,
        driver: Callable[[str], Driver],
        product: str,
        address: str,
        report_every_s: float = 1.0,
        fenced_s: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`driver` makes one for a broker's name. `fenced_s`: the first pause after fencing.
        `clock`: seconds, by which gates let pass and rates are measured. `wall`: seconds that go
        on over a restart, by which pauses of actions are measured."""
        self._control = control
        self._store = store
        self._make_driver = driver
        self._introduction = Introduction(product=product, address=address)
        self._report_every_s = report_every_s
        self._clock = clock
        self._wall = wall
        self._fenced = Backoff(2 * fenced_s, FENCED_MOST_S)
        self._session: Session | None = None
        self._document: Document | None = None
        self._fetched = False
        self._away = ""
        self._reports: dict[tuple[str, int, str], Report] = {}
        self._to_say = asyncio.Event()
        self._to_enforce = asyncio.Event()
        self._to_measure = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Live until `stop` is set."""
        asked = asyncio.create_task(stop.wait(), name="stop")
        may_act_alone = True
        try:
            while not stop.is_set():
                life = asyncio.create_task(self._live(may_act_alone), name="life")
                born = self._clock()
                try:
                    await asyncio.wait((life, asked), return_when=asyncio.FIRST_COMPLETED)
                    if life.done():
                        life.result()
                except Superseded as error:
                    may_act_alone = False
                    if self._clock() - born > FENCED_MOST_S:
                        self._fenced.reset()
                    pause_s = self._fenced.pause_s()
                    log.error("fenced, acting no more for %.0f s: %s", pause_s, error)
                    await asyncio.wait((asked,), timeout=pause_s)
                finally:
                    await end(life, again_s=4 * LEAVE_S)
        finally:
            await end(asked)
        log.info("ended")

    async def _live(self, may_act_alone: bool) -> None:
        """Act for the broker until cancelled. Raises Superseded, StoreError."""
        self._session, self._fetched = None, False
        self._document = self._store.saved.document
        if self._document is None or not may_act_alone:
            # Only the control plane knows whose agent this is, or whether it still is.
            broker = (await self._join(self._introduction)).broker
        else:
            broker = self._document.broker
        self._check(broker)
        driver = self._make_driver(broker)
        try:
            facts = await self._reach(driver)
            hands = await self._begin(driver, facts)
            try:
                await _until_one_ends(
                    self._hear(hands), self._enforce(hands), self._measure(hands), self._say_all()
                )
            finally:
                await self._leave(hands)
        finally:
            await driver.close()

    # --- beginning and end

    async def _reach(self, driver: Driver) -> BrokerFacts:
        backoff, told = Backoff(0.2, 5.0), ""
        while True:
            try:
                facts = await driver.open()
            except DriverError as error:
                if str(error) != told:
                    log.warning("broker: %s", error)
                told = str(error)
                await driver.close()
                await asyncio.sleep(backoff.pause_s())
                continue
            log.info("broker %s, version %s", facts.name, facts.version)
            return facts

    async def _begin(self, driver: Driver, facts: BrokerFacts) -> Hands:
        """Promises, tables and settings from the disk, before anything is forwarded."""
        saved = self._store.saved
        router = Router(
            driver, tables=saved.tables, save_tables=self._store.persist_tables, clock=self._clock
        )
        if saved.document is not None:
            router.meet({n: at.address for n, at in saved.document.neighbours.items()})
        shifts = Shifts(
            router,
            self._store,
            say=self._say,
            deliveries=driver.capabilities.deliveries,
            clock=self._wall,
        )
        enforcer = Enforcer(driver=driver, router=router, busy=lambda: shifts.busy)
        hands = Hands(driver=driver, facts=facts, router=router, shifts=shifts, enforcer=enforcer)
        await shifts.start()
        if self._document is not None:
            log.info("document %s from the state directory", self._document.version[:12])
            await enforcer.apply(self._document, fetched=False)
        router.start()
        return hands

    async def _leave(self, hands: Hands) -> None:
        """What was read arrives; what waits, waits in the broker."""
        await hands.shifts.close()
        hands.router.pause(frozenset())
        with contextlib.suppress(TimeoutError, DriverError):
            async with asyncio.timeout(LEAVE_S):
                await hands.router.drained()
        await hands.router.close()

    def _check(self, broker: str) -> None:
        saved = self._store.saved.document
        if saved is not None and saved.broker != broker:
            raise StoreError(
                f"state directory {self._store.directory} belongs to broker {saved.broker}, the "
                f"credential to {broker}; give this agent a directory of its own"
            )

    # --- the control plane

    async def _join(self, introduction: Introduction) -> Session:
        """Open a session, for as long as that takes."""
        backoff = Backoff()
        while True:
            try:
                session = await self._control.session(introduction)
            except (Away, Refused) as error:
                await self._miss(error, backoff)
                continue
            self._found()
            log.info(
                "session %d of broker %s in system %s",
                session.incarnation,
                session.broker,
                session.system,
            )
            return session

    async def _hear(self, hands: Hands) -> None:
        """A session with facts, then one document after the other."""
        session = await self._join(
            replace(self._introduction, facts=hands.facts, capabilities=hands.driver.capabilities)
        )
        self._check(session.broker)
        await self._fence(hands.driver, session.incarnation)
        self._session = session
        self._to_say.set()
        self._to_measure.set()
        seen, backoff = "", Backoff()
        while True:
            try:
                document = await self._control.document(session, seen)
            except (Away, Refused) as error:
                await self._miss(error, backoff)
                continue
            self._found()
            backoff.reset()
            hands.shifts.heard()
            if document is None:
                await hands.shifts.on_unchanged()
            else:
                seen = document.version
                self._store.save_document(document)
                self._document, self._fetched = document, True
                self._to_enforce.set()
                # Orders do not wait for settings: somebody else is paused until we have voted.
                await hands.shifts.on_orders(document.orders)

    async def _enforce(self, hands: Hands) -> None:
        whole = False
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S if whole else RETRY_S):
                    await self._to_enforce.wait()
            self._to_enforce.clear()
            document = self._document
            if document is None:
                continue
            known = hands.enforcer.version
            whole = await hands.enforcer.apply(document, fetched=self._fetched)
            if hands.enforcer.version != known or not whole:
                self._to_measure.set()

    async def _measure(self, hands: Hands) -> None:
        """Observed and telemetry: at a steady pace, observed also at once when it changed."""
        meter = Meter(self._clock())
        due = self._clock() + self._report_every_s
        backoff = Backoff()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, due - self._clock())):
                    await self._to_measure.wait()
            self._to_measure.clear()
            session = self._session
            if session is None:
                due = self._clock() + self._report_every_s
                continue
            try:
                stats = await hands.driver.stats()
            except DriverError as error:
                log.info("no figures of the broker: %s", error)
                due = self._clock() + self._report_every_s
                continue
            telemetry, now = None, self._clock()
            if now >= due:
                telemetry = meter.measure(now, hands.router.counters(), stats)
                due = max(due + self._report_every_s, now)
            try:
                await self._control.report(
                    session, observed=hands.enforcer.observed(stats), telemetry=telemetry
                )
            except (Away, Refused) as error:
                await self._miss(error, backoff)
                continue
            hands.shifts.heard()
            backoff.reset()

    async def _say_all(self) -> None:
        """Reports of orders, each at once and until it is answered."""
        backoff = Backoff(0.1, 5.0)
        while True:
            await self._to_say.wait()
            self._to_say.clear()
            session = self._session
            reports = dict(self._reports)
            if session is None or not reports:
                continue
            try:
                await self._control.report(session, reports=reports.values())
            except (Away, Refused) as error:
                await self._miss(error, backoff)
                self._to_say.set()
                continue
            backoff.reset()
            for key, report in reports.items():
                if self._reports.get(key) is report:
                    del self._reports[key]

    def _say(self, report: Report) -> None:
        """A participant speaks; it repeats itself, so the newest of a kind is enough."""
        self._reports[report.action, report.attempt, report.phase] = report
        self._to_say.set()

    async def _fence(self, driver: Driver, incarnation: int) -> None:
        """Cut off at the broker whoever acted before us; the control plane ignores him already."""
        for _ in range(5):
            try:
                await driver.fence(incarnation)
                return
            except DriverError as error:
                log.warning("could not cut off a predecessor: %s", error)
                await asyncio.sleep(RETRY_S)

    async def _miss(self, error: Away | Refused, backoff: Backoff) -> None:
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
        if self._document is not None and self._document.orders:
            # Somebody's messages may stand still until the outcome of an order is heard.
            pause_s = min(pause_s, ORDERED_S)
        await asyncio.sleep(pause_s)

    def _found(self) -> None:
        if self._away:
            log.info("the control plane answers again")
        self._away = ""


async def _until_one_ends(*work: Coroutine[Any, Any, None]) -> None:
    """Run all until one raises (none returns), then end the others."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await end(*tasks)
