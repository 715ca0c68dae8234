"""One agent: hears what shall be true, makes it true, says what is true.

    state directory -> forward and admit by the last document -> session -> documents -> reports

Forwarding and gating need the broker only. While the control plane is away they go on as told
last; while the broker is away everything waits in the brokers. When a newer session of this broker
appears, this one stops acting at once, and after a pause asks to be the newest again.

Documents never go back: what was obeyed is on the disk with its number before it is carried out,
and a document with a smaller number is not obeyed but reported. A part of the agent that dies by a
fault of ours ends this life and begins another; what went wrong stays among the problems.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from agent.client import (
    Away,
    Backoff,
    ControlPlane,
    Forgotten,
    Introduction,
    Refused,
    Session,
    Superseded,
    Unreadable,
)
from agent.drivers.base import BrokerFacts, Driver, DriverError, Fenced
from agent.enforcement import Enforcer
from agent.line import Line, Problems
from agent.memory import Memory
from agent.router import Router
from agent.shift import Shifts
from agent.store import Misplaced, Store, StoreError
from agent.tasks import end
from agent.telemetry import Meter
from weir.coordination.wire import Document

log = logging.getLogger("weir.agent")

FENCED_MOST_S = 600.0
"""The longest pause after fencing; whoever lived longer than this begins with the shortest."""
LEAVE_S = 3.0
"""How long what was read may take to arrive when the agent is asked to end."""
RETRY_S = 1.0
REBORN_S = 30.0
"""The longest pause before the next life after a fault of the agent's own."""
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
    began_at: float
    """Since when its counters count, Unix seconds."""


class Runtime:
    """One agent's life; `run` returns when `stop` is set. Raises Misplaced for its directory."""

    def __init__(
        self,
        *,
        control: ControlPlane,
        store: Store,
        driver: Callable[[str], Driver],
        product: str,
        address: str,
        key: str = "",
        report_every_s: float = 1.0,
        fenced_s: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        memory: Memory | None = None,
    ) -> None:
        """`driver` makes one for a broker's name. `key`: the public key by which neighbours'
        agents know this one. `fenced_s`: the first pause after fencing. `clock`: seconds, by which
        gates let pass and rates are measured. `wall`: seconds that go on over a restart, by which
        pauses of actions are measured. `memory`: what messages may take in this process, the same
        as the driver's."""
        self._control = control
        self._memory = memory or Memory()
        self._store = store
        self._make_driver = driver
        self._introduction = Introduction(product=product, address=address, key=key)
        self._report_every_s = report_every_s
        self._clock = clock
        self._wall = _steady(wall, clock)
        self._fenced = Backoff(2 * fenced_s, FENCED_MOST_S)
        self._reborn = Backoff(1.0, REBORN_S)
        self._newest = 0
        """The newest incarnation that was met at the broker."""
        self._document: Document | None = None
        """What is gone by: it is on the disk."""
        self._newer: Document | None = None
        """The last that was fetched in this life; its orders are obeyed, whether or not the disk
        has it."""
        self._problems = Problems()
        self._line = self._new_line()
        self._to_save = asyncio.Event()
        self._to_enforce = asyncio.Event()
        self._to_measure = self._problems.news

    def _new_line(self) -> Line:
        return Line(
            self._control,
            self._store,
            self._problems,
            obeyed=lambda: self._obeyed,
            met=lambda: self._newest,
            hurried=lambda: self._document is not None and bool(self._document.orders),
        )

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
                except Misplaced:
                    raise
                except Exception as error:
                    if self._clock() - born > REBORN_S:
                        self._reborn.reset()
                    pause_s = self._reborn.pause_s()
                    self._problems.show(
                        "fault",
                        f"this agent began anew after a fault of its own ({error}); its log has it",
                    )
                    log.error("a fault, beginning anew in %.0f s", pause_s, exc_info=error)
                    await asyncio.wait((asked,), timeout=pause_s)
                finally:
                    await end(life, again_s=4 * LEAVE_S)
        finally:
            await end(asked)
        log.info("ended")

    async def _live(self, may_act_alone: bool) -> None:
        """Act for the broker until cancelled. Raises Superseded, Misplaced, Died."""
        self._line = self._new_line()
        self._newer = None
        self._document = self._store.saved.document
        if self._document is None or not may_act_alone:
            # Only the control plane knows whose agent this is, or whether it still is.
            session = await self._line.join(self._introduction)
            broker, incarnation = session.broker, session.incarnation
        else:
            broker, incarnation = self._document.broker, self._store.saved.incarnation
        self._check(broker)
        driver = self._make_driver(broker)
        try:
            facts = await self._reach(driver)
            # Before anything is read: whoever acted for this broker before must have ended.
            await self._fence(driver, incarnation)
            await self._doubt_copy(driver)
            hands = await self._begin(driver, facts)
            try:
                await _until_one_ends(
                    self._hear(hands),
                    self._save(hands),
                    self._enforce(hands),
                    self._measure(hands),
                    self._line.say_all(),
                    self._mind_the_fence(driver),
                    hands.router.tasks.fault(),
                    hands.shifts.tasks.fault(),
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

    async def _doubt_copy(self, driver: Driver) -> None:
        """An older copy of the state directory counts as much as none: only the control plane and
        the neighbours know what has become of links, votes and limits. Raises Superseded."""
        noted = await self._noted_state(driver)
        if noted > self._store.saved.number:
            log.warning("the state directory is an older copy: nothing that it says is believed")
        elif not self._line.others_acted:
            return
        await self._store.distrust(noted)
        self._document = None

    async def _noted_state(self, driver: Driver) -> int:
        backoff = Backoff(0.2, 5.0)
        while True:
            try:
                return await driver.noted_state()
            except Fenced as error:
                raise self._superseded(error) from error
            except DriverError as error:
                log.warning("the record of the state directory: %s", error)
            await asyncio.sleep(backoff.pause_s())

    async def _begin(self, driver: Driver, facts: BrokerFacts) -> Hands:
        """Promises, tables and settings from the disk, before anything is forwarded."""
        saved = self._store.saved
        router = Router(
            driver,
            tables=saved.tables,
            save=self._store.change_tables,
            clock=self._clock,
            memory=self._memory,
        )
        if saved.document is not None:
            router.meet({n: at.address for n, at in saved.document.neighbours.items()})
        shifts = Shifts(
            router,
            self._store,
            say=self._line.say,
            deliveries=driver.capabilities.deliveries,
            clock=self._wall,
        )
        enforcer = Enforcer(driver=driver, router=router, busy=lambda: shifts.busy)
        hands = Hands(
            driver=driver,
            facts=facts,
            router=router,
            shifts=shifts,
            enforcer=enforcer,
            began_at=self._wall(),
        )
        await shifts.start()
        if self._document is not None:
            log.info("document %d from the state directory", self._document.number)
            await _trust(driver, self._document)
            await enforcer.apply(self._document, current=lambda: False)
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
            raise Misplaced(
                f"state directory {self._store.directory} belongs to broker {saved.broker}, the "
                f"credential to {broker}; give this agent a directory of its own"
            )

    # --- the control plane

    @property
    def _obeyed(self) -> int:
        """The largest number of a document that was obeyed."""
        document = self._newer or self._document or self._store.saved.document
        return 0 if document is None else document.number

    async def _hear(self, hands: Hands) -> None:
        """A session with facts, then one document after the other."""
        introduction = replace(
            self._introduction, facts=hands.facts, capabilities=hands.driver.capabilities
        )
        while True:
            session = await self._line.join(introduction)
            self._check(session.broker)
            await self._fence(hands.driver, session.incarnation, tries=5)
            self._line.begin(session)
            self._to_measure.set()
            try:
                await self._follow(hands, session)
            except Forgotten as error:
                log.warning("%s; a new session", error)

    async def _follow(self, hands: Hands, session: Session) -> None:
        """Documents of a session for ever. Raises Forgotten, Superseded."""
        seen, backoff = "", Backoff()
        while True:
            try:
                document = await self._control.document(session, seen, self._obeyed)
            except Forgotten:
                raise
            except (Away, Refused) as error:
                self._problems.show("document", str(error) if isinstance(error, Unreadable) else "")
                await self._line.miss(error, backoff)
                continue
            self._line.found()
            backoff.reset()
            hands.shifts.heard()
            if document is None:
                await hands.shifts.on_unchanged()
                continue
            self._problems.show("document", "")
            seen = document.version
            if document.number < self._obeyed:
                self._problems.show(
                    "number",
                    f"the control plane's database has gone back: it sends document "
                    f"{document.number}, this agent has obeyed {self._obeyed} and goes on by that. "
                    "Restore a newer backup, or adopt the restored state on the page of the system",
                )
                continue
            self._problems.show("number", "")
            self._newer = document
            self._to_save.set()
            # Before orders: whom they name may come to us at once.
            await _trust(hands.driver, document)
            # Orders do not wait for settings or for the disk: somebody else is paused until we
            # have voted, and each promise is written before it is said.
            await hands.shifts.on_orders(document.orders)

    async def _save(self, hands: Hands) -> None:
        """What was fetched is carried out once it is on the disk: after a crash the agent would
        else go by an older document than the one it has shown to be in force."""
        while True:
            await self._to_save.wait()
            self._to_save.clear()
            document = self._newer
            if document is None:
                continue
            try:
                await self._store.save_document(document)
            except StoreError as error:
                self._problems.show("state", str(error))
                await asyncio.sleep(RETRY_S)
                self._to_save.set()
                continue
            self._problems.show("state", "")
            self._document = document
            self._to_enforce.set()

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
            enforcer = hands.enforcer
            known = (enforcer.version, enforcer.number)
            # Orders are obeyed before the disk has their document: meanwhile this one is old.
            current = partial(self._is_current, document)
            whole = await enforcer.apply(document, current=current)
            if (enforcer.version, enforcer.number) != known or not whole:
                self._to_measure.set()

    def _is_current(self, document: Document) -> bool:
        return self._newer is document

    async def _measure(self, hands: Hands) -> None:
        """Observed and telemetry: at a steady pace, observed also at once when it changed."""
        meter = Meter(self._clock(), began_at=hands.began_at)
        due = self._clock() + self._report_every_s
        backoff = Backoff()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, due - self._clock())):
                    await self._to_measure.wait()
            self._to_measure.clear()
            session = self._line.session
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
                telemetry = meter.measure(
                    now, hands.router.counters(), stats, waiting_bytes=self._memory.used
                )
                due = max(due + self._report_every_s, now)
            others = [*self._problems.texts, hands.shifts.problem]
            observed = hands.enforcer.observed(stats, filter(None, others))
            try:
                await self._line.report(session, observed=observed, telemetry=telemetry)
            except (Away, Refused) as error:
                await self._line.miss(error, backoff)
                continue
            hands.shifts.heard()
            backoff.reset()

    async def _fence(self, driver: Driver, incarnation: int, *, tries: int = 0) -> None:
        """Nobody else acts at the broker from now on. Tries for ever unless `tries` says how often:
        a life that holds its broker already may go on without its newer number. Raises Superseded.
        """
        tried = 0
        while True:
            try:
                await driver.fence(incarnation)
                return
            except Fenced as error:
                raise self._superseded(error) from error
            except DriverError as error:
                log.warning("could not cut off a predecessor: %s", error)
                tried += 1
                if tried == tries:
                    return
                await asyncio.sleep(RETRY_S)

    async def _mind_the_fence(self, driver: Driver) -> None:
        """Raises Superseded once somebody else acts at the broker, whoever the control plane
        thinks does: it may be out of reach, for us or for them."""
        try:
            await driver.fenced()
        except Fenced as error:
            raise self._superseded(error) from error

    def _superseded(self, error: Fenced) -> Superseded:
        self._newest = max(self._newest, error.incarnation)
        return Superseded(str(error))


def _steady(wall: Callable[[], float], clock: Callable[[], float]) -> Callable[[], float]:
    """The wall's time of now, going on by `clock`: a clock that is set while the agent runs must
    not stretch or shorten what it waits for."""
    ahead = wall() - clock()
    return lambda: clock() + ahead


async def _trust(driver: Driver, document: Document) -> None:
    """The document's neighbours may open links, nobody else."""
    try:
        await driver.trust(document.keys)
    except DriverError as error:
        log.info("links of former neighbours end later: %s", error)


async def _until_one_ends(*work: Coroutine[Any, Any, None]) -> None:
    """Run all until one raises (none returns), then end the others."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await end(*tasks)
