"""Placement problems and their answers: which broker serves which publisher of a topic."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

NOWHERE = -1
"""The index of a broker or group that there is none of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objectives:
    """What delays of a topic are promised to stay within; None: nothing is."""

    p99_s: float | None = None
    """At most 1 % of the messages may take longer."""
    mean_s: float | None = None
    """What messages may take on average."""

    def __bool__(self) -> bool:
        return self.p99_s is not None or self.mean_s is not None

    def ratios(self, p99_s: float | None, mean_s: float | None) -> dict[str, float]:
        """Return each delay over its objective, infinite for one without bound; those of which
        nothing is promised are left out."""
        pairs = {"p99_s": (p99_s, self.p99_s), "mean_s": (mean_s, self.mean_s)}
        return {
            name: math.inf if delay_s is None else delay_s / target_s
            for name, (delay_s, target_s) in pairs.items()
            if target_s is not None
        }

    def ratio(self, p99_s: float | None, mean_s: float | None) -> float:
        """Return the largest of these ratios, 0 where nothing is promised."""
        return max(self.ratios(p99_s, mean_s).values(), default=0.0)

    def kept(self, p99_s: float | None, mean_s: float | None) -> bool | None:
        """Return whether delays keep all of them; None where nothing is promised."""
        return self.ratio(p99_s, mean_s) <= 1.0 if self else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a topic may send: a token bucket over all its brokers together."""

    topic: str
    messages_per_s: float
    """What its publishers send together on average."""
    token_rate_per_s: float
    bucket: float
    """Messages that it may send at once; at least 1."""
    batch: int = 1
    """Messages that a publisher sends at a time."""
    slo_p99_s: float | None = None
    """What at most 1 % of the messages may wait longer than; None: nothing is promised."""
    slo_mean_s: float | None = None
    """What messages may wait on average; None: nothing is promised."""
    recorded_bucket: float | None = None
    """The smallest bucket with which 99 % of its recorded messages would have found a token had one
    broker served them all; None: publishers send at random, as far as is known."""

    @property
    def objectives(self) -> Objectives:
        return Objectives(p99_s=self.slo_p99_s, mean_s=self.slo_mean_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRoom:
    """What a broker can take."""

    broker: str
    max_rate_per_s: float
    allocated_rate_per_s: float
    """Of other topics."""
    drained: bool = False
    """Takes nobody, and gives up whom it has."""
    speed_per_s: float | None = None
    """Messages that it processes per second, as measuring showed; None: as many as it may take."""

    @property
    def processes_per_s(self) -> float:
        return self.max_rate_per_s if self.speed_per_s is None else self.speed_per_s

    @property
    def most_per_s(self) -> float:
        """Return what it may take of all topics: never more than it was said to take, and less
        where it proved to be slower."""
        return min(self.max_rate_per_s, self.processes_per_s)

    @property
    def room_per_s(self) -> float:
        """Return what it may take beside other topics; nothing where it is drained."""
        return 0.0 if self.drained else max(0.0, self.most_per_s - self.allocated_rate_per_s)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Publishers:
    """All publishers of a topic as columns, since there may be a million."""

    names: tuple[str, ...]
    rates_per_s: NDArray[np.float64]
    groups: NDArray[np.int64]
    """Index of the correlation group, NOWHERE where it sends on its own."""
    group_names: tuple[str, ...]
    pinned: NDArray[np.int64]
    """Index of the broker that must serve it, NOWHERE where any may."""
    today: NDArray[np.int64]
    """Index of the broker that serves it today, NOWHERE where none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentile:
    """A measured 99th percentile with the interval that holds it at 95 %."""

    value_s: float
    low_s: float
    high_s: float | None
    """None: too little was measured to bound it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredDelays:
    """What messages of the topic took at one broker while its publishers were as they are today."""

    messages: int
    seconds: float
    delay: Percentile
    """From the arrival at the broker until it was handed on: wait for tokens and processing."""
    processing: Percentile
    """The same without what the part of the bucket held, as far as arrivals explain it."""
    mean_s: float | None = None
    """The mean of the whole delay; None: it was not measured."""
    mean_low_s: float | None = None
    mean_high_s: float | None = None
    """The interval that holds it at 95 %; the upper end None: too little was measured."""

    def without_mean(self) -> MeasuredDelays:
        """Return the same where nothing is promised of the mean, and nothing known of it."""
        return replace(self, mean_s=None, mean_low_s=None, mean_high_s=None)

    def misses(self, objectives: Objectives) -> bool:
        """Return whether one is missed whatever the rest of the messages would show."""
        return any(low_s > target_s for low_s, _, target_s in self._beside(objectives))

    def keeps(self, objectives: Objectives) -> bool:
        """Return whether all are kept whatever the rest of the messages would show."""
        return self.is_bounded(objectives) and all(
            high_s <= target_s
            for _, high_s, target_s in self._beside(objectives)
            if high_s is not None
        )

    def is_bounded(self, objectives: Objectives) -> bool:
        """Return whether enough was measured of all that is promised to bound it."""
        return all(high_s is not None for _, high_s, _ in self._beside(objectives))

    def ratio(self, objectives: Objectives) -> float:
        """Return the measured delay over its objective, of the one nearer to be missed."""
        return objectives.ratio(self.delay.value_s, self.mean_s)

    def is_enough(self, objectives: Objectives) -> bool:
        """Return whether there is something to go by: a bound, or a miss. What a broker takes that
        cannot follow grows as long as it is measured, and never has a bound."""
        return self.delay.high_s is not None or self.misses(objectives)

    def _beside(self, objectives: Objectives) -> list[tuple[float, float | None, float]]:
        """Return the ends of the interval and the target of each objective."""
        rows = []
        if objectives.p99_s is not None:
            rows.append((self.delay.low_s, self.delay.high_s, objectives.p99_s))
        if objectives.mean_s is not None:
            rows.append((self.mean_low_s or 0.0, self.mean_high_s, objectives.mean_s))
        return rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacementProblem:
    """A topic with its publishers, and the brokers that may serve them."""

    contract: Contract
    brokers: tuple[BrokerRoom, ...]
    publishers: Publishers
    measured: Mapping[int, MeasuredDelays] = field(default_factory=dict)
    """By index of the broker; those at which nothing was measured are left out."""
    measured_of: str | None = None
    """The name or id of the placement that was in force meanwhile."""

    def loads(self) -> NDArray[np.float64]:
        """Return what each publisher takes of its broker, in messages per second.

        Where a topic is said to send more than its publishers add up to, each counts for more.
        """
        rates = self.publishers.rates_per_s
        whole = float(rates.sum())
        return rates * max(1.0, self.contract.messages_per_s / whole) if whole > 0 else rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One broker's part of the topic."""

    publishers: int
    messages_per_s: float
    token_rate_per_s: float
    bucket: float
    p99_s: float | None
    """What at most 1 % of its messages wait longer than, in its bucket; None: no bound."""
    mean_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placement:
    """The answer: a broker for each publisher, and the parts of the bucket."""

    method: str
    broker_of: NDArray[np.int64]
    """Index of the broker of each publisher, NOWHERE where none had room."""
    shares: Mapping[int, Share] = field(default_factory=dict)
    """By index of the broker; those that serve nobody are left out."""
    p99_s: float | None = None
    """Over all messages."""
    mean_s: float | None = None
    need_brokers: int | None = None
    """Further brokers that would hold what has no room; None: all have, or none would do."""

    @property
    def complete(self) -> bool:
        return bool((self.broker_of != NOWHERE).all())

    def meets(self, objectives: Objectives) -> bool | None:
        """Return whether every broker keeps to the objectives; None where there are none."""
        if not objectives:
            return None
        return all(objectives.kept(share.p99_s, share.mean_s) for share in self.shares.values())
