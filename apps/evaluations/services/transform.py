"""Plan the steps from one tree to another while somebody waits; nothing is stored."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from apps.common.errors import ApplicationError, Conflict, FieldError
from weir.codec.transformation import transformation_from_dict, transformation_plan_to_dict
from weir.errors import InvalidProblem, NoPlan, UnknownMethod, WeirError
from weir.model.transformation import Objective, Transformation, TransformationPlan
from weir.planners import planner as find_planner
from weir.plugins import from_dict
from weir.stop import time_limit
from weir.transformation.validation import check

LONGEST_S = 10.0
MOST_BROKERS = 2000
"""The largest problem in brokers; larger ones take `manage.py plan_topology` or an evaluation."""

WAIT_S = 2.0
"""How long a request waits for its turn; each process plans one at a time."""

_turn = threading.BoundedSemaphore(1)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    if not _turn.acquire(timeout=WAIT_S):
        raise ApplicationError(
            "busy", "Another plan is being computed. Try again in a few seconds.", status=429
        )
    try:
        yield
    finally:
        _turn.release()


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
    params = _params(method, parameters)
    try:
        problem = transformation_from_dict(plain)
    except InvalidProblem as error:
        raise ApplicationError(
            "invalid_problem",
            str(error),
            status=422,
            errors=[FieldError(field=error.path, message=error.message)],
        ) from error
    if len(problem.brokers) > MOST_BROKERS:
        raise ApplicationError(
            "too_large_to_wait",
            f"{len(problem.brokers):,} brokers; up to {MOST_BROKERS:,} are planned while a request "
            "waits. Use manage.py plan_topology.",
            status=409,
        )
    with _one_at_a_time():
        result = planned(
            problem,
            method=method,
            params=params,
            objective=objective,
            seed=seed,
            limit_s=time_limit_s,
        )
    return transformation_plan_to_dict(result, priced=problem.priced)


def _params(method: str, parameters: Mapping[str, Any]) -> Any:
    try:
        return from_dict(find_planner(method).Params, dict(parameters))
    except UnknownMethod as error:
        raise ApplicationError(
            "unknown_method", str(error), errors=[FieldError(field="method", message=str(error))]
        ) from error
    except InvalidProblem as error:
        field = f"parameters.{error.path}" if error.path else "parameters"
        raise ApplicationError(
            "invalid",
            f"{field}: {error.message}",
            errors=[FieldError(field=field, message=error.message)],
        ) from error


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
