"""What a NATS server remembers and counts of admitted consumers, as the admission's book has it."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.admission import Place
from agent.drivers.nats import names


def record(place: Place) -> str:
    """What the server remembers of a place, as the name of the token."""
    expires = f"{place.expires:.3f}" if place.expires is not None else "-"
    name, flow = names.token(place.name), names.token(place.flow)
    return f"consumer/{name}/{flow}/{place.since:.3f}/{expires}"


def place_of(connection: int, written: str, consumer: str) -> Place | None:
    """The inverse of `record`; None for users that are no consumers."""
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
class Delivered:
    """Messages handed to the consumers of a class, over connections that come and go."""

    ended: int = 0
    running: dict[int, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.ended + sum(self.running.values())

    def settle(self) -> None:
        """All connections have ended; the next ones may have the same numbers."""
        self.ended = self.total
        self.running.clear()

    def keep(self, here: set[int]) -> None:
        """All other connections have ended."""
        for number in [n for n in self.running if n not in here]:
            self.ended += self.running.pop(number)
