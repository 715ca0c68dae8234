"""How many slides a plan needs at least, counted where links arrive.

Every link that may move has two ends; a slide moves one of them from a broker j to a broker k.
For a broker u let p be its ends of links that have to go, q those of goal links that are missing,
a and d how often an end arrives at u and leaves it. Then a - d = q - p.

An end slides along a link that never moves, or along one that may move or was made by the plan: in
that case both brokers of this pivot hold an end, its own. So an end comes to a broker without one
only along a link that never moves. Cut such a link in two sides (within the forest of links that
never move): where one side holds no end today and the goal wants one there, an end crosses the
link to that side at least once. Read backwards, the plan turns the goal into today's tree, and
where one side holds ends today and the goal wants none, the last to leave crosses the link away
from it. Let in(u) and out(u) count those crossings at u. Then

    d >= max(out, p - q + in)    and    a >= max(in, q - p + out),

and the slides are the sum of all a. Besides, a missing goal link is made by an arrival at one of
its two brokers, and each arrival makes at most one link: where the arrivals counted so far cannot
make all of them (a matching of links to brokers, exact on a forest by taking leaves first), each
link left over costs one more.

Brokers that come or go: an append brings one end to the new broker and one to a neighbour that it
has in the goal; all such neighbours count as holding one more, and the argument backwards is left
out. What the bound ignores only makes plans longer: degree limits, frozen brokers, the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from weir.model.transformation import Edge, Transformation


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Per broker, at least: ends that arrive by slides, that leave, links to make and to remove."""

    arrive: Mapping[str, int]
    leave: Mapping[str, int]
    wanted: Mapping[str, int]
    unwanted: Mapping[str, int]
    unmatched: int
    """Missing goal links that those arrivals cannot make."""

    @property
    def slides(self) -> int:
        """Slides of any plan, at least."""
        return sum(self.arrive.values()) + self.unmatched


def never_move(problem: Transformation) -> frozenset[Edge]:
    """Links of today that no plan removes."""
    options = problem.options
    if not options.move_goal_links:
        return problem.initial & problem.goal
    frozen = options.frozen_brokers
    return options.frozen_links | {
        link for link in problem.initial & problem.goal if link[0] in frozen or link[1] in frozen
    }


def arrivals(problem: Transformation) -> Arrivals:
    """The counts of the module's docstring. O(brokers)."""
    fixed = never_move(problem)
    brokers = sorted(problem.initial_brokers | problem.goal_brokers)
    unwanted = _ends(problem.initial - fixed, brokers)
    wanted = _ends(problem.goal - fixed, brokers)
    churn = bool(problem.added or problem.removed)
    holding = dict(unwanted)
    for a, b in problem.goal if problem.added else ():
        for new, other in ((a, b), (b, a)):
            if new in problem.added:
                holding[other] += 1
    for new in problem.added:
        holding[new] += 1
    came, went = _crossings(brokers, fixed, holding, wanted, backwards=not churn)
    arrive, leave = {}, {}
    for u in brokers:
        arrive[u] = max(came[u], wanted[u] - holding[u] + went[u], 0)
        leave[u] = 0 if churn else max(went[u], holding[u] - wanted[u] + came[u], 0)
    added = problem.added
    slid = {link for link in problem.missing if not added.intersection(link)}
    return Arrivals(
        arrive=arrive,
        leave=leave,
        wanted=wanted,
        unwanted=unwanted,
        unmatched=_unmatched(slid, arrive),
    )


def _ends(links: Set[Edge], brokers: Sequence[str]) -> dict[str, int]:
    ends = dict.fromkeys(brokers, 0)
    for a, b in links:
        ends[a] += 1
        ends[b] += 1
    return ends


def _crossings(
    brokers: Sequence[str],
    fixed: Set[Edge],
    holding: Mapping[str, int],
    wanted: Mapping[str, int],
    *,
    backwards: bool,
) -> tuple[dict[str, int], dict[str, int]]:
    """Per broker the ends that must come to it and leave it along links that never move."""
    around: dict[str, list[str]] = {u: [] for u in brokers}
    for a, b in fixed:
        around[a].append(b)
        around[b].append(a)
    came, went = dict.fromkeys(brokers, 0), dict.fromkeys(brokers, 0)
    parent: dict[str, str] = {}
    for root in brokers:
        if root in parent:
            continue
        parent[root] = root
        order = [root]
        for u in order:
            for v in around[u]:
                if v not in parent:
                    parent[v] = u
                    order.append(v)
        held = {u: holding[u] for u in order}
        want = {u: wanted[u] for u in order}
        for u in reversed(order[1:]):
            held[parent[u]] += held[u]
            want[parent[u]] += want[u]
        all_held, all_want = held[root], want[root]
        for u in order[1:]:
            up = parent[u]
            below = (held[u], want[u])
            above = (all_held - held[u], all_want - want[u])
            if _must_cross(above, below, backwards):
                came[u] += 1
                went[up] += 1
            if _must_cross(below, above, backwards):
                came[up] += 1
                went[u] += 1
    return came, went


def _must_cross(side: tuple[int, int], other: tuple[int, int], backwards: bool) -> bool:
    """Whether an end crosses from `side` to `other`: (held, wanted) of each."""
    if other[1] and not other[0]:
        return True
    return backwards and bool(side[0]) and not side[1]


def _unmatched(links: Set[Edge], capacity: Mapping[str, int]) -> int:
    """Links of a forest left over when each broker takes up to its capacity of its own."""
    around: dict[str, set[str]] = {}
    for a, b in links:
        around.setdefault(a, set()).add(b)
        around.setdefault(b, set()).add(a)
    room = {u: capacity[u] for u in around}
    leaves = sorted(u for u, others in around.items() if len(others) == 1)
    left = 0
    for u in leaves:
        if not around[u]:
            continue
        (v,) = around[u]
        taker = u if room[u] > 0 else v
        if room[taker] > 0:
            room[taker] -= 1
        else:
            left += 1
        around[u].clear()
        around[v].discard(u)
        if len(around[v]) == 1:
            leaves.append(v)
    return left
