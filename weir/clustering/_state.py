"""A map as counts, so that moving an item costs as much as it has users.

How many items of each stream and of each group a user wants is kept for all of them: 4 bytes for
each user and stream. Whoever changes a map goes through `take`, `put` and `move_stream`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from weir.compiled import compiled, compiled_inside
from weir.model.mapping import NOWHERE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


class Wanted(Protocol):
    """What a state counts: rates of items, and who wants them."""

    @property
    def rates(self) -> Floats: ...
    @property
    def starts(self) -> Ints: ...
    @property
    def users(self) -> NDArray[np.int32]: ...
    @property
    def user_count(self) -> int: ...


class State(NamedTuple):
    """Items in streams, streams in groups, and what that costs."""

    rates: Floats
    starts: Ints
    users: NDArray[np.int32]
    user_starts: Ints
    user_items: NDArray[np.int32]
    """Of user u those at `user_items[user_starts[u]:user_starts[u + 1]]`."""
    fixed: NDArray[np.bool_]
    """Items that stay where they are."""
    home: Ints
    fees: Floats
    """What an item in another stream than its home is charged."""
    pinned_group: Ints
    home_group: Ints
    weights: Floats
    """Of a stream's rate times its audience, of a group's, and the fee of a stream."""
    stream_of: Ints
    group_of: Ints
    stream_wants: NDArray[np.int32]
    """Users x streams: how many items of the stream the user wants."""
    group_wants: NDArray[np.int32]
    """Users x groups: how many items of the group the user wants."""
    stream_rates: Floats
    stream_users: Ints
    stream_items: Ints
    group_rates: Floats
    group_users: Ints
    first_item: Ints
    """By stream, of the list of its items; NOWHERE for none."""
    next_item: Ints
    previous_item: Ints
    seen: Ints
    """By stream, the number of the search that met it last; the last entry counts searches."""
    stream_overlap: NDArray[np.int32]
    """By stream, of a search: how many users of an item it has; likewise by group."""
    group_overlap: NDArray[np.int32]
    group_terms: Floats
    met: Ints
    """Streams that a search met, and room for the users of a stream."""


def state_of(
    items: Wanted,
    *,
    streams: int,
    groups: int,
    weights: tuple[float, float, float] = (0.0, 1.0, 0.0),
    fees: Floats | None = None,
    fixed: NDArray[np.bool_] | None = None,
    home: Ints | None = None,
    pinned_group: Ints | None = None,
    home_group: Ints | None = None,
) -> State:
    """Return a state in which no item has a stream yet."""
    count, users = len(items.rates), items.user_count
    order = np.argsort(items.users, kind="stable")
    by_user = np.repeat(np.arange(count, dtype=np.int32), np.diff(items.starts))[order]
    wants = np.bincount(items.users, minlength=users)
    nowhere = np.full(max(count, streams), NOWHERE, dtype=np.int64)
    return State(
        rates=items.rates,
        starts=items.starts,
        users=items.users,
        user_starts=np.append(0, np.cumsum(wants)).astype(np.int64),
        user_items=by_user,
        fixed=np.zeros(count, dtype=np.bool_) if fixed is None else fixed,
        home=nowhere[:count] if home is None else home,
        fees=np.zeros(count) if fees is None else fees,
        pinned_group=nowhere[:streams].copy() if pinned_group is None else pinned_group,
        home_group=nowhere[:streams].copy() if home_group is None else home_group,
        weights=np.array(weights),
        stream_of=nowhere[:count].copy(),
        group_of=nowhere[:streams].copy(),
        stream_wants=np.zeros((users, streams), dtype=np.int32),
        group_wants=np.zeros((users, groups), dtype=np.int32),
        stream_rates=np.zeros(streams),
        stream_users=np.zeros(streams, dtype=np.int64),
        stream_items=np.zeros(streams, dtype=np.int64),
        group_rates=np.zeros(groups),
        group_users=np.zeros(groups, dtype=np.int64),
        first_item=nowhere[:streams].copy(),
        next_item=nowhere[:count].copy(),
        previous_item=nowhere[:count].copy(),
        seen=np.zeros(streams + 1, dtype=np.int64),
        stream_overlap=np.zeros(streams, dtype=np.int32),
        group_overlap=np.zeros(groups, dtype=np.int32),
        group_terms=np.zeros(groups),
        met=np.zeros(max(streams, users), dtype=np.int64),
    )


@compiled_inside
def take(state: State, item: int) -> None:
    """Take an item out of its stream."""
    stream = state.stream_of[item]
    group, rate = state.group_of[stream], state.rates[item]
    for at in range(state.starts[item], state.starts[item + 1]):
        user = state.users[at]
        state.stream_wants[user, stream] -= 1
        if state.stream_wants[user, stream] == 0:
            state.stream_users[stream] -= 1
        state.group_wants[user, group] -= 1
        if state.group_wants[user, group] == 0:
            state.group_users[group] -= 1
    state.stream_rates[stream] -= rate
    state.group_rates[group] -= rate
    state.stream_items[stream] -= 1
    # What rounding leaves behind must not make an empty one dear.
    if state.stream_items[stream] == 0:
        state.stream_rates[stream] = 0.0
    if state.group_users[group] == 0:
        state.group_rates[group] = 0.0
    before, after = state.previous_item[item], state.next_item[item]
    if before >= 0:
        state.next_item[before] = after
    else:
        state.first_item[stream] = after
    if after >= 0:
        state.previous_item[after] = before
    state.stream_of[item] = -1


@compiled_inside
def put(state: State, item: int, stream: int, group: int) -> None:
    """Put an item that has no stream into one of this group; an empty stream moves there."""
    rate = state.rates[item]
    state.group_of[stream] = group
    for at in range(state.starts[item], state.starts[item + 1]):
        user = state.users[at]
        if state.stream_wants[user, stream] == 0:
            state.stream_users[stream] += 1
        state.stream_wants[user, stream] += 1
        if state.group_wants[user, group] == 0:
            state.group_users[group] += 1
        state.group_wants[user, group] += 1
    state.stream_rates[stream] += rate
    state.group_rates[group] += rate
    state.stream_items[stream] += 1
    after = state.first_item[stream]
    state.next_item[item] = after
    state.previous_item[item] = -1
    if after >= 0:
        state.previous_item[after] = item
    state.first_item[stream] = item
    state.stream_of[item] = stream


@compiled_inside
def audience(state: State, stream: int) -> int:
    """Write the users of a stream to the beginning of `met`; return how many they are."""
    count = 0
    item = state.first_item[stream]
    while item >= 0:
        for at in range(state.starts[item], state.starts[item + 1]):
            user = state.users[at]
            if state.stream_wants[user, stream] > 0:  # below 0: it was met before
                state.stream_wants[user, stream] *= -1
                state.met[count] = user
                count += 1
        item = state.next_item[item]
    for at in range(count):
        state.stream_wants[state.met[at], stream] *= -1
    return count


@compiled_inside
def move_stream(state: State, stream: int, group: int, count: int) -> None:
    """Move a stream, whose audience stands in `met`, to another group."""
    source, rate = state.group_of[stream], state.stream_rates[stream]
    for at in range(count):
        user = state.met[at]
        wants = state.stream_wants[user, stream]
        state.group_wants[user, source] -= wants
        if state.group_wants[user, source] == 0:
            state.group_users[source] -= 1
        if state.group_wants[user, group] == 0:
            state.group_users[group] += 1
        state.group_wants[user, group] += wants
    state.group_rates[source] -= rate
    state.group_rates[group] += rate
    if state.group_users[source] == 0:
        state.group_rates[source] = 0.0
    state.group_of[stream] = group


@compiled
def load(state: State, stream_of: Ints, group_of: Ints) -> None:
    """Replace the map by this one; items NOWHERE are left out."""
    for item in range(len(state.rates)):
        if state.stream_of[item] >= 0:
            take(state, item)
    state.group_of[:] = group_of
    for item in range(len(state.rates)):
        if stream_of[item] >= 0:
            put(state, item, stream_of[item], group_of[stream_of[item]])


@compiled
def charged(state: State) -> float:
    """Return the cost of the map up to a constant, with the fees of what is not at home."""
    total = 0.0
    for stream in range(len(state.stream_rates)):
        total += state.weights[0] * state.stream_rates[stream] * state.stream_users[stream]
        home = state.home_group[stream]
        if state.stream_items[stream] > 0 and home >= 0 and state.group_of[stream] != home:
            total += state.weights[2]
    for group in range(len(state.group_rates)):
        total += state.weights[1] * state.group_rates[group] * state.group_users[group]
    for item in range(len(state.rates)):
        if state.home[item] >= 0 and state.stream_of[item] != state.home[item]:
            total += state.fees[item]
    return total
