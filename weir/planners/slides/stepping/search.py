"""A beam over steps: the best states after each step are kept, until one has every goal link.

Rounds differ in how wide the beam is, how ways and loads are valued and how far slides that cost
more than they bring are allowed. No round is longer than the best plan less one step, so a round
ends with a better plan or with nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.planners.slides.stepping.crossings import Worths
from weir.planners.slides.stepping.filling import Choice, Rules
from weir.planners.slides.stepping.widening import Children, States, sow, widen

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.planners.slides.stepping.arrays import Ways

SPARE = 8
"""A way may grow to twice the longest one and so many links more."""
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
    worths, rest_worths = _worths(ways, taste)
    size = int(ways.ends.size + ways.rows.size)
    children = max(1, min(taste.children, CELLS // size))
    width = max(1, min(taste.width, CELLS // (size * children)))
    chunk = max(1, CHUNK // (max(1, int(ways.length.sum())) * children))
    rules = Rules(ways.frozen, ways.barred, disjoint)
    choice = Choice(taste.noise, taste.skip, taste.least, taste.hitch)
    now = _first(ways)
    history: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for _ in range(most_steps):
        count = now.length.shape[0]
        after = _room(now, count * children)
        for first in range(0, count, chunk):
            last = min(first + chunk, count)
            widen(now, first, last, rules, worths, rest_worths, choice, after)
            if stop():
                return None
        counts = after.counts
        done = np.flatnonzero((after.still == 0) & (counts > 0))
        if done.size:
            best = done[np.argmin(counts[done])]
            history.append((np.array([best // children]), after.taken[[best]], counts[[best]]))
            return _unwound(history)
        rows = _best(after, width)
        if not rows.size:
            return None
        history.append((rows // children, after.taken[rows], counts[rows]))
        now = States(*(array[rows] for array in after.states))
    return None


def _first(ways: Ways) -> States:
    """The state at the start, alone."""
    fixed = np.zeros(ways.length.shape, np.bool_)
    start = (ways.ends, ways.rows, ways.length, fixed, ways.room)
    return States(*(array[None].copy() for array in start))


def _room(now: States, count: int) -> Children:
    """Room for so many states like these, and for the steps that lead there."""
    return Children(
        states=States(*(np.empty((count, *array.shape[1:]), array.dtype) for array in now)),
        taken=np.empty((count, now.length.shape[1], 3), np.int32),
        counts=np.zeros(count, np.int32),
        left=np.empty(count),
        names=np.empty(count, np.int64),
        still=np.empty(count, np.int32),
    )


def _worths(ways: Ways, taste: Taste) -> tuple[Worths, Worths]:
    """While a step is filled, and of what is left after it."""
    longest = 2 * int(ways.length.max(initial=1)) + SPARE
    worths = Worths(
        pull=taste.way_share * np.maximum(np.arange(longest) - 1.0, 0.0) ** taste.way_power,
        bundle=np.arange(ways.length.shape[0] + 4) ** taste.bundle_power,
        link_share=taste.link_share,
        load_share=taste.load_share,
        load_power=taste.load_power,
    )
    return worths, worths._replace(load_share=taste.rest_share, load_power=taste.rest_power)


def _best(after: Children, width: int) -> np.ndarray:
    """The rows with least left to do, each state once."""
    order = np.argsort(after.left, kind="stable")
    order = order[after.counts[order] > 0]
    _, firsts = np.unique(after.names[order], return_index=True)
    return order[np.sort(firsts)[:width]]


def _unwound(history: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Triples:
    at = 0
    steps: Triples = []
    for parents, taken, counts in reversed(history):
        steps.append(taken[at, : counts[at]].copy())
        at = int(parents[at])
    return steps[::-1]
