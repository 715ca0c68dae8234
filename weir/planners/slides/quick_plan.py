"""A good plan in some milliseconds, for searches that need something to beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.errors import InvalidProblem
from weir.planners.slides.arrays import arrays_of
from weir.planners.slides.engine import Engine
from weir.planners.slides.translation import as_moves, in_order
from weir.transformation.reduction import reduced
from weir.transformation.scheduling import pack
from weir.transformation.validation import check

if TYPE_CHECKING:
    from weir.model.transformation import Steps, Transformation

ROUNDS = 60


def quick(problem: Transformation, *, seed: int) -> Steps | None:
    """A plan after some rounds of the engine; None where the options leave it no room."""
    parts = reduced(problem)
    arrays = arrays_of(parts.problem)
    engine = Engine(arrays, seed=seed)
    if not engine.begin():
        return None
    for _ in range(ROUNDS):
        if engine.is_finished():
            break
        engine.round()
    engine.settle()
    assert engine.best is not None
    core = as_moves(arrays, engine.best)
    try:
        steps = pack(problem, in_order(problem, parts.appends, core, parts.detaches))
        check(problem, steps)
    except InvalidProblem:
        return None
    return steps
