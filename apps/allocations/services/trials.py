"""Find what would admit a class by solving its frozen model again; nothing is stored."""

import json
import time
from dataclasses import dataclass

from apps.allocations.models import Allocation
from apps.allocations.selectors.explanations import class_explanation
from apps.allocations.selectors.problems import snapshot_plain
from apps.allocations.services import DEFAULT_METHOD, preview
from apps.common.computing import turn
from apps.common.errors import ApplicationError
from weir.codec import problem_from_dict, result_from_dict, start_of
from weir.model import Problem, Result
from weir.optimizers import method
from weir.scenarios.admission import Trial, trials
from weir.stop import time_limit

ALL_S = 4.0
"""The time limit of all levers together; the page waits because somebody asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Hold the trials, compared with the same model solved as it is by the same method."""

    method: str
    admitted_before: int
    utility_before: float
    trials: tuple[Trial, ...]
    runtime_s: float


def admission_trials(allocation: Allocation, consumer_class: str) -> Trials:
    """Run the trials. Raises ApplicationError for an unknown class, a model too large, or when
    busy."""
    began_s = time.monotonic()
    why = class_explanation(allocation, consumer_class).explanation
    plain = snapshot_plain(allocation.run)
    rows = 0 if plain is None else len(plain["flows"]) + len(plain["classes"])
    if plain is None or rows > preview.MOST_ROWS:
        raise ApplicationError(
            "too_large_to_try",
            f"The model of {allocation} is too large to solve again while a page waits. "
            "Try it in what-if.",
            status=409,
        )
    problem = problem_from_dict(plain)
    optimizer = method(DEFAULT_METHOD)
    start = start_of(result_from_dict(json.loads(bytes(allocation.run.result.payload))))

    def solve(changed: Problem) -> Result:
        limit = time_limit(preview.SOLVE_S, time.monotonic)
        return optimizer.solve(changed, optimizer.Params(), stop=limit, seed=0, start=start)

    with turn(preview.PREVIEWS):
        as_it_is = solve(problem)
        end_s = time.monotonic() + ALL_S
        tried = trials(
            problem,
            why,
            solve=solve,
            enough=lambda: time.monotonic() > end_s,
        )
    return Trials(
        method=DEFAULT_METHOD,
        admitted_before=as_it_is.populations.get(consumer_class, 0),
        utility_before=as_it_is.utility,
        trials=tried,
        runtime_s=time.monotonic() - began_s,
    )
