"""Find the cheapest plan with a proof, by A* over trees.

A state is the set of links (and with it the brokers), however it was reached, so that actions in
another order meet in the same state. The estimate of a state is the lower bound of the problem
that begins there (`weir.transformation.bounds`), which never exceeds the true rest. A state may be
reached again at less cost (the estimate need not be consistent); then it is looked at again. The
least value among open states is a bound on every plan at any time.

Source: P. E. Hart, N. J. Nilsson, B. Raphael: A Formal Basis for the Heuristic Determination of
Minimum Cost Paths. IEEE Transactions on Systems Science and Cybernetics 4 (1968).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weir.planners.exact.allowed_actions import choices
from weir.transformation.bounds import lower_bound_cost
from weir.transformation.moves import apply, neighbours

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Edge, Move, Transformation
    from weir.transformation.moves import Neighbours

NEARLY = 1e-9

State = tuple[frozenset["Edge"], frozenset[str]]
"""Links, and the brokers of the tree (a tree of one broker has no links)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Hold what the search knows when it ends."""

    moves: tuple[Move, ...] | None
    """The cheapest plan; None: there is none below the limit, or the search was stopped."""
    bound: float
    """No plan costs less. Infinite: every reachable tree was seen and none is the goal."""
    states: int
    """Trees that were looked at."""


def cheapest(
    problem: Transformation, *, stop: Callable[[float], bool], below: float = float("inf")
) -> Found:
    """The cheapest plan that costs less than `below`; `stop` is told the bound proven so far.

    Without prices the cost is the number of actions.
    """
    start: State = (problem.initial, problem.initial_brokers)
    end: State = (problem.goal, problem.goal_brokers)
    cost: dict[State, float] = {start: 0.0}
    came: dict[State, tuple[State, Move]] = {}
    estimates: dict[State, float] = {start: _estimate(problem, start)}
    # Among equal values the one with least to go, then the oldest: the order is always the same.
    queue = [(estimates[start], estimates[start], 0, start)]
    pushed, looked = 0, 0
    proven = estimates[start]
    while queue:
        value, rest, _, state = heapq.heappop(queue)
        if value > cost[state] + estimates[state] + NEARLY:
            continue  # reached at less cost since
        proven = max(proven, value)
        if value >= below - NEARLY:
            return Found(moves=None, bound=below, states=looked)
        if state == end:
            return Found(moves=_unwound(came, state), bound=cost[state], states=looked)
        looked += 1
        if stop(proven):
            return Found(moves=None, bound=proven, states=looked)
        tree = neighbours(state[0], state[1])
        for choice in choices(problem, tree):
            after = _after(state, choice.move, tree)
            paid = cost[state] + choice.price
            if paid >= cost.get(after, float("inf")) - NEARLY:
                continue
            if after not in estimates:
                estimates[after] = _estimate(problem, after)
            rest = estimates[after]
            cost[after] = paid
            came[after] = (state, choice.move)
            pushed += 1
            heapq.heappush(queue, (paid + rest, rest, pushed, after))
    return Found(moves=None, bound=float("inf"), states=looked)


def _after(state: State, move: Move, tree: Neighbours) -> State:
    touched = {broker: set(others) for broker, others in tree.items()}
    done = apply(touched, move)
    links = set(state[0])
    links.discard(done.removes) if done.removes is not None else None
    if done.makes is not None:
        links.add(done.makes)
    return frozenset(links), frozenset(touched)


def _estimate(problem: Transformation, state: State) -> float:
    return lower_bound_cost(from_here(problem, state))


def from_here(problem: Transformation, state: State) -> Transformation:
    """Return the problem that is left when the tree is `state`."""
    return replace(problem, initial=state[0], initial_brokers=state[1])


def _unwound(came: dict[State, tuple[State, Move]], state: State) -> tuple[Move, ...]:
    moves = []
    while state in came:
        state, move = came[state]
        moves.append(move)
    return tuple(reversed(moves))
