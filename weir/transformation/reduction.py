"""Brokers that come and go, taken out of the problem.

Source: Salehi et al. section IV.B: brokers to add are appended first, as leaves; brokers to remove
hang in the goal, too, and are detached last. What the paper leaves open is where: an added broker
hangs at a neighbour that it has in the goal, a removed one at one that it has today, so that
neither link has to move.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weir.actions import edge
from weir.model.transformation import Move, Transformation
from weir.transformation.moves import neighbours

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.model.transformation import Edge


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """The problem over one set of brokers, with what goes before and after its plan."""

    problem: Transformation
    appends: tuple[Move, ...]
    detaches: tuple[Move, ...]


def reduced(problem: Transformation, anchors: Mapping[str, str] | None = None) -> Reduced:
    """Append first, transform, detach last.

    `anchors` says for removed brokers at which of today's neighbours they stay to the end; left
    out: the first by name that brings them nearer to a broker that stays.
    """
    appends, grown = _appends(problem)
    detaches, hung = _detaches(problem, grown, anchors or {})
    core = replace(
        problem,
        initial=frozenset(grown),
        goal=problem.goal | hung,
        initial_brokers=problem.initial_brokers | problem.added,
        goal_brokers=problem.goal_brokers | problem.removed,
    )
    return Reduced(problem=core, appends=appends, detaches=detaches)


def _appends(problem: Transformation) -> tuple[tuple[Move, ...], set[Edge]]:
    """Added brokers as leaves, each at a neighbour of the goal that is there by then."""
    edges = set(problem.initial)
    if not problem.added:
        return (), edges
    goal = neighbours(problem.goal, problem.goal_brokers)
    moves: list[Move] = []
    queue = deque(sorted(problem.initial_brokers & problem.goal_brokers))
    present = set(queue)
    if not queue:  # nobody stays: the first newcomer hangs at anyone, the others at it
        first, host = min(problem.added), min(problem.initial_brokers)
        moves.append(Move(op="append", broker=first, to=host))
        edges.add(edge(first, host))
        queue.append(first)
        present.add(first)
    while queue:
        host = queue.popleft()
        for other in sorted(goal[host] - present):
            if other in problem.added:
                moves.append(Move(op="append", broker=other, to=host))
                edges.add(edge(other, host))
            present.add(other)
            queue.append(other)
    return tuple(moves), edges


def _detaches(
    problem: Transformation, grown: Set[Edge], anchors: Mapping[str, str]
) -> tuple[tuple[Move, ...], frozenset[Edge]]:
    """Removed brokers hang at a neighbour nearer to a broker that stays; outermost go first."""
    if not problem.removed:
        return (), frozenset()
    tree = neighbours(grown, problem.initial_brokers | problem.added)
    stays = problem.goal_brokers
    queue = deque(sorted(stays))
    distance = dict.fromkeys(queue, 0)
    while queue:
        broker = queue.popleft()
        for other in tree[broker]:
            if other not in distance:
                distance[other] = distance[broker] + 1
                queue.append(other)
    moves: list[Move] = []
    hung: set[Edge] = set()
    for broker in sorted(problem.removed, key=lambda b: (-distance[b], b)):
        nearer = sorted(b for b in tree[broker] if distance[b] < distance[broker])
        host = anchors.get(broker, nearer[0])
        moves.append(Move(op="detach", broker=broker, source=host))
        hung.add(edge(broker, host))
    return tuple(moves), frozenset(hung)
