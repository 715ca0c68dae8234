r"""The delay of messages at a broker whose token bucket they pass first: wait and processing.

A broker that takes mu messages per second is a queue with one server, which needs 1/mu for each,
whoever sent it: a message of the topic is through after (V + 1) / mu, where V is the work ahead of
it. Batches of the topic and messages of others come at random. Before that it waited D for tokens
(`weir.queueing.bucket_delay`). This is the model of a broker that SRTM's measurements
(sections 3 and 6.1) show the shape of: few brokers wait for processing, many for tokens.

D and V are taken for independent, and V for what it is without the bucket. But a bucket that holds
messages back makes what reaches the broker smoother: the sum here is too large, by about a fifth
where both are nearly full and little elsewhere (tests/weir/queueing/test_broker_delay.py). What a
broker does in truth is for measurements to say.

The distribution of the sum is computed on a grid of `CELLS` cells, which leaves 0.2 % of doubt in a
quantile.

Rates are messages per second, delays seconds.

Reference: C. Li, J. Liu, C. Lu, R. Guerin, C. D. Gill. Impact of distributed rate limiting on load
distribution in a latency-sensitive messaging service (SRTM).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.errors import InvalidProblem
from weir.queueing.poisson_work import PoissonWork

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from weir.queueing.bucket_delay import SubBucket
    from weir.queueing.work_ahead import WorkAhead

    Floats = NDArray[np.float64]

CELLS = 128
"""Cells between no delay and the longest that is looked at."""

MARGIN = 0.5
"""Of what may be late: each of two delays exceeds that quantile half as often as their sum may."""


MOST_LEVELS = 256
"""Batches of others of which the largest batch consists, at most, where it can be divided."""

LEAST = 1e-300
NEARLY_ALIKE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Processing:
    """What a broker's queue does to the messages of one topic."""

    max_rate_per_s: float
    work: WorkAhead
    """Ahead of messages of the topic."""

    def late(self, probability: float) -> Tail:
        """Return the share of messages that take longer than a delay, to well beyond that
        quantile."""
        end = self.quantile_s(1.0 - MARGIN * (1.0 - probability))
        delays = np.linspace(0.0, end, CELLS + 1)
        return Tail(delays_s=delays, late=self.tails(delays))

    def tails(self, delays_s: Floats) -> Floats:
        """Return the share of the topic's messages that take longer than each delay."""
        ahead = delays_s * self.max_rate_per_s - 1.0
        out = np.ones(len(ahead))
        # A message takes its own processing at least.
        late = ahead >= 0.0
        out[late] = self.work.tails(ahead[late])
        return out

    def quantile_s(self, probability: float) -> float:
        """Return the delay that at most 1 - `probability` of the messages exceed."""
        return (self.work.quantile(probability) + 1.0) / self.max_rate_per_s

    def mean_s(self) -> float:
        """Return the mean delay."""
        return (self.work.mean + 1.0) / self.max_rate_per_s

    def mean_within(self, delay_s: float) -> float:
        """Return the share that takes longer than a delay, averaged from no delay to this one."""
        messages = delay_s * self.max_rate_per_s
        return (self.work.mean + 1.0 - self.work.excess_mean(messages - 1.0)) / messages


def processing(
    *, max_rate_per_s: float, others_per_s: float, batches_per_s: Mapping[int, float]
) -> Processing:
    """Return the queue of a broker that others and batches of a topic, by size, reach at random.

    Raises InvalidProblem where that is as much as the broker takes, or more.
    """
    sent = others_per_s + math.fsum(size * rate for size, rate in batches_per_s.items())
    if not sent < max_rate_per_s < math.inf:
        raise InvalidProblem("max_rate_per_s", f"must be more than the {sent:g} msg/s that come")
    mixed = dict(batches_per_s)
    if others_per_s > 0:
        size = batch_of_others(mixed)
        mixed[size] = mixed.get(size, 0.0) + others_per_s / size
    work = PoissonWork(sent / max_rate_per_s, mixed, of=batches_per_s)
    return Processing(max_rate_per_s=max_rate_per_s, work=work)


def batch_of_others(sizes: Collection[int]) -> int:
    """Return how many messages others send at a time beside batches of these sizes.

    One, but beside very large batches the fewest that divide all of them and leave few levels.
    """
    divisor = math.gcd(*sizes)
    least = math.ceil(max(sizes) / MOST_LEVELS)
    return next((each for each in range(least, divisor) if divisor % each == 0), divisor)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDelay:
    """A broker's bucket with the queue behind it."""

    bucket: SubBucket
    processing: Processing

    def mean_s(self) -> float:
        """Return the mean of the sum."""
        return self.bucket.mean_s() + self.processing.mean_s()

    def late(self, probability: float) -> Tail:
        """Return the share of messages whose sum exceeds a delay, to well beyond that quantile."""
        bucket = self.bucket
        longest = 1.0 - MARGIN * (1.0 - probability)
        end = bucket.quantile_s(longest) + self.processing.quantile_s(longest)
        delays = np.linspace(0.0, end, CELLS + 1)
        waits = bucket.work.tails(bucket.size - 1.0 + bucket.rate_per_s * delays)
        takes = self.processing.tails(delays)
        # Waits are taken to be spread evenly within a cell, so that the mean over a cell counts.
        # Within the first one the share that takes longer may fall from all to none.
        taking = (takes[:-1] + takes[1:]) / 2.0
        taking[0] = self.processing.mean_within(float(delays[1]))
        within = waits[:-1] - waits[1:]
        out = waits + (1.0 - waits[0]) * takes
        out[1:] += np.convolve(within, taking)[: len(within)]
        return Tail(delays_s=delays, late=np.minimum(out, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tail:
    """The share of messages that take longer than each of some delays, the first of them 0."""

    delays_s: Floats
    late: Floats

    def at(self, delays_s: Floats) -> Floats:
        """Return the share beyond other delays: straight in the logarithm between those known and
        beyond the last, where tails are exponential."""
        logs = np.log(np.maximum(self.late, LEAST))
        out = np.interp(delays_s, self.delays_s, logs)
        fall = (logs[-1] - logs[-2]) / (self.delays_s[-1] - self.delays_s[-2])
        beyond = np.maximum(delays_s - self.delays_s[-1], 0.0)
        return np.asarray(np.exp(out + fall * beyond))

    def quantile_s(self, probability: float) -> float:
        """Return the delay that at most 1 - `probability` of the messages exceed."""
        allowed = 1.0 - probability
        at = int(np.argmax(self.late <= allowed))
        if self.late[at] > allowed:
            return float(self.delays_s[-1])
        if at == 0:
            return float(self.delays_s[0])
        above, below = float(self.late[at - 1]), max(float(self.late[at]), LEAST)
        share = math.log(above / allowed) / math.log(above / below)
        low, high = self.delays_s[at - 1], self.delays_s[at]
        return float(low + share * (high - low))


def mixed_quantile_s(tails: Sequence[Tail], rates: Sequence[float], probability: float) -> float:
    """Return the quantile of the messages of several brokers, which come at these rates."""
    each = [tail.quantile_s(probability) for tail in tails]
    low, high = min(each), max(each)
    if high - low <= NEARLY_ALIKE * high:
        return high
    delays = np.linspace(0.0, high, 2 * CELLS + 1)
    whole = math.fsum(rates)
    late = np.zeros(len(delays))
    for tail, rate in zip(tails, rates, strict=True):
        late += rate / whole * tail.at(delays)
    return Tail(delays_s=delays, late=late).quantile_s(probability)
