"""Make groups of pairs that burst together, each around one publisher.

Pairs are edges; a component of them may hold several groups, joined by publishers that send with
more than one. In each component the publisher with the most edges leads, and everybody who is
together with it joins, except who is not with `COMPANY` of up to `REFERENCES` others that joined:
so the leader's other company is kept out. Who is together with as many of those that joined, and
shares half as much with the leader, joins too: it missed what the leader did not. The rest repeats
among itself. A leader whom nobody can join that way connects groups and leads none; it may still be
a member.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled
from weir.correlation.coincidence import judge

if TYPE_CHECKING:
    from collections.abc import Sequence
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
) -> Sequence[Star]:
    """Return the groups of one component; rows of `starts` are the publishers of `component`.

    `edges` are pairs of ids; those with others than the component's are left out, and neither their
    order nor that of a pair matters.
    """
    component = np.asarray(component, dtype=np.int64)
    inside = np.isin(edges, component).all(axis=1)
    rows = np.searchsorted(component, np.asarray(edges, dtype=np.int64)[inside])
    rows = np.unique(np.sort(rows, axis=1), axis=0)

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
    barred = np.zeros(len(component), dtype=bool)
    waiting = [rows]
    while waiting:
        left = waiting.pop()
        ends, degrees = np.unique(left, return_counts=True)
        able = ~barred[ends]
        if not able.any():
            continue
        leader = int(ends[able][np.argmax(degrees[able])])
        others = ends[ends != leader]
        joined = others[together(leader, others, search.least_share)]
        joined = joined[_in_company(joined, joined, together, LOOSELY * search.least_share)]
        if len(joined) > 1:
            late = np.setdiff1d(others, joined)
            late = late[together(leader, late, LOOSELY * search.least_share)]
            late = late[_in_company(late, joined, together, search.least_share)]
            joined = np.union1d(joined, late)
        if not len(joined):
            barred[leader] = True
            waiting.append(left)
            continue
        members = np.sort(np.append(joined, leader))
        if len(members) >= search.smallest_group:
            stars.append(Star(leader=int(component[leader]), members=component[members]))
        left = left[~np.isin(left, members).any(axis=1)]
        # Parts that hang together no more are gone through by themselves: fewer to compare.
        for part in components_of(left):
            waiting.append(left[np.isin(left[:, 0], part)])
    return tuple(sorted(stars, key=lambda star: int(star.members[0])))


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
