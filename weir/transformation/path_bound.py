"""How many steps it takes at least to bring the two brokers of a goal link together.

Let the way between them have some links that never move and r that may. In one step every link
that moves is replaced, seen from the old way, by two: the new link and its pivot, the link that it
slid along (old i-j becomes i-k-j). What then stands twice in a row, there and back, cancels. A
pivot is an old link that stays, so it can cancel only against a link of the way that stays, next
to the link that slid, or against the pivot of the next link that slid. Hence each of the s links
that move on the way does one of four things:

- cancels one link of the way that never moves (the way gets one shorter),
- cancels one link that may move but stays in this step (one shorter),
- cancels against its neighbour's pivot (neither shorter nor longer),
- takes its pivot into the way (one longer; that pivot may be one that can move later).

No stayed link is cancelled twice.

**The ends of the way.** Before the first link that may move there are x links that never move,
behind the last one y, and g between. Of the y only the last link that may move can cancel any: they
stay themselves, and of what stands before them in the new way that link, or what took its place, is
the next. It moves one end once, so a step cancels one of the y at most, and as much of the x; with
r = 1 it is the same link, so one of both. Ten links to a broker that no end is near take ten steps,
however many others could help.

So from (x, y, g, r) a step leads at best to (x - u, y - v, g - a, r - b + c) with u, v <= 1 and
a + u + v + b + c <= r - b. The least number of steps from there to a single link that may move
follows from that recursion; it is at least log2 of the way, because a step at most halves it, and
at least x and y. With disjoint brokers the slides on a way of L links share its L + 1 brokers:
3 (a + u + v + b) + 2 c <= L + 1.

Taking in a link that never moves, or turning one that may move into one that may not, never helps:
whatever is possible with it is possible without it, by ignoring it. (A first link that becomes a
goal link lengthens x by itself and by what stood between it and the next one. Where x is shortened
along those, the same slide cancels them where they stood before, and that link as one that stays.)

A plan undone backwards is a plan whose steps are as many. So today's links that have to go bound
the steps, too, by the way between their brokers in the goal. A link that only the goal has may be
made and removed again there, or not: either way it is one that may move.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from weir.transformation.moves import neighbours

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Set

    from weir.model.transformation import Edge

LARGEST_WAY = 64
MOST_MOVABLE = 12
"""Beyond these only the halving of the way and its ends count; the bound stays true, and weaker."""


class Way(NamedTuple):
    """How many links the way has, of which kind."""

    longer_end: int
    """Links that never move before the first, or behind the last, that may: the more of the two."""
    shorter_end: int
    inner: int
    """Links that never move between links that may."""
    movable: int


def steps_to_join(ways: Iterable[Way], disjoint: bool) -> int:
    """Steps at least until each way is a single link; one on which nothing may move takes 0."""
    steps = 0
    for way in sorted(set(ways), reverse=True):
        while way.movable and not _within(way, disjoint, steps):
            steps += 1
    return steps


def ways(tree: Set[Edge], wanted: Iterable[Edge], fixed: Collection[Edge]) -> Iterator[Way]:
    """In that tree, between the brokers of each wanted link; `fixed`: links that never move."""
    around = neighbours(tree)
    root = min(around, default="")
    parent, depth = {root: root}, {root: 0}
    order = [root] if around else []
    for u in order:
        for v in around[u]:
            if v not in parent:
                parent[v], depth[v] = u, depth[u] + 1
                order.append(v)
    stays = {u: _link(u, parent[u]) in fixed for u in order}
    for a, b in wanted:
        if a in depth and b in depth:
            yield _way(a, b, parent, depth, stays)


def _way(
    a: str, b: str, parent: dict[str, str], depth: dict[str, int], stays: dict[str, bool]
) -> Way:
    """Up from both brokers to where they meet: links before the first that may move, behind it."""
    ends, behind, movable, inner = [0, 0], [0, 0], [0, 0], 0
    while a != b:
        side = 0 if depth[a] >= depth[b] else 1
        u = a if side == 0 else b
        if not stays[u]:
            movable[side] += 1
            inner += behind[side]
            behind[side] = 0
        elif movable[side]:
            behind[side] += 1
        else:
            ends[side] += 1
        if side == 0:
            a = parent[u]
        else:
            b = parent[u]
    if all(movable):
        inner += sum(behind)
    else:  # the end of the side where nothing moves goes on on the other one
        ends[movable.index(0)] += sum(behind)
    return Way(max(ends), min(ends), inner, sum(movable))


def _link(a: str, b: str) -> Edge:
    return (a, b) if a < b else (b, a)


def _shortest_after(length: int, steps: int, disjoint: bool) -> int:
    for _ in range(steps):
        length -= (length + 1) // 3 if disjoint else length // 2
    return length


@cache
def _within(way: Way, disjoint: bool, steps: int) -> bool:
    """Whether the way may come down to a single link in so many steps."""
    length = sum(way)
    if length <= 1:
        return True
    if way.longer_end > steps or _shortest_after(length, steps, disjoint) > 1:
        return False
    if length > LARGEST_WAY or way.movable > MOST_MOVABLE:
        return True
    return any(_within(after, disjoint, steps - 1) for after in _after(way, disjoint))


def _after(way: Way, disjoint: bool) -> Iterator[Way]:
    """What a step may at best make of it."""
    one, other, inner, movable = way
    length = sum(way)
    for taken_in in range(movable, -1, -1):
        for stayed in range((movable - taken_in) // 2, -1, -1):
            most = movable - taken_in - 2 * stayed
            if disjoint:
                most = min(most, (length + 1 - 2 * taken_in) // 3 - stayed)
            for u in range(min(1, one, most), -1, -1):
                for v in range(min(1, other, most - u), -1, -1):
                    gone = min(inner, most - u - v)
                    if u + v + gone + stayed + taken_in:
                        ends, more = (one - u, other - v), taken_in - stayed
                        yield Way(max(ends), min(ends), inner - gone, movable + more)
