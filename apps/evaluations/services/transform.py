"""Plan the steps from one tree to another while somebody waits; nothing is stored."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apps.common.computing import Queue, params_of, turn
from apps.common.errors import ApplicationError, Conflict
from weir.codec.transformation import transformation_from_dict, transformation_plan_to_dict
from weir.errors import InvalidProblem, NoPlan, WeirError
from weir.model.transformation import Objective, Transformation, TransformationPlan
from weir.planners import planner as find_planner
from weir.stop import time_limit
from weir.transformation.validation import check

LONGEST_S = 10.0
MOST_BROKERS = 2000
"""The largest problem in brokers; larger ones take `manage.py plan_topology` or an evaluation."""

_PLANS = Queue("Another plan is being computed. Try again in a few seconds.")


def transformation_plan(
    *,
    objective: Objective,
    method: str,
    parameters: Mapping[str, Any],
    seed: int,
    time_limit_s: float,
    **plain: Any,
) -> dict[str, Any]:
    """Return the result as docs/formats.md describes. Raises ApplicationError naming what is
    wrong."""
    params = params_of(find_planner, method, parameters)
    try:
        problem = transformation_from_dict(plain)
    except InvalidProblem as error:
        raise ApplicationError.of_problem(error) from error
    if len(problem.brokers) > MOST_BROKERS:
        raise ApplicationError(
            "too_large_to_wait",
            f"{len(problem.brokers):,} brokers; up to {MOST_BROKERS:,} are planned while a request "
            "waits. Use manage.py plan_topology.",
            status=409,
        )
    with turn(_PLANS):
        result = planned(
            problem,
            method=method,
            params=params,
            objective=objective,
            seed=seed,
            limit_s=time_limit_s,
        )
    return transformation_plan_to_dict(result, priced=problem.priced)


def planned(
    problem: Transformation,
    *,
    method: str,
    params: Any,
    objective: Objective,
    seed: int,
    limit_s: float,
) -> TransformationPlan:
    """Return the planner's best plan within the limit, checked by the independent validator.

    Raises Conflict `no_plan_found` where the time was too short.
    """
    began_s = time.monotonic()
    try:
        result = find_planner(method).plan(
            problem,
            params,
            objective=objective,
            stop=time_limit(limit_s, time.monotonic),
            seed=seed,
        )
    except NoPlan as error:
        raise Conflict("no_plan_found", f"{error} Give it more time.") from error
    if result.status != "infeasible":
        try:
            check(problem, result.steps)
        except InvalidProblem as error:
            raise WeirError(f"the plan of {method} is not valid: {error}") from error
    return replace(result, runtime_s=round(time.monotonic() - began_s, 6))
