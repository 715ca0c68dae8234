"""Virtual brokers: durable queues that deduplicate, and the connections of consumers.

What a broker holds survives its crash; connections do not.
"""

from __future__ import annotations

from collections import deque

from weir.coordination.effects import Mark

Message = tuple[str, int]
"""(flow, number): publishers number the messages of each flow from 1 without gaps."""


class Outbox:
    """A queue towards one neighbour. A message is taken in once, however often it is written."""

    __slots__ = ("ids", "queue", "taken")

    def __init__(self) -> None:
        self.queue: deque[Message | Mark] = deque()
        self.ids: set[Message] = set()
        self.taken = 0
        """How often the neighbour has taken something out."""

    def write(self, message: Message) -> None:
        """Append unless it was in here before."""
        if message not in self.ids:
            self.ids.add(message)
            self.queue.append(message)


class SimBroker:
    """One server; only its own agent and its neighbours' agents talk to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.up = True
        self.ingress: deque[Message | Mark] = deque()
        self.outboxes: dict[str, Outbox] = {}
        self.delivered: set[Message] = set()
        self.interest: dict[str, tuple[str, frozenset[str]]] = {}
        """Neighbour -> (epoch, flows it wants): the last value it wrote."""
        self.admitted: dict[str, set[str]] = {}
        """Class -> consumers that hold a connection."""

    def ensure_outbox(self, neighbour: str) -> None:
        """Make it if it is not there."""
        if neighbour not in self.outboxes:
            self.outboxes[neighbour] = Outbox()

    def drop_outbox(self, neighbour: str) -> None:
        """Remove it with everything in it, and what the neighbour said it wants."""
        self.outboxes.pop(neighbour, None)
