"""The plans that are carried out: the paper's baseline, one action per step, and Weir's own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from weir.planners import planner
from weir.transformation import validation
from weir.transformation.moves import apply, inverse, neighbours

if TYPE_CHECKING:
    from weir.model.transformation import Edge, Move, Steps, Transformation

PLANNERS = ("best_first", "slides")
LIMIT_S = 3.0


def steps_of(problem: Transformation, name: str) -> Steps:
    """A valid plan; `best_first` does not run actions side by side."""
    module = planner(name)
    until = time.perf_counter() + LIMIT_S
    found = module.plan(
        problem,
        module.Params(),
        objective="actions" if name == "best_first" else "steps",
        stop=lambda _: time.perf_counter() > until,
        seed=1,
    )
    steps = found.steps
    if name == "best_first":
        steps = tuple((move,) for step in steps for move in step)
    validation.check(problem, steps)
    return steps


def reverse(steps: Steps) -> Steps:
    """Back to where the plan began."""
    return tuple(tuple(inverse(move) for move in reversed(step)) for step in reversed(steps))


def trees(initial: frozenset[Edge], steps: Steps) -> list[frozenset[Edge]]:
    """The overlay before each step, and the last one."""
    tree = neighbours(initial)
    found = [initial]
    for step in steps:
        for move in step:
            apply(tree, move)
        found.append(frozenset((a, b) for a in tree for b in tree[a] if a < b))
    return found


def roles(steps: Steps) -> list[list[tuple[str, str, str]]]:
    """As the fleet wants them: (i, j, k)."""
    return [[_roles(move) for move in step] for step in steps]


def _roles(move: Move) -> tuple[str, str, str]:
    if move.op != "shift" or move.source is None or move.to is None:
        raise ValueError(f"this fleet only shifts, not {move.op}")
    return move.broker, move.source, move.to
