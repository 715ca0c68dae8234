"""Brokers in virtual time in the place of real ones, for `weir.placement.profiling.profile`.

Each is a queue of `weir.queueing.simulated_broker`, with a true speed that nobody but it knows.
Rates are messages per second, delays seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from weir.model.placement import NOWHERE, MeasuredDelays, Percentile
from weir.queueing.simulated_broker import (
    NothingSent,
    Senders,
    SimulatedBroker,
    delays_at,
    message_times,
    simulated,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from weir.model.placement import PlacementProblem
    from weir.queueing.simulated_broker import Arrivals
    from weir.queueing.traces import Estimate

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

PHASES, ORDERS = range(2)
"""What the seed draws of publishers, each on its own: who is who stays the same however often
their messages are measured."""


@dataclass(slots=True, kw_only=True)
class SimulatedBrokers:
    """Brokers in virtual time in the place of real ones: `measure` for `profile`."""

    true_per_s: Sequence[float]
    """What each broker processes in truth."""
    seconds: float
    """Of a measurement."""
    most_seconds: float
    """Of one that is repeated for twice as long because it says too little."""
    seed: int
    arrivals: Arrivals = "poisson"
    spread_s: float = 0.0
    """Over which the publishers of a group send, evenly and in an order of their own; 0: in
    lockstep."""
    others_batch: int = 1
    """Messages of other topics that come at a time."""
    others_speed_per_s: float | None = None
    """How many of those a broker processes per second; None: as many as of the topic's own."""
    is_replayed: bool = False
    """Each publisher sends the same in every measurement, wherever it is: placements are compared
    on the same messages."""
    measurements: int = field(default=0, init=False)

    def measure(self, problem: PlacementProblem, at: int) -> MeasuredDelays:
        """Return what messages of today's publishers take at a broker."""
        here = np.flatnonzero(problem.publishers.today == at)
        return self._measured(problem, at, here, self.most_seconds)

    def ratio(self, problem: PlacementProblem, at: int, here: Places) -> float:
        """Return the delay of these publishers' messages over its objective, of several the
        largest, in one measurement whatever its interval, as the paper has it. Where nobody
        happened to send, nothing was late."""
        try:
            measured = self._measured(problem, at, here, self.seconds)
        except NothingSent:
            return 0.0
        return measured.ratio(problem.contract.objectives)

    def delays(self, problem: PlacementProblem, at: int) -> Floats:
        """Return what each message of today's publishers takes at a broker, in one measurement."""
        here = np.flatnonzero(problem.publishers.today == at)
        delays, _ = delays_at(
            self._broker(problem, at, here),
            self.senders(problem, here),
            seconds=self.seconds,
            seed=self._next_seed(),
            arrivals=self.arrivals,
        )
        return delays

    def senders(self, problem: PlacementProblem, here: Places) -> Senders:
        """Return who of these publishers sends on its own, and when those of a group do."""
        groups, batch = problem.publishers.groups, problem.contract.batch
        sending = np.arange(len(groups)) if self.is_replayed else here
        senders = senders_of(problem, sending)
        alone, together = sending[groups[sending] == NOWHERE], groups[sending]
        known, of = np.unique(together[together != NOWHERE], return_inverse=True)
        offsets = None
        if self.spread_s > 0.0:
            late = late_in_group(groups, self.spread_s, seed=self.seed)
            in_group = here[groups[here] != NOWHERE]
            ordered = in_group[np.argsort(groups[in_group], kind="stable")]
            own = np.zeros(int(np.count_nonzero(groups[here] == NOWHERE)))
            offsets = np.repeat(np.concatenate([own, late[ordered]]), batch)
        batches = senders.batches
        if self.is_replayed:
            # Who is elsewhere sends nothing here, at the moments at which it sends there.
            is_here = np.zeros(len(groups), dtype=bool)
            is_here[here] = True
            members = np.bincount(of, is_here[groups != NOWHERE], len(known))
            batches = batch * np.concatenate([is_here[alone], members]).astype(np.int64)
        return replace(
            senders,
            batches=batches,
            phases=self._phases(problem, alone, known) if self.is_replayed else None,
            offsets_s=offsets,
        )

    def _phases(self, problem: PlacementProblem, alone: Places, groups: Places) -> Floats:
        """Return where in its period each publisher without a group begins, then each group."""
        publishers = len(problem.publishers.names)
        drawn = np.random.default_rng([self.seed, PHASES]).uniform(
            0.0, 1.0, publishers + len(problem.publishers.group_names)
        )
        return np.concatenate([drawn[alone], drawn[publishers + groups]])

    def times(self, problem: PlacementProblem, seconds: float) -> Floats:
        """Return when messages of all publishers come, in the first so many seconds."""
        everybody = np.arange(len(problem.publishers.names))
        return message_times(
            self.senders(problem, everybody), seconds, self._next_seed(), self.arrivals
        )

    def _next_seed(self) -> tuple[int, int]:
        if self.is_replayed:
            return self.seed, 0
        self.measurements += 1
        return self.seed, self.measurements

    def _broker(self, problem: PlacementProblem, at: int, here: Places) -> SimulatedBroker:
        contract, loads = problem.contract, problem.loads()
        share = float(loads[here].sum()) / float(loads.sum())
        return SimulatedBroker(
            speed_per_s=self.true_per_s[at],
            others_per_s=problem.brokers[at].allocated_rate_per_s,
            token_rate_per_s=contract.token_rate_per_s * share,
            bucket=contract.bucket * share,
            others_batch=self.others_batch,
            others_speed_per_s=self.others_speed_per_s,
        )

    def _measured(
        self, problem: PlacementProblem, at: int, here: Places, most_seconds: float
    ) -> MeasuredDelays:
        seen = simulated(
            self._broker(problem, at, here),
            self.senders(problem, here),
            seconds=self.seconds,
            most_seconds=most_seconds,
            seed=self._next_seed(),
            arrivals=self.arrivals,
            objectives=problem.contract.objectives,
        )
        return MeasuredDelays(
            messages=seen.messages,
            seconds=seen.seconds,
            delay=_percentile(seen.delay),
            processing=_percentile(seen.processing),
            mean_s=seen.mean.value,
            mean_low_s=seen.mean.low,
            mean_high_s=seen.mean.high if seen.mean.conclusive else None,
        )


def _percentile(estimate: Estimate) -> Percentile:
    return Percentile(
        value_s=estimate.value,
        low_s=estimate.low,
        high_s=estimate.high if estimate.conclusive else None,
    )


def senders_of(problem: PlacementProblem, here: Places) -> Senders:
    """Return who of these publishers sends on its own: those without a group, and each group."""
    groups, loads = problem.publishers.groups[here], problem.loads()[here]
    alone = groups == NOWHERE
    _, of, members = np.unique(groups[~alone], return_inverse=True, return_counts=True)
    together = np.bincount(of, loads[~alone], len(members))
    batch = problem.contract.batch
    batches = np.concatenate([np.full(int(alone.sum()), batch), members * batch])
    rates = np.concatenate([loads[alone], together])
    return Senders(batches=batches.astype(np.int64), batches_per_s=rates / batches)


def late_in_group(groups: Places, spread_s: float, *, seed: int) -> Floats:
    """Return how long after the first of its group each publisher sends: evenly over `spread_s`, in
    an order that its name does not show. 0 for one without a group."""
    count = len(groups)
    drawn = np.random.default_rng([seed, ORDERS]).uniform(0.0, 1.0, count)
    order = np.lexsort((drawn, groups))
    starts = np.flatnonzero(np.diff(groups[order], prepend=NOWHERE - 1))
    members = np.diff(starts, append=count)
    nth = np.arange(count) - np.repeat(starts, members)
    out = np.empty(count)
    out[order] = spread_s * nth / np.maximum(1, np.repeat(members, members) - 1)
    return np.where(groups == NOWHERE, 0.0, out)
