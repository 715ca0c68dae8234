"""Count how many messages went where, over pumps that come and go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent.pump import Pump


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Count messages since the router was made; differences over time are rates."""

    passed: Mapping[str, int] = field(default_factory=dict)
    """Flow -> messages that passed its gate here."""
    waiting: Mapping[str, int] = field(default_factory=dict)
    """Flow -> messages that were read and wait at the gate."""
    sent: Mapping[str, int] = field(default_factory=dict)
    received: Mapping[str, int] = field(default_factory=dict)
    """Neighbour -> messages that came over its link."""
    sized: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Flow -> bytes and number of the messages that were measured at its ingress."""
    acked: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    """Reliable flow -> seconds until the own broker had stored a batch, summed, and their
    number."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """Flow -> best-effort messages that were forwarded before every neighbour had declared its
    interest."""
    left: Mapping[str, int] = field(default_factory=dict)
    """Flow -> best-effort messages that were read but did not reach all their targets."""

    @property
    def forwarded(self) -> int:
        """Return the number of messages that left any pump."""
        return sum(self.passed.values()) + sum(self.received.values())


class Tally:
    """Add what ended pumps have moved to what the running ones have moved."""

    def __init__(self) -> None:
        self._passed: dict[str, int] = {}
        self._sent: dict[str, int] = {}
        self._received: dict[str, int] = {}
        self._sized: dict[str, tuple[int, int]] = {}
        self._acked: dict[str, tuple[float, int]] = {}
        self._lost: dict[str, int] = {}
        self._left: dict[str, int] = {}
        self._ending: list[Pump] = []

    async def end(self, *pumps: Pump) -> None:
        """Close pumps; a reader of the counters meanwhile misses none of their messages."""
        self._ending += pumps
        for pump in pumps:
            await pump.close()
            self._ending.remove(pump)
            _count(pump, self._passed, self._sent, self._received)
            _sample(pump, self._sized, self._acked)
            _add(pump.lost, self._lost)
            _add(pump.left, self._left)

    def read(self, pumps: Iterable[Pump]) -> Counters:
        """Return the counters of all pumps; `pumps` are those that have not ended."""
        passed, sent, received = dict(self._passed), dict(self._sent), dict(self._received)
        sized, acked = dict(self._sized), dict(self._acked)
        waiting: dict[str, int] = {}
        lost, left = dict(self._lost), dict(self._left)
        for pump in (*pumps, *self._ending):
            _add(pump.lost, lost)
            _add(pump.left, left)
            _count(pump, passed, sent, received)
            _sample(pump, sized, acked)
            if pump.source.flow:
                _add({pump.source.flow: pump.waiting}, waiting)
        return Counters(
            passed=passed,
            waiting=waiting,
            sent=sent,
            received=received,
            sized=sized,
            acked=acked,
            lost=lost,
            left=left,
        )


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


def _sample(
    pump: Pump, sized: dict[str, tuple[int, int]], acked: dict[str, tuple[float, int]]
) -> None:
    flow = pump.source.flow
    if not flow:
        return
    size, weighed = sized.get(flow, (0, 0))
    sized[flow] = (size + pump.sized[0], weighed + pump.sized[1])
    if pump.acked[1]:
        seconds, batches = acked.get(flow, (0.0, 0))
        acked[flow] = (seconds + pump.acked[0], batches + pump.acked[1])


def _add(counts: Mapping[str, int], to: dict[str, int]) -> None:
    for flow, count in counts.items():
        to[flow] = to.get(flow, 0) + count
