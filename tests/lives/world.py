"""One life of a system: a seed's scenario, faults, people who press buttons, and the audit."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from random import Random
from typing import Any, cast
from unittest.mock import patch

from agent.admission import AdmissionBook
from agent.drivers.base import Channel, Interest, Place
from agent.store import Store
from tests.lives import faults
from tests.lives.agents import Agent, Listener, LivesRuntime
from tests.lives.audit import Audit, Violation
from tests.lives.broker import MAX_PAYLOAD, ModelBroker
from tests.lives.consumers import ConsumerClass, Consumers
from tests.lives.control import Control, Setting
from tests.lives.disk import SimDisk, SimPath, simulated_directories
from tests.lives.driver import ModelDriver
from tests.lives.gone import Gone
from tests.lives.loop import Process, VirtualLoop
from tests.lives.network import WORLD, Network
from tests.lives.scenario import Scenario, make_scenario
from weir.coordination.tables import Tables
from weir.coordination.termination import DOUBT_S, Termination
from weir.coordination.wire import Delivery, Document
from weir.lifecycle.executions import ExecutionCommand, ExecutionState

TROUBLE_S = 8.0
"""Faults and publishers begin within this time."""
REMOVED_S = 40.0
"""Publishers go on until then while somebody who is destroyed is not removed."""
PATIENCE_S = 300.0
"""Everything has come to rest by then, or the life fails."""
LOOK_S = 0.5

BUTTONS = (
    ExecutionCommand.PAUSE,
    ExecutionCommand.RESUME,
    ExecutionCommand.STOP,
    ExecutionCommand.ROLL_BACK,
)

LISTENER = Listener()


class Clock:
    """Virtual time outside of all processes, as the control plane's clock shows it."""

    def __init__(self, loop: VirtualLoop, rng: Random) -> None:
        self._loop = loop
        self.rng = rng
        self.ahead_s = 0.0
        """Of the control plane's clock."""

    @property
    def now(self) -> float:
        """Seconds, as the control plane has them."""
        return self._loop.time() + self.ahead_s

    def after(self, delay: float, what: Callable[..., None], *args: Any) -> None:
        """Call `what` later, outside of all processes."""
        self._loop.call_later(delay, what, *args, context=WORLD)


class World:
    """All parts of one life; `run` raises Violation."""

    runtime_class: type[LivesRuntime] = LivesRuntime
    driver_class: type[ModelDriver] = ModelDriver
    control_class: type[Control] = Control
    consumers_class: type[Consumers] = Consumers
    book_class: type[AdmissionBook] = AdmissionBook
    store_class: type[Store] = Store
    agents_class: type[Agent] = Agent
    kinds: tuple[str, ...] = faults.KINDS
    """What may go wrong."""
    broker_class: type[ModelBroker] = ModelBroker
    tree_share = 0.75
    """Of the actions: those that change the tree."""
    append_share = 0.13
    """Of those: appends and detaches."""
    buries_after_s: tuple[float, ...] = (3.0, 60.0)
    """How long the coordinator waits for the silent after a commit: one of these."""
    doubts_s: tuple[float, ...] = (0.5, 3.0, DOUBT_S)
    """After how much silence agents ask their peers: one of these. Less than between two answers of
    the control plane: they ask although all is well. That is slow, and has to be safe."""
    patches: Mapping[str, object] = {}
    """Names of production and what a broken variant has in their place."""
    cold_share = 0.15
    """Of the lives that begin with empty directories and brokers."""

    def __init__(self, seed: int, trace: Callable[[str], None] | None = None) -> None:
        self.seed = seed
        self.trace = trace
        self.counts: Counter[str] = Counter()
        self.violation: Violation | None = None
        rng = self.rng = Random(seed)
        random.seed(seed)
        self.loop = VirtualLoop(rng)
        self.loop.set_exception_handler(self._fault)
        self.clock = Clock(self.loop, rng)
        self.processes: list[Process] = []
        self.quiet = rng.random() < 0.1
        self.loss = 0.0 if self.quiet else rng.choice((0.0, 0.0, 0.02, 0.1))
        self.repeat = 0.0 if self.quiet else rng.choice((0.0, 0.1))
        self.delay_s = rng.choice((0.02, 0.1)) if self.quiet else rng.choice((0.02, 0.1, 0.4))
        self.hop_s = rng.choice((0.005, 0.02, 0.05))
        self.bury_after_s = rng.choice(self.buries_after_s)
        self.doubt_s = DOUBT_S if self.quiet else Random(f"doubt {seed}").choice(self.doubts_s)
        self.cold = rng.random() < self.cold_share
        self.network = Network(self.loop, rng, hop_s=self.hop_s)
        self.scenario: Scenario = make_scenario(
            rng, tree_share=self.tree_share, append_share=self.append_share
        )
        self.names = self.scenario.names
        self.ingress = self.scenario.ingress
        self.deliveries = {
            flow: Delivery.BEST_EFFORT if rng.random() < 0.2 else Delivery.RELIABLE
            for flow in self.ingress
        }
        self.oversize: set[str] = set()
        """Flows whose publishers send messages about as large as the broker takes."""
        self.published = dict.fromkeys(self.ingress, 0)
        self.plans_to_come = len(self.scenario.plans)
        self.twins: list[Agent] = []
        """Second agents, each beside one that lives."""
        self.brokers = {name: self.broker_class(name) for name in self.names}
        self.audit = Audit(self)
        self.gone = Gone(self)
        self.consumers = self.consumers_class(self)
        self.agents: dict[str, Agent] = {
            name: self.agents_class(self, name, SimDisk(rng)) for name in self.names
        }
        for broker in self.brokers.values():
            broker.on_delivered = self.audit.taken
            broker.on_closed = self.consumers.closed
            broker.book = self.book_class()
        self._set_up(self.scenario)
        self.must_succeed = self.quiet and not self.scenario.shared

    def say(self, text: str, *values: object) -> None:
        """One line of the trace."""
        if self.trace is not None:
            self.trace(f"{self.loop.time():9.4f}  " + (text % values if values else text))

    def trouble(self, who: str, what: str) -> None:
        """Something that must never be."""
        if self.violation is None:
            self.violation = Violation(f"seed {self.seed}, t={self.loop.time():.3f}: {who}: {what}")

    def _fault(self, loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Violation):
            self.violation = self.violation or error
        elif "handle" in context:
            self.trouble("a callback", f"{type(error).__name__}: {error}")

    def _set_up(self, scenario: Scenario) -> None:
        for plan in scenario.classes:
            loose = plan.broker in scenario.loose
            closed = plan.limit == 0 or any(
                change.key == (plan.broker, plan.name) and 0 in (change.before, change.after)
                for steps in scenario.plans
                for step in steps
                for change in step
            )
            reliable = self.deliveries[plan.flow] is Delivery.RELIABLE
            self.consumers.add(
                ConsumerClass(
                    name=plan.name,
                    broker=plan.broker,
                    flow=plan.flow,
                    consumers=tuple(f"{plan.name}.{n}" for n in range(plan.consumers)),
                    everybody=plan.limit is None and not loose and reliable,
                    steady=not closed and not loose and reliable,
                )
            )
        settings = {(c.broker, c.name): Setting(c.limit, c.limit) for c in scenario.classes}
        settings |= {(b, f): Setting(None, None) for f, b in scenario.ingress.items()}
        self.control = self.control_class(self, scenario.edges, settings)
        self.control.classes = {c.name: (c.broker, c.flow) for c in scenario.classes}

    async def _furnish(self) -> None:
        """Directories and brokers as agents leave them that have run for a while."""
        self.control.addresses = {name: f"model://{name}" for name in self.names}
        documents = {name: self.control.document(name) for name in self.names}
        for name in self.names:
            tables = Tables()
            broker = self.brokers[name]
            for neighbour in sorted(self.control.neighbours(name)):
                wanted = self._wanted_behind(neighbour, name, documents)
                tables = tables.with_link(neighbour, wanted)
                broker.ensure(
                    Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour=neighbour)
                )
                broker.keep(Interest(neighbour=neighbour, flows=wanted))
            store = Store(cast("Any", SimPath(self.agents[name].disk)))
            await store.save_document(documents[name])
            await store.change_tables(lambda _, tables=tables: tables)  # type: ignore[misc]
            store.close()

    def _wanted_behind(
        self, broker: str, seen_from: str, documents: Mapping[str, Document]
    ) -> frozenset[str]:
        """The flows wanted on the far side of a link, from the classes themselves."""
        wanted = {c.flow for c in documents[broker].classes.values() if c.limit != 0}
        for neighbour in self.control.neighbours(broker) - {seen_from}:
            wanted |= self._wanted_behind(neighbour, broker, documents)
        return frozenset(wanted)

    # --- what happens

    def run(self) -> Counter[str]:
        """Play it to the end; what happened, counted. Raises Violation."""
        gc.disable()
        LISTENER.world = self
        log = logging.getLogger("agent")
        other = logging.getLogger("weir.agent")
        level = logging.INFO if self.trace else logging.ERROR
        for logger in (log, other):
            logger.addHandler(LISTENER)
            logger.setLevel(level)
            logger.propagate = False
        try:
            with simulated_directories(), ExitStack() as stack:
                for name, instead in self.patches.items():
                    stack.enter_context(patch(name, instead))
                stack.enter_context(patch.object(Termination, "doubt_s", self.doubt_s))
                self.loop.run_until_complete(self._live())
        finally:
            LISTENER.world = None
            for logger in (log, other):
                logger.removeHandler(LISTENER)
                logger.setLevel(logging.NOTSET)
                logger.propagate = True
            self.loop.close()
            gc.enable()
            # Tasks of many lives in one table of asyncio would find their places slowly.
            gc.collect()
        self.counts["carried_over"] += sum(broker.carried for broker in self.brokers.values())
        self.counts["turns"] += self.loop.turns
        self.counts["virtual_seconds"] += int(self.loop.time())
        if self.violation is not None:
            raise self.violation
        return self.counts

    async def _live(self) -> None:
        if self.cold:
            self.audit.forgetful.update(self.names)
        else:
            await self._furnish()
        for agent in self.agents.values():
            agent.start()
        rng, clock = self.rng, self.clock
        for flow in self.ingress:
            clock.after(rng.random() * 0.3, self._publish, flow, rng.choice((0.08, 0.2, 0.5)))
        self.consumers.knock()
        self.control.tick()
        self.audit.doubts()
        if not {"destroyed", "away"}.isdisjoint(self.kinds):
            self.gone.look()
        clock.after(rng.random(), self._next_plan, 0)
        if not self.quiet:
            faults.schedule(self, TROUBLE_S)
            for _ in range(rng.choice((0, 0, 1, 2))):
                clock.after(rng.uniform(0.3, TROUBLE_S), self._press, rng.choice(BUTTONS))
        await self._until(TROUBLE_S)
        faults.repair(self)
        clock.after(5.0, self._resume)
        await self._rest()
        for flow in self.ingress:
            self._publish_one(flow)
        await self._until(self.loop.time() + 1.0)
        await self._rest()
        if self.violation is None:
            try:
                self.audit.final()
            except Violation as violation:
                self.violation = violation
        await self._bury()

    async def _until(self, time: float) -> None:
        while self.violation is None and self.loop.time() < time:
            await asyncio.sleep(LOOK_S)

    async def _rest(self) -> None:
        deadline = self.loop.time() + PATIENCE_S
        while self.violation is None:
            await asyncio.sleep(LOOK_S)
            going_on = self.audit.quiescent()
            if not going_on:
                return
            if self.loop.time() > deadline:
                self.trouble("the system", f"never came to rest: {going_on}")

    async def _bury(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            await process.bury()

    def _publish(self, flow: str, gap_s: float) -> None:
        removing = self.gone.destroyed - self.control.removed
        if self.loop.time() < (REMOVED_S if removing else TROUBLE_S):
            self._publish_one(flow)
            self.clock.after(self.rng.random() * 2 * gap_s, self._publish, flow, gap_s)

    def _publish_one(self, flow: str) -> None:
        """A publisher counts what the broker has acknowledged."""
        broker = self.brokers[self.ingress[flow]]
        if broker.name in self.gone.out:
            return
        number = self.published[flow] + 1
        payload = b"%d" % number
        if flow in self.oversize:
            payload += b" " + b"x" * self.rng.randint(MAX_PAYLOAD - 200, MAX_PAYLOAD - 10)
        if broker.publish(flow, self.deliveries[flow], payload):
            self.published[flow] = number
            self.counts["published"] += 1

    def _next_plan(self, number: int) -> None:
        """Each plan begins when the one before has ended."""
        self.plans_to_come = len(self.scenario.plans) - number
        if number >= len(self.scenario.plans):
            return
        ready = self.control.addresses.keys() | self.gone.out >= set(self.names)
        if not self.control.up or not self.control.idle or not ready:
            self.clock.after(0.5, self._next_plan, number)
            return
        self.control.execute(
            self.scenario.plans[number],
            pace_s=self.rng.choice((0.0, 0.2)),
            max_parallel=self.rng.choice((1, 2, 4)),
        )
        self.clock.after(0.5, self._next_plan, number + 1)

    def _press(self, button: ExecutionCommand) -> None:
        if self.control.up:
            self.control.command(button)

    def _resume(self) -> None:
        """Nobody leaves a paused execution behind."""
        executions = self.control.executions
        if executions and executions[-1].state is ExecutionState.PAUSED:
            self.control.command(ExecutionCommand.RESUME)
        self.clock.after(5.0, self._resume)
