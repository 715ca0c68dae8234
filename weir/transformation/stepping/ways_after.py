"""Compiled: what a slide does to the ways of open goals, and what that is worth.

A state holds the way of every missing goal link: `nodes[g]` are its brokers, `ids[g]` its links,
`length[g]` how many links, 1 when the goal link is there. A slide edits the ways that cross the
sliding link and no others: a way that goes on along the pivot gets one shorter, any other one
longer.

What is left to do is valued in three parts (`Worths`): each way by its length; each link by how
many ways cross it, to a power below 1, because what crosses together can be carried together; each
broker by the sum of that over its links, to a power above 1, because a broker takes part in one
action at a time.
"""

from __future__ import annotations

import numpy as np

from weir.allocation.compiled import compiled


@compiled
def slide(
    nodes: np.ndarray,
    ids: np.ndarray,
    length: np.ndarray,
    f: int,
    j: int,
    k: int,
    pivot: int,
) -> int:
    """Move the end at j of link f along `pivot` to k in every way; 1 if that makes a goal link."""
    made = 0
    for g in range(length.shape[0]):
        n = length[g]
        if n <= 1:
            continue
        for t in range(n):
            if ids[g, t] != f:
                continue
            ahead = nodes[g, t + 1] == j
            if (ahead and t + 1 < n and nodes[g, t + 2] == k) or (
                not ahead and t > 0 and nodes[g, t - 1] == k
            ):
                gone = t + 1 if ahead else t
                for s in range(gone, n):
                    nodes[g, s] = nodes[g, s + 1]
                gone = t + 1 if ahead else t - 1
                for s in range(gone, n - 1):
                    ids[g, s] = ids[g, s + 1]
                length[g] = n - 1
            else:
                for s in range(n + 1, t + 1, -1):
                    nodes[g, s] = nodes[g, s - 1]
                nodes[g, t + 1] = k
                at = t + 1 if ahead else t
                for s in range(n, at, -1):
                    ids[g, s] = ids[g, s - 1]
                ids[g, at] = pivot
                length[g] = n + 1
            if length[g] == 1:
                made = 1
            break
    return made


@compiled
def worth(
    nodes: np.ndarray,
    ids: np.ndarray,
    length: np.ndarray,
    f: int,
    i: int,
    j: int,
    k: int,
    pivot: int,
    crossing: np.ndarray,
    load: np.ndarray,
    pull: np.ndarray,
    bundle: np.ndarray,
    link_share: float,
    load_share: float,
    load_power: float,
) -> float:
    """How much less is left to do after the slide.

    -inf where a way would not fit into its row.
    """
    value = 0.0
    shorter, longer, made = 0, 0, 0
    for g in range(length.shape[0]):
        n = length[g]
        if n <= 1:
            continue
        for t in range(n):
            if ids[g, t] != f:
                continue
            ahead = nodes[g, t + 1] == j
            if (ahead and t + 1 < n and nodes[g, t + 2] == k) or (
                not ahead and nodes[g, t] == j and t > 0 and nodes[g, t - 1] == k
            ):
                shorter += 1
                value += pull[n] - pull[n - 1]
                if n == 2:
                    made = 1
            else:
                if n + 2 >= nodes.shape[1]:
                    return -np.inf
                longer += 1
                value -= pull[n + 1] - pull[n]
            break
    if shorter + longer == 0:
        return -np.inf
    moved = bundle[crossing[f]]
    stays = bundle[crossing[f] - made]
    change = bundle[crossing[pivot] - shorter + longer] - bundle[crossing[pivot]]
    value -= link_share * (change + stays - moved)
    if load_share > 0:
        at_i, at_j, at_k = load[i], load[j], load[k]
        before = at_i**load_power + at_j**load_power + at_k**load_power
        at_i += stays - moved
        at_j += change - moved
        at_k += change + stays
        after = max(at_i, 0.0) ** load_power + max(at_j, 0.0) ** load_power + at_k**load_power
        value += load_share * (before - after)
    return value


@compiled
def survey(
    nodes: np.ndarray,
    ids: np.ndarray,
    length: np.ndarray,
    bundle: np.ndarray,
    crossing: np.ndarray,
    load: np.ndarray,
) -> None:
    """How many open ways cross each link, and what that puts on each broker."""
    crossing[:] = 0
    load[:] = 0.0
    for g in range(length.shape[0]):
        if length[g] > 1:
            for t in range(length[g]):
                f = ids[g, t]
                more = bundle[crossing[f] + 1] - bundle[crossing[f]]
                crossing[f] += 1
                load[nodes[g, t]] += more
                load[nodes[g, t + 1]] += more
