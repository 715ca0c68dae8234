r"""Percentiles of waits out of bins, since the beginning or over the last minute.

A bin holds the waits in (q^i, q^(i+1)] with q = `RATIO`, so that a percentile is the upper edge of
its bin: never too short, and too long by the factor q at most (4.4 %). A percentile is never above
the longest wait, and a wait of 0 has no bin.

Messages that leave together and came one after the other fall into few bins, as logarithms are
flat: `WaitWindow.count` finds the ends of those bins among the arrivals, so that it costs a few
microseconds a piece, however many messages that has.

Times are seconds of one monotonic clock. Pure Python, because agents have no numpy.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STEPS = 16
"""The number of bins between a wait and its double."""
RATIO = 2.0 ** (1 / STEPS)
SLICES = 12
SLICE_S = 5.0
WINDOW_S = SLICES * SLICE_S
"""A window holds the waits of the messages that left within this time, or one slice less."""


def bin_of(wait_s: float) -> int:
    """Return the bin of a wait, which must be positive."""
    return math.ceil(math.log2(wait_s) * STEPS) - 1


def upper_edge_s(bin_: int) -> float:
    """Return the longest wait of a bin."""
    return float(2.0 ** ((bin_ + 1) / STEPS))


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

    def count(self, now: float, arrived_at: Sequence[float]) -> None:
        """Count messages that leave now; `arrived_at` rises."""
        count = len(arrived_at)
        if not count:
            return
        slice_ = self._slice(now)
        slice_.messages += count
        first, bins = 0, slice_.bins
        while first < count:
            wait_s = now - arrived_at[first]
            if wait_s <= 0.0:
                break
            if wait_s > slice_.longest_s:
                slice_.longest_s = wait_s
            bin_ = bin_of(wait_s)
            # The messages of one bin at a time, one of them at least, whatever rounding says.
            end = now - upper_edge_s(bin_ - 1)
            last = arrived_at[-1]
            after = count if last < end else bisect_left(arrived_at, end, first + 1, count)
            bins[bin_] += after - first
            self._bins[bin_] += after - first
            first = after
        if first == count and arrived_at[0] == arrived_at[-1]:
            slice_.total_s += count * (now - arrived_at[0])
        else:
            slice_.total_s += first * now - math.fsum(arrived_at[:first])

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
