r"""Token bucket: at most b + r t messages pass in every interval of t seconds.

| here | means |
|---|---|
| `rate_per_s` r | tokens that flow in per second; a message takes one |
| `burst` b | tokens that the bucket holds; at least 1 |

Assumptions: times are seconds of one monotonic clock, which the caller reads; a time before the
latest one seen counts as the latest. Messages are whole, so `take` counts in integers.

Exactness: the level is never updated by adding small amounts. It is computed from an anchor, the
moment at which the bucket was last full (or was changed): level = at anchor + r (now - anchor) -
messages since then. Rounding is that of one multiplication however many messages passed, so
the bound holds for intervals of any length, up to TOLERANCE of one message plus one part in 10^15
of the messages since the anchor.

A burst below 1 is refused: a bucket that never holds a whole token would never let anything
pass, and rounding it up to 1 would break the promise b + r t. The part of a bucket that is split
may be that small: then a message that waits is let collect one token (`collects`), so that it
waits (1 - b) / r although nobody was before it, as `weir.queueing.bucket_delay` has it, and at
most 1 + r t pass. A rate of 0 is allowed: what is in the bucket passes, then nothing.

The bucket can keep a rate only if the caller looks at it often enough: tokens that flow in while
the bucket is full are lost. A caller that wakes up to d seconds late needs a burst of r d more
than one message to keep the rate under overload.

Changing r and b keeps the level, cut to the new b: what passes in an interval is bounded by the
burst at its beginning plus the integral of the rate over it. Cost: O(1) per call.

Reference: ITU-T I.371 (2004), annex A: the continuous-state leaky bucket, of which this is the
counterpart.
"""

from __future__ import annotations

import math

from weir.errors import InvalidProblem
from weir.reading import number

TOLERANCE = 1e-9
"""Of one token: what rounding may lack for a message to pass at the time `wait_s` foretold."""

LEAST_BURST = 1.0


class TokenBucket:
    """One gate. Not thread-safe; one event loop owns it."""

    __slots__ = (
        *("_anchor_level", "_anchor_s", "_burst", "_collects", "_latest_s", "_rate", "_taken"),
        "_waits",
    )

    def __init__(
        self,
        *,
        rate_per_s: float,
        burst: float,
        now: float,
        level: float | None = None,
        collects: bool = False,
    ) -> None:
        """A bucket that is full at `now`, or holds `level` tokens (0 after a restart, so that
        the bound holds across it). Raises InvalidProblem naming the parameter."""
        self._collects = collects
        self._waits = False
        """Whether a message waits that is let collect a whole token."""
        self._rate, self._burst = self._checked(rate_per_s, burst)
        self._anchor_level = self._burst if level is None else min(float(level), self._burst)
        self._anchor_s = now
        self._latest_s = now
        self._taken = 0

    @property
    def rate_per_s(self) -> float:
        """Return the rate at which the bucket fills, in tokens per second."""
        return self._rate

    @property
    def burst(self) -> float:
        """Return the number of tokens that the full bucket holds."""
        return self._burst

    def level(self, now: float) -> float:
        """Tokens in the bucket; may lie below 0 by TOLERANCE."""
        now = self._clock(now)
        level = self._anchor_level + self._rate * (now - self._anchor_s) - self._taken
        full = max(1.0, self._burst) if self._waits else self._burst
        if level >= full:
            # Full: whatever was before no longer matters, so start to count anew.
            self._anchor_level, self._anchor_s, self._taken = full, now, 0
            return full
        return level

    def take(self, now: float, n: int = 1) -> int:
        """How many of `n` messages pass now, as many as there are tokens; 0 if none."""
        passed = min(n, math.floor(self.level(now) + TOLERANCE))
        if passed <= 0:
            self._waits = self._collects
            return 0
        self._waits = False
        self._taken += passed
        return passed

    def wait_s(self, now: float, n: int = 1) -> float:
        """Seconds from `now` until `n` messages could pass at once; inf if they never could."""
        now = self._clock(now)
        missing = n - self.level(now)
        if missing <= TOLERANCE:
            return 0.0
        most = max(1.0, self._burst) if self._collects else self._burst
        if self._rate == 0 or n > most + TOLERANCE:
            return math.inf
        return missing / self._rate

    def change(self, now: float, *, rate_per_s: float, burst: float) -> None:
        """New rate and burst from `now` on. Raises InvalidProblem naming the parameter."""
        rate_per_s, burst = self._checked(rate_per_s, burst)
        level = self.level(now)
        self._anchor_level, self._anchor_s, self._taken = min(level, burst), self._latest_s, 0
        self._rate, self._burst = rate_per_s, burst

    def _clock(self, now: float) -> float:
        self._latest_s = max(self._latest_s, now)
        return self._latest_s

    def _checked(self, rate_per_s: float, burst: float) -> tuple[float, float]:
        rate, bound = number(rate_per_s, "rate_per_s"), number(burst, "burst")
        for name, amount in (("rate_per_s", rate), ("burst", bound)):
            if amount < 0:
                raise InvalidProblem(name, f"must not be negative, but is {amount:g}")
        if bound < LEAST_BURST and not self._collects:
            raise InvalidProblem(
                "burst", "below 1 message: nothing would ever pass; give at least 1"
            )
        return rate, bound
