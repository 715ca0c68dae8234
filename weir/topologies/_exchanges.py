"""What one exchange of a link costs when it is made by slides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from weir.routing.benefit import Replay, transformation_cost
from weir.transformation.moves import apply, neighbours, price, slides

if TYPE_CHECKING:
    from weir.model.evaluation import EvaluationProblem
    from weir.topologies._descent import Tree
    from weir.topologies._spanning import Ground


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
    for move in slides(standing, (names[tree.parent[v]], names[v]), (names[x], names[y])):
        actions += price(move, apply(standing, move), costs)
        held += replay.held(move)
    return transformation_cost(problem, price=actions, held=held)
