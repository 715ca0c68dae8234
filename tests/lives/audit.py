"""What must hold in a life, checked at the event that could break it; it sees everything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from agent.drivers.base import Message, Place
from tests.lives.actions import Change, Edge, is_tree
from tests.lives.broker import ModelBroker
from tests.lives.consumers import ConsumerClass
from weir.coordination.participant_state import ParticipantState, Phase
from weir.coordination.tables import interest_towards
from weir.coordination.wire import Delivery
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.steps import ActionState

if TYPE_CHECKING:
    from tests.lives.agents import Agent
    from tests.lives.world import World

ASKING_S = 12.0
"""Within this time an agent in doubt has reached peers that are all there."""


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
        self.forgetful: set[str] = set()
        """Brokers whose agents may not know what they voted: their directory was empty or older."""
        self.prepared_attempts: dict[str, int] = {}
        self.last: dict[str, int] = {}
        """Consumer -> number of the last message."""
        self.fresh: set[str] = set()
        """Consumers that have received nothing since they connected."""
        self.possible: dict[tuple[str, str], set[float | None]] = {}
        """Setting -> every value its agent may be enforcing."""
        self.excused: dict[tuple[str, str], set[int]] = defaultdict(set)
        """(broker, flow) -> messages that its consumers may miss: only a lost disk held them."""
        self.disks_lost: set[str] = set()
        """Brokers whose data went, or went back."""
        self.repeats: dict[str, int] = {}
        """Consumer -> up to here its broker has forgotten what it has delivered."""
        self.came_at: dict[str, int] = {}
        """Consumer -> how many messages of its flow there were when it was let in."""

    def fail(self, text: str) -> None:
        """The life ends here."""
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
            hands = agent.hands
            if hands is None or not self._speaks(agent):
                continue
            for wait in hands.shifts._book.doubts.waits(hands.shifts._clock()):
                peers = [world.agents[b] for b in (*wait.voted, *wait.silent)]
                if not all(self._speaks(peer, agent) for peer in peers):
                    continue
                stages = [
                    (s.attempt, s.phase)
                    for peer in peers
                    if peer.hands is not None
                    for s in peer.hands.shifts._book.states
                    if s.action == wait.action
                ]
                if stages == [(wait.attempt, Phase.READY)] * len(peers):
                    world.counts["blocked"] += 1
                    continue
                key = (name, wait.action, wait.attempt)
                still[key] = self.in_doubt.get(key, world.loop.time())
                if world.loop.time() - still[key] > ASKING_S:
                    self.fail(f"{name} waits for {wait.action}, whose outcome its peers know")
        self.in_doubt = still
        world.clock.after(1.0, self.doubts)

    def _speaks(self, agent: Agent, to: Agent | None = None) -> bool:
        """Whether nothing hinders an agent, or its way to another and back."""
        process, hands, disk = agent.process, agent.hands, agent.disk
        if process is None or not process.running or hands is None:
            return False
        network, name = self.world.network, agent.name
        return (
            name not in self.forgetful
            and self.world.brokers[name].up
            and not (hands.shifts._disk_failed or disk.full or disk.broken_sync or disk.slow_s)
            and not (to and (network.blocked(name, to.name) or network.blocked(to.name, name)))
        )

    def edges_changed(self, edges: set[Edge]) -> None:
        """The overlay stays a tree (of the brokers that are in it)."""
        if not is_tree(edges):
            self.fail(f"the overlay is no tree: {sorted(map(sorted, edges))}")

    # --- messages

    def disk_lost(self, broker: ModelBroker) -> None:
        """A broker's data is about to go: what it alone held is nobody's fault."""
        self.disks_lost.add(broker.name)
        self.excuse(broker, lambda _: self.world.names)
        for consumer_class in self.world.consumers.classes.values():
            if consumer_class.broker == broker.name:
                for consumer in consumer_class.consumers:
                    self.repeats[consumer] = self.last.get(consumer, 0)

    def excuse(self, broker: ModelBroker, behind: Callable[[str], Collection[str]]) -> None:
        """What a broker holds may be missed by consumers at the brokers `behind` the neighbour
        that it is for, at all brokers while it is in an ingress (of no neighbour)."""
        for channel, stream in broker.streams.items():
            if channel.place is Place.DELIVERY:
                continue
            whom = behind(channel.neighbour)
            for _, message in stream.waiting:
                if not message.mark:
                    for name in whom:
                        self.excused[name, message.flow].add(_number(message))

    def taken(self, broker: ModelBroker, flow: str, messages: list[Message]) -> None:
        """A broker has messages for its consumers; they read them in its order."""
        if broker.name in self.world.gone.out:
            return
        consumers = self.world.consumers
        for consumer_class in consumers.at.get((broker.name, flow), ()):
            receivers = (
                consumer_class.consumers
                if consumer_class.everybody
                else sorted(consumers.admitted[consumer_class.name])
            )
            for message in messages:
                for consumer in receivers:
                    self._received(consumer_class, consumer, _number(message))

    def _received(self, consumer_class: ConsumerClass, consumer: str, number: int) -> None:
        self.world.counts["delivered"] += 1
        last = self.last.get(consumer, 0)
        flow = consumer_class.flow
        if number <= self.repeats.get(consumer, 0):
            self.world.counts["repeated_after_loss"] += 1
            return
        if number <= last:
            if self.world.twins and self.world.deliveries[flow] is Delivery.BEST_EFFORT:
                # Nothing is promised of it while two agents act for one broker.
                return
            self.fail(f"{consumer} got {flow}:{number} after {last}")
        owed = consumer_class.everybody or (consumer_class.steady and consumer not in self.fresh)
        if owed and number != last + 1:
            skipped = set(range(last + 1, number))
            missing = skipped - self.excused[consumer_class.broker, flow]
            self.world.counts["excused"] += len(skipped - missing)
            if missing:
                self.fail(f"{consumer} lost {flow}:{_span(missing)}, it got {number} after {last}")
        self.fresh.discard(consumer)
        self.last[consumer] = number

    def connected(self, consumer: str, flow: str) -> None:
        """A new connection of a consumer; what was published before it may have gone past him."""
        self.fresh.add(consumer)
        self.came_at[consumer] = self.world.published[flow]

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
            consumers = self.world.consumers
            consumer_class = consumers.classes[change.key[1]]
            self.admission(consumer_class, len(consumers.admitted[consumer_class.name]))

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
        if world.plans_to_come:
            return f"{world.plans_to_come} plans have not begun"
        for name, agent in world.agents.items():
            if name in world.gone.out:
                continue
            hands, runtime, store = agent.hands, agent.runtime, agent.store
            if hands is None or runtime is None or store is None:
                return f"{name} does not run"
            broker = world.brokers[name]
            if not broker.up:
                return f"the broker of {name} is down"
            wanted = world.control.document(name).version
            if runtime._document is None or runtime._document.version != wanted:
                return f"{name} has not seen its document"
            if hands.enforcer.version != wanted:
                return f"{name} has not carried out its document: {hands.enforcer._problems}"
            if store.saved.states:
                return f"{name} remembers {sorted(store.saved.states)}"
            if hands.router._keep is not None or hands.router._held:
                return f"{name} is paused"
            if not hands.router.known:
                return f"{name} does not know its links yet"
            left = self._left(name)
            problems = {k: v for k, v in hands.router.problems.items() if k not in left}
            if problems:
                return f"{name} has problems: {problems}"
            tables = hands.router.tables
            if name in self.disks_lost and self._outboxes(name) != tables.links:
                # It is made again, or dropped, when the agent looks.
                return f"{name} has outboxes {sorted(self._outboxes(name))}"
            for channel, stream in broker.streams.items():
                if f"left for {channel.neighbour}" in left:
                    continue
                if channel.place is not Place.DELIVERY and stream.waiting:
                    whom = channel.flow or f"neighbour {channel.neighbour}"
                    return f"{len(stream.waiting)} messages wait at {name} for {whom}"
            for neighbour in sorted(tables.links):
                there = world.agents[neighbour].hands
                if there is None:
                    return f"{neighbour} does not run"
                interest = interest_towards(name, there.router.flows.local, there.router.tables)
                if tables.interest.get(neighbour) != interest:
                    return f"{name} does not know what {neighbour} wants"
        # Whoever connects late does not see what was delivered before: that is no loss.
        return world.consumers.about_to_be_admitted()

    def _outboxes(self, name: str) -> frozenset[str]:
        """Neighbours for whom there is one, those aside that the agent names as left."""
        neighbours = {
            channel.neighbour
            for channel in self.world.brokers[name].streams
            if channel.place is Place.OUTBOX
        }
        left = self._left(name)
        return frozenset(n for n in neighbours if f"left for {n}" not in left)

    def _left(self, name: str) -> frozenset[str]:
        """Problems that a person is asked to look at: an older disk has brought back outboxes for
        links that are none, and nobody can know whether what waits there has arrived."""
        hands = self.world.agents[name].hands
        if name not in self.disks_lost or hands is None:
            return frozenset()
        return frozenset(key for key in hands.router.problems if key.startswith("left for "))

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
            hands = agent.hands
            assert hands is not None
            router = hands.router
            links = control.neighbours(name)
            if router.tables.links != links:
                self.fail(f"{name} has links {sorted(router.tables.links)}, not {sorted(links)}")
            outboxes = self._outboxes(name)
            if outboxes != links:
                self.fail(f"{name} has outboxes {sorted(outboxes)}, links {sorted(links)}")
        self._settings()
        self._nobody_misses_anything()
        if world.must_succeed and any(
            view.state is not ExecutionState.SUCCEEDED for view in control.executions
        ):
            self.fail(f"nothing went wrong, but: {[v.state.value for v in control.executions]}")

    def _settings(self) -> None:
        control = self.world.control
        for (broker, name), setting in control.settings.items():
            if broker in self.world.gone.out:
                continue
            hands = self.world.agents[broker].hands
            assert hands is not None
            if name in control.classes:
                shown: float | None = hands.enforcer._limits.get(name)
            else:
                gates = hands.router.flows.gates
                shown = gates[name].rate_per_s if name in gates else None
            if not setting.in_force == setting.desired == shown:
                self.fail(f"{name}@{broker}: in force {setting.in_force}, shown {shown}")

    def _nobody_misses_anything(self) -> None:
        world = self.world
        reachable = {b for edge in world.control.edges for b in edge}
        for consumer_class in world.consumers.classes.values():
            flow = consumer_class.flow
            published = world.published[flow]
            here = consumer_class.broker == world.ingress[flow]
            if consumer_class.broker not in reachable and not here:
                continue
            if consumer_class.broker in world.gone.out:
                continue
            if world.ingress[flow] in world.gone.out and not consumer_class.everybody:
                continue  # No last message was sent, and nobody was owed those before it.
            receivers = (
                consumer_class.consumers
                if consumer_class.everybody
                else sorted(world.consumers.admitted[consumer_class.name])
            )
            reliable = world.deliveries[flow] is Delivery.RELIABLE
            for consumer in receivers:
                last = self.last.get(consumer, 0)
                if not consumer_class.everybody:
                    last = max(last, self.came_at.get(consumer, 0))
                missing = set(range(last + 1, published + 1))
                if reliable and missing - self.excused[consumer_class.broker, flow]:
                    self.fail(
                        f"{consumer} has {flow}:{self.last.get(consumer, 0)} as its last, "
                        f"{published} were published"
                    )


def _span(numbers: set[int]) -> str:
    """A few of many."""
    shown = ", ".join(str(n) for n in sorted(numbers)[:4])
    return shown if len(numbers) <= 4 else f"{shown}, ... ({len(numbers)} in all)"


def _number(message: Message) -> int:
    return int(message.payload.split(b" ", 1)[0])
