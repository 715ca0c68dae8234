"""Check a request against the model that it asks about."""

from dataclasses import dataclass
from typing import Any

from apps.allocations.models import Allocation
from apps.calibration.selectors import calibrated_problem
from apps.common.errors import ApplicationError
from apps.runs.models import Snapshot
from apps.studies.selectors import study_estimate_s
from apps.systems.models import System
from weir.codec import problem_from_dict, problem_from_json
from weir.errors import InvalidProblem
from weir.model import Problem
from weir.scenarios import check, count_cases, study_from_dict, study_to_dict
from weir.scenarios.spec import Study as Asked


def study_asked(spec: object, problem: Problem) -> Asked:
    """Return the study, if it is well-formed and fits the problem."""
    try:
        study = study_from_dict(spec, "spec")
    except InvalidProblem as error:
        raise ApplicationError.of_problem(error, code="invalid_study") from error
    try:
        check(study, problem)
    except InvalidProblem as error:
        raise ApplicationError.of_problem(error.below("spec"), code="invalid_study") from error
    return study


def _frozen_model(system: System) -> Problem:
    try:
        problem = problem_from_dict(calibrated_problem(system))
    except InvalidProblem as error:
        raise ApplicationError.of_problem(error) from error
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
    """Return what the study varies: the allocation's own snapshot, or the present model."""
    if allocation is None:
        return _frozen_model(system), None
    if allocation.system_id != system.pk:
        message = f"{allocation} is not an allocation of {system}."
        raise ApplicationError.of_field("allocation", message, detail=message)
    snapshot = allocation.run.snapshot
    return problem_from_json(bytes(snapshot.payload)), snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Hold a study that fits its problem, with what it will need."""

    spec: dict[str, Any]
    points: int
    estimated_s: float | None


def study_check(*, system: System, spec: object, allocation: Allocation | None = None) -> Checked:
    """Return how large the study is and how long it may take. Raises ApplicationError where it is
    wrong."""
    problem, _ = studied_problem(system, allocation)
    study = study_asked(spec, problem)
    return Checked(
        spec=study_to_dict(study),
        points=count_cases(study),
        estimated_s=study_estimate_s(system=system, question=study),
    )
