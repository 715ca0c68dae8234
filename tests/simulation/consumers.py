"""Virtual consumers: who wants to be admitted, who is, and what each has received."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.world import World


class ConsumerClass:
    """Consumers of one flow at one broker."""

    def __init__(self, name: str, broker: str, flow: str, consumers: list[str]) -> None:
        self.name, self.broker, self.flow = name, broker, flow
        self.consumers = consumers
        self.everybody = False
        """No limit at any time: whoever connects is admitted and must receive everything."""
        self.steady = False
        """Never closed by a plan, at a broker that stays: no gap inside a connection."""


class Consumers:
    """All classes; the broker's connections say who is admitted."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.classes: dict[str, ConsumerClass] = {}
        self.at: dict[tuple[str, str], list[ConsumerClass]] = {}

    def add(self, consumer_class: ConsumerClass) -> None:
        """Before the run starts."""
        self.classes[consumer_class.name] = consumer_class
        self.at.setdefault((consumer_class.broker, consumer_class.flow), []).append(consumer_class)
        self.world.brokers[consumer_class.broker].admitted[consumer_class.name] = set()

    def limit_changed(self, broker: str, name: str, limit: int | None) -> None:
        """The agent enforces another limit: evict above it."""
        admitted = self.world.brokers[broker].admitted[name]
        while limit is not None and len(admitted) > limit:
            evicted = max(admitted)
            admitted.remove(evicted)
            self.world.counts["evicted"] += 1
            self.world.audit.disconnected(evicted)

    def knock(self) -> None:
        """Everybody who is not admitted tries again; the agent decides, if it runs."""
        for name, consumer_class in self.classes.items():
            broker = self.world.brokers[consumer_class.broker]
            agent = self.world.agents[consumer_class.broker]
            if not broker.up or not agent.running or name not in agent.document.classes:
                continue
            admitted = broker.admitted[name]
            for consumer in consumer_class.consumers:
                limit = agent.limits.get(name)
                if consumer not in admitted and self.admits(len(admitted), limit):
                    admitted.add(consumer)
                    self.world.counts["admitted"] += 1
                    self.world.audit.connected(consumer)
                    self.world.audit.admission(consumer_class, len(admitted))
        self.world.clock.after(0.25, self.knock)

    def about_to_be_admitted(self) -> str:
        """Who will get in at the next knock; empty when nobody will."""
        for name, consumer_class in self.classes.items():
            agent = self.world.agents[consumer_class.broker]
            admitted = self.world.brokers[consumer_class.broker].admitted[name]
            waiting = set(consumer_class.consumers) - admitted
            known = name in agent.document.classes and agent.name not in self.world.gone.out
            if known and waiting and self.admits(len(admitted), agent.limits.get(name)):
                return f"{min(waiting)} is about to be admitted"
        return ""

    def admits(self, admitted: int, limit: int | None) -> bool:
        """Whether there is room for one more."""
        return limit is None or admitted < limit
