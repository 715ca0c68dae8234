"""Clients of the model brokers: publishers that count what was acknowledged, consumers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tests.lives.broker import ModelBroker
from tests.simulation.consumers import ConsumerClass
from weir.coordination.wire import ClassSpec

if TYPE_CHECKING:
    from tests.lives.world import World

KNOCK_S = 0.25


class Consumers:
    """All classes; the broker's connections say who is admitted."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.classes: dict[str, ConsumerClass] = {}
        self.at: dict[tuple[str, str], list[ConsumerClass]] = {}
        self.rules: dict[str, Mapping[str, ClassSpec]] = {}
        """Broker -> what it was told last to admit."""
        self.admitted: dict[str, set[str]] = {}

    def add(self, consumer_class: ConsumerClass) -> None:
        """Before the life begins."""
        self.classes[consumer_class.name] = consumer_class
        self.at.setdefault((consumer_class.broker, consumer_class.flow), []).append(consumer_class)
        self.admitted[consumer_class.name] = set()

    def rule(self, broker: ModelBroker, classes: Mapping[str, ClassSpec]) -> None:
        """The agent's limits hold from now on: evict above them."""
        self.rules[broker.name] = dict(classes)
        for name, consumer_class in self.classes.items():
            if consumer_class.broker != broker.name:
                continue
            limit = classes[name].limit if name in classes else 0
            admitted = self.admitted[name]
            while limit is not None and len(admitted) > limit:
                evicted = max(admitted)
                admitted.remove(evicted)
                self.world.counts["evicted"] += 1
                self.world.audit.disconnected(evicted)

    def disconnect(self, broker: str) -> None:
        """The broker stopped."""
        for name, consumer_class in self.classes.items():
            if consumer_class.broker == broker:
                for consumer in sorted(self.admitted[name]):
                    self.world.audit.disconnected(consumer)
                self.admitted[name].clear()

    def knock(self) -> None:
        """Everybody who is not admitted tries again; without an agent nobody gets in."""
        for name, consumer_class in self.classes.items():
            broker = self.world.brokers[consumer_class.broker]
            agent = self.world.agents[consumer_class.broker]
            if not broker.up or agent.process is None or not agent.process.running:
                continue
            admitted = self.admitted[name]
            for consumer in consumer_class.consumers:
                if consumer not in admitted and self.has_room(name):
                    admitted.add(consumer)
                    self.world.counts["admitted"] += 1
                    self.world.audit.connected(consumer)
                    self.world.audit.admission(consumer_class, len(admitted))
        self.world.clock.after(KNOCK_S, self.knock)

    def has_room(self, name: str) -> bool:
        """Whether one more of a class would be let in."""
        spec = self.rules.get(self.classes[name].broker, {}).get(name)
        if spec is None:
            return False
        return spec.limit is None or self.admits(len(self.admitted[name]), spec.limit)

    def admits(self, admitted: int, limit: int) -> bool:
        """Whether there is room for one more."""
        return admitted < limit

    def about_to_be_admitted(self) -> str:
        """Who will get in at the next knock; empty when nobody will."""
        for name, consumer_class in self.classes.items():
            waiting = set(consumer_class.consumers) - self.admitted[name]
            if waiting and self.has_room(name):
                return f"{min(waiting)} is about to be admitted"
        return ""
