"""Random transformation problems and random valid plans of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from weir.model.transformation import Options, Transformation
from weir.planners.exact.allowed_actions import choices, may_share
from weir.transformation.moves import apply, gaining, neighbours

if TYPE_CHECKING:
    from weir.model.transformation import Move
    from weir.planners.exact.allowed_actions import Choice


def tree(names: list[str], rng: random.Random) -> frozenset[tuple[str, str]]:
    """A random tree over the names."""
    order = rng.sample(names, len(names))
    return frozenset(
        (min(a, b), max(a, b))
        for a, b in ((order[at], order[rng.randrange(at)]) for at in range(1, len(order)))
    )


def problem(rng: random.Random, *, churn: bool = False, **options: Any) -> Transformation:
    """Two random trees of 3 to 9 brokers; with churn some brokers are in one of them only."""
    names = [f"b{at}" for at in range(rng.randint(3, 9))]
    before = after = names
    if churn and len(names) >= 5:
        before, after = names[rng.randint(0, 2) :], names[: len(names) - rng.randint(0, 2)]
    return Transformation(
        brokers=tuple(names),
        initial=tree(before, rng),
        goal=tree(after, rng),
        initial_brokers=frozenset(before),
        goal_brokers=frozenset(after),
        options=Options(**options),
    )


def degree_of(problem: Transformation) -> int:
    """The least maximum degree that both trees keep to."""
    return max(
        len(others)
        for edges in (problem.initial, problem.goal)
        for others in neighbours(edges, problem.initial_brokers).values()
    )


def walk(problem: Transformation, rng: random.Random, length: int) -> list[Move]:
    """Random actions one after the other, each allowed where it comes."""
    now = neighbours(problem.initial, problem.initial_brokers)
    moves = []
    for _ in range(length):
        possible = choices(problem, now)
        if not possible:
            break
        moves.append(rng.choice(possible).move)
        apply(now, moves[-1])
    return moves


def step(problem: Transformation, rng: random.Random) -> list[Choice]:
    """A random set of actions that may share the first step."""
    now = neighbours(problem.initial, problem.initial_brokers)
    possible = choices(problem, now)
    rng.shuffle(possible)
    taken: list[Choice] = []
    limit = problem.options.max_degree
    for one in possible:
        if any(not may_share(problem, one, other) for other in taken):
            continue
        gains = [b for c in (*taken, one) for b in gaining(c.change)]
        if limit is not None and any(
            len(now.get(b, ())) + gains.count(b) > limit for b in gaining(one.change)
        ):
            continue
        taken.append(one)
    return taken


seeds = st.integers(0, 2**32)
