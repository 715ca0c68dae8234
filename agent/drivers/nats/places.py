"""Read what a NATS server remembers and counts of admitted consumers, for the admission's book."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from agent.admission import Place
from agent.drivers.nats import names
from weir.coordination.names import token

REMEMBER_S = 10.0
"""How long the number of an ended connection may still turn up in an answer of the server."""


def record(place: Place) -> str:
    """Return what the server remembers of a place, as the name of the token."""
    expires = f"{place.expires:.3f}" if place.expires is not None else "-"
    name, flow = token(place.name), token(place.flow)
    return f"consumer/{name}/{flow}/{place.since:.3f}/{expires}"


def place_of(connection: int, written: str, consumer: str) -> Place | None:
    """Return the place that `record` describes; None for users that are not consumers."""
    parts = written.split("/")
    if len(parts) != 5 or parts[0] != "consumer":
        return None
    return Place(
        connection=connection,
        name=names.name_of(parts[1]),
        flow=names.name_of(parts[2]),
        consumer=consumer or f"#{connection}",
        since=float(parts[3]),
        expires=None if parts[4] == "-" else float(parts[4]),
    )


@dataclass(slots=True)
class _Connection:
    """Hold what one consumer's connection received; the server never uses its number again."""

    name: str
    """The name of the class."""
    start: int
    """The messages that it had received before this object counted."""
    count: int
    ended_at: float | None = None

    @property
    def delivered(self) -> int:
        return max(0, self.count - self.start)


class Deliveries:
    """Count messages that the consumers of each class have received since this object was made.

    The totals never fall. The server says one connection's count in two ways, in its list of
    connections and in the event of the connection's end, and these overtake each other: a list may
    name a connection whose end is known already, or lack one that is known already. So each
    connection keeps the largest count that was ever seen of it, and it keeps it for `REMEMBER_S`
    after its end; only then is it added to those of its class that have ended.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take `clock`, whose seconds are never set back."""
        self._clock = clock
        self._ended: dict[str, int] = {}
        self._connections: dict[int, _Connection] = {}

    def saw(self, number: int, name: str, count: int, *, began_before: bool = False) -> None:
        """Record that a connection of a class has received `count` messages. With `began_before` it
        is older than this object, so what it had received when first seen does not count."""
        known = self._connections.get(number)
        if known is None:
            start = count if began_before else 0
            self._connections[number] = _Connection(name=name, start=start, count=count)
        else:
            known.count = max(known.count, count)

    def ended(self, number: int, count: int, *, name: str = "") -> None:
        """Record that a connection was closed after it had received `count` messages. `name` is its
        class, if it had a place until now; others count only if they were seen before."""
        if name:
            self.saw(number, name, count)
        known = self._connections.get(number)
        if known is not None:
            known.count = max(known.count, count)
            known.ended_at = self._clock()

    def present(self, here: AbstractSet[int]) -> None:
        """Take the connections that the server lists. A missing one keeps its last known count."""
        now = self._clock()
        for number, connection in list(self._connections.items()):
            if number in here:
                connection.ended_at = None
            elif connection.ended_at is None:
                connection.ended_at = now
            if connection.ended_at is not None and now - connection.ended_at > REMEMBER_S:
                self._settle(number)

    def restarted(self) -> None:
        """Record a restart of the server: all connections have ended, and new ones may have their
        numbers."""
        for number in list(self._connections):
            self._settle(number)

    def totals(self) -> dict[str, int]:
        """Return the messages that each class has received."""
        totals = dict(self._ended)
        for connection in self._connections.values():
            totals[connection.name] = totals.get(connection.name, 0) + connection.delivered
        return totals

    def _settle(self, number: int) -> None:
        connection = self._connections.pop(number)
        ended = self._ended.get(connection.name, 0)
        self._ended[connection.name] = ended + connection.delivered
