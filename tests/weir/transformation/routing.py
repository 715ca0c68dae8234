"""Routing tables of a tree, changed only at the brokers that take part in an action.

Each broker knows, for every other one, the neighbour on the way there. A slide i, j, k is carried
out as the shift protocol does it: i sends through k what it sent through j; j sends through k what
it sent to i's side; k, told by j which brokers lie behind i, sends those to i. Nobody else is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.transformation.moves import apply

if TYPE_CHECKING:
    from weir.model.transformation import Move
    from weir.transformation.moves import Neighbours

Tables = dict[str, dict[str, str]]


def tables(tree: Neighbours) -> Tables:
    """What every broker should know, computed from the whole tree."""
    towards: Tables = {broker: {} for broker in tree}
    for broker, others in tree.items():
        for first in others:
            queue, seen = [first], {broker, first}
            for at in queue:
                towards[broker][at] = first
                for after in tree[at] - seen:
                    seen.add(after)
                    queue.append(after)
    return towards


def slide(known: Tables, move: Move) -> None:
    """Change the tables of the three brokers as the protocol does, and no others."""
    i, j, k = move.broker, move.source, move.to
    assert j is not None
    assert k is not None
    behind = [to for to, via in known[j].items() if via == i]
    for to, via in known[i].items():
        if via == j:
            known[i][to] = k
    for to in behind:
        known[j][to] = k
        known[k][to] = i


def carried_out(tree: Neighbours, known: Tables, move: Move) -> None:
    """One action on the tree and on the tables; a broker that comes or goes is announced."""
    apply(tree, move)
    if move.op == "shift":
        slide(known, move)
        return
    known.clear()
    known.update(tables(tree))
