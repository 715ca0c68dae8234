"""The plainest plan: one goal link after the other, each by the first link of its way that may go.

Any link that may move on the way between the two brokers of a missing goal link becomes that link
in (length of the way - 1) slides, and there is always one, else the way and the goal link would be
a cycle of the goal. So without a maximum degree, and with frozen brokers only where they part no
way, this never fails. It shares nothing between goal links: a start, not a good plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions import edge
from weir.model.transformation import Move
from weir.transformation.moves import apply, neighbours, path
from weir.transformation.reduction import reduced

if TYPE_CHECKING:
    from weir.model.transformation import Transformation


def direct(problem: Transformation) -> list[Move]:
    """Actions in order. Ignores a maximum degree, frozen brokers and prices: check the result."""
    parts = reduced(problem)
    core = parts.problem
    tree = neighbours(core.initial, core.initial_brokers)
    moves: list[Move] = []
    missing = {link: len(path(tree, *link)) for link in core.missing}
    for a, b in sorted(missing, key=lambda link: (missing[link], link)):
        while b not in tree[a]:
            move = _slide(path(tree, a, b), core)
            apply(tree, move)
            moves.append(move)
    return [*parts.appends, *moves, *parts.detaches]


def _slide(way: list[str], core: Transformation) -> Move:
    """The first link of the way that may move, slid along the next one (the last: back)."""
    last = len(way) - 2
    at = next(t for t in range(last + 1) if edge(way[t], way[t + 1]) not in core.goal)
    if at < last:
        return Move(op="shift", broker=way[at], source=way[at + 1], to=way[at + 2])
    return Move(op="shift", broker=way[at + 1], source=way[at], to=way[at - 1])
