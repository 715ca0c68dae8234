"""A problem as the arrays of `filling`: links by number, and which goal links' ways cross each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.transformation.indexed import indexed

if TYPE_CHECKING:
    from weir.model.transformation import Transformation

WORD = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The state at the start. The links that may move come first, as many as goal links miss."""

    names: tuple[str, ...]
    ends: np.ndarray
    """(links, 2) int32: the brokers of each link that may move or that some way crosses."""
    rows: np.ndarray
    """(links, words) uint64: bit g of row f says that the way of goal link g crosses link f."""
    length: np.ndarray
    """How many links the way of each missing goal link has."""
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
    order = sorted(initial, key=kept.__contains__)
    numbers = {link: at for at, link in enumerate(order)}
    there = set(initial)
    around: list[list[int]] = [[] for _ in range(count)]
    for a, b in initial:
        around[a].append(b)
        around[b].append(a)
    parent, depth = [0] * count, [-1] * count
    depth[0] = 0
    reached = [0]
    for u in reached:
        for v in around[u]:
            if depth[v] < 0:
                parent[v], depth[v] = u, depth[u] + 1
                reached.append(v)
    missing = [link for link in goal if link not in there]
    rows = np.zeros((len(order), max(1, -(-len(missing) // WORD))), np.uint64)
    length = np.zeros(len(missing), np.int32)
    for g, (a, b) in enumerate(missing):
        while a != b:
            if depth[a] < depth[b]:
                a, b = b, a
            crossed = numbers[min(a, parent[a]), max(a, parent[a])]
            rows[crossed, g // WORD] |= np.uint64(1 << (g % WORD))
            length[g] += 1
            a = parent[a]
    used = rows.any(axis=1) | (np.arange(len(order)) < len(missing))
    limit = problem.options.max_degree
    room = np.full(count, count if limit is None else limit, np.int32)
    if limit is not None:
        room -= np.array([len(others) for others in around], np.int32)
    frozen = np.array([name in problem.options.frozen_brokers for name in numbered.names], np.bool_)
    left = [a * count + b for a, b in initial if (a, b) not in kept] if undone else []
    return Ways(
        names=numbered.names,
        ends=np.array(order, np.int32).reshape(-1, 2)[used],
        rows=rows[used],
        length=length,
        room=room,
        frozen=frozen,
        barred=np.array(sorted(left), np.int64),
    )
