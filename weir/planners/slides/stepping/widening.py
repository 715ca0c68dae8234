"""Compiled: from each kept state several randomly filled steps, each result valued and named."""

from __future__ import annotations

import numpy as np

from weir.compiled import compiled
from weir.planners.slides.bits import scrambled
from weir.planners.slides.stepping.crossings import Worths, survey
from weir.planners.slides.stepping.filling import fill


@compiled
def sow(seed: int) -> None:
    """Seed the generator of the compiled code."""
    np.random.seed(seed)


@compiled
def rest(
    ends: np.ndarray, rows: np.ndarray, length: np.ndarray, worths: Worths, brokers: int
) -> float:
    """How much is left to do: the worth of all open ways, links and brokers."""
    crossing = np.empty(ends.shape[0], np.int32)
    load = np.empty(brokers)
    survey(ends, rows, worths.bundle, crossing, load)
    left = 0.0
    for g in range(length.shape[0]):
        left += worths.pull[length[g]]
    for f in range(ends.shape[0]):
        left += worths.link_share * worths.bundle[crossing[f]]
    if worths.load_share > 0:
        for b in range(brokers):
            left += worths.load_share * load[b] ** worths.load_power
    return left


@compiled
def name_of(ends: np.ndarray, movable: int, brokers: int) -> int:
    """A number that equal trees share, whichever link is where."""
    name = np.uint64(0)
    for f in range(movable):
        a, b = ends[f, 0], ends[f, 1]
        name += scrambled(np.uint64(min(a, b) * brokers + max(a, b)))
    return int(np.int64(name))


@compiled
def widen(
    ends: np.ndarray,
    rows: np.ndarray,
    length: np.ndarray,
    fixed: np.ndarray,
    room: np.ndarray,
    first: int,
    last: int,
    children: int,
    frozen: np.ndarray,
    barred: np.ndarray,
    disjoint: bool,
    worths: Worths,
    rest_worths: Worths,
    noise: float,
    skip: float,
    least: float,
    hitch: bool,
    out_ends: np.ndarray,
    out_rows: np.ndarray,
    out_length: np.ndarray,
    out_fixed: np.ndarray,
    out_room: np.ndarray,
    taken: np.ndarray,
    counts: np.ndarray,
    left: np.ndarray,
    names: np.ndarray,
    still: np.ndarray,
) -> None:
    """`children` steps from each of the states first..last-1, the results in rows of `out_*`.

    The first child of a state is filled without chance.
    """
    for b in range(first, last):
        for c in range(children):
            at = b * children + c
            out_ends[at] = ends[b]
            out_rows[at] = rows[b]
            out_length[at] = length[b]
            out_fixed[at] = fixed[b]
            out_room[at] = room[b]
            counts[at] = fill(
                out_ends[at],
                out_rows[at],
                out_length[at],
                out_fixed[at],
                out_room[at],
                frozen,
                barred,
                disjoint,
                worths,
                noise if c else 0.0,
                skip * np.random.random() if c else 0.0,
                least if c else 1e-9,
                hitch,
                taken[at],
            )
            left[at] = rest(out_ends[at], out_rows[at], out_length[at], rest_worths, room.shape[1])
            names[at] = name_of(out_ends[at], length.shape[1], room.shape[1])
            still[at] = 0
            for g in range(length.shape[1]):
                if out_length[at, g] > 1:
                    still[at] += 1
