"""A map from nothing: streams, groups of them, streams within those, then both at once.

Heavy items choose first. Streams are formed as if there were no groups, then groups of streams, as
if each were one stream; then items move between groups. How many streams a group gets follows from
what each of them saves: an item opens one where that saves more than a price, and the price is the
one at which all streams are used. After some turns of this, items and whole streams move on the
cost of both layers together, downhill and by annealing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.clustering._improve import (
    MANY_ITEMS,
    Best,
    cool,
    go_down,
    improve,
    insert_all,
    layer_weights,
)
from weir.clustering._items import heaviest_first
from weir.clustering._search import insert_within
from weir.clustering._state import charged, load, state_of
from weir.model.mapping import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from weir.clustering._improve import Annealing, Watch
    from weir.clustering._items import Items
    from weir.clustering._state import State
    from weir.model.mapping import Weights

    Ints = NDArray[np.int64]

GROUPS_HOT, GROUPS_SHARE = 0.3, 0.4
"""Where annealing of groups begins, in parts of the mean cost of an item, and its part of all
trials."""

ALTERNATIONS, TURNS_SHARE = 3, 0.3
"""Times that streams are formed without their groups, groups of them, and streams of those; about
the part of all time that this takes."""

PRICES = 9
"""Prices tried of opening a stream."""


def anew(
    items: Items,
    weights: Weights,
    *,
    trials: int,
    seed: int,
    watch: Watch,
    annealing: Annealing = cool,
    other: Callable[[Watch], tuple[Ints, Ints]] | None = None,
) -> tuple[Ints, Ints, bool]:
    """Return stream by item, group by stream, and whether the search came to its end.

    `other` makes another map to begin with, where items and streams may be NOWHERE; the cheaper of
    the two is annealed. Groups are not annealed alone then, which brings less.
    """
    if not len(items.rates):
        return items.home, np.zeros(len(items.streams), dtype=np.int64), True
    in_stream, in_group = layer_weights(weights)
    order = items.order()
    groups = _Groups(items, watch, annealing)
    groups.merge(*_clusters(items, len(items.streams), watch))
    of_groups = int(trials * GROUPS_SHARE)
    turns = ALTERNATIONS if len(items.rates) <= MANY_ITEMS else 0
    if in_stream < 0.0 and not pinned(items):
        # A message is cheaper than its packet: to tell streams of a group apart does not pay.
        complete = groups.anneal(watch, trials=trials, seed=seed)
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
    _open_streams(state, items, groups.of_item(), order, watch)
    best = Best(state)
    for turn in range(turns):
        complete = go_down(state, order, watch)
        best.keep()
        if not complete:
            break
        start = (state.stream_of.copy(), np.maximum(state.group_of, 0))
        groups.merge(*_clusters(items, len(items.streams), watch, start=start))
        _open_streams(state, items, groups.of_item(), order, watch)
        best.keep()
        watch.passed(TURNS_SHARE * (turn + 1) / turns)
    if watch.stop():
        return *best.map(), False
    middle = TURNS_SHARE + (1.0 - TURNS_SHARE) * GROUPS_SHARE
    if other is None:
        complete = groups.anneal(watch.part(TURNS_SHARE, middle), trials=of_groups, seed=seed)
        _open_streams(state, items, groups.of_item(), order, watch)
    else:
        of_groups = 0
        load(state, *other(watch.part(TURNS_SHARE, middle)))
        insert_all(state, np.flatnonzero(state.stream_of == NOWHERE), watch)
        complete = go_down(state, order, watch)
        best.keep()
        load(state, *best.map())
    best.keep()
    if complete:
        complete = improve(
            state,
            order,
            best,
            trials=trials - of_groups,
            seed=seed,
            watch=watch.part(middle, 1.0),
            annealing=annealing,
        )
    return *best.map(), complete


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

    def anneal(self, watch: Watch, *, trials: int, seed: int) -> bool:
        """Move items at random, ever less; return False where stopped."""
        state, order = self._state, self._order
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
        insert_all(state, order, watch, flat=True)
    else:
        load(state, start, np.arange(clusters))
    go_down(state, order, watch, flat=True)
    return state.stream_of.copy()


def _open_streams(
    state: State, items: Items, group_of_item: Ints, order: Ints, watch: Watch
) -> None:
    """Put every item into a stream of its group, at the price at which all streams are used; once
    stopped, let the heaviest open them."""
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
    first, following = _listed(np.flatnonzero(taken), group_of, len(items.groups))

    def openings(price: float) -> int:
        load(state, start, group_of)
        return insert_within(
            state, order, group_of_item, price, free, first.copy(), following.copy()
        )

    high = 4.0 * float((items.rates * np.diff(items.starts)).sum())
    low = high * 1e-9
    if openings(0.0) > len(free) and not watch.stop():
        for _ in range(PRICES):
            price = float(np.sqrt(low * high))
            if openings(price) > len(free):
                low = price
            else:
                high = price
        openings(high)
    left = order[state.stream_of[order] == NOWHERE]
    insert_all(state, left, watch)


def _listed(streams: Ints, group_of: Ints, groups: int) -> tuple[Ints, Ints]:
    """Return these streams as lists of their groups: the first of each group, and what follows each
    stream; NOWHERE ends a list."""
    first = np.full(groups, NOWHERE, dtype=np.int64)
    following = np.full(len(group_of), NOWHERE, dtype=np.int64)
    for stream in streams.tolist():
        following[stream] = first[group_of[stream]]
        first[group_of[stream]] = stream
    return first, following
