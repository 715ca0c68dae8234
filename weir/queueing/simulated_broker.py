r"""A broker in virtual time: what each message of a topic takes, by the law of queues it is given.

Batches of the topic come to a token bucket (r, b), and wait there for tokens one by one; behind it
one server takes 1/mu for each message, the topic's and those of others, in the order in which they
are let in. Unlike `weir.queueing.broker_delay` nothing is approximated here: the server sees what
the bucket lets through, senders may be periodic, messages of a batch may come one after the other,
and those of other topics may come in batches that take another time. It stands for a broker where
none runs, to try out what is done with measurements; what a broker does in truth is for
measurements to say.

Percentiles and means are estimates with intervals (`weir.queueing.traces`). Where a trace is too
short for one, or to say that an objective is missed, twice as long is measured, up to a limit.

Rates are messages per second, delays and times seconds. Cost: about 10 ns a message, others' too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from weir.compiled import compiled
from weir.errors import InvalidProblem
from weir.queueing.traces import Estimate, mean_of, quantile_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from weir.model.placement import Objectives

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

Arrivals = Literal["poisson", "periodic"]

PERCENTILE = 0.99

STARTS, WHO, OTHERS = range(3)
"""What a seed draws, each on its own, so that a longer time begins as a shorter one does."""


@compiled
def through_broker(
    times: Any,
    others: Any,
    token_rate: float,
    size: float,
    speed: float,
    others_speed: float,
    delays: Any,
    holds: Any,
) -> None:
    """Fill what each message takes from its arrival on, and how long the bucket holds it.

    `times` of the topic's messages and `others` rise; the server takes 1/`speed` for one of the
    topic, 1/`others_speed` for one of the others.
    """
    ahead, latest = 0.0, times[0] if len(times) else 0.0
    idle_from, other = -np.inf, 0
    for at in range(len(times)):
        ahead = max(0.0, ahead - token_rate * (times[at] - latest))
        latest = times[at]
        holds[at] = max(0.0, ahead - (size - 1.0)) / token_rate
        ahead += 1.0
        let_in = times[at] + holds[at]
        while other < len(others) and others[other] <= let_in:
            idle_from = max(idle_from, others[other]) + 1.0 / others_speed
            other += 1
        idle_from = max(idle_from, let_in) + 1.0 / speed
        delays[at] = idle_from - times[at]


class NothingSent(InvalidProblem):
    """A time in which nobody happens to send."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Senders:
    """Who sends to a broker on their own: publishers, and groups of them in lockstep."""

    batches: Counts
    """Messages that each sends at a time."""
    batches_per_s: Floats
    """How often each does."""
    phases: Floats | None = None
    """Where in its period each begins, from 0 to 1, if all are periodic; None: drawn anew."""
    offsets_s: Floats | None = None
    """How long after the beginning of a batch each of its messages comes, sender by sender; None:
    all come at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedBroker:
    """A broker of a true speed with a part of a topic's bucket."""

    speed_per_s: float
    others_per_s: float
    """Messages of other topics, in batches at random."""
    token_rate_per_s: float
    bucket: float
    others_batch: int = 1
    others_speed_per_s: float | None = None
    """How many of those it processes per second; None: as many as of the topic's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What the messages of a topic took at a simulated broker."""

    messages: int
    seconds: float
    delay: Estimate
    """Wait for tokens and processing."""
    processing: Estimate
    """Without the wait for tokens."""
    mean: Estimate
    """Of the delay."""
    processing_mean_s: float


def simulated(
    broker: SimulatedBroker,
    senders: Senders,
    *,
    seconds: float,
    seed: Sequence[int],
    arrivals: Arrivals = "poisson",
    objectives: Objectives | None = None,
    most_seconds: float | None = None,
) -> Simulated:
    """Return what messages took in so many seconds, or in as many as percentiles need, by doubling.

    A longer time continues the shorter one. `objectives`: measure on only where the delay is beyond
    one of them and the intervals leave open whether that is chance; None, or without any: until
    percentiles have intervals. `most_seconds`: no more than that, None: `seconds`. Raises
    InvalidProblem where nobody sends anything meanwhile.
    """
    most = seconds if most_seconds is None else most_seconds
    while True:
        delays, holds = delays_at(broker, senders, seconds=seconds, seed=seed, arrivals=arrivals)
        longest = 2.0 * seconds > most
        if len(delays):
            own = delays - holds
            delay, processing = quantile_of(delays, PERCENTILE), quantile_of(own, PERCENTILE)
            mean = mean_of(delays)
            if longest or _enough(delay, processing, mean, objectives):
                return Simulated(
                    messages=len(delays),
                    seconds=seconds,
                    delay=delay,
                    processing=processing,
                    mean=mean,
                    processing_mean_s=float(own.mean()),
                )
        elif longest:
            raise NothingSent("seconds", "nobody sends anything in this time; measure longer")
        seconds *= 2.0


def delays_at(
    broker: SimulatedBroker,
    senders: Senders,
    *,
    seconds: float,
    seed: Sequence[int],
    arrivals: Arrivals = "poisson",
) -> tuple[Floats, Floats]:
    """Return what each message takes that comes and leaves within so many seconds, in the order in
    which they come, and how long the bucket holds it of that. So agents count, too: of a broker
    that cannot follow they see as many messages as it processes."""
    times = message_times(senders, seconds, seed, arrivals)
    delays, holds = np.empty(len(times)), np.empty(len(times))
    others = at_random(
        broker.others_per_s / broker.others_batch, seconds, np.random.default_rng([*seed, OTHERS])
    )
    through_broker(
        times,
        np.repeat(others, broker.others_batch),
        broker.token_rate_per_s,
        broker.bucket,
        broker.speed_per_s,
        broker.others_speed_per_s or broker.speed_per_s,
        delays,
        holds,
    )
    has_left = times + delays <= seconds
    return delays[has_left], holds[has_left]


def _enough(
    delay: Estimate, processing: Estimate, mean: Estimate, objectives: Objectives | None
) -> bool:
    """Return whether the delay keeps all objectives, or misses one for sure; without any, whether
    both percentiles have intervals."""
    if not objectives:
        return delay.conclusive and processing.conclusive
    missed = any(
        target_s is not None and estimate.low > target_s
        for estimate, target_s in ((delay, objectives.p99_s), (mean, objectives.mean_s))
    )
    return bool(objectives.kept(delay.value, mean.value)) or (processing.conclusive and missed)


def message_times(
    senders: Senders, seconds: float, seed: Sequence[int], arrivals: Arrivals
) -> Floats:
    """Return when each message comes, in order; those of a batch come at the same moment, unless
    they have offsets. A longer time begins with the same messages."""
    starts, who = _batch_starts(senders, seconds, seed, arrivals)
    counts = senders.batches[who]
    times = np.repeat(starts, counts)
    if senders.offsets_s is None:
        return times
    firsts = np.cumsum(senders.batches) - senders.batches
    ends = np.cumsum(counts)
    nth = np.arange(len(times)) - np.repeat(ends - counts, counts)
    times += senders.offsets_s[np.repeat(firsts[who], counts) + nth]
    times.sort(kind="stable")
    return times[: int(np.searchsorted(times, seconds))]


def _batch_starts(
    senders: Senders, seconds: float, seed: Sequence[int], arrivals: Arrivals
) -> tuple[Floats, Counts]:
    """Return when batches begin, in order, and who sends each."""
    if not len(senders.batches):
        return np.empty(0), np.empty(0, dtype=np.int64)
    if arrivals == "periodic":
        periods = 1.0 / senders.batches_per_s
        phases = senders.phases
        if phases is None:
            phases = np.random.default_rng([*seed, STARTS]).uniform(0.0, 1.0, len(periods))
        first = phases * periods
        counts = np.maximum(np.ceil((seconds - first) / periods), 0.0).astype(np.int64)
        who = np.repeat(np.arange(len(periods)), counts)
        nth = np.arange(len(who)) - np.repeat(np.cumsum(counts) - counts, counts)
        starts = first[who] + nth * periods[who]
        order = np.argsort(starts, kind="stable")
        return starts[order], who[order]
    whole = float(senders.batches_per_s.sum())
    starts = at_random(whole, seconds, np.random.default_rng([*seed, STARTS]))
    if senders.offsets_s is None and int(np.ptp(senders.batches)) == 0:
        # It makes no difference who sends.
        return starts, np.zeros(len(starts), dtype=np.int64)
    # Who sends the next batch depends on nothing before it.
    drawn = np.random.default_rng([*seed, WHO]).uniform(0.0, 1.0, len(starts))
    count = len(senders.batches)
    if float(np.ptp(senders.batches_per_s)) == 0.0:
        return starts, (drawn * count).astype(np.int64)
    odds = np.cumsum(senders.batches_per_s) / whole
    return starts, np.minimum(np.searchsorted(odds, drawn, side="right"), count - 1)


def at_random(rate_per_s: float, seconds: float, rng: np.random.Generator) -> Floats:
    """Return the moments of a Poisson process, in order."""
    if rate_per_s <= 0.0:
        return np.empty(0)
    expected = rate_per_s * seconds
    # More than ever come in that time.
    gaps = rng.exponential(1.0 / rate_per_s, math.ceil(expected + 10.0 * math.sqrt(expected) + 40))
    times = np.cumsum(gaps)
    return times[: int(np.searchsorted(times, seconds))]
