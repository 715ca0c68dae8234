"""Ask for an evaluation, end it, ask again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import ApplicationError, Conflict, FieldError
from apps.common.events import publish
from apps.evaluations.models import Evaluation, Objective
from apps.evaluations.selectors.problem import evaluation_problem
from apps.evaluations.selectors.traffic import DEFAULT_WINDOW_S, traffic_now
from apps.evaluations.services.solve import TASK, take_run
from apps.executions.selectors import measured_pauses
from apps.runs.models import Run
from apps.runs.services import run_again, run_cancel, run_open, snapshot_freeze
from apps.systems.models import System
from apps.topology.models import Overlay
from apps.topology.services import edges_of, overlay_in_force
from weir.codec.evaluation import evaluation_bytes
from weir.codec.transformation import transformation_from_dict
from weir.errors import InvalidProblem, UnknownMethod
from weir.model.evaluation import EvaluationProblem
from weir.model.transformation import Edge
from weir.planners import DEFAULT as DEFAULT_PLANNER
from weir.planners import planner
from weir.plugins import from_dict
from weir.topologies import designer, designers

KIND = "overlay"
DEFAULT_HORIZON_S = 3600.0
DEFAULT_TIME_LIMIT_S = 60.0
DEFAULT_WEIGHTS: Mapping[str, float] = {
    "per_message": 1.0,
    "per_second": 10.0,
    "per_overload": 10.0,
}
"""A tenth of a second on a link weighs as much as one link more."""
METHOD_LENGTH = Run._meta.get_field("method").max_length or 0

Chosen = Sequence[dict[str, Any]]
"""Names with parameters."""


@transaction.atomic
def evaluation_request(
    *,
    system: System,
    actor: User | None,
    goals: Sequence[Overlay] = (),
    methods: Chosen | None = None,
    planners: Chosen | None = None,
    objective: str = Objective.ACTIONS,
    seeds: Sequence[int] = (0,),
    options: Mapping[str, Any] | None = None,
    weights: Mapping[str, float] | None = None,
    horizon_s: float = DEFAULT_HORIZON_S,
    window_s: float = DEFAULT_WINDOW_S,
    time_limit_s: float | None = DEFAULT_TIME_LIMIT_S,
    note: str = "",
) -> Evaluation:
    """Freeze overlay, traffic and places, and open a run that compares candidates.

    Raises Conflict without an overlay in force, ApplicationError naming what of the request or
    of the model does not fit.
    """
    locked = System.objects.select_for_update().get(pk=system.pk)
    overlay = overlay_in_force(locked)
    today = edges_of(overlay)
    trees = {goal.name: edges_of(goal) for goal in goals}
    asked_methods = _checked("methods", methods, list(designers()), designer)
    asked_planners = _checked("planners", planners, [DEFAULT_PLANNER], planner)
    _check_goals(trees, today, options or {})
    traffic = traffic_now(locked, window_s=window_s)
    pause_s, shifts = measured_pauses(locked)
    problem = _problem(
        system=locked,
        brokers=_spanned(trees) or _spanned({"": today}),
        today=today,
        traffic=traffic,
        options=options or {},
        weights={**DEFAULT_WEIGHTS, **(weights or {})},
        horizon_s=horizon_s,
        pause_s=pause_s,
    )
    snapshot = snapshot_freeze(kind=KIND, payload=evaluation_bytes(problem), system=locked)
    run = run_open(
        task=TASK,
        kind=KIND,
        snapshot=snapshot,
        method=", ".join(row["name"] for row in asked_methods)[:METHOD_LENGTH],
        parameters={
            "kind": "evaluation",
            "methods": asked_methods,
            "goals": {name: _pairs(edges) for name, edges in trees.items()},
            "planners": asked_planners,
            "seeds": list(dict.fromkeys(seeds)),
            "objective": objective,
        },
        seed=min(seeds),
        time_limit_s=time_limit_s,
        actor=actor,
    )
    last = Evaluation.objects.filter(system=locked).order_by("-number").first()
    evaluation = Evaluation.objects.create(
        system=locked,
        number=last.number + 1 if last else 1,
        run=run,
        overlay=overlay,
        overlay_name=overlay.name,
        edges=_pairs(today),
        goals=list(trees),
        objective=objective,
        methods=asked_methods,
        planners=asked_planners,
        seeds=list(dict.fromkeys(seeds)),
        options=dict(options or {}),
        horizon_s=horizon_s,
        window_s=window_s,
        traffic=traffic.summary(),
        shift_pause_s=problem.disruption.pause_s,
        shifts_measured=0 if pause_s is None else shifts,
        subscribers={topic: dict(by) for topic, by in traffic.subscribers.items()},
        note=note,
        author=actor,
    )
    _audit(evaluation, actor, "start", after={"methods": [row["name"] for row in asked_methods]})
    return evaluation


def _pairs(edges: Iterable[Edge]) -> list[list[str]]:
    return [list(pair) for pair in sorted(edges)]


def _spanned(trees: Mapping[str, Iterable[Edge]]) -> set[str]:
    return {broker for edges in trees.values() for pair in edges for broker in pair}


def _checked(
    field: str, asked: Chosen | None, default: list[str], find: Any
) -> list[dict[str, Any]]:
    """Names and parameters that there are. Raises ApplicationError naming the entry."""
    rows: Chosen = [{"name": name} for name in default] if asked is None else asked
    for index, row in enumerate(rows):
        path = f"{field}[{index}]"
        try:
            from_dict(find(row["name"]).Params, row.get("parameters", {}))
        except UnknownMethod as error:
            raise refused("unknown_method", f"{path}.name", str(error), status=400) from error
        except InvalidProblem as error:
            where = f"{path}.parameters" + (f".{error.path}" if error.path else "")
            raise refused("invalid", where, error.message, status=400) from error
    return [{"name": row["name"], "parameters": dict(row.get("parameters", {}))} for row in rows]


def _check_goals(
    trees: Mapping[str, frozenset[Edge]], today: frozenset[Edge], options: Mapping[str, Any]
) -> None:
    """Every stored goal can be reached with these options, and all span the same brokers."""
    first: str | None = None
    for index, (name, edges) in enumerate(trees.items()):
        plain = {
            "brokers": sorted(_spanned({"today": today, "goal": edges})),
            "initial": _pairs(today),
            "goal": _pairs(edges),
            "options": dict(options),
        }
        try:
            transformation_from_dict(plain)
        except InvalidProblem as error:
            raise refused("invalid_problem", f"goals[{index}]", f"{name}: {error}") from error
        first = first or name
        other = _spanned({name: edges}) ^ _spanned({first: trees[first]})
        if other:
            raise refused(
                "goals_differ",
                f"goals[{index}]",
                f"{name} and {first} do not span the same brokers ({min(other)}); "
                "evaluate them one after the other",
            )


def _problem(**asked: Any) -> EvaluationProblem:
    try:
        return evaluation_problem(**asked)
    except InvalidProblem as error:
        raise refused("invalid_problem", error.path, error.message) from error


def refused(code: str, field: str, message: str, *, status: int = 422) -> ApplicationError:
    """What is wrong with one member of a request."""
    return ApplicationError(
        code,
        f"{field}: {message}" if field else message,
        status=status,
        errors=[FieldError(field=field, message=message)],
    )


def _audit(evaluation: Evaluation, actor: User | None, action: str, **values: Any) -> None:
    record(
        actor=actor,
        action=action,
        object_kind="overlay_evaluation",
        object_id=evaluation.public_id,
        object_name=str(evaluation),
        system_id=evaluation.system.public_id,
        model_version=evaluation.run.snapshot.model_version,
        **values,
    )
    publish("overlay", id=evaluation.public_id, system=evaluation.system.public_id)


def _locked(evaluation: Evaluation) -> Evaluation:
    return (
        Evaluation.objects.select_for_update(of=("self",))
        .select_related("system", "run__snapshot")
        .get(pk=evaluation.pk)
    )


@transaction.atomic
def evaluation_cancel(*, evaluation: Evaluation, actor: User) -> Evaluation:
    """Stop it. Raises Conflict where it has ended."""
    row = _locked(evaluation)
    run_cancel(run=row.run, actor=actor)
    _audit(row, actor, "cancel")
    return row


@transaction.atomic
def evaluation_rerun(*, evaluation: Evaluation, actor: User) -> Evaluation:
    """The same question to the same snapshot again. Raises Conflict while it runs."""
    row = _locked(evaluation)
    if row.run.task != TASK:
        raise Conflict("not_possible_now", f"{row} was not computed by a run.")
    take_run(row, run_again(run=row.run, actor=actor))
    _audit(row, actor, "rerun")
    return row
