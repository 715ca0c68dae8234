"""List every action that a tree allows under the rules of a problem, and which may share a step."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.actions import edge
from weir.errors import InvalidProblem
from weir.model.transformation import Move
from weir.transformation.moves import change, gaining, price

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Set

    from weir.model.transformation import Transformation
    from weir.transformation.moves import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Hold an action with its result and its cost."""

    move: Move
    change: Change
    price: float


def choices(problem: Transformation, tree: Mapping[str, Set[str]]) -> list[Choice]:
    """All actions, in alphabetical order of what they name. Composites only where priced."""
    limit = problem.options.max_degree
    frozen = problem.options.frozen_brokers
    found = []
    for move in _moves(problem, tree):
        try:
            done = change(tree, move)
        except InvalidProblem:
            continue
        if frozen.intersection(done.participants):
            continue
        if limit is not None and any(len(tree.get(b, ())) >= limit for b in gaining(done)):
            continue
        cost = price(move, done, problem.options.action_costs)
        found.append(Choice(move=move, change=done, price=cost))
    return found


def may_share(problem: Transformation, one: Choice, other: Choice) -> bool:
    """Return whether two actions of the same tree may share a step, apart from a maximum degree."""
    a, b = one.change, other.change
    if problem.options.parallel == "broker-disjoint":
        return not set(a.participants).intersection(b.participants)
    if a.removes is not None and (a.removes == b.removes or a.removes in b.needs):
        return False
    if b.removes is not None and b.removes in a.needs:
        return False
    if a.makes is not None and a.makes == b.makes:
        return False
    for mine, others in ((one, b), (other, a)):
        if mine.move.op in ("append", "detach") and mine.move.broker in others.participants:
            return False
    return True


def _moves(problem: Transformation, tree: Mapping[str, Set[str]]) -> Iterator[Move]:
    options = problem.options
    yield from _churn(problem, tree)
    for a in sorted(tree):
        for b in sorted(tree[a]):
            link = edge(a, b)
            if link in options.frozen_links:
                continue
            if link in problem.goal and not options.move_goal_links:
                continue
            # (a, b) and (b, a) both come up, so either end slides
            for k in sorted(tree[b] - {a}):
                yield Move(op="shift", broker=a, source=b, to=k)
            costs = options.action_costs
            if costs.move is not None:
                for k in _side(tree, b, a):
                    yield Move(op="move", broker=a, source=b, to=k)
            if costs.exchange is not None and a < b:
                far = _side(tree, b, a)
                for at in _side(tree, a, b):
                    for k in far:
                        yield Move(op="exchange", broker=a, source=b, at=at, to=k)


def _churn(problem: Transformation, tree: Mapping[str, Set[str]]) -> Iterator[Move]:
    survivors = problem.initial_brokers & problem.goal_brokers
    for new in sorted(problem.added):
        if new in tree:
            continue
        for host in sorted(tree):
            if edge(new, host) in problem.goal or not survivors:
                yield Move(op="append", broker=new, to=host)
    for old in sorted(problem.removed):
        if old in tree and len(tree[old]) == 1:
            yield Move(op="detach", broker=old, source=next(iter(tree[old])))


def _side(tree: Mapping[str, Set[str]], start: str, away: str) -> list[str]:
    """Brokers on the side of `start` of the link to `away`, but `start`."""
    came = {start, away}
    queue = deque([start])
    while queue:
        for other in tree[queue.popleft()]:
            if other not in came:
                came.add(other)
                queue.append(other)
    return sorted(came - {start, away})
