"""What the window of an adaptation says of each broker's traffic, since its last sharp change.

A change lies where the counts before and after it differ by more than they scatter: Student's t of
the square roots of the counts, whose variance is the dispersion phi whatever the rate (Anscombe),
over all places at once at MISTAKEN. Batches scatter by phi = their size: they raise no alarm, and a
change must be larger to be seen among them. The interval in which the change fell is of both and
left out. phi is estimated within the stretches between changes, so that a change does not hide
itself, and with that of the topic's other brokers, as ten intervals say little.

Reference: F. J. Anscombe. The transformation of Poisson, binomial and negative-binomial data.
Biometrika 35, 1948. doi:10.1093/biomet/35.3-4.246
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from scipy.special import stdtrit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from weir.placement.adaptation import Interval

MISTAKEN = 1e-4
"""Chance to see a change in a window where there is none."""

SINGLE = 0.1
"""Of that chance, what is left to a change that one interval shows: demand would be its alone."""

AGED = 1e-2
"""That chance where the change left more than half of the window: few old intervals are no proof,
but are not missed either."""

BORROWED = 6.0
"""Intervals that the dispersion of all brokers counts in that of one: few intervals say little."""


@dataclass(slots=True, kw_only=True)
class Traffic:
    """What the window says of one broker."""

    demand: float
    """Messages per second since the last change."""
    seconds: float
    """What `demand` is the mean of."""
    intervals: int
    has_changed: bool
    differences: int
    """Pairs of neighbouring intervals, from which `dispersion` is."""
    dispersion: float
    """Variance of counts over their mean; 1: Poisson."""
    waiting: float
    waited: float
    """Messages that waited at most in the window."""
    work: tuple[float, float]
    """Largest unfinished work since the last change, in the older and the newer half."""


def measured_traffic(history: Mapping[str, Sequence[Interval]]) -> dict[str, Traffic]:
    """Return what the window says of each broker."""
    series = {
        name: _Series([row for row in rows if row.seconds > 0.0]) for name, rows in history.items()
    }
    left = [max(1.0, _split(each.roots, each.weights).scatter) for each in series.values()]
    usual = median(left) if left else 1.0
    traffic = {name: _traffic_of(each, usual) for name, each in series.items()}
    # Few intervals say little: there the usual dispersion counts in.
    usual = median(each.dispersion for each in traffic.values()) if traffic else 1.0
    for each in traffic.values():
        own = each.dispersion * each.differences + usual * BORROWED
        each.dispersion = own / (each.differences + BORROWED)
    return traffic


class _Series:
    """The counts of one broker as numbers whose variance is the dispersion, whatever the rate."""

    def __init__(self, rows: Sequence[Interval]) -> None:
        self.rows = rows
        self.roots = [
            2.0 * math.sqrt((max(0.0, row.arrived) + 0.375) / row.seconds) for row in rows
        ]
        self.weights = [row.seconds for row in rows]


def _traffic_of(series: _Series, usual: float) -> Traffic:
    """Return what the window says of a broker; `usual`: the dispersion of the topic's brokers."""
    rows, first = series.rows, 0
    roots, weights = series.roots, series.weights
    squares: list[float] = []
    has_changed = False
    while True:
        place, is_sure = _change(roots[first:], weights[first:], usual)
        if not place:
            break
        squares += _differences(roots[first : first + place], weights[first : first + place])
        first += place
        has_changed |= is_sure
    if first > 0 and first + 1 < len(rows):
        first += 1  # the interval in which the change fell is of both
    squares += _differences(roots[first:], weights[first:])
    recent = rows[first:]
    seconds = math.fsum(row.seconds for row in recent)
    dispersion = math.fsum(squares) / len(squares) if squares else usual
    return Traffic(
        demand=math.fsum(max(0.0, row.arrived) for row in recent) / seconds,
        seconds=seconds,
        intervals=len(recent),
        has_changed=has_changed,
        differences=len(squares),
        dispersion=max(1.0, dispersion),
        waiting=max(0.0, rows[-1].waiting),
        waited=max(0.0, *(row.waiting for row in rows)),
        work=(_peak(recent[: (len(recent) + 1) // 2]), _peak(recent[len(recent) // 2 :])),
    )


def _differences(roots: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return squares of the differences of neighbours, each with the dispersion as its mean: a slow
    change of the rate hardly shows in them."""
    return [
        (y - x) ** 2 / (1.0 / v + 1.0 / w)
        for (x, v), (y, w) in pairwise(zip(roots, weights, strict=True))
    ]


def _peak(rows: Sequence[Interval]) -> float:
    return max(0.0, *(row.work_peak for row in rows))


class _Split(NamedTuple):
    """Where the means before and after differ most."""

    place: int = 0
    """The first interval after it."""
    between: float = 0.0
    """Sum of squares that it explains."""
    scatter: float = 1.0
    """Variance that it leaves."""


def _split(roots: Sequence[float], weights: Sequence[float]) -> _Split:
    count = len(roots)
    if count < 3:
        return _Split()
    whole = math.fsum(weights)
    mean = math.fsum(w * y for w, y in zip(weights, roots, strict=True)) / whole
    squares = math.fsum(w * (y - mean) ** 2 for w, y in zip(weights, roots, strict=True))
    place, largest, weight, total = 0, 0.0, 0.0, 0.0
    for at in range(1, count):
        weight += weights[at - 1]
        total += weights[at - 1] * (roots[at - 1] - mean)
        # The sum after `at` is that before it, negative.
        between = total * total * (1.0 / weight + 1.0 / (whole - weight))
        if between > largest:
            place, largest = at, between
    return _Split(place, largest, max(0.0, squares - largest) / (count - 2))


def _change(roots: Sequence[float], weights: Sequence[float], usual: float) -> tuple[int, bool]:
    """Return the first place from which the mean is another one, 0: nowhere, and whether that is
    beyond doubt."""
    count = len(roots)
    if count < 3:
        return 0, False
    split = _split(roots, weights)
    sure, enough = MISTAKEN, MISTAKEN
    if split.place == count - 1:
        sure = enough = MISTAKEN * SINGLE
    elif 2 * split.place <= count:
        enough = AGED
    t_squared = split.between / max(usual, split.scatter)
    if t_squared <= _least_t(count, enough) ** 2:
        return 0, False
    return split.place, t_squared > _least_t(count, sure) ** 2


@cache
def _least_t(count: int, chance: float) -> float:
    """Return Student's t that chance exceeds at one of all places; the variance is known as from
    two brokers."""
    return float(stdtrit(2 * (count - 2), 1.0 - chance / (2.0 * (count - 1))))
