"""A map from nothing: streams, groups of them, streams within those, then both at once.

Heavy items choose first. Streams are formed as if there were no groups, then groups of streams, as
if each were one stream; then items move between groups. How many streams a group gets follows from
what each of them saves: an item opens one where that saves more than a price, and the price is the
one at which all streams are used. After some turns of this, items and whole streams move on the
cost of both layers together, downhill and by annealing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from weir.clustering._items import heaviest_first
from weir.clustering._search import (
    STREAM_MOVES,
    anneal,
    descend,
    descend_streams,
    insert,
    insert_within,
)
from weir.clustering._state import charged, load, state_of
from weir.model.mapping import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from weir.clustering._items import Items
    from weir.clustering._state import State
    from weir.model.mapping import Weights

    Ints = NDArray[np.int64]

GROUPS_HOT, JOINT_HOT, COLD = 0.3, 0.1, 0.05
"""Where annealing begins, in parts of the mean cost of an item, and the part of that where it
ends."""

GROUPS_SHARE = 0.4
"""Of all trials, those on groups alone."""

SLICE_TRIALS, SLICE_ITEMS = 200_000, 20_000
"""Between two looks at the clock."""

DESCENTS, MANY_ITEMS = 2, 100_000
"""Passes over all items at most, where each still moves some: of many items one."""

STILL = 2e-3
"""A pass that moves at most this part of the items is the last one."""

FEW_ITEMS, FEW_TRIALS, RESTARTS = 64, 4_000, 6
"""Below so many items annealing begins so often, with so many trials at least, from hot."""

ALTERNATIONS = 3
"""Times that streams are formed without their groups, groups of them, and streams of those."""

PRICES = 9
"""Prices tried of opening a stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """How a search is stopped and says how far it is."""

    stop: Callable[[], bool]
    report: Callable[[Mapping[str, float]], None]
    total: int
    """Trials in all, of which `done` is counted."""
    done: int = 0

    def after(self, trials: int) -> Watch:
        return replace(self, done=self.done + trials)


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
        watch.report({"done": watch.done + (at + 1) * trials // slices, "total": watch.total})
    return True


def anew(
    items: Items,
    weights: Weights,
    *,
    trials: int,
    seed: int,
    watch: Watch,
    annealing: Annealing = cool,
) -> tuple[Ints, Ints, bool]:
    """Return stream by item, group by stream, and whether the search came to its end."""
    if not len(items.rates):
        return items.home, np.zeros(len(items.streams), dtype=np.int64), True
    in_stream, in_group = layer_weights(weights)
    order = items.order()
    groups = _Groups(items, watch, annealing)
    groups.merge(*_clusters(items, len(items.streams), watch))
    of_groups = int(trials * GROUPS_SHARE)
    if in_stream < 0.0 and not pinned(items):
        # A message is cheaper than its packet: to tell streams of a group apart does not pay.
        complete = groups.anneal(trials=trials, seed=seed)
        _, stream_of = np.unique(groups.of_item(), return_inverse=True)
        group_of = np.zeros(len(items.streams), dtype=np.int64)
        group_of[stream_of] = groups.of_item()
        return stream_of.astype(np.int64), group_of, complete
    state = state_of(
        items,
        streams=len(items.streams),
        groups=len(items.groups),
        weights=(in_stream, in_group, 0.0),
        fixed=items.pinned_stream != NOWHERE,
        pinned_group=items.pinned_group,
    )
    _open_streams(state, items, groups.of_item(), order)
    best = Best(state)
    for _ in range(ALTERNATIONS if len(items.rates) <= MANY_ITEMS else 0):
        if not go_down(state, order, watch):
            break
        best.keep()
        start = (state.stream_of.copy(), np.maximum(state.group_of, 0))
        groups.merge(*_clusters(items, len(items.streams), watch, start=start))
        _open_streams(state, items, groups.of_item(), order)
        best.keep()
    complete = not watch.stop() and groups.anneal(trials=of_groups, seed=seed)
    if complete:
        _open_streams(state, items, groups.of_item(), order)
        watch, rest = watch.after(of_groups), trials - of_groups
        complete = improve(
            state, order, best, trials=rest, seed=seed, watch=watch, annealing=annealing
        )
    return *best.map(), complete


def improve(
    state: State,
    order: Ints,
    best: Best,
    *,
    trials: int,
    seed: int,
    watch: Watch,
    annealing: Annealing = cool,
) -> bool:
    """Go down, anneal and go down again, a few items several times; keep the best map, and return
    False where stopped."""
    complete = go_down(state, order, watch)
    best.keep()
    few = len(state.rates) <= FEW_ITEMS
    rounds = RESTARTS if few else 1
    share = max(trials // rounds, FEW_TRIALS if few else 0)
    for at in range(rounds if complete and share else 0):
        hot = charged(state) / max(len(state.rates), 1)
        if not few:
            hot *= JOINT_HOT
        elif at % 2:  # hot enough to pay the fees of two that change places
            hot += float(state.fees.max(initial=0.0)) + float(state.weights[2])
        complete = annealing(state, order, watch, trials=share, hot=hot, seed=seed + at)
        watch = watch.after(share)
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


def pinned(items: Items) -> bool:
    """Return whether anything is tied to a stream or a group."""
    return bool((items.pinned_stream != NOWHERE).any() or (items.pinned_group != NOWHERE).any())


class _Groups:
    """Items in groups, as if a group were one stream."""

    def __init__(self, items: Items, watch: Watch, annealing: Annealing) -> None:
        self._items, self._watch, self._annealing = items, watch, annealing
        # Which group a pinned stream lies in may be pinned as well.
        self._tied = np.where(
            items.pinned_stream != NOWHERE, items.pinned_group[items.pinned_stream], NOWHERE
        )
        count = min(len(items.groups), len(items.streams))
        self._count = max(count, int(self._tied.max(initial=NOWHERE)) + 1)
        self._state = state_of(
            items,
            streams=self._count,
            groups=self._count,
            fixed=self._tied != NOWHERE,
            pinned_group=np.arange(self._count),  # of its one stream, an empty one too
        )
        order = heaviest_first(items)
        self._order = order[self._tied[order] == NOWHERE]
        self._best = Best(self._state)

    def of_item(self) -> Ints:
        """Return the group of each item."""
        return self._best.map()[0]

    def merge(self, cluster_of: Ints, group_of: Ints | None) -> None:
        """Put clusters of items into groups, from these groups of theirs on, then move items."""
        if self._watch.stop() and self._ready():
            return
        if group_of is not None:
            group_of = np.where(group_of < self._count, group_of, 0)
        merged = self._items.merged(cluster_of, int(cluster_of.max()) + 1)
        group_of = _flat(merged, self._count, self._watch, start=group_of)
        start = np.where(self._tied != NOWHERE, self._tied, group_of[cluster_of])
        load(self._state, start, np.arange(self._count))
        self._best = Best(self._state)
        go_down(self._state, self._order, self._watch, flat=True)
        self._best.keep()

    def anneal(self, *, trials: int, seed: int) -> bool:
        """Move items at random, ever less; return False where stopped."""
        state, order, watch = self._state, self._order, self._watch
        hot = charged(state) / max(len(self._items.rates), 1) * GROUPS_HOT
        complete = self._annealing(
            state, order, watch, trials=trials, hot=hot, seed=seed, stream_moves=0.0
        )
        complete = go_down(state, order, watch, flat=True) and complete
        self._best.keep()
        return complete

    def _ready(self) -> bool:
        return bool((self._best.map()[0] != NOWHERE).all())


def _clusters(
    items: Items, clusters: int, watch: Watch, *, start: tuple[Ints, Ints] | None = None
) -> tuple[Ints, Ints | None]:
    """Return a cluster by item, as if there were no groups, and a group by cluster, if any.

    `start`: a stream by item and a group by stream to begin with.
    """
    if start is None:
        return _flat(items, min(clusters, len(items.rates)), watch), None
    return _flat(items, clusters, watch, start=start[0]), start[1]


def _flat(items: Items, clusters: int, watch: Watch, *, start: Ints | None = None) -> Ints:
    """Return a cluster by item, downhill from `start`; without one each, heavy ones first, goes
    where it costs least."""
    state = state_of(items, streams=clusters, groups=clusters)
    order = heaviest_first(items)
    if start is None:
        insert(state, order, True)
    else:
        load(state, start, np.arange(clusters))
    go_down(state, order, watch, flat=True)
    return state.stream_of.copy()


def _open_streams(state: State, items: Items, group_of_item: Ints, order: Ints) -> None:
    """Put every item into a stream of its group, at the price at which all streams are used."""
    pinned = np.flatnonzero(items.pinned_stream != NOWHERE)
    fixed_streams = items.pinned_stream[pinned]
    start = np.full(len(items.rates), NOWHERE, dtype=np.int64)
    start[pinned] = fixed_streams
    group_of = items.pinned_group.copy()
    loose = pinned[group_of[fixed_streams] == NOWHERE]
    group_of[items.pinned_stream[loose]] = group_of_item[loose]
    taken = items.pinned_group != NOWHERE
    taken[fixed_streams] = True
    free = np.flatnonzero(~taken)

    def openings(price: float) -> int:
        load(state, start, group_of)
        latest = np.full(len(items.groups), NOWHERE, dtype=np.int64)
        return insert_within(state, order, group_of_item, price, free, latest)

    high = 4.0 * float((items.rates * np.diff(items.starts)).sum())
    low = high * 1e-9
    if openings(0.0) > len(free):
        for _ in range(PRICES):
            price = float(np.sqrt(low * high))
            if openings(price) > len(free):
                low = price
            else:
                high = price
        openings(high)
    left = order[state.stream_of[order] == NOWHERE]
    insert(state, left, False)
