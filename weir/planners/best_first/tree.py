"""States of a best-first search: a tree with how far it is from the goal, and what slides change.

The estimate is the sum, over the goal links that are missing, of the way between their brokers less
one: as many slides would do if none were shared. Shift(i, j, k) makes the way of a goal link that
crosses i-j one shorter if it goes on over j-k, and one longer if it does not. Hence the estimate
after every slide follows from counts along the ways of today, without trying the slide.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from weir.model.transformation import Options
    from weir.transformation.indexed import Indexed

Slide = tuple[int, int, int]
Link = tuple[int, int]


def link(a: int, b: int) -> Link:
    """Return the link between two brokers, the same whichever is given first."""
    return (a, b) if a < b else (b, a)


class Tree:
    """Hold an overlay on its way to the goal, by broker number."""

    def __init__(self, names: Indexed, options: Options) -> None:
        self._brokers = len(names.names)
        self._goal = {link(a, b) for a, b in names.goal.tolist()}
        self._initial = [link(a, b) for a, b in names.initial.tolist()]
        self._frozen = {names.number[b] for b in options.frozen_brokers if b in names.number}
        self._held = {link(names.number[a], names.number[b]) for a, b in options.frozen_links}
        self._most = options.max_degree
        self.reset(())

    def reset(self, slides: Sequence[Slide]) -> None:
        """Return to today's tree and apply these slides."""
        self.near: list[set[int]] = [set() for _ in range(self._brokers)]
        for a, b in self._initial:
            self.near[a].add(b)
            self.near[b].add(a)
        there = set(self._initial)
        self.loose = there - self._goal - self._held
        self.missing = self._goal - there
        for slide in slides:
            self.slide(slide)

    def slide(self, slide: Slide) -> None:
        """Replace the link i-j by i-k, and update the loose and missing links."""
        i, j, k = slide
        old, new = link(i, j), link(i, k)
        self.near[i].remove(j)
        self.near[j].remove(i)
        self.near[i].add(k)
        self.near[k].add(i)
        self.loose.discard(old)
        if new in self.missing:
            self.missing.discard(new)
        else:
            self.loose.add(new)

    def key(self) -> frozenset[Link]:
        """Return what distinguishes states: the links that may still move."""
        return frozenset(self.loose)

    def after(self, slide: Slide) -> frozenset[Link]:
        """Return the key of the tree after the slide."""
        i, j, k = slide
        made = link(i, k)
        rest = self.loose - {link(i, j)}
        return frozenset(rest if made in self.missing else rest | {made})

    def estimate(self) -> int:
        """Return the number of slides left if no two goals shared one."""
        return sum(len(way) - 2 for way in self._ways())

    def slides(self) -> Iterator[tuple[int, Slide]]:
        """List the possible slides, each with its change of the estimate."""
        crossing: dict[Link, int] = defaultdict(int)
        going_on: dict[Slide, int] = defaultdict(int)
        for way in self._ways():
            for a, b in pairwise(way):
                crossing[link(a, b)] += 1
            for a, b, c in zip(way, way[1:], way[2:], strict=False):
                going_on[(a, b, c)] += 1
                going_on[(c, b, a)] += 1
        for old in sorted(self.loose):
            if self._frozen.isdisjoint(old):
                for i, j in (old, old[::-1]):
                    for k in self._targets(i, j):
                        yield crossing[old] - 2 * going_on[(i, j, k)], (i, j, k)

    def _targets(self, i: int, j: int) -> Iterator[int]:
        for k in sorted(self.near[j] - self._frozen):
            if k != i and (self._most is None or len(self.near[k]) < self._most):
                yield k

    def _ways(self) -> Iterator[list[int]]:
        parent, depth = self._rooted()
        for a, b in self.missing:
            left, right = [a], [b]
            while left[-1] != right[-1]:
                shorter = left if depth[left[-1]] >= depth[right[-1]] else right
                shorter.append(parent[shorter[-1]])
            yield left + right[-2::-1]

    def _rooted(self) -> tuple[list[int], list[int]]:
        parent, depth = [-1] * self._brokers, [0] * self._brokers
        order = [0]
        for u in order:
            for v in self.near[u]:
                if v != parent[u]:
                    parent[v], depth[v] = u, depth[u] + 1
                    order.append(v)
        return parent, depth
