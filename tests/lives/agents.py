"""Agents: processes that run `agent.runtime`, as production does, on simulated ports."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from agent.drivers.base import BrokerFacts, Driver, DriverError
from agent.runtime import Components, Runtime
from agent.store import Store, StoreError
from tests.lives.disk import SimDisk, SimPath
from tests.lives.driver import ModelDriver
from tests.lives.line import Line
from tests.lives.loop import PROCESS, Killed, Process
from tests.lives.network import WORLD
from weir.coordination.participant_state import ParticipantState
from weir.coordination.tables import Tables
from weir.coordination.termination import Answer, Question

if TYPE_CHECKING:
    from tests.lives.world import World

RESTART_S = 1.0
"""After which a supervisor starts an agent again that has ended by itself."""

ANSWERED_S = 0.2
"""Until then an answer has left."""
BACK_S = 0.1


class LivesRuntime(Runtime):
    """Lets the audit see what the runtime has in its hands."""

    hands: Components | None = None
    on_answered: Callable[[Answer], None]

    async def _begin(self, driver: Driver, facts: BrokerFacts, broker: str) -> Components:
        self.hands = hands = await super()._begin(driver, facts, broker)
        answer = hands.shifts.on_question

        async def answered(question: Question) -> Answer | None:
            said = await answer(question)
            if said is not None:
                self.on_answered(said)
            return said

        hands.shifts.on_question = answered  # type: ignore[method-assign]
        return hands

    async def _shut_down(self, components: Components) -> None:
        self.hands = None
        await super()._shut_down(components)


class Agent:
    """The place of one agent: its directory, its clock, and the process that runs now."""

    def __init__(self, world: World, name: str, disk: SimDisk, *, host: str = "") -> None:
        """`name`: the broker; `host`: the machine, when it is another than the broker's."""
        self.world = world
        self.name = name
        self.host = host or name
        self.disk = disk
        self.clock_ahead_s = 0.0
        self.restart_after = RESTART_S
        self.process: Process | None = None
        self.runtime: LivesRuntime | None = None
        self.store: Store | None = None
        self.stop: asyncio.Event | None = None
        self.retired = False
        """Nobody starts it again."""
        self.dies_answering = False

    def now(self) -> float:
        """The wall clock of this machine."""
        return self.world.loop.time() + self.clock_ahead_s

    @property
    def hands(self) -> Components | None:
        """What acts at the broker now."""
        if self.process is None or not self.process.alive or self.runtime is None:
            return None
        return self.runtime.hands

    def start(self) -> None:
        """A new process, unless one runs."""
        if self.retired or (self.process is not None and self.process.alive):
            return
        world = self.world
        world.say("%s starts", self.host)
        process = self.process = Process(world.loop, f"agent {self.host}")
        self.runtime = self.store = self.stop = None
        world.processes.append(process)
        process.start(self._main(process))

    async def _main(self, process: Process) -> None:
        world = self.world
        why = ""
        try:
            store = world.store_class(cast("Any", SimPath(self.disk)))
            try:
                self._audit(store)
                self.store, self.stop = store, asyncio.Event()
                self.runtime = world.runtime_class(
                    control=cast("Any", Line(world, self.name, self.host)),
                    store=store,
                    driver=self._driver,
                    product="model",
                    address=f"model://{self.name}",
                    report_every_s=1.5,
                    fenced_s=1.0,
                    clock=world.loop.time,
                    wall=self.now,
                )
                self.runtime.on_answered = self._answered
                await self.runtime.run(self.stop)
                why = "asked to"
            finally:
                store.close()
        except StoreError as error:
            why = str(error)
        except Killed:
            return
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            world.trouble(self.name, f"the agent ended: {why}")
        if process.alive:
            process.kill()
            world.say("%s ends: %s", self.name, why)
            world.counts["agent_ends"] += 1
            world.loop.call_later(self.restart_after, self.start, context=WORLD)

    def _audit(self, store: Store) -> None:
        """What is promised on the disk is seen."""
        persist = store.persist

        async def persisted(state: ParticipantState, tables: Tables | None = None) -> None:
            await persist(state, tables)
            self.world.audit.persisted(self.name, state)

        store.persist = persisted  # type: ignore[method-assign]

    def _answered(self, said: Answer) -> None:
        """A peer that asked for an outcome is about to be answered."""
        world = self.world
        world.counts[f"answered_{said.stance}"] += 1
        if self.dies_answering:
            self.dies_answering = False
            world.loop.call_later(ANSWERED_S, self.kill, "having answered", BACK_S, context=WORLD)

    def _driver(self, broker: str) -> ModelDriver:
        world = self.world
        return world.driver_class(
            network=world.network,
            brokers=world.brokers,
            broker=broker,
            host=self.host,
        )

    def kill(self, why: str, restart_after: float, *, power: bool = False) -> None:
        """The process ends now; somebody starts it again."""
        process = self.process
        if process is None or not process.alive:
            return
        self.world.say("%s dies, %s", self.host, why)
        self.world.counts["agent_crashes"] += 1
        process.kill()
        if power:
            self.disk.lose_power()
        self.world.loop.call_later(restart_after, self.start, context=WORLD)


class Listener(logging.Handler):
    """What agents log: for the trace, and errors that no agent may ever have."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.world: World | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        world = self.world
        if world is None:
            return
        process = PROCESS.get()
        if process is not None and not process.alive:
            return
        name = "" if process is None else process.name
        error = record.exc_info[1] if record.exc_info else None
        said = record.getMessage() + (f": {type(error).__name__}: {error}" if error else "")
        world.say("%s: %s", name, said)
        if error is not None and not isinstance(error, DriverError | StoreError | OSError):
            world.trouble(name, said)
