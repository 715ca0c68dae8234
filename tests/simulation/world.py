"""One run: a seed's scenario, publishers, faults, people who press buttons, and the audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from tests.simulation import faults
from tests.simulation.agents import SimAgent
from tests.simulation.audit import Audit
from tests.simulation.brokers import SimBroker
from tests.simulation.consumers import ConsumerClass, Consumers
from tests.simulation.control import Control, Setting
from tests.simulation.gone import Gone
from tests.simulation.kernel import Clock, Network
from tests.simulation.scenario import Scenario, make_scenario
from weir.coordination.tables import Tables
from weir.coordination.wire import Document
from weir.lifecycle.executions import ExecutionCommand, ExecutionState

TROUBLE_S = 10.0
"""Faults and publishers begin within this time."""
PATIENCE_S = 300.0
"""Everything has come to rest by then, or the run fails."""


_WEATHERS, _ODDS = ("quiet", "changing", "rough"), (15, 70, 15)
_NETWORKS = {
    # share lost, share repeated, longest delay, longest time from broker to broker
    "quiet": ((0.0,), (0.0,), (0.02, 0.1), (0.02, 0.1)),
    "changing": ((0.0, 0.02, 0.1, 0.2), (0.0, 0.1), (0.02, 0.1, 0.4), (0.02, 0.1, 0.3)),
    "rough": ((0.1, 0.3), (0.5,), (0.4, 0.8), (0.1, 0.3)),
}


class World:
    """All parts of one run; `run` raises Violation."""

    agent_class: type[SimAgent] = SimAgent
    control_class: type[Control] = Control
    consumers_class: type[Consumers] = Consumers
    rough = False
    """Always the worst network."""
    tree_share = 0.75
    """Of the actions: those that change the tree."""
    gone_share = 0.2
    """Of the runs with faults: those in which somebody goes for good."""
    doubts_s: tuple[float, ...] = (0.5, 3.0, 6.0)
    """After how much silence agents ask their peers: one of these."""
    append_share = 0.13
    """Of those: appends and detaches."""
    buries_after_s: tuple[float, ...] = (3.0, 60.0)
    """How long the coordinator waits for the silent after a commit: one of these."""

    def __init__(self, seed: int, trace: Callable[[str], None] | None = None) -> None:
        self.seed = seed
        self.trace = trace
        self.counts: Counter[str] = Counter()
        rng = Random(seed)
        self.clock = Clock(rng)
        weather = "rough" if self.rough else rng.choices(_WEATHERS, _ODDS)[0]
        loss, repeat, delay_s, hop_s = _NETWORKS[weather]
        self.quiet = weather == "quiet"
        self.network = Network(
            self.clock,
            loss=rng.choice(loss),
            repeat=rng.choice(repeat),
            delay_s=rng.choice(delay_s),
        )
        self.hop_s = rng.choice(hop_s)
        self.bury_after_s = rng.choice(self.buries_after_s)
        # Less than a heartbeat: agents ask although all is well. That is slow, and has to be safe.
        self.doubt_s = rng.choice((3.0, 6.0) if self.quiet else self.doubts_s)
        self.scenario = make_scenario(
            rng, tree_share=self.tree_share, append_share=self.append_share
        )
        self.names = self.scenario.names
        self.ingress = self.scenario.ingress
        self.published = dict.fromkeys(self.ingress, 0)
        self.brokers = {name: SimBroker(name) for name in self.names}
        self.audit = Audit(self)
        self.gone = Gone(self)
        self.consumers = self.consumers_class(self)
        self.agents: dict[str, SimAgent] = {}
        self._set_up(self.scenario)
        self.must_succeed = self.quiet and not self.scenario.shared
        """Nothing goes wrong in this run and nobody interferes: every plan has to succeed."""
        if not self.quiet:
            faults.schedule(self, TROUBLE_S)
            self.gone.schedule(TROUBLE_S)

    def say(self, text: str, *values: object) -> None:
        """One line of the trace."""
        if self.trace is not None:
            self.trace(f"{self.clock.now:9.4f}  " + (text % values if values else text))

    def _set_up(self, scenario: Scenario) -> None:
        for plan in scenario.classes:
            consumer_class = ConsumerClass(
                plan.name,
                plan.broker,
                plan.flow,
                [f"{plan.name}.{n}" for n in range(plan.consumers)],
            )
            loose = plan.broker in scenario.loose
            closed = plan.limit == 0 or any(
                change.key == (plan.broker, plan.name) and 0 in (change.before, change.after)
                for steps in scenario.plans
                for step in steps
                for change in step
            )
            consumer_class.everybody = plan.limit is None and not loose
            consumer_class.steady = not closed and not loose
            self.consumers.add(consumer_class)
        settings = {(c.broker, c.name): Setting(c.limit, c.limit) for c in scenario.classes}
        settings |= {(b, f): Setting(None, None) for f, b in scenario.ingress.items()}
        self.control = self.control_class(self, scenario.edges, settings)
        self.control.classes = {c.name: (c.broker, c.flow) for c in scenario.classes}
        documents = {name: self.control.document(name) for name in self.names}
        for name in self.names:
            tables = Tables()
            for neighbour in sorted(self.control.neighbours(name)):
                wanted = _wanted_behind(neighbour, name, self.control, documents)
                tables = tables.with_link(neighbour, wanted)
                self.brokers[name].ensure_outbox(neighbour)
            self.agents[name] = self.agent_class(self, name, tables, documents[name])

    # --- what happens

    def run(self) -> Counter[str]:
        """Play it to the end; what happened, counted. Raises Violation."""
        clock, rng = self.clock, self.clock.rng
        for flow in self.ingress:
            clock.after(rng.random() * 0.3, self._publish, flow, rng.choice((0.15, 0.3, 0.6)))
        self.consumers.knock()
        self.control.tick()
        self.audit.doubts()
        self._next_plan(0)
        for _ in range(0 if self.quiet else rng.choice((0, 0, 1, 2, 3))):
            clock.after(rng.uniform(0.3, TROUBLE_S), self._press, rng.choice(_BUTTONS))
        clock.run(TROUBLE_S)
        clock.after(5.0, self._resume)
        self._rest()
        for flow in self.ingress:
            self._publish_one(flow)
        clock.run(clock.now + 1.0)
        self._rest()
        self.audit.final()
        self.counts["events"] += clock.events
        self.counts["lost_in_network"] += self.network.lost
        self.counts["repeated_in_network"] += self.network.repeated
        return self.counts

    def _rest(self) -> None:
        deadline = self.clock.now + PATIENCE_S
        while True:
            self.clock.run(self.clock.now + 1.0)
            going_on = self.audit.quiescent()
            if not going_on:
                return
            if self.clock.now > deadline:
                self.audit.fail(f"never came to rest: {going_on}")

    def _publish(self, flow: str, gap_s: float) -> None:
        if self.clock.now < TROUBLE_S:
            self._publish_one(flow)
            self.clock.after(self.clock.rng.random() * 2 * gap_s, self._publish, flow, gap_s)

    def _publish_one(self, flow: str) -> None:
        """A publisher counts what the broker has acknowledged."""
        broker = self.brokers[self.ingress[flow]]
        if broker.up and broker.name not in self.gone.out:
            self.published[flow] += 1
            self.counts["published"] += 1
            broker.ingress.append((flow, self.published[flow]))
            self.agents[broker.name].kick("")

    def _next_plan(self, number: int) -> None:
        """Each plan begins when the one before has ended."""
        if number >= len(self.scenario.plans):
            return
        if not self.control.up or not self.control.idle:
            self.clock.after(0.5, self._next_plan, number)
            return
        rng = self.clock.rng
        self.control.execute(
            self.scenario.plans[number],
            pace_s=rng.choice((0.0, 0.2)),
            max_parallel=rng.choice((1, 2, 4)),
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


_BUTTONS = (
    ExecutionCommand.PAUSE,
    ExecutionCommand.RESUME,
    ExecutionCommand.STOP,
    ExecutionCommand.ROLL_BACK,
)


def _wanted_behind(
    broker: str, seen_from: str, control: Control, documents: dict[str, Document]
) -> frozenset[str]:
    """The flows wanted on the far side of a link, from the classes themselves."""
    wanted = {c.flow for c in documents[broker].classes.values() if c.limit != 0}
    for neighbour in control.neighbours(broker) - {seen_from}:
        wanted |= _wanted_behind(neighbour, broker, control, documents)
    return frozenset(wanted)
