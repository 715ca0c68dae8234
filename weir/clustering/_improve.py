"""How a map is made cheaper: downhill, by annealing, and how that is stopped and reported."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from weir.clustering._search import (
    STREAM_MOVES,
    anneal,
    descend,
    descend_streams,
    insert,
    insert_quickly,
)
from weir.clustering._state import charged, load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from weir.clustering._state import State
    from weir.model.mapping import Weights

    Ints = NDArray[np.int64]

JOINT_HOT, COLD = 0.1, 0.05
"""Where annealing on both layers begins, in parts of the mean cost of an item, and the part of that
where it ends."""

SLICE_TRIALS, SLICE_ITEMS = 200_000, 20_000
"""Between two looks at the clock."""

DESCENTS, MANY_ITEMS = 2, 100_000
"""Passes over all items at most, where each still moves some; of many items one."""

STILL = 2e-3
"""A pass that moves at most this part of the items is the last one."""

FEW_ITEMS, FEW_TRIALS, RESTARTS = 64, 4_000, 6
"""Of so many items at most annealing begins so often, with so many trials at least, from hot."""

COUNTED = 1000
"""What progress is counted to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """How a search is stopped and says how far it is."""

    stop: Callable[[], bool]
    report: Callable[[Mapping[str, int]], None]
    begin: float = 0.0
    end: float = 1.0
    """The part of the whole work that is watched."""

    def part(self, first: float, last: float) -> Watch:
        """Return the watch of a part of this work, from and to these parts of it."""
        length = self.end - self.begin
        return replace(self, begin=self.begin + first * length, end=self.begin + last * length)

    def passed(self, part: float) -> None:
        """Report how far this work is."""
        done = self.begin + part * (self.end - self.begin)
        self.report({"done": round(COUNTED * done), "total": COUNTED})


class Annealing(Protocol):
    """A way to cool a whole map."""

    def __call__(
        self,
        state: State,
        free: Ints,
        watch: Watch,
        *,
        trials: int,
        hot: float,
        seed: int,
        stream_moves: float = STREAM_MOVES,
    ) -> bool:
        """Anneal from `hot` to its cold part; return False where stopped."""
        ...


def layer_weights(weights: Weights) -> tuple[float, float]:
    """Return what a stream's and what a group's rate times audience costs."""
    return weights.messaging - weights.packet_share, weights.packet_share


def insert_all(state: State, order: Ints, watch: Watch, *, flat: bool = False) -> None:
    """Put each item without a stream, in this order, where it costs least; once stopped, beside
    another one of its first user."""
    for begin in range(0, len(order), SLICE_ITEMS):
        put = insert_quickly if watch.stop() else insert
        put(state, order[begin : begin + SLICE_ITEMS], flat)


def go_down(state: State, order: Ints, watch: Watch, *, flat: bool = False) -> bool:
    """Move items and streams downhill until hardly any moves; return False where stopped."""
    for _ in range(DESCENTS if len(order) <= MANY_ITEMS else 1):
        moved = 0
        for begin in range(0, len(order), SLICE_ITEMS):
            if watch.stop():
                return False
            moved += descend(state, order[begin : begin + SLICE_ITEMS], flat)
        if not flat:
            moved += descend_streams(state)
        if moved <= STILL * len(order):
            break
    return True


def cool(
    state: State,
    free: Ints,
    watch: Watch,
    *,
    trials: int,
    hot: float,
    seed: int,
    stream_moves: float = STREAM_MOVES,
    cold: float = COLD,
) -> bool:
    """Anneal from `hot` to `cold`, a part of it; return False where stopped."""
    if not len(free) or hot <= 0.0:
        return True
    slices = -(-trials // SLICE_TRIALS)
    for at in range(slices):
        if watch.stop():
            return False
        begin, end = (hot * cold ** ((at + step) / slices) for step in (0, 1))
        draw = np.random.SeedSequence([seed, at]).generate_state(1)[0]
        anneal(state, free, trials // slices, begin, end, int(draw), stream_moves)
        watch.passed((at + 1) / slices)
    return True


def improve(
    state: State,
    order: Ints,
    best: Best,
    *,
    trials: int,
    seed: int,
    watch: Watch,
    annealing: Annealing = cool,
    restarts: int = RESTARTS,
) -> bool:
    """Go down, anneal and go down again, a few items `restarts` times; keep the best map.

    Returns False where stopped.
    """
    complete = go_down(state, order, watch)
    best.keep()
    few = len(state.rates) <= FEW_ITEMS
    rounds = restarts if few else 1
    share = max(trials // rounds, FEW_TRIALS if few and trials else 0)
    for at in range(rounds if complete and share else 0):
        hot = charged(state) / max(len(state.rates), 1)
        if not few:
            hot *= JOINT_HOT
        elif at % 2:  # hot enough to pay the fees of two that change places
            hot += float(state.fees.max(initial=0.0)) + float(state.weights[2])
        part = watch.part(at / rounds, (at + 1) / rounds)
        complete = annealing(state, order, part, trials=share, hot=hot, seed=seed + at)
        # Of rates that came and went rounding stays behind: sums are made anew.
        load(state, state.stream_of.copy(), state.group_of.copy())
        complete = go_down(state, order, watch) and complete
        best.keep()
        if not complete:
            break
    return complete


class Best:
    """The cheapest map that a state has had."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._cost = np.inf
        self._map = (state.stream_of.copy(), state.group_of.copy())
        self.keep()

    def keep(self) -> None:
        """Keep the map of now where it is cheaper."""
        cost = charged(self._state)
        if cost < self._cost:
            self._cost = cost
            self._map = (self._state.stream_of.copy(), self._state.group_of.copy())

    def map(self) -> tuple[Ints, Ints]:
        return self._map
