"""A window made into a problem of its own: few brokers, a tree before and a tree after.

It is solved forwards, and backwards from the tree after it: reversed slides are slides.
Broker 0 is the root of both trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.compiled import compiled, compiled_inside
from weir.planners.slides.beam import (
    MAX_LEVELS,
    MOVABLE,
    PLACED,
    Goals,
    Look,
    Prices,
    Start,
    Task,
    beam,
)
from weir.planners.slides.bits import chance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Int8s = NDArray[np.int8]
    Masks = NDArray[np.uint64]

U1 = np.uint64(1)


@compiled
def slide_local(parent: Ints, i: int, j: int, k: int) -> None:
    """Remove i-j, add i-k in a rooted tree of which j-k is a link."""
    if parent[i] == j:
        parent[i] = k
    else:  # j hangs below i, k below j: they change places
        parent[k] = i
        parent[j] = k


@compiled
def is_link(parent: Ints, a: int, b: int) -> bool:
    """Whether the rooted tree has the link."""
    return parent[a] == b or parent[b] == a


class Window(NamedTuple):
    """A window as a problem of its own. B brokers, of which 0 is the root of both trees."""

    before: Ints
    """(B,) parents in the tree that the window begins with; -1 for the root."""
    after: Ints
    """(B,) parents in the tree that it ends with."""
    degree_before: Ints
    """(B,) links of each broker in the whole tree before."""
    degree_after: Ints
    stays: Int8s
    """(B, B) 1 where a link must never be removed (forwards)."""
    cap: int
    """Links that a broker may have."""
    prices: Prices


@compiled_inside
def reversed_window(window: Window) -> Window:
    """Return the window of the way back."""
    return Window(
        window.after,
        window.before,
        window.degree_after,
        window.degree_before,
        window.stays,
        window.cap,
        window.prices,
    )


@compiled_inside
def _mark_path(parent: Ints, depth: Ints, a: int, b: int, bit: int, crossing: Masks) -> None:
    while a != b:
        if depth[a] < depth[b]:
            a, b = b, a
        crossing[a] |= U1 << np.uint64(bit)
        a = parent[a]


@compiled_inside
def _depths(parent: Ints) -> Ints:
    depth = np.zeros(len(parent), np.int64)
    for v in range(len(parent)):
        at, steps = v, 0
        while parent[at] >= 0:
            at = parent[at]
            steps += 1
        depth[v] = steps
    return depth


@compiled_inside
def _begun(window: Window, backwards: bool, stiff: bool) -> tuple[Start, Goals]:
    """What a beam starts with and what it has to make.

    Backwards, the window's `before` is the tree that the plan's window ends with: a link that stays
    and is in both trees is fixed, one that stays and is only in `before` leaves and may not come
    back. `stiff`: links in both trees are fixed.
    """
    before, after, stays = window.before, window.after, window.stays
    size = len(before)
    target = np.zeros((size, size), np.int64)
    forbidden = np.zeros((size, size), np.int8)
    permanent = np.zeros(64, np.int64)
    crossing = np.zeros(size, np.uint64)
    flags = np.zeros(size, np.int64)
    depth = _depths(before)
    bits = 0
    for v in range(1, size):
        p = after[v]
        kept = is_link(before, v, p)
        if kept and (stays[v, p] or stiff):
            continue
        target[v, p] = target[p, v] = bits + 1
        permanent[bits] = stays[v, p] or stiff
        _mark_path(before, depth, v, p, bits, crossing)
        bits += 1
    for v in range(1, size):
        p = before[v]
        if is_link(after, v, p):
            if not (stays[v, p] or stiff):
                flags[v] = MOVABLE | PLACED
        elif backwards or not stays[v, p]:
            flags[v] = MOVABLE
    for a in range(size):
        for b in range(size):
            if stays[a, b] and not (not backwards and is_link(after, a, b)):
                forbidden[a, b] = 1
    start = Start(before, crossing, flags, window.degree_before)
    return start, Goals(target, permanent, forbidden, window.cap)


@compiled_inside
def _look(beta: float, width: int, random: Masks) -> tuple[Look, bool]:
    """How to look this time, and whether links in both trees are fixed."""
    power = np.empty(65, np.float64)
    for n in range(65):
        power[n] = n**beta
    stiff = chance(random) < 0.5
    wide = chance(random) < 0.2
    noise = 0.0 if chance(random) < 0.5 else 0.3 * chance(random)
    return Look(power, width, wide, noise), stiff


@compiled
def solve_local(
    window: Window, backwards: bool, beta: float, width: int, limit: float, random: Masks, out: Ints
) -> tuple[int, float]:
    """Slides through the window, forwards, in `out`, for at most `limit`; (-1, inf): none.

    `backwards`: look for them from its end. `beta`, `width`: as in `beam`.
    """
    look, stiff = _look(beta, width, random)
    if not backwards:
        start, goals = _begun(window, False, stiff)
        return beam(start, Task(goals, window.prices, look), limit, random, out)
    found = np.empty((MAX_LEVELS, 3), np.int64)
    # Going back, an action makes the link that it removes going forth.
    start, goals = _begun(reversed_window(window), True, stiff)
    length, cost = beam(start, Task(goals, window.prices, look), limit, random, found)
    for at in range(length):
        back = length - 1 - at
        out[at, 0], out[at, 1], out[at, 2] = found[back, 0], found[back, 2], found[back, 1]
    return length, cost
