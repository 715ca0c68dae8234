"""What a request asks, held against the model that it asks about."""

from apps.allocations.models import Allocation
from apps.calibration.selectors import calibrated_problem
from apps.common.errors import ApplicationError, FieldError
from apps.runs.models import Snapshot
from apps.systems.models import System
from weir.codec import problem_from_dict, problem_from_json
from weir.errors import InvalidProblem
from weir.model import Problem
from weir.scenarios import check, study_from_dict
from weir.scenarios.spec import Study as Asked


def study_asked(spec: object, problem: Problem) -> Asked:
    """The study, if it is well-formed and fits the problem."""
    try:
        asked = study_from_dict(spec, "spec")
    except InvalidProblem as error:
        raise _refusal(error) from error
    try:
        check(asked, problem)
    except InvalidProblem as error:
        raise _refusal(error.below("spec")) from error
    return asked


def _refusal(error: InvalidProblem) -> ApplicationError:
    return ApplicationError(
        "invalid_study",
        str(error),
        status=422,
        errors=[FieldError(field=error.path, message=error.message)],
    )


def _frozen_model(system: System) -> Problem:
    try:
        problem = problem_from_dict(calibrated_problem(system))
    except InvalidProblem as error:
        raise ApplicationError(
            "invalid_problem",
            str(error),
            status=422,
            errors=[FieldError(field=error.path, message=error.message)],
        ) from error
    if not problem.flows:
        raise ApplicationError(
            "nothing_to_optimize",
            f"{system} has no topics yet. Add a topic and a consumer class first.",
            status=409,
        )
    return problem


def studied_problem(
    system: System, allocation: Allocation | None
) -> tuple[Problem, Snapshot | None]:
    """What the study varies: the allocation's own snapshot, or the model as it is now."""
    if allocation is None:
        return _frozen_model(system), None
    if allocation.system_id != system.pk:
        message = f"{allocation} is not an allocation of {system}."
        raise ApplicationError(
            "invalid", message, errors=[FieldError(field="allocation", message=message)]
        )
    snapshot = allocation.run.snapshot
    return problem_from_json(bytes(snapshot.payload)), snapshot
