"""What must hold, checked at the event that could break it; it sees everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.actions import Change, Edge, is_tree
from tests.simulation.brokers import Message
from tests.simulation.consumers import ConsumerClass
from weir.coordination.participant import BUSY, ParticipantState, Phase
from weir.coordination.tables import interest_towards
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.steps import ActionState

if TYPE_CHECKING:
    from tests.simulation.agents import SimAgent
    from tests.simulation.world import World


ASKING_S = 12.0
"""Within this time an agent in doubt has reached peers that are all there."""


def _of(agent: SimAgent, action: str) -> list[ParticipantState]:
    return [state for state in agent.book.states if state.action == action]


class Violation(AssertionError):
    """An invariant does not hold."""


class Audit:
    """Checks and what they need to remember."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.fates: dict[tuple[str, int], str] = {}
        self.given_up: dict[tuple[str, int], str] = {}
        """Attempts that somebody has released or refused, and who."""
        self.in_doubt: dict[tuple[str, str, int], float] = {}
        """(agent, action, attempt) -> since when it could have heard from its peers."""
        self.prepared_attempts: dict[str, int] = {}
        self.last: dict[str, int] = {}
        """Consumer -> number of the last message."""
        self.fresh: set[str] = set()
        """Consumers that have received nothing since they connected."""
        self.possible: dict[tuple[str, str], set[float | None]] = {}
        """Setting -> every value its agent may be enforcing."""

    def fail(self, text: str) -> None:
        """The run ends here."""
        raise Violation(f"seed {self.world.seed}, t={self.world.clock.now:.3f}: {text}")

    # --- actions

    def prepared(self, action: str, attempt: int) -> None:
        """Attempts are numbered upwards."""
        if attempt <= self.prepared_attempts.get(action, 0):
            self.fail(f"{action} has attempt {attempt} twice")
        self.prepared_attempts[action] = attempt

    def committed(self, action: str, attempt: int) -> None:
        """In the database."""
        self._fate(action, attempt, "committed")
        if (action, attempt) in self.given_up:
            who = self.given_up[action, attempt]
            self.fail(f"{action} attempt {attempt} is committed, but {who} has given it up")

    def aborted(self, action: str, attempt: int) -> None:
        """In the database."""
        self._fate(action, attempt, "aborted")

    def _fate(self, action: str, attempt: int, fate: str) -> None:
        known = self.fates.setdefault((action, attempt), fate)
        if known != fate:
            self.fail(f"{action} attempt {attempt} was {known} and is {fate} now")

    def persisted(self, agent: str, state: ParticipantState) -> None:
        """An agent may end an attempt only the way the database has it."""
        fate = self.fates.get((state.action, state.attempt))
        if (state.phase is Phase.SWITCHED and fate != "committed") or (
            state.phase in (Phase.RELEASED, Phase.REFUSED) and fate == "committed"
        ):
            self.fail(
                f"{agent} {state.phase} {state.action} attempt {state.attempt}, "
                f"which was {fate or 'never decided'}"
            )
        if state.phase in (Phase.RELEASED, Phase.REFUSED):
            self.given_up.setdefault((state.action, state.attempt), agent)

    def doubts(self) -> None:
        """Nobody stays paused whose peers could tell the outcome. Called once a second."""
        world = self.world
        still: dict[tuple[str, str, int], float] = {}
        for name, agent in world.agents.items():
            if not agent.running or not agent.broker.up:
                continue
            for wait in agent.book.doubts.waits(world.clock.now):
                peers = [world.agents[b] for b in (*wait.voted, *wait.silent)]
                if not all(p.running and p.broker.up for p in peers):
                    continue
                stages = [(s.attempt, s.phase) for p in peers for s in _of(p, wait.action)]
                if stages == [(wait.attempt, Phase.READY)] * len(peers):
                    world.counts["blocked"] += 1
                    continue
                key = (name, wait.action, wait.attempt)
                still[key] = self.in_doubt.get(key, world.clock.now)
                if world.clock.now - still[key] > ASKING_S:
                    self.fail(f"{name} waits for {wait.action}, whose outcome its peers know")
        self.in_doubt = still
        world.clock.after(1.0, self.doubts)

    def edges_changed(self, edges: set[Edge]) -> None:
        """The overlay stays a tree (of the brokers that are in it)."""
        if not is_tree(edges):
            self.fail(f"the overlay is no tree: {sorted(map(sorted, edges))}")

    # --- messages

    def delivered(self, agent: SimAgent, message: Message) -> None:
        """A broker takes a message for its consumers; the second copy of one is dropped."""
        broker = agent.broker
        if message in broker.delivered:
            self.world.counts["deduplicated"] += 1
            return
        broker.delivered.add(message)
        flow, number = message
        for consumer_class in self.world.consumers.at.get((broker.name, flow), ()):
            # Without a limit a consumer's place in the stream outlives its connection.
            receivers = (
                consumer_class.consumers
                if consumer_class.everybody
                else sorted(broker.admitted[consumer_class.name])
            )
            for consumer in receivers:
                self._received(consumer_class, consumer, number)

    def _received(self, consumer_class: ConsumerClass, consumer: str, number: int) -> None:
        self.world.counts["delivered"] += 1
        last = self.last.get(consumer, 0)
        if number <= last:
            self.fail(f"{consumer} got {consumer_class.flow}:{number} after {last}")
        gap = number != last + 1
        owed = consumer_class.everybody or (consumer_class.steady and consumer not in self.fresh)
        lost = not gap or self.world.gone.lost(
            consumer_class.broker, consumer_class.flow, last + 1, number - 1
        )
        if owed and not lost:
            self.fail(f"{consumer} lost {consumer_class.flow}:{last + 1}..{number - 1}")
        self.fresh.discard(consumer)
        self.last[consumer] = number

    def connected(self, consumer: str) -> None:
        """A new connection: what was before it is not owed."""
        self.fresh.add(consumer)

    def disconnected(self, consumer: str) -> None:
        """Evicted."""
        self.fresh.discard(consumer)

    # --- settings

    def may_enforce(self, change: Change, value: float | None) -> None:
        """The database asks for another value."""
        self.possible.setdefault(change.key, {change.before}).add(value)

    def is_enforced(self, change: Change, value: float | None) -> None:
        """The database has it that nothing else is in force any more."""
        self.possible[change.key] = {value}
        if change.kind == "set_population":
            consumer_class = self.world.consumers.classes[change.key[1]]
            broker = self.world.brokers[consumer_class.broker]
            self.admission(consumer_class, len(broker.admitted[consumer_class.name]))

    def admission(self, consumer_class: ConsumerClass, admitted: int) -> None:
        """Never above the largest limit that can be in force."""
        key = (consumer_class.broker, consumer_class.name)
        limits = self.possible.get(key) or {self.world.control.settings[key].in_force}
        if None not in limits and admitted > max(x for x in limits if x is not None):
            self.fail(f"{admitted} of {consumer_class.name} admitted, limits {limits}")

    # --- the end

    def quiescent(self) -> str:
        """What is still going on; empty when nothing is."""
        world = self.world
        if not world.control.idle:
            return "an execution has not ended"
        out = world.gone.out
        for broker in sorted(out & {b for edge in world.control.edges for b in edge}):
            return f"{broker} is gone and still in the overlay"
        for name, agent in world.agents.items():
            if name in out:
                continue
            if not agent.running:
                return f"{name} does not run"
            if not agent.broker.up:
                return f"the broker of {name} is down"
            if agent.seen != world.control.document(name).version:
                return f"{name} has not seen its document"
            if agent.disk.states:
                return f"{name} remembers {sorted(agent.disk.states)}"
            if agent.broker.ingress or agent.flying:
                return f"messages wait at {name}"
            for neighbour, outbox in agent.broker.outboxes.items():
                if outbox.queue:
                    return f"messages wait at {name} for {neighbour}"
            for neighbour in sorted(agent.tables.links):
                there = world.agents[neighbour]
                wanted = interest_towards(name, there.local, there.tables)
                if agent.tables.interest.get(neighbour, frozenset()) != wanted:
                    return f"{name} does not know what {neighbour} wants"
        # Whoever connects late does not see what was delivered before: that is no loss.
        return world.consumers.about_to_be_admitted()

    def final(self) -> None:
        """After everything came to rest."""
        world = self.world
        control = world.control
        for view in control.executions:
            for step in view.steps:
                for action in step.actions:
                    if action.state not in (
                        ActionState.DONE,
                        ActionState.ABORTED,
                        ActionState.PENDING,
                    ):
                        self.fail(f"{action.id} ended {action.state}")
        for name, agent in world.agents.items():
            if name in world.gone.out:
                continue
            if agent.paused or any(s.phase in BUSY for s in agent.book.states):
                self.fail(f"{name} is still paused")
            links = control.neighbours(name)
            if agent.tables.links != links:
                self.fail(f"{name} has links {sorted(agent.tables.links)}, not {sorted(links)}")
            if set(agent.broker.outboxes) != links:
                self.fail(f"{name} has outboxes {sorted(agent.broker.outboxes)}")
        for (broker, name), setting in control.settings.items():
            agent = world.agents[broker]
            if broker in world.gone.out:
                continue
            if name in control.classes:
                shown: float | None = agent.limits.get(name)
            else:
                shown = agent.gates[name].rate_per_s if name in agent.gates else None
            if not setting.in_force == setting.desired == shown:
                self.fail(f"{name}@{broker}: in force {setting.in_force}, shown {shown}")
        self._nobody_misses_anything()
        if world.must_succeed and any(
            view.state is not ExecutionState.SUCCEEDED for view in control.executions
        ):
            self.fail(f"nothing went wrong, but: {[v.state.value for v in control.executions]}")

    def _nobody_misses_anything(self) -> None:
        world = self.world
        reachable = {b for edge in world.control.edges for b in edge}
        for consumer_class in world.consumers.classes.values():
            published = world.published[consumer_class.flow]
            admitted = world.brokers[consumer_class.broker].admitted[consumer_class.name]
            here = consumer_class.broker == world.ingress[consumer_class.flow]
            if consumer_class.broker not in reachable and not here:
                continue
            if (
                world.ingress[consumer_class.flow] in world.gone.out
                and not consumer_class.everybody
            ):
                continue  # No last message was sent, and nobody was owed those before it.
            for consumer in sorted(admitted):
                last = self.last.get(consumer, 0)
                if consumer_class.broker in world.gone.out or world.gone.lost(
                    consumer_class.broker, consumer_class.flow, last + 1, published
                ):
                    continue
                if self.last.get(consumer, 0) != published:
                    self.fail(
                        f"{consumer} has {consumer_class.flow}:{self.last.get(consumer, 0)} "
                        f"as its last, {published} were published"
                    )
