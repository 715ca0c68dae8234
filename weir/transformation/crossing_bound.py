"""How many slides a plan needs at least, counted by the goal links that cross each link.

Write X(f) for the set of missing goal links whose way in today's tree crosses link f. Sliding link
r over its neighbour f changes one of these sets: X(f) becomes X(f) xor X(r) (see
docs/algorithms/edge-slides.md). Seen so, a plan is Gaussian elimination over two elements: one row
per link, one column per missing goal link, and each slide adds the row of a link that may move to
another row. In the end the row of a link that stays is empty, and each link that may move has
become one goal link, whose row is that goal link alone.

Let P be the sets of the links that may move, and W the sets that have to come up: each goal link
alone, and the sets of the links that stay, unless empty. Then

    slides >= (links that stay with a set that is not empty) + |W without P|.

For a link that stays gets a slide over it for itself; that is the first term, one slide of its own
for each. A slide over a link that may move makes at most one new set, that of this link. Take a
set w of W that is not in P. Either w comes up as the set of a link that may move: that is a slide
over such a link, and another one for each w. Or it never does: then a link that stays with the set
w cannot become empty by one slide, because the slide would have to be that of a link with the set
w; so there is a second slide over it. Likewise a goal link that is made with other goal links still
crossing it, which has to get rid of them by another slide over it. Each of these slides is counted
for one w only.

It is the same read backwards, because the number of different sets, less those of P, does not
depend on the basis: W and P together are as many different sums of goal links as of links that go.

What it ignores only makes plans longer: that slides run along neighbouring links, degrees, frozen
brokers, the order. A composite of several slides changes several sets, and brokers that come or go
have no set: for both the bound does not hold, and the caller takes another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.transformation.moves import neighbours
from weir.transformation.token_bound import never_move

if TYPE_CHECKING:
    from weir.model.transformation import Edge, Transformation


def crossing_slides(problem: Transformation) -> int:
    """Slides of any plan, at least, where the same brokers are in both trees.

    O(brokers x goal links that have to be made / 64).
    """
    stays = never_move(problem)
    bits = {link: 1 << at for at, link in enumerate(sorted(problem.goal - stays))}
    resting: list[int] = []
    moving: set[int] = set()
    for link, goals in crossings(problem, bits).items():
        if link not in stays:
            moving.add(goals)
        elif goals:
            resting.append(goals)
    wanted = set(resting).union(bits.values())
    return len(resting) + len(wanted - moving)


def crossings(problem: Transformation, bits: dict[Edge, int]) -> dict[Edge, int]:
    """For each link of today the goal links whose way crosses it, as the sum of their bits."""
    # A goal link crosses the link above a broker where just one of its ends is below it.
    below = dict.fromkeys(problem.initial_brokers, 0)
    for (a, b), bit in bits.items():
        below[a] ^= bit
        below[b] ^= bit
    tree = neighbours(problem.initial, problem.initial_brokers)
    root = min(problem.initial_brokers)
    parent = {root: root}
    order = [root]
    for u in order:
        for v in tree[u]:
            if v not in parent:
                parent[v] = u
                order.append(v)
    found: dict[Edge, int] = {}
    for v in reversed(order[1:]):
        up = parent[v]
        found[(v, up) if v < up else (up, v)] = below[v]
        below[up] ^= below[v]
    return found
