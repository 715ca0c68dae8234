r"""The delay of messages in a token bucket, and what splitting the bucket over brokers costs.

A topic may send r messages per second and b at once. Where k brokers enforce it, broker l keeps a
bucket (r_l, b_l), and sum r_l = r, sum b_l = b, so that the contract holds however messages arrive.
A message at broker l waits (V_l - (b_l - 1))+ / r_l, where V_l is the work ahead of it
(`weir.queueing.work_ahead`).

What the paper says and what holds beyond it (SRTM, section 2.1, appendix A):

- Proposition 1: a split never lowers the *sum* of delays. It says nothing of percentiles, and a
  split may lower the 99th (tests/weir/queueing/test_bucket_delay.py has one that does).
- An equal split into k at equal utilisation leaves V as it is. With b0 the smallest bucket whose
  99th
  percentile is 0, a bucket of b0 split equally into k has a 99th percentile of exactly
  (k - 1) b0 / r, whatever the batches: `smallest_free_size`, `free_split_penalty_s`.
- Buckets stay free only if each keeps b0: k brokers need k b0.
- A share below one token: a waiting message must be let collect a whole token, else nothing ever
  passes. The formula above says what it waits, b_l < 1 included.

Rates are messages per second, delays seconds, sizes messages.

Reference: C. Li, J. Liu, C. Lu, R. Guerin, C. D. Gill. Impact of distributed rate limiting on load
distribution in a latency-sensitive messaging service (SRTM).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weir.queueing.work_ahead import WorkAhead

HALVINGS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SubBucket:
    """One broker's part of a token bucket, with what arrives there."""

    rate_per_s: float
    """Tokens that flow in per second."""
    size: float
    """Tokens that it holds; may be below 1."""
    messages_per_s: float
    work: WorkAhead

    def __post_init__(self) -> None:
        if not 0 < self.rate_per_s < math.inf:
            raise InvalidProblem("rate_per_s", f"must be positive, not {self.rate_per_s:g}")
        if not 0 <= self.size < math.inf:
            raise InvalidProblem("size", f"must not be negative, but is {self.size:g}")

    def tail(self, delay_s: float) -> float:
        """Return the share of messages that wait longer than `delay_s`."""
        return self.work.tail(self.size - 1.0 + self.rate_per_s * delay_s)

    def mean_s(self) -> float:
        """Return the mean delay: (1/r) E[(V - (b - 1))+]."""
        return self.work.excess_mean(self.size - 1.0) / self.rate_per_s

    def quantile_s(self, probability: float) -> float:
        """Return the delay that at most 1 - `probability` of the messages exceed."""
        late = self.work.quantile(probability) - (self.size - 1.0)
        return max(0.0, late) / self.rate_per_s


def split_tail(parts: Sequence[SubBucket], delay_s: float) -> float:
    """Return the share of all messages that wait longer than `delay_s`."""
    whole = math.fsum(part.messages_per_s for part in parts)
    return math.fsum(part.messages_per_s * part.tail(delay_s) for part in parts) / whole


def split_mean_s(parts: Sequence[SubBucket]) -> float:
    """Return the mean delay over all messages."""
    whole = math.fsum(part.messages_per_s for part in parts)
    return math.fsum(part.messages_per_s * part.mean_s() for part in parts) / whole


def split_quantile_s(parts: Sequence[SubBucket], probability: float) -> float:
    """Return the delay that at most 1 - `probability` of all messages exceed."""
    each = [part.quantile_s(probability) for part in parts]
    low, high = min(each), max(each)
    allowed = 1.0 - probability
    # Where every part keeps to it, all do; where every part misses it, all miss it.
    if split_tail(parts, low) <= allowed:
        return low
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if split_tail(parts, middle) > allowed:
            low = middle
        else:
            high = middle
    return high


def smallest_free_size(work: WorkAhead, probability: float = 0.99) -> float:
    """Return b0: the smallest bucket in which at most 1 - `probability` of the messages wait.

    It does not depend on the rate: of k equal parts at equal utilisation each needs it anew.
    """
    return 1.0 + work.quantile(probability)


def free_split_penalty_s(
    work: WorkAhead, *, rate_per_s: float, parts: int, probability: float = 0.99
) -> float:
    """Return (k - 1) b0 / r: the quantile of the delay once a bucket of b0 is split equally."""
    return (parts - 1) * smallest_free_size(work, probability) / rate_per_s
