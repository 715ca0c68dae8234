"""A state of an exact search spread out: its tree, the sets of its links, and their bound.

The bound is that of `weir.transformation.crossing_bound`, where a goal link that was made stays
and has to get rid of all sets but its own. A slide changes one set, so the bounds of all states
that can follow are found from the sets of the state at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.compiled import compiled, compiled_inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.planners.slides.search_table import SearchTable

    Ints = NDArray[np.int64]
    Small = NDArray[np.int8]
    Codes = NDArray[np.uint16]
    Masks = NDArray[np.uint64]

NO_GOAL, BARRED = -1, -2
"""No link of the tree to reach; and none that may be made, because it could not be removed."""

U0, U1 = np.uint64(0), np.uint64(1)


class Case(NamedTuple):
    """Hold two trees over the same brokers."""

    brokers: int
    width: int  # links that go, and as many that come
    first: Ints  # per broker: where its links that stay begin in `others`
    others: Ints
    marks: Masks  # per broker: the bits of the goal links that end at it
    bit: Small  # (brokers, brokers): the bit of the goal link between them, or NO_GOAL, or BARRED
    cap: int
    staying: Ints  # per broker: its links other than those that go
    locked: Ints  # per broker: takes part in nothing


class Expansion(NamedTuple):
    """Hold a state as arrays: its tree, its links that go, and the goals that cross each link."""

    order: Ints  # brokers, each after its parent
    parent: Ints
    slot: Ints  # per broker: which of the links that go its link to the parent is; -1: it stays
    degree: Ints  # per broker: its links that go
    near: Ints  # (brokers, width): the brokers at the other ends
    near_slot: Ints
    sums: Masks  # per broker: goals crossing its link to the parent, as changed by being made
    crossing: Masks  # the same, as they are
    made: Ints  # per slot: the bit of the goal link that it is; negative: it is none yet
    values: Masks  # the different sets
    resting: Ints  # per set: links that stay and have it
    moving: Ints  # per set: whether a link that may move has it
    alone: Ints  # per set: whether it is a goal link alone that is not made
    new: Codes


@compiled
def new_expansion(brokers: int, width: int) -> Expansion:
    """Allocate the arrays of an expansion; `spread` fills them."""
    sets = 2 * brokers + 2 * width + 8
    return Expansion(
        np.empty(brokers, np.int64),
        np.empty(brokers, np.int64),
        np.empty(brokers, np.int64),
        np.empty(brokers, np.int64),
        np.empty((brokers, width), np.int64),
        np.empty((brokers, width), np.int64),
        np.empty(brokers, np.uint64),
        np.empty(brokers, np.uint64),
        np.empty(width, np.int64),
        np.empty(sets, np.uint64),
        np.empty(sets, np.int64),
        np.empty(sets, np.int64),
        np.empty(sets, np.int64),
        np.empty(width, np.uint16),
    )


@compiled_inside
def spread(case: Case, table: SearchTable, node: Expansion, state: int) -> bool:
    """Root the tree and sum the goals below each broker; return whether the goal is reached."""
    for v in range(case.brokers):
        node.degree[v] = 0
        node.parent[v] = -1
    reached = True
    for slot in range(case.width):
        code = int(np.int64(table.links[state, slot]))
        a, b = code >> 6, code & 63
        node.near[a, node.degree[a]] = b
        node.near_slot[a, node.degree[a]] = slot
        node.degree[a] += 1
        node.near[b, node.degree[b]] = a
        node.near_slot[b, node.degree[b]] = slot
        node.degree[b] += 1
        node.made[slot] = case.bit[a, b]
        reached = reached and node.made[slot] >= 0
    if reached:
        return True
    node.order[0] = 0
    node.slot[0] = -1
    size, at = 1, 0
    while at < size:
        u = node.order[at]
        at += 1
        node.sums[u] = case.marks[u]
        for place in range(case.first[u], case.first[u + 1]):
            v = case.others[place]
            if v != node.parent[u]:
                node.parent[v] = u
                node.slot[v] = -1
                node.order[size] = v
                size += 1
        for place in range(node.degree[u]):
            v = node.near[u, place]
            if v != node.parent[u]:
                node.parent[v] = u
                node.slot[v] = node.near_slot[u, place]
                node.order[size] = v
                size += 1
    for at in range(case.brokers - 1, 0, -1):
        v = node.order[at]
        node.sums[node.parent[v]] ^= node.sums[v]
    return False


@compiled_inside
def _value(node: Expansion, known: int, value: np.uint64) -> int:
    """Return the place of a set among the first `known`; `known` if it is none of them."""
    at = 0
    while at < known and node.values[at] != value:
        at += 1
    return at


@compiled_inside
def _note(node: Expansion, known: int, value: np.uint64) -> int:
    """Add a further set that no link holds yet."""
    node.values[known] = value
    node.resting[known] = 0
    node.moving[known] = 0
    node.alone[known] = 0
    return known


@compiled_inside
def stays_for_good(node: Expansion, v: int) -> bool:
    """Return whether the broker's link to its parent never moves any more."""
    slot = node.slot[v]
    return slot < 0 or node.made[slot] >= 0


@compiled_inside
def _missing(node: Expansion, at: int) -> int:
    """Return 1 where the set has to come up and is not there."""
    return 1 if (node.resting[at] > 0 or node.alone[at] > 0) and node.moving[at] == 0 else 0


@compiled_inside
def estimate(case: Case, node: Expansion) -> tuple[int, int]:
    """Return the state's bound and the number of different sets, and store the sets in their
    places."""
    known, filled = 0, 0
    unmade = (U1 << np.uint64(case.width)) - U1
    for slot in range(case.width):
        if node.made[slot] >= 0:
            unmade ^= U1 << np.uint64(node.made[slot])
    for bit in range(case.width):
        alone = U1 << np.uint64(bit)
        if unmade & alone:
            node.alone[_note(node, known, alone)] = 1
            known += 1
    for at in range(1, case.brokers):
        v = node.order[at]
        value = node.sums[v]
        stays = stays_for_good(node, v)
        if stays and node.slot[v] >= 0:
            value ^= U1 << np.uint64(node.made[node.slot[v]])
        node.crossing[v] = value
        if stays and value == U0:
            continue
        place = _value(node, known, value)
        if place == known:
            known = _note(node, known, value) + 1
        if stays:
            node.resting[place] += 1
            filled += 1
        else:
            node.moving[place] = 1
    missing = 0
    for at in range(known):
        missing += _missing(node, at)
    return filled + missing, known


@compiled_inside
def gain(node: Expansion, known: int, link: int, mover: np.uint64, goal: int) -> int:
    """How the bound changes where a link with the set `mover` slides over that above `link`.

    `goal` is the bit of the goal link that the mover becomes, or NO_GOAL.
    """
    old = node.crossing[link]
    new = old ^ mover
    stays = stays_for_good(node, link)
    was, becomes = _value(node, known, old), _value(node, known, new)
    if becomes == known:
        known = _note(node, known, new) + 1
    before, after = 0, 0
    if goal < 0:
        if stays:
            if old != U0:
                before = 1 + _missing(node, was)
                node.resting[was] -= 1
                before -= _missing(node, was)
                node.resting[was] += 1
            if new != U0:
                after = 1 - _missing(node, becomes)
                node.resting[becomes] += 1
                after += _missing(node, becomes)
                node.resting[becomes] -= 1
            return after - before
        before = _missing(node, was) + _missing(node, becomes)
        node.moving[was] -= 1
        node.moving[becomes] += 1
        after = _missing(node, was) + _missing(node, becomes)
        node.moving[was] += 1
        node.moving[becomes] -= 1
        return after - before
    # The mover stays from now on: its set leaves those that move, its goal those that are wanted.
    alone = U1 << np.uint64(goal)
    own, wanted, rest = (
        _value(node, known, mover),
        _value(node, known, alone),
        mover ^ alone,
    )
    for at in range(known):
        before += _missing(node, at)
    if stays:
        if old != U0:
            node.resting[was] -= 1
            before += 1
        if new != U0:
            node.resting[becomes] += 1
            after += 1
    else:
        node.moving[was] -= 1
        node.moving[becomes] += 1
    node.moving[own] -= 1
    node.alone[wanted] = 0
    left = -1
    if rest != U0:
        left = _value(node, known, rest)
        if left == known:
            known = _note(node, known, rest) + 1
        node.resting[left] += 1
        after += 1
    for at in range(known):
        after += _missing(node, at)
    if left >= 0:
        node.resting[left] -= 1
    node.alone[wanted] = 1
    node.moving[own] += 1
    if stays:
        if old != U0:
            node.resting[was] += 1
        if new != U0:
            node.resting[becomes] -= 1
    else:
        node.moving[was] += 1
        node.moving[becomes] -= 1
    return after - before
