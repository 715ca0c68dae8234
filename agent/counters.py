"""How many messages went where, over pumps that come and go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent.pump import Pump


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Messages since the router was made; rates are differences."""

    passed: Mapping[str, int] = field(default_factory=dict)
    """Flow -> let through its gate here."""
    waiting: Mapping[str, int] = field(default_factory=dict)
    """Flow -> read and waiting at the gate."""
    sent: Mapping[str, int] = field(default_factory=dict)
    received: Mapping[str, int] = field(default_factory=dict)
    """Neighbour -> over its link."""

    @property
    def forwarded(self) -> int:
        """Everything that left a pump."""
        return sum(self.passed.values()) + sum(self.received.values())


class Tally:
    """Adds what ended pumps have moved to what the others are moving."""

    def __init__(self) -> None:
        self._passed: dict[str, int] = {}
        self._sent: dict[str, int] = {}
        self._received: dict[str, int] = {}

    def end(self, pump: Pump) -> None:
        """The pump moves nothing any more."""
        _count(pump, self._passed, self._sent, self._received)

    def read(self, pumps: Iterable[Pump]) -> Counters:
        """Everything so far; `pumps` are those that have not ended."""
        passed, sent, received = dict(self._passed), dict(self._sent), dict(self._received)
        waiting: dict[str, int] = {}
        for pump in pumps:
            _count(pump, passed, sent, received)
            if pump.source.flow:
                waiting[pump.source.flow] = pump.waiting
        return Counters(passed=passed, waiting=waiting, sent=sent, received=received)


def _count(
    pump: Pump, passed: dict[str, int], sent: dict[str, int], received: dict[str, int]
) -> None:
    for neighbour, count in pump.sent.items():
        sent[neighbour] = sent.get(neighbour, 0) + count
    source = pump.source
    if source.flow:
        passed[source.flow] = passed.get(source.flow, 0) + pump.passed
    else:
        received[source.neighbour] = received.get(source.neighbour, 0) + pump.passed
