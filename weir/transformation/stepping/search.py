"""A beam over steps: the best states after each step are kept, until one has every goal link.

Rounds differ in how wide the beam is, how ways and loads are valued and how far slides that cost
more than they bring are allowed. No round is longer than the best plan less one step, so a round
ends with a better plan or with nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.transformation.stepping.widening import sow, widen

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.transformation.stepping.ways import Ways

CELLS = 3_000_000
"""Numbers that the states after one step may take, before the best are kept."""
CHUNK = 60_000
"""Links of ways that are worked on between two questions whether to stop: some milliseconds."""

Triples = list[np.ndarray]
"""Per step the slides as rows (i, j, k)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taste:
    """How a round values states and picks slides."""

    width: int
    children: int
    way_power: float
    """A way of L links weighs (L - 1) to this power."""
    way_share: float
    bundle_power: float
    """A link that N ways cross weighs N to this power."""
    link_share: float
    load_power: float
    """A broker weighs the sum over its links to this power."""
    load_share: float
    rest_power: float
    """The same for what is left of a state after a step, instead of `load_power`."""
    rest_share: float
    noise: float
    skip: float
    least: float
    """A slide is taken above this worth; below 0 it may lengthen more than it shortens."""
    hitch: bool
    """Whether links slide onto others that may move although no way goes on there."""


@dataclass(slots=True)
class _States:
    nodes: np.ndarray
    ids: np.ndarray
    length: np.ndarray
    fixed: np.ndarray
    room: np.ndarray

    @classmethod
    def first(cls, ways: Ways) -> _States:
        fixed = np.zeros(ways.length.shape, np.bool_)
        start = (ways.nodes, ways.ids, ways.length, fixed, ways.room)
        return cls(*(array[None].copy() for array in start))

    def empty(self, count: int) -> _States:
        return _States(*(np.empty((count, *a.shape[1:]), a.dtype) for a in self._arrays()))

    def some(self, rows: np.ndarray) -> _States:
        return _States(*(array[rows] for array in self._arrays()))

    def _arrays(self) -> tuple[np.ndarray, ...]:
        return (self.nodes, self.ids, self.length, self.fixed, self.room)


def search(
    ways: Ways,
    taste: Taste,
    *,
    disjoint: bool,
    most_steps: int,
    seed: int,
    stop: Callable[[], bool],
) -> Triples | None:
    """A plan of at most `most_steps` steps, or None where this round found none."""
    sow(seed % 2**32)
    pull, bundle, shares, rest_shares = _tables(ways, taste)
    size = int(ways.nodes.size + ways.ids.size)
    children = max(1, min(taste.children, CELLS // size))
    width = max(1, min(taste.width, CELLS // (size * children)))
    chunk = max(1, CHUNK // (max(1, int(ways.length.sum())) * children))
    now = _States.first(ways)
    history: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for _ in range(most_steps):
        count = now.length.shape[0]
        after = now.empty(count * children)
        taken = np.empty((count * children, ways.length.shape[0], 3), np.int32)
        counts = np.zeros(count * children, np.int32)
        left = np.empty(count * children)
        names = np.empty(count * children, np.int64)
        still = np.empty(count * children, np.int32)
        for first in range(0, count, chunk):
            widen(
                now.nodes,
                now.ids,
                now.length,
                now.fixed,
                now.room,
                first,
                min(first + chunk, count),
                children,
                ways.frozen,
                ways.barred,
                ways.links,
                disjoint,
                pull,
                bundle,
                shares,
                rest_shares,
                taste.noise,
                taste.skip,
                taste.least,
                taste.hitch,
                after.nodes,
                after.ids,
                after.length,
                after.fixed,
                after.room,
                taken,
                counts,
                left,
                names,
                still,
            )
            if stop():
                return None
        done = np.flatnonzero((still == 0) & (counts > 0))
        if done.size:
            best = done[np.argmin(counts[done])]
            history.append((np.array([best // children]), taken[[best]], counts[[best]]))
            return _unwound(history)
        rows = _best(left, names, counts, width)
        if not rows.size:
            return None
        history.append((rows // children, taken[rows], counts[rows]))
        now = after.some(rows)
    return None


def _tables(ways: Ways, taste: Taste) -> tuple[np.ndarray, ...]:
    links = np.arange(ways.nodes.shape[1] + 3)
    pull = taste.way_share * np.maximum(links - 1, 0) ** taste.way_power
    bundle = np.arange(ways.length.shape[0] + 4) ** taste.bundle_power
    shares = np.array([taste.link_share, taste.load_share, taste.load_power])
    rest_shares = np.array([taste.link_share, taste.rest_share, taste.rest_power])
    return pull, bundle, shares, rest_shares


def _best(left: np.ndarray, names: np.ndarray, counts: np.ndarray, width: int) -> np.ndarray:
    """The rows with least left to do, each state once."""
    order = np.argsort(left, kind="stable")
    order = order[counts[order] > 0]
    _, firsts = np.unique(names[order], return_index=True)
    return order[np.sort(firsts)[:width]]


def _unwound(history: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Triples:
    at = 0
    steps: Triples = []
    for parents, taken, counts in reversed(history):
        steps.append(taken[at, : counts[at]].copy())
        at = int(parents[at])
    return steps[::-1]
