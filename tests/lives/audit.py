"""What must hold in a life, checked at the event that could break it; it sees everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.drivers.base import Message, Place
from tests.lives.broker import ModelBroker
from tests.simulation.audit import Audit
from tests.simulation.consumers import ConsumerClass
from weir.coordination.tables import interest_towards
from weir.coordination.wire import Delivery
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.steps import ActionState

if TYPE_CHECKING:
    from tests.lives.world import World
    from tests.simulation.actions import Change


class LivesAudit(Audit):
    """The checks of the simulated cores, and those of the parts around them."""

    world: World  # type: ignore[assignment]

    def __init__(self, world: World) -> None:
        super().__init__(world)  # type: ignore[arg-type]
        self.excused: dict[str, set[int]] = {}
        """Flow -> messages that only a lost disk held."""

        self.disks_lost: set[str] = set()
        """Brokers whose data went, or went back."""
        self.repeats: dict[str, int] = {}
        """Consumer -> up to here its broker has forgotten what it has delivered."""
        self.came_at: dict[str, int] = {}
        """Consumer -> how many messages of its flow there were when it was let in."""

    # --- messages

    def disk_lost(self, broker: ModelBroker) -> None:
        """A broker's data is about to go: what it alone held is nobody's fault."""
        self.disks_lost.add(broker.name)
        for channel, stream in broker.streams.items():
            if channel.place is Place.DELIVERY:
                continue
            for _, message in stream.waiting:
                if not message.mark:
                    number = int(message.payload.split(b" ", 1)[0])
                    self.excused.setdefault(message.flow, set()).add(number)
        for consumer_class in self.world.consumers.classes.values():
            if consumer_class.broker == broker.name:
                for consumer in consumer_class.consumers:
                    self.repeats[consumer] = self.last.get(consumer, 0)

    def taken(self, broker: ModelBroker, flow: str, messages: list[Message]) -> None:
        """A broker has messages for its consumers; they read them in its order."""
        consumers = self.world.consumers
        for consumer_class in consumers.at.get((broker.name, flow), ()):
            receivers = (
                consumer_class.consumers
                if consumer_class.everybody
                else sorted(consumers.admitted[consumer_class.name])
            )
            for message in messages:
                number = int(message.payload.split(b" ", 1)[0])
                for consumer in receivers:
                    self._received(consumer_class, consumer, number)

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
            missing = set(range(last + 1, number)) - self.excused.get(flow, set())
            if missing:
                self.fail(f"{consumer} lost {flow}:{_span(missing)}, it got {number} after {last}")
        self.fresh.discard(consumer)
        self.last[consumer] = number

    def admitted(self, consumer: str, flow: str) -> None:
        """A new connection of a consumer; what was published before it may have gone past him."""
        self.connected(consumer)
        self.came_at[consumer] = self.world.published[flow]

    # --- settings

    def is_enforced(self, change: Change, value: float | None) -> None:
        """The database has it that nothing else is in force any more."""
        self.possible[change.key] = {value}
        if change.kind == "set_population":
            consumers = self.world.consumers
            consumer_class = consumers.classes[change.key[1]]
            self.admission(consumer_class, len(consumers.admitted[consumer_class.name]))

    # --- the end

    def quiescent(self) -> str:
        """What is still going on; empty when nothing is."""
        world = self.world
        if not world.control.idle:
            return "an execution has not ended"
        if world.plans_to_come:
            return f"{world.plans_to_come} plans have not begun"
        for name, agent in world.agents.items():
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
                asked = interest_towards(name, there.router.flows.local, there.router.tables)
                if tables.interest.get(neighbour) != asked:
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
                if reliable and missing - self.excused.get(flow, set()):
                    self.fail(
                        f"{consumer} has {flow}:{self.last.get(consumer, 0)} as its last, "
                        f"{published} were published"
                    )


def _span(numbers: set[int]) -> str:
    """A few of many."""
    shown = ", ".join(str(n) for n in sorted(numbers)[:4])
    return shown if len(numbers) <= 4 else f"{shown}, ... ({len(numbers)} in all)"
