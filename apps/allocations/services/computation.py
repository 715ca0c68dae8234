"""Define allocations as a kind of computation: what is frozen, sent to the job and stored."""

import json
from typing import Any

from apps.accounts.models import User
from apps.allocations.models import Allocation, FlowRate, ResourceLoad
from apps.allocations.selectors.infeasibility import explain_infeasible
from apps.allocations.services.propose import allocation_plan
from apps.allocations.services.store import store_rows
from apps.calibration.selectors import calibrated_problem
from apps.common.computing import params_of
from apps.common.errors import ApplicationError, FieldError
from apps.demand.selectors.used import estimate_in_use
from apps.plans.models import Plan
from apps.plans.selectors.routes import routes_of
from apps.runs.models import Run, RunResult, Snapshot
from apps.runs.selectors import Again, Answer, Computation, Question
from apps.systems.models import System
from weir.codec import (
    canonical_bytes,
    problem_from_dict,
    problem_from_json,
    result_from_dict,
    start_of,
    start_to_dict,
)
from weir.errors import InvalidProblem
from weir.model import Problem
from weir.optimizers import method as find_method
from weir.optimizers import methods

KIND = "allocation"
DEFAULT_METHOD = "certified"
MOST_UNREACHED = 20
NAME_LENGTH = FlowRate._meta.get_field("flow").max_length or 0
RESOURCE_LENGTH = ResourceLoad._meta.get_field("resource").max_length or 0


def _problem(plain: object) -> Problem:
    try:
        return problem_from_dict(plain)
    except InvalidProblem as error:
        raise ApplicationError.of_problem(error) from error


def _storable(problem: Problem) -> None:
    """Refuse names that are longer than the columns of results; the kernel accepts them."""
    named = {
        "nodes": [node.id for node in problem.nodes],
        "links": [link.id for link in problem.links],
        "flows": [flow.id for flow in problem.flows],
        "classes": [row.id for row in problem.classes],
    }
    names = [
        (f"{kind}[{index}].id", name, NAME_LENGTH)
        for kind, ids in named.items()
        for index, name in enumerate(ids)
    ]
    names += [(f"resources[{i}]", x, RESOURCE_LENGTH) for i, x in enumerate(problem.resources)]
    for path, name, length in names:
        if len(name) > length:
            message = f"longer than {length} characters; shorten it or use manage.py allocate"
            raise ApplicationError.of_field(path, message, code="invalid_problem", status=422)


def _modelled(system: System) -> Problem:
    problem = _problem(calibrated_problem(system))
    if not problem.flows:
        raise ApplicationError(
            "nothing_to_optimize",
            f"{system} has no topics yet. Add a topic and a consumer class first.",
            status=409,
        )
    _refuse_unreached(system)
    return problem


def _refuse_unreached(system: System) -> None:
    """Refuse a class that no message can reach: it would be admitted, and the answer called
    optimal."""
    routes = routes_of(system)
    if routes.unreached:
        raise ApplicationError(
            "no_route",
            routes.sentence,
            status=409,
            errors=[
                FieldError(
                    field=f"consumer_classes.{row.name}.broker",
                    message=f"No way leads from {row.source}, where {row.topic} enters, to "
                    f"{row.broker}.",
                )
                for row in routes.unreached[:MOST_UNREACHED]
            ],
        )


def _brought(plain: object) -> Problem:
    problem = _problem(plain)
    _storable(problem)
    return problem


def freeze(
    system: System | None,
    *,
    problem: object = None,
    snapshot: Snapshot | None = None,
    method: str = DEFAULT_METHOD,
    parameters: dict[str, Any] | None = None,
    seed: int = 0,
    time_limit_s: float | None = None,
    cold: bool = False,
    note: str = "",
) -> Question:
    """Return what a run shall compute: on the system's model as it is now, on a `problem` that the
    caller brings (docs/formats.md, Allocation), or on a `snapshot` that is frozen already. Raises
    ApplicationError for a bad one.

    On a system's model it begins where the last allocation by the same method left off, or else
    the last by any, unless it is asked to begin `cold`.
    """
    params_of(find_method, method, parameters or {})
    start, demand = None, None
    if snapshot is not None:
        payload: bytes | Snapshot = snapshot
    elif system is None:
        payload = canonical_bytes(_brought(problem))
    else:
        payload = canonical_bytes(_modelled(system))
        demand = estimate_in_use(system)
        start = None if cold else _last_run(system, method)
    return Question(
        payload=payload,
        demand=demand,
        method=method,
        parameters=parameters or {},
        seed=seed,
        time_limit_s=time_limit_s,
        starts_from=start,
        note=note,
    )


def _last_run(system: System, method: str) -> Run | None:
    """Return the run of the system's last allocation by this method, else of its last one by
    any.

    Not every method leaves prices: after a comparison of methods the last one may have none.
    """
    rows = Allocation.objects.filter(system=system).select_related("run").order_by("-number")
    last = rows.filter(method=method).first() or rows.first()
    return last.run if last else None


def job_inputs(run: Run, row: None) -> dict[str, Any]:
    """Return where the run begins: prices, rates and populations of the result that it names."""
    if run.starts_from is None:
        return {}
    answer = RunResult.objects.get(run=run.starts_from).payload
    return {"start": start_to_dict(start_of(result_from_dict(json.loads(bytes(answer)))))}


def store(run: Run, row: None, answer: bytes) -> Answer:
    """Check that the answer belongs to the run's snapshot; store it as rows where something
    fits."""
    result = result_from_dict(json.loads(answer))
    if result.problem_hash != run.snapshot.content_hash:
        raise ValueError(f"{run}: answer to {result.problem_hash}, not {run.snapshot.content_hash}")
    infeasible = result.status == "infeasible"
    kept = None
    if not infeasible:
        problem = problem_from_json(bytes(run.snapshot.payload))
        kept = store_rows(run, problem, result, run.progress.get("moments", []))
    return Answer(
        payload=answer,
        kernel_version=result.kernel_version,
        infeasible_because=result.reason if infeasible else "",
        progress={
            "iteration": result.iterations,
            "utility": result.utility,
            "best_utility": result.utility,
        },
        row=kept,
    )


def describe(allocation: Allocation) -> str:
    """Describe the allocation in a sentence."""
    return f"{allocation} is worth {allocation.utility:,.6g} utility."


def again(request: Again) -> dict[str, Any]:
    """Return what a schedule or trigger asks for."""
    return {
        "method": request.method or DEFAULT_METHOD,
        "time_limit_s": request.time_limit_s,
        "note": request.note,
    }


def plan(
    allocation: Allocation,
    *,
    actor: User | None,
    answerable: User | None,
    least_benefit: float,
    asked_by: str,
) -> Plan:
    """Make the allocation's plan; what the policy leaves of it decides whether it is worth one.
    Raises Conflict."""
    return allocation_plan(allocation=allocation, actor=actor, answerable=answerable)


ALLOCATION = Computation(
    kind=KIND,
    title="Rates and admitted consumers",
    noun="allocation",
    address="/api/v1/allocations",
    job="solve",
    model=Allocation,
    freeze=freeze,
    job_inputs=job_inputs,
    explain_infeasible=explain_infeasible,
    explained_as="apps.allocations.api.infeasibility.InfeasibilitySerializer",
    baseline=True,
    store=store,
    topic="allocation",
    describe=describe,
    methods=methods,
    find_method=find_method,
    again=again,
    plan=plan,
    plan_again="Optimize again and make a new plan.",
)
