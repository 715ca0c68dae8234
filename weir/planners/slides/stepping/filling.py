"""Compiled: fill one step with slides that may run together, by their worth for all open goals.

What a slide does to the ways of open goals, and what that is worth, is said in `crossings`. Links
that may move are numbered first, those that never move after them.

A link slides once in a step and is then nobody's pivot, and a pivot does not slide. So where both
are does not change until one of them is used, and the slides that a step has to choose from are
listed once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weir.compiled import compiled, compiled_inside
from weir.planners.slides.bits import ONE
from weir.planners.slides.stepping.crossings import (
    NONE,
    WORD,
    Loads,
    State,
    Worths,
    carry_out,
    lowest,
    survey,
)
from weir.planners.slides.stepping.crossings import worth as worth_of

FREE, PIVOT, MOVED, MADE = 0, 1, 2, 3
OPTIONS = 24
"""Slides that are looked at, per link that may move, on the average."""


class Rules(NamedTuple):
    """What the problem allows every step; B brokers."""

    frozen: np.ndarray
    """(B,) bool: brokers that take part in nothing."""
    barred: np.ndarray
    """int64: links that no slide may make, as smaller broker times B plus larger one, sorted."""
    disjoint: bool
    """Whether the slides of a step may have no broker in common."""


class Choice(NamedTuple):
    """How the slides of a step are picked."""

    noise: float
    """Worths are multiplied by up to one plus this."""
    skip: float
    """Share of the slides that is left out at random."""
    least: float
    """A slide is taken above this worth; below 0 it may lengthen more than it shortens."""
    hitch: bool
    """Whether links slide onto others that may move although no way goes on there."""


class Step(NamedTuple):
    """What the slides that are in the step already leave to others; G links that may move."""

    role: np.ndarray
    """(G,) int8: FREE, PIVOT, MOVED or MADE (moved, and is a goal link now)."""
    busy: np.ndarray
    """(B,) bool: brokers that take part in a slide, where a step's slides share none."""


@compiled_inside
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


@compiled_inside
def _is_barred(i: int, k: int, brokers: int, barred: np.ndarray) -> bool:
    key = min(i, k) * brokers + max(i, k)
    at = np.searchsorted(barred, key)
    return bool(at < barred.shape[0] and barred[at] == key)


@compiled_inside
def _share_a_way(rows: np.ndarray, r: int, f: int) -> bool:
    shared = NONE
    for word in range(rows.shape[1]):
        shared |= rows[r, word] & rows[f, word]
    return bool(shared != NONE)


@compiled_inside
def _options(state: State, rules: Rules, choice: Choice) -> np.ndarray:
    """Slides (r, i, j, k, f) along an open way, but a share `skip` of them.

    With `hitch` also those onto another link that may move, though no way goes on there.
    """
    ends, rows, fixed, room = state.ends, state.rows, state.fixed, state.room
    frozen, barred = rules.frozen, rules.barred
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
                onto = choice.hitch and f < movable and not fixed[f]
                if not onto and not _share_a_way(rows, r, f):
                    continue
                if barred.shape[0] and _is_barred(i, k, brokers, barred):
                    continue
                if choice.skip > 0 and np.random.random() < choice.skip:
                    continue
                found[count, 0] = r
                found[count, 1] = i
                found[count, 2] = j
                found[count, 3] = k
                found[count, 4] = f
                count += 1
    return found[:count]


@compiled_inside
def _empty_step(state: State) -> Step:
    role = np.zeros(state.fixed.shape[0], np.int8)
    for r in range(role.shape[0]):
        if state.fixed[r]:
            role[r] = PIVOT
    return Step(role, np.zeros(state.room.shape[0], np.bool_))


@compiled_inside
def _allows(step: Step, slide: np.ndarray, room: np.ndarray) -> bool:
    """Whether the slide may share the step with those that are in it."""
    r, i, j, k, f = slide
    role, busy = step.role, step.busy
    if role[r] != FREE or (f < role.shape[0] and role[f] >= MOVED) or room[k] <= 0:
        return False
    return not (busy[i] or busy[j] or busy[k])


@compiled_inside
def _take(step: Step, slide: np.ndarray, room: np.ndarray, disjoint: bool, made: bool) -> None:
    r, i, j, k, f = slide
    role, busy = step.role, step.busy
    role[r] = MADE if made else MOVED
    if f < role.shape[0]:
        role[f] = PIVOT
    room[k] -= 1
    if disjoint:
        busy[i] = busy[j] = busy[k] = True


@compiled_inside
def _worthy(
    state: State, loads: Loads, step: Step, options: np.ndarray, worths: Worths, choice: Choice
) -> np.ndarray:
    """The places of the options that are worth taking, by falling worth times a random factor."""
    values = np.empty(options.shape[0])
    places = np.empty(options.shape[0], np.int32)
    count = 0
    for c in range(options.shape[0]):
        if _allows(step, options[c], state.room):
            value = worth_of(state, loads, options[c], worths)
            if value > choice.least:
                if choice.noise > 0:
                    value *= 1.0 + choice.noise * np.random.random()
                values[count] = -value
                places[count] = c
                count += 1
    return places[np.argsort(values[:count])]


@compiled
def fill(state: State, rules: Rules, worths: Worths, choice: Choice, taken: np.ndarray) -> int:
    """Fill one step, in place; the slides (i, j, k) are written to `taken`, their number returned.

    Slides are taken by falling worth (times a random factor), each valued anew when its turn
    comes, in passes until nothing more is worth taking. When nothing at all is, one slide that
    brings the nearest goal nearer is taken, so that a plan never stands still.
    """
    step = _empty_step(state)
    start_room = state.room.copy()
    loads = survey(state, worths.bundle)
    options = _options(state, rules, choice)
    count = 0
    while True:
        before = count
        for at in _worthy(state, loads, step, options, worths, choice):
            slide = options[at]
            if not _allows(step, slide, state.room):
                continue
            if worth_of(state, loads, slide, worths) <= choice.least:
                continue
            made = carry_out(state, loads, slide, worths.bundle)
            _take(step, slide, state.room, rules.disjoint, made)
            taken[count] = slide[1:4]
            count += 1
        if count == before:
            break
    if count == 0:
        at = _nearest(state.rows, state.length, options, worths.pull.shape[0])
        if at >= 0:
            made = carry_out(state, loads, options[at], worths.bundle)
            _take(step, options[at], state.room, rules.disjoint, made)
            taken[0] = options[at, 1:4]
            count = 1
    for r in range(step.role.shape[0]):
        if step.role[r] == MADE:
            state.fixed[r] = True
    # Departures make room only in the next step: within this one any order is possible.
    for c in range(count):
        start_room[taken[c, 2]] -= 1
        start_room[taken[c, 1]] += 1
    state.room[:] = start_room
    return count


@compiled_inside
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
