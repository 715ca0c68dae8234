"""A problem as the arrays of `filling`: the way of every missing goal link, links by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.transformation.indexed import indexed

if TYPE_CHECKING:
    from weir.model.transformation import Transformation

SPARE = 8
"""A way may grow to twice the longest one and so many links more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The state at the start."""

    names: tuple[str, ...]
    nodes: np.ndarray
    ids: np.ndarray
    length: np.ndarray
    links: int
    """Of the whole tree."""
    room: np.ndarray
    """Links that each broker may still gain."""
    frozen: np.ndarray
    barred: np.ndarray
    """Links that no slide may make, as smaller broker times brokers plus larger one, sorted."""


def ways(problem: Transformation, *, undone: bool = False) -> Ways:
    """The ways in today's tree. `problem` has the same brokers before and after.

    `undone`: for a plan that will be carried out backwards. Once it has left a link that only
    today's tree has, it does not make it again, else the plan would remove what is its goal.
    """
    numbered = indexed(problem)
    count = len(numbered.names)
    initial = [(int(a), int(b)) for a, b in numbered.initial]
    goal = [(int(a), int(b)) for a, b in numbered.goal]
    kept = set(goal)
    numbers = {link: at for at, link in enumerate(sorted(initial, key=kept.__contains__))}
    there = set(initial)
    around: list[list[int]] = [[] for _ in range(count)]
    for a, b in initial:
        around[a].append(b)
        around[b].append(a)
    parent, depth, order = [0] * count, [-1] * count, [0]
    depth[0] = 0
    for u in order:
        for v in around[u]:
            if depth[v] < 0:
                parent[v], depth[v] = u, depth[u] + 1
                order.append(v)
    found = [_way(a, b, parent, depth) for a, b in goal if (a, b) not in there]
    longest = max((len(way) for way in found), default=1)
    width = min(2 * longest, count) + SPARE
    nodes = np.zeros((len(found), width + 1), np.int32)
    ids = np.full((len(found), width), -1, np.int32)
    length = np.zeros(len(found), np.int32)
    for g, way in enumerate(found):
        nodes[g, : len(way)] = way
        length[g] = len(way) - 1
        for t in range(len(way) - 1):
            ids[g, t] = numbers[min(way[t : t + 2]), max(way[t : t + 2])]
    limit = problem.options.max_degree
    room = np.full(count, count if limit is None else limit, np.int32)
    if limit is not None:
        room -= np.array([len(others) for others in around], np.int32)
    frozen = np.array([name in problem.options.frozen_brokers for name in numbered.names], np.bool_)
    left = [a * count + b for a, b in initial if (a, b) not in kept] if undone else []
    return Ways(
        names=numbered.names,
        nodes=nodes,
        ids=ids,
        length=length,
        links=len(initial),
        room=room,
        frozen=frozen,
        barred=np.array(sorted(left), np.int64),
    )


def _way(a: int, b: int, parent: list[int], depth: list[int]) -> list[int]:
    head, tail = [a], [b]
    while head[-1] != tail[-1]:
        one = head if depth[head[-1]] >= depth[tail[-1]] else tail
        one.append(parent[one[-1]])
    return head + tail[-2::-1]
