"""Learn from measured delays what brokers process, and place by that.

What a broker takes in truth is measured, not known (SRTM, section 4.2). The paper searches it:
each broker that misses its objective is measured again and again with fewer publishers. Here one
measurement fits one number per broker, its speed, so that the model of
`weir.queueing.broker_delay` says of it what was measured; brokers that were not measured get the
mean of those that were. The next placement is made by that model, and measured in turn.

A speed is fitted to the percentile of processing alone: the wait for tokens follows from the
contract, and what is measured of it, seldom and in bursts, says nothing of the broker.

`profile` is that loop. A broker that missed the objective with some load is never given as much
again, so that it ends however wrong the model is.

Rates are messages per second, delays seconds.

Reference: C. Li, J. Liu, C. Lu, R. Guerin, C. D. Gill. Impact of distributed rate limiting on
load distribution in a latency-sensitive messaging service (SRTM), sections 4.2 and 6.5.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from weir.model.placement import NOWHERE
from weir.placement._prediction import PERCENTILE, batches_at
from weir.placement.options import (
    Option,
    best,
    option,
    option_of_today,
    option_with_needed_moves,
    p99_at,
    with_fewest_moves,
)
from weir.placement.rounds import placed_in_rounds, searched_by_halves
from weir.queueing.broker_delay import processing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from weir.model.placement import MeasuredDelays, PlacementProblem

    Places = NDArray[np.int64]
    Floats = NDArray[np.float64]

WITHIN = 0.9
"""Of the objective: what a placement by measured speeds keeps at every broker. What is predicted to
just keep it would be measured to miss it every other time."""

FASTEST = 100.0
"""Times its publish rate: the speed of a broker whose processing is too short to be measured."""

LEAST_GAP = 1e-3
"""Of what is sent: a broker that is hardly faster than that is as slow as can be measured."""

RESOLUTION = 1e-9
"""Of the logarithm of a speed."""

MOST_ROUNDS = 60


def fitted(problem: PlacementProblem) -> PlacementProblem:
    """Return the problem with the speed of each broker as the measured delays show it; the same
    problem where nothing was measured, now or before."""
    loads = problem.loads()
    speeds = [
        _fitted_speed(problem, at, loads) if fits(problem, at) else broker.speed_per_s
        for at, broker in enumerate(problem.brokers)
    ]
    ratios = [
        speed / broker.max_rate_per_s
        for speed, broker in zip(speeds, problem.brokers, strict=True)
        if speed is not None and broker.max_rate_per_s > 0
    ]
    if not ratios:
        return problem
    ratio = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    brokers = tuple(
        replace(broker, speed_per_s=broker.max_rate_per_s * ratio if speed is None else speed)
        for speed, broker in zip(speeds, problem.brokers, strict=True)
    )
    return replace(problem, brokers=brokers)


def fits(problem: PlacementProblem, at: int) -> bool:
    """Return whether enough was measured at a broker, and of somebody, to fit its speed."""
    measured = problem.measured.get(at)
    if measured is None or measured.processing.high_s is None:
        return False
    return bool((problem.publishers.today == at).any())


def _fitted_speed(problem: PlacementProblem, at: int, loads: Floats) -> float:
    """Return the speed with which the model says of today's publishers what was measured.

    A percentile that a broker hardly faster than what is sent would still keep gives that speed;
    one that is too short for any, a capacity beyond which speed no longer matters.
    """
    measured, broker = problem.measured[at], problem.brokers[at]
    rate = measured.messages / measured.seconds
    batches = batches_at(problem, problem.publishers.today == at, loads)
    scale = rate / math.fsum(size * events for size, events in batches.items())
    as_measured = {size: events * scale for size, events in batches.items()}
    sent = rate + broker.allocated_rate_per_s
    slowest, fastest = sent * (1.0 + LEAST_GAP), FASTEST * max(broker.max_rate_per_s, sent)
    target_s = measured.processing.value_s
    if target_s <= 0.0:
        return fastest

    def too_long(log_speed: float) -> float:
        queue = processing(
            max_rate_per_s=math.exp(log_speed),
            others_per_s=broker.allocated_rate_per_s,
            batches_per_s=as_measured,
        )
        return math.log(queue.quantile_s(PERCENTILE) / target_s)

    # Outward from the former speed: a queue near its limit takes longest to compute.
    low = high = min(max(broker.processes_per_s, slowest), fastest)
    if too_long(math.log(low)) > 0.0:
        while high < fastest and too_long(math.log(high)) > 0.0:
            low, high = high, min(2.0 * high, fastest)
        if high == fastest and too_long(math.log(high)) > 0.0:
            return fastest
    else:
        while low > slowest and too_long(math.log(low)) <= 0.0:
            low, high = max(sent + (low - sent) / 2.0, slowest), low
        if low == slowest and too_long(math.log(low)) <= 0.0:
            return slowest
    return math.exp(brentq(too_long, math.log(low), math.log(high), xtol=RESOLUTION))


def verdicts(problem: PlacementProblem, fit: PlacementProblem | None = None) -> dict[str, Any]:
    """Return what was measured beside what was predicted of it, as plain data (docs/formats.md,
    Explained placement); `fit`: the problem with the speeds fitted, None leaves them out."""
    before = fitted(replace(problem, measured={}, measured_of=None))
    today, slo = problem.publishers.today, problem.contract.slo_p99_s
    counts = np.bincount(today[today != NOWHERE], minlength=len(problem.brokers))
    as_it_is = option_of_today(before)
    rows = []
    for at, measured in sorted(problem.measured.items()):
        if not counts[at] or as_it_is is None:
            continue
        row = judged(
            problem.brokers[at].broker,
            measured,
            slo,
            publishers=int(counts[at]),
            predicted_p99_s=as_it_is.by_broker[at].p99_s,
        )
        if fit is not None:
            row["speed_before_per_s"] = before.brokers[at].processes_per_s
            row["speed_per_s"] = fit.brokers[at].processes_per_s
            row["fitted"] = fits(problem, at)
        rows.append(row)
    all_measured = len(rows) == int(np.count_nonzero(counts))
    return {
        "of": problem.measured_of,
        "meets": meets_measured([row["verdict"] for row in rows], all_measured=all_measured),
        "brokers": rows,
    }


def judged(
    broker: str,
    measured: MeasuredDelays,
    slo_p99_s: float | None,
    *,
    publishers: int,
    predicted_p99_s: float | None,
) -> dict[str, Any]:
    """Return what was measured at one broker beside what was predicted, as plain data; without
    speeds, which take a fit."""
    delay, own = measured.delay, measured.processing
    verdict = verdict_of(measured, slo_p99_s)
    missed_by = "processing" if own.value_s >= delay.value_s / 2.0 else "tokens"
    return {
        "broker": broker,
        "publishers": publishers,
        "rate_per_s": measured.messages / measured.seconds,
        "messages": measured.messages,
        "seconds": measured.seconds,
        "predicted_p99_s": predicted_p99_s,
        "p99_s": delay.value_s,
        "low_s": delay.low_s,
        "high_s": delay.high_s,
        "processing_p99_s": own.value_s,
        "processing_low_s": own.low_s,
        "processing_high_s": own.high_s,
        "verdict": verdict,
        "cause": missed_by if verdict == "missed" else None,
        "speed_before_per_s": None,
        "speed_per_s": None,
        "fitted": None,
    }


def verdict_of(measured: MeasuredDelays, slo_p99_s: float | None) -> str | None:
    """Return what the interval of the percentile says of an objective; None where there is none."""
    if slo_p99_s is None:
        return None
    if measured.delay.low_s > slo_p99_s:
        return "missed"
    high_s = measured.delay.high_s
    return "kept" if high_s is not None and high_s <= slo_p99_s else "inconclusive"


def meets_measured(each: list[Any], *, all_measured: bool) -> bool | None:
    """Return whether every broker that serves somebody keeps the objective, as far as is known."""
    if "missed" in each:
        return False
    kept = bool(each) and all(verdict == "kept" for verdict in each)
    return True if kept and all_measured else None


def search_rounds(problem: PlacementProblem, *, seed: int = 0) -> int:
    """Return the rounds of measuring that the paper's procedure takes where brokers are as fast as
    this problem says: it starts by publish rates alone, and searches by halves; 0 where there is
    no objective."""
    slo = problem.contract.slo_p99_s
    if slo is None:
        return 0
    return searched_by_halves(
        by_rates_alone(problem), lambda at, here: p99_at(problem, at, here), slo, seed=seed
    ).rounds


def by_rates_alone(problem: PlacementProblem) -> PlacementProblem:
    """Return the problem as it is before anything was measured, and nobody was placed."""
    publishers = replace(
        problem.publishers, today=np.full(len(problem.publishers.names), NOWHERE, dtype=np.int64)
    )
    brokers = tuple(replace(broker, speed_per_s=None) for broker in problem.brokers)
    return replace(problem, brokers=brokers, publishers=publishers, measured={}, measured_of=None)


def choice(
    problem: PlacementProblem, curve: list[Option], *, stay: bool, seed: int
) -> Option | None:
    """Return which placement to take: the one with the fewest moves, one of the curve, or one whose
    brokers have unequal parts.

    Where speeds were measured it is the first that keeps WITHIN of the objective at every broker;
    without them, and where none does, the first that keeps the objective over all messages, or the
    best. `problem` has the speeds fitted.
    """
    slo = problem.contract.slo_p99_s
    kept = option_with_needed_moves(problem, seed=seed) if stay else None
    if slo is not None and any(broker.speed_per_s is not None for broker in problem.brokers):
        for each in _candidates(problem, kept, curve, slo, stay=stay, seed=seed):
            if _keeps_everywhere(problem, each, slo):
                return each
    return kept if kept is not None and kept.keeps(slo) else best(curve, slo)


def _candidates(
    problem: PlacementProblem,
    kept: Option | None,
    curve: list[Option],
    slo: float,
    *,
    stay: bool,
    seed: int,
) -> Iterator[Option]:
    """Yield what there is to choose from, the most wanted first."""
    if kept is not None:
        yield kept
    yield from curve
    placement, _ = placed_in_rounds(
        problem, lambda at, here: _serves(problem, at, here, WITHIN * slo), seed=seed
    )
    if placement.complete:
        places = placement.broker_of
        if stay:
            places = with_fewest_moves(problem, places)
        yield option(problem, tuple(np.unique(places).tolist()), places)


def _serves(problem: PlacementProblem, at: int, here: Places, most_s: float) -> int:
    """Return how many of these publishers, from the first on, the model lets a broker serve."""

    def keeps(count: int) -> bool:
        late_s = p99_at(problem, at, here[:count])
        return late_s is not None and late_s <= most_s

    low, high = 0, len(here) + 1
    middle = len(here)
    while high - low > 1:
        if keeps(middle):
            low = middle
        else:
            high = middle
        middle = (low + high) // 2
    return low


def _keeps_everywhere(problem: PlacementProblem, each: Option, slo: float) -> bool:
    """Return whether each broker keeps WITHIN of the objective, or was measured to keep it with
    those whom it has; none gets as much as it was measured to miss it with."""
    if not each.fits:
        return False
    loads, today = problem.loads(), problem.publishers.today
    for at, delays in each.by_broker.items():
        here, measured = each.places == at, problem.measured.get(at)
        verdict = None if measured is None else verdict_of(measured, slo)
        if verdict == "kept" and bool((here == (today == at)).all()):
            continue
        if verdict == "missed" and float(loads[here].sum()) >= float(loads[today == at].sum()):
            return False
        if delays.p99_s is None or delays.p99_s > WITHIN * slo:
            return False
    return True
