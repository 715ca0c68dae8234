"""Find a plan of the fewest steps with a proof, by iterative deepening over steps.

For T = the lower bound, T + 1, ... every sequence of T steps is tried, depth first: from a tree
all sets of actions that may share a step, larger ones first, but none after which more steps are
needed at least than are left. A tree that failed with so many steps left is not tried again. When
T is exhausted, every plan has more than T steps.

Source: R. E. Korf: Depth-first Iterative-Deepening: An Optimal Admissible Tree Search. Artificial
Intelligence 27 (1985).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.planners.exact.actions import from_here
from weir.planners.exact.allowed_actions import choices, may_share
from weir.transformation.bounds import lower_bound_steps
from weir.transformation.moves import gaining, neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence, Set

    from weir.model.transformation import Steps, Transformation
    from weir.planners.exact.actions import State
    from weir.planners.exact.allowed_actions import Choice
    from weir.transformation.moves import Neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSteps:
    """Hold what the search knows when it ends."""

    steps: Steps | None
    """A plan of the fewest steps; None: there is none below the limit, or it was stopped."""
    bound: int
    """Every plan has at least so many steps."""


class _Ended(Exception):
    """End the search because the caller asked to stop."""


def fewest_steps(problem: Transformation, *, stop: Callable[[int], bool], below: int) -> FoundSteps:
    """A plan of the fewest steps, if they are less than `below`; `stop` is told the bound.

    There has to be a plan, else the search goes on to `below` in vain.
    """
    start: State = (problem.initial, problem.initial_brokers)
    search = _Search(problem, stop)
    most = search.needs(start)
    while most < below:
        search.bound = most
        try:
            steps = search.deeper(start, most)
        except _Ended:
            return FoundSteps(steps=None, bound=most)
        if steps is not None:
            return FoundSteps(steps=steps, bound=most)
        most += 1
    return FoundSteps(steps=None, bound=most)


class _Search:
    def __init__(self, problem: Transformation, stop: Callable[[int], bool]) -> None:
        self.problem, self.stop, self.bound = problem, stop, 0
        self.end: State = (problem.goal, problem.goal_brokers)
        self.failed: dict[State, int] = {}
        self.needed: dict[State, int] = {}

    def needs(self, state: State) -> int:
        if state not in self.needed:
            self.needed[state] = lower_bound_steps(from_here(self.problem, state))
        return self.needed[state]

    def deeper(self, state: State, left: int) -> Steps | None:
        """Return the steps from this state to the goal, at most `left`, or None."""
        if state == self.end:
            return ()
        if self.needs(state) > left or self.failed.get(state, -1) >= left:
            return None
        if self.stop(self.bound):
            raise _Ended
        tree = neighbours(state[0], state[1])
        found = choices(self.problem, tree)
        tried: set[State] = set()
        for step in _steps(self.problem, tree, found):
            after = _after(state, tree, step)
            if after in tried:
                continue
            tried.add(after)
            if len(tried) % 64 == 0 and self.stop(self.bound):
                raise _Ended
            rest = self.deeper(after, left - 1)
            if rest is not None:
                return (tuple(choice.move for choice in step), *rest)
        self.failed[state] = left
        return None


def _after(state: State, tree: Neighbours, step: Sequence[Choice]) -> State:
    links = set(state[0])
    brokers = set(state[1])
    for choice in step:
        if choice.change.removes is not None:
            links.discard(choice.change.removes)
        if choice.change.makes is not None:
            links.add(choice.change.makes)
        if choice.move.op == "append":
            brokers.add(choice.move.broker)
        if choice.move.op == "detach":
            brokers.discard(choice.move.broker)
    return frozenset(links), frozenset(brokers)


def _steps(
    problem: Transformation, tree: Mapping[str, Set[str]], found: Sequence[Choice]
) -> Iterator[tuple[Choice, ...]]:
    """Every set of choices that may share a step, each one before the sets that it contains."""
    clashes = [
        {b for b, other in enumerate(found) if b > a and not may_share(problem, one, other)}
        for a, one in enumerate(found)
    ]
    limit = problem.options.max_degree
    gains: Counter[str] = Counter()

    def fits(choice: Choice) -> bool:
        return limit is None or all(
            len(tree.get(b, ())) + gains[b] < limit for b in gaining(choice.change)
        )

    def extend(
        at: int, taken: list[Choice], barred: frozenset[int]
    ) -> Iterator[tuple[Choice, ...]]:
        for c in range(at, len(found)):
            if c in barred or not fits(found[c]):
                continue
            more = gaining(found[c].change)
            gains.update(more)
            taken.append(found[c])
            yield from extend(c + 1, taken, barred | clashes[c])
            taken.pop()
            gains.subtract(more)
        if taken:
            yield tuple(taken)

    yield from extend(0, [], frozenset())
