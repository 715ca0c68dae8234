"""Who may read what: at most `limit` consumers of each class, the others wait their turn.

Pure: the caller tells what happened at the broker and when, the book answers whom to let in and
whom to cut off. It counts on the safe side. A place is taken from the moment somebody is told yes
until the broker is known to have closed that connection: a consumer who was told to go still
counts, so that nobody can take his place before he has left. Therefore the number of connections
admitted never exceeds the limit, except after a limit fell and until the evicted have left.

Fairness: whoever has waited longest comes first. Free places are kept for those who asked within
the last `wait_s`; a client who asks less often loses his turn. A consumer whose connection ended
for the agent's own reasons (a lease's renewal) finds his place held for `hold_s`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from weir.coordination.wire import ClassSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One admitted connection."""

    connection: int
    """The broker's number of it."""
    name: str
    """Class."""
    flow: str
    """What it was allowed to read; another flow needs another admission."""
    consumer: str
    since: float
    """When it was let in, seconds; decides who is newest."""
    expires: float | None = None
    """When its lease ends; None never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Yes."""

    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Not now; `ahead` consumers come before this one."""

    name: str
    ahead: int
    limit: int


def _age(place: Place) -> tuple[float, int]:
    """Sorts oldest first."""
    return place.since, place.connection


class AdmissionBook:
    """Places and queues of all classes at one broker; times are seconds of any one clock."""

    def __init__(self, *, wait_s: float = 6.0, hold_s: float = 5.0) -> None:
        self.wait_s = wait_s
        self.hold_s = hold_s
        self.classes: dict[str, ClassSpec] = {}
        self._places: dict[int, Place] = {}
        self._order: dict[int, int] = {}
        """Connection -> how many admissions there had been when it got its place."""
        self._count = 0
        self._renewing: set[int] = set()
        self._waiting: dict[str, dict[str, float]] = {}
        """Class -> consumer -> when he asked last, in order of arrival."""
        self._held: dict[str, dict[str, float]] = {}

    def rule(self, classes: Mapping[str, ClassSpec]) -> tuple[Place, ...]:
        """These limits hold from now on. Returns whom to cut off, newest first.

        Consumers of a class that is gone, or that reads another flow now, are cut off as well:
        they may come back on the new terms.
        """
        self.classes = dict(classes)
        self._waiting = {n: w for n, w in self._waiting.items() if n in classes}
        self._held = {n: h for n, h in self._held.items() if n in classes}
        return self.excess()

    def excess(self) -> tuple[Place, ...]:
        """Whoever has to leave under the rules and has not left; repeat it until it is empty."""
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
        """A consumer wants to be admitted. Raises KeyError for a class that has no rule."""
        spec = self.classes[name]
        held = self._live_held(name, now)
        queue = self._live_waiting(name, now)
        if spec.limit is not None:
            free = spec.limit - self._taken(name)
            if consumer not in held or free <= 0:
                held.pop(consumer, None)
                queue[consumer] = now
                # A dict keeps the order of arrival, whoever asks again keeps his turn.
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
        """Connections that are in although this book let none of them in: a predecessor did."""
        for place in places:
            if place.connection not in self._places:
                self._take(place)

    def gone(self, connection: int, now: float) -> Place | None:
        """The broker closed a connection; its place, if it had one."""
        place = self._places.pop(connection, None)
        self._order.pop(connection, None)
        if place is not None and connection in self._renewing and place.name in self.classes:
            self._held.setdefault(place.name, {})[place.consumer] = now + self.hold_s
        self._renewing.discard(connection)
        return place

    def mark(self) -> int:
        """A moment, for `present`: counted in admissions, because clocks may be set back."""
        return self._count

    def present(self, connections: AbstractSet[int], *, as_of: int, now: float) -> None:
        """All connections of the broker, asked for after `mark` gave `as_of`. Whoever was let in
        before and is not among them has left: the broker counts a connection from before it asks
        about it."""
        for number in [c for c, order in self._order.items() if order <= as_of]:
            if number not in connections:
                self.gone(number, now)

    def renew(self, now: float, *, margin_s: float) -> tuple[Place, ...]:
        """Places whose lease ends within `margin_s`: cut them off, they find their place held."""
        due = tuple(
            place
            for place in self._places.values()
            if place.expires is not None and place.expires - now <= margin_s
        )
        self._renewing |= {place.connection for place in due}
        return due

    def clear(self) -> None:
        """The broker was restarted: all its connections are gone, those who waited still wait."""
        self._places.clear()
        self._order.clear()
        self._renewing.clear()

    def __len__(self) -> int:
        """How many have a place, over all classes."""
        return len(self._places)

    def place(self, connection: int) -> Place | None:
        """The place that a connection has."""
        return self._places.get(connection)

    def places(self, name: str) -> tuple[Place, ...]:
        """Who is admitted to a class, oldest first."""
        found = [place for place in self._places.values() if place.name == name]
        return tuple(sorted(found, key=_age))

    def admitted(self, name: str) -> int:
        """How many have a place (whoever is told to leave has one until he has left)."""
        return self._taken(name)

    def waiting(self, name: str, now: float) -> int:
        """How many were refused and have asked again lately."""
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
