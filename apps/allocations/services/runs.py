"""Ask for an allocation and keep its result."""

import json
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.allocations.models import Allocation, ClassPopulation, FlowRate, Place, ResourceLoad
from apps.calibration.selectors import calibrated_problem
from apps.common.errors import ApplicationError, FieldError
from apps.common.events import publish
from apps.runs.models import Run, RunResult
from apps.runs.services import run_finish, run_open, snapshot_freeze
from apps.runs.services.execute import run_execute
from apps.systems.models import System
from weir.allocation.pruning import as_routed
from weir.codec import (
    canonical_bytes,
    problem_from_dict,
    problem_from_json,
    result_from_dict,
    start_of,
    start_to_dict,
)
from weir.errors import InvalidProblem, UnknownMethod
from weir.model import Problem, Result, loads
from weir.optimizers import method as find_method
from weir.plugins import from_dict

KIND = "allocation"
TASK = "allocations.solve"
DEFAULT_METHOD = "certified"
BATCH = 2000
NAME_LENGTH = FlowRate._meta.get_field("flow").max_length or 0
RESOURCE_LENGTH = ResourceLoad._meta.get_field("resource").max_length or 0


def _checked_method(method: str, parameters: dict[str, Any]) -> None:
    try:
        optimizer = find_method(method)
    except UnknownMethod as error:
        raise ApplicationError(
            "unknown_method", str(error), errors=[FieldError(field="method", message=str(error))]
        ) from error
    try:
        from_dict(optimizer.Params, parameters)
    except InvalidProblem as error:
        field = f"parameters.{error.path}" if error.path else "parameters"
        raise ApplicationError(
            "invalid",
            f"{field}: {error.message}",
            errors=[FieldError(field=field, message=error.message)],
        ) from error


def _problem(plain: object) -> Problem:
    try:
        return problem_from_dict(plain)
    except InvalidProblem as error:
        raise ApplicationError(
            "invalid_problem",
            str(error),
            status=422,
            errors=[FieldError(field=error.path, message=error.message)],
        ) from error


def _storable(problem: Problem) -> None:
    """Refuse names that are longer than the tables of results hold; the kernel takes them."""
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
            raise ApplicationError(
                "invalid_problem",
                f"{path}: {message}",
                status=422,
                errors=[FieldError(field=path, message=message)],
            )


@transaction.atomic
def allocation_request(
    *,
    system: System,
    actor: User | None,
    method: str = DEFAULT_METHOD,
    parameters: dict[str, Any] | None = None,
    seed: int = 0,
    time_limit_s: float | None = None,
    cold: bool = False,
) -> Run:
    """Freeze the system's model and open a run on it. Raises ApplicationError for a bad model.

    It begins where the system's last allocation by the same method left off, or else the last by
    any, unless it is asked to begin `cold`.
    """
    _checked_method(method, parameters or {})
    locked = System.objects.select_for_update().get(pk=system.pk)
    problem = _problem(calibrated_problem(locked))
    if not problem.flows:
        raise ApplicationError(
            "nothing_to_optimize",
            f"{locked} has no topics yet. Add a topic and a consumer class first.",
            status=409,
        )
    snapshot = snapshot_freeze(kind=KIND, payload=canonical_bytes(problem), system=locked)
    return run_open(
        task=TASK,
        snapshot=snapshot,
        method=method,
        parameters=parameters or {},
        seed=seed,
        time_limit_s=time_limit_s,
        actor=actor,
        starts_from=None if cold else _last_run(locked, method),
    )


def _last_run(system: System, method: str) -> Run | None:
    """The run of the system's last allocation by this method, else of its last one by any.

    Not every method leaves prices: after a comparison of methods the last one may have none.
    """
    rows = Allocation.objects.filter(system=system).select_related("run").order_by("-number")
    last = rows.filter(method=method).first() or rows.first()
    return last.run if last else None


@transaction.atomic
def allocation_request_for_problem(
    *,
    problem: object,
    actor: User | None,
    method: str = DEFAULT_METHOD,
    parameters: dict[str, Any] | None = None,
    seed: int = 0,
    time_limit_s: float | None = None,
) -> Run:
    """Open a run on a problem that the caller brings, as in docs/formats.md, Allocation."""
    _checked_method(method, parameters or {})
    sound = _problem(problem)
    _storable(sound)
    snapshot = snapshot_freeze(kind=KIND, payload=canonical_bytes(sound), system=None)
    return run_open(
        task=TASK,
        snapshot=snapshot,
        method=method,
        parameters=parameters or {},
        seed=seed,
        time_limit_s=time_limit_s,
        actor=actor,
    )


def allocation_solve(*, run_id: int) -> None:
    """One attempt of an allocation run, on Spark."""
    run_execute(
        run_id=run_id, task=TASK, job="solve", store=allocation_store, more=allocation_start
    )


def allocation_start(run: Run) -> dict[str, Any]:
    """Where the run begins: prices, rates and populations of the result that it names."""
    if run.starts_from is None:
        return {}
    answer = RunResult.objects.get(run=run.starts_from).payload
    return {"start": start_to_dict(start_of(result_from_dict(json.loads(bytes(answer)))))}


@transaction.atomic
def allocation_store(run: Run, answer: bytes) -> None:
    """Check that the answer belongs to the run's snapshot; keep it as rows and end the run."""
    result = result_from_dict(json.loads(answer))
    if result.problem_hash != run.snapshot.content_hash:
        raise ValueError(f"{run}: answer to {result.problem_hash}, not {run.snapshot.content_hash}")
    infeasible = result.reason if result.status == "infeasible" else None
    told = Run.objects.values_list("progress", flat=True).get(pk=run.pk)
    progress = {
        "iteration": result.iterations,
        "utility": result.utility,
        "best_utility": result.utility,
    }
    run_finish(
        run=run,
        payload=answer,
        kernel_version=result.kernel_version,
        infeasible_because=infeasible,
        progress=progress,
    )
    if infeasible is None:
        problem = problem_from_json(bytes(run.snapshot.payload))
        allocation = _store_rows(run, problem, result, told.get("moments", []))
        publish("allocation", id=allocation.public_id, system=_system_id(run))


def _system_id(run: Run) -> str | None:
    return str(run.system.public_id) if run.system else None


def _next_number(run: Run) -> int:
    if run.system is None:
        return run.pk
    # The system's row is the counter's lock: two runs that end together get two numbers.
    System.objects.select_for_update().get(pk=run.system.pk)
    last = Allocation.objects.filter(system=run.system).order_by("-number").first()
    return last.number + 1 if last else 1


def _store_rows(
    run: Run, problem: Problem, result: Result, moments: list[tuple[int, float]]
) -> Allocation:
    wanted = {c.id: c.population_max for c in problem.classes}
    allocation = Allocation.objects.create(
        system=run.system,
        run=run,
        number=_next_number(run),
        status=result.status,
        method=result.method,
        utility=result.utility,
        upper_bound=result.upper_bound,
        iterations=result.iterations,
        trace=list(result.trace),
        bounds=list(result.bounds),
        moments=moments,
        admitted=sum(result.populations.values()),
        wanted=sum(wanted.values()),
    )
    populations = [_population(allocation, c, result) for c in problem.classes]
    ClassPopulation.objects.bulk_create(populations, batch_size=BATCH)
    _store_rates(allocation, problem, result, populations)
    _store_loads(allocation, as_routed(problem, result.pruned), result)
    return allocation


def _population(allocation: Allocation, consumers: Any, result: Result) -> ClassPopulation:
    rate = result.rates.get(consumers.flow, 0.0)
    admitted = result.populations.get(consumers.id, 0)
    value = float(consumers.utility.value(rate))
    prices = result.node_prices.get(consumers.node, {})
    price = sum(cost * rate * prices.get(name, 0.0) for name, cost in consumers.costs.items())
    return ClassPopulation(
        allocation=allocation,
        consumer_class=consumers.id,
        flow=consumers.flow,
        node=consumers.node,
        admitted=admitted,
        wanted=consumers.population_max,
        utility=admitted * value,
        value_of_one=value,
        price_of_one=price,
        scale=float(consumers.utility.scale),
    )


def _store_rates(
    allocation: Allocation, problem: Problem, result: Result, populations: list[ClassPopulation]
) -> None:
    sums: dict[str, list[float]] = {flow.id: [0, 0, 0.0] for flow in problem.flows}
    nodes: dict[str, set[str]] = {flow.id: set(flow.node_costs) for flow in problem.flows}
    for row in populations:
        total = sums[row.flow]
        total[0] += row.admitted
        total[1] += row.wanted
        total[2] += row.utility
        nodes[row.flow].add(row.node)
    FlowRate.objects.bulk_create(
        [
            FlowRate(
                allocation=allocation,
                flow=flow.id,
                nodes=sorted(nodes[flow.id]),
                rate_min_per_s=flow.rate_min,
                rate_max_per_s=flow.rate_max,
                rate_per_s=result.rates[flow.id],
                admitted=int(sums[flow.id][0]),
                wanted=int(sums[flow.id][1]),
                utility=sums[flow.id][2],
            )
            for flow in problem.flows
        ],
        batch_size=BATCH,
    )


def _store_loads(allocation: Allocation, problem: Problem, result: Result) -> None:
    node_loads, link_loads = loads(problem, result.rates, result.populations)
    rows = [
        ResourceLoad(
            allocation=allocation,
            place=Place.NODE,
            name=node.id,
            resource=resource,
            capacity=node.capacity.get(resource, 0.0),
            load=load,
            price=result.node_prices.get(node.id, {}).get(resource, 0.0),
        )
        for node in problem.nodes
        for resource, load in node_loads[node.id].items()
        if resource in node.capacity
    ]
    rows += [
        ResourceLoad(
            allocation=allocation,
            place=Place.LINK,
            name=link.id,
            capacity=link.capacity,
            load=link_loads[link.id],
            price=result.link_prices.get(link.id, 0.0),
        )
        for link in problem.links
    ]
    ResourceLoad.objects.bulk_create(rows, batch_size=BATCH)
