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

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.compiled import compiled, compiled_inside
from weir.planners.slides.bits import chance, count, scrambled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Int8s = NDArray[np.int8]
    Int32s = NDArray[np.int32]
    Flags = NDArray[np.uint8]
    Masks = NDArray[np.uint64]

MOVABLE, PLACED = 1, 2
"""Flags of a link: may be removed; is a goal that may be removed again, so its bit stays set."""

MAX_WIDTH, MAX_LEVELS, MAX_LOCAL = 64, 96, 32
SEEN, PROBES = 1 << 13, 16
EPS = 1e-9
DONE_FIRST = 1e15
U1, U32 = np.uint64(1), np.uint64(32)


class Start(NamedTuple):
    """The tree that a beam starts with, rooted at broker 0; B brokers."""

    parent: Ints
    """(B,) -1 for the root."""
    crossing: Masks
    """(B,) the goals whose path crosses the link from each broker to its parent, as bits."""
    flags: Ints
    """(B,) of that link: MOVABLE, PLACED."""
    degree: Ints
    """(B,) links of each broker."""


class Goals(NamedTuple):
    """Which links the slides have to make, and which they must not."""

    target: Ints
    """(B, B) the bit of a wanted link plus one; 0 where none is wanted."""
    permanent: Ints
    """(64,) per bit, 1 where the link stays once it is made."""
    forbidden: Int8s
    """(B, B) 1 where no link may be made."""
    cap: int
    """Links that a broker may have."""


class Prices(NamedTuple):
    """Hold what a slide costs, by its parts."""

    slide: float
    """The action itself."""
    broker: Floats
    """(B,) each broker that takes part."""
    link: Floats
    """(B, B) the link that is made."""
    cheapest: float
    """No slide costs less."""


class Look(NamedTuple):
    """How wide a beam looks, and what ranks its states."""

    power: Floats
    """(65,) N ** beta for N goals."""
    width: int
    """States kept per level."""
    wide: bool
    """Whether links also slide over others that neither move nor share a goal with them."""
    noise: float
    """Up to so much is added to a state's rank at random."""


class Task(NamedTuple):
    """All that is asked of a beam, but for its start."""

    goals: Goals
    prices: Prices
    look: Look


class Level(NamedTuple):
    """Room for S states of as many slides; B brokers."""

    parent: Int8s
    """(S, B) as in `Start`, like the next three."""
    crossing: Masks
    flags: Flags
    degree: Int32s
    open_goals: Ints
    """(S,) links that are still wanted."""
    spent: Floats
    """(S,) cost of the slides so far."""
    potential: Floats
    """(S,) the sum of N ** beta over the links."""
    name: Masks
    """(S,) a number that equal trees share."""


class Kept(NamedTuple):
    """The S best candidates for the next level: a heap with the worst one on top."""

    key: Floats
    """(S,) ranks, as a heap."""
    item: Ints
    """(S,) where each candidate of the heap is in the arrays below."""
    slide: Ints
    """(S, 4) state, lower broker of the link that slides and of the one it slides over, case."""
    open_goals: Ints
    """(S,) as in `Level`, after the slide, like the next three."""
    spent: Floats
    potential: Floats
    name: Masks


class Seen(NamedTuple):
    """A hash table of the states that the next level has been offered."""

    name: Masks
    """(SEEN,)"""
    level: Ints
    """(SEEN,) the level whose entry it is; any other entry is void."""


class Way(NamedTuple):
    """How every state of every level was reached."""

    came: Ints
    """(levels, S) the state before."""
    made: Int8s
    """(levels, S, 3) the slide (broker, source, to)."""


@compiled_inside
def link_key(a: int, b: int) -> np.uint64:
    """Return a hash of the undirected link."""
    low, high = min(a, b), max(a, b)
    return scrambled((np.uint64(high) << U32) | np.uint64(low))


@compiled_inside
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


@compiled_inside
def _sift_up(key: Floats, item: Ints, at: int) -> None:
    while at > 0:
        up = (at - 1) // 2
        if key[up] >= key[at]:
            return
        key[up], key[at] = key[at], key[up]
        item[up], item[at] = item[at], item[up]
        at = up


@compiled_inside
def _new_level(width: int, size: int) -> Level:
    return Level(
        np.empty((width, size), np.int8),
        np.empty((width, size), np.uint64),
        np.empty((width, size), np.uint8),
        np.empty((width, size), np.int32),
        np.empty(width, np.int64),
        np.empty(width, np.float64),
        np.empty(width, np.float64),
        np.empty(width, np.uint64),
    )


@compiled_inside
def _new_kept(width: int) -> Kept:
    return Kept(
        np.empty(width, np.float64),
        np.empty(width, np.int64),
        np.empty((width, 4), np.int64),
        np.empty(width, np.int64),
        np.empty(width, np.float64),
        np.empty(width, np.float64),
        np.empty(width, np.uint64),
    )


@compiled_inside
def _begin(start: Start, target: Ints, power: Floats, now: Level) -> None:
    """Make the start the only state of the first level."""
    parent, crossing, flags = start.parent, start.crossing, start.flags
    potential, left, name = 0.0, 0, np.uint64(0)
    for v in range(len(parent)):
        now.parent[0, v] = parent[v]
        now.crossing[0, v] = crossing[v]
        now.flags[0, v] = flags[v]
        now.degree[0, v] = start.degree[v]
        if v > 0:
            name ^= link_key(v, parent[v])
            n = count(crossing[v])
            if flags[v] & PLACED:
                n -= 1
            potential += power[n]
    for a in range(len(parent)):
        for b in range(a):
            if target[a, b] > 0:
                there = (a > 0 and parent[a] == b) or (b > 0 and parent[b] == a)
                if not there:
                    left += 1
    now.open_goals[0] = left
    now.spent[0] = 0.0
    now.potential[0] = potential
    now.name[0] = name


@compiled_inside
def _is_known(seen: Seen, level: int, name: np.uint64) -> bool:
    """Whether the level has been offered the state before; from now on it has."""
    names, levels = seen.name, seen.level
    slot = int(np.int64(name & np.uint64(SEEN - 1)))
    for _ in range(PROBES):
        if levels[slot] != level:
            break
        if names[slot] == name:
            return True
        slot = (slot + 1) & (SEEN - 1)
    names[slot] = name
    levels[slot] = level
    return False


@compiled_inside
def _place(kept: Kept, filled: int, key: float) -> int:
    """Enter a candidate of this rank, in place of the worst where there is no more room."""
    if filled < len(kept.key):
        kept.key[filled] = key
        kept.item[filled] = filled
        _sift_up(kept.key, kept.item, filled)
        return filled
    item = kept.item[0]
    kept.key[0] = key
    _sift_down(kept.key, kept.item, filled, 0)
    return int(item)


@compiled_inside
def _offer(
    task: Task, now: Level, states: int, level: int, kept: Kept, seen: Seen, limit: float,
    random: Masks,
) -> tuple[int, float, float]:  # fmt: skip
    """Keep the best slides of all states: (how many, the new limit, cost of the best plan made).

    A candidate that makes the last goal is kept whatever follows: only cheaper ones may come after
    it.
    """
    # Local names: reading a field of a record counts references, which costs in the inner loop.
    target, forbidden, cap = task.goals.target, task.goals.forbidden, task.goals.cap
    broker_price, link_price = task.prices.broker, task.prices.link
    slide_price, cheapest = task.prices.slide, task.prices.cheapest
    power, wide, noise = task.look.power, task.look.wide, task.look.noise
    keys, width, size = kept.key, len(kept.key), now.parent.shape[1]
    filled, best_cost = 0, np.inf
    for s in range(states):
        parent, crossing, flags, degree = (
            now.parent[s],
            now.crossing[s],
            now.flags[s],
            now.degree[s],
        )
        spent, potential, open_goals = now.spent[s], now.potential[s], now.open_goals[s]
        for v in range(1, size):
            if not flags[v] & MOVABLE:
                continue
            p = int(np.int64(parent[v]))
            mr = crossing[v]
            raw = count(mr)
            nr = raw - 1 if flags[v] & PLACED else raw
            for w in range(size):
                if w == v:
                    continue
                # case 0: v goes from its parent to k; case 1: its parent goes from v to k
                if w > 0 and parent[w] == p:
                    f, i, j, k, case = w, v, p, w, 0
                elif w > 0 and parent[w] == v:
                    f, i, j, k, case = w, p, v, w, 1
                elif p > 0 and parent[p] == w:
                    f, i, j, k, case = p, v, p, w, 0
                else:
                    continue
                if forbidden[i, k] or degree[k] >= cap:
                    continue
                mf = crossing[f]
                if not wide and mf & mr == 0 and not flags[f] & MOVABLE:
                    continue
                cost = spent + slide_price + broker_price[i] + broker_price[j]
                cost += broker_price[k] + link_price[i, k]
                left = open_goals
                if raw != nr:
                    left += 1
                nr2 = raw
                if target[i, k] > 0:
                    left -= 1
                    nr2 = raw - 1
                if cost + left * cheapest > limit:
                    continue
                nf, nf2 = count(mf), count(mf ^ mr)
                if flags[f] & PLACED:
                    nf, nf2 = nf - 1, nf2 - 1
                phi = potential + power[nf2] - power[nf] + power[nr2] - power[nr]
                key = phi + cost / cheapest
                if noise > 0.0:
                    key += noise * chance(random)
                if left == 0:
                    key = cost - DONE_FIRST
                if filled == width and key >= keys[0]:
                    continue
                name = now.name[s] ^ link_key(i, j) ^ link_key(i, k)
                if _is_known(seen, level, name):
                    continue
                item = _place(kept, filled, key)
                filled = min(filled + 1, width)
                kept.slide[item, 0], kept.slide[item, 1] = s, v
                kept.slide[item, 2], kept.slide[item, 3] = f, case
                kept.spent[item] = cost
                kept.potential[item] = phi
                kept.open_goals[item] = left
                kept.name[item] = name
                if left == 0:
                    limit = cost - EPS
                    best_cost = cost
    return filled, limit, best_cost


@compiled_inside
def _survivors(kept: Kept, filled: int, cheapest: float, limit: float, best_cost: float) -> Ints:
    """The candidates that may still lead to a plan as cheap as the best one made."""
    items = np.empty(filled, np.int64)
    size = 0
    for item in range(filled):
        left, spent = kept.open_goals[item], kept.spent[item]
        if left > 0 and spent + left * cheapest > limit:
            continue
        if left == 0 and spent > best_cost:
            continue
        items[size] = item
        size += 1
    return items[:size]


@compiled_inside
def _advance(
    goals: Goals, now: Level, kept: Kept, items: Ints, then: Level, way: Way, level: int
) -> None:
    """Make the states after these candidates the next level, and note how they were reached."""
    for t in range(len(items)):
        item = items[t]
        s, v, f = kept.slide[item, 0], kept.slide[item, 1], kept.slide[item, 2]
        parent, flags, degree = then.parent[t], then.flags[t], then.degree[t]
        crossing, before = then.crossing[t], now.parent[s]
        parent[:] = before
        crossing[:] = now.crossing[s]
        flags[:] = now.flags[s]
        degree[:] = now.degree[s]
        p = int(np.int64(before[v]))
        if kept.slide[item, 3] == 0:
            i, j = v, p
            k = f if f != p else int(np.int64(before[p]))
            parent[v] = k
            node_r, node_f = v, f
        else:
            i, j, k = p, v, f
            parent[k] = i
            parent[j] = k
            node_r, node_f = k, j
        mr, mf, flag_f = now.crossing[s, v], now.crossing[s, f], now.flags[s, f]
        flag_r = MOVABLE
        crossing[node_r] = mr
        if goals.target[i, k] > 0:
            bit = goals.target[i, k] - 1
            flag_r = MOVABLE | PLACED
            if goals.permanent[bit]:
                flag_r = 0
                crossing[node_r] = mr & ~(U1 << np.uint64(bit))
        crossing[node_f] = mf ^ mr
        flags[node_r] = flag_r
        flags[node_f] = flag_f
        degree[j] -= 1
        degree[k] += 1
        then.open_goals[t] = kept.open_goals[item]
        then.spent[t] = kept.spent[item]
        then.potential[t] = kept.potential[item]
        then.name[t] = kept.name[item]
        way.came[level, t] = s
        way.made[level, t, 0] = i
        way.made[level, t, 1] = j
        way.made[level, t, 2] = k


@compiled_inside
def _trace(way: Way, level: int, item: int, out: Ints) -> None:
    """Write the slides up to a state of a level to `out`."""
    at = item
    for before in range(level, -1, -1):
        for part in range(3):
            out[before, part] = way.made[before, at, part]
        at = way.came[before, at]


@compiled
def beam(start: Start, task: Task, limit: float, random: Masks, out: Ints) -> tuple[int, float]:
    """Slides that make every target link, for at most `limit`; (their number, cost) or (-1, inf).

    Slides go to out[0..], each (broker, source, to).
    """
    width, size = task.look.width, len(start.parent)
    now, then = _new_level(width, size), _new_level(width, size)
    kept = _new_kept(width)
    seen = Seen(np.zeros(SEEN, np.uint64), np.full(SEEN, -1, np.int64))
    way = Way(np.empty((MAX_LEVELS, width), np.int64), np.empty((MAX_LEVELS, width, 3), np.int8))
    _begin(start, task.goals.target, task.look.power, now)
    if now.open_goals[0] == 0:
        return 0, 0.0
    states = 1
    best_level, best_item, best_cost = -1, -1, np.inf
    for level in range(MAX_LEVELS):
        filled, limit, cost = _offer(task, now, states, level, kept, seen, limit, random)
        best_cost = min(best_cost, cost)
        if filled == 0:
            break
        items = _survivors(kept, filled, task.prices.cheapest, limit, best_cost)
        _advance(task.goals, now, kept, items, then, way, level)
        states = len(items)
        for t in range(states):
            if then.open_goals[t] == 0:
                best_level, best_item = level, t
        now, then = then, now
        if states == 0 or (best_level == level and states == 1):
            break
    if best_level < 0:
        return -1, np.inf
    _trace(way, best_level, best_item, out)
    return best_level + 1, best_cost
