"""What is moved as one: flows with the same audience, or those pinned to the same stream.

Flows with the same audience belong in the same stream wherever a message costs at least as much at
the messaging layer as in its packet: the dearer of their two streams can give its flow away, and
the other one's audience does not grow. So a map of such items is as cheap as one of flows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from weir.model.mapping import NOWHERE, FlowMap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.model.mapping import MappingProblem


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """Wanted flows, some of them together, and the streams and groups that can be of use."""

    item_of: NDArray[np.int64]
    """By flow; NOWHERE for one that nobody wants."""
    rates: NDArray[np.float64]
    starts: NDArray[np.int64]
    users: NDArray[np.int32]
    """Of item i those at `users[starts[i]:starts[i + 1]]`, rising."""
    user_count: int
    """Of those who want something."""
    pinned_stream: NDArray[np.int64]
    """By item, as an index of `streams`; NOWHERE where it may go to any."""
    home: NDArray[np.int64]
    """The stream of an item in the former map, likewise."""
    flows: NDArray[np.int64]
    """How many flows an item stands for."""
    streams: NDArray[np.int64]
    """Numbers of the streams that can be of use."""
    groups: NDArray[np.int64]
    """Numbers of the groups that can be of use."""
    pinned_group: NDArray[np.int64]
    """By stream, as an index of `groups`; NOWHERE where it may lie in any."""
    home_group: NDArray[np.int64]
    """By stream, the group of the former map, likewise."""

    def order(self) -> NDArray[np.int64]:
        """Return the items without a pin, heavy ones first."""
        order = heaviest_first(self)
        free: NDArray[np.int64] = order[self.pinned_stream[order] == NOWHERE]
        return free

    def merged(self, cluster_of: NDArray[np.int64], clusters: int) -> Items:
        """Return clusters of items as items of their own, without pins and former places."""
        nowhere = np.full(clusters, NOWHERE, dtype=np.int64)
        flows = self.item_of != NOWHERE
        item_of = np.where(flows, cluster_of[self.item_of], NOWHERE)
        starts, users = _audiences(
            np.repeat(cluster_of, np.diff(self.starts)), self.users, clusters, self.user_count
        )
        return replace(
            self,
            item_of=item_of,
            rates=_sums(cluster_of, self.rates, clusters),
            starts=starts,
            users=users,
            pinned_stream=nowhere,
            home=nowhere,
            flows=np.bincount(cluster_of, weights=self.flows, minlength=clusters).astype(np.int64),
        )

    def flow_map(
        self,
        problem: MappingProblem,
        stream_of: NDArray[np.int64],
        group_of: NDArray[np.int64],
        *,
        complete: bool,
    ) -> FlowMap:
        """Return the map of flows that has every item in this stream, by index."""
        of_flow = np.full(len(problem.flows), NOWHERE, dtype=np.int64)
        wanted = self.item_of != NOWHERE
        of_flow[wanted] = self.streams[stream_of[self.item_of[wanted]]]
        of_stream = np.full(problem.max_streams, NOWHERE, dtype=np.int64)
        used = np.unique(stream_of)
        of_stream[self.streams[used]] = self.groups[group_of[used]]
        return FlowMap(stream_of=of_flow, group_of=of_stream, complete=complete)


def heaviest_first(items: Items) -> NDArray[np.int64]:
    """Return the items by what they send to all their users, most first."""
    return np.argsort(-items.rates * np.diff(items.starts), kind="stable")


def items_of(problem: MappingProblem, *, collapse: bool) -> Items:
    """Return the items of a problem; with `collapse`, flows of the same audience are one.

    Flows that are pinned to the same stream are always one: whatever they do, they do together.
    """
    interests, former = problem.interests, problem.former
    wanted = np.flatnonzero(interests.audiences > 0)
    pinned = problem.pinned_stream[wanted]
    label = _audience_labels(problem, wanted) if collapse else np.arange(len(wanted))
    # An item of the free flows of a label comes first, then one for each stream pinned to.
    key = np.where(pinned == NOWHERE, label, len(wanted) + pinned)
    _, first, item = np.unique(key, return_index=True, return_inverse=True)
    count = len(first)
    item_of = np.full(len(problem.flows), NOWHERE, dtype=np.int64)
    item_of[wanted] = item
    flows = np.bincount(item, minlength=count)
    # Whoever wants nothing would take a row of every count.
    present, compact = np.unique(interests.users, return_inverse=True)
    starts, users = _audiences(
        np.repeat(item_of, interests.audiences), compact.astype(np.int32), count, len(present)
    )
    of_pinned = pinned[first]
    home = np.full(count, NOWHERE, dtype=np.int64)
    home_group = np.full(problem.max_streams, NOWHERE, dtype=np.int64)
    if former is not None:
        home = former.stream_of[wanted][first]
        home_group = former.group_of
    loose = np.flatnonzero(problem.pinned_group == NOWHERE)
    first_pinned = _first_of_each(problem.pinned_group, home_group, count)
    streams = _of_use(loose, count, of_pinned, home, first_pinned)
    pinned_group = problem.pinned_group[streams]
    home_group = home_group[streams]
    every_group = np.arange(problem.max_groups)
    groups = _of_use(every_group, len(streams), pinned_group, home_group)
    return Items(
        item_of=item_of,
        rates=_sums(item, problem.rates_per_s[wanted], count),
        starts=starts,
        users=users,
        user_count=len(present),
        pinned_stream=index_among(of_pinned, streams),
        home=index_among(home, streams),
        flows=flows,
        streams=streams,
        groups=groups,
        pinned_group=index_among(pinned_group, groups),
        home_group=index_among(home_group, groups),
    )


def _audiences(
    owner: NDArray[np.int64], users: NDArray[np.int32], count: int, user_count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where the users of each owner begin, and those users, rising and each once."""
    pairs = np.unique(owner * user_count + users)
    starts = np.searchsorted(pairs, np.arange(count + 1) * user_count)
    return starts.astype(np.int64), (pairs % user_count).astype(np.int32)


def _sums(owner: NDArray[np.int64], values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return np.bincount(owner, weights=values, minlength=count).astype(np.float64)


def _of_use(
    loose: NDArray[np.int64], enough: int, *tied_to: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return, rising, the numbers that something is tied to and the first `enough` other ones of
    `loose`."""
    tied = np.unique(np.concatenate(tied_to))
    tied = tied[tied != NOWHERE]
    free = np.setdiff1d(loose[: enough + len(tied)], tied)
    return np.union1d(tied, free[:enough])


def _first_of_each(
    pinned_group: NDArray[np.int64], home_group: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """Return streams pinned to a group, of each group so many at most: first those that were in no
    other group before."""
    tied = np.flatnonzero(pinned_group != NOWHERE)
    elsewhere = (home_group[tied] != NOWHERE) & (home_group[tied] != pinned_group[tied])
    tied = tied[np.lexsort((elsewhere, pinned_group[tied]))]
    groups = pinned_group[tied]
    rank = np.arange(len(tied)) - np.searchsorted(groups, groups)
    return tied[rank < most]


def index_among(numbers: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each number stands in a rising list; NOWHERE stays."""
    if not len(among):
        return np.full(len(numbers), NOWHERE, dtype=np.int64)
    at = np.minimum(np.searchsorted(among, numbers), len(among) - 1)
    return np.where((numbers != NOWHERE) & (among[at] == numbers), at, NOWHERE)


def _audience_labels(problem: MappingProblem, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number per wanted flow that two have in common just when their audiences are."""
    interests = problem.interests
    starts, sizes = interests.starts[:-1][wanted], interests.audiences[wanted]
    for seed in range(8):
        draws = np.random.default_rng(seed).integers(
            0, 2**64, size=(2, interests.user_count), dtype=np.uint64
        )
        sums = [np.append(np.uint64(0), np.cumsum(draw[interests.users])) for draw in draws]
        keys = np.stack([total[starts + sizes] - total[starts] for total in sums])
        order = np.lexsort((keys[1], keys[0], sizes))
        keys, ordered = keys[:, order], sizes[order]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0) | (ordered[1:] != ordered[:-1])
        label = np.empty(len(order), dtype=np.int64)
        label[order] = np.cumsum(fresh) - 1
        first = order[fresh][label]  # the flow that each is taken to be like
        offset = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        mine = interests.users[np.repeat(starts, sizes) + offset]
        if np.array_equal(mine, interests.users[np.repeat(starts[first], sizes) + offset]):
            return label
    raise AssertionError("eight hashes of 128 bits collided")
