"""Placement, prices of moves, profiles and token buckets: seconds for a million publishers, rounds.

    python -m benchmarks.placement

Beside each figure a plain implementation of the same on the same data, in the same run.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from weir.model.placement import NOWHERE, BrokerRoom, Contract, PlacementProblem, Publishers
from weir.placement import placers, srtm
from weir.placement.explained import explained_of
from weir.placement.moves import price_of_moves
from weir.placement.profiling import fitted, profile, search_rounds
from weir.placement.simulated_brokers import SimulatedBrokers
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.traces import TraceState, work_before
from weir.warm_up import warm_up_placements

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

PUBLISHERS = 1_000_000
GROUP = 25
MESSAGES = 20_000_000
CALLS = 20_000
MANY = 1_000
TRUE_PER_S = 100_000.0
ROOM = (70_000.0, 40_000.0, 30_000.0, 20_000.0, 10_000.0, 0.0)


def topic(rates: NDArray[np.float64]) -> PlacementProblem:
    """Return a topic of these publishers, in groups, over the brokers of the paper's Figure 8."""
    whole = float(rates.sum())
    count = len(rates)
    return PlacementProblem(
        contract=Contract(
            topic="t", messages_per_s=whole, token_rate_per_s=1.1 * whole, bucket=500.0
        ),
        brokers=tuple(
            BrokerRoom(broker=f"b{at}", max_rate_per_s=rate, allocated_rate_per_s=0.0)
            for at, rate in enumerate(ROOM)
        ),
        publishers=Publishers(
            names=tuple(f"p{at}" for at in range(count)),
            rates_per_s=rates,
            groups=np.arange(count, dtype=np.int64) // GROUP,
            group_names=tuple(f"g{at}" for at in range(count // GROUP)),
            pinned=np.full(count, NOWHERE, dtype=np.int64),
            today=np.full(count, NOWHERE, dtype=np.int64),
        ),
    )


def plainly(problem: PlacementProblem) -> list[int]:
    """Return a placement by a loop over publishers: each to the broker with most room left."""
    left = [broker.room_per_s for broker in problem.brokers]
    places = []
    for rate in problem.loads().tolist():
        at = max(range(len(left)), key=left.__getitem__)
        left[at] -= rate
        places.append(at)
    return places


def seconds(action: Callable[[], object], times: int = 3) -> float:
    """Return the shortest of some runs."""
    shortest = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        action()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest


def bursty(publishers: int, brokers: int, *, declared_per_s: float) -> PlacementProblem:
    """Return a new topic like that of SRTM's Table 1 over equal empty brokers."""
    problem = topic(np.full(publishers, 10.0))
    whole = 10.0 * publishers
    contract = Contract(
        topic="t",
        messages_per_s=whole,
        token_rate_per_s=1.1 * whole,
        bucket=300.0 * GROUP,
        batch=10,
        slo_p99_s=1e-3,
    )
    rooms = tuple(
        BrokerRoom(broker=f"b{at:03}", max_rate_per_s=declared_per_s, allocated_rate_per_s=0.0)
        for at in range(brokers)
    )
    return replace(problem, contract=contract, brokers=rooms)


def print_profiles() -> None:
    """Print the rounds of placing and measuring, and how long one takes to compute."""
    print(f"profiles: groups of {GROUP}, publish rates 25 % above the speed of {TRUE_PER_S:,.0f}")
    for publishers, brokers, measured_s in ((1_000, 12, 60.0), (100_000, 40, 5.0)):
        problem = bursty(publishers, brokers, declared_per_s=1.25 * TRUE_PER_S)
        simulated = SimulatedBrokers(
            true_per_s=[TRUE_PER_S] * brokers,
            seconds=measured_s,
            most_seconds=8 * measured_s,
            seed=1,
        )
        seen = profile(problem, simulated.measure)
        last = seen.rounds[-1].problem
        fit = seconds(lambda last=last: fitted(last))
        again = seconds(lambda last=last: explained_of(last, srtm.NAME, {}, seed=0), 1)
        halves = search_rounds(fitted(last))
        print(
            f"  {publishers:7,} publishers, {brokers:2} brokers: {len(seen.rounds)} rounds, kept: "
            f"{seen.kept}, by halves {halves}; fit {fit:.3f} s, placed again {again:.2f} s"
        )


def main() -> None:
    """Print the five tables."""
    warm_up_placements()
    rng = np.random.default_rng(0)
    rates = {
        "equal rates": np.full(PUBLISHERS, 0.1),
        "unequal rates": rng.uniform(0.05, 0.1, PUBLISHERS),
    }
    print(f"{PUBLISHERS:,} publishers over {len(ROOM)} brokers")
    for name, each in rates.items():
        problem = topic(each)
        plain = seconds(lambda problem=problem: plainly(problem), 1)
        for method, module in placers().items():
            took = seconds(
                lambda module=module, problem=problem: module.place(
                    problem, module.Params(), seed=0
                )
            )
            print(
                f"  {name:<14} {method:<14} {took:6.3f} s   {plain / took:5.1f} times a plain loop"
            )
    print("prices of all moves, where publishers are anywhere today")
    for name, each in rates.items():
        problem = topic(each)
        today = rng.integers(0, np.count_nonzero(ROOM), PUBLISHERS)
        problem = replace(problem, publishers=replace(problem.publishers, today=today))
        placement = srtm.place(problem, srtm.Params(stay=False), seed=0)
        took = seconds(
            lambda problem=problem, placement=placement: price_of_moves(problem, placement)
        )
        kinds = len(price_of_moves(problem, placement).moves)
        print(f"  {name:<14} {kinds:4} prices {took:6.3f} s")
    print_profiles()
    times = np.cumsum(rng.exponential(1 / 0.9, MESSAGES))
    out = np.empty(MESSAGES)
    state = TraceState(start_s=float(times[0]))
    took = seconds(lambda: work_before(times, 1.0, state.start_s, 0, state.lowest, out))

    def with_numpy() -> NDArray[np.float64]:
        x = np.arange(MESSAGES) - (times - times[0])
        return x - np.minimum.accumulate(x)

    plain = seconds(with_numpy)
    print(f"{MESSAGES:,} messages through a bucket")
    print(f"  {MESSAGES / took / 1e6:6.0f} million a second, {plain / took:.1f} times numpy")
    print("analysis, microseconds a call")
    for utilisation in (0.05, 0.5, 0.9, 0.999):
        work = PoissonWork(utilisation)
        places = rng.uniform(0, 30, CALLS)
        tail = seconds(lambda work=work, places=places: work.tails(places)) / CALLS
        mean = seconds(lambda work=work: [work.excess_mean(7.3) for _ in range(MANY)]) / MANY
        p99 = seconds(lambda work=work: [work.quantile(0.99) for _ in range(MANY)]) / MANY
        made = seconds(lambda each=utilisation: [PoissonWork(each) for _ in range(MANY)]) / MANY
        print(
            f"  utilisation {utilisation:<6} tail {tail * 1e6:5.2f}  mean {mean * 1e6:5.1f}  "
            f"p99 and b0 {p99 * 1e6:5.1f}  set-up {made * 1e6:5.1f}"
        )


if __name__ == "__main__":
    main()
