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

import numpy as np

from weir.compiled import compiled


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


@compiled
def excess(amount: float, capacity: float) -> float:
    """Return the amount above the capacity, at least 0."""
    return max(0.0, amount - capacity)


@compiled
def far_gains(
    start: int,
    avoid: int,
    gained_sent: np.ndarray,
    gained_wants: np.ndarray,
    lost_in: float,
    new_in: float,
    parent: np.ndarray,
    children: np.ndarray,
    child_start: np.ndarray,
    sums: np.ndarray,
    count: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
    own: np.ndarray,
    into: np.ndarray,
    room: np.ndarray,
    weight: np.ndarray,
    limit: np.ndarray,
    overload: float,
    change: np.ndarray,
    reached: np.ndarray,
) -> int:
    """Change of the cost of one side of an exchanged link, by where its new end is.

    `start` is the old end on this side, `avoid` the old end on the other side, which hangs its
    `gained_*` at the new end instead. Writes `change` at every broker of this side, these brokers
    to `reached`, and returns how many they are. `weight[v]` and `limit[v]`: cost per message and
    capacity of the link to the parent; `room`: capacity of brokers; `own`: what a broker handles
    that does not come over links.
    """
    root_sent, root_wants = sums[0], count[0]
    groups = len(root_sent)
    near_s, near_c = np.empty(groups), np.empty(groups)
    before = np.zeros(len(parent))  # cost of the way, the last broker's own left out
    came = np.zeros(len(parent))  # what more comes to a broker over the way's link
    previous = np.full(len(parent), -1, dtype=np.int64)
    reached[0] = start
    came[start] = -lost_in
    found = 1
    for at in range(len(parent)):
        if at == found:
            break
        a = reached[at]
        there = own[a] + into[a]
        old = excess(there, room[a])
        change[a] = before[a] + overload * (excess(there + came[a] + new_in, room[a]) - old)
        slots = child_start[a + 1] - child_start[a]
        for slot in range(-1, slots):
            b = parent[a] if slot < 0 else children[child_start[a] + slot]
            if b < 0 or b == previous[a] or b == avoid:
                continue
            # The far side of the link a-b, as seen from `start`, and then with what it gains.
            upwards = slot < 0
            v = a if upwards else b
            for g in range(groups):
                if upwards:
                    near_s[g] = root_sent[g] - sums[a, g] + gained_sent[g]
                    near_c[g] = root_wants[g] - count[a, g] + gained_wants[g]
                else:
                    near_s[g] = sums[b, g] + gained_sent[g]
                    near_c[g] = count[b, g] + gained_wants[g]
            out, back = crossing(near_s, near_c, root_sent, root_wants)
            old_out = down[a] if upwards else up[b]
            old_back = up[a] if upwards else down[b]
            load, old_load = out + back, old_out + old_back
            passing = excess(there + came[a] + out - old_out, room[a]) - old
            before[b] = (
                before[a]
                + weight[v] * (load - old_load)
                + overload * (excess(load, limit[v]) - excess(old_load, limit[v]) + passing)
            )
            came[b] = back - old_back
            previous[b] = a
            reached[found] = b
            found += 1
    return found


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


@compiled
def hops(
    start: int,
    avoid: int,
    parent: np.ndarray,
    children: np.ndarray,
    child_start: np.ndarray,
    distance: np.ndarray,
) -> None:
    """Links from `start` to every broker of its side, with the link to `avoid` taken out."""
    queue = np.empty(len(parent), dtype=np.int64)
    previous = np.full(len(parent), -1, dtype=np.int64)
    queue[0] = start
    distance[start] = 0
    found = 1
    for at in range(len(parent)):
        if at == found:
            break
        a = queue[at]
        slots = child_start[a + 1] - child_start[a]
        for slot in range(-1, slots):
            b = parent[a] if slot < 0 else children[child_start[a] + slot]
            if b < 0 or b == previous[a] or b == avoid:
                continue
            distance[b] = distance[a] + 1
            previous[b] = a
            queue[found] = b
            found += 1


@compiled
def best_pair(
    near: np.ndarray,
    near_change: np.ndarray,
    near_hops: np.ndarray,
    far: np.ndarray,
    far_change: np.ndarray,
    far_hops: np.ndarray,
    load: float,
    old_cost: float,
    weight: np.ndarray,
    limit: np.ndarray,
    free: np.ndarray,
    overload: float,
    per_hop: float,
) -> tuple[int, int, float, float]:
    """The new ends, the change of the routing cost per second, and that with `per_hop` added.

    `free[b]`: links that the broker may still take, the removed one already given back. -1, -1
    where no pair is allowed.
    """
    best, x_best, y_best, change_best = np.inf, -1, -1, np.inf
    for x in near:
        if free[x] < 1:
            continue
        for y in far:
            w = weight[x, y]
            if free[y] < 1 or w == np.inf or near_hops[x] + far_hops[y] == 0:
                continue
            change = near_change[x] + far_change[y] + load * w - old_cost
            change += overload * excess(load, limit[x, y])
            value = change + per_hop * (near_hops[x] + far_hops[y])
            if value < best:
                best, x_best, y_best, change_best = value, x, y, change
    return x_best, y_best, change_best, best


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
