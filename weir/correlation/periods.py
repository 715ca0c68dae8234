r"""Recognise publishers that keep a period, and those of them that share its phase.

A publisher keeps a comb where its moments lie at phase + k period. The period is found without
trying all of them:

1. The commonest distance between moments that are one to `LAGS` apart, on a scale of ratios, is
   where the search begins, and halves and thirds of it: missed messages and messages between the
   beats hide some distances, not all.
2. With f = 1 / period the vectors Z_s = sum exp(2 pi i f t) of neighbouring stretches of length L
   turn by 2 pi (f - f_true) L. Their mean turn corrects f; L doubles until two stretches are left.
   Messages off the comb add vectors of any direction, which cancel.
3. The densest phase begins the comb; the cycles are counted, one moment a cycle, and a regression
   of times on cycles gives period and phase.

It is kept where `CYCLES` cycles were seen, half of its places are taken, its spread is a tenth of
the period at most, half of its moments lie within `within_s` of it (sloppier beats may be those of
one sloppy trigger that several publishers share: coincidences say so), and chance would not put so
many moments so near to any comb: the binomial tail (Chernoff's bound) times the number of periods
and phases that could be told apart is at most `BY_CHANCE`. Moments on it are taken out, and the
rest is searched again: several messages a period are several combs, whose phase is that after the
longest pause.

Publishers of equal period: for two of them one coincidence is all that was seen, however often it
came back. Phases are uniform by chance; a window of phases as wide as `within_s` that holds more
publishers than a Poisson tail allows, over all windows, is a group. Its members are those in the
stretch of phases around it that chance explains least; others of that period who are there by
chance cannot be told from them, and are counted (`bystanders`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.compiled import compiled
from weir.correlation.activity import messages_of, moments_of
from weir.correlation.chance import information_of, log_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weir.correlation.activity import Activity, Floats, Ints, Search

CYCLES = 8
"""Cycles that a comb was seen for at least."""

TAKEN = 0.5
"""Of the places of a comb, at least."""

SPREAD = 0.1
"""Of its period: standard deviation of what lies on a comb, at most."""

SLOPPY = 1.0
"""In units of within_s: median distance from the comb, at most. Two publishers of equal phase that
are sloppier, each by itself, have less than two fifths of their moments together: their phases say
little, and coincidences of their moments say whether one sloppy clock triggers both."""

BY_CHANCE = 1e-6
"""Combs that chance may put into one publisher's moments."""

LAGS = 3
"""Moments are compared with so many that follow them."""

NARROW, WIDE = 1.02, 1.2
"""Ratio of distances that count as one: for exact beats among other messages, for spread ones."""

TURNS_ALIKE = 2.5
"""Power of the mean turn over that of turns of any direction, from which a search goes on:
chance gives more than this once in twelve."""

FEW_STRETCHES = 12
"""With fewer the search goes on anyway: they say little, and are soon gone through."""

DIVISORS = 3
"""The commonest distance may be so many periods."""

NEARLY_ALL = 0.75
"""A comb that explains more of the moments, with more of its places taken, is the right one."""

MOST_COMBS = 32
"""Combs that are taken out of one publisher."""

NARROWER = 0.8
"""Ratio of the widths in which the crowd of a group is looked for."""

MOST_NARROW = 0.05
"""Of within_s: narrower than what phases are known by, in general."""

STARTS = 100.0
"""Periods and widths tried, beside what differs by phase and drift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """What is known of some publishers by themselves, in the order of their ids."""

    ids: Ints
    starts: Ints
    moments_s: Floats
    """Moments that no comb explains, by publisher, as in `Activity`."""
    period_s: Floats
    """NaN: the publisher keeps no period."""
    phase_s: Floats
    """When the comb begins after `since_s`, in [0, period)."""
    messages: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodGroup:
    """Publishers that keep one period at one phase."""

    ids: Ints
    """Ascending, with the leader."""
    leader: int
    """The one in the middle of their phases."""
    period_s: float
    phase_s: float
    bystanders: float
    """How many others of that period chance puts among their phases."""


@compiled
def commonest(ordered: Any, ratio: float) -> float:
    """Return the middle of the ratio-wide window that holds most of ascending distances; NaN for
    none."""
    best, low, at = 0, 0, -1
    for high in range(len(ordered)):
        while ordered[high] > ordered[low] * ratio:
            low += 1
        if high - low + 1 > best:
            best, at = high - low + 1, low
    return float(ordered[at + best // 2]) if best > 0 else math.nan


@compiled
def tuned(times: Any, period: float) -> float:
    """Return the period that the moments keep near to this one, by turns of neighbouring
    stretches."""
    first, span = times[0], times[-1] - times[0]
    frequency, length, begun, last = 1.0 / period, 2.0 * period, False, False
    while True:
        if length >= span / 2.0:
            length, last = span * 0.5000001, True
        real = imaginary = noise = 0.0
        before_re = before_im = now_re = now_im = 0.0
        before, now = -2, -1
        for at in range(len(times) + 1):
            stretch = -9
            if at < len(times):
                stretch = int((times[at] - first) / length)
            if stretch != now:
                if before == now - 1:
                    real += now_re * before_re + now_im * before_im
                    imaginary += now_im * before_re - now_re * before_im
                    power = now_re * now_re + now_im * now_im
                    noise += power * (before_re * before_re + before_im * before_im)
                before, before_re, before_im = now, now_re, now_im
                now, now_re, now_im = stretch, 0.0, 0.0
            if at < len(times):
                turn = 2.0 * math.pi * ((times[at] * frequency) % 1.0)
                now_re += math.cos(turn)
                now_im += math.sin(turn)
        # Most of what keeps no period ends here: without one, turns are of any direction.
        many = span > FEW_STRETCHES * length
        if not begun and many and real * real + imaginary * imaginary < TURNS_ALIKE * noise:
            return math.nan
        begun = True
        frequency -= math.atan2(imaginary, real) / (2.0 * math.pi * length)
        if frequency <= 0.0:
            return math.nan
        if last:
            return 1.0 / frequency
        length *= 2.0


@compiled
def densest_phase(times: Any, period: float) -> float:
    """Return the middle of the tenth of the period that holds most moments."""
    phases = np.sort(times % period)
    count, width = len(phases), period / 10.0
    best, at, high = 0, 0, 0
    for low in range(count):
        high = max(high, low)
        while high + 1 < low + count:
            after = high + 1
            value = phases[after] if after < count else phases[after - count] + period
            if value - phases[low] > width:
                break
            high = after
        if high - low + 1 > best:
            best, at = high - low + 1, low
    middle = at + best // 2
    return float(phases[middle] if middle < count else phases[middle - count])


@compiled
def nearest_of_places(times: Any, period: float, phase: float, gate: float, nearest: Any) -> int:
    """Fill `nearest` with the indices of moments within `gate` of the comb, one a place; return how
    many there are."""
    count, place, least = 0, 0, 0.0
    for at in range(len(times)):
        cycle = np.rint((times[at] - phase) / period)
        away = abs(times[at] - phase - cycle * period)
        if away > gate:
            continue
        if count > 0 and cycle == place:
            if away < least:
                nearest[count - 1], least = at, away
            continue
        nearest[count], place, least = at, cycle, away
        count += 1
    return count


@compiled
def fitted(times: Any, period: float, phase: float, gate: float, nearest: Any) -> tuple[Any, ...]:
    """Return count, period, phase, median and standard deviation of what is away from the comb that
    a regression gives."""
    count = nearest_of_places(times, period, phase, gate, nearest)
    if count < CYCLES:
        return count, period, phase, gate, gate
    cycle_sum = time_sum = 0.0
    for at in range(count):
        time = times[nearest[at]]
        cycle_sum += np.rint((time - phase) / period)
        time_sum += time
    cycle_mean, time_mean = cycle_sum / count, time_sum / count
    both = square = 0.0
    for at in range(count):
        time = times[nearest[at]]
        cycle = np.rint((time - phase) / period) - cycle_mean
        both += cycle * (time - time_mean)
        square += cycle * cycle
    slope = both / square
    away, total = np.empty(count), 0.0
    for at in range(count):
        time = times[nearest[at]]
        cycle = np.rint((time - phase) / period) - cycle_mean
        away[at] = abs(time - time_mean - slope * cycle)
        total += away[at] * away[at]
    begins = time_mean - slope * cycle_mean
    return count, slope, begins, np.median(away), math.sqrt(total / count)


@compiled
def comb_of(times: Any, period: float, within: float, nearest: Any) -> tuple[Any, ...]:
    """Return how much the comb near a period says (what chance must do for it, as a logarithm),
    period, phase, gate and whether no other can say more; 0 where chance explains it.

    The right period says more than its halves, which have empty places, and its doubles, which miss
    moments; the more, the narrower its gate."""
    span = times[-1] - times[0]
    none = (0.0, math.nan, 0.0, 0.0, False)
    if not 4.0 * within <= period <= span / CYCLES:
        return none
    period = tuned(times, period)
    if not 4.0 * within <= period <= span / (CYCLES - 0.5):
        return none
    phase, gate = densest_phase(times, period), period / 4.0
    count, middle, spread = 0, 0.0, 0.0
    for _ in range(4):
        count, period, phase, middle, spread = fitted(times, period, phase, gate, nearest)
        if count < CYCLES or not 4.0 * within <= period <= span:
            return none
        # Six medians of a bell curve are four standard deviations.
        gate = min(max(6.0 * middle, within), period / 4.0)
    count = nearest_of_places(times, period, phase, gate, nearest)
    if count < CYCLES:
        return none
    first = np.rint((times[nearest[0]] - phase) / period)
    last = np.rint((times[nearest[count - 1]] - phase) / period)
    places = last - first + 1.0
    if places <= CYCLES or count < TAKEN * places or spread > SPREAD * period:
        return none
    if middle > SLOPPY * within:
        return none
    near = 0
    for at in range(len(times)):
        away = times[at] - phase
        if abs(away - period * np.rint(away / period)) <= gate:
            near += 1
    chance, share = 2.0 * gate / period, near / len(times)
    if share <= chance:
        return none
    information = information_of(share, chance)
    tried = math.log(STARTS * (span / gate) * (period / gate))
    if tried - len(times) * information > math.log(BY_CHANCE):
        return none
    sure = near > NEARLY_ALL * len(times) and count > NEARLY_ALL * places
    return len(times) * information, period, phase, gate, sure


@compiled
def first_phase(phases: Any, period: float) -> float:
    """Return the phase after the longest pause: of several messages a period the first, wherever
    the window begins; any other choice would crowd some phases."""
    ordered = np.sort(phases)
    best, longest = ordered[0], ordered[0] + period - ordered[-1]
    for at in range(1, len(ordered)):
        if ordered[at] - ordered[at - 1] > longest:
            best, longest = ordered[at], ordered[at] - ordered[at - 1]
    return float(best)


@compiled
def combed(starts: Any, moments: Any, since: float, within: float, out: Any, kept: Any) -> None:
    """Fill `out` with period and phase of each publisher, and `kept` with whether a moment lies on
    no comb."""
    phases, whole = np.empty(MOST_COMBS), 0.0
    for row in range(len(starts) - 1):
        low, high = starts[row], starts[row + 1]
        out[row, 0], out[row, 1] = math.nan, math.nan
        rest = np.arange(low, high)
        known, teeth = math.nan, 0
        for _ in range(MOST_COMBS):
            count = len(rest)
            if count < CYCLES:
                break
            times = np.empty(count)
            for at in range(count):
                times[at] = moments[rest[at]] - since
            span = times[-1] - times[0]
            distances, size = np.empty(LAGS * count), 0
            for lag in range(1, LAGS + 1):
                for at in range(count - lag):
                    distance = times[at + lag] - times[at]
                    if 2.0 * within < distance <= span / CYCLES:
                        distances[size] = distance
                        size += 1
            ordered = np.sort(distances[:size])
            nearest = np.empty(count, dtype=np.int64)
            best, period, phase, gate, sure = 0.0, math.nan, 0.0, 0.0, False
            narrow, wide = commonest(ordered, NARROW), commonest(ordered, WIDE)
            if narrow / NARROW <= wide <= narrow * NARROW:
                wide = math.nan
            for start in (narrow, wide, known):
                for parts in range(1, DIVISORS + 1):
                    if math.isnan(start) or sure:
                        break
                    one = comb_of(times, start / parts, within, nearest)
                    if one[0] > best:
                        best, period, phase, gate, sure = one
            if best == 0.0:
                break
            if math.isnan(known):
                known, whole = period, span
            if abs(period - known) * whole <= within * known:
                phases[teeth] = phase % known
                teeth += 1
            count = nearest_of_places(times, period, phase, gate, nearest)
            for at in range(count):
                kept[rest[nearest[at]]] = False
            rest = rest[kept[rest]]
        if teeth > 0:
            out[row, 0], out[row, 1] = known, first_phase(phases[:teeth], known)


def profiles_of(activity: Activity, ids: Ints, search: Search) -> Profiles:
    """Return moments and period of each publisher of a part; `ids` are theirs among all."""
    moments = moments_of(activity, search.within_s)
    comb = np.empty((len(moments.starts) - 1, 2))
    kept = np.ones(len(moments.at_s), dtype=bool)
    combed(moments.starts, moments.at_s, activity.since_s, search.within_s, comb, kept)
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return Profiles(
        ids=np.asarray(ids, dtype=np.int64),
        starts=before[moments.starts],
        moments_s=moments.at_s[kept],
        period_s=np.ascontiguousarray(comb[:, 0]),
        phase_s=np.ascontiguousarray(comb[:, 1]),
        messages=messages_of(activity),
    )


@compiled
def crowded(phases: Any, drifts: Any, real: int, within: float, counts: Any, expected: Any) -> None:
    """Fill `counts` with how many of a family lie within `within` after each of the first `real`
    phases, and `expected` with how many of it drift as that one does.

    `phases` ascend; behind the real ones those at the beginning are repeated a period later.
    """
    lowest = drifts.min()
    bins = np.zeros(int((drifts.max() - lowest) / within) + 3, dtype=np.int64)
    every = np.zeros(len(bins), dtype=np.int64)
    for at in range(real):
        every[int((drifts[at] - lowest) / within) + 1] += 1
    high = 0
    for at in range(real):
        while high < len(phases) and phases[high] <= phases[at] + within:
            bins[int((drifts[high] - lowest) / within) + 1] += 1
            high += 1
        own = int((drifts[at] - lowest) / within) + 1
        counts[at] = bins[own - 1] + bins[own] + bins[own + 1]
        expected[at] = every[own - 1] + every[own] + every[own + 1] - 1
        bins[own] -= 1


def period_groups(
    ids: Ints, period_s: Floats, phase_s: Floats, *, duration_s: float, search: Search
) -> Sequence[PeriodGroup]:
    """Return publishers of equal period whose phases are nearer than chance explains."""
    order = np.lexsort((ids, period_s))
    order = order[~np.isnan(period_s[order])]
    if len(order) < search.smallest_group:
        return ()
    ids, periods, phases = ids[order], period_s[order], phase_s[order]
    # Neighbours that drift apart by more over the window begin another family.
    apart = np.diff(periods) / periods[1:] * duration_s > search.within_s
    cuts = [0, *(np.flatnonzero(apart) + 1).tolist(), len(order)]
    # Half of what chance may give is left to coincidences; each publisher begins one window.
    allowed = math.log(search.false_groups / 2.0 / len(order))
    groups: list[PeriodGroup] = []
    for low, high in pairwise(cuts):
        if high - low >= search.smallest_group:
            family = slice(low, high)
            groups += _family_groups(
                ids[family], periods[family], phases[family], duration_s, search, allowed
            )
    return tuple(sorted(groups, key=lambda group: int(group.ids[0])))


def _family_groups(
    ids: Ints,
    periods: Floats,
    phases: Floats,
    duration_s: float,
    search: Search,
    allowed: float,
) -> list[PeriodGroup]:
    """Return the groups of publishers of nearly one period."""
    within, period = search.within_s, float(np.median(periods))
    middle = duration_s / 2.0
    # The beat nearest to the middle of the window: there a comb is known best.
    beat = (phases + np.rint((middle - phases) / periods) * periods - middle) % period
    drift = (periods - period) * (duration_s / period)
    order = np.lexsort((ids, beat))
    ids, beat, drift = ids[order], beat[order], drift[order]
    periods, phases = periods[order], phases[order]
    real = len(ids)
    again = int(np.searchsorted(beat, 2.0 * within, side="right"))
    row = np.concatenate([np.arange(real), np.arange(again)])
    around = np.concatenate([beat, beat[:again] + period])
    counts, expected = np.empty(real, dtype=np.int64), np.empty(real, dtype=np.int64)
    crowded(around, drift[row], real, within, counts, expected)
    counts = np.minimum(counts, real)
    chance = expected * min(within / period, 1.0)
    tails = log_tail(np.maximum(counts - 1, 0), chance)
    dense = np.flatnonzero((tails < allowed) & (counts >= search.smallest_group))
    free = np.ones(real, dtype=bool)
    groups = []
    for anchor in dense[np.lexsort((ids[dense], -counts[dense]))].tolist():
        if not free[anchor]:
            continue
        end = int(np.searchsorted(around, beat[anchor] + within, side="right"))
        near = _free_like(anchor, anchor, end, row, drift, free, within)
        count = np.array([len(near) - 1])
        if len(near) < search.smallest_group:
            continue
        if log_tail(count, chance[anchor : anchor + 1])[0] >= allowed:
            continue
        leader = int(near[len(near) // 2])
        low = float(beat[leader]) - within
        first = int(np.searchsorted(around, low, side="left"))
        last = int(np.searchsorted(around, low + 2.0 * within, side="right"))
        joined = _free_like(leader, first, last, row, drift, free, within)
        if low < 0.0:
            first = int(np.searchsorted(around, low + period, side="left"))
            before = _free_like(leader, first, real, row, drift, free, within)
            joined = np.union1d(joined, before)
        density = float(expected[leader]) / period
        joined, bystanders = _crowd(joined, beat, period, float(beat[leader]), within, density)
        if len(joined) < search.smallest_group:
            continue
        leader = int(joined[len(joined) // 2])
        free[joined] = False
        groups.append(
            PeriodGroup(
                ids=np.sort(ids[joined]),
                leader=int(ids[leader]),
                period_s=float(periods[leader]),
                phase_s=float(phases[leader]),
                bystanders=bystanders,
            )
        )
    return groups


def _crowd(
    rows: Ints, beat: Floats, period: float, middle: float, within: float, density: float
) -> tuple[Ints, float]:
    """Return those rows that chance explains least, by ascending phase, and how many chance puts
    among them: of stretches of phases of several widths, up to `within` to each side of `middle`,
    the one with the least Poisson tail; `density` is that of the family a second of phases."""
    away = (beat[rows] - middle + period / 2.0) % period - period / 2.0
    order = np.lexsort((rows, away))
    rows, away = rows[order], away[order]
    begins = np.arange(len(rows))
    width, best, least = 2.0 * within, slice(0, len(rows)), math.inf
    while width > MOST_NARROW * within:
        ends = np.searchsorted(away, away + width, side="right")
        at = int(np.argmax(ends - begins))
        count = int(ends[at]) - at
        tail = float(log_tail([count - 1], [density * width])[0])
        if tail < least:
            best, least = slice(at, at + count), tail
        width *= NARROWER
    crowd = rows[best]
    # The leader is one of them anyway.
    spread = float(away[best][-1] - away[best][0])
    return crowd, density * min(spread, period)


def _free_like(
    one: int, first: int, end: int, row: Ints, drift: Floats, free: Any, within: float
) -> Ints:
    """Return the rows of a stretch of phases that no group has and that drift as `one` does."""
    rows = row[first:end]
    alike: Ints = rows[free[rows] & (np.abs(drift[rows] - drift[one]) <= within)]
    _, at = np.unique(alike, return_index=True)
    return alike[np.sort(at)]
