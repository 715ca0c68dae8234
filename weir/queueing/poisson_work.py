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

Method. Let L be the messages in the queue with deterministic service, a_j the probability that j
arrive while one is served. Level crossing gives its distribution by sums of positive terms,

    a_0 p_(n+1) = p_0 P(a > n) + sum_(i=1..n) p_i P(a > n + 1 - i)    (Ramaswami 1988),

and Franx's argument extends to batches: with k = floor(x) + 1 and u = k - x,

    P(U > x) = P(arrivals in u + (L - 1)+ >= k).

Nothing is subtracted, so that tails keep their digits where the textbook's alternating series
(Erlang 1909) loses all of them. Beyond the level where the dominant pole theta alone is left, the
tail is c e^(-theta x), with theta > 0 the root of sum_m lambda g_m (e^(m theta) - 1) = theta.

Cost: for batches of one some microseconds to set up and under a microsecond for a tail. Sizes
with a common divisor are divided by it first. Fails for a utilisation of 1 or more: nothing is
stationary there.

References:
    C. Li, J. Liu, C. Lu, R. Guerin, C. D. Gill. Impact of distributed rate limiting on load
    distribution in a latency-sensitive messaging service (SRTM), sections 2.1 and 6.2.
    G. J. Franx. A simple solution for the M/D/c waiting time distribution. Operations Research
    Letters 29(5), 2001. doi:10.1016/S0167-6377(01)00108-0
    V. Ramaswami. A stable recursion for the steady state vector in Markov chains of M/G/1 type.
    Stochastic Models 4(1), 1988. doi:10.1080/15326348808807077
    H. H. Panjer. Recursive evaluation of a family of compound distributions. ASTIN Bulletin 12(1),
    1981. doi:10.1017/S0515036100006796
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.compiled import compiled
from weir.errors import InvalidProblem
from weir.queueing.work_ahead import NODES, WEIGHTS, WorkAhead

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.queueing.work_ahead import Floats

ARRIVALS_KEPT = 40
"""Batches during one service that are counted: 41 or more have a probability below 1e-49."""

SETTLED = 1e-14
"""Relative change between levels below which the dominant pole alone is left."""

MOST_LEVELS = 400
"""Levels, per message of the largest batch, within which that has always happened."""

LEAST_PROBABILITY = 1e-250
VANISHED = 1e-30
MOST_PLACES = 512
"""Places within a batch up to which each is looked at."""

MOST_RESTS = 8
SMALL = 64
"""Units of the largest batch up to which even the rarest arrivals are counted."""
MOST_STEPS = 200
RESOLUTION = 4e-16
NOTHING = np.empty(0)


@compiled
def arrivals(rate: float, sizes: Any, shares: Any, duration: float, out: Any) -> None:
    """Fill `out` with the probabilities that 0, 1, ... messages come within `duration` (Panjer)."""
    mean = rate * duration
    out[0] = math.exp(-mean)
    for count in range(1, len(out)):
        total = 0.0
        for at in range(len(sizes)):
            if sizes[at] > count:
                break
            total += sizes[at] * shares[at] * out[count - sizes[at]]
        out[count] = mean / count * total


@compiled
def pole_balance(rate: float, sizes: Any, shares: Any, gap: float, theta: float) -> float:
    """Return (sum_m rate g_m (e^(m theta) - 1)) / theta - 1: 0 at the dominant pole.

    `gap` is 1 - utilisation, which is all that is left of the difference where theta is small.
    """
    total = -gap
    for at in range(len(sizes)):
        y = sizes[at] * theta
        more = y / 2.0 * (1.0 + y / 3.0 * (1.0 + y / 4.0 * (1.0 + y / 5.0 * (1.0 + y / 6.0))))
        if y > 1e-2:
            more = math.expm1(y) / y - 1.0
        total += rate * shares[at] * sizes[at] * more
    return total


@compiled
def decay(rate: float, sizes: Any, shares: Any, gap: float) -> float:
    """Return theta by bisection: the left side is negative at 0 and grows."""
    high = 1.0
    while pole_balance(rate, sizes, shares, gap, high) < 0.0:
        high *= 2.0
    low = 0.0
    for _ in range(MOST_STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if pole_balance(rate, sizes, shares, gap, middle) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@compiled
def level_tails(
    rate: float,
    sizes: Any,
    shares: Any,
    gap: float,
    theta: float,
    scale: float,
    most: int,
    room: int,
) -> Any:
    """Return P(L > n) for n = 0, 1, ... up to the level where the dominant pole alone is left."""
    largest = sizes[-1]
    slot = np.empty(room)
    arrivals(rate, sizes, shares, 1.0, slot)
    more = np.zeros(len(slot) + 1)  # more[n]: probability of more than n - 1 arrivals in a slot
    for count in range(len(slot) - 1, -1, -1):
        more[count] = more[count + 1] + slot[count]
    level = np.zeros(most + 1)
    level[0] = gap
    shrink = math.exp(-theta)
    settled = 0
    last = most
    for n in range(most):
        total = level[0] * more[n + 1] if n + 1 < len(more) else 0.0
        for i in range(max(1, n + 3 - len(more)), n + 1):
            total += level[i] * more[n + 2 - i]
        level[n + 1] = total / slot[0]
        known = abs(level[n + 1] - level[n] * shrink) <= SETTLED * level[n + 1]
        settled = settled + 1 if known and n > 0 else 0
        if settled > largest + 2 or level[n + 1] < LEAST_PROBABILITY:
            last = n + 1
            break
    tails = np.empty(last + 1)
    tails[last] = scale * math.exp(-theta * last)
    for n in range(last - 1, -1, -1):
        tails[n] = tails[n + 1] + level[n + 1]
    return tails


@compiled
def arrivals_within(
    rate: float,
    sizes: Any,
    shares: Any,
    duration: float,
    nodes: Any,
    weights: Any,
    room: Any,
    out: Any,
) -> None:
    """Fill `out` with the integrals of `arrivals` over durations from 0 to `duration`."""
    out[:] = 0.0
    for node in range(len(nodes)):
        arrivals(rate, sizes, shares, duration * (1.0 + nodes[node]) / 2.0, room)
        out += duration / 2.0 * weights[node] * room


@compiled
def reaching(within: Any, tails: Any, k: int) -> float:
    """Return the sum over arrivals j of within[j] P(j + (L - 1)+ >= k), smallest terms first."""
    total = 0.0
    for count in range(len(within) - 1, -1, -1):
        missing = k - count
        if missing <= 0:
            total += within[count]
        elif missing < len(tails):
            total += within[count] * tails[missing]
    return total


@compiled
def level_excesses(tails: Any, whole: Any, theta: float) -> Any:
    """Return E[(U - n)+] for n = 0, 1, ...; `whole`: `arrivals_within` one unit."""
    out = np.empty(len(tails))
    last = len(tails) - 1
    out[last] = tails[last] / theta
    for n in range(last - 1, -1, -1):
        out[n] = out[n + 1] + reaching(whole, tails, n + 1)
    return out


@compiled
def ahead_sum(
    value: float,
    places: Any,
    weights_of_places: Any,
    unit: int,
    rate: float,
    sizes: Any,
    shares: Any,
    tails: Any,
    theta: float,
    excesses: Any,
    nodes: Any,
    weights: Any,
    within: Any,
    room: Any,
) -> float:
    """Return P(V > value), or E[(V - value)+] / unit where `excesses` are given.

    `places`: how many messages of its own batch stand before a message, sorted by their rest when
    divided by `unit`. Those that lie whole units apart share what arrives within the rest of the
    unit, which is computed once for them.
    """
    last = len(tails) - 1
    mean = len(excesses) > 0
    total = 0.0
    rest = -1
    ready = False
    for at in range(len(places)):
        units, own = places[at] // unit, places[at] % unit
        if own != rest:
            rest, ready = own, False
        start = (value - own) / unit
        k = math.floor(start) + 1
        x = start - units
        if x < 0.0:
            term = excesses[0] - x if mean else 1.0
        elif x >= last:
            term = tails[last] * math.exp(-theta * (x - last))
            if mean:
                term /= theta
        else:
            if not ready:
                if mean:
                    arrivals_within(rate, sizes, shares, k - start, nodes, weights, room, within)
                else:
                    arrivals(rate, sizes, shares, k - start, within)
                ready = True
            level = k - units
            term = reaching(within, tails, level)
            if mean:
                term += excesses[level]
        total += weights_of_places[at] * term
    return total


@compiled
def ahead_sums(
    values: Any,
    places: Any,
    weights_of_places: Any,
    unit: int,
    rate: float,
    sizes: Any,
    shares: Any,
    tails: Any,
    theta: float,
    excesses: Any,
    nodes: Any,
    weights: Any,
    size: int,
    out: Any,
) -> None:
    """Fill `out` with `ahead_sum` of each value."""
    within, room = np.empty(size), np.empty(size)
    for at in range(len(values)):
        out[at] = ahead_sum(
            values[at],
            places,
            weights_of_places,
            unit,
            rate,
            sizes,
            shares,
            tails,
            theta,
            excesses,
            nodes,
            weights,
            within,
            room,
        )


@compiled
def ahead_quantile(
    allowed: float,
    low: float,
    high: float,
    places: Any,
    weights_of_places: Any,
    unit: int,
    rate: float,
    sizes: Any,
    shares: Any,
    tails: Any,
    theta: float,
    nodes: Any,
    size: int,
) -> float:
    """Return where P(V > value) falls to `allowed` between `low`, above it, and `high`.

    By secants of the logarithm, which is nearly straight (the Illinois method); every third step
    halves, for the steps down at whole numbers.
    """
    within, room, none = np.empty(size), np.empty(size), np.empty(0)
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
        found = ahead_sum(
            middle,
            places,
            weights_of_places,
            unit,
            rate,
            sizes,
            shares,
            tails,
            theta,
            none,
            nodes,
            nodes,
            within,
            room,
        )
        if found > allowed:
            below = below / 2.0 if raised and step > 1 else below
            low, above, raised = middle, math.log(found / allowed), True
        elif found > 0.0:
            above = above if raised or step < 2 else above / 2.0
            high, below, raised = middle, math.log(found / allowed), False
        else:
            high, below, raised = middle, 0.0, False
    return high


def arrivals_counted(rate: float, sizes: Any, shares: Any) -> int:
    """Return how many messages during one service have a probability worth counting."""
    largest = int(sizes[-1])
    if largest <= SMALL:
        return ARRIVALS_KEPT * largest + 1
    out = np.empty(ARRIVALS_KEPT * largest + 1)
    arrivals(rate, sizes, shares, 1.0, out)
    beyond = np.cumsum(out[::-1])[::-1]
    return max(int(np.count_nonzero(beyond > VANISHED)), largest) + 1


def places_in_batches(kept: Mapping[int, float], mean: float, unit: int) -> tuple[Any, Any]:
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
    return places[order], weights[order]


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
        mean = math.fsum(size * share for size, share in kept.items())
        gap = 1.0 - utilisation
        self._unit = math.gcd(*kept)
        ordered = sorted(kept)
        self._sizes = np.array([size // self._unit for size in ordered], dtype=np.int64)
        self._shares = np.array([kept[size] for size in ordered])
        self._rate = utilisation * self._unit / mean
        observed = shares_of(sizes if of is None else of, "of")
        observed_mean = math.fsum(size * share for size, share in observed.items())
        if any(size not in kept for size in observed):
            raise InvalidProblem("of", "must be sizes of the batches that come")
        self._places, self._weights = places_in_batches(observed, observed_mean, self._unit)
        self._theta = decay(self._rate, self._sizes, self._shares, gap)
        # sum_m rate m g_m e^(m theta) - 1, without subtracting what is nearly 1.
        growth = math.fsum(
            self._rate * share * size * math.expm1(size * self._theta)
            for size, share in zip(self._sizes.tolist(), self._shares.tolist(), strict=True)
        )
        scale = gap / (growth - gap)
        self._size = arrivals_counted(self._rate, self._sizes, self._shares)
        self._tails = level_tails(
            self._rate,
            self._sizes,
            self._shares,
            gap,
            self._theta,
            scale,
            MOST_LEVELS * int(self._sizes[-1]),
            self._size,
        )
        self._excesses: Floats | None = None
        squares = math.fsum(size * size * share for size, share in kept.items())
        found = utilisation * squares / mean / (2.0 * (1.0 - utilisation))
        ahead_in_batch = math.fsum(
            size * (size - 1.0) * share for size, share in observed.items()
        ) / (2.0 * observed_mean)
        self.mean = found + ahead_in_batch

    def _sums(self, values: Floats, excesses: Floats, out: Floats) -> None:
        ahead_sums(
            values,
            self._places,
            self._weights,
            self._unit,
            self._rate,
            self._sizes,
            self._shares,
            self._tails,
            self._theta,
            excesses,
            NODES,
            WEIGHTS,
            self._size,
            out,
        )

    def _fill(self, values: Floats, out: Floats) -> None:
        self._sums(values, NOTHING, out)

    def _inside(self, allowed: float, low: float, high: float) -> float:
        return float(
            ahead_quantile(
                allowed,
                low,
                high,
                self._places,
                self._weights,
                self._unit,
                self._rate,
                self._sizes,
                self._shares,
                self._tails,
                self._theta,
                NODES,
                self._size,
            )
        )

    def _integral(self, value: float) -> float:
        if self._excesses is None:
            room, whole = np.empty(self._size), np.empty(self._size)
            arrivals_within(self._rate, self._sizes, self._shares, 1.0, NODES, WEIGHTS, room, whole)
            self._excesses = level_excesses(self._tails, whole, self._theta)
        out = np.empty(1)
        self._sums(np.array([value]), self._excesses, out)
        return float(out[0]) * self._unit

    def _end(self) -> tuple[float, float]:
        """Beyond the last level and the largest batch the tail is one exponential."""
        settled = (len(self._tails) - 1) * self._unit + int(self._places.max()) + 1
        return settled, self._unit / self._theta
