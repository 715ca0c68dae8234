"""Compiled: what a slide does to the ways of open goal links, and what that is worth.

A slide of link r over link f makes row f of the `State` the exclusive or of both rows, and changes
no other row: a way that crosses both gets one shorter, one that crosses r alone one longer
(docs/algorithms/edge-slides.md).

What is left to do is valued in three parts: each way by its length; each link by how many ways
cross it, to a power below 1, because what crosses together can be carried together; each broker by
the sum of that over its links, to a power above 1, because a broker takes part in one action at a
time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weir.compiled import compiled
from weir.planners.slides.bits import ONE, count

NONE = np.uint64(0)
WORD = 64


class State(NamedTuple):
    """A tree on the way to the goal; kernels change it in place.

    Sizes: L links, G goal links that are missing at the start, W words of G bits, B brokers.
    """

    ends: np.ndarray
    """(L, 2) int32: the two brokers of every link. The G links that may move come first."""
    rows: np.ndarray
    """(L, W) uint64: bit g of row f says that the way of open goal link g crosses link f."""
    length: np.ndarray
    """(G,) int32: how many links each way has; 1 when the goal link is there."""
    fixed: np.ndarray
    """(G,) bool: which of the links that may move have become goal links."""
    room: np.ndarray
    """(B,) int32: links that each broker may still gain."""


class Loads(NamedTuple):
    """What the open ways put on links and brokers; follows from a state, changed along with it."""

    crossing: np.ndarray
    """(L,) int32: how many open ways cross each link."""
    broker: np.ndarray
    """(B,) the worth of that, summed over the links of each broker."""


class Worths(NamedTuple):
    """How what is left to do is valued."""

    pull: np.ndarray
    """By the length of a way, in links."""
    bundle: np.ndarray
    """By how many ways cross a link."""
    link_share: float
    load_share: float
    load_power: float


@compiled
def lowest(bits: np.uint64) -> int:
    """The place of the lowest bit that is set."""
    return count((bits & (~bits + ONE)) - ONE)


@compiled
def survey(state: State, bundle: np.ndarray) -> Loads:
    """How many open ways cross each link, and what that puts on each broker."""
    ends, rows = state.ends, state.rows
    crossing = np.empty(ends.shape[0], np.int32)
    load = np.zeros(state.room.shape[0])
    for f in range(ends.shape[0]):
        ways = 0
        for word in range(rows.shape[1]):
            ways += count(rows[f, word])
        crossing[f] = ways
        load[ends[f, 0]] += bundle[ways]
        load[ends[f, 1]] += bundle[ways]
    return Loads(crossing, load)


@compiled
def worth(state: State, loads: Loads, slide: np.ndarray, worths: Worths) -> float:
    """How much less is left to do after the slide (r, i, j, k, f).

    -inf where a way would get longer than there are values for.
    """
    r, f = slide[0], slide[4]
    rows, length, crossing, load = state.rows, state.length, loads.crossing, loads.broker
    pull, bundle = worths.pull, worths.bundle
    value = 0.0
    shorter, longer, made = 0, 0, 0
    for word in range(rows.shape[1]):
        both = rows[r, word] & rows[f, word]
        alone = rows[r, word] ^ both
        while both != NONE:
            n = length[WORD * word + lowest(both)]
            both &= both - ONE
            shorter += 1
            value += pull[n] - pull[n - 1]
            if n == 2:
                made = 1
        while alone != NONE:
            n = length[WORD * word + lowest(alone)]
            alone &= alone - ONE
            longer += 1
            if n + 1 >= pull.shape[0]:
                return -np.inf
            value -= pull[n + 1] - pull[n]
    moved = bundle[crossing[r]]
    stays = bundle[crossing[r] - made]
    change = bundle[crossing[f] - shorter + longer] - bundle[crossing[f]]
    value -= worths.link_share * (change + stays - moved)
    if worths.load_share > 0:
        power = worths.load_power
        at_i, at_j, at_k = load[slide[1]], load[slide[2]], load[slide[3]]
        before = at_i**power + at_j**power + at_k**power
        at_i = max(at_i + stays - moved, 0.0)
        at_j = max(at_j + change - moved, 0.0)
        at_k = max(at_k + change + stays, 0.0)
        value += worths.load_share * (before - at_i**power - at_j**power - at_k**power)
    return value


@compiled
def carry_out(state: State, loads: Loads, slide: np.ndarray, bundle: np.ndarray) -> bool:
    """Make the slide (r, i, j, k, f); whether that makes a goal link."""
    r, i, j, k, f = slide
    ends, rows, length = state.ends, state.rows, state.length
    crossing, load = loads.crossing, loads.broker
    made = -1
    moved, before = bundle[crossing[r]], bundle[crossing[f]]
    for word in range(rows.shape[1]):
        both = rows[r, word] & rows[f, word]
        alone = rows[r, word] ^ both
        rows[f, word] ^= rows[r, word]
        while both != NONE:
            g = WORD * word + lowest(both)
            both &= both - ONE
            length[g] -= 1
            crossing[f] -= 1
            if length[g] == 1:
                made = g
        while alone != NONE:
            length[WORD * word + lowest(alone)] += 1
            alone &= alone - ONE
            crossing[f] += 1
    if made >= 0:
        rows[r, made // WORD] &= ~(ONE << np.uint64(made % WORD))
        crossing[r] -= 1
    ends[r, 0 if ends[r, 0] == j else 1] = k
    stays, change = bundle[crossing[r]], bundle[crossing[f]] - before
    load[i] += stays - moved
    load[j] += change - moved
    load[k] += change + stays
    return made >= 0
