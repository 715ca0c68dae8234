"""The largest unfinished work at a token bucket: missing tokens, and messages that wait for one.

A message adds one, and tokens that flow in take away r per second while there is any:
V <- max(0, V - r dt) + 1 at each arrival (Lindley's recursion). That is what a queue that serves r
messages per second would hold, whatever the size of the bucket: b is as large as messages never
wait for if V never exceeds it. So parts of a split bucket get sizes in proportion to it.

| here | means |
|---|---|
| `rate_per_s` r | tokens that flow in per second |
| `size` b | tokens that the bucket holds |
| unread | messages that have arrived and that `count` has not seen yet |

A bucket that has grown is not yet as full as it may be; nobody has used these tokens, so they are
no work. Otherwise a part would seem to need what it was given, and get more again.

Exact for up to `BLOCKS` messages at a time; of more, no more than 1/`BLOCKS` of them wrong. Times
are seconds of one monotonic clock. Cost: at most `BLOCKS` steps for a batch, however large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCKS = 16


class UnfinishedWork:
    """The work ahead of one gate and its peak between readings. Not thread-safe."""

    __slots__ = ("_ahead", "_counts_of", "_latest_s", "_peak", "_rate", "_size")

    def __init__(self, *, rate_per_s: float, size: float, level: float, now: float) -> None:
        """Begin at `now` with a bucket that holds `level` of its `size` tokens."""
        self._rate, self._size = rate_per_s, size
        self._counts_of = size
        """Tokens below this level are missing: the least size since the bucket was last full."""
        self._ahead = self._peak = max(0.0, size - level)
        self._latest_s = now

    def count(self, arrived_at: Sequence[float]) -> None:
        """Count a message at each of these times, which rise. One that came before the bucket was
        changed counts as if it came then."""
        number = len(arrived_at)
        if not number:
            return
        span_s = arrived_at[-1] - max(arrived_at[0], self._latest_s)
        if self._rate * span_s < 1.0:
            # Less flows in meanwhile than the first one takes: the last one finds the most.
            ahead = self._at(arrived_at[0]) + number - self._rate * max(0.0, span_s)
            self._ahead, self._latest_s = ahead, max(arrived_at[-1], self._latest_s)
            if ahead > self._peak:
                self._peak = ahead
            return
        rate, ahead, latest, peak = self._rate, self._ahead, self._latest_s, self._peak
        done = 0
        for block in range(1, min(number, BLOCKS) + 1):
            end = number * block // min(number, BLOCKS)
            now = arrived_at[end - 1]
            if now > latest:
                ahead -= rate * (now - latest)
                if ahead < 0.0:
                    ahead = 0.0
                latest = now
            ahead += end - done
            done = end
            if ahead > peak:
                peak = ahead
        self._ahead, self._latest_s, self._peak = ahead, latest, peak

    def change(self, now: float, *, rate_per_s: float, size: float, level: float) -> None:
        """Go on with another rate and size; `level` is what the bucket holds before that."""
        self._ahead, self._latest_s = self._at(now), max(now, self._latest_s)
        self._counts_of = min(size, self._size if level >= self._size else self._counts_of)
        self._rate, self._size = rate_per_s, size

    def reading(self, now: float, *, level: float, read: int, unread: int) -> float:
        """Return the largest work since the last reading, and begin anew. `level` is what the
        bucket holds, `read` and `unread` are messages that wait."""
        if level >= self._size:
            self._counts_of = self._size
        missing = max(0.0, self._counts_of - level)
        # Messages that came before now may still be counted: only the peak begins anew.
        ahead = self._at(now)
        largest = max(self._peak, ahead + unread, missing + read + unread)
        self._peak = ahead
        return largest

    def _at(self, now: float) -> float:
        return max(0.0, self._ahead - self._rate * max(0.0, now - self._latest_s))
