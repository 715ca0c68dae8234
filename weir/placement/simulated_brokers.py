"""Brokers in virtual time in the place of real ones, for `weir.placement.profiling.profile`.

Each is a queue of `weir.queueing.simulated_broker`, with a true speed that nobody but it knows.
Rates are messages per second, delays seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from weir.model.placement import NOWHERE, MeasuredDelays, Percentile
from weir.queueing.simulated_broker import NothingSent, Senders, SimulatedBroker, simulated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from weir.model.placement import PlacementProblem
    from weir.queueing.simulated_broker import Arrivals
    from weir.queueing.traces import Estimate

    Places = NDArray[np.int64]


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

    def _measured(
        self, problem: PlacementProblem, at: int, here: Places, most_seconds: float
    ) -> MeasuredDelays:
        self.measurements += 1
        contract, loads = problem.contract, problem.loads()
        share = float(loads[here].sum()) / float(loads.sum())
        seen = simulated(
            SimulatedBroker(
                speed_per_s=self.true_per_s[at],
                others_per_s=problem.brokers[at].allocated_rate_per_s,
                token_rate_per_s=contract.token_rate_per_s * share,
                bucket=contract.bucket * share,
            ),
            senders_of(problem, here),
            seconds=self.seconds,
            most_seconds=most_seconds,
            seed=(self.seed, self.measurements),
            arrivals=self.arrivals,
            objectives=contract.objectives,
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
