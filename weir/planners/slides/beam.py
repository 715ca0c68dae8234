"""Search windows of a plan, a few brokers each, with a beam search over slides.

A tree is kept rooted at broker 0; the link of broker v is the one to its parent. `crossing[v]`
holds, as bits, the goals whose path crosses that link. Sliding link r over its neighbour f leaves
every such set as it is but one: crossing[f] becomes crossing[f] xor crossing[r], because r cuts
the tree into the same two parts before and after. So a slide is judged by two sets and costs O(1).

All states of a level have the same number of slides. They are ranked by what they cost so far plus
the sum of N ** beta over the links, N being the number of unfinished goals that cross it; beta
below 1 makes a link that many share cheap, which is what lets links hitch onto one mover.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled
from weir.planners.slides.bits import chance, count, scrambled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Small = NDArray[np.int8]
    Masks = NDArray[np.uint64]

MOVABLE, PLACED = 1, 2
"""Flags of a link: may be removed; is a goal that may be removed again, so its bit stays set."""

MAX_WIDTH, MAX_LEVELS, MAX_LOCAL = 64, 96, 32
SEEN, PROBES = 1 << 13, 16
EPS = 1e-9
DONE_FIRST = 1e15
U1, U32 = np.uint64(1), np.uint64(32)


@compiled
def link_key(a: int, b: int) -> np.uint64:
    """Return a hash of the undirected link."""
    low, high = min(a, b), max(a, b)
    return scrambled((np.uint64(high) << U32) | np.uint64(low))


@compiled
def _sift_down(key: Floats, item: Ints, size: int, at: int) -> None:
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and key[child + 1] > key[child]:
            child += 1
        if key[child] <= key[at]:
            return
        key[child], key[at] = key[at], key[child]
        item[child], item[at] = item[at], item[child]
        at = child


@compiled
def _sift_up(key: Floats, item: Ints, at: int) -> None:
    while at > 0:
        up = (at - 1) // 2
        if key[up] >= key[at]:
            return
        key[up], key[at] = key[at], key[up]
        item[up], item[at] = item[at], item[up]
        at = up


@compiled
def beam(
    size: int,
    parent0: Ints,
    crossing0: Masks,
    flags0: Ints,
    degree0: Ints,
    cap: int,
    target: Ints,
    permanent: Ints,
    forbidden: Small,
    price: float,
    broker_price: Floats,
    link_price: Floats,
    cheapest: float,
    power: Floats,
    width: int,
    limit: float,
    wide: bool,
    noise: float,
    random: Masks,
    out: Ints,
) -> tuple[int, float]:
    """Slides that make every target link, for at most `limit`; (their number, cost) or (-1, inf).

    target[a, b] - 1 is the bit of a wanted link (0: none); permanent[bit] says that it stays once
    made; forbidden[a, b]: must not be made. Slides go to out[0..], each (broker, source, to).
    """
    parent = np.empty((2, width, size), np.int8)
    crossing = np.empty((2, width, size), np.uint64)
    flags = np.empty((2, width, size), np.uint8)
    degree = np.empty((2, width, size), np.int32)
    open_goals = np.empty((2, width), np.int64)
    spent = np.empty((2, width), np.float64)
    potential = np.empty((2, width), np.float64)
    hashes = np.empty((2, width), np.uint64)
    came = np.empty((MAX_LEVELS, width), np.int64)
    made = np.empty((MAX_LEVELS, width, 3), np.int8)
    seen = np.zeros(SEEN, np.uint64)
    seen_level = np.full(SEEN, -1, np.int64)
    heap_key = np.empty(width, np.float64)
    heap_item = np.empty(width, np.int64)
    # a candidate kept in the heap: state, node of r, node of f, case, and its values
    kept = np.empty((width, 4), np.int64)
    kept_spent = np.empty(width, np.float64)
    kept_potential = np.empty(width, np.float64)
    kept_open = np.empty(width, np.int64)
    kept_hash = np.empty(width, np.uint64)

    # the start
    start_potential, start_open, start_hash = 0.0, 0, np.uint64(0)
    for v in range(size):
        parent[0, 0, v] = parent0[v]
        crossing[0, 0, v] = crossing0[v]
        flags[0, 0, v] = flags0[v]
        degree[0, 0, v] = degree0[v]
        if v > 0:
            start_hash ^= link_key(v, parent0[v])
            n = count(crossing0[v])
            if flags0[v] & PLACED:
                n -= 1
            start_potential += power[n]
    for a in range(size):
        for b in range(a):
            if target[a, b] > 0:
                there = (a > 0 and parent0[a] == b) or (b > 0 and parent0[b] == a)
                if not there:
                    start_open += 1
    open_goals[0, 0] = start_open
    spent[0, 0] = 0.0
    potential[0, 0] = start_potential
    hashes[0, 0] = start_hash
    states, now = 1, 0
    best_level, best_item, best_cost = -1, -1, np.inf
    if start_open == 0:
        return 0, 0.0

    for level in range(MAX_LEVELS):
        filled = 0
        for s in range(states):
            for v in range(1, size):
                if not flags[now, s, v] & MOVABLE:
                    continue
                p = parent[now, s, v]
                mr = crossing[now, s, v]
                raw = count(mr)
                nr = raw - 1 if flags[now, s, v] & PLACED else raw
                for w in range(size):
                    if w == v:
                        continue
                    if w > 0 and parent[now, s, w] == p:
                        f, i, j, k, case = w, v, int(np.int64(p)), w, 0
                    elif w > 0 and parent[now, s, w] == v:
                        f, i, j, k, case = w, int(np.int64(p)), v, w, 1
                    elif p > 0 and parent[now, s, p] == w:
                        f, i, j, k, case = int(np.int64(p)), v, int(np.int64(p)), w, 0
                    else:
                        continue
                    if forbidden[i, k] or degree[now, s, k] >= cap:
                        continue
                    mf = crossing[now, s, f]
                    if not wide and mf & mr == 0 and not flags[now, s, f] & MOVABLE:
                        continue
                    cost = spent[now, s] + price + broker_price[i] + broker_price[j]
                    cost += broker_price[k] + link_price[i, k]
                    left = open_goals[now, s]
                    if raw != nr:
                        left += 1
                    nr2 = raw
                    if target[i, k] > 0:
                        left -= 1
                        nr2 = raw - 1
                    if cost + left * cheapest > limit:
                        continue
                    nf, nf2 = count(mf), count(mf ^ mr)
                    if flags[now, s, f] & PLACED:
                        nf, nf2 = nf - 1, nf2 - 1
                    phi = potential[now, s] + power[nf2] - power[nf] + power[nr2] - power[nr]
                    key = phi + cost / cheapest
                    if noise > 0.0:
                        key += noise * chance(random)
                    if left == 0:
                        key = cost - DONE_FIRST
                    if filled == width and key >= heap_key[0]:
                        continue
                    h = hashes[now, s] ^ link_key(i, j) ^ link_key(i, k)
                    slot = int(np.int64(h & np.uint64(SEEN - 1)))
                    known = False
                    for _ in range(PROBES):
                        if seen_level[slot] != level:
                            break
                        if seen[slot] == h:
                            known = True
                            break
                        slot = (slot + 1) & (SEEN - 1)
                    if known:
                        continue
                    seen[slot] = h
                    seen_level[slot] = level
                    if filled < width:
                        at = filled
                        item = filled
                        filled += 1
                        heap_key[at] = key
                        heap_item[at] = item
                        _sift_up(heap_key, heap_item, at)
                    else:
                        item = heap_item[0]
                        heap_key[0] = key
                        _sift_down(heap_key, heap_item, filled, 0)
                    kept[item, 0] = s
                    kept[item, 1] = v
                    kept[item, 2] = f
                    kept[item, 3] = case
                    kept_spent[item] = cost
                    kept_potential[item] = phi
                    kept_open[item] = left
                    kept_hash[item] = h
                    if left == 0:
                        # kept whatever follows: only cheaper ones may come after it
                        limit = cost - EPS
                        best_cost = cost
        if filled == 0:
            break
        then = 1 - now
        states = 0
        for item in range(filled):
            if kept_open[item] > 0 and kept_spent[item] + kept_open[item] * cheapest > limit:
                continue
            if kept_open[item] == 0 and kept_spent[item] > best_cost:
                continue
            s, v, f, case = kept[item, 0], kept[item, 1], kept[item, 2], kept[item, 3]
            t = states
            states += 1
            for u in range(size):
                parent[then, t, u] = parent[now, s, u]
                crossing[then, t, u] = crossing[now, s, u]
                flags[then, t, u] = flags[now, s, u]
                degree[then, t, u] = degree[now, s, u]
            p = int(np.int64(parent[now, s, v]))
            mr, mf = crossing[now, s, v], crossing[now, s, f]
            if case == 0:
                i, j = v, p
                k = f if f != p else int(np.int64(parent[now, s, p]))
                parent[then, t, v] = k
                node_r, node_f = v, f
            else:
                i, j, k = p, v, f
                parent[then, t, k] = i
                parent[then, t, j] = k
                node_r, node_f = k, j
            flag_f = flags[now, s, f]
            flag_r = MOVABLE
            if target[i, k] > 0:
                bit = target[i, k] - 1
                if permanent[bit]:
                    flag_r = 0
                    mr2 = mr & ~(U1 << np.uint64(bit))
                else:
                    flag_r = MOVABLE | PLACED
                    mr2 = mr
            else:
                mr2 = mr
            crossing[then, t, node_r] = mr2
            crossing[then, t, node_f] = mf ^ mr
            flags[then, t, node_r] = flag_r
            flags[then, t, node_f] = flag_f
            degree[then, t, j] -= 1
            degree[then, t, k] += 1
            open_goals[then, t] = kept_open[item]
            spent[then, t] = kept_spent[item]
            potential[then, t] = kept_potential[item]
            hashes[then, t] = kept_hash[item]
            came[level, t] = s
            made[level, t, 0] = i
            made[level, t, 1] = j
            made[level, t, 2] = k
            if kept_open[item] == 0:
                best_level, best_item = level, t
        now = then
        if states == 0:
            break
        if best_level == level and states == 1:
            break
    if best_level < 0:
        return -1, np.inf
    at = best_item
    for level in range(best_level, -1, -1):
        for part in range(3):
            out[level, part] = made[level, at, part]
        at = came[level, at]
    return best_level + 1, best_cost
