"""All labelled trees of a few brokers and how far they are apart, by breadth-first search.

Written apart from the kernel on purpose: a tree is a frozenset of pairs of numbers, a slide is
three numbers, a step is tried out in every subset and every order. Nothing here is imported from
`weir`, so that an error there cannot hide itself here.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from itertools import combinations, permutations, product

Link = tuple[int, int]
Tree = frozenset[Link]
Slide = tuple[int, int, int]


def link(a: int, b: int) -> Link:
    return (a, b) if a < b else (b, a)


@cache
def trees(brokers: int) -> tuple[Tree, ...]:
    """Every tree over 0..brokers-1, each from its Prüfer sequence."""
    if brokers == 2:
        return (frozenset({(0, 1)}),)
    every = []
    for code in product(range(brokers), repeat=brokers - 2):
        degree = [1 + code.count(b) for b in range(brokers)]
        links = []
        for b in code:
            leaf = degree.index(1)
            links.append(link(leaf, b))
            degree[leaf] -= 1
            degree[b] -= 1
        links.append(link(*(b for b in range(brokers) if degree[b] == 1)))
        every.append(frozenset(links))
    return tuple(every)


@cache
def shapes(brokers: int) -> tuple[Tree, ...]:
    """One tree of each shape: the others are the same with other names."""
    seen: set[Tree] = set()
    kinds = []
    for tree in trees(brokers):
        if tree in seen:
            continue
        kinds.append(tree)
        for names in permutations(range(brokers)):
            seen.add(frozenset(link(names[a], names[b]) for a, b in tree))
    return tuple(kinds)


def is_tree(links: Tree, brokers: int) -> bool:
    if len(links) != brokers - 1:
        return False
    reached, edge = {0}, [0]
    for b in edge:
        for pair in links:
            if b in pair:
                other = pair[0] + pair[1] - b
                if other not in reached:
                    reached.add(other)
                    edge.append(other)
    return len(reached) == brokers


def slides(tree: Tree, kept: Tree = frozenset()) -> list[Slide]:
    """Every (i, j, k) with links i-j and j-k; links of `kept` are not removed."""
    possible = []
    for a, b in tree:
        if (a, b) in kept:
            continue
        for i, j in ((a, b), (b, a)):
            for pair in tree:
                if j in pair and pair != (a, b):
                    possible.append((i, j, pair[0] + pair[1] - j))
    return possible


def slid(tree: Tree, slide: Slide) -> Tree | None:
    """The tree after the slide; None where it does not apply."""
    i, j, k = slide
    if link(i, j) not in tree or link(j, k) not in tree or link(i, k) in tree:
        return None
    return tree - {link(i, j)} | {link(i, k)}


def safe(tree: Tree, step: tuple[Slide, ...], brokers: int, max_degree: int | None = None) -> bool:
    """Whether every subset of the step, in every order, applies and leaves trees all along."""
    for size in range(1, len(step) + 1):
        for some in combinations(step, size):
            for order in permutations(some):
                now: Tree | None = tree
                for slide in order:
                    now = slid(now, slide) if now is not None else None
                    if now is None or not is_tree(now, brokers):
                        return False
                    if max_degree is not None and _largest_degree(now, brokers) > max_degree:
                        return False
    return True


def _largest_degree(tree: Tree, brokers: int) -> int:
    return max(sum(b in pair for pair in tree) for b in range(brokers))


def steps(tree: Tree, kept: Tree, disjoint: bool) -> list[tuple[Slide, ...]]:
    """Every set of slides that may share a step: no link is removed twice, nor removed by one and
    slid along by another; with disjoint brokers no broker takes part twice."""
    sets: list[tuple[Slide, ...]] = [()]
    for removed in tree - kept:
        mine = [s for s in slides(tree, kept) if link(s[0], s[1]) == removed]
        more = []
        for step in sets:
            for s in mine:
                pivot = link(s[1], s[2])
                if disjoint:
                    if any(set(s) & set(other) for other in step):
                        continue
                elif any(link(o[1], o[2]) == removed or link(o[0], o[1]) == pivot for o in step):
                    continue
                more.append((*step, s))
        sets += more
    return sets[1:]


@cache
def distances(goal: Tree, brokers: int, max_degree: int | None = None) -> dict[Tree, int]:
    """Slides from every tree to the goal, none of which removes a goal link."""
    return _distances(goal, brokers, "slides", max_degree)


@cache
def step_distances(goal: Tree, brokers: int, disjoint: bool) -> dict[Tree, int]:
    """Steps from every tree to the goal."""
    return _distances(goal, brokers, "disjoint" if disjoint else "paper", None)


def _distances(goal: Tree, brokers: int, by: str, max_degree: int | None) -> dict[Tree, int]:
    before: dict[Tree, list[Tree]] = {}
    for tree in trees(brokers):
        if max_degree is not None and _largest_degree(tree, brokers) > max_degree:
            continue
        kept = tree & goal
        if by == "slides":
            options: list[tuple[Slide, ...]] = [(s,) for s in slides(tree, kept)]
        else:
            options = steps(tree, kept, by == "disjoint")
        for step in options:
            after: Tree | None = tree
            for slide in step:
                assert after is not None
                after = slid(after, slide)
            assert after is not None
            before.setdefault(after, []).append(tree)
    steps_to = {goal: 0}
    queue = deque([goal])
    while queue:
        tree = queue.popleft()
        for earlier in before.get(tree, ()):
            if earlier not in steps_to and (
                max_degree is None or _largest_degree(earlier, brokers) <= max_degree
            ):
                steps_to[earlier] = steps_to[tree] + 1
                queue.append(earlier)
    return steps_to
