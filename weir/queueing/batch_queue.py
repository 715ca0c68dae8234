r"""The queue of a server with equal services that batches reach at random (M^X/D/1).

Time is in services, and sizes in units of their common divisor. Let L be what the queue holds, a_j
the probability that j arrive during one service. Level crossing gives its distribution by sums of
positive terms,

    a_0 p_(n+1) = p_0 P(a > n) + sum_(i=1..n) p_i P(a > n + 1 - i)    (Ramaswami 1988).

Nothing is subtracted, so that tails keep their digits where the textbook's alternating series
(Erlang 1909) loses all of them. Beyond the level where the dominant pole theta alone is left, the
tail is c e^(-theta x), with theta > 0 the root of sum_m lambda g_m (e^(m theta) - 1) = theta.

Cost: levels times arrivals that are counted; for batches of one some microseconds. Fails for a
utilisation of 1 or more: nothing is stationary there.

References:
    V. Ramaswami. A stable recursion for the steady state vector in Markov chains of M/G/1 type.
    Stochastic Models 4(1), 1988. doi:10.1080/15326348808807077
    H. H. Panjer. Recursive evaluation of a family of compound distributions. ASTIN Bulletin 12(1),
    1981. doi:10.1017/S0515036100006796
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from weir.compiled import compiled

ARRIVALS_KEPT = 40
"""Batches during one service that are counted: 41 or more have a probability below 1e-49."""

SETTLED = 1e-14
"""Relative change between levels below which the dominant pole alone is left."""

MOST_LEVELS = 400
"""Levels, per message of the largest batch, within which that has always happened."""

LEAST_PROBABILITY = 1e-250
VANISHED = 1e-30
SMALL = 64
"""Units of the largest batch up to which even the rarest arrivals are counted."""
MOST_STEPS = 200


class Batches(NamedTuple):
    """Batches that come at random, as kernels take them."""

    rate: float
    """Batches during one service."""
    sizes: Any
    """In units, rising."""
    shares: Any
    """Probability of each size."""


class BatchQueue(NamedTuple):
    """The stationary queue that such batches keep, as kernels take it.

    It has the fields of its batches, too, so that it can be passed in their place: a tuple within a
    tuple makes each call from Python slower.
    """

    rate: float
    sizes: Any
    shares: Any
    theta: float
    """What the logarithm of the tail falls by from one level to the next, in the end."""
    tails: Any
    """P(L > n) for n = 0, 1, ... up to the level from which on it falls so."""
    counted: int
    """Numbers of arrivals during one service that are counted, 0 among them."""


@compiled
def arrivals(batches: Any, duration: float, out: Any) -> None:
    """Fill `out` with the probabilities that 0, 1, ... messages come within `duration` (Panjer)."""
    sizes, shares = batches.sizes, batches.shares
    mean = batches.rate * duration
    out[0] = math.exp(-mean)
    for count in range(1, len(out)):
        total = 0.0
        for at in range(len(sizes)):
            if sizes[at] > count:
                break
            total += sizes[at] * shares[at] * out[count - sizes[at]]
        out[count] = mean / count * total


@compiled
def pole_balance(batches: Any, gap: float, theta: float) -> float:
    """Return (sum_m rate g_m (e^(m theta) - 1)) / theta - 1: 0 at the dominant pole.

    `gap` is 1 - utilisation, which is all that is left of the difference where theta is small.
    """
    rate, sizes, shares = batches.rate, batches.sizes, batches.shares
    total = -gap
    for at in range(len(sizes)):
        y = sizes[at] * theta
        more = y / 2.0 * (1.0 + y / 3.0 * (1.0 + y / 4.0 * (1.0 + y / 5.0 * (1.0 + y / 6.0))))
        if y > 1e-2:
            more = math.expm1(y) / y - 1.0
        total += rate * shares[at] * sizes[at] * more
    return total


@compiled
def decay(batches: Any, gap: float) -> float:
    """Return theta by bisection: the left side is negative at 0 and grows."""
    high = 1.0
    while pole_balance(batches, gap, high) < 0.0:
        high *= 2.0
    low = 0.0
    for _ in range(MOST_STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if pole_balance(batches, gap, middle) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@compiled
def level_tails(
    batches: Any, gap: float, theta: float, scale: float, most: int, counted: int
) -> Any:
    """Return P(L > n) for n = 0, 1, ... up to the level where the dominant pole alone is left."""
    largest = batches.sizes[-1]
    slot = np.empty(counted)
    arrivals(batches, 1.0, slot)
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
    batches: Any, duration: float, nodes: Any, weights: Any, room: Any, out: Any
) -> None:
    """Fill `out` with the integrals of `arrivals` over durations from 0 to `duration`."""
    out[:] = 0.0
    for node in range(len(nodes)):
        arrivals(batches, duration * (1.0 + nodes[node]) / 2.0, room)
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


def arrivals_counted(batches: Batches) -> int:
    """Return how many messages during one service have a probability worth counting."""
    largest = int(batches.sizes[-1])
    if largest <= SMALL:
        return ARRIVALS_KEPT * largest + 1
    out = np.empty(ARRIVALS_KEPT * largest + 1)
    arrivals(batches, 1.0, out)
    beyond = np.cumsum(out[::-1])[::-1]
    return max(int(np.count_nonzero(beyond > VANISHED)), largest) + 1


def batch_queue(batches: Batches, utilisation: float) -> BatchQueue:
    """Return the stationary queue; `utilisation` is below 1."""
    gap = 1.0 - utilisation
    theta = decay(batches, gap)
    # sum_m rate m g_m e^(m theta) - 1, without subtracting what is nearly 1.
    growth = math.fsum(
        batches.rate * share * size * math.expm1(size * theta)
        for size, share in zip(batches.sizes.tolist(), batches.shares.tolist(), strict=True)
    )
    counted = arrivals_counted(batches)
    most = MOST_LEVELS * int(batches.sizes[-1])
    tails = level_tails(batches, gap, theta, gap / (growth - gap), most, counted)
    return BatchQueue(*batches, theta=theta, tails=tails, counted=counted)
