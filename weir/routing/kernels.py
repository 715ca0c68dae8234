"""Loads of a tree's links, and what every exchange of one link for another would change.

The tree is rooted: `parent[v]` and `order` (parents before children). A topic group has one column
in `sent` (messages per second that a broker publishes) and `wants` (1 where clients want it).
Importing this module imports numba; import it where the computing begins.

A link cuts the tree in two. From a side that publishes s of a group the other side needs s if
anyone there wants it. So with S the sums of `sent` below v and C those of `wants`:

    up[v]   = sum over groups of S[v] where C[root] - C[v] > 0
    down[v] = sum over groups of S[root] - S[v] where C[v] > 0

Exchange of link v-p for x-y, x on p's side A and y on v's side B: the load of the new link is
that of the old one, whatever x and y are; on A only the links from p to x change, their far sides
gain B; on B only those from v to y, their far sides gain A. So the change splits into one number
per x and one per y, and all exchanges of one link cost O(brokers x groups).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weir.compiled import compiled, compiled_inside


class Rooted(NamedTuple):
    """A tree of B brokers, rooted at broker 0."""

    parent: np.ndarray
    """(B,) int64: -1 for the root."""
    children: np.ndarray
    """(B - 1,) int64: the children of each broker, one broker after the other."""
    child_start: np.ndarray
    """(B + 1,) int64: where those of each broker begin."""


class Carried(NamedTuple):
    """What links and brokers of a tree carry; B brokers, G groups of topics."""

    sums: np.ndarray
    """(B, G) msg/s that the brokers of each subtree publish."""
    wanting: np.ndarray
    """(B, G) brokers of each subtree that want the group."""
    up: np.ndarray
    """(B,) msg/s from each broker to its parent."""
    down: np.ndarray
    """(B,) msg/s from its parent."""
    handled: np.ndarray
    """(B,) msg/s: what each broker's own clients cause and what comes to it over links."""


class Costs(NamedTuple):
    """What it costs when links and brokers carry something."""

    weight: np.ndarray
    """(B,) cost of a message over the link from each broker to its parent."""
    limit: np.ndarray
    """(B,) capacity of that link, msg/s."""
    room: np.ndarray
    """(B,) capacity of each broker, msg/s."""
    overload: float
    """Cost of a message above a capacity."""


class Side(NamedTuple):
    """One side of a link that is exchanged: what its brokers lose and what its new end gains."""

    start: int
    """The old end on this side."""
    avoid: int
    """The old end on the other side, which hangs what it has at the new end instead."""
    gained_sent: np.ndarray
    """(G,) msg/s that the other side publishes."""
    gained_wants: np.ndarray
    """(G,) brokers of the other side that want the group."""
    lost_in: float
    """Msg/s that no longer come to the old end."""
    new_in: float
    """Msg/s that come to the new end."""


class Ends(NamedTuple):
    """Where a new link may end on one side."""

    brokers: np.ndarray
    """int64: the brokers of this side."""
    change: np.ndarray
    """(B,) change of this side's cost per second with the new end there."""
    hops: np.ndarray
    """(B,) int64: links from the old end."""


class Pairs(NamedTuple):
    """Which new links there are, and what they cost."""

    weight: np.ndarray
    """(B, B) cost per message; inf where no link may be."""
    limit: np.ndarray
    """(B, B) capacity, msg/s."""
    free: np.ndarray
    """(B,) int64: links that each broker may still take."""


@compiled
def rooted(brokers: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parent of every broker (-1 for the root 0) and an order with parents first."""
    degree = np.zeros(brokers + 1, dtype=np.int64)
    for e in range(len(edges)):
        degree[edges[e, 0] + 1] += 1
        degree[edges[e, 1] + 1] += 1
    start = np.cumsum(degree)
    fill = start.copy()
    other = np.empty(2 * len(edges), dtype=np.int64)
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        other[fill[a]] = b
        fill[a] += 1
        other[fill[b]] = a
        fill[b] += 1
    parent = np.full(brokers, -1, dtype=np.int64)
    order = np.zeros(brokers, dtype=np.int64)
    found = 1
    for at in range(brokers):
        v = order[at]
        for slot in range(start[v], start[v + 1]):
            w = other[slot]
            if w != parent[v]:
                parent[w] = v
                order[found] = w
                found += 1
    return parent, order


@compiled
def below(
    parent: np.ndarray, order: np.ndarray, sent: np.ndarray, wants: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sum `sent` and `wants` over every broker's subtree, the broker included."""
    sums, count = sent.copy(), wants.copy()
    for at in range(len(order) - 1, 0, -1):
        v = order[at]
        p = parent[v]
        for g in range(sent.shape[1]):
            sums[p, g] += sums[v, g]
            count[p, g] += count[v, g]
    return sums, count


@compiled
def crossing(
    near_sent: np.ndarray, near_wants: np.ndarray, sent: np.ndarray, wants: np.ndarray
) -> tuple[float, float]:
    """Return messages per second that leave and enter the near side; `sent` and `wants` are totals
    over all brokers."""
    out, into = 0.0, 0.0
    for g in range(len(sent)):
        if wants[g] > near_wants[g]:
            out += near_sent[g]
        if near_wants[g] > 0:
            into += sent[g] - near_sent[g]
    return out, max(into, 0.0)


@compiled
def link_loads(
    order: np.ndarray, sums: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the messages per second from every broker to its parent, and from the parent."""
    up, down = np.zeros(len(order)), np.zeros(len(order))
    root = order[0]
    for at in range(1, len(order)):
        v = order[at]
        up[v], down[v] = crossing(sums[v], count[v], sums[root], count[root])
    return up, down


@compiled
def arrivals(parent: np.ndarray, order: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Return the messages per second that reach a broker over its links."""
    into = np.zeros(len(order))
    for at in range(1, len(order)):
        v = order[at]
        into[v] += down[v]
        into[parent[v]] += up[v]
    return into


@compiled_inside
def excess(amount: float, capacity: float) -> float:
    """Return the amount above the capacity, at least 0."""
    return max(0.0, amount - capacity)


@compiled_inside
def _beyond(
    carried: Carried, side: Side, link: int, upwards: bool, sent: np.ndarray, wants: np.ndarray
) -> tuple[float, float]:
    """Messages per second over a link, away from `start` and back, if the new end lies behind it.

    `link` is numbered as its lower broker; `upwards`: away from `start` is towards the root.
    `sent` and `wants` are room for the far side's sums.
    """
    root_sent, root_wants = carried.sums[0], carried.wanting[0]
    for g in range(len(root_sent)):
        if upwards:
            sent[g] = root_sent[g] - carried.sums[link, g] + side.gained_sent[g]
            wants[g] = root_wants[g] - carried.wanting[link, g] + side.gained_wants[g]
        else:
            sent[g] = carried.sums[link, g] + side.gained_sent[g]
            wants[g] = carried.wanting[link, g] + side.gained_wants[g]
    return crossing(sent, wants, root_sent, root_wants)


@compiled_inside
def far_gains(
    side: Side, tree: Rooted, carried: Carried, costs: Costs
) -> tuple[np.ndarray, np.ndarray]:
    """The brokers of one side of an exchanged link, and per broker the change of this side's cost
    with the link's new end there."""
    brokers, groups = len(tree.parent), carried.sums.shape[1]
    room, overload = costs.room, costs.overload
    sent, wants = np.empty(groups), np.empty(groups)
    change = np.zeros(brokers)
    before = np.zeros(brokers)  # cost of the way, the last broker's own left out
    came = np.zeros(brokers)  # what more comes to a broker over the way's link
    previous = np.full(brokers, -1, dtype=np.int64)
    reached = np.zeros(brokers, dtype=np.int64)
    reached[0] = side.start
    came[side.start] = -side.lost_in
    found = 1
    for at in range(brokers):
        if at == found:
            break
        a = reached[at]
        there = carried.handled[a]
        old = excess(there, room[a])
        change[a] = before[a] + overload * (excess(there + came[a] + side.new_in, room[a]) - old)
        slots = tree.child_start[a + 1] - tree.child_start[a]
        for slot in range(-1, slots):
            b = tree.parent[a] if slot < 0 else tree.children[tree.child_start[a] + slot]
            if b < 0 or b == previous[a] or b == side.avoid:
                continue
            upwards = slot < 0
            v = a if upwards else b
            out, back = _beyond(carried, side, v, upwards, sent, wants)
            old_out = carried.down[a] if upwards else carried.up[b]
            old_back = carried.up[a] if upwards else carried.down[b]
            load, old_load = out + back, old_out + old_back
            passing = excess(there + came[a] + out - old_out, room[a]) - old
            over = excess(load, costs.limit[v]) - excess(old_load, costs.limit[v])
            before[b] = (
                before[a] + costs.weight[v] * (load - old_load) + overload * (over + passing)
            )
            came[b] = back - old_back
            previous[b] = a
            reached[found] = b
            found += 1
    return reached[:found], change


@compiled
def child_lists(parent: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the children of every broker in one array, and where those of each begin."""
    brokers = len(parent)
    start = np.zeros(brokers + 1, dtype=np.int64)
    for v in range(brokers):
        if parent[v] >= 0:
            start[parent[v] + 1] += 1
    start = np.cumsum(start)
    fill = start.copy()
    children = np.zeros(max(1, brokers - 1), dtype=np.int64)
    for at in range(1, brokers):
        v = order[at]
        children[fill[parent[v]]] = v
        fill[parent[v]] += 1
    return children, start


@compiled_inside
def hops(start: int, avoid: int, tree: Rooted) -> np.ndarray:
    """Links from `start` to every broker of its side, with the link to `avoid` taken out."""
    brokers = len(tree.parent)
    distance = np.zeros(brokers, dtype=np.int64)
    queue = np.empty(brokers, dtype=np.int64)
    previous = np.full(brokers, -1, dtype=np.int64)
    queue[0] = start
    found = 1
    for at in range(brokers):
        if at == found:
            break
        a = queue[at]
        slots = tree.child_start[a + 1] - tree.child_start[a]
        for slot in range(-1, slots):
            b = tree.parent[a] if slot < 0 else tree.children[tree.child_start[a] + slot]
            if b < 0 or b == previous[a] or b == avoid:
                continue
            distance[b] = distance[a] + 1
            previous[b] = a
            queue[found] = b
            found += 1
    return distance


@compiled_inside
def best_pair(
    near: Ends, far: Ends, pairs: Pairs, load: float, old_cost: float, overload: float,
    per_hop: float,
) -> tuple[int, int, float, float]:  # fmt: skip
    """The new ends, the change of the routing cost per second, and that with `per_hop` added.

    `load` is the exchanged link's, `old_cost` what that costs today. -1, -1 where no pair is
    allowed.
    """
    best, x_best, y_best, change_best = np.inf, -1, -1, np.inf
    weight, free = pairs.weight, pairs.free
    for x in near.brokers:
        if free[x] < 1:
            continue
        for y in far.brokers:
            w = weight[x, y]
            if free[y] < 1 or w == np.inf or near.hops[x] + far.hops[y] == 0:
                continue
            change = near.change[x] + far.change[y] + load * w - old_cost
            change += overload * excess(load, pairs.limit[x, y])
            value = change + per_hop * (near.hops[x] + far.hops[y])
            if value < best:
                best, x_best, y_best, change_best = value, x, y, change
    return x_best, y_best, change_best, best


@compiled
def best_exchange(
    v: int, tree: Rooted, carried: Carried, costs: Costs, pairs: Pairs, per_hop: float
) -> tuple[int, int, float, float]:
    """The best new link instead of that from v to its parent, as `best_pair` returns it."""
    p = tree.parent[v]
    sums, count, up, down = carried.sums, carried.wanting, carried.up[v], carried.down[v]
    near, near_change = far_gains(Side(p, v, sums[v], count[v], up, up), tree, carried, costs)
    other = Side(v, p, sums[0] - sums[v], count[0] - count[v], down, down)
    far, far_change = far_gains(other, tree, carried, costs)
    free = pairs.free.copy()
    free[p] += 1
    free[v] += 1
    load = up + down
    old = load * costs.weight[v] + costs.overload * excess(load, costs.limit[v])
    return best_pair(
        Ends(near, near_change, hops(p, v, tree)),
        Ends(far, far_change, hops(v, p, tree)),
        Pairs(pairs.weight, pairs.limit, free),
        load,
        old,
        costs.overload,
        per_hop,
    )


@compiled
def kruskal(brokers: int, rows: np.ndarray, most: np.ndarray, kept: int, limited: bool) -> int:
    """Moves the links of a tree to the front of `rows`, in their order, and counts them.

    The first `kept` rows are taken whatever they are. With `limited` no broker takes more links
    than `most`, and no part but the last uses up its room, as far as the order allows.
    """
    root = np.arange(brokers)
    degree = np.zeros(brokers, dtype=np.int64)
    room = most.copy()
    taken = 0
    for e in range(len(rows)):
        a, b = rows[e, 0], rows[e, 1]
        i, j = a, b
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        while root[j] != j:
            root[j] = root[root[j]]
            j = root[j]
        if i == j:
            continue
        if limited and e >= kept:
            last = taken == brokers - 2
            full = degree[a] >= most[a] or degree[b] >= most[b]
            if full or (room[i] + room[j] <= 2 and not last):
                continue
        root[i] = j
        room[j] += room[i] - 2
        degree[a] += 1
        degree[b] += 1
        rows[taken, 0], rows[taken, 1] = a, b
        taken += 1
    return taken
