r"""Token buckets over traces: what each message of a recorded stream would have waited.

Message i came at t_i. The work ahead of it, in messages, is

    U_i = max_(j <= i) (X_i - X_j) = X_i - min_(j <= i) X_j,   X_i = i - r (t_i - t_0),

and it waits (U_i - (b - 1))+ / r (SRTM, equation (2)). U does not depend on b: the smallest bucket
that delays at most a share of the messages is an order statistic of U, so that nothing is searched.
The minimum is all that one part of a trace needs to know of those before it: X is computed from the
message's place in the whole trace, and every partition of the trace gives the same numbers, to the
last digit.

Rounding: X is one multiplication and one subtraction away from its inputs; over a trace of a day at
10,000 messages a second U is exact to about 1e-7 messages.

Percentiles of a trace are estimates: neighbours are correlated, so that a million messages may
say as much as a hundred independent ones. `quantile_of` gives an interval, or says that the trace
is too short: the share of late messages is averaged over equal stretches, its variance among them
(batch means) gives how many independent messages the trace is worth, and the ranks that this many
leave open are the interval. The stretches must themselves be independent of each other; where
neighbours among them still correlate, or less than TAIL_EVENTS independent late messages were
seen, the answer is inconclusive: measure longer.

Reference: G. S. Fishman. Discrete-event simulation: modeling, programming, and analysis. Springer
2001, chapter 6 (batch means).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from weir.compiled import compiled
from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

STRETCHES = 32
"""Equal parts of a trace whose means are compared."""

TAIL_EVENTS = 20.0
"""Independent late messages that a percentile needs at least. With 10 one short trace in three at a
utilisation of 0.9 was taken for conclusive because it had happened to see no long busy period."""

MOST_CORRELATION = 0.4
"""Between neighbouring stretches: above it they are too short. Of independent ones 2 % are."""

ALIKE = 1e-9
"""Of a mean: values that differ by less differ by rounding alone."""


@compiled
def work_before(times: Any, rate: float, start: float, first: int, low: float, out: Any) -> float:
    """Fill `out` with U of the messages `first`, `first` + 1, ...; return the new minimum of X."""
    for at in range(len(times)):
        x = (first + at) - rate * (times[at] - start)
        low = min(low, x)
        out[at] = x - low
    return low


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceState:
    """What a part of a trace needs to know of the parts before it."""

    start_s: float
    """When the first message of the whole trace came."""
    messages: int = 0
    lowest: float = math.inf
    """The minimum of X so far, in messages."""
    last_s: float = -math.inf
    """When the latest message came."""


def work_over(
    times_s: ArrayLike, rate_per_s: float, state: TraceState | None = None
) -> tuple[Floats, TraceState]:
    """Return U of each message, in messages, and the state for the next part of the trace.

    `times_s` rise or stay. Raises InvalidProblem naming what does not fit.
    """
    try:
        times = np.ascontiguousarray(times_s, dtype=float)
    except (TypeError, ValueError):
        raise InvalidProblem("times_s", "must be a list of numbers") from None
    if times.ndim != 1:
        raise InvalidProblem("times_s", "must be one list of numbers")
    if not 0 < rate_per_s < math.inf:
        raise InvalidProblem("rate_per_s", f"must be positive, not {rate_per_s:g}")
    if len(times) and not np.isfinite(times[[0, -1]]).all():
        raise InvalidProblem("times_s", "must be finite")
    if len(times) > 1 and not (times[1:] >= times[:-1]).all():
        at = int(np.argmin(times[1:] >= times[:-1])) + 1
        raise InvalidProblem(f"times_s[{at}]", "comes before its predecessor; sort the messages")
    work = np.empty(len(times))
    if not len(times):
        return work, state or TraceState(start_s=0.0)
    before = state or TraceState(start_s=float(times[0]))
    if times[0] < before.last_s:
        raise InvalidProblem("times_s[0]", "comes before the part of the trace before it")
    lowest = work_before(times, rate_per_s, before.start_s, before.messages, before.lowest, work)
    after = TraceState(
        start_s=before.start_s,
        messages=before.messages + len(times),
        lowest=float(lowest),
        last_s=float(times[-1]),
    )
    return work, after


def work_of_batches(times_s: Floats, counts: Ints, rate_per_s: float) -> Floats:
    """Return U of the first message of each batch of a whole trace: `counts[i]` messages came at
    `times_s[i]`, times rise or stay; the j-th of a batch has j - 1 more ahead of it.

    Raises InvalidProblem naming what does not fit.
    """
    if not 0 < rate_per_s < math.inf:
        raise InvalidProblem("rate_per_s", f"must be positive, not {rate_per_s:g}")
    if len(times_s) != len(counts):
        raise InvalidProblem("counts", f"must be {len(times_s):,}, one a time")
    if len(times_s) > 1 and not (times_s[1:] >= times_s[:-1]).all():
        raise InvalidProblem("times_s", "must rise or stay; sort the messages")
    start = times_s[0] if len(times_s) else 0.0
    x = (np.cumsum(counts) - counts) - rate_per_s * (times_s - start)
    work: Floats = x - np.minimum.accumulate(x)
    return work


def lowest_of(times_s: ArrayLike, rate_per_s: float, start_s: float, first: int) -> float:
    """Return the minimum of X over a part of a trace alone: parts are read side by side, then the
    running minimum of these gives each its state."""
    times = np.asarray(times_s, dtype=float)
    if not len(times):
        return math.inf
    # The same two roundings as in `work_before`, so that the numbers are the same.
    return float((np.arange(first, first + len(times)) - rate_per_s * (times - start_s)).min())


def delays_s(work: Floats, *, rate_per_s: float, size: float) -> Floats:
    """Return what each message waits in a bucket of this size, in seconds."""
    late: Floats = np.maximum(work - (size - 1.0), 0.0) / rate_per_s
    return late


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A percentile or mean of a trace with its interval."""

    value: float
    low: float
    high: float
    conclusive: bool
    """False: the trace is too short for this; measure longer."""
    independent: float
    """How many independent messages the trace is worth."""


class _Each:
    """Values in the order in which they came, by rank and by lateness."""

    def __init__(self, values: Floats) -> None:
        self._values, self._ordered = values, np.sort(values)
        self.count = len(values)

    def at(self, rank: int) -> float:
        """Return the value of this rank, from 0 on."""
        return float(self._ordered[rank])

    def late(self, rank: int) -> tuple[int, Floats]:
        """Return how many lie above the value of this rank, and their share of each stretch."""
        above = self._values > self._ordered[rank]
        return int(above.sum()), np.array(
            [part.mean() for part in np.array_split(above, STRETCHES)]
        )


class _Batches:
    """The same of batches: value i stands for `counts[i]` values, itself and those 1, 2, ... above
    it, which came one after the other. Takes room by batch, however many they hold."""

    def __init__(self, values: Floats, counts: Ints) -> None:
        # Whole and rest apart: places are then counted in whole numbers, without rounding.
        self._whole = np.floor(values).astype(np.int64)
        self._rest, self._counts = values - self._whole, counts
        self.count = int(counts.sum())
        places = np.concatenate([self._whole, self._whole + counts])
        order = np.argsort(places, kind="stable")
        opened = np.repeat(np.array([1, -1]), len(values))[order]
        self._places, self._open = places[order], np.cumsum(opened)
        self._below = np.concatenate([[0], np.cumsum(self._open[:-1] * np.diff(self._places))])

    def _parts_at(self, rank: int) -> tuple[int, float]:
        at = int(np.searchsorted(self._below, rank, side="right")) - 1
        steps, left = divmod(rank - int(self._below[at]), int(self._open[at]))
        whole = int(self._places[at]) + steps
        here = self._rest[(self._whole <= whole) & (whole < self._whole + self._counts)]
        return whole, float(np.partition(here, left)[left])

    def at(self, rank: int) -> float:
        """Return the value of this rank, from 0 on."""
        whole, rest = self._parts_at(rank)
        return whole + rest

    def late(self, rank: int) -> tuple[int, Floats]:
        """Return how many lie above the value of this rank, and their share of each stretch."""
        whole, rest = self._parts_at(rank)
        on_time = np.clip(whole - self._whole + (self._rest <= rest), 0, self._counts)
        late = self._counts - on_time
        ends, late_before = np.cumsum(self._counts), np.cumsum(late) - late
        sizes = [self.count // STRETCHES + (at < self.count % STRETCHES) for at in range(STRETCHES)]
        cuts = np.cumsum(sizes)
        batch = np.searchsorted(ends, cuts)
        # Of a batch that a cut goes through the late ones are the last.
        inside = cuts - (ends - self._counts)[batch] - on_time[batch]
        upto = late_before[batch] + np.maximum(inside, 0)
        shares: Floats = np.diff(upto, prepend=0) / np.maximum(sizes, 1)
        return int(late.sum()), shares


def quantile_of(
    values: Floats, probability: float, *, counts: Ints | None = None, confidence: float = 0.95
) -> Estimate:
    """Return the percentile of the values in the order in which they came.

    With `counts` value i stands for that many: itself and those 1, 2, ... above it, as the work
    ahead of messages that came at once. Raises InvalidProblem for no values or a probability
    outside (0, 1).
    """
    if not len(values):
        raise InvalidProblem("values", "must not be empty; measure longer")
    if not 0 < probability < 1:
        raise InvalidProblem("probability", "must lie between 0 and 1")
    if np.isnan(values).any():
        raise InvalidProblem("values", "must be numbers")
    if counts is not None and int(counts.min()) < 1:
        raise InvalidProblem("counts", "must be 1 at least")
    ranked = _Each(values) if counts is None else _Batches(values, counts)
    count = ranked.count
    # Rounding must not lift a whole number to the next.
    rank = min(max(math.ceil(probability * count - 1e-9), 1), count) - 1
    value, lowest, highest = ranked.at(rank), ranked.at(0), ranked.at(count - 1)
    late, means = ranked.late(rank) if count >= 2 * STRETCHES else (0, np.zeros(0))
    share = late / count
    if share == 0.0:
        # Nothing above it (a bucket that is always free), or too little to compare.
        independent = float(count) if highest == lowest else 0.0
        conclusive = independent * (1.0 - probability) >= TAIL_EVENTS
        return Estimate(
            value=value, low=lowest, high=highest, conclusive=conclusive, independent=independent
        )
    spread = float(means.var(ddof=1)) / STRETCHES
    independent = min(float(count), share * (1.0 - share) / spread) if spread > 0 else float(count)
    around = means - means.mean()
    together = float(around[1:] @ around[:-1] / max(float(around @ around), 1e-300))
    reach = float(stdtrit(STRETCHES - 1, 0.5 + confidence / 2.0))
    half = reach * math.sqrt(probability * (1.0 - probability) / independent)
    ranks = [math.floor((probability - half) * count), math.ceil((probability + half) * count)]
    low, high = (ranked.at(min(max(rank, 0), count - 1)) for rank in ranks)
    conclusive = (
        independent * (1.0 - probability) >= TAIL_EVENTS
        and probability + half < 1.0
        and together < MOST_CORRELATION
    )
    return Estimate(value=value, low=low, high=high, conclusive=conclusive, independent=independent)


def mean_of(values: Floats, *, confidence: float = 0.95) -> Estimate:
    """Return the mean of the values in the order in which they came: the means of equal stretches
    give its interval by Student's t.

    Where neighbouring stretches still correlate the interval is as much wider as that many
    correlated means say less, and inconclusive. Raises InvalidProblem for no values.
    """
    count = len(values)
    if not count:
        raise InvalidProblem("values", "must not be empty; measure longer")
    if np.isnan(values).any():
        raise InvalidProblem("values", "must be numbers")
    value, variance = float(values.mean()), float(values.var())
    alike = variance <= (ALIKE * value) ** 2
    if count < 2 * STRETCHES or alike:
        alike = alike and count >= 2 * STRETCHES
        # The mean of values that are all alike may be none of them, by rounding.
        low, high = min(value, float(values.min())), max(value, float(values.max()))
        independent = float(count) if alike else 0.0
        return Estimate(value=value, low=low, high=high, conclusive=alike, independent=independent)
    means = np.array([part.mean() for part in np.array_split(values, STRETCHES)])
    spread = float(means.var(ddof=1)) / STRETCHES
    around = means - means.mean()
    together = float(around[1:] @ around[:-1] / max(float(around @ around), 1e-300))
    conclusive = together < MOST_CORRELATION
    wider = 1.0 if conclusive else math.sqrt((1.0 + together) / (1.0 - together))
    reach = float(stdtrit(STRETCHES - 1, 0.5 + confidence / 2.0))
    half = reach * wider * math.sqrt(spread)
    independent = min(float(count), variance / spread) if spread > 0 else float(count)
    low, high = max(value - half, float(values.min())), value + half
    return Estimate(value=value, low=low, high=high, conclusive=conclusive, independent=independent)


def smallest_size(
    work: Floats, probability: float = 0.99, *, counts: Ints | None = None
) -> Estimate:
    """Return the smallest bucket in which at most 1 - `probability` of the messages wait; with
    `counts` the work is that of batches (`work_of_batches`)."""
    work_quantile = quantile_of(work, probability, counts=counts)
    return Estimate(
        value=1.0 + work_quantile.value,
        low=1.0 + work_quantile.low,
        high=1.0 + work_quantile.high,
        conclusive=work_quantile.conclusive,
        independent=work_quantile.independent,
    )
