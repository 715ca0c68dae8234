"""Compiled: what a slide does to the ways of open goal links, and what that is worth.

A state holds the two brokers of every link (`ends`), a row of bits per link that says which open
goal links' ways cross it (`rows`), and how long each way is (`length`, 1 when the goal link is
there). A slide of link r over link f makes row f the exclusive or of both, and changes no other
row: a way that crosses both gets one shorter, one that crosses r alone one longer
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


class Worths(NamedTuple):
    """How what is left to do is valued."""

    pull: np.ndarray
    """By the length of a way."""
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
def survey(
    ends: np.ndarray, rows: np.ndarray, bundle: np.ndarray, crossing: np.ndarray, load: np.ndarray
) -> None:
    """How many open ways cross each link, and what that puts on each broker."""
    load[:] = 0.0
    for f in range(ends.shape[0]):
        ways = 0
        for word in range(rows.shape[1]):
            ways += count(rows[f, word])
        crossing[f] = ways
        load[ends[f, 0]] += bundle[ways]
        load[ends[f, 1]] += bundle[ways]


@compiled
def worth(
    rows: np.ndarray,
    length: np.ndarray,
    crossing: np.ndarray,
    load: np.ndarray,
    slide: np.ndarray,
    worths: Worths,
) -> float:
    """How much less is left to do after the slide (r, i, j, k, f).

    -inf where a way would get longer than there are values for.
    """
    r, f = slide[0], slide[4]
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
def carry_out(
    ends: np.ndarray,
    rows: np.ndarray,
    length: np.ndarray,
    crossing: np.ndarray,
    load: np.ndarray,
    slide: np.ndarray,
    bundle: np.ndarray,
) -> bool:
    """Make the slide (r, i, j, k, f); whether that makes a goal link."""
    r, i, j, k, f = slide
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
