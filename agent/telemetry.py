"""Measure a broker once a second: count messages over pumps that come and go, and compute rates."""

from __future__ import annotations

import resource
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.drivers.base import MOST_PUBLISHERS, Room, Stats, rank_of
from agent.entries import Entries
from agent.profile import Profile
from agent.pump import Pump
from weir.queueing.counting_bucket import CountingBucket
from weir.queueing.delay_counts import DelayCounts
from weir.queueing.wait_histogram import WaitWindow

UNHEARD = "unheard"
NOT_READ = "not_read"
"""Messages that were forwarded before every neighbour had declared its interest: further neighbours
may have wanted them."""
STALE_S = 3.0
"""How long the rates of the last reading stand while there is no newer one."""
LOOK_S = 1.0
"""Seconds between two looks at what waits."""
LOOKS = 10
"""Looks for each report at most: those of agents that seldom report are further apart."""
PEAK_S = 10.0
"""Seconds of looks whose largest backlog is reported."""


def look_interval_s(report_every_s: float) -> float:
    """Return the seconds between two looks of an agent at what waits; its reports look, too."""
    return max(LOOK_S, report_every_s / LOOKS)


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
    """Flow -> bytes of payloads and number of the messages that left through its gate."""
    acked: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    """Reliable flow -> seconds until the own broker had stored a batch, summed, and their
    number."""
    counting: Mapping[str, CountingBucket] = field(default_factory=dict)
    """Flow -> what its part of a bucket would hold, where that is only counted."""
    waits: Mapping[str, WaitWindow] = field(default_factory=dict)
    """Flow -> how long messages waited that left through its gate lately."""
    delays: Mapping[str, Sequence[DelayCounts]] = field(default_factory=dict)
    """Flow -> how long messages waited at it, of each pump that read it; whoever takes that empties
    them."""
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    """Flow -> the same since its part of a bucket and its list were set."""
    gates: Mapping[str, Pump] = field(default_factory=dict)
    """Flow -> the pump that reads it at its ingress."""
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
        self._delays: dict[str, DelayCounts] = {}
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
            if pump.source.flow:
                self._delays.setdefault(pump.source.flow, DelayCounts()).add(pump.delays)

    def read(self, pumps: Iterable[Pump]) -> Counters:
        """Return the counters of all pumps; `pumps` are those that have not ended."""
        passed, sent, received = dict(self._passed), dict(self._sent), dict(self._received)
        sized, acked = dict(self._sized), dict(self._acked)
        waiting: dict[str, int] = {}
        lost, left = dict(self._lost), dict(self._left)
        counting: dict[str, CountingBucket] = {}
        waits: dict[str, WaitWindow] = {}
        delays = {flow: [counts] for flow, counts in self._delays.items()}
        profiles: dict[str, Profile] = {}
        gates: dict[str, Pump] = {}
        for pump in (*pumps, *self._ending):
            if pump.counting is not None:
                counting[pump.source.flow] = pump.counting
            if pump.waits is not None:
                waits.setdefault(pump.source.flow, pump.waits)
            if pump.profile is not None:
                profiles.setdefault(pump.source.flow, pump.profile)
            _add(pump.lost, lost)
            _add(pump.left, left)
            _count(pump, passed, sent, received)
            _sample(pump, sized, acked)
            if pump.source.flow:
                gates.setdefault(pump.source.flow, pump)
                delays.setdefault(pump.source.flow, []).append(pump.delays)
                _add({pump.source.flow: pump.waiting}, waiting)
        return Counters(
            passed=passed,
            waiting=waiting,
            sent=sent,
            received=received,
            sized=sized,
            acked=acked,
            counting=counting,
            waits=waits,
            delays=delays,
            profiles=profiles,
            gates=gates,
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
    size, number = sized.get(flow, (0, 0))
    sized[flow] = (size + pump.sized[0], number + pump.sized[1])
    if pump.acked[1]:
        seconds, batches = acked.get(flow, (0.0, 0))
        acked[flow] = (seconds + pump.acked[0], batches + pump.acked[1])


def _add(counts: Mapping[str, int], to: dict[str, int]) -> None:
    for flow, count in counts.items():
        to[flow] = to.get(flow, 0) + count


class Growth:
    """Compute how fast counters grow that are read together.

    A rate is the difference of two readings of one life over the time between them, and nothing
    else is ever taken for one. So there is none at the first reading, none for a counter that fell,
    and none for another life, unless that is known to have begun counting after the last reading.
    """

    def __init__(self, *, zero_at: float | None = None) -> None:
        """Take `zero_at`, the time when all of these counters were zero, where that is known."""
        self._at = zero_at
        self._life = ""
        self._values: dict[str, int] = {}
        self._grown: dict[str, int] = {}
        self._interval_s = 0.0
        self._read_at = 0.0

    def read(
        self,
        values: Mapping[str, int],
        *,
        now: float,
        at: float | None = None,
        life: str = "",
        began_at: float | None = None,
    ) -> None:
        """Take the values of the counters. `at` is the time of reading by any steady clock (None:
        now), `life` names the process that counts, `began_at` is when it began, by the clock of
        `at`."""
        if at is not None and at == self._at:
            return  # the counters were not read again
        at = now if at is None else at
        before: Mapping[str, int] | None = None
        if self._at is not None:
            if life == self._life:
                before = self._values
            elif began_at is not None and began_at >= self._at:
                before = {}
            self._interval_s = at - self._at
        self._grown = {}
        if before is not None:
            # A counter that is missing in the former reading has started since.
            self._grown = {
                name: value - before.get(name, 0)
                for name, value in values.items()
                if value >= before.get(name, 0)
            }
        kept = self._values if life == self._life else {}
        self._values = {**kept, **values}
        self._at, self._life, self._read_at = at, life, now

    def grown(self, name: str) -> int:
        """Return the growth since the reading before; 0 where it is not known."""
        return self._grown.get(name, 0)

    def rates(self, name: str, member: str, *, now: float, more: int = 0) -> dict[str, float]:
        """Return `member` with the growth per second, or nothing where it is not known; `more` is
        added to the growth."""
        stale = now - self._read_at > STALE_S
        if name not in self._grown or self._interval_s <= 0 or stale:
            return {}
        return {member: (self._grown[name] + more) / self._interval_s}


class Peaks:
    """The largest of levels in the last `PEAK_S`, by name; levels of zero take no memory."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, Mapping[str, int]]] = deque()

    def look(self, now: float, levels: Mapping[str, int]) -> None:
        """Take the levels of now, and forget those that have left the window."""
        self._looks.append((now, {name: level for name, level in levels.items() if level}))
        while now - self._looks[0][0] >= PEAK_S:
            self._looks.popleft()

    def largest(self) -> dict[str, int]:
        """Return the largest level of each name that had one above zero."""
        largest: dict[str, int] = {}
        for _, levels in self._looks:
            for name, level in levels.items():
                if level > largest.get(name, 0):
                    largest[name] = level
        return largest


class Meter:
    """Compute the telemetry of one interval from counters of now and of the last call."""

    def __init__(self, now: float, *, began_at: float = 0.0) -> None:
        """Take `now`, from a clock that is never set back, as the start of the router's counters,
        and `began_at`, the same in Unix seconds, which distinguishes its counters from those of
        another process."""
        self._at = now
        self._began_at = began_at
        self._passed = Growth(zero_at=now)
        self._passed_bytes = Growth(zero_at=now)
        self._sent = Growth(zero_at=now)
        self._received = Growth(zero_at=now)
        # The broker may have counted long before this process began.
        self._shed = Growth()
        self._delivered = Growth()
        self._load = Growth()
        self._load_of: tuple[str, float | None] = ("", None)
        """The life and the time of the last reading of the broker's counters."""
        self._between = (0, 0)
        """What the broker sent between the counts of its classes and its own, in the reading before
        and in the last one."""
        self._backlog: dict[str, int] = {}
        self._outboxes: dict[str, int] = {}
        self._entries = Entries()
        self._peaks, self._outbox_peaks = Peaks(), Peaks()
        self._samples: dict[tuple[str, str], tuple[float, int]] = {}
        self._reading = 0
        """The last reading of publishers that was reported."""

    def _mean(self, kind: str, name: str, total: tuple[float, int] | None) -> float | None:
        """Return the mean of the samples since the last call; None when there are none."""
        before = self._samples.get((kind, name), (0.0, 0))
        now = total or (0.0, 0)
        self._samples[kind, name] = now
        if now[1] < before[1]:
            before = (0.0, 0)
        number = now[1] - before[1]
        return max(0.0, now[0] - before[0]) / number if number else None

    def look(self, now: float, counters: Counters, stats: Stats) -> None:
        """Take what waits now for the largest backlogs that `measure` reports; it looks, too."""
        self._peaks.look(now, _backlog_of(counters, stats.ingress_backlog))
        self._outbox_peaks.look(now, stats.outbox_backlog)

    def measure(
        self, now: float, counters: Counters, stats: Stats, *, waiting_bytes: int = 0
    ) -> dict[str, Any]:
        """Return the telemetry of the interval since the last call, in the form of the protocol.
        `waiting_bytes` counts the messages that wait in this process."""
        self.look(now, counters, stats)
        interval_s = max(1e-3, now - self._at)
        self._at = now
        self._passed.read(counters.passed, now=now)
        passed_bytes = {flow: size for flow, (size, _) in counters.sized.items()}
        self._passed_bytes.read(passed_bytes, now=now)
        self._sent.read(counters.sent, now=now)
        self._received.read(counters.received, now=now)
        self._shed.read(stats.ingress_shed, now=now)
        life, began_at = stats.life, stats.began_at
        self._delivered.read(
            stats.delivered, now=now, at=stats.delivered_at, life=life, began_at=began_at
        )
        load = {"in": stats.in_messages, "out": stats.out_messages}
        if stats.in_bytes is not None:
            load["in_bytes"] = stats.in_bytes
        if stats.out_bytes is not None:
            load["out_bytes"] = stats.out_bytes
        self._load.read(load, now=now, at=stats.read_at, life=life, began_at=began_at)
        if (life, stats.read_at) != self._load_of or stats.read_at is None:
            before = self._between[1] if life == self._load_of[0] else 0
            now_sent = 0 if stats.out_before is None else stats.out_messages - stats.out_before
            self._between = before, now_sent
            self._load_of = life, stats.read_at
        delays = stats.class_delays.take()
        classes = {
            name: {
                "admitted": state.admitted,
                "waiting": state.waiting,
                **({} if state.limit is None else {"limit": state.limit}),
                **self._delivered.rates(name, "delivered_per_s", now=now),
                **delays.get(name, {}),
            }
            for name, state in stats.classes.items()
        }
        outboxes = self._backlogs(self._outboxes, stats.outbox_backlog, stats)
        peaks = self._outbox_peaks.largest()
        links = {
            neighbour: {
                "sent_per_s": self._sent.grown(neighbour) / interval_s,
                "received_per_s": self._received.grown(neighbour) / interval_s,
                "backlog": outboxes.get(neighbour, 0),
                "backlog_peak": max(outboxes.get(neighbour, 0), peaks.get(neighbour, 0)),
            }
            for neighbour in sorted({*counters.sent, *counters.received, *outboxes})
        }
        flows = self._flows(interval_s, counters, stats)
        # What waited before the last report may pass without having come since, and what comes may
        # wait: both together are needed to say that messages came.
        entered = sum(
            min(self._passed.grown(flow), round(row["offered_per_s"] * interval_s))
            for flow, row in flows.items()
        )
        read_at = now if stats.read_at is None else stats.read_at
        self._entries.report(now, entered, read_at=read_at, total=stats.in_messages, life=life)
        broker: dict[str, Any] = {
            "connections": stats.connections,
            **self._load.rates("in", "in_msgs_per_s", now=now),
            **self._load.rates("out", "out_msgs_per_s", now=now),
            **self._load.rates("out", "out_most_per_s", now=now, more=self._between[0]),
            **self._load.rates("in_bytes", "in_bytes_per_s", now=now),
            **self._load.rates("out_bytes", "out_bytes_per_s", now=now),
            **self._entries.compared(),
            "unmanaged": list(stats.unmanaged),
            "sync_always": stats.sync_always,
        }
        if stats.cpu_ratio is not None:
            broker["cpu_ratio"] = stats.cpu_ratio
        if stats.cores is not None:
            broker["cores"] = stats.cores
        if stats.memory_bytes is not None:
            broker["memory_bytes"] = stats.memory_bytes
        if stats.stored_bytes is not None:
            broker["stored_bytes"] = stats.stored_bytes
        if stats.most_stored_bytes is not None:
            broker["most_stored_bytes"] = stats.most_stored_bytes
        self._outboxes = outboxes
        return {
            "interval_s": interval_s,
            "flows": flows,
            "classes": classes,
            "links": links,
            "lost": _lost(counters, stats),
            **self._publishers(stats),
            "broker": broker,
            "agent": {
                "began_at": self._began_at,
                "cpu_s": time.process_time(),
                "forwarded": counters.forwarded,
                "waiting_bytes": waiting_bytes,
                "memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            },
        }

    def _publishers(self, stats: Stats) -> dict[str, Any]:
        """Return what each publisher sent since the last call, and one moment of it, the latest;
        nothing where that is not known."""
        sent: dict[str, tuple[int, float | None]] = {}
        left = 0
        for reading in stats.publishers:
            if reading.number > self._reading:
                self._reading = reading.number
                left = max(left, reading.left)
                for name, (messages, at_s) in reading.sent.items():
                    before, moment_s = sent.get(name, (0, None))
                    sent[name] = before + messages, moment_s if at_s is None else at_s
        if len(sent) > MOST_PUBLISHERS:
            # Readings between which the driver chose anew.
            left = max(left, len(sent) - MOST_PUBLISHERS)
            sent = {name: sent[name] for name in sorted(sent, key=rank_of)[:MOST_PUBLISHERS]}
        if not sent and not left:
            return {}
        return {"publishers": sent, "publishers_left": left}

    def _flows(
        self, interval_s: float, counters: Counters, stats: Stats
    ) -> dict[str, dict[str, Any]]:
        """Return what entered, passed, was shed and waits, for each flow."""
        flows: dict[str, dict[str, Any]] = {}
        ingress = self._backlogs(self._backlog, stats.ingress_backlog, stats)
        waiting, peaks = _backlog_of(counters, ingress), self._peaks.largest()
        backlog: dict[str, int] = {}
        for flow in sorted({*counters.passed, *counters.waiting, *stats.ingress_shed}):
            passed, shed = self._passed.grown(flow), self._shed.grown(flow)
            backlog[flow] = waiting.get(flow, 0)
            # Messages that entered have passed, were shed, or wait. Those that waited when the flow
            # was first measured entered before.
            offered = passed + shed + backlog[flow] - self._backlog.get(flow, backlog[flow])
            flows[flow] = {
                "offered_per_s": max(0, offered) / interval_s,
                "passed_per_s": passed / interval_s,
                "shed_per_s": shed / interval_s,
                "backlog": backlog[flow],
                "backlog_peak": max(backlog[flow], peaks.get(flow, 0)),
            }
            flows[flow] |= self._passed_bytes.rates(flow, "passed_bytes_per_s", now=self._at)
            means = {
                "message_bytes": self._mean("size", flow, counters.sized.get(flow)),
                "ack_s": self._mean("ack", flow, counters.acked.get(flow)),
            }
            flows[flow] |= {name: mean for name, mean in means.items() if mean is not None}
            flows[flow] |= _limited(counters.gates.get(flow))
            flows[flow] |= _room(stats.ingress_room.get(flow))
            flows[flow] |= _unfinished(
                counters.gates.get(flow),
                self._at,
                ingress.get(flow, 0),
                stats.ingress_room.get(flow),
            )
            flows[flow] |= _would_hold(counters.counting.get(flow))
            flows[flow] |= _waited(counters.waits.get(flow), self._at)
            flows[flow] |= _delayed(counters.delays.get(flow, ()))
            flows[flow] |= _profiled(counters.profiles.get(flow), self._at)
        self._backlog = backlog
        return flows

    @staticmethod
    def _backlogs(
        before: Mapping[str, int], now: Mapping[str, int], stats: Stats
    ) -> dict[str, int]:
        """Return what waits in channels; where streams could not be read this time, what waited
        before."""
        return dict(now) if stats.streams_read else {**before, **now}


def _backlog_of(counters: Counters, ingress: Mapping[str, int]) -> dict[str, int]:
    """Return what waits at the gate of each flow, at the broker or in its pump: messages of a
    reliable flow in a pump are still in the broker's stream, too."""
    waiting = dict(ingress)
    for flow, count in counters.waiting.items():
        waiting[flow] = max(waiting.get(flow, 0), count)
    return waiting


def _limited(pump: Pump | None) -> dict[str, float]:
    """Return what the gate holds messages to; nothing where it lets everything pass."""
    if pump is None or pump.limit is None:
        return {}
    rate_per_s, burst = pump.limit
    return {"limit_per_s": rate_per_s, "limit_burst": burst}


def _room(room: Room | None) -> dict[str, float]:
    """Return what the channel holds and may hold; a limit that the broker does not set is left
    out."""
    if room is None:
        return {}
    known = {
        "backlog_bytes": room.size_bytes,
        "most_messages": room.most_messages,
        "most_bytes": room.most_bytes,
        "keep_s": room.keep_s,
    }
    return {name: value for name, value in known.items() if value is not None}


def _unfinished(pump: Pump | None, now: float, backlog: int, room: Room | None) -> dict[str, float]:
    """Return the largest unfinished work at the gate of an enforced part since the last reading,
    and what waits there: without messages that have passed and that the broker still stores."""
    known = None if pump is None else pump.unfinished(now, backlog=backlog, room=room)
    return {} if known is None else {"work_peak": known[0], "work_waiting": known[1]}


def _would_hold(counting: CountingBucket | None) -> dict[str, float]:
    """Return what a part of a bucket that is only counted would have held since it was set."""
    if counting is None:
        return {}
    return {
        "bucket_messages": counting.messages,
        "bucket_held": counting.held,
        "bucket_p99_s": counting.quantile_s(0.99),
        "bucket_longest_s": counting.longest_s,
    }


def _waited(waits: WaitWindow | None, now: float) -> dict[str, float]:
    """Return how long the messages really waited that left through the gate in the window."""
    messages = 0 if waits is None else waits.messages(now)
    if waits is None or not messages:
        return {}
    return {
        "wait_messages": messages,
        "wait_p99_s": waits.quantile_s(now, 0.99),
        "wait_mean_s": waits.mean_s(now),
        "wait_longest_s": waits.longest_s(now),
    }


def _delayed(of_pumps: Sequence[DelayCounts]) -> dict[str, Any]:
    """Take how long messages waited since this was last taken, by bin."""
    whole = DelayCounts()
    for counts in of_pumps:
        whole.add(counts)
    longest_s, bins = whole.longest_s, whole.take()
    return {"gate_delays": bins, "gate_longest_s": longest_s} if bins else {}


def _profiled(profile: Profile | None, now: float) -> dict[str, float]:
    """Return how long the messages waited that arrived since the part and the list were set, with
    the intervals that hold percentile and mean at 95 %, as far as they are bounded."""
    if profile is None:
        return {}
    known: dict[str, float] = {
        "profile_s": max(0.0, now - profile.began_at),
        "profile_messages": profile.whole.messages,
        "profile_rate_per_s": profile.key.rate_per_s,
        "profile_size": profile.key.size,
    }
    if profile.key.publishers is not None:
        known["profile_publishers"] = len(profile.key.publishers)
    if not profile.whole.messages:
        return known
    for prefix, record in (("profile", profile.whole), ("profile_own", profile.own)):
        interval = record.interval(0.99)
        known[f"{prefix}_p99_s"] = interval.value_s
        known[f"{prefix}_p99_low_s"] = interval.low_s
        if interval.high_s is not None:
            known[f"{prefix}_p99_high_s"] = interval.high_s
        if record is profile.whole:
            known["profile_independent"] = interval.independent
    mean_s = profile.whole.mean_s()
    low_s, high_s = profile.whole.mean_ends_s()
    known["profile_mean_s"], known["profile_mean_low_s"] = mean_s, low_s
    if high_s is not None:
        known["profile_mean_high_s"] = high_s
    return known


def _lost(counters: Counters, stats: Stats) -> dict[str, dict[str, int]]:
    """Return messages that were accepted and did not get further: flow -> reason -> count."""
    lost = {flow: dict(reasons) for flow, reasons in stats.lost.items()}
    for reason, counts in ((UNHEARD, counters.lost), (NOT_READ, counters.left)):
        for flow, count in counts.items():
            reasons = lost.setdefault(flow, {})
            reasons[reason] = reasons.get(reason, 0) + count
    return lost
