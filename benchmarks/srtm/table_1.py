"""Table 1 of the SRTM paper: rounds of measuring until every broker keeps the objective.

The topic of section 6.5, whose messages are drawn anew for each measurement. Beside the paper's
rounds those of its search by halves, by the model of such brokers (no chance in it) and at the
simulated ones, and those of the product's profiler, which fits a speed to what was measured; its
publish rates are right or wrong by a quarter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from benchmarks.srtm.testbed import DECLARED_PER_S, VirtualTestbed, Workload
from benchmarks.statements import Statement
from weir.placement.profiling import by_rates_alone, profile, search_rounds
from weir.placement.rounds import searched_by_halves

ROUNDS_OF_THE_PAPER = {
    5: (1,),
    10: (2, 1),
    15: (5, 3, 1),
    20: (5, 4, 2, 1),
    25: (3, 4, 4, 2, 1),
    30: (3, 5, 3, 2, 3, 1),
}
"""By publishers of a group: rounds of each iteration, k = 1, 2, ..."""
SECONDS_OF_THE_PAPER = {5: 64, 10: 189, 15: 558, 20: 745, 25: 871, 30: 1058}

WRONG = (1.0, 1.25, 0.75)
"""Publish rate that is given over what a broker takes in truth."""
SEEDS = (31, 32, 33)
MOST_ROUNDS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What one topic took, over the seeds."""

    group: int
    by_model: int
    """Rounds of the search by halves where the model measures."""
    by_halves: tuple[int, ...]
    """Those at simulated brokers."""
    rounds: dict[float, tuple[int, ...]]
    """Of the profiler, by how wrong publish rates are."""
    minutes: dict[float, tuple[float, ...]]
    """For which it measured."""
    brokers: tuple[int, ...]
    """That it took where publish rates are right."""
    kept: bool
    """Whether the profiler always came to a placement whose brokers keep the objective."""


def table() -> list[Searched]:
    """Return a row for each size of groups."""
    rows = []
    for group in ROUNDS_OF_THE_PAPER:
        halves, brokers, kept = [], [], True
        rounds: dict[float, tuple[int, ...]] = {}
        minutes: dict[float, tuple[float, ...]] = {}
        for wrong in WRONG:
            workload = Workload(
                publishers=1_000, batch=10, group=group, declared_per_s=DECLARED_PER_S * wrong
            )
            seen = []
            for seed in SEEDS:
                bench = VirtualTestbed(workload, seed, is_replayed=False)
                seen.append(profile(bench.problem, bench.simulated.measure, seed=seed))
                if wrong == 1.0:
                    used = seen[-1].rounds[-1].problem.publishers.today
                    brokers.append(len(np.unique(used)))
                    bench = VirtualTestbed(workload, seed, is_replayed=False)
                    problem, simulated = bench.problem, bench.simulated

                    def ratio(
                        at: int,
                        here: np.ndarray,
                        problem=problem,  # type: ignore[no-untyped-def]
                        simulated=simulated,
                    ) -> float:
                        return float(simulated.ratio(problem, at, here))

                    halves.append(
                        searched_by_halves(by_rates_alone(problem), ratio, seed=seed).rounds
                    )
            rounds[wrong] = tuple(len(each.rounds) for each in seen)
            minutes[wrong] = tuple(each.seconds / 60.0 for each in seen)
            kept &= all(each.kept for each in seen)
        model = VirtualTestbed(
            replace(workload, declared_per_s=DECLARED_PER_S), SEEDS[0], is_replayed=False
        )
        rows.append(
            Searched(
                group=group,
                by_model=search_rounds(model.problem),
                by_halves=tuple(halves),
                rounds=rounds,
                minutes=minutes,
                brokers=tuple(brokers),
                kept=kept,
            )
        )
    return rows


def totals(rows: list[Searched], wrong: float) -> list[int]:
    """Return the rounds of the six topics together, a number for each seed."""
    return [sum(row.rounds[wrong][at] for row in rows) for at in range(len(SEEDS))]


def statements(rows: list[Searched]) -> list[Statement]:
    """Return what section 6.5 says, and what Weir is out for."""
    paper = sum(map(sum, ROUNDS_OF_THE_PAPER.values()))
    model = sum(row.by_model for row in rows)
    halves = [sum(row.by_halves[at] for row in rows) for at in range(len(SEEDS))]
    per_topic = [fmean(row.by_halves) for row in rows]
    wrong = {each: totals(rows, each) for each in WRONG}
    return [
        Statement(
            key="search",
            paper=f"The search by halves takes {paper} rounds for the six topics.",
            measured=f"{', '.join(map(str, halves))} at simulated brokers, {model} by the model",
            holds=all(0.75 * paper <= each <= 1.25 * paper for each in (fmean(halves), model)),
        ),
        Statement(
            key="burstier",
            paper="As the burstiness of the topic increases, so does the duration of the search.",
            measured=", ".join(f"{each:.1f}" for each in per_topic) + " rounds on average",
            holds=per_topic == sorted(per_topic),
        ),
        Statement(
            key="better-models",
            paper="Better models for estimating room are feasible and would reduce the rounds.",
            measured="; ".join(
                f"rates {100 * (each - 1):+.0f} %: {', '.join(map(str, counts))}"
                for each, counts in wrong.items()
            )
            + " rounds for the six topics",
            holds=all(fmean(counts) < fmean(halves) for counts in wrong.values())
            and all(row.kept for row in rows),
        ),
        Statement(
            key="twelve",
            paper=f"*Weir's own aim:* at most {MOST_ROUNDS} rounds with rates off by a quarter.",
            measured=f"at most {max(max(counts) for counts in wrong.values())}",
            holds=all(max(counts) <= MOST_ROUNDS for counts in wrong.values()),
        ),
    ]
