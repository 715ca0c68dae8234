"""Make groups of pairs that burst together, each around one publisher.

Pairs are edges; a component of them may hold several groups, joined by publishers that send with
more than one. In each component the publisher with the most edges leads. Its neighbours are
compared with it, and the neighbours of those that are together with it, and so on: no more than the
surroundings of one group, however large the component. Everybody of them who is together with it
joins, except who is not with `COMPANY` of up to `REFERENCES` others that joined:
so the leader's other company is kept out. Who is together with as many of those that joined, and
shares half as much with the leader, joins too: it missed what the leader did not. The rest repeats
among itself. A leader whom nobody can join that way connects groups and leads none; it may still be
a member.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled
from weir.correlation.coincidence import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weir.correlation.activity import Floats, Ints, Search

REFERENCES = 16
"""Members that the others are compared with."""

COMPANY = 2.0 / 3.0
"""Of those, with how many a member is together at least: of two groups that a leader connects, not
even the larger reaches it where they are nearly equal, and the smaller never does."""

LOOSELY = 0.5
"""Of the least share: enough between members, who both miss bursts of their leader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Star:
    """A leader and those that burst together with it."""

    leader: int
    members: Ints
    """Ascending, with the leader."""


@compiled
def unite(edges: Any, parents: Any) -> None:
    """Fill `parents` with the smallest row that each row is connected with."""
    for at in range(len(edges)):
        one, other = edges[at, 0], edges[at, 1]
        while parents[one] != one:
            parents[one] = parents[parents[one]]
            one = parents[one]
        while parents[other] != other:
            parents[other] = parents[parents[other]]
            other = parents[other]
        if one < other:
            parents[other] = one
        else:
            parents[one] = other
    # A parent is never larger, so that it is settled before its children.
    for row in range(len(parents)):
        parents[row] = parents[parents[row]]


def components_of(edges: Ints) -> Sequence[Ints]:
    """Return the connected components of pairs of ids, each ascending, by their smallest id."""
    if not len(edges):
        return ()
    ids, rows = np.unique(edges, return_inverse=True)
    parents = np.arange(len(ids))
    unite(rows.reshape(-1, 2).astype(np.int64), parents)
    order = np.argsort(parents, kind="stable")
    cuts = np.flatnonzero(np.diff(parents[order])) + 1
    return tuple(np.split(ids[order], cuts))


def stars_of(
    component: Ints,
    edges: Ints,
    starts: Ints,
    moments_s: Floats,
    *,
    publishers: int,
    duration_s: float,
    search: Search,
    stop: Callable[[], bool] = lambda: False,
    report: Callable[[int], None] = lambda more: None,
) -> Sequence[Star]:
    """Return the groups of one component; rows of `starts` are the publishers of `component`.

    `edges` are pairs of ids; those with others than the component's are left out, and neither their
    order nor that of a pair matters. `stop` is asked before each star: those that are left are not
    made; `report` takes how many more publishers are settled.
    """
    component = np.asarray(component, dtype=np.int64)
    inside = np.isin(edges, component).all(axis=1)
    rows = np.searchsorted(component, np.asarray(edges, dtype=np.int64)[inside])
    rows = np.unique(np.sort(rows, axis=1), axis=0)
    graph = _Graph(rows, np.diff(starts))

    def together(leader: int, others: Ints, share: float) -> Any:
        pairs = np.stack([np.full(len(others), leader), others], axis=1)
        verdicts = judge(
            pairs,
            starts,
            moments_s,
            publishers=publishers,
            duration_s=duration_s,
            search=search,
            least_share=share,
        )
        return verdicts.together

    stars: list[Star] = []
    while (leader := graph.next_leader()) is not None and not stop():
        others, joined = _around(graph, leader, together, search.least_share)
        joined = joined[_in_company(joined, joined, together, LOOSELY * search.least_share)]
        if len(joined) > 1:
            late = np.setdiff1d(others, joined)
            late = late[together(leader, late, LOOSELY * search.least_share)]
            late = late[_in_company(late, joined, together, search.least_share)]
            joined = np.union1d(joined, late)
        if not len(joined):
            # Not asked again; it may still join others.
            continue
        members = np.sort(np.append(joined, leader))
        if len(members) >= search.smallest_group:
            stars.append(Star(leader=int(component[leader]), members=component[members]))
        graph.remove(members)
        report(len(members))
    report(graph.left())
    return tuple(sorted(stars, key=lambda star: int(star.members[0])))


class _Graph:
    """Edges among publishers that are in no star yet, with who has most of them."""

    def __init__(self, edges: Ints, moments: Ints) -> None:
        """Take each edge once, as rows of `moments`, which is how many each publisher has."""
        size = len(moments)
        both = np.concatenate([edges, edges[:, ::-1]])
        order = np.lexsort((both[:, 1], both[:, 0]))
        self._others = both[order, 1]
        self._degrees = np.bincount(both[:, 0], minlength=size)
        self._starts = np.concatenate([[0], np.cumsum(self._degrees)]).astype(np.int64)
        self._free = np.ones(size, dtype=bool)
        self._barred = np.zeros(size, dtype=bool)
        self._moments = moments.tolist()
        self._heap = [self._entry(row) for row in range(size)]
        heapify(self._heap)

    def next_leader(self) -> int | None:
        """Return who has most edges left and did not lead before. Of several the one with most
        moments, beside which those of the others are counted, then the smallest row."""
        while self._heap:
            degree, _, row = heappop(self._heap)
            # Who has lost edges since is in the heap again.
            able = self._free[row] and not self._barred[row]
            if degree and able and -degree == self._degrees[row]:
                self._barred[row] = True
                return row
        return None

    def neighbours(self, rows: Ints) -> Ints:
        """Return, ascending, who has an edge left with one of these."""
        others = self._of(rows)
        return np.unique(others[self._free[others]])

    def _of(self, rows: Ints) -> Ints:
        counts = self._starts[rows + 1] - self._starts[rows]
        begins = np.cumsum(counts) - counts
        at = np.repeat(self._starts[rows] - begins, counts) + np.arange(counts.sum())
        others: Ints = self._others[at]
        return others

    def remove(self, rows: Ints) -> None:
        """Take publishers out with their edges."""
        self._free[rows] = False
        others = self._of(rows)
        others, lost = np.unique(others[self._free[others]], return_counts=True)
        self._degrees[others] -= lost
        for row in others[~self._barred[others]].tolist():
            heappush(self._heap, self._entry(row))

    def _entry(self, row: int) -> tuple[int, int, int]:
        return -int(self._degrees[row]), -self._moments[row], row

    def left(self) -> int:
        """Return how many are in no star."""
        return int(self._free.sum())


def _around(graph: _Graph, leader: int, together: Any, share: float) -> tuple[Ints, Ints]:
    """Return whom a leader was compared with, and who of them is together with it: its neighbours,
    and those of whoever is together with it, until there are no more."""
    begin = np.array([leader], dtype=np.int64)
    others = joined = np.empty(0, dtype=np.int64)
    more = graph.neighbours(begin)
    while len(more):
        others = np.union1d(others, more)
        near = more[together(leader, more, share)]
        joined = np.union1d(joined, near)
        more = np.setdiff1d(graph.neighbours(near), np.append(others, leader))
    return others, joined


def _in_company(some: Ints, joined: Ints, together: Any, share: float) -> Any:
    """Return which of some publishers are together with enough of those that joined a leader."""
    size = min(REFERENCES, len(joined))
    references = joined[np.arange(size) * len(joined) // max(size, 1)]
    with_them = np.zeros(len(some), dtype=np.int64)
    compared = np.full(len(some), size)
    for reference in references.tolist():
        itself = some == reference
        with_them += together(reference, some, share) & ~itself
        compared -= itself
    return with_them >= COMPANY * compared
