"""What one exchange of a link costs when it is made by slides."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from weir.model.transformation import Move
from weir.routing.benefit import Replay, transformation_cost
from weir.transformation.moves import apply, neighbours, path, price

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from weir.model.evaluation import EvaluationProblem
    from weir.model.transformation import Edge
    from weir.topologies._descent import Tree
    from weir.topologies._spanning import Ground


def slides(edges: Set[Edge], removes: tuple[str, str], makes: tuple[str, str]) -> list[Move]:
    """Link a-b becomes c-d, c on the side of a: one end slides to its place, then the other."""
    (a, b), (c, d) = removes, makes
    tree = neighbours(edges)
    tree[a].discard(b)
    tree[b].discard(a)
    moves = [
        Move(op="shift", broker=b, source=old, to=new) for old, new in _steps(path(tree, a, c))
    ]
    moves += [
        Move(op="shift", broker=c, source=old, to=new) for old, new in _steps(path(tree, b, d))
    ]
    return moves


def price_of_exchange(
    problem: EvaluationProblem, ground: Ground, tree: Tree, v: int, x: int, y: int
) -> float:
    """Price of its actions and of the messages held, by the loads of the tree as it is."""
    names = ground.traffic.names
    edges = ground.edges(tree)
    now = replace(problem, today=edges)
    replay = Replay(now)
    held, actions = 0.0, 0.0
    standing = neighbours(edges)
    costs = problem.options.action_costs
    for move in slides(edges, (names[tree.parent[v]], names[v]), (names[x], names[y])):
        actions += price(move, apply(standing, move), costs)
        held += replay.held(move)
    return transformation_cost(problem, price=actions, held=held)


def _steps(way: list[str]) -> Iterable[tuple[str, str]]:
    return pairwise(way)
