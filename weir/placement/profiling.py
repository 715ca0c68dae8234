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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from weir.model.placement import NOWHERE, MeasuredDelays, Percentile
from weir.placement._prediction import PERCENTILE, batches_at
from weir.placement.options import (
    Delays,
    Option,
    best,
    option,
    option_of_today,
    option_with_needed_moves,
    options,
    ratio_at,
    with_fewest_moves,
)
from weir.placement.rounds import placed_in_rounds, searched_by_halves
from weir.queueing.broker_delay import processing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from weir.model.placement import BrokerRoom, Objectives, PlacementProblem

    Places = NDArray[np.int64]
    Floats = NDArray[np.float64]

WITHIN = 0.9
"""Of the objective: what a placement by measured speeds keeps at every broker. What is predicted to
just keep it would be measured to miss it every other time."""

FASTEST = 100.0
"""Times its publish rate: the speed of a broker whose processing is too short to be measured."""

LEAST_GAP = 1e-3
"""Of what is sent: a broker that is hardly faster than that is as slow as can be measured."""

SATURATED = 0.98
"""Of the tokens that flow in: a part that lets as much pass is asked for more than it has."""

RESOLUTION = 1e-9
"""Of the logarithm of a speed."""

MOST_ROUNDS = 60


def fitted(problem: PlacementProblem) -> PlacementProblem:
    """Return the problem with the speed of each broker as the measured delays show it; the same
    problem where nothing was measured, now or before.

    Others are taken to be as fast beside their publish rates as those measured, unless the topic
    has room only if they are as fast as they are said to be: a speed that nobody measured is no
    reason to turn it away.
    """
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

    def with_others_at(ratio: float | None) -> PlacementProblem:
        inferred = [
            None if ratio is None else broker.max_rate_per_s * ratio for broker in problem.brokers
        ]
        brokers = tuple(
            replace(broker, speed_per_s=other if speed is None else speed)
            for speed, other, broker in zip(speeds, inferred, problem.brokers, strict=True)
        )
        return replace(problem, brokers=brokers)

    return roomier(with_others_at(ratio), with_others_at(None))


def roomier(problem: PlacementProblem, other: PlacementProblem) -> PlacementProblem:
    """Return the other problem where the topic has room there alone, by the sum of all brokers."""

    def has_room(each: PlacementProblem) -> bool:
        room = math.fsum(broker.room_per_s for broker in each.brokers)
        return room >= float(each.loads().sum())

    return other if has_room(other) and not has_room(problem) else problem


def fits(problem: PlacementProblem, at: int) -> bool:
    """Return whether enough was measured at a broker, and of somebody, to fit its speed."""
    measured = problem.measured.get(at)
    if measured is None:
        return False
    overloaded = measured.misses(problem.contract.objectives) and by_processing(measured)
    if measured.processing.high_s is None and not overloaded:
        return False
    return bool((problem.publishers.today == at).any())


def _fitted_speed(problem: PlacementProblem, at: int, loads: Floats) -> float:
    """Return the speed with which the model says of today's publishers what was measured.

    A percentile that is too short for any gives a capacity beyond which speed no longer matters.
    One that a broker hardly faster than what it lets through would still keep gives that speed:
    messages are counted as they leave, and those of other topics are held up alike.
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
            expected = float(loads[problem.publishers.today == at].sum())
            through = rate + broker.allocated_rate_per_s * min(1.0, rate / expected)
            return through * (1.0 + LEAST_GAP)
    return math.exp(brentq(too_long, math.log(low), math.log(high), xtol=RESOLUTION))


def verdicts(problem: PlacementProblem, fit: PlacementProblem | None = None) -> dict[str, Any]:
    """Return what was measured beside what was predicted of it, as plain data (docs/formats.md,
    Explained placement); `fit`: the problem with the speeds fitted, None leaves them out."""
    before = fitted(replace(problem, measured={}, measured_of=None))
    today, objectives = problem.publishers.today, problem.contract.objectives
    served = today != NOWHERE
    counts = np.bincount(today[served], minlength=len(problem.brokers))
    carried = np.bincount(today[served], problem.loads()[served], len(problem.brokers))
    tokens = problem.contract.token_rate_per_s / (float(carried.sum()) or math.inf)
    as_it_is = option_of_today(before)
    rows = []
    for at, measured in sorted(problem.measured.items()):
        if not counts[at] or as_it_is is None:
            continue
        row = judged(
            problem.brokers[at].broker,
            measured,
            objectives,
            publishers=int(counts[at]),
            expected_rate_per_s=float(carried[at]),
            token_rate_per_s=tokens * float(carried[at]),
            predicted=as_it_is.by_broker[at],
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
    objectives: Objectives,
    *,
    publishers: int,
    expected_rate_per_s: float,
    token_rate_per_s: float,
    predicted: Delays,
) -> dict[str, Any]:
    """Return what was measured at one broker beside what was predicted, as plain data; without
    speeds, which take a fit."""
    delay, own = measured.delay, measured.processing
    verdict, rate_per_s = verdict_of(measured, objectives), measured.messages / measured.seconds
    missed_by = "processing" if by_processing(measured) else "tokens"
    if missed_by == "tokens" and rate_per_s >= SATURATED * token_rate_per_s:
        missed_by = "rate"
    return {
        "broker": broker,
        "publishers": publishers,
        "rate_per_s": rate_per_s,
        "expected_rate_per_s": expected_rate_per_s,
        "messages": measured.messages,
        "seconds": measured.seconds,
        "predicted_p99_s": predicted.p99_s,
        "predicted_mean_s": predicted.mean_s,
        "p99_s": delay.value_s,
        "low_s": delay.low_s,
        "high_s": delay.high_s,
        "processing_p99_s": own.value_s,
        "processing_low_s": own.low_s,
        "processing_high_s": own.high_s,
        "mean_s": measured.mean_s,
        "mean_low_s": measured.mean_low_s,
        "mean_high_s": measured.mean_high_s,
        "verdict": verdict,
        "cause": missed_by if verdict == "missed" else None,
        "speed_before_per_s": None,
        "speed_per_s": None,
        "fitted": None,
    }


def delays_of(row: Mapping[str, Any]) -> MeasuredDelays:
    """Return what was measured of a row that `judged` gave."""
    return MeasuredDelays(
        messages=row["messages"],
        seconds=row["seconds"],
        delay=Percentile(value_s=row["p99_s"], low_s=row["low_s"], high_s=row["high_s"]),
        processing=Percentile(
            value_s=row["processing_p99_s"],
            low_s=row["processing_low_s"],
            high_s=row["processing_high_s"],
        ),
        mean_s=row.get("mean_s"),
        mean_low_s=row.get("mean_low_s"),
        mean_high_s=row.get("mean_high_s"),
    )


def by_processing(measured: MeasuredDelays) -> bool:
    """Return whether most of the delay is processing, and not the wait for tokens."""
    return measured.processing.value_s >= measured.delay.value_s / 2.0


def verdict_of(measured: MeasuredDelays, objectives: Objectives) -> str | None:
    """Return what the intervals say of the objectives, of which all must be kept; None where there
    are none."""
    if not objectives:
        return None
    if measured.misses(objectives):
        return "missed"
    return "kept" if measured.keeps(objectives) else "inconclusive"


def meets_measured(each: list[Any], *, all_measured: bool) -> bool | None:
    """Return whether every broker that serves somebody keeps the objective, as far as is known."""
    if "missed" in each:
        return False
    kept = bool(each) and all(verdict == "kept" for verdict in each)
    return True if kept and all_measured else None


def search_rounds(
    problem: PlacementProblem, *, seed: int = 0, go_on: Callable[[], bool] = lambda: True
) -> int:
    """Return the rounds of measuring that the paper's procedure takes where brokers are as fast as
    this problem says: it starts by publish rates alone, and searches by halves; 0 where there is
    no objective.

    Once `go_on()` is False every broker counts as keeping the objective, so that it ends with as
    many rounds as it took until then.
    """
    if not problem.contract.objectives:
        return 0

    def ratio(at: int, here: Places) -> float:
        return ratio_at(problem, at, here) if go_on() else 1.0

    return searched_by_halves(by_rates_alone(problem), ratio, seed=seed).rounds


def by_rates_alone(problem: PlacementProblem) -> PlacementProblem:
    """Return the problem as it is before anything was measured, and nobody was placed."""
    publishers = replace(
        problem.publishers, today=np.full(len(problem.publishers.names), NOWHERE, dtype=np.int64)
    )
    brokers = tuple(replace(broker, speed_per_s=None) for broker in problem.brokers)
    return replace(problem, brokers=brokers, publishers=publishers, measured={}, measured_of=None)


def choice(
    problem: PlacementProblem,
    curve: list[Option],
    *,
    stay: bool,
    seed: int,
    go_on: Callable[[], bool] = lambda: True,
) -> Option | None:
    """Return which placement to take: the one with the fewest moves, one of the curve, or one whose
    brokers have unequal parts.

    Where something was measured it is the first that keeps WITHIN of the objective at every broker;
    else, and where none does, the first that keeps the objective over all messages, or the
    best. `problem` has the speeds fitted. Once `go_on()` is False no unequal parts are looked for.
    """
    objectives = problem.contract.objectives
    kept = option_with_needed_moves(problem, seed=seed) if stay else None
    learned = bool(problem.measured) or any(b.speed_per_s is not None for b in problem.brokers)
    if objectives and learned:
        for each in [*([] if kept is None else [kept]), *curve]:
            if _keeps_everywhere(problem, each):
                return each
        unequal = _unequal(problem, stay=stay, seed=seed, go_on=go_on)
        if unequal is not None and _keeps_everywhere(problem, unequal):
            return unequal
    return kept if kept is not None and kept.keeps(objectives) else best(curve, objectives)


def _unequal(
    problem: PlacementProblem, *, stay: bool, seed: int, go_on: Callable[[], bool]
) -> Option | None:
    """Return the placement in which each broker serves as many as the model lets it; None where
    some are left over, or it is enough."""
    enough = False

    def can_serve(at: int, here: Places) -> int:
        nonlocal enough

        def keeps(count: int) -> bool:
            return ratio_at(problem, at, here[:count]) <= WITHIN

        enough = enough or not go_on()
        if enough or keeps(len(here)):
            return len(here)
        low, high = 0, len(here)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if keeps(middle) else (low, middle)
        return low

    if not go_on():
        return None
    placement, _ = placed_in_rounds(problem, can_serve, seed=seed)
    if enough or not placement.complete:
        return None
    places = placement.broker_of
    if stay:
        places = with_fewest_moves(problem, places)
    return option(problem, tuple(np.unique(places).tolist()), places)


def _keeps_everywhere(problem: PlacementProblem, each: Option) -> bool:
    """Return whether each broker keeps WITHIN of the objectives, or was measured to keep them with
    those whom it has; none gets as much as it was measured to miss one with."""
    objectives = problem.contract.objectives
    if not each.fits:
        return False
    loads, today = problem.loads(), problem.publishers.today
    for at, delays in each.by_broker.items():
        here, measured = each.places == at, problem.measured.get(at)
        if measured is not None:
            before = today == at
            most = float(loads[before].sum())
            if measured.misses(objectives) and float(loads[here].sum()) >= most:
                return False
            kept = measured.is_bounded(objectives) and measured.ratio(objectives) <= 1.0
            if kept and bool((here == before).all()):
                continue
        if delays.ratio(objectives) > WITHIN:
            return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Round:
    """One placement in force, and what was measured of it."""

    problem: PlacementProblem
    """With the placement as that of today, what is known of its brokers, and speeds as before."""
    fit: PlacementProblem
    """The same with the speeds that the measurements show."""
    measured_now: tuple[int, ...]
    """The brokers whose publishers changed; of the others the former measurements hold."""
    seconds: float
    """For which the slowest of them was measured."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """The rounds of placing and measuring, the last of which ended them."""

    rounds: tuple[Round, ...]
    kept: bool
    """Every broker of the last round keeps the objective."""

    @property
    def seconds(self) -> float:
        """Return for how long was measured."""
        return math.fsum(each.seconds for each in self.rounds)


@dataclass(slots=True, kw_only=True)
class _Tried:
    """What a broker was measured to keep the objective with, and to miss it with, per second."""

    kept: float = 0.0
    missed: float = math.inf
    misses: int = 0

    def note(self, load: float, *, kept: bool) -> None:
        if kept:
            self.kept = max(self.kept, load)
        else:
            self.misses += 1
            self.missed = min(self.missed, load)
            if self.kept >= self.missed:
                self.kept = 0.0

    def most(self, least: float) -> float:
        """Return what it may be given: less than it missed with, by half of the least publisher at
        least. One that missed twice was judged wrongly twice: it searches by halves."""
        below = self.missed - least / 2.0
        return below if self.misses < 2 else min(below, (self.kept + self.missed) / 2.0)


def profile(
    problem: PlacementProblem,
    measure: Callable[[PlacementProblem, int], MeasuredDelays],
    *,
    most_rounds: int = MOST_ROUNDS,
    seed: int = 0,
) -> Profile:
    """Return the rounds of placing by what is known and measuring each broker whose publishers
    changed, until all keep the objective, or no placement is left that could.

    `measure(problem, broker)` says what messages took there with today's publishers of the problem.
    Where an interval leaves the answer open, the measured delay itself is taken. Raises
    ValueError for a problem without an objective.
    """
    objectives = problem.contract.objectives
    if not objectives:
        raise ValueError("without an objective nothing is kept or missed")
    loads = problem.loads()
    tried = [_Tried() for _ in problem.brokers]
    rounds: list[Round] = []
    known = problem
    while len(rounds) < most_rounds:
        fit = fitted(known)
        least = float(loads.min())
        bounded = roomier(_bounded(fit, tried, least), _bounded(_with_speeds(known), tried, least))
        curve = options(bounded, seed=seed)
        chosen = choice(bounded, curve, stay=True, seed=seed)
        if chosen is None or not chosen.fits:
            break
        places, before = chosen.places, known.publishers.today
        now = [
            at
            for at in np.unique(places).tolist()
            if at not in known.measured or ((places == at) != (before == at)).any()
        ]
        in_force = replace(fit, publishers=replace(problem.publishers, today=places), measured={})
        measured = {
            at: measure(in_force, at) if at in now else known.measured[at]
            for at in np.unique(places).tolist()
        }
        for at in now:
            load = float(loads[places == at].sum())
            tried[at].note(load, kept=measured[at].ratio(objectives) <= 1.0)
        in_force = replace(in_force, measured=measured)
        known = _with_speeds(replace(known, publishers=in_force.publishers, measured=measured))
        rounds.append(
            Round(
                problem=in_force,
                fit=fitted(known),
                measured_now=tuple(now),
                seconds=max(measured[at].seconds for at in now),
            )
        )
        if all(each.ratio(objectives) <= 1.0 for each in measured.values()):
            return Profile(rounds=tuple(rounds), kept=True)
    return Profile(rounds=tuple(rounds), kept=False)


def _with_speeds(problem: PlacementProblem) -> PlacementProblem:
    """Return the problem with the speeds of those brokers alone that were measured, now or before:
    what is inferred of the others changes with each of them."""
    fit = fitted(problem)
    brokers = tuple(
        replace(broker, speed_per_s=fit.brokers[at].speed_per_s) if fits(problem, at) else broker
        for at, broker in enumerate(problem.brokers)
    )
    return replace(problem, brokers=brokers)


def _bounded(problem: PlacementProblem, tried: Sequence[_Tried], least: float) -> PlacementProblem:
    """Return the problem in which no broker has room for as much as it missed with."""

    def bounded(broker: BrokerRoom, most_per_s: float) -> BrokerRoom:
        most = min(broker.max_rate_per_s, broker.allocated_rate_per_s + most_per_s)
        return replace(broker, max_rate_per_s=most, speed_per_s=broker.processes_per_s)

    brokers = tuple(
        bounded(broker, each.most(least)) if each.misses else broker
        for broker, each in zip(problem.brokers, tried, strict=True)
    )
    return replace(problem, brokers=brokers)
