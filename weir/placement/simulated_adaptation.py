r"""Adaptation of parts in virtual time: what messages wait while parts follow the traffic.

Simulated, not measured: arrivals are given, gates are token buckets in exact arithmetic, agents are
delays. Only the rule that decides is the product's own (`weir.placement.adaptation`).

- **Gates** as `weir.queueing.token_bucket.TokenBucket` with `collects`: full at the beginning; a
  message takes a token or waits, in order; one that waits is let collect a whole token. When a part
  changes its level stays, cut to the new size.
- **Reports**: each broker reports every REPORT_S, the brokers one after the other, so that a
  decision sees reports that are up to REPORT_S old.
- **Decisions** every `Params.period_s`, while none is being carried out. `confirm_s` after one all
  parts shrink that shrink; another `confirm_s` later the others grow. So parts add up to no
  more than the contract at any moment; `largest_rate_per_s` and `largest_size` are what they added
  up to at most.

Rates are messages per second, times seconds. Cost: about 20 ns a message, and a decision each
period.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.compiled import compiled
from weir.errors import InvalidProblem
from weir.placement.adaptation import Adapted, Cause, Interval, Params, adapted
from weir.placement.handover import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rule = Callable[[Mapping[str, Part], Mapping[str, Sequence[Interval]]], Adapted]

REPORT_S = 1.0
"""Time between two reports of a broker."""

TOLERANCE = 1e-9
"""Of one token, as that of `TokenBucket`."""

NOW, LEVEL, ARRIVED, PASSED, PEAK = range(5)
"""What a gate is: time, tokens, messages that came and that passed, largest unfinished work."""


@compiled
def through_gate(
    times: Any, rate: float, size: float, until: float, state: Any, passed_at: Any
) -> None:
    """Let messages come and pass until a time, with a part that does not change meanwhile.

    `times` rise; `state` and `passed_at` are filled on. A message that comes at `until` is left.
    """
    now, level, peak = state[0], state[1], state[4]
    arrived, passed = int(state[2]), int(state[3])
    peak = max(peak, size - level + (arrived - passed))
    while True:
        comes, leaves = np.inf, np.inf
        if arrived < len(times):
            comes = max(now, times[arrived])
        if passed < arrived and rate > 0.0:
            leaves = now + max(0.0, 1.0 - level) / rate
        at = min(comes, leaves)
        if at >= until:
            break
        most = max(1.0, size) if passed < arrived else size
        if leaves <= comes:
            passed_at[passed] = at
            passed += 1
            # A level above one token waits for nobody: only rounding is left of it.
            level = max(0.0, level - 1.0)
        else:
            level = min(most, level + rate * (at - now))
            arrived += 1
            if passed == arrived - 1 and level >= 1.0 - 1e-9:
                passed_at[passed] = at
                passed += 1
                level -= 1.0
            peak = max(peak, size - level + (arrived - passed))
        now = at
    if until > now:
        most = max(1.0, size) if passed < arrived else size
        level = min(most, level + rate * (until - now))
        now = until
    state[0], state[1], state[2], state[3], state[4] = now, level, arrived, passed, peak


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedDecision:
    """A change of parts, and when brokers followed."""

    at_s: float
    shrunk_at_s: float
    grown_at_s: float
    cause: Cause
    brokers: tuple[str, ...]
    """Those that gain."""
    before: Mapping[str, Part]
    after: Mapping[str, Part]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedAdaptation:
    """What the messages of a topic waited while its parts followed the traffic."""

    times: Mapping[str, Floats]
    """When each message came, by broker."""
    waits: Mapping[str, Floats]
    """What each waited for tokens, seconds; inf: it still waits at the end."""
    decisions: tuple[SimulatedDecision, ...]
    parts: Mapping[str, Part]
    """At the end."""
    largest_rate_per_s: float
    """The largest sum of the rates that brokers held at one time."""
    largest_size: float

    def waits_between(self, start_s: float, end_s: float, *brokers: str) -> Floats:
        """Return what messages waited that came in this time, of all brokers or those named."""
        return np.concatenate(
            [
                self.waits[name][slice(*np.searchsorted(self.times[name], (start_s, end_s)))]
                for name in brokers or self.times
            ]
        )


def simulate_adaptation(
    times: Mapping[str, Floats],
    parts: Mapping[str, Part],
    *,
    seconds: float,
    params: Params | None = None,
    confirm_s: float = 0.5,
    rule: Rule | None = None,
) -> SimulatedAdaptation:
    """Return what messages that come at these times wait.

    `times` by broker, each rising. `rule`: None: the product's; see `keep_parts` and `srtm_rule`.
    Raises InvalidProblem where times and parts are not of the same brokers.
    """
    params = params or Params()
    if set(times) != set(parts):
        raise InvalidProblem("times", "must name the brokers that have parts")
    drains = False
    gates = _Gates(times, parts, seconds)
    decisions: list[SimulatedDecision] = []
    asked, free_at = dict(parts), 0.0
    events = [
        (REPORT_S * (1.0 + at / len(parts)), 0, "report", name)
        for at, name in enumerate(sorted(parts))
    ]
    events.append((params.period_s, 1, "decide", ""))
    heapq.heapify(events)
    while events and events[0][0] <= seconds:
        at, _, what, name = heapq.heappop(events)
        if what == "report":
            gates.report(name, at)
            heapq.heappush(events, (at + REPORT_S, 0, what, name))
        elif what == "decide":
            heapq.heappush(events, (at + params.period_s, 1, what, name))
            if at < free_at - TOLERANCE:
                continue
            history = gates.history(at - params.window_s)
            if rule is None:
                answer = adapted(asked, history, params=params, drains=drains)
            else:
                answer = rule(asked, history)
            if answer.cause is Cause.STEADY:
                continue
            drains = answer.drains
            free_at = at + 2.0 * confirm_s
            decisions.append(
                SimulatedDecision(
                    at_s=at,
                    shrunk_at_s=at + confirm_s,
                    grown_at_s=free_at,
                    cause=answer.cause,
                    brokers=answer.brokers,
                    before=asked,
                    after=answer.parts,
                )
            )
            asked = dict(answer.parts)
            heapq.heappush(events, (at + confirm_s, -2, "shrink", ""))
            heapq.heappush(events, (free_at, -2, "grow", ""))
        else:
            gates.change(at, asked, is_shrinking=what == "shrink")
    return gates.finish(decisions, asked)


def keep_parts(now: Mapping[str, Part], _: Mapping[str, Sequence[Interval]]) -> Adapted:
    """Return the parts as they are: a static split."""
    return Adapted(parts=now, cause=Cause.STEADY)


def srtm_rule(now: Mapping[str, Part], history: Mapping[str, Sequence[Interval]]) -> Adapted:
    """Return the parts by the paper's own rule: rates in proportion to mean rates over the window,
    sizes in proportion to the largest unfinished work in it."""
    if any(not history.get(name) for name in now):
        return keep_parts(now, history)
    # Brokers report at different moments: windows differ by up to one interval.
    mean = {
        name: math.fsum(row.arrived for row in history[name])
        / math.fsum(row.seconds for row in history[name])
        for name in now
    }
    work = {name: max(row.work_peak for row in history[name]) for name in now}
    rate, size = _sums(now)
    total, work_total = math.fsum(mean.values()), math.fsum(work.values())
    if total <= 0.0 or work_total <= 0.0:
        return keep_parts(now, history)
    after = {
        name: Part(
            rate_per_s=rate * mean[name] / total,
            size=size * work[name] / work_total,
        )
        for name in now
    }
    gains = tuple(name for name in now if after[name].rate_per_s > now[name].rate_per_s)
    return Adapted(parts=after, cause=Cause.SHIFT, brokers=gains)


class _Gates:
    """The gates of all brokers, each as far in time as it had to be."""

    def __init__(
        self, times: Mapping[str, Floats], parts: Mapping[str, Part], seconds: float
    ) -> None:
        self.seconds = seconds
        self.times = {
            name: np.ascontiguousarray(each[: int(np.searchsorted(each, seconds))], dtype=float)
            for name, each in times.items()
        }
        self.passed_at = {name: np.full(len(each), np.inf) for name, each in self.times.items()}
        self.held = dict(parts)
        self.states = {
            name: np.array([0.0, part.size, 0.0, 0.0, 0.0]) for name, part in parts.items()
        }
        self.rows: dict[str, list[tuple[float, Interval]]] = {name: [] for name in parts}
        self.reported = {name: (0.0, 0.0) for name in parts}
        self.largest = _sums(parts)

    def advance(self, name: str, until: float) -> Floats:
        part, state = self.held[name], self.states[name]
        through_gate(
            self.times[name], part.rate_per_s, part.size, until, state, self.passed_at[name]
        )
        return state

    def report(self, name: str, at: float) -> None:
        state = self.advance(name, at)
        since, arrived = self.reported[name]
        interval = Interval(
            seconds=at - since,
            arrived=float(state[ARRIVED]) - arrived,
            waiting=float(state[ARRIVED] - state[PASSED]),
            work_peak=float(state[PEAK]),
        )
        self.rows[name].append((at, interval))
        self.reported[name] = at, float(state[ARRIVED])
        state[PEAK] = 0.0

    def history(self, since: float) -> dict[str, list[Interval]]:
        return {
            name: [row for at, row in rows[-_most_rows(since, rows) :] if at > since]
            for name, rows in self.rows.items()
            if rows
        }

    def change(self, at: float, asked: Mapping[str, Part], *, is_shrinking: bool) -> None:
        for name, part in asked.items():
            held = self.held[name]
            if is_shrinking:
                part = Part(
                    rate_per_s=min(held.rate_per_s, part.rate_per_s),
                    size=min(held.size, part.size),
                )
            if part == held:
                continue
            state = self.advance(name, at)
            state[LEVEL] = min(state[LEVEL], part.size)
            self.held[name] = part
        rate, size = _sums(self.held)
        self.largest = max(self.largest[0], rate), max(self.largest[1], size)

    def finish(
        self, decisions: Sequence[SimulatedDecision], asked: Mapping[str, Part]
    ) -> SimulatedAdaptation:
        for name in self.held:
            self.advance(name, self.seconds)
        return SimulatedAdaptation(
            times=self.times,
            waits={name: self.passed_at[name] - self.times[name] for name in self.times},
            decisions=tuple(decisions),
            parts=asked,
            largest_rate_per_s=self.largest[0],
            largest_size=self.largest[1],
        )


def _most_rows(since: float, rows: Sequence[tuple[float, Interval]]) -> int:
    """Return how many of the latest rows may lie after `since`."""
    return max(1, math.ceil((rows[-1][0] - since) / REPORT_S) + 1)


def _sums(parts: Mapping[str, Part]) -> tuple[float, float]:
    return (
        math.fsum(part.rate_per_s for part in parts.values()),
        math.fsum(part.size for part in parts.values()),
    )
