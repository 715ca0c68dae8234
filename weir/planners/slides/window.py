"""Windows of a plan: slides that can be carried out next, on few brokers, re-planned.

A window starts with the head of the queue and takes further slides in their order, as long as
none of them depends on a slide that was left out. So it may be carried out before all that was
left out, and any other way from the tree before it to the tree after it may take its place.
Two slides depend on each other where one removes or makes a link that the other touches; with a
maximum degree or a price of links, where they have a broker in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.compiled import compiled, compiled_inside
from weir.planners.slides.beam import MAX_LEVELS, Prices
from weir.planners.slides.bits import chance
from weir.planners.slides.local import Window, reversed_window, slide_local, solve_local
from weir.planners.slides.queue import (
    HEAD,
    Queue,
    pass_head,
    push_front,
    remove,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Masks = NDArray[np.uint64]

MAX_TAINT = 400
MAX_LOOKED_AT = 160
EPS = 1e-9


class Ground(NamedTuple):
    """What the whole problem says to its windows."""

    goal: Ints  # the goal, rooted: parent of each broker
    stays: Ints  # 1 per broker whose goal link to its parent never moves once there
    cap: int
    by_broker: bool  # slides with a common broker depend on each other
    price: float
    broker_price: Floats
    link_keys: Ints  # sorted; a link (low, high) is low * brokers + high
    link_prices: Floats
    cheapest: float
    reversible: bool  # whether a price does not depend on the direction
    plain: bool  # whether every slide has the same price


class Bench(NamedTuple):
    """Room to work on one window at a time."""

    taken: Ints
    """(MAX_LEVELS,) places in the queue of the window's slides."""
    cursor: Ints
    """(64,) per broker of the window, the next of its slides to look at."""
    tainted: Ints
    """(MAX_TAINT + 4, 3) what slides that are left out touch: two brokers and the kind."""
    out: Ints
    """(MAX_LEVELS, 3) the slides (broker, source, to) that take the window's place."""


class Draw(NamedTuple):
    """How one window is looked through."""

    beta: float
    """Exponent of the potential, see `beam`."""
    width: int
    """States that the beam keeps."""
    slack: float
    """By how much the window may get dearer."""
    backwards: bool
    """Whether to look from its end."""


@compiled_inside
def new_bench() -> Bench:
    """Room for any window."""
    return Bench(
        np.empty(MAX_LEVELS, np.int64),
        np.empty(64, np.int64),
        np.empty((MAX_TAINT + 4, 3), np.int64),
        np.empty((MAX_LEVELS, 3), np.int64),
    )


@compiled
def stays_put(ground: Ground, a: int, b: int) -> bool:
    """Whether the link never moves once there."""
    goal = ground.goal
    if goal[a] == b:
        return ground.stays[a] != 0
    return goal[b] == a and ground.stays[b] != 0


@compiled
def price_of_link(ground: Ground, a: int, b: int) -> float:
    """What making the link costs on top."""
    if len(ground.link_keys) == 0:
        return 0.0
    key = min(a, b) * len(ground.goal) + max(a, b)
    at = np.searchsorted(ground.link_keys, key)
    if at < len(ground.link_keys) and ground.link_keys[at] == key:
        return ground.link_prices[at]
    return 0.0


@compiled
def price_of_slide(ground: Ground, i: int, j: int, k: int) -> float:
    """Return the price of a slide: its action, its three brokers and its new link."""
    own = ground.price + ground.broker_price[i] + ground.broker_price[j] + ground.broker_price[k]
    return own + price_of_link(ground, i, k)


@compiled_inside
def _taint(tainted: Ints, used: int, queue: Queue, s: int, by_broker: bool) -> int:
    """Note what a slide left out touches: links it writes (kind 1), reads (0), brokers (2)."""
    i, j, k = queue.slides[s, 0], queue.slides[s, 1], queue.slides[s, 2]
    if used + 3 > MAX_TAINT:
        return MAX_TAINT + 1
    if by_broker:
        for part in range(3):
            tainted[used, 0], tainted[used, 1], tainted[used, 2] = queue.slides[s, part], -1, 2
            used += 1
        return used
    tainted[used, 0], tainted[used, 1], tainted[used, 2] = min(i, j), max(i, j), 1
    tainted[used + 1, 0], tainted[used + 1, 1], tainted[used + 1, 2] = min(i, k), max(i, k), 1
    tainted[used + 2, 0], tainted[used + 2, 1], tainted[used + 2, 2] = min(j, k), max(j, k), 0
    return used + 3


@compiled_inside
def _clashes(tainted: Ints, start: int, used: int, i: int, j: int, k: int) -> bool:
    for at in range(start, used):
        a, b, kind = tainted[at, 0], tainted[at, 1], tainted[at, 2]
        if kind == 2:
            if a in (i, j, k):
                return True
            continue
        if (a == min(i, j) and b == max(i, j)) or (a == min(i, k) and b == max(i, k)):
            return True
        if kind == 1 and a == min(j, k) and b == max(j, k):
            return True
    return False


@compiled_inside
def gather(
    queue: Queue, bench: Bench, by_broker: bool, max_brokers: int, max_slides: int, eager: float,
    random: Masks,
) -> tuple[int, int]:  # fmt: skip
    """The window at the head: (slides in `taken`, brokers in queue.broker and queue.local)."""
    taken, cursor, tainted = bench.taken, bench.cursor, bench.tainted
    head = queue.control[HEAD]
    brokers = 0
    for part in range(3):
        b = queue.slides[head, part]
        queue.local[b] = brokers
        queue.broker[brokers] = b
        cursor[brokers] = queue.next[3 * head + part]
        brokers += 1
    taken[0] = head
    count, used, looked = 1, 0, 0
    while count < max_slides and looked < MAX_LOOKED_AT:
        looked += 1
        # the earliest slide not looked at that touches a broker of the window
        best, best_stamp = -1, 0
        for at in range(brokers):
            node = cursor[at]
            if node >= 0 and (best < 0 or queue.stamp[node // 3] < best_stamp):
                best, best_stamp = node // 3, queue.stamp[node // 3]
        if best < 0:
            break
        s = best
        new = 0
        for part in range(3):
            at = queue.local[queue.slides[s, part]]
            if at < 0:
                new += 1
            else:
                cursor[at] = queue.next[3 * s + part]
        i, j, k = queue.slides[s, 0], queue.slides[s, 1], queue.slides[s, 2]
        fits = brokers + new <= max_brokers and not _clashes(tainted, 0, used, i, j, k)
        if fits and new > 0 and chance(random) > eager:
            fits = False
        mark = used
        if fits and new > 0:
            # earlier slides of the newcomers are left out: they come after the window now
            for part in range(3):
                b = queue.slides[s, part]
                if queue.local[b] >= 0:
                    continue
                node = queue.first[b]
                while node >= 0 and queue.stamp[node // 3] < queue.stamp[s]:
                    used = _taint(tainted, used, queue, node // 3, by_broker)
                    if used > MAX_TAINT:
                        break
                    node = queue.next[node]
                if used > MAX_TAINT:
                    break
            if used > MAX_TAINT or _clashes(tainted, mark, used, i, j, k):
                used = mark
                fits = False
        if fits:
            for part in range(3):
                b = queue.slides[s, part]
                if queue.local[b] < 0:
                    queue.local[b] = brokers
                    queue.broker[brokers] = b
                    cursor[brokers] = queue.next[3 * s + part]
                    brokers += 1
            taken[count] = s
            count += 1
        else:
            used = _taint(tainted, used, queue, s, by_broker)
            if used > MAX_TAINT:
                break
    return count, brokers


@compiled_inside
def _root_first(queue: Queue, brokers: int) -> None:
    for at in range(brokers):
        up = queue.parent[queue.broker[at]]
        if up < 0 or queue.local[up] < 0:
            a, b = queue.broker[0], queue.broker[at]
            queue.broker[0], queue.broker[at] = b, a
            queue.local[b], queue.local[a] = 0, at
            return


@compiled_inside
def _as_problem(
    queue: Queue, ground: Ground, taken: Ints, brokers: int, forwards: bool
) -> tuple[Window, float]:
    """The window as a problem from its first slide to its last, and what it costs today."""
    _root_first(queue, brokers)
    here = np.empty(brokers, np.int64)
    degree = np.empty(brokers, np.int64)
    for at in range(brokers):
        up = queue.parent[queue.broker[at]]
        here[at] = queue.local[up] if up >= 0 and at > 0 else -1
        degree[at] = queue.degree[queue.broker[at]]
    there, degree_there = here.copy(), degree.copy()
    cost = 0.0
    for s in taken:
        i, j, k = queue.slides[s, 0], queue.slides[s, 1], queue.slides[s, 2]
        if forwards:
            cost += price_of_slide(ground, i, j, k)
        else:
            cost += price_of_slide(ground, i, k, j)
        i, j, k = queue.local[i], queue.local[j], queue.local[k]
        slide_local(there, i, j, k)
        degree_there[j] -= 1
        degree_there[k] += 1
    stays = np.zeros((brokers, brokers), np.int8)
    link_price = np.zeros((brokers, brokers), np.float64)
    broker_price = np.empty(brokers, np.float64)
    for a in range(brokers):
        broker_price[a] = ground.broker_price[queue.broker[a]]
        for b in range(a):
            stays[a, b] = stays[b, a] = stays_put(ground, queue.broker[a], queue.broker[b])
            if len(ground.link_keys) > 0:
                more = price_of_link(ground, queue.broker[a], queue.broker[b])
                link_price[a, b] = link_price[b, a] = more
    prices = Prices(ground.price, broker_price, link_price, ground.cheapest)
    return Window(here, there, degree, degree_there, stays, ground.cap, prices), cost


@compiled
def replan(
    queue: Queue, ground: Ground, bench: Bench, count: int, brokers: int, forwards: bool,
    draw: Draw, random: Masks,
) -> tuple[int, float]:  # fmt: skip
    """Another way through the window: (how many slides in `out`, what it saves); (-1, 0): none.

    `forwards`: whether the queue is the plan, and not its reverse.
    """
    window, cost = _as_problem(queue, ground, bench.taken[:count], brokers, forwards)
    if not forwards:
        window = reversed_window(window)
    backwards = draw.backwards and ground.reversible
    limit, out = cost + draw.slack + EPS, bench.out
    length, found = solve_local(window, backwards, draw.beta, draw.width, limit, random, out)
    if length < 0:
        return -1, 0.0
    if not forwards:
        for at in range(length // 2):
            other = length - 1 - at
            for part in range(3):
                out[at, part], out[other, part] = out[other, part], out[at, part]
        for at in range(length):
            out[at, 1], out[at, 2] = out[at, 2], out[at, 1]
    return length, cost - found


@compiled_inside
def close(queue: Queue, bench: Bench, count: int, brokers: int, length: int) -> None:
    """Put the new slides in the place of the window's, if there are any, and forget the window."""
    if length >= 0:
        for at in range(count):
            remove(queue, bench.taken[at])
        for at in range(length - 1, -1, -1):
            i, j, k = bench.out[at, 0], bench.out[at, 1], bench.out[at, 2]
            push_front(queue, queue.broker[i], queue.broker[j], queue.broker[k])
    for at in range(brokers):
        queue.local[queue.broker[at]] = -1


@compiled
def sweep(
    queue: Queue, ground: Ground, forwards: bool, windows: int, max_brokers: int, slack: float,
    random: Masks,
) -> float:  # fmt: skip
    """Re-plan up to `windows` windows on the way through the queue; what that saved."""
    bench = new_bench()
    max_slides = 3 * max_brokers - 6
    saved = 0.0
    for _ in range(windows):
        if queue.control[HEAD] < 0:
            break
        most = 6 + int(np.int64(chance(random) * (max_brokers - 5)))
        eager = 1.0 if chance(random) < 0.5 else 0.3 + 0.7 * chance(random)
        count, brokers = gather(queue, bench, ground.by_broker, most, max_slides, eager, random)
        length = -1
        if count >= 2:
            beta = 0.25 + 0.7 * chance(random)
            width = 4 << int(np.int64(chance(random) * 4))
            draw = Draw(beta, width, slack, chance(random) < 0.5)
            length, gain = replan(queue, ground, bench, count, brokers, forwards, draw, random)
            saved += gain
        close(queue, bench, count, brokers, length)
        passing = 1 + int(np.int64(chance(random) * max(1, max(length, 1) * 0.5)))
        for _ in range(passing):
            if queue.control[HEAD] >= 0:
                pass_head(queue)
    return saved
