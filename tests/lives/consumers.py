"""Consumers of the model brokers: who wants to be admitted, and who is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.lives.world import World

KNOCK_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerClass:
    """Consumers of one flow at one broker."""

    name: str
    broker: str
    flow: str
    consumers: tuple[str, ...]
    everybody: bool
    """No limit at any time: whoever connects is admitted and must receive everything."""
    steady: bool
    """Never closed by a plan, at a broker that stays: no gap inside a connection."""


class Consumers:
    """All classes; the broker's connections say who is admitted."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.classes: dict[str, ConsumerClass] = {}
        self.at: dict[tuple[str, str], list[ConsumerClass]] = {}
        self.admitted: dict[str, set[str]] = {}

    def add(self, consumer_class: ConsumerClass) -> None:
        """Before the life begins."""
        self.classes[consumer_class.name] = consumer_class
        self.at.setdefault((consumer_class.broker, consumer_class.flow), []).append(consumer_class)
        self.admitted[consumer_class.name] = set()

    def closed(self, name: str, consumer: str) -> None:
        """A broker has released a consumer."""
        if consumer in self.admitted[name]:
            self.admitted[name].remove(consumer)
            self.world.counts["evicted"] += 1
            self.world.audit.disconnected(consumer)

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
                if consumer not in admitted and broker.ask(name, consumer, self.world.loop.time()):
                    admitted.add(consumer)
                    self.world.counts["admitted"] += 1
                    self.world.audit.connected(consumer, consumer_class.flow)
                    self.world.audit.admission(consumer_class, len(admitted))
        self.world.clock.after(KNOCK_S, self.knock)

    def about_to_be_admitted(self) -> str:
        """Who will get in at the next knock; empty when nobody will."""
        for name, consumer_class in self.classes.items():
            book = self.world.brokers[consumer_class.broker].book
            waiting = set(consumer_class.consumers) - self.admitted[name]
            limit = book.classes[name].limit if name in book.classes else 0
            if consumer_class.broker in self.world.gone.out:
                continue
            if waiting and (limit is None or book.admitted(name) < limit):
                return f"{min(waiting)} is about to be admitted"
        return ""
