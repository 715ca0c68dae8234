"""Parts of a bucket that follow traffic: what messages wait in virtual time, and a decision's cost.

    python -m benchmarks.adaptation

Simulated, not measured (`weir.placement.simulated_adaptation`). Beside the product's rule the
paper's own and a static split, on the same messages.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from weir.placement.adaptation import Interval, Params, adapted
from weir.placement.handover import Part
from weir.placement.simulated_adaptation import keep_parts, simulate_adaptation, srtm_rule
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.simulated_broker import Arrivals, Senders, message_times
from weir.warm_up import warm_up_placements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Times = dict[str, NDArray[np.float64]]

SEEDS = 4
BEFORE_S = 120.0
AFTER_S = 120.0
SETTLED_S = 10.0
STEADY_S = 600.0
BROKERS = 1_000
ROOMY, TIGHT = 1.0, 0.4
"""Of the size with which 99 % of a broker's messages find a token."""

SHIFTS: tuple[tuple[float, int, float, int, Arrivals, float], ...] = (
    (50.0, 2, 0.5, 1, "poisson", 10.0),
    (50.0, 2, 0.7, 1, "poisson", 10.0),
    (50.0, 2, 0.8, 1, "poisson", 10.0),
    (500.0, 2, 0.8, 1, "poisson", 10.0),
    (500.0, 2, 0.8, 10, "poisson", 10.0),
    (500.0, 2, 0.8, 10, "poisson", 60.0),
    (500.0, 4, 0.8, 1, "poisson", 10.0),
    (500.0, 8, 0.8, 1, "poisson", 10.0),
    (5_000.0, 4, 0.5, 1, "poisson", 10.0),
    (5_000.0, 4, 0.8, 1, "poisson", 10.0),
    (5_000.0, 4, 0.8, 1, "poisson", 60.0),
    (5_000.0, 4, 0.8, 1, "periodic", 10.0),
    (5_000.0, 2, 0.8, 10, "poisson", 10.0),
    (5_000.0, 2, 0.9, 1, "poisson", 10.0),
    (5_000.0, 4, 0.9, 1, "poisson", 10.0),
    (5_000.0, 2, 0.95, 1, "poisson", 10.0),
    (20_000.0, 8, 0.8, 1, "poisson", 10.0),
)


def traffic(
    rates: list[float], seconds: float, seed: int, batch: int, arrivals: Arrivals = "poisson"
) -> Times:
    """Return when the messages of each broker come."""
    times = {}
    for at, rate in enumerate(rates):
        senders = max(1, int(rate / batch / 2.0)) if arrivals == "periodic" else 1
        sends = Senders(
            batches=np.full(senders, batch), batches_per_s=np.full(senders, rate / batch / senders)
        )
        times[f"q-{at}"] = (
            message_times(sends, seconds, [seed, at], arrivals) if rate else np.empty(0)
        )
    return times


def split(rate: float, size: float, shares: list[float]) -> dict[str, Part]:
    """Return parts in these proportions."""
    return {
        f"q-{at}": Part(rate_per_s=rate * share, size=size * share)
        for at, share in enumerate(shares)
    }


def free_bucket(utilisation: float, batch: int = 1) -> float:
    """Return the size with which 99 % of batches at random find a token."""
    return batch * (PoissonWork(utilisation).quantile(0.99) + 1.0)


def p99_ms(waits: NDArray[np.float64]) -> float:
    """Return the 99th percentile of waits, milliseconds."""
    return 1e3 * float(np.quantile(waits, 0.99, method="higher"))


def print_shift(
    rate: float,
    brokers: int,
    utilisation: float,
    batch: int,
    arrivals: Arrivals,
    window_s: float,
) -> None:
    """Print percentiles before and from ten seconds after the shares of brokers turn round."""
    weights = np.array([3.0, 7.0]) if brokers == 2 else np.arange(1.0, brokers + 1.0)
    shares = [float(share) for share in weights / weights.sum()]
    size = TIGHT * brokers * free_bucket(utilisation, batch)
    parts = split(rate / utilisation, size, shares)
    waits = np.zeros((SEEDS, 3))
    for seed in range(SEEDS):
        first = traffic([rate * share for share in shares], BEFORE_S, seed, batch, arrivals)
        second = traffic(
            [rate * share for share in shares[::-1]], AFTER_S, seed + SEEDS, batch, arrivals
        )
        times = {name: np.concatenate([first[name], second[name] + BEFORE_S]) for name in first}
        static = simulate_adaptation(first, parts, seconds=BEFORE_S, rule=keep_parts)
        waits[seed, 0] = p99_ms(static.waits_between(0.0, BEFORE_S - 1.0))
        for at, rule in ((1, None), (2, srtm_rule)):
            done = simulate_adaptation(
                times,
                parts,
                seconds=BEFORE_S + AFTER_S,
                rule=rule,
                params=Params(window_s=window_s),
            )
            settled = done.waits_between(BEFORE_S + SETTLED_S, BEFORE_S + AFTER_S - 2.0)
            waits[seed, at] = p99_ms(settled)
    before, own, paper = waits.mean(axis=0)
    print(
        f"  {rate:6,.0f} msg/s {brokers} brokers, {utilisation:.2f} used, {arrivals} x {batch:2}, "
        f"by {window_s:2.0f} s: before {before:7.1f} ms, after {own:7.1f} ms, "
        f"by the paper's rule {paper:7.1f} ms"
    )


def print_steady(rate: float, utilisation: float, batch: int, room: float, window_s: float) -> None:
    """Print what a topic that never changes gets from being followed."""
    shares = [0.4, 0.35, 0.25]
    parts = split(rate / utilisation, room * 3 * free_bucket(utilisation, batch), shares)
    causes: Counter[str] = Counter()
    waits = np.zeros((SEEDS, 2))
    for seed in range(SEEDS):
        times = traffic([rate * share for share in shares], STEADY_S, seed, batch)
        for at, rule in ((0, keep_parts), (1, None)):
            done = simulate_adaptation(
                times, parts, seconds=STEADY_S, rule=rule, params=Params(window_s=window_s)
            )
            waits[seed, at] = p99_ms(done.waits_between(0.0, STEADY_S - 2.0))
            causes.update(decision.cause.value for decision in done.decisions)
    static, own = waits.mean(axis=0)
    decisions = sum(causes.values()) / SEEDS
    print(
        f"  {rate:6,.0f} msg/s, {utilisation:.2f} used, x {batch:2}, {room:.1f} of free, "
        f"by {window_s:2.0f} s: static {static:6.1f} ms, followed {own:6.1f} ms, "
        f"{decisions:4.1f} decisions in 600 s"
    )


def print_waking(rate: float, utilisation: float, brokers_free: float) -> None:
    """Print the percentile of a broker that wakes to 2 % of the traffic, and the bound."""
    free = free_bucket(utilisation)
    tokens, size = rate / utilisation, brokers_free * free
    bound = 1e3 * max(0.0, free - 0.02 * size) / (0.02 * tokens)
    worst = 0.0
    for seed in range(SEEDS):
        first = traffic([0.7 * rate, 0.3 * rate, 0.0], 30.0, seed, 1)
        second = traffic([0.69 * rate, 0.29 * rate, 0.02 * rate], 60.0, seed + SEEDS, 1)
        times = {name: np.concatenate([first[name], second[name] + 30.0]) for name in first}
        done = simulate_adaptation(times, split(tokens, size, [0.7, 0.28, 0.02]), seconds=90.0)
        worst = max(worst, p99_ms(done.waits_between(30.0, 89.0, "q-2")))
    print(
        f"  {rate:6,.0f} msg/s, {utilisation:.2f} used, {size:6,.0f} tokens: "
        f"bound {bound:6.1f} ms, largest of {SEEDS} runs {worst:6.1f} ms"
    )


def main() -> None:
    """Print the four tables."""
    warm_up_placements()
    print("99th percentile ten seconds after traffic has moved")
    for rate, brokers, utilisation, batch, arrivals, window_s in SHIFTS:
        print_shift(rate, brokers, utilisation, batch, arrivals, window_s)
    print("a steady topic over three brokers")
    for room in (ROOMY, TIGHT):
        for rate, utilisation, batch, window_s in (
            (50.0, 0.7, 1, 10.0),
            (2_000.0, 0.8, 1, 10.0),
            (2_000.0, 0.95, 1, 10.0),
            (5_000.0, 0.9, 10, 10.0),
            (500.0, 0.8, 10, 10.0),
            (500.0, 0.8, 10, 60.0),
            (2_000.0, 0.8, 50, 10.0),
            (2_000.0, 0.8, 50, 60.0),
        ):
            print_steady(rate, utilisation, batch, room, window_s)
    print("a broker that wakes to 2 % of the traffic")
    for rate, utilisation, brokers_free in (
        (1_000.0, 0.8, 50.0),
        (1_000.0, 0.8, 10.0),
        (5_000.0, 0.8, 25.0),
        (20_000.0, 0.9, 12.0),
    ):
        print_waking(rate, utilisation, brokers_free)
    rng = np.random.default_rng(0)
    parts = split(1.25 * BROKERS * 100.0, 20.0 * BROKERS, [1.0 / BROKERS] * BROKERS)
    history = {
        name: [
            Interval(seconds=1.0, arrived=float(rng.poisson(100.0)), waiting=0.0, work_peak=5.0)
            for _ in range(10)
        ]
        for name in parts
    }
    began = time.perf_counter()
    adapted(parts, history, params=Params())
    took = time.perf_counter() - began
    print(f"a decision for {BROKERS:,} brokers: {1e3 * took:.0f} ms")


if __name__ == "__main__":
    main()
