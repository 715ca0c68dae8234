"""Admit at most `limit` consumers of each class and let the others wait their turn.

This module does no input or output: the caller reports what happened at the broker and when, and
the book answers which consumer to admit and which to disconnect. It counts on the safe side. A
place is taken from the moment a consumer is admitted until the broker is known to have closed that
connection: a consumer that was disconnected still counts until it has left. Therefore the number of
admitted connections never exceeds the limit, except after a limit fell and until the evicted
consumers have left.

The consumer that has waited longest comes first. Free places are kept for consumers that asked
within the last `wait_s`; a client that asks less often loses its turn. A consumer whose connection
the agent ended to renew its lease finds its place held for `hold_s`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from weir.coordination.wire import ClassSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Describe one admitted connection of a consumer."""

    connection: int
    """The broker's number of the connection."""
    name: str
    """Name of the class."""
    flow: str
    """The flow that it was allowed to read; another flow needs another admission."""
    consumer: str
    since: float
    """When it was admitted, in seconds; the newest connections are evicted first."""
    expires: float | None = None
    """When its lease ends; None means never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Tell the caller that the consumer has a place."""

    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Tell the caller that `ahead` consumers come before this one."""

    name: str
    ahead: int
    limit: int


def _age(place: Place) -> tuple[float, int]:
    """Return the key that sorts places from oldest to newest."""
    return place.since, place.connection


class AdmissionBook:
    """Keep the places and queues of all classes at one broker; times are seconds of any one
    clock."""

    def __init__(self, *, wait_s: float = 6.0, hold_s: float = 5.0) -> None:
        self.wait_s = wait_s
        self.hold_s = hold_s
        self.classes: dict[str, ClassSpec] = {}
        self._places: dict[int, Place] = {}
        self._order: dict[int, int] = {}
        """Connection -> the number of admissions up to and including its own."""
        self._count = 0
        self._renewing: set[int] = set()
        self._waiting: dict[str, dict[str, float]] = {}
        """Class -> consumer -> when it last asked, in order of arrival."""
        self._held: dict[str, dict[str, float]] = {}

    def rule(self, classes: Mapping[str, ClassSpec]) -> tuple[Place, ...]:
        """Set the limits that hold from now on and return the connections to close, newest
        first.

        Consumers of a class that is gone, or that reads another flow now, are cut off as well:
        they may come back on the new terms.
        """
        self.classes = dict(classes)
        self._waiting = {n: w for n, w in self._waiting.items() if n in classes}
        self._held = {n: h for n, h in self._held.items() if n in classes}
        return self.excess()

    def excess(self) -> tuple[Place, ...]:
        """Return the places that the limits no longer allow; call again until it returns none."""
        out: list[Place] = []
        count: dict[str, int] = {}
        for place in sorted(self._places.values(), key=_age):
            spec = self.classes.get(place.name)
            if spec is None or spec.flow != place.flow:
                out.append(place)
                continue
            count[place.name] = count.get(place.name, 0) + 1
            if spec.limit is not None and count[place.name] > spec.limit:
                out.append(place)
        return tuple(reversed(out))

    def ask(
        self,
        *,
        name: str,
        consumer: str,
        connection: int,
        now: float,
        expires: float | None = None,
    ) -> Admitted | Waits:
        """Admit a consumer or put it in the queue. Raises KeyError for a class without a limit
        entry."""
        spec = self.classes[name]
        held = self._live_held(name, now)
        queue = self._live_waiting(name, now)
        if spec.limit is not None:
            free = spec.limit - self._taken(name)
            if consumer not in held or free <= 0:
                held.pop(consumer, None)
                queue[consumer] = now
                # A dict keeps the order of arrival: a consumer that asks again keeps its turn.
                ahead = next(i for i, other in enumerate(queue) if other == consumer)
                if ahead >= free - len(held):
                    return Waits(name=name, ahead=ahead, limit=spec.limit)
        held.pop(consumer, None)
        queue.pop(consumer, None)
        place = Place(
            connection=connection,
            name=name,
            flow=spec.flow,
            consumer=consumer,
            since=now,
            expires=expires,
        )
        self._take(place)
        return Admitted(place=place)

    def adopt(self, places: Iterable[Place]) -> None:
        """Add connections that a predecessor of this agent admitted."""
        for place in places:
            if place.connection not in self._places:
                self._take(place)

    def gone(self, connection: int, now: float) -> Place | None:
        """Record that the broker closed a connection; return the place that it had, if any."""
        place = self._places.pop(connection, None)
        self._order.pop(connection, None)
        if place is not None and connection in self._renewing and place.name in self.classes:
            self._held.setdefault(place.name, {})[place.consumer] = now + self.hold_s
        self._renewing.discard(connection)
        return place

    def mark(self) -> int:
        """Return a moment for `present`, counted in admissions because clocks may be set back."""
        return self._count

    def present(self, connections: AbstractSet[int], *, as_of: int, now: float) -> None:
        """Record all connections of the broker, requested after `mark` returned `as_of`. A consumer
        that was admitted before and is not among them has left: the broker lists a connection even
        before it asks about it."""
        for number in [c for c, order in self._order.items() if order <= as_of]:
            if number not in connections:
                self.gone(number, now)

    def renew(self, now: float, *, margin_s: float) -> tuple[Place, ...]:
        """Return the places whose lease ends within `margin_s`; close them and they stay
        reserved."""
        due = tuple(
            place
            for place in self._places.values()
            if place.expires is not None and place.expires - now <= margin_s
        )
        self._renewing |= {place.connection for place in due}
        return due

    def clear(self) -> None:
        """Record a restart of the broker: its connections are gone, the queues remain."""
        self._places.clear()
        self._order.clear()
        self._renewing.clear()

    def __len__(self) -> int:
        """Return the number of places taken, over all classes."""
        return len(self._places)

    def place(self, connection: int) -> Place | None:
        """Return the place that a connection has."""
        return self._places.get(connection)

    def places(self, name: str) -> tuple[Place, ...]:
        """Return the places of a class, oldest first."""
        admitted = [place for place in self._places.values() if place.name == name]
        return tuple(sorted(admitted, key=_age))

    def admitted(self, name: str) -> int:
        """Return the number of places taken; an evicted consumer keeps its place until it has
        left."""
        return self._taken(name)

    def waiting(self, name: str, now: float) -> int:
        """Return the number of consumers that were refused and have asked again lately."""
        return len(self._live_waiting(name, now))

    def _take(self, place: Place) -> None:
        self._count += 1
        self._places[place.connection] = place
        self._order[place.connection] = self._count

    def _taken(self, name: str) -> int:
        return sum(place.name == name for place in self._places.values())

    def _live_waiting(self, name: str, now: float) -> dict[str, float]:
        queue = self._waiting.setdefault(name, {})
        for consumer in [c for c, last in queue.items() if now - last > self.wait_s]:
            del queue[consumer]
        return queue

    def _live_held(self, name: str, now: float) -> dict[str, float]:
        held = self._held.setdefault(name, {})
        for consumer in [c for c, until in held.items() if until <= now]:
            del held[consumer]
        return held
