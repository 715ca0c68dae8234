"""Compiled: from each kept state several randomly filled steps, each result valued and named."""

from __future__ import annotations

import numpy as np

from weir.allocation.compiled import compiled
from weir.transformation.stepping.filling import fill
from weir.transformation.stepping.ways_after import survey


@compiled
def sow(seed: int) -> None:
    """Seed the generator of the compiled code."""
    np.random.seed(seed)


@compiled
def rest(
    nodes: np.ndarray,
    ids: np.ndarray,
    length: np.ndarray,
    links: int,
    pull: np.ndarray,
    bundle: np.ndarray,
    shares: np.ndarray,
    brokers: int,
) -> float:
    """How much is left to do: the worth of all open ways, links and brokers."""
    crossing = np.zeros(links, np.int32)
    load = np.zeros(brokers)
    survey(nodes, ids, length, bundle, crossing, load)
    left = 0.0
    for g in range(length.shape[0]):
        if length[g] > 1:
            left += pull[length[g]]
    for f in range(links):
        left += shares[0] * bundle[crossing[f]]
    if shares[1] > 0:
        for b in range(brokers):
            left += shares[1] * load[b] ** shares[2]
    return left


@compiled
def name_of(nodes: np.ndarray, ids: np.ndarray, length: np.ndarray) -> int:
    """A number that equal states share: states are equal when their ways are."""
    name = np.int64(1469598103934665603)
    for g in range(length.shape[0]):
        for t in range(length[g] + 1):
            name = (name ^ np.int64(nodes[g, t] + 1)) * np.int64(1099511628211)
        name = (name ^ np.int64(7919)) * np.int64(1099511628211)
    return int(name)


@compiled
def widen(
    nodes: np.ndarray,
    ids: np.ndarray,
    length: np.ndarray,
    fixed: np.ndarray,
    room: np.ndarray,
    first: int,
    last: int,
    children: int,
    frozen: np.ndarray,
    barred: np.ndarray,
    links: int,
    disjoint: bool,
    pull: np.ndarray,
    bundle: np.ndarray,
    shares: np.ndarray,
    rest_shares: np.ndarray,
    noise: float,
    skip: float,
    least: float,
    hitch: bool,
    out_nodes: np.ndarray,
    out_ids: np.ndarray,
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
            out_nodes[at] = nodes[b]
            out_ids[at] = ids[b]
            out_length[at] = length[b]
            out_fixed[at] = fixed[b]
            out_room[at] = room[b]
            counts[at] = fill(
                out_nodes[at],
                out_ids[at],
                out_length[at],
                out_fixed[at],
                out_room[at],
                frozen,
                barred,
                links,
                disjoint,
                pull,
                bundle,
                shares,
                noise if c else 0.0,
                skip * np.random.random() if c else 0.0,
                least if c else 1e-9,
                hitch,
                taken[at],
            )
            left[at] = rest(
                out_nodes[at],
                out_ids[at],
                out_length[at],
                links,
                pull,
                bundle,
                rest_shares,
                room.shape[1],
            )
            names[at] = name_of(out_nodes[at], out_ids[at], out_length[at])
            still[at] = 0
            for g in range(length.shape[1]):
                if out_length[at, g] > 1:
                    still[at] += 1
