"""Moves of items and of whole streams that make a map cheaper: insertion, descent, annealing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.clustering._state import audience, move_stream, put, take
from weir.compiled import compiled, compiled_inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.clustering._state import State

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

MANY_STREAMS = 2000
"""Above this a search looks only at streams that serve somebody who wants the item."""

STREAM_MOVES = 0.02
"""Of the moves that annealing tries, those of a whole stream."""

ANYWHERE = 0.02
"""Of the moves that annealing tries, those to a place drawn from all, empty ones too."""

NEAR, REACH = 0.5, 16
"""Of the moves that annealing tries, those into a stream of the same group, where one is met within
so many items of the user."""

LEAST_GAIN = 1e-12
"""A gain below this part of the cost is rounding."""


@compiled_inside
def _group_term(state: State, group: int, rate: float, users: int) -> float:
    """Return what a group's cost grows by when `rate` for so many users comes to it."""
    fresh = users - state.group_overlap[group]
    grown = rate * (state.group_users[group] + fresh) + state.group_rates[group] * fresh
    return float(state.weights[1] * grown)


@compiled_inside
def _place_in_group(state: State, item: int) -> tuple[int, float]:
    """Return the group that an item outside all of them costs least to carry, and that cost; leave
    behind how many of its users each group has."""
    begin, end = state.starts[item], state.starts[item + 1]
    groups, overlap = len(state.group_rates), state.group_overlap
    overlap[:] = 0
    for at in range(begin, end):
        row = state.group_wants[state.users[at]]
        for group in range(groups):
            overlap[group] += row[group] > 0
    best_group, best = 0, np.inf
    for group in range(groups):
        cost = _group_term(state, group, state.rates[item], end - begin)
        if cost < best:
            best_group, best = group, cost
    return best_group, best


@compiled_inside
def _cost_at(state: State, item: int, stream: int, group: int) -> float:
    """Return what an item without a stream would cost in this one."""
    rate = state.rates[item]
    fresh = fresh_in_group = 0
    for at in range(state.starts[item], state.starts[item + 1]):
        user = state.users[at]
        fresh += state.stream_wants[user, stream] == 0
        fresh_in_group += state.group_wants[user, group] == 0
    in_stream = rate * (state.stream_users[stream] + fresh) + state.stream_rates[stream] * fresh
    in_group = (
        rate * (state.group_users[group] + fresh_in_group)
        + state.group_rates[group] * fresh_in_group
    )
    cost = state.weights[0] * in_stream + state.weights[1] * in_group
    if state.home[item] >= 0 and stream != state.home[item]:
        cost += state.fees[item]
    if state.stream_items[stream] == 0:
        cost += _opening_fee(state, stream, group)
    return float(cost)


@compiled_inside
def _opening_fee(state: State, stream: int, group: int) -> float:
    """Return what a stream that carries nothing is charged for opening in this group."""
    home = state.home_group[stream]
    return float(state.weights[2] if home >= 0 and group != home else 0.0)


@compiled_inside
def _place(state: State, item: int) -> tuple[int, int, float]:
    """Return the stream and group in which an item without a stream costs least, and that cost.

    Of many streams only those that serve one of its users, and an empty one, are looked at.
    """
    rate, users = state.rates[item], state.starts[item + 1] - state.starts[item]
    streams = len(state.stream_rates)
    group_best, group_cost = _place_in_group(state, item)
    for group in range(len(state.group_rates)):
        state.group_terms[group] = _group_term(state, group, rate, users)
    weight = state.weights[0]
    best_stream, best = -1, np.inf
    overlap = state.stream_overlap
    if streams <= MANY_STREAMS:
        overlap[:] = 0
        for at in range(state.starts[item], state.starts[item + 1]):
            row = state.stream_wants[state.users[at]]
            for stream in range(streams):
                overlap[stream] += row[stream] > 0
        for stream in range(streams):
            fresh = users - overlap[stream]
            grown = rate * (state.stream_users[stream] + fresh) + state.stream_rates[stream] * fresh
            cost = weight * grown + state.group_terms[state.group_of[stream]]
            if cost < best and state.stream_items[stream] > 0:
                best_stream, best = stream, cost
    else:
        for at in range(_meet(state, item)):
            stream = state.met[at]
            fresh = users - overlap[stream]
            overlap[stream] = 0
            grown = rate * (state.stream_users[stream] + fresh) + state.stream_rates[stream] * fresh
            cost = weight * grown + state.group_terms[state.group_of[stream]]
            if cost < best:
                best_stream, best = stream, cost
    best_group = state.group_of[best_stream] if best_stream >= 0 else -1
    alone = weight * rate * users
    for stream in range(streams):
        if state.stream_items[stream] > 0:
            continue
        tied = _tied_group(state, stream)
        cost = alone + (group_cost if tied < 0 else state.group_terms[tied])
        cost += _opening_fee(state, stream, tied)
        if cost < best:
            best_stream, best_group, best = stream, group_best if tied < 0 else tied, cost
        if tied < 0:  # all others without a tie are as good
            break
    if best_stream < 0:  # many streams, all in use, and none that serves one of its users
        for stream in range(streams):
            cost = _cost_at(state, item, stream, state.group_of[stream])
            if best_stream < 0 or cost < best:
                best_stream, best_group, best = stream, state.group_of[stream], cost
    home = state.home[item]
    if home >= 0 and home != best_stream:
        best += state.fees[item]
        group = state.group_of[home] if state.stream_items[home] > 0 else _tied_group(state, home)
        if group < 0:
            group = group_best
        cost = _cost_at(state, item, home, group)
        if cost <= best:
            return home, group, cost
    return best_stream, best_group, best


@compiled_inside
def _tied_group(state: State, stream: int) -> int:
    """Return the group in which an empty stream opens: of its pin, else of the former map; NOWHERE
    where it may open in any."""
    pinned = state.pinned_group[stream]
    return int(pinned if pinned >= 0 else state.home_group[stream])


@compiled_inside
def _meet(state: State, item: int) -> int:
    """Write the streams that serve a user of the item to the beginning of `met`, how many users to
    `stream_overlap`; return how many streams they are."""
    seen, overlap = state.seen, state.stream_overlap
    count = 0
    for at in range(state.starts[item], state.starts[item + 1]):
        user = state.users[at]
        seen[-1] += 1
        now = seen[-1]
        for other in range(state.user_starts[user], state.user_starts[user + 1]):
            stream = state.stream_of[state.user_items[other]]
            if stream >= 0 and seen[stream] != now:
                seen[stream] = now
                if overlap[stream] == 0:
                    state.met[count] = stream
                    count += 1
                overlap[stream] += 1
    return count


@compiled
def insert(state: State, order: Ints, flat: bool) -> None:
    """Put each item without a stream, in this order, where it costs least.

    `flat`: stream and group are the same, and only the group's cost counts.
    """
    for item in order:
        if flat:
            group, _ = _place_in_group(state, item)
            stream = group
        else:
            stream, group, _ = _place(state, item)
        put(state, item, stream, group)


@compiled
def insert_quickly(state: State, order: Ints, flat: bool) -> None:
    """Put each item without a stream into that of another one of its first user, else into the next
    stream by its number; it is not asked what that costs."""
    streams, groups = len(state.stream_rates), len(state.group_rates)
    for item in order:
        user = state.users[state.starts[item]]
        stream = -1
        for at in range(state.user_starts[user], state.user_starts[user + 1]):
            stream = state.stream_of[state.user_items[at]]
            if stream >= 0:
                break
        if stream < 0:
            stream = item % streams
        group = stream
        if not flat:
            group = state.group_of[stream]
            if state.stream_items[stream] == 0:
                group = _tied_group(state, stream)
                if group < 0:
                    group = stream % groups
        put(state, item, stream, group)


@compiled
def descend(state: State, order: Ints, flat: bool) -> int:
    """Move each item, in this order, to where it costs least; return how many moved."""
    moved = 0
    for item in order:
        if state.fixed[item]:
            continue
        source, group_before = state.stream_of[item], state.group_of[state.stream_of[item]]
        take(state, item)
        if flat:
            group, cost = _place_in_group(state, item)
            stream = group
        else:
            stream, group, cost = _place(state, item)
        if stream >= 0 and stream != source:
            stays = _cost_at(state, item, source, group_before)
            if cost < stays - LEAST_GAIN * abs(stays):
                put(state, item, stream, group)
                moved += 1
                continue
        put(state, item, source, group_before)
    return moved


@compiled
def descend_streams(state: State) -> int:
    """Move each whole stream to the group where it costs least; return how many moved."""
    groups = len(state.group_rates)
    moved = 0
    for stream in range(len(state.stream_rates)):
        if state.stream_items[stream] == 0 or state.pinned_group[stream] >= 0:
            continue
        source, rate, home = (
            state.group_of[stream],
            state.stream_rates[stream],
            state.home_group[stream],
        )
        users = audience(state, stream)
        alone = 0
        state.group_overlap[:] = 0
        for at in range(users):
            user = state.met[at]
            alone += state.group_wants[user, source] == state.stream_wants[user, stream]
            row = state.group_wants[user]
            for group in range(groups):
                state.group_overlap[group] += row[group] > 0
        before = state.group_rates[source] * state.group_users[source]
        after = (state.group_rates[source] - rate) * (state.group_users[source] - alone)
        stays = state.weights[1] * (before - after)
        if home >= 0 and source != home:
            stays += state.weights[2]
        best_group, best = -1, np.inf
        for group in range(groups):
            if group == source:
                continue
            cost = _group_term(state, group, rate, users)
            if home >= 0 and group != home:
                cost += state.weights[2]
            if cost < best:
                best_group, best = group, cost
        if best_group >= 0 and best < stays - LEAST_GAIN * abs(stays):
            move_stream(state, stream, best_group, users)
            moved += 1
    return moved


@compiled_inside
def change_of_move(state: State, item: int, stream: int, group: int) -> float:
    """Return how much the cost grows when an item goes to a stream of this group."""
    source = state.stream_of[item]
    group_before, rate = state.group_of[source], state.rates[item]
    users = state.starts[item + 1] - state.starts[item]
    alone = overlap = alone_in_group = group_overlap = 0
    for at in range(state.starts[item], state.starts[item + 1]):
        user = state.users[at]
        alone += state.stream_wants[user, source] == 1
        overlap += state.stream_wants[user, stream] > 0
        if group != group_before:
            alone_in_group += state.group_wants[user, group_before] == 1
            group_overlap += state.group_wants[user, group] > 0
    change = state.weights[0] * (
        (state.stream_rates[source] - rate) * (state.stream_users[source] - alone)
        - state.stream_rates[source] * state.stream_users[source]
        + (state.stream_rates[stream] + rate) * (state.stream_users[stream] + users - overlap)
        - state.stream_rates[stream] * state.stream_users[stream]
    )
    if group != group_before:
        change += state.weights[1] * (
            (state.group_rates[group_before] - rate)
            * (state.group_users[group_before] - alone_in_group)
            - state.group_rates[group_before] * state.group_users[group_before]
            + (state.group_rates[group] + rate) * (state.group_users[group] + users - group_overlap)
            - state.group_rates[group] * state.group_users[group]
        )
    home = state.home[item]
    if home >= 0:
        change += state.fees[item] * ((stream != home) * 1.0 - (source != home) * 1.0)
    if state.stream_items[source] == 1:
        change -= _opening_fee(state, source, group_before)
    if state.stream_items[stream] == 0:
        change += _opening_fee(state, stream, group)
    return float(change)


@compiled_inside
def change_of_stream_move(state: State, stream: int, group: int) -> tuple[float, int]:
    """Return how much the cost grows when a stream goes to this group; its audience is in `met`."""
    source, rate = state.group_of[stream], state.stream_rates[stream]
    users = audience(state, stream)
    alone = overlap = 0
    for at in range(users):
        user = state.met[at]
        alone += state.group_wants[user, source] == state.stream_wants[user, stream]
        overlap += state.group_wants[user, group] > 0
    change = state.weights[1] * (
        (state.group_rates[source] - rate) * (state.group_users[source] - alone)
        - state.group_rates[source] * state.group_users[source]
        + (state.group_rates[group] + rate) * (state.group_users[group] + users - overlap)
        - state.group_rates[group] * state.group_users[group]
    )
    home = state.home_group[stream]
    if home >= 0:
        change += state.weights[2] * ((group != home) * 1.0 - (source != home) * 1.0)
    return float(change), users


@compiled
def anneal(
    state: State, free: Ints, trials: int, hot: float, cold: float, seed: int, stream_moves: float
) -> None:
    """Try random moves of items and streams; a dearer one is taken with the odds of its price.

    An item is tried in the stream of another item that one of its users wants. The temperature, in
    units of the cost, falls from `hot` to `cold` by the same factor at each trial.
    """
    np.random.seed(seed)
    streams, groups = len(state.stream_rates), len(state.group_rates)
    temperature = hot
    factor = (cold / hot) ** (1.0 / max(trials, 1))
    for _ in range(trials):
        temperature *= factor
        item = free[np.random.randint(len(free))]
        source = state.stream_of[item]
        anywhere = np.random.random() < ANYWHERE
        if anywhere:
            stream = np.random.randint(streams)
        else:
            begin = state.starts[item]
            user = state.users[begin + np.random.randint(state.starts[item + 1] - begin)]
            begin = state.user_starts[user]
            wanted = state.user_starts[user + 1] - begin
            other = np.random.randint(wanted)
            stream = state.stream_of[state.user_items[begin + other]]
            if np.random.random() < NEAR:
                for step in range(1, min(wanted, REACH)):
                    if stream != source and state.group_of[stream] == state.group_of[source]:
                        break
                    stream = state.stream_of[state.user_items[begin + (other + step) % wanted]]
        if np.random.random() < stream_moves:
            if state.pinned_group[source] >= 0:
                continue
            group = np.random.randint(groups) if anywhere else state.group_of[stream]
            if group == state.group_of[source]:
                continue
            change, users = change_of_stream_move(state, source, group)
            if change <= 0.0 or np.random.random() < np.exp(-change / temperature):
                move_stream(state, source, group, users)
            continue
        if stream == source:
            continue
        if state.stream_items[stream] > 0:
            group = state.group_of[stream]
        elif state.pinned_group[stream] >= 0:
            group = state.pinned_group[stream]
        elif state.home_group[stream] >= 0 and np.random.random() < 0.5:
            group = state.home_group[stream]
        elif np.random.random() < 0.5:
            group = state.group_of[source]
        else:
            group = np.random.randint(groups)
        change = change_of_move(state, item, stream, group)
        if change <= 0.0 or np.random.random() < np.exp(-change / temperature):
            take(state, item)
            put(state, item, stream, group)


@compiled
def insert_within(
    state: State,
    order: Ints,
    group_of_item: Ints,
    price: float,
    free: Ints,
    latest: Ints,
    before: Ints,
) -> int:
    """Put items, in this order, into streams of the group that each has; return how many it would
    open.

    An item opens a stream where that saves more than `price`, or where its group has none. `free`:
    streams to open, in this order; once they are used up, items go into the best stream of their
    group, or stay out. `latest`: by group, the stream of it that came last, NOWHERE for none;
    `before`: by stream, the one of its group that came before it.
    """
    opened = wanted = 0
    for item in order:
        group = group_of_item[item]
        rate, begin, end = state.rates[item], state.starts[item], state.starts[item + 1]
        users = end - begin
        best_stream, best = -1, np.inf
        stream = latest[group]
        while stream >= 0:
            overlap = 0
            for place in range(begin, end):
                overlap += state.stream_wants[state.users[place], stream] > 0
            cost = rate * (state.stream_users[stream] - overlap)
            cost += state.stream_rates[stream] * (users - overlap)
            if cost < best:
                best_stream, best = stream, cost
            stream = before[stream]
        if best_stream < 0 or best > price:
            wanted += 1
            if opened < len(free):
                best_stream = free[opened]
                opened += 1
                before[best_stream] = latest[group]
                latest[group] = best_stream
        if best_stream >= 0:
            put(state, item, best_stream, group)
    return wanted
