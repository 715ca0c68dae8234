"""Solving a study, unit by unit: the same loop for the local engine and inside a Spark task.

A scenario that is invalid, infeasible or breaks its method is a row that says so; the others go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weir.codec import start_of
from weir.errors import WeirError
from weir.optimizers import method
from weir.plugins import from_dict
from weir.scenarios.edits import Edited, applied
from weir.scenarios.outcome import FAILED, INVALID, nothing, row
from weir.stop import first_of, time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from weir.model import Problem, Result, Start
    from weir.scenarios.expansion import Case, Unit
    from weir.scenarios.spec import Study
    from weir.stop import Progress


def solve_unit(
    problem: Problem,
    study: Study,
    unit: Unit,
    *,
    clock: Callable[[], float],
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[dict[str, Any]]:
    """The rows of the unit's cases, in order. `clock` counts seconds; it only measures and limits.

    Once `cancelled` says so, nothing more is yielded: a half-solved case is no answer.
    """
    before: Result | None = None
    for case in unit.cases:
        begin = clock()
        try:
            edited = applied(problem, case.edits)
            start = start_of(before) if unit.warm and before is not None else None
            result = _solve(edited, study, case, start, clock, cancelled)
        except WeirError as error:
            answer = nothing(case, INVALID, str(error), clock() - begin)
        except Exception as error:  # a fault of one method must not take the others with it
            reason = f"{type(error).__name__}: {error}"
            answer = nothing(case, FAILED, reason, clock() - begin)
        else:
            answer = row(
                case,
                edited,
                result,
                groups=study.groups,
                before=before if len(unit.cases) > 1 else None,
                keep_rates=study.keep_rates,
                runtime_s=clock() - begin,
            )
            if result.status != "infeasible":
                before = result
        if cancelled():
            return
        yield answer


def _solve(
    edited: Edited,
    study: Study,
    case: Case,
    start: Start | None,
    clock: Callable[[], float],
    cancelled: Callable[[], bool],
) -> Result:
    optimizer = method(case.method.method)

    def told(progress: Progress) -> bool:
        return cancelled()

    limit = study.time_limit_s
    return optimizer.solve(
        edited.problem,
        from_dict(optimizer.Params, dict(case.method.parameters)),
        stop=told if limit is None else first_of(told, time_limit(limit, clock)),
        seed=study.seed,
        start=start,
    )
