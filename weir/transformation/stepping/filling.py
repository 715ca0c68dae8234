"""Compiled: fill one step with slides that may run together, by their worth for all open goals.

What a slide does to the ways of open goals, and what that is worth, is said in `ways_after`. Links
that may move are numbered first, those that never move after them; `fixed` says of the first kind
which have become goal links.
"""

from __future__ import annotations

import numpy as np

from weir.allocation.compiled import compiled
from weir.transformation.stepping.ways_after import slide, survey, worth

FREE, PIVOT, MOVED, MADE = 0, 1, 2, 3
OPTIONS = 16
"""Slides that are looked at, per link that may move, on the average."""


@compiled
def _options(
    nodes: np.ndarray,
    ids: np.ndarray,
    length: np.ndarray,
    state: np.ndarray,
    busy: np.ndarray,
    room: np.ndarray,
    disjoint: bool,
    found: np.ndarray,
    hitch: bool,
) -> int:
    """Every slide (f, i, j, k, pivot) along an open way that this step still allows.

    `hitch`: those onto another link that may move, too, though no way goes on there.
    """
    count = 0
    movable = length.shape[0]
    ends = np.full((movable, 2), -1, np.int32)
    first = np.full(movable, -1, np.int32)
    chain = np.full(found.shape[0], -1, np.int32)
    for g in range(movable):
        n = length[g]
        if n <= 1:
            continue
        for t in range(n):
            f = ids[g, t]
            if f >= movable:
                continue
            ends[f, 0], ends[f, 1] = nodes[g, t], nodes[g, t + 1]
            if state[f] != FREE:
                continue
            for ahead in range(2):
                if ahead == 1:
                    if t + 1 >= n:
                        continue
                    i, j, k, pivot = nodes[g, t], nodes[g, t + 1], nodes[g, t + 2], ids[g, t + 1]
                else:
                    if t == 0:
                        continue
                    i, j, k, pivot = nodes[g, t + 1], nodes[g, t], nodes[g, t - 1], ids[g, t - 1]
                if pivot < movable and state[pivot] >= MOVED:
                    continue
                if disjoint and (busy[i] or busy[j] or busy[k]):
                    continue
                if busy[i] == 2 or busy[j] == 2 or busy[k] == 2 or room[k] <= 0:
                    continue
                at = first[f]
                while at >= 0 and (found[at, 2] != j or found[at, 3] != k):
                    at = chain[at]
                if at >= 0 or count >= found.shape[0]:
                    continue
                found[count] = (f, i, j, k, pivot)
                chain[count] = first[f]
                first[f] = count
                count += 1
    if hitch:
        count = _hitches(ends, state, busy, room, disjoint, found, count, first, chain)
    return count


@compiled
def _hitches(
    ends: np.ndarray,
    state: np.ndarray,
    busy: np.ndarray,
    room: np.ndarray,
    disjoint: bool,
    found: np.ndarray,
    count: int,
    first: np.ndarray,
    chain: np.ndarray,
) -> int:
    """Add slides along links that may move; `ends` are -1 for links on no open way."""
    movable = ends.shape[0]
    head = np.full(room.shape[0], -1, np.int32)
    other = np.full(2 * movable, -1, np.int32)
    for p in range(movable):
        if ends[p, 0] >= 0 and state[p] < MOVED:
            for side in range(2):
                other[2 * p + side] = head[ends[p, side]]
                head[ends[p, side]] = 2 * p + side
    for f in range(movable):
        if ends[f, 0] < 0 or state[f] != FREE:
            continue
        for side in range(2):
            i, j = ends[f, 1 - side], ends[f, side]
            at = head[j]
            while at >= 0:
                pivot, k = at // 2, ends[at // 2, 1 - at % 2]
                at = other[at]
                if pivot == f or room[k] <= 0:
                    continue
                if disjoint and (busy[i] or busy[j] or busy[k]):
                    continue
                if busy[i] == 2 or busy[j] == 2 or busy[k] == 2:
                    continue
                known = first[f]
                while known >= 0 and (found[known, 2] != j or found[known, 3] != k):
                    known = chain[known]
                if known >= 0 or count >= found.shape[0]:
                    continue
                found[count, 0] = f
                found[count, 1] = i
                found[count, 2] = j
                found[count, 3] = k
                found[count, 4] = pivot
                count += 1
    return count


@compiled
def _is_barred(i: int, k: int, brokers: int, barred: np.ndarray) -> bool:
    key = min(i, k) * brokers + max(i, k)
    at = np.searchsorted(barred, key)
    return at < barred.shape[0] and barred[at] == key


@compiled
def fill(
    nodes: np.ndarray,
    ids: np.ndarray,
    length: np.ndarray,
    fixed: np.ndarray,
    room: np.ndarray,
    frozen: np.ndarray,
    barred: np.ndarray,
    links: int,
    disjoint: bool,
    pull: np.ndarray,
    bundle: np.ndarray,
    shares: np.ndarray,
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
    movable = length.shape[0]
    state = np.zeros(movable, np.int8)
    for f in range(movable):
        if fixed[f]:
            state[f] = PIVOT
    busy = np.zeros(room.shape[0], np.int8)
    for b in range(frozen.shape[0]):
        if frozen[b]:
            busy[b] = 2
    start_room = room.copy()
    crossing = np.zeros(links, np.int32)
    load = np.zeros(room.shape[0])
    survey(nodes, ids, length, bundle, crossing, load)
    found = np.empty((OPTIONS * movable + 8, 5), np.int32)
    count = 0
    while True:
        options = _options(nodes, ids, length, state, busy, room, disjoint, found, hitch)
        values = np.full(options, -np.inf)
        for c in range(options):
            if skip > 0 and np.random.random() < skip:
                continue
            f, i, j, k, pivot = found[c]
            if barred.shape[0] and _is_barred(i, k, room.shape[0], barred):
                continue
            value = worth(
                nodes, ids, length, f, i, j, k, pivot, crossing, load,
                pull, bundle, shares[0], shares[1], shares[2],
            )  # fmt: skip
            if value > least:
                values[c] = value * (1.0 + noise * np.random.random())
        order = np.argsort(-values)
        before = count
        for at in range(options):
            c = order[at]
            if values[c] == -np.inf:
                break
            f, i, j, k, pivot = found[c]
            if state[f] != FREE or room[k] <= 0:
                continue
            if pivot < movable and state[pivot] >= MOVED:
                continue
            if disjoint and (busy[i] or busy[j] or busy[k]):
                continue
            value = worth(
                nodes, ids, length, f, i, j, k, pivot, crossing, load,
                pull, bundle, shares[0], shares[1], shares[2],
            )  # fmt: skip
            if value <= least:
                continue
            _take(nodes, ids, length, state, busy, room, taken, count, f, i, j, k, pivot)
            count += 1
            survey(nodes, ids, length, bundle, crossing, load)
        if count == before:
            break
    if count == 0:
        count = _nearest(nodes, ids, length, state, busy, room, taken, found)
    for f in range(movable):
        if state[f] == MADE:
            fixed[f] = True
    # Departures make room only in the next step: within this one any order is possible.
    for c in range(count):
        start_room[taken[c, 2]] -= 1
        start_room[taken[c, 1]] += 1
    room[:] = start_room
    return count


@compiled
def _take(
    nodes: np.ndarray,
    ids: np.ndarray,
    length: np.ndarray,
    state: np.ndarray,
    busy: np.ndarray,
    room: np.ndarray,
    taken: np.ndarray,
    count: int,
    f: int,
    i: int,
    j: int,
    k: int,
    pivot: int,
) -> None:
    made = slide(nodes, ids, length, f, j, k, pivot)
    state[f] = MADE if made else MOVED
    if pivot < state.shape[0]:
        state[pivot] = PIVOT
    busy[i] = busy[j] = busy[k] = 1
    room[k] -= 1
    taken[count] = (i, j, k)


@compiled
def _nearest(
    nodes: np.ndarray,
    ids: np.ndarray,
    length: np.ndarray,
    state: np.ndarray,
    busy: np.ndarray,
    room: np.ndarray,
    taken: np.ndarray,
    found: np.ndarray,
) -> int:
    """Take one slide that shortens the shortest open way; 0 where none applies."""
    for g in range(length.shape[0]):  # a way that would not fit: better no step than a wrong one
        if length[g] + 2 >= nodes.shape[1]:
            return 0
    options = _options(nodes, ids, length, state, busy, room, False, found, False)
    best, way = -1, 1 << 30
    for c in range(options):
        f, j, k = found[c, 0], found[c, 2], found[c, 3]
        for g in range(length.shape[0]):
            if length[g] <= 1 or length[g] >= way:
                continue
            for t in range(length[g]):
                if ids[g, t] != f:
                    continue
                ahead = nodes[g, t + 1] == j and t + 1 < length[g] and nodes[g, t + 2] == k
                behind = nodes[g, t] == j and t > 0 and nodes[g, t - 1] == k
                if ahead or behind:
                    best, way = c, length[g]
    if best < 0:
        return 0
    f, i, j, k, pivot = found[best]
    _take(nodes, ids, length, state, busy, room, taken, 0, f, i, j, k, pivot)
    return 1
