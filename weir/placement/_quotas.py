"""How much of a topic each broker takes: fewest brokers, then levels by water-filling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

HALVINGS = 200
SEARCHED = 24
"""Publishers up to which an exhaustive search decides whether they fit."""

MOST_NODES = 200_000
ROUNDING = 1e-9
"""Relative: what rounding may add to a sum of rates without exceeding a capacity."""


def by_room(room: Floats, names: list[str]) -> list[int]:
    """Return the brokers with room, those with most first (SRTM, section 4.2, step 1)."""
    with_room = np.flatnonzero(room > 0).tolist()
    return sorted(with_room, key=lambda at: (-room[at], names[at]))


def fewest(order: list[int], room: Floats, load: float) -> int:
    """Return how many of the first brokers have room for the load; all where none have."""
    within = np.cumsum(room[order])
    enough = np.flatnonzero(within * (1.0 + ROUNDING) >= load)
    return int(enough[0]) + 1 if len(enough) else len(order)


def levelled(total: float, least: Floats, most: Floats, base: Floats) -> Floats:
    """Return amounts between `least` and `most` that add up to `total` and make base + amount equal
    wherever the bounds allow it: water-filling.

    With a base of 0 this maximizes the least amount (max-min); the paper's min(room, rate / k)
    does not add up to the rate where a broker has less room than its share. With what is
    allocated as the base it evens out total loads.
    """
    if not len(least):
        return least.copy()
    total = min(max(total, float(least.sum())), float(most.sum()))
    low, high = float((least + base).min()), float((most + base).max())
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if float(np.clip(middle - base, least, most).sum()) < total:
            low = middle
        else:
            high = middle
    return np.clip(high - base, least, most)


def whole_levelled(total: int, least: Counts, most: Counts, base: Floats) -> Counts:
    """Return whole amounts of that kind: no two could come closer to a level by moving one."""
    real = levelled(float(total), least.astype(float), most.astype(float), base)
    amounts = np.clip(np.floor(real + ROUNDING).astype(np.int64), least, most)
    missing = total - int(amounts.sum())
    while missing > 0:
        # One each to the lowest that have room.
        open_at = np.flatnonzero(amounts < most)
        if not len(open_at):
            break
        lowest = open_at[np.argsort(amounts[open_at] + base[open_at], kind="stable")]
        amounts[lowest[:missing]] += 1
        missing -= min(missing, len(lowest))
    while missing < 0:
        open_at = np.flatnonzero(amounts > least)
        if not len(open_at):
            break
        highest = open_at[np.argsort(-(amounts[open_at] + base[open_at]), kind="stable")]
        amounts[highest[:-missing]] -= 1
        missing += min(-missing, len(highest))
    return amounts


def whole_room(room: Floats, load: float, most: int) -> Counts:
    """Return how many publishers of this load each broker has room for, `most` at most."""
    return np.minimum(np.floor(room / load * (1.0 + ROUNDING)), float(most)).astype(np.int64)


def brokers_needed(loads: Floats, max_rate: float) -> int | None:
    """Return how many empty brokers of this capacity hold the loads; None where one is too large.

    Exact for equal loads and for few; for others the first that fits, largest first, which needs at
    most 11/9 of the fewest and one more.
    """
    slack = max_rate * ROUNDING
    if not len(loads) or max_rate <= 0 or float(loads.max()) > max_rate + slack:
        return None
    if float(np.ptp(loads)) == 0.0:
        room = whole_room(np.array([max_rate]), float(loads[0]), len(loads))
        return math.ceil(len(loads) / int(room[0]))
    enough = int(first_fit(np.sort(loads)[::-1].copy(), max_rate, slack))
    if len(loads) <= SEARCHED:
        least = math.ceil(float(loads.sum()) / max_rate * (1.0 - ROUNDING))
        for count in range(max(least, 1), enough):
            if packing(loads, np.full(count, max_rate)) is not None:
                return count
    return enough


@compiled
def first_fit(loads: Any, room: float, slack: float) -> int:
    """Return how many brokers the loads fill, each into the first with room for it."""
    left = np.empty(len(loads))
    used, first = 0, 0
    smallest = loads[-1]
    for load in loads:
        while first < used and left[first] + slack < smallest:
            first += 1
        at = first
        while at < used and left[at] + slack < load:
            at += 1
        if at == used:
            left[used] = room
            used += 1
        left[at] -= load
    return used


def packing(amount: Floats, room: Floats) -> Counts | None:
    """Return a broker for each of a few publishers such that all fit; None where none was found."""
    order = np.argsort(-amount, kind="stable").tolist()
    left = room.tolist()
    slack = (room * ROUNDING).tolist()
    out = [-1] * len(order)
    nodes = 0

    def fits(depth: int) -> bool:
        nonlocal nodes
        if depth == len(order):
            return True
        nodes += 1
        if nodes > MOST_NODES:
            return False
        publisher = order[depth]
        need = float(amount[publisher])
        tried: set[float] = set()
        for b in sorted(range(len(left)), key=lambda at: left[at]):
            if need > left[b] + slack[b] or left[b] in tried:
                continue
            tried.add(left[b])
            before = left[b]
            left[b] = before - need
            out[publisher] = b
            if fits(depth + 1):
                return True
            left[b] = before
        out[publisher] = -1
        return False

    return np.array(out, dtype=np.int64) if fits(0) else None
