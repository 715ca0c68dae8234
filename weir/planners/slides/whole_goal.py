"""One goal link made at once: a removable link on its path slides into its place.

Its two ends walk apart along the path, so it takes path length - 1 slides whatever link it is.
Where a maximum degree bars the way, a link of the full broker slides aside first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled
from weir.planners.slides.bits import chance, count
from weir.planners.slides.state import SLIDES, State, bit_of, link_between, slide, walk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Int32s = NDArray[np.int32]
    Masks = NDArray[np.uint64]

LAST_CHOICE = 1e9
LONG = 40
"""Brokers of a path from which on the link to move is not chosen by the potential."""
ROOM = 3
"""Slides that one goal may take, as a multiple of the brokers."""


@compiled
def _sealed(state: State, v: int, bit: int, cap: int) -> bool:
    """Whether one more link that stays would close v to all ends while goals still cross it."""
    staying, crossed = 0, False
    at = state.child[v]
    last = False
    while not last:
        if at < 0:
            last = True
            if state.parent[v] < 0:
                continue
            e = state.link_of[v]
        else:
            e = state.link_of[at]
            at = state.right[at]
        if not state.movable[e]:
            staying += 1
        if not crossed:
            for word in range(state.crossing.shape[1]):
                goals = state.crossing[e, word]
                if word == bit >> 6:
                    goals &= ~(np.uint64(1) << np.uint64(bit & 63))
                if goals != 0:
                    crossed = True
    return crossed and staying + 1 >= cap


@compiled
def seals(state: State, bit: int, cap: int) -> bool:
    """Whether making this goal now would bar the way of others for good."""
    if cap >= len(state.parent):
        return False
    return _sealed(state, state.ends[bit, 0], bit, cap) or _sealed(
        state, state.ends[bit, 1], bit, cap
    )


@compiled
def pick_goal(state: State, failures: int, cap: int, random: Masks) -> int:
    """The unfinished goal with the shortest path; after a failure any of them.

    One that would bar the way of others waits while there is another.
    """
    bit, best = -1, np.inf
    for at in range(len(state.ends)):
        if state.length[at] == 0:
            continue
        key = float(state.length[at]) if failures == 0 else chance(random)
        if key < best or (cap < len(state.parent) and best >= LAST_CHOICE):
            if seals(state, at, cap):
                key += LAST_CHOICE
            if key < best:
                bit, best = at, key
    return bit


@compiled
def _best_link(state: State, way: Ints, size: int, power: Floats) -> int:
    """Which link of the path to move: (way[at - 1], way[at]); -1 where none may."""
    best, best_change = -1, np.inf
    for at in range(1, size):
        r = link_between(state, way[at - 1], way[at])
        if not state.movable[r]:
            continue
        change = 0.0
        if size <= LONG:
            for other in range(1, size):
                if other == at:
                    continue
                f = link_between(state, way[other - 1], way[other])
                both, over = 0, 0
                for word in range(state.crossing.shape[1]):
                    y = state.crossing[f, word]
                    both += count(state.crossing[r, word] ^ y)
                    over += count(y)
                change += power[both] - power[over]
        else:
            for word in range(state.crossing.shape[1]):
                change += count(state.crossing[r, word])
        if change < best_change:
            best, best_change = at, change
    return best


@compiled
def _note(state: State, made: Int32s, i: int, j: int, k: int) -> None:
    slide(state, i, j, k)
    done = state.control[SLIDES]
    made[done, 0], made[done, 1], made[done, 2] = i, j, k
    state.control[SLIDES] = done + 1


@compiled
def _step_aside(state: State, full: int, cap: int, random: Masks, made: Int32s) -> bool:
    """Slide a link of the full broker over another one, to a neighbour that has room."""
    best, best_i, best_k = np.inf, -1, -1
    v = state.child[full]
    first = True
    while True:
        if first:
            first = False
            i = state.parent[full]
            if i < 0:
                continue
        else:
            if v < 0:
                break
            i = v
            v = state.right[v]
        r = link_between(state, i, full)
        if not state.movable[r] or state.locked[i]:
            continue
        w = state.child[full]
        last = False
        while not last:
            if w < 0:
                k = state.parent[full]
                last = True
                if k < 0:
                    continue
            else:
                k = w
                w = state.right[w]
            if k == i or state.locked[k] or state.degree[k] >= cap:
                continue
            f = link_between(state, full, k)
            key = 4.0 * chance(random)
            for word in range(state.crossing.shape[1]):
                x, y = state.crossing[r, word], state.crossing[f, word]
                key += count(x ^ y) - count(y)
            if bit_of(state, i, k) >= 0:
                key -= 10.0
            if key < best:
                best, best_i, best_k = key, i, k
    if best_i < 0:
        return False
    _note(state, made, best_i, full, best_k)
    return True


@compiled
def make_goal(
    state: State, bit: int, cap: int, power: Floats, way: Ints, made: Int32s, most: int,
    random: Masks,
) -> bool:  # fmt: skip
    """Make the goal link; False where the maximum degree did not let it through."""
    begun = state.control[SLIDES]
    while state.length[bit] > 0:
        size = walk(state, bit, way)
        best = _best_link(state, way, size, power)
        if best < 0:
            return False
        i, j = way[best - 1], way[best]
        left, right = best - 1, best
        barred = -1
        while barred < 0 and (left > 0 or right < size - 1):
            if left > 0 and state.degree[way[left - 1]] < cap:
                _note(state, made, j, i, way[left - 1])
                left -= 1
                i = way[left]
            elif right < size - 1 and state.degree[way[right + 1]] < cap:
                _note(state, made, i, j, way[right + 1])
                right += 1
                j = way[right]
            else:
                barred = way[left - 1] if left > 0 else way[right + 1]
                if left > 0 and right < size - 1 and chance(random) < 0.5:
                    barred = way[right + 1]
        if barred < 0:
            return True
        spent = state.control[SLIDES] - begun
        if spent > (ROOM - 1) * len(state.parent) + 50 or state.control[SLIDES] > most:
            return False
        if not _step_aside(state, barred, cap, random, made):
            return False
    return True
