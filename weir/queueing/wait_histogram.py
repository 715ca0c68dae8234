r"""Percentiles of waits out of bins, over the last minute or since a moment, with their interval.

A bin holds the waits in (q^i, q^(i+1)] with q = `RATIO`, so that a percentile is the upper edge of
its bin: never too short, and too long by the factor q at most (4.4 %). A percentile is never above
the longest wait, and a wait of 0 has no bin.

Messages that leave together and came one after the other fall into few bins, as logarithms are
flat: `Piece.of` finds the ends of those bins among the arrivals, so that it costs a few
microseconds a piece, however many messages that has.

`WaitRecord` gives the interval of a percentile as `weir.queueing.traces.quantile_of` does, without
the waits themselves: it holds the bins of stretches of equally many messages. There are never more
than `MOST_STRETCHES` of them, however long it is measured, because neighbours are merged in pairs
when they are that many. The share of late messages is averaged over them, its variance among them
(batch means) gives how many independent messages the record is worth, and the ranks that this many
leave open are the interval, from the lower edge of its lowest bin to the upper edge of its highest.
The mean is exact; the means of the stretches give its interval by Student's t. Of messages that
leave together and end a stretch the bins say how the sum of their waits is divided.

Times are seconds of one monotonic clock. Pure Python, because agents have no numpy.

Reference: G. S. Fishman. Discrete-event simulation: modeling, programming, and analysis. Springer
2001, chapter 6 (batch means).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, deque
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STEPS = 16
"""The number of bins between a wait and its double."""
RATIO = 2.0 ** (1 / STEPS)
SLICES = 12
SLICE_S = 5.0
WINDOW_S = SLICES * SLICE_S
"""A window holds the waits of the messages that left within this time, or one slice less."""

FIRST_STRETCH = 64
"""The number of messages of a stretch at first."""
LEAST_STRETCHES = 16
"""Full stretches without which there is no interval."""
MOST_STRETCHES = 32
"""When as many are full they are merged in pairs."""
TAIL_EVENTS = 20.0
MOST_CORRELATION = 0.4
"""What makes a percentile conclusive in `weir.queueing.traces`, which needs numpy."""
ALIKE = 1e-9
"""Of a mean: stretches that differ by less differ by rounding alone."""
_NORMAL = 1.959963984540054
"""What 2.5 % of normal deviates exceed."""


def bin_of(wait_s: float) -> int:
    """Return the bin of a wait, which must be positive."""
    return math.ceil(math.log2(wait_s) * STEPS) - 1


def upper_edge_s(bin_: int) -> float:
    """Return the longest wait of a bin."""
    return float(2.0 ** ((bin_ + 1) / STEPS))


SHORTEST_S, LONGEST_S = 1e-9, 1e6
LOWEST, HIGHEST = bin_of(SHORTEST_S), bin_of(LONGEST_S)
"""The bins of histograms that merge with others: what lasted less, or nothing at all, is in the
first, and what lasted longer in the last."""
ROUNDING = 1e-6
"""By which share the edge that a bucket names may be longer than it is: floats of 32 bits round by
a tenth of that."""


def quantile_s(
    bins: Mapping[int, int], *, probability: float, messages: int, longest_s: float
) -> float:
    """Return a wait that at most 1 - `probability` of the `messages` exceeded; those that are in no
    bin did not wait."""
    allowed = (1.0 - probability) * messages
    late = 0
    for bin_ in sorted(bins, reverse=True):
        late += bins[bin_]
        if late > allowed:
            return min(upper_edge_s(bin_), longest_s)
    return 0.0


class Piece(NamedTuple):
    """The waits of messages that leave at the same moment."""

    messages: int
    bins: Sequence[tuple[int, int]]
    """Bin and number of the messages that waited, in the order in which they came."""
    total_s: float
    longest_s: float

    @classmethod
    def of(cls, now: float, since: Sequence[float]) -> Piece:
        """The waits of messages that leave now and waited `since`, which rises."""
        count = len(since)
        if not count:
            return NOTHING
        longest_s = now - since[0]
        last = since[-1]
        if longest_s <= 0.0:
            return cls(count, (), 0.0, 0.0)
        if since[0] == last:
            return cls(count, ((bin_of(longest_s), count),), count * longest_s, longest_s)
        first, bins = 0, []
        while first < count:
            wait_s = now - since[first]
            if wait_s <= 0.0:
                break
            bin_ = bin_of(wait_s)
            # The messages of one bin at a time, one of them at least, whatever rounding says.
            end = now - upper_edge_s(bin_ - 1)
            after = count if last < end else bisect_left(since, end, first + 1, count)
            bins.append((bin_, after - first))
            first = after
        return cls(count, bins, first * now - math.fsum(since[:first]), longest_s)


NOTHING = Piece(0, (), 0.0, 0.0)


class _Slice:
    """The waits of the messages that left within one slice of time."""

    __slots__ = ("bins", "longest_s", "messages", "number", "total_s")

    def __init__(self, number: int) -> None:
        self.number = number
        self.bins: Counter[int] = Counter()
        self.messages = 0
        self.total_s = 0.0
        self.longest_s = 0.0


class WaitWindow:
    """How long messages waited that left within the last `WINDOW_S`. Not thread-safe."""

    def __init__(self) -> None:
        self._slices: deque[_Slice] = deque()
        self._bins: Counter[int] = Counter()
        """The sum of the bins of all slices."""

    def count(self, now: float, piece: Piece) -> None:
        """Count messages that leave now."""
        if not piece.messages:
            return
        slice_ = self._slice(now)
        slice_.messages += piece.messages
        slice_.total_s += piece.total_s
        slice_.longest_s = max(slice_.longest_s, piece.longest_s)
        bins = slice_.bins
        for bin_, messages in piece.bins:
            bins[bin_] += messages
            self._bins[bin_] += messages

    def messages(self, now: float) -> int:
        """Return how many messages left within the window."""
        self._forget(now)
        return sum(slice_.messages for slice_ in self._slices)

    def quantile_s(self, now: float, probability: float) -> float:
        """Return a wait that at most 1 - `probability` of the messages exceeded."""
        return quantile_s(
            self._bins,
            probability=probability,
            messages=self.messages(now),
            longest_s=self.longest_s(now),
        )

    def mean_s(self, now: float) -> float:
        """Return the mean wait, exactly; 0 where no message left."""
        messages = self.messages(now)
        return sum(slice_.total_s for slice_ in self._slices) / messages if messages else 0.0

    def longest_s(self, now: float) -> float:
        """Return the longest wait, exactly; 0 where no message left."""
        self._forget(now)
        return max((slice_.longest_s for slice_ in self._slices), default=0.0)

    def _slice(self, now: float) -> _Slice:
        number = math.floor(now / SLICE_S)
        if not self._slices or self._slices[-1].number < number:
            self._forget(now)
            self._slices.append(_Slice(number))
        return self._slices[-1]

    def _forget(self, now: float) -> None:
        """Forget the messages that left before the window."""
        oldest = math.floor(now / SLICE_S) - SLICES + 1
        while self._slices and self._slices[0].number < oldest:
            self._bins -= self._slices.popleft().bins  # leaves out what is 0 then


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A percentile of a record, with the waits between which it lies at 95 %."""

    value_s: float
    low_s: float
    """0 where nothing is known."""
    high_s: float | None
    """None: too little was measured to bound it, or what was measured still drifts."""
    independent: float
    """How many independent messages the record is worth."""


class WaitRecord:
    """How long messages waited, for as long as it is measured. Not thread-safe."""

    def __init__(self) -> None:
        self.messages = 0
        self.longest_s = 0.0
        self._total_s = 0.0
        self._bins: Counter[int] = Counter()
        """Of all messages."""
        self._stretches: list[Counter[int]] = []
        """The bins of each full stretch."""
        self._totals_s: list[float] = []
        """The sum of the waits of each."""
        self._length = FIRST_STRETCH
        self._current: Counter[int] = Counter()
        self._current_s = 0.0
        self._room = FIRST_STRETCH
        """The number of messages until the current stretch is full."""

    def count(self, piece: Piece) -> None:
        """Count messages that leave together."""
        self.messages += piece.messages
        self._total_s += piece.total_s
        self.longest_s = max(self.longest_s, piece.longest_s)
        idle = piece.messages
        if idle < self._room:
            for bin_, messages in piece.bins:
                self._bins[bin_] += messages
                self._current[bin_] += messages
            self._current_s += piece.total_s
            self._room -= idle
            return
        edges_s = math.fsum([messages * upper_edge_s(bin_) for bin_, messages in piece.bins])
        for bin_, messages in piece.bins:
            self._bins[bin_] += messages
            idle -= messages
            each_s = upper_edge_s(bin_) * piece.total_s / edges_s
            left = messages
            while left >= self._room:
                self._current[bin_] += self._room
                self._current_s += self._room * each_s
                left -= self._room
                self._end_stretch()
            if left:
                self._current[bin_] += left
                self._current_s += left * each_s
                self._room -= left
        while idle >= self._room:
            idle -= self._room
            self._end_stretch()
        self._room -= idle

    def mean_s(self) -> float:
        """Return the mean wait, exactly; 0 where no message left."""
        return self._total_s / self.messages if self.messages else 0.0

    def mean_ends_s(self) -> tuple[float, float | None]:
        """Return the waits between which the mean lies at 95 %: 0 where nothing is known, None
        where too little was measured to bound it, or what was measured still drifts."""
        number = len(self._totals_s)
        if number < LEAST_STRETCHES:
            return 0.0, None
        mean_s = self.mean_s()
        middle_s = math.fsum(self._totals_s) / number
        around = [total_s - middle_s for total_s in self._totals_s]
        squares = math.fsum([one * one for one in around])
        if squares <= number * (ALIKE * middle_s) ** 2:
            return mean_s, mean_s
        together = math.fsum([one * after for one, after in pairwise(around)]) / squares
        drifts = together >= MOST_CORRELATION
        # Stretches that still correlate say less than they seem to; the lower end must not.
        wider = (1.0 + together) / (1.0 - together) if drifts else 1.0
        spread_s = math.sqrt(wider * squares / (number - 1) / number) / self._length
        half_s = student_s_t(number - 1) * spread_s
        return max(0.0, mean_s - half_s), None if drifts else mean_s + half_s

    def quantile_s(self, probability: float) -> float:
        """Return a wait that at most 1 - `probability` of the messages exceeded."""
        return quantile_s(
            self._bins,
            probability=probability,
            messages=self.messages,
            longest_s=self.longest_s,
        )

    def interval(self, probability: float) -> Interval:
        """Return the percentile with its interval. Cost: some ten microseconds."""
        value_s = self.quantile_s(probability)
        number = len(self._stretches)
        if number < LEAST_STRETCHES:
            return Interval(value_s=value_s, low_s=0.0, high_s=None, independent=0.0)
        late = self._late(probability)
        total = sum(late)
        share = total / (number * self._length)
        # In whole numbers, so that stretches that are all alike are known for that.
        around = [number * count - total for count in late]
        squares = sum([one * one for one in around])
        independent, together = 0.0, 0.0
        if squares:
            spread = squares / (number * self._length) ** 2 / (number - 1) / number
            independent = min(float(self.messages), share * (1.0 - share) / spread)
            together = sum([one * after for one, after in pairwise(around)]) / squares
        else:
            # Stretches are all alike, or the late messages are one lump at the end.
            independent = float(self.messages if total else number)
        # Stretches that still correlate say less than they seem to; the lower end must not.
        drifts = together >= MOST_CORRELATION
        worth = independent * (1.0 - together) / (1.0 + together) if drifts else independent
        reach = student_s_t(number - 1)
        half = reach * math.sqrt(probability * (1.0 - probability) / worth) if worth else math.inf
        is_bounded = (
            not drifts
            and independent * (1.0 - probability) >= TAIL_EVENTS
            and probability + half < 1.0
        )
        return Interval(
            value_s=value_s,
            low_s=self._edges_s(probability - half)[0],
            high_s=self._edges_s(probability + half)[1] if is_bounded else None,
            independent=independent,
        )

    def _late(self, probability: float) -> list[int]:
        """Return how many messages of each stretch are late: beyond the bin of the percentile, or
        in it as well, whichever is nearer to 1 - `probability` of all messages."""
        allowed = (1.0 - probability) * self.messages
        beyond, above = 0, 0
        late: list[int] = []
        for bin_ in sorted(self._bins, reverse=True):
            above = beyond + self._bins[bin_]
            if above > allowed:
                # Of waits that are nearly alike the bin of the percentile holds most.
                if not beyond or above * beyond < allowed * allowed:
                    late.append(bin_)
                break
            late.append(bin_)
            beyond = above
        if not late:
            return [self._length] * len(self._stretches)  # nobody waited
        return [sum([bins[bin_] for bin_ in late]) for bins in self._stretches]

    def _edges_s(self, share: float) -> tuple[float, float]:
        """Return the edges of the bin that holds the wait of this rank, a share of all."""
        if share <= 0.0:
            return 0.0, 0.0
        # Never below a rank for the lower edge, never above one for the upper: an edge is wider.
        longer = (1.0 - min(share, 1.0)) * self.messages
        late = 0
        for bin_ in sorted(self._bins, reverse=True):
            late += self._bins[bin_]
            if late > longer:
                return upper_edge_s(bin_ - 1), min(upper_edge_s(bin_), self.longest_s)
        return 0.0, 0.0

    def _end_stretch(self) -> None:
        self._stretches.append(self._current)
        self._totals_s.append(self._current_s)
        self._current, self._current_s = Counter(), 0.0
        if len(self._stretches) == MOST_STRETCHES:
            for one, other in zip(self._stretches[::2], self._stretches[1::2], strict=True):
                one.update(other)
            self._stretches = self._stretches[::2]
            totals_s = self._totals_s
            self._totals_s = [a + b for a, b in zip(totals_s[::2], totals_s[1::2], strict=True)]
            self._length *= 2
        self._room = self._length


def student_s_t(freedom: int) -> float:
    """Return what 2.5 % of Student's t with `freedom` degrees exceed, to 0.1 % from 15 degrees on
    (Cornish-Fisher expansion)."""
    z = _NORMAL
    return (
        z
        + (z**3 + z) / (4.0 * freedom)
        + (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / (96.0 * freedom**2)
    )
