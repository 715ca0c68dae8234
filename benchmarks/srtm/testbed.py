"""The paper's testbed in virtual time: six brokers, a new topic, its bucket, and who goes where.

Brokers are simulated (`weir.placement.simulated_brokers`); everything that decides is the
product's own: the methods of `weir.placement`, and its profiler, which places by what was measured.

Rates are messages per second, delays seconds.

Reference: C. Li, J. Liu, C. Lu, R. Guerin, C. D. Gill. Impact of distributed rate limiting on load
distribution in a latency-sensitive messaging service (SRTM), section 6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from weir.model.placement import NOWHERE, BrokerRoom, Contract, PlacementProblem, Publishers
from weir.placement import load_balanced
from weir.placement._assigning import Rule, assign
from weir.placement._quotas import by_room
from weir.placement.options import with_brokers
from weir.placement.profiling import profile
from weir.placement.simulated_brokers import SimulatedBrokers, senders_of
from weir.queueing.bucket_delay import smallest_free_size
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.traces import smallest_size, work_over

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.queueing.simulated_broker import Arrivals

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

BROKERS = 6
RATE_PER_S = 10.0
"""Of each publisher."""
SLO_S = 1e-3
"""What 99 % of the messages must stay within, end to end."""
TOKENS = 1.1
"""Token rate over the topic's rate."""
MARGIN = 1.1
"""Bucket over the smallest with which 99 % find a token ("some margin", footnote 2)."""

SPEED_PER_S = {1: 60_000.0, 10: 100_000.0}
"""What a broker processes of messages that publishers send one by one, and ten at a time."""
DECLARED_PER_S = 100_000.0
"""What the operator says that a broker takes."""

MEASURED = 600_000
"""Messages of a round of measuring: those of the paper's minute at 10,000 a second."""
LEAST_SECONDS = 10.0
MEASURED_ON = 8
"""Times as long as it may take to tell a miss from chance."""
SHOWN = 10
"""Times as long is recorded, and replayed for what is shown."""

CONCENTRATION = load_balanced.RULE
MAX_MIN = Rule(fewest_brokers=False, even_totals=False, by_group=False)
CORRELATION = Rule(fewest_brokers=False, even_totals=False, by_group=True)
"""What is made even over brokers that are chosen before: total loads, the topic's own parts, and
those of each group as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A new topic as the paper describes it."""

    publishers: int
    batch: int = 1
    arrivals: Arrivals = "poisson"
    group: int = 1
    """Publishers that send at the same moment; 1: each on its own."""
    spread_s: float = 0.0
    """Over which those of a group are spread."""
    existing_per_s: tuple[float, ...] = (0.0,) * BROKERS
    """What the brokers take of other topics."""
    declared_per_s: float = DECLARED_PER_S

    @property
    def rate_per_s(self) -> float:
        """Return what all publishers send together."""
        return self.publishers * RATE_PER_S


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seen:
    """A placement and what its messages took in one measurement of all brokers."""

    places: Places
    p50_s: float
    p95_s: float
    p99_s: float
    """Over all messages."""
    p99_by_broker_s: dict[int, float]
    rounds: int
    """Of measuring that it took to come to this placement."""

    @property
    def brokers(self) -> int:
        """Return how many serve somebody."""
        return len(self.p99_by_broker_s)


class VirtualTestbed:
    """Six brokers and a new topic; `seed`: what chance does.

    `is_replayed`: the bucket is that of a recording, and every placement is measured with the same
    messages. Else they are drawn anew for each measurement, and the bucket is computed.
    """

    def __init__(self, workload: Workload, seed: int, *, is_replayed: bool = True) -> None:
        self.workload, self.seed = workload, seed
        rate = workload.rate_per_s
        seconds = max(LEAST_SECONDS, MEASURED / rate)
        self.simulated = SimulatedBrokers(
            true_per_s=[SPEED_PER_S[workload.batch]] * BROKERS,
            seconds=seconds,
            most_seconds=MEASURED_ON * seconds,
            seed=seed,
            arrivals=workload.arrivals,
            spread_s=workload.spread_s,
            is_replayed=is_replayed,
            others_batch=10,
            others_speed_per_s=SPEED_PER_S[10],
        )

    @cached_property
    def problem(self) -> PlacementProblem:
        """Return the topic with the bucket that a recording of its messages asks for."""
        workload = self.workload
        count, rate = workload.publishers, workload.rate_per_s
        alone = workload.group == 1
        names = 0 if alone else -(-count // workload.group)
        publishers = Publishers(
            names=tuple(f"p{at:05}" for at in range(count)),
            rates_per_s=np.full(count, RATE_PER_S),
            groups=np.full(count, NOWHERE) if alone else np.arange(count) // workload.group,
            group_names=tuple(f"g{at:04}" for at in range(names)),
            pinned=np.full(count, NOWHERE),
            today=np.full(count, NOWHERE),
        )
        contract = Contract(
            topic="new",
            messages_per_s=rate,
            token_rate_per_s=TOKENS * rate,
            bucket=1.0,
            batch=workload.batch,
            slo_p99_s=SLO_S,
        )
        rooms = tuple(
            BrokerRoom(
                broker=f"b{at + 1}",
                max_rate_per_s=workload.declared_per_s,
                allocated_rate_per_s=existing,
            )
            for at, existing in enumerate(workload.existing_per_s)
        )
        problem = PlacementProblem(contract=contract, brokers=rooms, publishers=publishers)
        smallest = self._recorded_bucket(problem) if self.simulated.is_replayed else None
        free = self._computed_bucket(problem) if smallest is None else smallest
        contract = replace(contract, bucket=MARGIN * free, recorded_bucket=smallest)
        return replace(problem, contract=contract)

    def _recorded_bucket(self, problem: PlacementProblem) -> float:
        """Return the smallest bucket with which 99 % of what everybody sends find a token at one
        broker (section 6)."""
        times = self.simulated.times(problem, SHOWN * self.simulated.seconds)
        work, _ = work_over(times, problem.contract.token_rate_per_s)
        return smallest_size(work).value

    def _computed_bucket(self, problem: PlacementProblem) -> float:
        """Return the same where publishers send at random (footnote 8)."""
        senders = senders_of(problem, np.arange(self.workload.publishers))
        sizes, counts = np.unique(senders.batches, return_counts=True)
        shares = dict(zip(sizes.tolist(), map(float, counts), strict=True))
        return smallest_free_size(PoissonWork(1.0 / TOKENS, shares))

    def measured(self, places: Places, rounds: int = 0) -> Seen:
        """Return what messages take with publishers at these brokers."""
        in_force = self._in_force(places)
        shown = replace(self.simulated, seconds=SHOWN * self.simulated.seconds)
        delays = {
            at: shown.delays(in_force, at) for at in np.unique(places[places != NOWHERE]).tolist()
        }
        every = np.concatenate(list(delays.values()))
        p50_s, p95_s, p99_s = np.quantile(every, (0.5, 0.95, 0.99), method="higher").tolist()
        return Seen(
            places=places,
            p50_s=p50_s,
            p95_s=p95_s,
            p99_s=p99_s,
            p99_by_broker_s={
                at: float(np.quantile(each, 0.99, method="higher")) for at, each in delays.items()
            },
            rounds=rounds,
        )

    def over(self, count: int, rule: Rule) -> Places:
        """Return the publishers over so many brokers, those with most room."""
        problem = self.problem
        room = np.array([broker.room_per_s for broker in problem.brokers])
        order = by_room(room, [broker.broker for broker in problem.brokers])
        chosen = with_brokers(problem, set(order[:count]))
        return assign(chosen, rule, seed=self.seed, keep=False)

    def fewest(self, rule: Rule) -> Seen:
        """Return the fewest brokers that are measured to keep the objective, one more at a time;
        where none do, those that are nearest to it, as the paper reports them."""
        objectives = self.problem.contract.objectives
        best, nearest, rounds = None, np.inf, 0
        for count in range(1, BROKERS + 1):
            places = self.over(count, rule)
            if (places == NOWHERE).any():
                continue
            rounds += 1
            in_force = self._in_force(places)
            ratio = max(
                self.simulated.measure(in_force, at).ratio(objectives)
                for at in np.unique(places).tolist()
            )
            if ratio < nearest:
                best, nearest = places, ratio
            if ratio <= 1.0:
                break
        if best is None:
            raise ValueError("no number of brokers has room for this topic")
        return self.measured(best, rounds)

    def profiled(self) -> Seen:
        """Return what the product's profiler comes to; where it finds nothing that keeps the
        objective, that of its rounds which is nearest to it."""
        objectives = self.problem.contract.objectives
        rounds = profile(self.problem, self.simulated.measure, seed=self.seed).rounds
        if not rounds:
            raise ValueError("no number of brokers has room for this topic")

        def ratio(at: int) -> float:
            return max(each.ratio(objectives) for each in rounds[at].problem.measured.values())

        nearest = min(range(len(rounds)), key=ratio)
        return self.measured(rounds[nearest].problem.publishers.today, len(rounds))

    def _in_force(self, places: Places) -> PlacementProblem:
        return replace(self.problem, publishers=replace(self.problem.publishers, today=places))
