"""What an action does to a tree of brokers.

Source: Salehi et al. section III.C, with the readings of docs/algorithms/transformation.md: links
and their removability are undirected, so either end of a link may slide.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from weir.actions import edge
from weir.errors import InvalidProblem
from weir.model.transformation import Move

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.model.transformation import ActionCosts, Edge

Neighbours = dict[str, set[str]]
"""The tree: every broker in it with those it is linked to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an action reads and writes in a given tree."""

    participants: tuple[str, ...]
    """Brokers that take part: the ends of the links it touches, and those it slides past."""
    needs: frozenset[Edge]
    """Links that must be there and stay there."""
    removes: Edge | None
    makes: Edge | None


def neighbours(edges: Set[Edge], brokers: Set[str] = frozenset()) -> Neighbours:
    """The tree of these links; `brokers` names those that have none, too."""
    tree: Neighbours = {broker: set() for broker in brokers}
    for a, b in edges:
        tree.setdefault(a, set()).add(b)
        tree.setdefault(b, set()).add(a)
    return tree


def path(tree: Mapping[str, Set[str]], start: str, end: str) -> list[str]:
    """Brokers from `start` to `end`. Raises InvalidProblem where there is no way."""
    came = {start: start}
    queue = deque([start])
    while queue and end not in came:
        broker = queue.popleft()
        for other in tree.get(broker, ()):
            if other not in came:
                came[other] = broker
                queue.append(other)
    if end not in came:
        raise InvalidProblem("to", f"no way from {start} to {end} in the overlay")
    way = [end]
    while way[-1] != start:
        way.append(came[way[-1]])
    return way[::-1]


def slides(
    tree: Mapping[str, Set[str]], removes: tuple[str, str], makes: tuple[str, str]
) -> list[Move]:
    """Shifts by which link a-b becomes c-d, c on the side of a: one end slides to its place along
    its side, then the other."""
    (a, b), (c, d) = removes, makes
    near, far = pairwise(path(tree, a, c)), pairwise(path(tree, b, d))
    return [
        *(Move(op="shift", broker=b, source=here, to=there) for here, there in near),
        *(Move(op="shift", broker=c, source=here, to=there) for here, there in far),
    ]


def change(tree: Mapping[str, Set[str]], move: Move) -> Change:
    """What the action does to this tree. Raises InvalidProblem naming the member of the action."""
    _check_names(move)
    i, j, k = move.broker, move.source, move.to
    if move.op == "append":
        assert k is not None
        if i in tree:
            raise InvalidProblem("broker", f"{i} is in the overlay already")
        if k not in tree:
            raise InvalidProblem("to", f"{k} is not in the overlay")
        return Change(participants=(i, k), needs=frozenset(), removes=None, makes=edge(i, k))
    assert j is not None
    _check_link(tree, i, j, "from")
    if move.op == "detach":
        if len(tree[i]) != 1:
            raise InvalidProblem("broker", f"{i} has {len(tree[i])} links; only a leaf is detached")
        return Change(participants=(i, j), needs=frozenset(), removes=edge(i, j), makes=None)
    assert k is not None
    if move.op == "shift":
        _check_link(tree, j, k, "to")
        return Change(
            participants=(i, j, k),
            needs=frozenset({edge(j, k)}),
            removes=edge(i, j),
            makes=edge(i, k),
        )
    at = i if move.at is None else move.at
    near, far = path(tree, i, at), path(tree, j, k)
    if j in near:
        raise InvalidProblem("at", f"{at} is not on the side of {i}")
    if i in far:
        raise InvalidProblem("to", f"{k} is not on the side of {j}")
    ways = [*pairwise(near), *pairwise(far)]
    return Change(
        participants=(*near, *far),
        needs=frozenset(edge(a, b) for a, b in ways),
        removes=edge(i, j),
        makes=edge(at, k),
    )


def _check_names(move: Move) -> None:
    wanted = {
        "shift": (True, True, False),
        "append": (False, True, False),
        "detach": (True, False, False),
        "move": (True, True, False),
        "exchange": (True, True, True),
    }[move.op]
    named = (("from", move.source), ("to", move.to), ("at", move.at))
    for (name, value), is_wanted in zip(named, wanted, strict=True):
        if is_wanted and value is None:
            raise InvalidProblem(name, f"missing; {move.op} needs it")
        if not is_wanted and value is not None:
            raise InvalidProblem(name, f"{move.op} has none; leave it out")
    brokers = [b for b in (move.broker, move.source, move.to) if b is not None]
    if len(set(brokers)) < len(brokers):
        raise InvalidProblem("broker", "an action needs different brokers")


def _check_link(tree: Mapping[str, Set[str]], a: str, b: str, name: str) -> None:
    if b not in tree.get(a, ()):
        raise InvalidProblem(name, f"no link {a}-{b} in the overlay")


def apply(tree: Neighbours, move: Move) -> Change:
    """Carry the action out on this tree, in place. Raises InvalidProblem, the tree untouched."""
    done = change(tree, move)
    if done.makes is not None and done.makes[1] in tree.get(done.makes[0], ()):
        raise InvalidProblem("to", f"link {'-'.join(done.makes)} is there already")
    if done.removes is not None:
        a, b = done.removes
        tree[a].discard(b)
        tree[b].discard(a)
    if move.op == "detach":
        del tree[move.broker]
    if done.makes is not None:
        a, b = done.makes
        tree.setdefault(a, set()).add(b)
        tree.setdefault(b, set()).add(a)
    return done


def gaining(done: Change) -> frozenset[str]:
    """Brokers with one link more after the action; where one link replaces another, none."""
    return frozenset(done.makes or ()) - frozenset(done.removes or ())


def losing(done: Change) -> frozenset[str]:
    """Brokers with one link less after the action."""
    return frozenset(done.removes or ()) - frozenset(done.makes or ())


def inverse(move: Move) -> Move:
    """What undoes the action right after it."""
    if move.op == "append":
        return replace(move, op="detach", source=move.to, to=None)
    if move.op == "detach":
        return replace(move, op="append", source=None, to=move.source)
    if move.op == "exchange":
        assert move.at is not None
        return replace(move, broker=move.at, source=move.to, at=move.broker, to=move.source)
    return replace(move, source=move.to, to=move.source)


def price(move: Move, done: Change, costs: ActionCosts) -> float:
    """What the action costs. Raises InvalidProblem for a composite that has no price."""
    own: float | None = getattr(costs, move.op)
    if own is None:
        raise InvalidProblem("op", f"{move.op} has no price in options.action_costs; shift instead")
    disturbed = sum(costs.brokers.get(broker, 0.0) for broker in done.participants)
    return own + disturbed + (costs.links.get(done.makes, 0.0) if done.makes else 0.0)
