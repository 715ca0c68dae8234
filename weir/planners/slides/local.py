"""A window made into a problem of its own: few brokers, a tree before and a tree after.

It is solved forwards, and backwards from the tree after it: reversed slides are slides.
Broker 0 is the root of both trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled
from weir.planners.slides.beam import MAX_LEVELS, MOVABLE, PLACED, beam
from weir.planners.slides.bits import chance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Small = NDArray[np.int8]
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


@compiled
def _mark_path(parent: Ints, depth: Ints, a: int, b: int, bit: int, crossing: Masks) -> None:
    while a != b:
        if depth[a] < depth[b]:
            a, b = b, a
        crossing[a] |= U1 << np.uint64(bit)
        a = parent[a]


@compiled
def _depths(parent: Ints, size: int, depth: Ints) -> None:
    for v in range(size):
        at, steps = v, 0
        while parent[at] >= 0:
            at = parent[at]
            steps += 1
        depth[v] = steps


@compiled
def _one_way(
    size: int,
    before: Ints,
    after: Ints,
    stays: Small,
    backwards: bool,
    stiff: bool,
    degree: Ints,
    cap: int,
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
    """Slides from `before` to `after`; stays[a, b]: this link must never be removed (forwards).

    Backwards, `before` is the tree that the window ends with: a link that stays and is in both
    trees is fixed, one that stays and is only in `before` leaves and may not come back.
    """
    target = np.zeros((size, size), np.int64)
    forbidden = np.zeros((size, size), np.int8)
    permanent = np.zeros(64, np.int64)
    crossing = np.zeros(size, np.uint64)
    flags = np.zeros(size, np.int64)
    depth = np.zeros(size, np.int64)
    _depths(before, size, depth)
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
    return beam(
        size,
        before,
        crossing,
        flags,
        degree,
        cap,
        target,
        permanent,
        forbidden,
        price,
        broker_price,
        link_price,
        cheapest,
        power,
        width,
        limit,
        wide,
        noise,
        random,
        out,
    )


@compiled
def solve_local(
    size: int,
    before: Ints,
    after: Ints,
    stays: Small,
    degree_before: Ints,
    degree_after: Ints,
    cap: int,
    price: float,
    broker_price: Floats,
    link_price: Floats,
    cheapest: float,
    beta: float,
    width: int,
    limit: float,
    backwards: bool,
    random: Masks,
    out: Ints,
) -> tuple[int, float]:
    """Slides (forwards, in `out`) from `before` to `after` for at most `limit`; (-1, inf): none."""
    power = np.empty(65, np.float64)
    for n in range(65):
        power[n] = n**beta
    stiff = chance(random) < 0.5
    wide = chance(random) < 0.2
    noise = 0.0 if chance(random) < 0.5 else 0.3 * chance(random)
    if not backwards:
        return _one_way(
            size, before, after, stays, False, stiff, degree_before, cap, price, broker_price,
            link_price, cheapest, power, width, limit, wide, noise, random, out,
        )  # fmt: skip
    found = np.empty((MAX_LEVELS, 3), np.int64)
    # Going back, an action makes the link that it removes going forth.
    length, cost = _one_way(
        size, after, before, stays, True, stiff, degree_after, cap, price, broker_price,
        link_price, cheapest, power, width, limit, wide, noise, random, found,
    )  # fmt: skip
    for at in range(length):
        back = length - 1 - at
        out[at, 0], out[at, 1], out[at, 2] = found[back, 0], found[back, 2], found[back, 1]
    return length, cost
