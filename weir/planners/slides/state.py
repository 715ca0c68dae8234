"""The whole tree for the first plan: rooted, with the goals that cross each link as bits.

Links keep a number while they move. Sliding link r over its neighbour f changes one set only:
crossing[f] becomes crossing[f] xor crossing[r] (see `beam`). A finished goal's bit is cleared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.compiled import compiled
from weir.planners.slides.bits import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Masks = NDArray[np.uint64]

U1 = np.uint64(1)
SLIDES, FINISHED = 0, 1
"""Places of `control`: slides made, goals finished."""


class State(NamedTuple):
    """Arrays of a tree under transformation."""

    parent: Ints  # per broker; -1 at the root
    link_of: Ints  # per broker: the number of its link to the parent
    lower: Ints  # per link: the broker whose link to the parent it is
    child: Ints  # per broker: one of its children, or -1
    right: Ints  # per broker: the next of its siblings
    left: Ints
    degree: Ints
    movable: Ints  # per link
    locked: Ints  # per broker: frozen
    crossing: Masks  # (links, words)
    version: Ints  # per link: how often its ends or its set changed
    ends: Ints  # (goals, 2)
    length: Ints  # per goal: links on its path; 0 once it is finished
    goal: Ints  # the goal, rooted: parent per broker
    goal_bit: Ints  # per broker: the bit of its goal link to the parent, -1 if it is there
    mark: Ints  # per broker
    control: Ints


@compiled
def hang(state: State, v: int, p: int) -> None:
    """Make v a child of p."""
    state.parent[v] = p
    first = state.child[p]
    state.right[v] = first
    state.left[v] = -1
    if first >= 0:
        state.left[first] = v
    state.child[p] = v


@compiled
def unhang(state: State, v: int) -> None:
    """Take v from among its parent's children."""
    left, right = state.left[v], state.right[v]
    if left >= 0:
        state.right[left] = right
    else:
        state.child[state.parent[v]] = right
    if right >= 0:
        state.left[right] = left


@compiled
def bit_of(state: State, a: int, b: int) -> int:
    """The bit of the unfinished goal a-b, or -1."""
    bit = -1
    if state.goal[a] == b:
        bit = state.goal_bit[a]
    elif state.goal[b] == a:
        bit = state.goal_bit[b]
    if bit >= 0 and state.length[bit] == 0:
        return -1
    return bit


@compiled
def walk(state: State, bit: int, way: Ints) -> int:
    """Brokers on the goal's path, into `way` (long enough); how many."""
    u, v = state.ends[bit, 0], state.ends[bit, 1]
    at = u
    while at >= 0:
        state.mark[at] = bit + 1
        at = state.parent[at]
    meet = v
    while state.mark[meet] != bit + 1:
        meet = state.parent[meet]
    size = 0
    at = u
    while at != meet:
        way[size] = at
        size += 1
        at = state.parent[at]
    way[size] = meet
    size += 1
    start = size
    at = v
    while at != meet:
        way[size] = at
        size += 1
        at = state.parent[at]
    low, high = start, size - 1
    while low < high:
        way[low], way[high] = way[high], way[low]
        low += 1
        high -= 1
    at = u
    while at >= 0:
        state.mark[at] = 0
        at = state.parent[at]
    return size


@compiled
def link_between(state: State, a: int, b: int) -> int:
    """The number of the link a-b, which is there."""
    return state.link_of[a] if state.parent[a] == b else state.link_of[b]


@compiled
def start(state: State, way: Ints) -> None:
    """Enter the goals into the sets of the links on their paths."""
    state.crossing[:] = np.uint64(0)
    for bit in range(len(state.ends)):
        state.length[bit] = 0
    for bit in range(len(state.ends)):
        size = walk(state, bit, way)
        state.length[bit] = size - 1
        for at in range(1, size):
            e = link_between(state, way[at - 1], way[at])
            state.crossing[e, bit >> 6] |= U1 << np.uint64(bit & 63)


@compiled
def slide(state: State, i: int, j: int, k: int) -> None:
    """Remove i-j, add i-k; j-k is a link. A goal made so is finished and never moves again."""
    r, f = link_between(state, i, j), link_between(state, j, k)
    if state.parent[i] == j:
        unhang(state, i)
        hang(state, i, k)
    else:  # j hangs below i, k below j: they change places
        unhang(state, j)
        unhang(state, k)
        hang(state, k, i)
        hang(state, j, k)
        state.link_of[k], state.link_of[j] = r, f
        state.lower[r], state.lower[f] = k, j
    state.degree[j] -= 1
    state.degree[k] += 1
    bit = bit_of(state, i, k)
    if bit >= 0:
        # its path is the link r alone: out of the set before the others change theirs
        state.movable[r] = 0
    crossing = state.crossing
    for word in range(crossing.shape[1]):
        moved = crossing[r, word]
        if moved == 0:
            continue
        old = crossing[f, word]
        crossing[f, word] = old ^ moved
        left = moved
        while left != 0:
            low = left & (~left + U1)
            at = count(low - U1)
            goal = word * 64 + at
            state.length[goal] += 1 if old & low == 0 else -1
            left ^= low
    if bit >= 0:
        crossing[r, bit >> 6] &= ~(U1 << np.uint64(bit & 63))
        state.length[bit] = 0
        state.control[FINISHED] += 1
    state.version[r] += 1
    state.version[f] += 1


def new_state(
    parent: Ints,
    goal: Ints,
    movable: Ints,
    locked: Ints,
    degree: Ints,
) -> State:
    """The state of a rooted tree; movable[v] says it of the link from v to its parent."""
    brokers = len(parent)
    inside = np.arange(brokers)
    there = (parent[goal] == inside) & (goal >= 0) | (parent == goal)
    missing = inside[~there & (goal >= 0)]
    goal_bit = np.full(brokers, -1, np.int64)
    goal_bit[missing] = np.arange(len(missing))
    words = max(1, (len(missing) + 63) // 64)
    state = State(
        parent=parent.copy(),
        link_of=inside.copy(),
        lower=inside.copy(),
        child=np.full(brokers, -1, np.int64),
        right=np.full(brokers, -1, np.int64),
        left=np.full(brokers, -1, np.int64),
        degree=degree.copy(),
        movable=movable.copy(),
        locked=locked,
        crossing=np.zeros((brokers, words), np.uint64),
        version=np.zeros(brokers, np.int64),
        ends=np.stack([missing, goal[missing]], axis=1).astype(np.int64),
        length=np.zeros(max(1, len(missing)), np.int64),
        goal=goal,
        goal_bit=goal_bit,
        mark=np.zeros(brokers, np.int64),
        control=np.zeros(4, np.int64),
    )
    hang_all(state)
    start(state, np.empty(brokers + 1, np.int64))
    return state


@compiled
def hang_all(state: State) -> None:
    """Lists of children from the parents."""
    for v in range(len(state.parent) - 1, -1, -1):
        if state.parent[v] >= 0:
            hang(state, v, state.parent[v])
