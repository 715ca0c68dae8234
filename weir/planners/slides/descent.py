"""The first plan: always the slide that lowers the potential most; a whole goal where none does.

The potential is the sum over links of N ** beta, N being the unfinished goals that cross the link.
Where no slide lowers it, the goal link with the shortest path is made: any removable link on the
path becomes that link in path length - 1 slides, and there is always one. Every round finishes a
goal or lowers the potential, so the descent ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled
from weir.planners.slides.bits import chance, count
from weir.planners.slides.state import (
    FINISHED,
    SLIDES,
    State,
    bit_of,
    link_between,
    slide,
)
from weir.planners.slides.whole_goal import ROOM, make_goal, pick_goal, seals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Int32s = NDArray[np.int32]
    Masks = NDArray[np.uint64]

CROWD = 48
"""Links at a broker from which on only those are looked at that share a goal."""
PATIENCE = 30
"""Goals in a row that could not be made before the descent gives up."""
NOTHING = -1e-9


@compiled
def _push(keys: Floats, items: Ints, size: int, key: float) -> int:
    """Insert `key` into the heap (smallest first); the caller stores its item at the result."""
    at = size
    while at > 0:
        up = (at - 1) // 2
        if keys[up] <= key:
            break
        keys[at] = keys[up]
        items[at] = items[up]
        at = up
    keys[at] = key
    return at


@compiled
def _pop(keys: Floats, items: Ints, size: int) -> None:
    """Remove the first entry of a heap that has `size` entries."""
    last = size - 1
    key = keys[last]
    item = items[last].copy()
    at = 0
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        if child + 1 < last and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at] = keys[child]
        items[at] = items[child]
        at = child
    keys[at] = key
    items[at] = item


@compiled
def _geometry(state: State, r: int, f: int) -> tuple[int, int, int]:
    """Return the slide (i, j, k) of link r over its neighbour f."""
    a, b = state.lower[r], state.lower[f]
    if state.parent[a] == state.parent[b]:
        return a, state.parent[a], b
    if state.parent[a] == b:
        return a, b, state.parent[b]
    return state.parent[a], a, b


@compiled
def _change(state: State, r: int, f: int, power: Floats) -> float:
    """Return how the slide of r over f changes the potential."""
    both, over, alone = 0, 0, 0
    for word in range(state.crossing.shape[1]):
        x, y = state.crossing[r, word], state.crossing[f, word]
        if x != 0:
            both += count(x ^ y)
            alone += count(x)
            over += count(y)
        elif y != 0:
            both_here = count(y)
            both += both_here
            over += both_here
    i, _, k = _geometry(state, r, f)
    change = power[both] - power[over]
    if bit_of(state, i, k) >= 0:
        change += power[alone - 1] - power[alone]
    return change


@compiled
def _next_hop(state: State, bit: int, link: int, j: int) -> int:
    """Return the link after `link` at broker j on the goal's path, or -1 where it ends at j."""
    v = state.lower[link]
    end = -1
    for side in range(2):
        at = state.ends[bit, side]
        if at == j:
            return -1
        # which link at j leads to this end?
        last = -1
        while at >= 0 and at != j:
            last = at
            at = state.parent[at]
        towards = state.link_of[last] if at == j else state.link_of[j]
        if towards != link:
            end = towards
    return end if v >= 0 else -1


@compiled
def descend(
    state: State, cap: int, beta: float, noise: float, random: Masks, most: int, whole: bool
) -> tuple[Int32s, bool]:
    """Slides to the goal, and whether they reach it (a maximum degree may stand in the way).

    `whole`: only whole goals, one after the other.
    """
    goals = len(state.ends)
    power = np.empty(goals + 2, np.float64)
    for n in range(goals + 2):
        power[n] = n**beta
    made = np.empty((max(64, 8 * goals), 3), np.int32)
    keys = np.empty(1024, np.float64)
    items = np.empty((1024, 4), np.int64)
    size = 0
    failures = 0
    changed = np.empty(len(state.parent) + 1, np.int64)
    way = np.empty(len(state.parent) + 1, np.int64)
    changes = 0
    for v in range(len(state.parent)):
        if state.parent[v] >= 0:
            changed[changes] = v
            changes += 1
    while state.control[FINISHED] < goals:
        if whole:
            changes = 0
        # candidates of the links that changed
        for at in range(changes):
            e = changed[at]
            for side in range(2):
                j = state.lower[e] if side == 0 else state.parent[state.lower[e]]
                if state.locked[j]:
                    continue
                crowded = state.degree[j] > CROWD
                v = state.child[j]
                word, left = 0, np.uint64(0)
                if crowded:
                    left = state.crossing[e, 0]
                turn = -1
                while True:
                    # the next neighbour g of e at j
                    g = -1
                    if crowded:
                        while left == 0 and word + 1 < state.crossing.shape[1]:
                            word += 1
                            left = state.crossing[e, word]
                        if left == 0:
                            break
                        low = left & (~left + np.uint64(1))
                        left ^= low
                        g = _next_hop(state, word * 64 + count(low - np.uint64(1)), e, j)
                    elif turn < 0:
                        turn = 0
                        if state.parent[j] >= 0:
                            g = state.link_of[j]
                    else:
                        if v < 0:
                            break
                        g = state.link_of[v]
                        v = state.right[v]
                    if g < 0 or g == e:
                        continue
                    for way_round in range(2):
                        r, f = (e, g) if way_round == 0 else (g, e)
                        if not state.movable[r]:
                            continue
                        i, _, k = _geometry(state, r, f)
                        if state.locked[i] or state.locked[k] or state.degree[k] >= cap:
                            continue
                        key = _change(state, r, f, power)
                        if key >= NOTHING:
                            continue
                        if noise > 0.0:
                            key *= 1.0 + noise * chance(random)
                        if size == len(keys):
                            more_keys = np.empty(2 * size, np.float64)
                            more_items = np.empty((2 * size, 4), np.int64)
                            more_keys[:size] = keys
                            more_items[:size] = items
                            keys, items = more_keys, more_items
                        place = _push(keys, items, size, key)
                        size += 1
                        items[place, 0], items[place, 1] = r, f
                        items[place, 2], items[place, 3] = state.version[r], state.version[f]
        changes = 0
        # the best candidate that is still true
        found = False
        r = f = -1
        while size > 0 and not found:
            r, f = items[0, 0], items[0, 1]
            found = state.version[r] == items[0, 2] and state.version[f] == items[0, 3]
            _pop(keys, items, size)
            size -= 1
            if found:
                i, j, k = _geometry(state, r, f)
                found = state.degree[k] < cap
                bit = bit_of(state, i, k)
                if found and bit >= 0 and seals(state, bit, cap):
                    found = False
        done = state.control[SLIDES]
        if done + ROOM * len(state.parent) + 200 > len(made):
            more = np.empty((2 * len(made) + ROOM * len(state.parent) + 200, 3), np.int32)
            more[:done] = made[:done]
            made = more
        if done > most:
            return made[:done], False
        if found:
            slide(state, i, j, k)
            made[done, 0], made[done, 1], made[done, 2] = i, j, k
            state.control[SLIDES] += 1
            changed[0], changed[1] = r, f
            changes = 2
            continue
        bit = pick_goal(state, failures, cap, random)
        if make_goal(state, bit, cap, power, way, made, most, random):
            failures = 0
        else:
            failures += 1
            if failures > PATIENCE or state.control[SLIDES] > most:
                return made[: state.control[SLIDES]], False
        # the slides of a whole goal change many links: look at all of them that still matter
        changes = 0
        for at in range(done, state.control[SLIDES]):
            i, j, k = made[at, 0], made[at, 1], made[at, 2]
            for a, b in ((i, k), (j, k)):
                if state.parent[a] == b or state.parent[b] == a:
                    e = link_between(state, a, b)
                    if not state.mark[state.lower[e]]:
                        state.mark[state.lower[e]] = 1
                        changed[changes] = e
                        changes += 1
        for at in range(changes):
            state.mark[state.lower[changed[at]]] = 0
    return made[: state.control[SLIDES]], True
