"""Compiled: fill one step with slides that may run together, by their worth for all open goals.

What a slide does to the ways of open goals, and what that is worth, is said in `crossings`. Links
that may move are numbered first, those that never move after them; `fixed` says of the first kind
which have become goal links.

A link slides once in a step and is then nobody's pivot, and a pivot does not slide. So where both
are does not change until one of them is used, and the slides that a step has to choose from are
listed once.
"""

from __future__ import annotations

import numpy as np

from weir.compiled import compiled
from weir.planners.slides.bits import ONE
from weir.planners.slides.stepping.crossings import NONE, WORD, Worths, carry_out, lowest, survey
from weir.planners.slides.stepping.crossings import worth as worth_of

FREE, PIVOT, MOVED, MADE = 0, 1, 2, 3
OPTIONS = 24
"""Slides that are looked at, per link that may move, on the average."""


@compiled
def _around(ends: np.ndarray, brokers: int) -> tuple[np.ndarray, np.ndarray]:
    """Per broker its links: places into the second array, and there twice the link plus the end."""
    first = np.zeros(brokers + 2, np.int32)
    for f in range(ends.shape[0]):
        first[ends[f, 0] + 2] += 1
        first[ends[f, 1] + 2] += 1
    for b in range(brokers):
        first[b + 2] += first[b + 1]
    there = np.empty(2 * ends.shape[0], np.int32)
    for f in range(ends.shape[0]):
        for side in range(2):
            b = ends[f, side] + 1
            there[first[b]] = 2 * f + side
            first[b] += 1
    return first, there


@compiled
def _is_barred(i: int, k: int, brokers: int, barred: np.ndarray) -> bool:
    key = min(i, k) * brokers + max(i, k)
    at = np.searchsorted(barred, key)
    return bool(at < barred.shape[0] and barred[at] == key)


@compiled
def _share_a_way(rows: np.ndarray, r: int, f: int) -> bool:
    shared = NONE
    for word in range(rows.shape[1]):
        shared |= rows[r, word] & rows[f, word]
    return bool(shared != NONE)


@compiled
def _options(
    ends: np.ndarray,
    rows: np.ndarray,
    fixed: np.ndarray,
    room: np.ndarray,
    frozen: np.ndarray,
    barred: np.ndarray,
    skip: float,
    hitch: bool,
) -> np.ndarray:
    """Slides (r, i, j, k, f) along an open way, but a share `skip` of them.

    `hitch`: those onto another link that may move, too, though no way goes on there.
    """
    movable, brokers = fixed.shape[0], room.shape[0]
    first, there = _around(ends, brokers)
    found = np.empty((OPTIONS * movable + 8, 5), np.int32)
    count = 0
    for r in range(movable):
        if fixed[r]:
            continue
        for side in range(2):
            i, j = ends[r, 1 - side], ends[r, side]
            if frozen[i] or frozen[j]:
                continue
            for at in range(first[j], first[j + 1]):
                f = there[at] // 2
                k = ends[f, 1 - there[at] % 2]
                if f == r or frozen[k] or room[k] <= 0 or count == found.shape[0]:
                    continue
                onto = hitch and f < movable and not fixed[f]
                if not onto and not _share_a_way(rows, r, f):
                    continue
                if barred.shape[0] and _is_barred(i, k, brokers, barred):
                    continue
                if skip > 0 and np.random.random() < skip:
                    continue
                found[count, 0] = r
                found[count, 1] = i
                found[count, 2] = j
                found[count, 3] = k
                found[count, 4] = f
                count += 1
    return found[:count]


@compiled
def _allows(slide: np.ndarray, state: np.ndarray, busy: np.ndarray, room: np.ndarray) -> bool:
    """Whether the slide may share the step with those that are in it."""
    r, i, j, k, f = slide
    if state[r] != FREE or (f < state.shape[0] and state[f] >= MOVED) or room[k] <= 0:
        return False
    return not (busy[i] or busy[j] or busy[k])


@compiled
def _take(
    slide: np.ndarray,
    state: np.ndarray,
    busy: np.ndarray,
    room: np.ndarray,
    disjoint: bool,
    made: bool,
) -> None:
    r, i, j, k, f = slide
    state[r] = MADE if made else MOVED
    if f < state.shape[0]:
        state[f] = PIVOT
    room[k] -= 1
    if disjoint:
        busy[i] = busy[j] = busy[k] = True


@compiled
def fill(
    ends: np.ndarray,
    rows: np.ndarray,
    length: np.ndarray,
    fixed: np.ndarray,
    room: np.ndarray,
    frozen: np.ndarray,
    barred: np.ndarray,
    disjoint: bool,
    worths: Worths,
    noise: float,
    skip: float,
    least: float,
    hitch: bool,
    taken: np.ndarray,
) -> int:
    """Fill one step, in place; the slides (i, j, k) are written to `taken`, their number returned.

    Slides are taken by falling worth (times a random factor), each valued anew when its turn
    comes, in passes until nothing more is worth taking; none makes a link of `barred` (numbers
    smaller broker times brokers plus larger one, sorted). When nothing at all is, one slide that
    brings the nearest goal nearer is taken, so that a plan never stands still.
    """
    movable, brokers = fixed.shape[0], room.shape[0]
    state = np.zeros(movable, np.int8)
    for r in range(movable):
        if fixed[r]:
            state[r] = PIVOT
    busy = np.zeros(brokers, np.bool_)
    start_room = room.copy()
    crossing = np.empty(ends.shape[0], np.int32)
    load = np.empty(brokers)
    survey(ends, rows, worths.bundle, crossing, load)
    found = _options(ends, rows, fixed, room, frozen, barred, skip, hitch)
    values = np.empty(found.shape[0])
    places = np.empty(found.shape[0], np.int32)
    count = 0
    while True:
        worthy = 0
        for c in range(found.shape[0]):
            if _allows(found[c], state, busy, room):
                value = worth_of(rows, length, crossing, load, found[c], worths)
                if value > least:
                    if noise > 0:
                        value *= 1.0 + noise * np.random.random()
                    values[worthy] = -value
                    places[worthy] = c
                    worthy += 1
        before = count
        for at in np.argsort(values[:worthy]):
            slide = found[places[at]]
            if not _allows(slide, state, busy, room):
                continue
            if worth_of(rows, length, crossing, load, slide, worths) <= least:
                continue
            made = carry_out(ends, rows, length, crossing, load, slide, worths.bundle)
            _take(slide, state, busy, room, disjoint, made)
            taken[count] = slide[1:4]
            count += 1
        if count == before:
            break
    if count == 0:
        at = _nearest(rows, length, found, worths.pull.shape[0])
        if at >= 0:
            made = carry_out(ends, rows, length, crossing, load, found[at], worths.bundle)
            _take(found[at], state, busy, room, disjoint, made)
            taken[0] = found[at, 1:4]
            count = 1
    for r in range(movable):
        if state[r] == MADE:
            fixed[r] = True
    # Departures make room only in the next step: within this one any order is possible.
    for c in range(count):
        start_room[taken[c, 2]] -= 1
        start_room[taken[c, 1]] += 1
    room[:] = start_room
    return count


@compiled
def _nearest(rows: np.ndarray, length: np.ndarray, found: np.ndarray, longest: int) -> int:
    """The slide that shortens the shortest open way; -1 where none does."""
    for g in range(length.shape[0]):  # longer than there are values for: better no step
        if length[g] + 1 >= longest:
            return -1
    best, way = -1, 1 << 30
    for c in range(found.shape[0]):
        r, f = found[c, 0], found[c, 4]
        for word in range(rows.shape[1]):
            both = rows[r, word] & rows[f, word]
            while both != NONE:
                n = length[WORD * word + lowest(both)]
                both &= both - ONE
                if n < way:
                    best, way = c, n
    return best
