r"""Judge whether two publishers send together more often than chance explains.

Shared moments are matched one to one within w = `within_s`, with two pointers, the earliest first;
no matching has more. By chance there would be

    the largest of  n_a n_b 2 w / T  and, for reaches R of 8, 64 and 512 w,
                    (pairs at distances from 2 w to R) x 2 w / (2 R - 4 w),

the flanks of a cross-correlogram: where both publishers are busy in the same hours, or in a storm
of some seconds, they have as many pairs a little apart as together. Reaches beyond half of the
window T say nothing; near its ends, pairs that cannot be are left out. Publishers that act by the
clock, at whole seconds or every five minutes, have their pairs at multiples of that mark: of the
marks `MARKS_S`, the one with most pairs at its first multiples says what chance is for them.

Matches that follow each other by multiples of half their median or least distance, more than
chance would have, are what two combs give that nobody recognised (too few cycles, or a clock that
wanders): together they count as one, beside as many as chance would put there.

Two publishers that run one sequence (a boot, retries, a job of some messages) have all of it
together once they begin it together: one coincidence, however many matches. So matches are cut into
episodes, each of which counts once: the first match begins one, and so does the first that comes
more than `EPISODE_S` after the begin of the last. Episodes are shorter where chance alone would
give one match in ten of them, as they could not tell a group from chance then, and at most a tenth
of the window.

At least `FEWEST` must be left, and the Poisson tail of what is left must lie below half of
`false_groups` over the number of pairs among all publishers; the other half is left to periods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.compiled import compiled
from weir.correlation.chance import information_of, log_poisson_tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.correlation.activity import Floats, Ints, Search

CENTRE = 2.0
"""In units of w: what is nearer is no flank."""

REACHES = (8.0, 64.0, 512.0)
"""In units of w: how far flanks reach."""

ALIKE = 3.0
"""In units of w: distances between matches that differ by less are equal."""

EXPLAINED = 0.95
"""Share of distances that may be multiples by chance; from there on nothing is discounted."""

COMB = math.log(1000.0)
"""Matches are those of a comb where chance gives as many multiples once in a thousand pairs at most
(Chernoff)."""

FEWEST = 4
"""Matches that are more than a comb, at least: any three may lie on one. A sequence that is shorter
than three episodes has never so many."""

EPISODE_S = 60.0
"""Matches of so many seconds may be one coincidence of two equal sequences."""

EPISODES = 10.0
"""Of a window, at least."""

BY_CHANCE = 0.1
"""Matches that chance gives an episode, at most."""

MARKS_S = (
    0.25,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    20.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    3600.0,
)
"""What programs keep to that act by the clock."""

FEWEST_LAGS, MOST_LAGS = 4, 8
"""Multiples of a mark to each side that are averaged."""

ROUNDING = 1e-9
"""A share of exactly the least one is enough, whatever its last digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdicts on some pairs, in their order."""

    shared: Ints
    """Moments of one that are together with a moment of the other, one to one."""
    by_chance: Floats
    """How many of them chance would give."""
    together: NDArray[np.bool_]


@compiled
def match(one: Any, other: Any, within: float, places: Any) -> int:
    """Fill `places` with the indices of moments of `one` and `other` that are together, one to
    one; return how many."""
    at = beside = count = 0
    while at < len(one) and beside < len(other):
        apart = one[at] - other[beside]
        if apart > within:
            beside += 1
        elif apart < -within:
            at += 1
        else:
            places[count, 0], places[count, 1] = at, beside
            count += 1
            at += 1
            beside += 1
    return count


@compiled
def pairs_within(one: Any, other: Any, reach: float) -> int:
    """Return how many pairs of moments are at most `reach` apart."""
    low = high = count = 0
    for at in range(len(one)):
        while low < len(other) and other[low] < one[at] - reach:
            low += 1
        while high < len(other) and other[high] <= one[at] + reach:
            high += 1
        count += high - low
    return count


@compiled
def pairs_at(one: Any, other: Any, lag: float, within: float) -> int:
    """Return how many pairs there are whose second moment is `lag` after the first, to `within`."""
    low = high = count = 0
    for at in range(len(one)):
        middle = one[at] + lag
        while low < len(other) and other[low] < middle - within:
            low += 1
        while high < len(other) and other[high] <= middle + within:
            high += 1
        count += high - low
    return count


@compiled
def chance_at_marks(one: Any, other: Any, within: float, duration: float) -> float:
    """Return how many matches two publishers have by chance that act by the clock: the density of
    pairs at multiples of a mark, of the mark that has most."""
    most = 0.0
    for mark in MARKS_S:
        lags = int(min(MOST_LAGS, duration / 2.0 / mark))
        if mark <= 2.0 * CENTRE * within or lags < FEWEST_LAGS:
            continue
        count, possible = 0, 0.0
        for steps in range(1, lags + 1):
            lag = steps * mark
            count += pairs_at(one, other, lag, within) + pairs_at(one, other, -lag, within)
            possible += 2.0 * (1.0 - lag / duration)
        most = max(most, count / possible)
    return most


@compiled
def beside_comb(distances: Any, half: float, within: float, trivial: int, pause: float) -> int:
    """Return how many matches, at these distances, are more than one comb of multiples of `half`;
    of the distances, `trivial` are multiples anyway. Those longer than `pause` that cannot be told
    from multiples say nothing of a comb, and what follows them begins anew."""
    count, anew, unlike, by_chance = len(distances) + 1, 0, 0, 0.0
    for distance in distances:
        steps = np.rint(distance / half)
        # What `half` is off by counts once a step.
        near = ALIKE * within * (1.0 + steps / 4.0)
        if distance > pause and 2.0 * near >= half:
            anew += 1
            continue
        by_chance += min(2.0 * near / half, 1.0)
        if abs(distance - half * steps) > near:
            unlike += 1
    by_chance /= max(len(distances) - anew, 1)
    others = max(len(distances) - anew - trivial, 1)
    share = max(others - unlike, 0) / others
    if by_chance >= EXPLAINED or share <= by_chance:
        return count
    if others * information_of(share, by_chance) < COMB:
        return count
    beside = unlike * (count - 1.0 - anew) / others / (1.0 - by_chance)
    return min(count, 1 + anew + int(beside + 0.5))


@compiled
def episodes_of(one: Any, places: Any, count: int, length: float) -> int:
    """Return how many episodes of this length the matches make."""
    episodes, begins = 0, -math.inf
    for at in range(count):
        time = one[places[at, 0]]
        if time - begins > length:
            episodes, begins = episodes + 1, time
    return episodes


@compiled
def evidence_of(
    one: Any, places: Any, count: int, within: float, chance: float, duration: float
) -> tuple[int, float]:
    """Return how many of the matches are coincidences of their own, as no comb and no sequence that
    both publishers run explains them, and how many of these chance would give."""
    if count < FEWEST:
        return 1, chance
    length = min(EPISODE_S, duration / EPISODES)
    if chance > 0.0:
        length = min(length, BY_CHANCE * duration / chance)
    episodes = episodes_of(one, places, count, length)
    if episodes < FEWEST:
        return episodes, chance
    distances = np.empty(count - 1)
    for at in range(count - 1):
        distances[at] = one[places[at + 1, 0]] - one[places[at, 0]]
    # The commonest of a comb with gaps may be any small multiple; of few, the smallest is the best.
    beside = min(
        beside_comb(distances, np.median(distances) / 2.0, within, len(distances) % 2, length),
        beside_comb(distances, distances.min() / 2.0, within, 1, length),
    )
    if beside < episodes:
        return beside, chance
    # Chance, too, brings whole episodes together.
    return episodes, chance * episodes / count


@compiled
def chance_of(one: Any, other: Any, within: float, duration: float) -> float:
    """Return how many matches chance would give."""
    most = len(one) * len(other) * 2.0 * within / max(duration, 2.0 * within)
    if 2.0 * CENTRE * within >= duration:
        return most
    centre = pairs_within(one, other, CENTRE * within)
    for times in REACHES:
        reach = times * within
        if reach > duration / 2.0:
            break
        # Of pairs at distance d only those that begin d before the end of the window can be.
        width = 2.0 * (reach - CENTRE * within)
        width -= (reach * reach - (CENTRE * within) ** 2) / duration
        flanks = pairs_within(one, other, reach) - centre
        most = max(most, flanks * 2.0 * within / width)
    return most


@compiled
def judge_pair(
    one: Any, other: Any, within: float, duration: float, share: float, allowed: float
) -> tuple[int, float, bool]:
    """Return shared moments, those of chance, and whether the two are together."""
    fewer = min(len(one), len(other))
    places = np.empty((fewer, 2), dtype=np.int64)
    count = match(one, other, within, places)
    chance = chance_of(one, other, within, duration)
    if count == 0 or count < share * fewer - ROUNDING:
        return count, chance, False
    if log_poisson_tail(count, chance) >= allowed:
        return count, chance, False
    # Of the few that are left: it takes long. What one phase explains, `evidence_of` counts once.
    by_clock = max(chance, chance_at_marks(one, other, within, duration))
    if log_poisson_tail(count, by_clock) >= allowed:
        return count, by_clock, False
    evidence, expected = evidence_of(one, places, count, within, chance, duration)
    together = evidence >= FEWEST and log_poisson_tail(evidence, expected) < allowed
    return count, by_clock, together


@compiled
def judge_pairs(
    pairs: Any,
    starts: Any,
    moments: Any,
    within: float,
    duration: float,
    share: float,
    allowed: float,
    shared: Any,
    by_chance: Any,
    together: Any,
) -> None:
    """Fill the three columns of verdicts on pairs of rows."""
    for at in range(len(pairs)):
        one, other = pairs[at, 0], pairs[at, 1]
        shared[at], by_chance[at], together[at] = judge_pair(
            moments[starts[one] : starts[one + 1]],
            moments[starts[other] : starts[other + 1]],
            within,
            duration,
            share,
            allowed,
        )


def log_allowed(publishers: int, search: Search) -> float:
    """Return the logarithm of the tail below which a pair is no chance."""
    every = max(publishers * (publishers - 1) / 2.0, 1.0)
    return math.log(search.false_groups / 2.0 / every)


def judge(
    pairs: Ints,
    starts: Ints,
    moments_s: Floats,
    *,
    publishers: int,
    duration_s: float,
    search: Search,
    least_share: float | None = None,
) -> Judged:
    """Judge pairs of rows of `starts`; `publishers`: how many there are in all, which says how many
    pairs chance could have chosen from; `least_share` instead of that of the search."""
    shared = np.empty(len(pairs), dtype=np.int64)
    by_chance = np.empty(len(pairs))
    together = np.empty(len(pairs), dtype=np.bool_)
    judge_pairs(
        np.ascontiguousarray(pairs, dtype=np.int64).reshape(-1, 2),
        starts,
        moments_s,
        search.within_s,
        duration_s,
        search.least_share if least_share is None else least_share,
        log_allowed(publishers, search),
        shared,
        by_chance,
        together,
    )
    return Judged(shared=shared, by_chance=by_chance, together=together)
