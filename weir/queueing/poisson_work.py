r"""The work ahead of a message in a token bucket that batches of messages reach at random.

A token bucket (r, b) delays a message exactly when a queue with one server, which needs 1/r for
each message, holds more unfinished work than b - 1 (SRTM, section 2.1 and equation (2)). The delay
is (V - (b - 1))+ / r, where V is the work ahead of the message: what the queue held when its batch
came, and those of its batch that stand before it. Everything here is in messages, so that neither r
nor b occurs: V depends on the utilisation and on the batches alone.

| here | paper | means |
|---|---|---|
| `utilisation` | lambda / r | messages per second over tokens per second |
| `batches` g | batch size | probability of each size of a batch; batches come at random (Poisson) |
| U | U | unfinished work that a batch finds |
| V | U for batches of one | work ahead of a message; delayed where V > b - 1 |
| c, theta | | P(U > x) -> c e^(-theta x) |

The paper's equation (1) multiplies P(U > b - 1) by the mean delay of whoever waits in a plain
queue; that is exact at b = 1 alone. The exact mean is (1/r) E[(V - (b - 1))+], `excess_mean`
here.

Method. Let L be what the queue holds (`weir.queueing.batch_queue`). Franx's argument extends to
batches: with k = floor(x) + 1 and u = k - x,

    P(U > x) = P(arrivals in u + (L - 1)+ >= k),

a sum of positive terms. P(V > x) is its mean over the places of messages within their batches.

Cost: for batches of one some microseconds to set up and under a microsecond for a tail. Sizes
with a common divisor are divided by it first. Fails for a utilisation of 1 or more: nothing is
stationary there.

References:
    C. Li, J. Liu, C. Lu, R. Guerin, C. D. Gill. Impact of distributed rate limiting on load
    distribution in a latency-sensitive messaging service (SRTM), sections 2.1 and 6.2.
    G. J. Franx. A simple solution for the M/D/c waiting time distribution. Operations Research
    Letters 29(5), 2001. doi:10.1016/S0167-6377(01)00108-0
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weir.compiled import compiled
from weir.errors import InvalidProblem
from weir.queueing.batch_queue import (
    MOST_STEPS,
    Batches,
    arrivals,
    arrivals_within,
    batch_queue,
    reaching,
)
from weir.queueing.work_ahead import NODES, WEIGHTS, WorkAhead

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.queueing.work_ahead import Floats

MOST_PLACES = 512
"""Places within a batch up to which each is looked at."""

MOST_RESTS = 8
RESOLUTION = 4e-16


class PlacesInBatches(NamedTuple):
    """Places of messages within their batches, as kernels take them."""

    before: Any
    """Messages of the same batch before each place, sorted by their rest when divided by `unit`."""
    weights: Any
    """Share of the messages at each place."""
    unit: int
    """The common divisor of the sizes."""


@compiled
def level_excesses(queue: Any, whole: Any) -> Any:
    """Return E[(U - n)+] for n = 0, 1, ...; `whole`: `arrivals_within` one unit."""
    tails = queue.tails
    out = np.empty(len(tails))
    last = len(tails) - 1
    out[last] = tails[last] / queue.theta
    for n in range(last - 1, -1, -1):
        out[n] = out[n + 1] + reaching(whole, tails, n + 1)
    return out


@compiled
def ahead_tail(value: float, places: Any, queue: Any, within: Any) -> float:
    """Return P(V > value). Places whole units apart share what arrives within the rest of the
    unit, which is computed once for them, into `within`."""
    before, unit, tails = places.before, places.unit, queue.tails
    last = len(tails) - 1
    total = 0.0
    rest = -1
    ready = False
    for at in range(len(before)):
        units, own = before[at] // unit, before[at] % unit
        if own != rest:
            rest, ready = own, False
        start = (value - own) / unit
        k = math.floor(start) + 1
        x = start - units
        if x < 0.0:
            term = 1.0
        elif x >= last:
            term = tails[last] * math.exp(-queue.theta * (x - last))
        else:
            if not ready:
                arrivals(queue, k - start, within)
                ready = True
            term = reaching(within, tails, k - units)
        total += places.weights[at] * term
    return total


@compiled
def ahead_tail_alone(value: float, places: Any, queue: Any) -> float:
    """Return P(V > value) of a single value, without arrays to pass it in and out."""
    return ahead_tail(value, places, queue, np.empty(queue.counted))


@compiled
def ahead_excess(
    value: float, places: Any, queue: Any, excesses: Any, nodes: Any, weights: Any
) -> float:
    """Return E[(V - value)+] / unit: the integral of `ahead_tail`, term by term.

    `excesses`: of the levels; `nodes`, `weights`: how to integrate within one unit.
    """
    before, unit, tails = places.before, places.unit, queue.tails
    within, room = np.empty(queue.counted), np.empty(queue.counted)
    last = len(tails) - 1
    total = 0.0
    rest = -1
    ready = False
    for at in range(len(before)):
        units, own = before[at] // unit, before[at] % unit
        if own != rest:
            rest, ready = own, False
        start = (value - own) / unit
        k = math.floor(start) + 1
        x = start - units
        if x < 0.0:
            term = excesses[0] - x
        elif x >= last:
            term = tails[last] * math.exp(-queue.theta * (x - last)) / queue.theta
        else:
            if not ready:
                arrivals_within(queue, k - start, nodes, weights, room, within)
                ready = True
            term = reaching(within, tails, k - units) + excesses[k - units]
        total += places.weights[at] * term
    return total


@compiled
def ahead_tails(values: Any, places: Any, queue: Any, out: Any) -> None:
    """Fill `out` with `ahead_tail` of each value."""
    within = np.empty(queue.counted)
    for at in range(len(values)):
        out[at] = ahead_tail(values[at], places, queue, within)


@compiled
def ahead_quantile(allowed: float, low: float, high: float, places: Any, queue: Any) -> float:
    """Return where P(V > value) falls to `allowed` between `low`, above it, and `high`.

    By secants of the logarithm, which is nearly straight (the Illinois method); every third step
    halves, for the steps down at whole numbers.
    """
    within = np.empty(queue.counted)
    above, below = 0.0, 0.0
    raised = False
    for step in range(MOST_STEPS):
        if high - low <= RESOLUTION * high:
            break
        if step == 0:
            middle = low
        elif step == 1:
            middle = high
        elif above > 0.0 and below < 0.0 and step % 3 != 1:
            # A little beyond the secant, so that the other end comes near, too.
            middle = low + (high - low) * above / (above - below)
            middle += (high - low) * (1e-14 if raised else -1e-14)
        else:
            middle = 0.5 * (low + high)
        if step > 1 and not low < middle < high:
            middle = 0.5 * (low + high)
        tail = ahead_tail(middle, places, queue, within)
        if tail > allowed:
            below = below / 2.0 if raised and step > 1 else below
            low, above, raised = middle, math.log(tail / allowed), True
        elif tail > 0.0:
            above = above if raised or step < 2 else above / 2.0
            high, below, raised = middle, math.log(tail / allowed), False
        else:
            high, below, raised = middle, 0.0, False
    return high


def places_in_batches(kept: Mapping[int, float], mean: float, unit: int) -> PlacesInBatches:
    """Return places of messages within their batches, and the share of the messages at each.

    Of long batches only so many, each for its neighbours, too; sorted by their rest when divided
    by `unit`.
    """
    longest, ends = max(kept), sorted(kept)
    least = max(1, MOST_PLACES // len(ends) // 2)
    edges = [0]
    for low, high in pairwise([0, *ends]):
        pieces = min(high - low, max(least, MOST_PLACES * (high - low) // longest))
        edges += [low + (high - low) * piece // pieces for piece in range(1, pieces + 1)]
    first = np.array(edges)
    weights = np.zeros(len(edges) - 1)
    for size, share in kept.items():
        weights += share / mean * np.diff(np.minimum(first, size))
    places = (first[:-1] + first[1:] - 1) // 2
    if longest // unit > MOST_PLACES // MOST_RESTS and unit > MOST_RESTS:
        # Each rest costs a summation over all that may come: of many sizes few rests are kept.
        rests = places % unit * MOST_RESTS // unit
        places += (rests * unit + unit // 2) // MOST_RESTS - places % unit
    order = np.argsort(places % unit, kind="stable")
    return PlacesInBatches(before=places[order], weights=weights[order], unit=unit)


def shares_of(sizes: Mapping[int, float], path: str) -> dict[int, float]:
    """Return the sizes that occur with shares that add up to 1. Raises InvalidProblem."""
    if not sizes or any(size < 1 or share < 0 for size, share in sizes.items()):
        raise InvalidProblem(path, "must give sizes of at least 1 and no negative share")
    whole = math.fsum(sizes.values())
    if not 0 < whole < math.inf:
        raise InvalidProblem(path, "must have a positive sum")
    return {size: share / whole for size, share in sizes.items() if share > 0}


class PoissonWork(WorkAhead):
    """The work ahead of a message where batches come at random."""

    def __init__(
        self,
        utilisation: float,
        batches: Mapping[int, float] | int = 1,
        *,
        of: Mapping[int, float] | None = None,
    ) -> None:
        """Take the probability of each size of a batch, or the one size.

        `of`: the same for those batches alone whose messages are looked at; None: all. Raises
        InvalidProblem naming the parameter.
        """
        sizes = {batches: 1.0} if isinstance(batches, int) else dict(batches)
        if not 0 < utilisation < 1:
            raise InvalidProblem(
                "utilisation", f"must lie between 0 and 1, but is {utilisation:g}: raise the rate"
            )
        kept = shares_of(sizes, "batches")
        observed = shares_of(sizes if of is None else of, "of")
        if any(size not in kept for size in observed):
            raise InvalidProblem("of", "must be sizes of the batches that come")
        mean = math.fsum(size * share for size, share in kept.items())
        unit = math.gcd(*kept)
        ordered = sorted(kept)
        in_units = Batches(
            rate=utilisation * unit / mean,
            sizes=np.array([size // unit for size in ordered], dtype=np.int64),
            shares=np.array([kept[size] for size in ordered]),
        )
        self._queue = batch_queue(in_units, utilisation)
        observed_mean = math.fsum(size * share for size, share in observed.items())
        self._places = places_in_batches(observed, observed_mean, unit)
        self._excesses: Floats | None = None
        squares = math.fsum(size * size * share for size, share in kept.items())
        unfinished = utilisation * squares / mean / (2.0 * (1.0 - utilisation))
        ahead_in_batch = math.fsum(
            size * (size - 1.0) * share for size, share in observed.items()
        ) / (2.0 * observed_mean)
        self.mean = unfinished + ahead_in_batch

    def _fill(self, values: Floats, out: Floats) -> None:
        ahead_tails(values, self._places, self._queue, out)

    def tail(self, value: float) -> float:
        """Return P(V > value)."""
        return float(ahead_tail_alone(float(value), self._places, self._queue))

    def _inside(self, allowed: float, low: float, high: float) -> float:
        return float(ahead_quantile(allowed, low, high, self._places, self._queue))

    def _integral(self, value: float) -> float:
        if self._excesses is None:
            counted = self._queue.counted
            room, whole = np.empty(counted), np.empty(counted)
            arrivals_within(self._queue, 1.0, NODES, WEIGHTS, room, whole)
            self._excesses = level_excesses(self._queue, whole)
        excess = ahead_excess(value, self._places, self._queue, self._excesses, NODES, WEIGHTS)
        return float(excess) * self._places.unit

    def _end(self) -> tuple[float, float]:
        """Beyond the last level and the largest batch the tail is one exponential."""
        unit = self._places.unit
        settled = (len(self._queue.tails) - 1) * unit + int(self._places.before.max()) + 1
        return settled, unit / self._queue.theta
