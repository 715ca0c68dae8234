"""Run one agent: fetch what should be in force, enforce it, and report what is in force.

    state directory -> forward and admit by the last document -> session -> documents -> reports

Forwarding and gating need the broker only. While the control plane is away they go on unchanged;
while the broker is away messages wait in the brokers. When a newer session of this broker
appears, this one stops acting at once, and after a pause asks to be the newest again.

Documents never go back: a document is on disk with its number before it is enforced, and one with
a smaller number is not obeyed but reported. When a part of the agent fails by an internal error,
the agent restarts all of them, and keeps the error among its problems.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

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
from agent.control_session import ControlSession, Problems
from agent.drivers.base import BrokerFacts, Driver, DriverError, Fenced
from agent.enforcement import Enforcer
from agent.memory import Memory
from agent.router import Router
from agent.shift import Shifts
from agent.store import Misplaced, Store, StoreError
from agent.tasks import end, until_one_ends
from agent.telemetry import Meter, look_interval_s
from weir.coordination.wire import Document

log = logging.getLogger("weir.agent")

LONGEST_FENCED_S = 600.0
"""The longest pause after fencing; an agent that acted for longer starts again with the
shortest."""
LEAVE_S = 3.0
"""The time for messages on their way to arrive when the agent is asked to end."""
RETRY_S = 1.0
RESTART_S = 30.0
"""The longest pause before the agent restarts after an error of its own."""
LOOK_S = 2.0
"""The interval of reconciling without news: a link may be free again, a table may have changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Hold the components that act at the broker until the agent fails or ends."""

    driver: Driver
    facts: BrokerFacts
    router: Router
    shifts: Shifts
    enforcer: Enforcer
    began_at: float
    """When its counters began to count, in Unix seconds."""


class Runtime:
    """Run one agent; `run` returns when `stop` is set. Raises Misplaced for its directory."""

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
        self._fence_pauses = Backoff(2 * fenced_s, LONGEST_FENCED_S)
        self._restarts = Backoff(1.0, RESTART_S)
        self._newest = 0
        """The newest incarnation that was seen at the broker."""
        self._document: Document | None = None
        """The document on disk, which the agent enforces."""
        self._fetched: Document | None = None
        """The last document that was fetched since the agent started; its orders are obeyed even
        before the disk has it."""
        self._problems = Problems()
        self._session = self._new_session()
        self._to_save = asyncio.Event()
        self._to_enforce = asyncio.Event()
        self._to_measure = self._problems.news

    def _new_session(self) -> ControlSession:
        return ControlSession(
            self._control,
            self._store,
            self._problems,
            obeyed=lambda: self._obeyed,
            seen=lambda: self._newest,
            urgent=lambda: self._document is not None and bool(self._document.orders),
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set, restarting after errors and after being fenced."""
        stopping = asyncio.create_task(stop.wait(), name="stop")
        may_act_alone = True
        try:
            while not stop.is_set():
                life = asyncio.create_task(self._act(may_act_alone), name="life")
                started = self._clock()
                try:
                    await asyncio.wait((life, stopping), return_when=asyncio.FIRST_COMPLETED)
                    if life.done():
                        life.result()
                except Superseded as error:
                    may_act_alone = False
                    if self._clock() - started > LONGEST_FENCED_S:
                        self._fence_pauses.reset()
                    pause_s = self._fence_pauses.pause_s()
                    log.error(
                        "another agent acts for this broker; waiting %.0f s: %s", pause_s, error
                    )
                    await asyncio.wait((stopping,), timeout=pause_s)
                except Misplaced:
                    raise
                except Exception as error:
                    if self._clock() - started > RESTART_S:
                        self._restarts.reset()
                    pause_s = self._restarts.pause_s()
                    self._problems.show(
                        "fault",
                        f"this agent restarted after an internal error ({error}); see its log",
                    )
                    log.error("internal error, restarting in %.0f s", pause_s, exc_info=error)
                    await asyncio.wait((stopping,), timeout=pause_s)
                finally:
                    await end(life, again_s=4 * LEAVE_S)
        finally:
            await end(stopping)
        log.info("ended")

    async def _act(self, may_act_alone: bool) -> None:
        """Act for the broker until cancelled. Raises Superseded, Misplaced, Died."""
        self._session = self._new_session()
        self._fetched = None
        self._document = self._store.saved.document
        if self._document is None or not may_act_alone:
            # Only the control plane knows which broker this agent acts for, and whether it still
            # does.
            session = await self._session.join(self._introduction)
            broker, incarnation = session.broker, session.incarnation
        else:
            broker, incarnation = self._document.broker, self._store.saved.incarnation
        self._check_broker(broker)
        driver = self._make_driver(broker)
        try:
            facts = await self._open_driver(driver)
            # Fence before reading anything: an earlier agent of this broker must have ended.
            await self._fence(driver, incarnation)
            await self._distrust_old_copy(driver)
            components = await self._begin(driver, facts, broker)
            try:
                await until_one_ends(
                    self._take_documents(components),
                    self._save(components),
                    self._enforce(components),
                    self._measure(components),
                    self._session.send_reports(),
                    self._watch_fence(driver),
                    components.router.tasks.fault(),
                    components.shifts.tasks.fault(),
                )
            finally:
                await self._shut_down(components)
        finally:
            await driver.close()

    # --- start and end

    async def _open_driver(self, driver: Driver) -> BrokerFacts:
        backoff, logged = Backoff(0.2, 5.0), ""
        while True:
            try:
                facts = await driver.open()
            except DriverError as error:
                if str(error) != logged:
                    log.warning("cannot connect to the broker: %s", error)
                logged = str(error)
                await driver.close()
                await asyncio.sleep(backoff.pause_s())
                continue
            log.info("broker %s, version %s", facts.name, facts.version)
            return facts

    async def _distrust_old_copy(self, driver: Driver) -> None:
        """Treat an older copy of the state directory like an empty one: only the control plane and
        the neighbours know what has become of links, votes and limits. Raises Superseded."""
        recorded = await self._recorded_number(driver)
        if recorded > self._store.saved.number:
            log.warning("the state directory is an older copy: the agent ignores its contents")
        elif not self._session.others_acted:
            return
        await self._store.distrust(recorded)
        self._document = None

    async def _recorded_number(self, driver: Driver) -> int:
        backoff = Backoff(0.2, 5.0)
        while True:
            try:
                return await driver.noted_state()
            except Fenced as error:
                raise self._superseded(error) from error
            except DriverError as error:
                log.warning("cannot read the recorded number of the state directory: %s", error)
            await asyncio.sleep(backoff.pause_s())

    async def _begin(self, driver: Driver, facts: BrokerFacts, broker: str) -> Components:
        """Restore promises, tables and settings from the disk, before anything is forwarded."""
        saved = self._store.saved
        router = Router(
            driver,
            tables=saved.tables,
            save=self._store.change_tables,
            clock=self._clock,
            memory=self._memory,
            broker=broker,
        )
        if saved.document is not None:
            router.set_addresses({n: at.address for n, at in saved.document.neighbours.items()})
        shifts = Shifts(
            router,
            self._store,
            say=self._session.queue,
            deliveries=driver.capabilities.deliveries,
            clock=self._wall,
        )
        enforcer = Enforcer(
            driver=driver, router=router, busy=lambda: shifts.busy, changed=self._to_measure.set
        )
        components = Components(
            driver=driver,
            facts=facts,
            router=router,
            shifts=shifts,
            enforcer=enforcer,
            began_at=self._wall(),
        )
        await shifts.start()
        if self._document is not None:
            log.info("enforcing document %d from the state directory", self._document.number)
            await _trust(driver, self._document)
            await enforcer.apply(self._document, current=lambda: False)
        router.start()
        return components

    async def _shut_down(self, components: Components) -> None:
        """Let messages on their way arrive; those that wait stay in the broker."""
        await components.shifts.close()
        components.router.pause(frozenset())
        with contextlib.suppress(TimeoutError, DriverError):
            async with asyncio.timeout(LEAVE_S):
                await components.router.drained()
        await components.router.close()

    def _check_broker(self, broker: str) -> None:
        saved = self._store.saved.document
        if saved is not None and saved.broker != broker:
            raise Misplaced(
                f"state directory {self._store.directory} belongs to broker {saved.broker}, the "
                f"credential to {broker}; give this agent a directory of its own"
            )

    # --- the control plane

    @property
    def _obeyed(self) -> int:
        """Return the largest number of a document that was obeyed."""
        document = self._fetched or self._document or self._store.saved.document
        return 0 if document is None else document.number

    async def _take_documents(self, components: Components) -> None:
        """Open a session with the broker's facts, then take one document after the other."""
        introduction = replace(
            self._introduction, facts=components.facts, capabilities=components.driver.capabilities
        )
        while True:
            session = await self._session.join(introduction)
            self._check_broker(session.broker)
            await self._fence(components.driver, session.incarnation, tries=5)
            self._session.use(session)
            self._to_measure.set()
            try:
                await self._follow(components, session)
            except Forgotten as error:
                log.warning("%s; opening a new session", error)

    async def _follow(self, components: Components, session: Session) -> None:
        """Fetch the documents of a session until cancelled. Raises Forgotten, Superseded."""
        seen, backoff = "", Backoff()
        while True:
            try:
                document = await self._control.document(session, seen, self._obeyed)
            except Forgotten:
                raise
            except (Away, Refused) as error:
                self._problems.show("document", str(error) if isinstance(error, Unreadable) else "")
                await self._session.record_failure(error, backoff)
                continue
            self._session.record_answer()
            backoff.reset()
            components.shifts.control_plane_answered()
            if document is None:
                await components.shifts.on_unchanged()
                continue
            self._problems.show("document", "")
            seen = document.version
            if document.number < self._obeyed:
                self._problems.show(
                    "number",
                    f"the control plane's database was restored: it sends document "
                    f"{document.number}, but this agent has obeyed {self._obeyed} and keeps to it. "
                    "Restore a newer backup, or adopt the restored state on the page of the system",
                )
                continue
            self._problems.show("number", "")
            self._fetched = document
            self._to_save.set()
            # Trust neighbours before obeying orders: those that orders name may connect at once.
            await _trust(components.driver, document)
            # Orders do not wait for settings or for the disk: other brokers are paused until this
            # agent has voted, and each promise is written before it is sent.
            await components.shifts.on_orders(document.orders)

    async def _save(self, components: Components) -> None:
        """Enforce a fetched document once it is on the disk: otherwise the agent might enforce an
        older document after a crash than the one that it has reported as in force."""
        while True:
            await self._to_save.wait()
            self._to_save.clear()
            document = self._fetched
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

    async def _enforce(self, components: Components) -> None:
        complete = False
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S if complete else RETRY_S):
                    await self._to_enforce.wait()
            self._to_enforce.clear()
            document = self._document
            if document is None:
                continue
            enforcer = components.enforcer
            known = (enforcer.version, enforcer.number)
            # Orders are obeyed before their document is on disk: meanwhile this one is outdated.
            current = partial(self._is_current, document)
            complete = await enforcer.apply(document, current=current)
            if (enforcer.version, enforcer.number) != known or not complete:
                self._to_measure.set()

    def _is_current(self, document: Document) -> bool:
        return self._fetched is document

    async def _measure(self, components: Components) -> None:
        """Report the state at a steady pace, and what is in force also at once when it changes;
        look in between at what waits."""
        meter = Meter(self._clock(), began_at=components.began_at)
        due = self._clock() + self._report_every_s
        look_every_s = look_interval_s(self._report_every_s)
        backoff = Backoff()
        while True:
            wait_s = min(due - self._clock(), look_every_s)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, wait_s)):
                    await self._to_measure.wait()
            is_changed = self._to_measure.is_set()
            self._to_measure.clear()
            session = self._session.session
            if session is None:
                due = self._clock() + self._report_every_s
                continue
            try:
                stats = await components.driver.stats()
            except DriverError as error:
                log.info("cannot read the broker's statistics: %s", error)
                due = max(due, self._clock() + min(look_every_s, self._report_every_s))
                continue
            telemetry, now = None, self._clock()
            if now >= due:
                telemetry = meter.measure(
                    now, components.router.counters(), stats, waiting_bytes=self._memory.used
                )
                due = max(due + self._report_every_s, now)
            else:
                meter.look(now, components.router.counters(), stats)
                if not is_changed:
                    continue
            others = [*self._problems.texts, components.shifts.problem]
            observed = components.enforcer.observed(stats, filter(None, others))
            try:
                await self._session.report(session, observed=observed, telemetry=telemetry)
            except (Away, Refused) as error:
                await self._session.record_failure(error, backoff)
                continue
            components.shifts.control_plane_answered()
            backoff.reset()

    async def _fence(self, driver: Driver, incarnation: int, *, tries: int = 0) -> None:
        """Disconnect all other agents of the broker. Tries until it succeeds, or `tries` times: an
        agent that has fenced its broker already may go on without its newer number. Raises
        Superseded."""
        count = 0
        while True:
            try:
                await driver.fence(incarnation)
                return
            except Fenced as error:
                raise self._superseded(error) from error
            except DriverError as error:
                log.warning("could not disconnect a predecessor: %s", error)
                count += 1
                if count == tries:
                    return
                await asyncio.sleep(RETRY_S)

    async def _watch_fence(self, driver: Driver) -> None:
        """Raise Superseded once another agent acts at the broker, even if the control plane does
        not know it because one of the two agents cannot reach it."""
        try:
            await driver.fenced()
        except Fenced as error:
            raise self._superseded(error) from error

    def _superseded(self, error: Fenced) -> Superseded:
        self._newest = max(self._newest, error.incarnation)
        return Superseded(str(error))


def _steady(wall: Callable[[], float], clock: Callable[[], float]) -> Callable[[], float]:
    """Return a clock that starts with the wall time of now and advances by `clock`: setting the
    system clock must not stretch or shorten what the agent waits for."""
    ahead = wall() - clock()
    return lambda: clock() + ahead


async def _trust(driver: Driver, document: Document) -> None:
    """Let the document's neighbours open links, and nobody else."""
    try:
        await driver.trust(document.keys)
    except DriverError as error:
        log.info("links of former neighbours stay open for now: %s", error)
