"""The slides' K-means with single moves: items with a rate and an audience, into clusters.

Each step takes one item out of its cluster and puts it where it costs least: item i in cluster C
costs R_C |A_i \\ U_C| + r_i |U_C \\ A_i| more than apart. Every user of every cluster is counted,
so that a step takes |A_i| rows of one byte a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled
from weir.plugins import about, check_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

NEGLIGIBLE = 1e-9
"""Relative gain below which an item stays: what rounding may feign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KMeansParams:
    """When a clustering ends: the slides' criteria beside the time."""

    max_epochs: int = field(
        default=100, metadata=about(help="Passes over all items of a clustering.", min=1, max=1e6)
    )
    few_moved: float = field(
        default=0.0,
        metadata=about(
            help="A clustering ends after a pass in which no greater part of its items moved.",
            min=0.0,
            max=1.0,
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """What is clustered: flows into streams or groups, or streams into groups."""

    rates: NDArray[np.float64]
    starts: NDArray[np.int64]
    users: NDArray[np.int32]
    user_count: int

    def some(self, chosen: NDArray[np.int64]) -> Items:
        """Return these items alone, in this order."""
        sizes = self.starts[chosen + 1] - self.starts[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], sizes)
        return Items(
            rates=self.rates[chosen],
            starts=starts,
            users=self.users[places],
            user_count=self.user_count,
        )

    def merged(self, labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], Items]:
        """Return the labels in use, rising, and one item for each: what its items are together."""
        used, dense = np.unique(labels, return_inverse=True)
        each = np.repeat(dense, np.diff(self.starts))
        keys = np.unique(each * self.user_count + self.users)
        sizes = np.bincount(keys // self.user_count, minlength=len(used))
        return used, Items(
            rates=_sums(dense, self.rates, len(used)),
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            users=(keys % self.user_count).astype(np.int32),
            user_count=self.user_count,
        )

    def received(self) -> float:
        """Return messages per second that users receive when each item goes to its audience."""
        return float(self.rates @ np.diff(self.starts))


def cluster(
    items: Items,
    count: int,
    start: NDArray[np.int64],
    fixed: NDArray[np.bool_],
    params: KMeansParams,
    *,
    rng: np.random.Generator,
    stop: Callable[[], bool],
) -> tuple[NDArray[np.int64], bool]:
    """Return the cluster of each item, from 0 to `count` - 1, and whether it came to its end.

    Begins from `start`; items that are `fixed` stay there. Each pass is in another random order.
    """
    labels = start.astype(np.int64)
    free = np.flatnonzero(~fixed)
    if count < 2 or not len(free):
        return labels, True
    counts = np.zeros((items.user_count, count), dtype=np.int32)
    served = np.zeros((items.user_count, count), dtype=np.uint8)
    sizes = np.zeros(count, dtype=np.int64)
    overlap = np.zeros(count, dtype=np.int32)
    rows = (items.rates, items.starts, items.users)
    count_in(*rows, labels, counts, served, sizes)
    members = np.bincount(labels, minlength=count)
    for _ in range(params.max_epochs):
        if stop():
            return labels, False
        rates = _sums(labels, items.rates, count)
        order = rng.permutation(free)
        moved = sweep(order, *rows, labels, counts, served, sizes, members, rates, overlap)
        if moved <= params.few_moved * len(free):
            break
    return labels, True


def _sums(
    labels: NDArray[np.int64], values: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return the sum of the values that have each label."""
    return np.bincount(labels, weights=values, minlength=count).astype(np.float64)


@compiled
def count_in(
    item_rates: NDArray[np.float64],
    starts: NDArray[np.int64],
    users: NDArray[np.int32],
    labels: NDArray[np.int64],
    counts: NDArray[np.int32],
    served: NDArray[np.uint8],
    sizes: NDArray[np.int64],
) -> None:
    """Count the items of each cluster by user, and the users of each cluster."""
    for item in range(len(item_rates)):
        at = labels[item]
        for place in range(starts[item], starts[item + 1]):
            user = users[place]
            counts[user, at] += 1
            if counts[user, at] == 1:
                served[user, at] = 1
                sizes[at] += 1


@compiled
def sweep(
    order: NDArray[np.int64],
    item_rates: NDArray[np.float64],
    starts: NDArray[np.int64],
    users: NDArray[np.int32],
    labels: NDArray[np.int64],
    counts: NDArray[np.int32],
    served: NDArray[np.uint8],
    sizes: NDArray[np.int64],
    members: NDArray[np.int64],
    rates: NDArray[np.float64],
    overlap: NDArray[np.int32],
) -> int:
    """Move each of these items to its best cluster, one after another; return how many moved."""
    count = len(sizes)
    moved = 0
    for item in order:
        rate = item_rates[item]
        low, high = starts[item], starts[item + 1]
        audience = high - low
        old = labels[item]
        overlap[:] = 0
        for place in range(low, high):
            user = users[place]
            counts[user, old] -= 1
            if counts[user, old] == 0:
                served[user, old] = 0
                sizes[old] -= 1
            row = served[user]
            for at in range(count):
                overlap[at] += row[at]
        members[old] -= 1
        # What sums of floats leave behind must not weigh on an empty cluster.
        rates[old] = rates[old] - rate if members[old] else 0.0
        staying = rates[old] * (audience - overlap[old]) + rate * (sizes[old] - overlap[old])
        least = staying - NEGLIGIBLE * staying
        best = old
        for at in range(count):
            cost = rates[at] * (audience - overlap[at]) + rate * (sizes[at] - overlap[at])
            if cost < least:
                least = cost
                best = at
        if best != old:
            labels[item] = best
            moved += 1
        for place in range(low, high):
            user = users[place]
            counts[user, best] += 1
            if counts[user, best] == 1:
                served[user, best] = 1
                sizes[best] += 1
        members[best] += 1
        rates[best] += rate
    return moved
