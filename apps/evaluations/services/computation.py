"""Define overlay evaluations as a kind of computation: what is frozen and stored."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.accounts.models import User
from apps.common.errors import ApplicationError, Conflict
from apps.evaluations.models import Candidate, CandidateKind, Evaluation, Objective
from apps.evaluations.selectors.problem import evaluation_problem, known_links
from apps.evaluations.selectors.traffic import DEFAULT_WINDOW_S, traffic_now
from apps.evaluations.selectors.watched import broker_overload, routing_drift
from apps.evaluations.services.propose import candidate_plan
from apps.evaluations.services.store import candidate_values
from apps.executions.selectors import measured_pauses
from apps.plans.models import Plan
from apps.runs.models import Run
from apps.runs.selectors import Again, Answer, Computation, Question
from apps.systems.models import System
from apps.topology.models import Overlay
from apps.topology.services import edges_of, overlay_in_force
from weir import __version__
from weir.codec.evaluation import evaluation_bytes, evaluation_from_json
from weir.codec.evaluation_result import evaluation_result_from_dict
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
"""The default weights: a tenth of a second on a link weighs as much as one more link."""

Chosen = Sequence[dict[str, Any]]
"""A list of names with parameters."""


def freeze(
    system: System,
    *,
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
) -> Question:
    """Freeze overlay, traffic and places, and which candidates are compared with which methods.

    Raises Conflict without an overlay in force, ApplicationError naming what of the request or
    of the model does not fit.
    """
    overlay = overlay_in_force(system)
    today = edges_of(overlay)
    trees = {goal.name: edges_of(goal) for goal in goals}
    asked_methods = _checked("methods", methods, list(designers()), designer)
    asked_planners = _checked("planners", planners, [DEFAULT_PLANNER], planner)
    _check_goals(trees, today, options or {})
    traffic = traffic_now(system, window_s=window_s)
    pause_s, shifts = measured_pauses(system)
    problem = _problem(
        system=system,
        brokers=_spanned(trees) or _spanned({"": today}),
        today=today,
        traffic=traffic,
        options=options or {},
        weights={**DEFAULT_WEIGHTS, **(weights or {})},
        horizon_s=horizon_s,
        pause_s=pause_s,
    )
    return Question(
        payload=evaluation_bytes(problem),
        method=", ".join(row["name"] for row in asked_methods),
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
        row={
            "overlay": overlay,
            "overlay_name": overlay.name,
            "edges": _pairs(today),
            "goals": list(trees),
            "objective": objective,
            "methods": asked_methods,
            "planners": asked_planners,
            "seeds": list(dict.fromkeys(seeds)),
            "options": dict(options or {}),
            "horizon_s": horizon_s,
            "window_s": window_s,
            "traffic": traffic.summary(),
            "shift_pause_s": problem.disruption.pause_s,
            "shifts_measured": 0 if pause_s is None else shifts,
            "subscribers": {topic: dict(by) for topic, by in traffic.subscribers.items()},
            "note": note,
        },
        audited={"methods": [row["name"] for row in asked_methods]},
    )


def _pairs(edges: Iterable[Edge]) -> list[list[str]]:
    return [list(pair) for pair in sorted(edges)]


def _spanned(trees: Mapping[str, Iterable[Edge]]) -> set[str]:
    return {broker for edges in trees.values() for pair in edges for broker in pair}


def _checked(
    field: str, given: Chosen | None, default: list[str], find: Any
) -> list[dict[str, Any]]:
    """Return names and parameters of known methods. Raises ApplicationError naming the entry."""
    rows: Chosen = [{"name": name} for name in default] if given is None else given
    for index, row in enumerate(rows):
        path = f"{field}[{index}]"
        try:
            from_dict(find(row["name"]).Params, row.get("parameters", {}))
        except UnknownMethod as error:
            raise ApplicationError.of_field(
                f"{path}.name", str(error), code="unknown_method"
            ) from error
        except InvalidProblem as error:
            where = f"{path}.parameters" + (f".{error.path}" if error.path else "")
            raise ApplicationError.of_field(where, error.message) from error
    return [{"name": row["name"], "parameters": dict(row.get("parameters", {}))} for row in rows]


def _check_goals(
    trees: Mapping[str, frozenset[Edge]], today: frozenset[Edge], options: Mapping[str, Any]
) -> None:
    """Check that every stored goal can be reached with these options, and that all span the same
    brokers."""
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
            raise ApplicationError.of_field(
                f"goals[{index}]", f"{name}: {error}", code="invalid_problem", status=422
            ) from error
        first = first or name
        other = _spanned({name: edges}) ^ _spanned({first: trees[first]})
        if other:
            raise ApplicationError.of_field(
                f"goals[{index}]",
                f"{name} and {first} do not span the same brokers ({min(other)}); "
                "evaluate them one after the other",
                code="goals_differ",
                status=422,
            )


def _problem(**asked: Any) -> EvaluationProblem:
    try:
        return evaluation_problem(**asked)
    except InvalidProblem as error:
        raise ApplicationError.of_problem(error) from error


def _goals(evaluation: Evaluation) -> dict[str, int]:
    """Return the keys of the goal topologies that it compares, as far as they still exist."""
    rows = Overlay.objects.filter(system=evaluation.system, name__in=evaluation.goals)
    return dict(rows.values_list("name", "pk"))


def store(run: Run, evaluation: Evaluation, answer: bytes) -> Answer:
    """Check that the answer belongs to the snapshot and that every plan is valid; store it."""
    plain = json.loads(answer)
    problem_hash = plain.pop("problem_hash", None)
    version = plain.pop("kernel_version", __version__)
    if problem_hash != run.snapshot.content_hash:
        raise ValueError(f"{run}: answer to {problem_hash}, not {run.snapshot.content_hash}")
    result = evaluation_result_from_dict(plain)
    values = candidate_values(
        evaluation_from_json(bytes(run.snapshot.payload)),
        result,
        objective=evaluation.objective,
        goals=_goals(evaluation),
        measured_links=frozenset(known_links(evaluation.system)),
        subscribers=evaluation.subscribers,
    )
    Candidate.objects.filter(evaluation=evaluation).delete()
    Candidate.objects.bulk_create(Candidate(evaluation=evaluation, **row) for row in values)
    evaluation.why = list(result.why)
    evaluation.save(update_fields=["why", "updated_at"])
    return Answer(
        payload=answer,
        kernel_version=version,
        progress={"done": len(result.rows), "total": len(result.rows)},
        row=evaluation,
    )


def clear(evaluation: Evaluation) -> None:
    """Delete the candidates of the last run."""
    Candidate.objects.filter(evaluation=evaluation).delete()
    evaluation.why = []


def _best(evaluation: Evaluation) -> Candidate | None:
    """Return the recommended candidate; None where that is to do nothing."""
    best = Candidate.objects.filter(evaluation=evaluation, chosen=True).first()
    return None if best is None or best.kind == CandidateKind.TODAY else best


def describe(evaluation: Evaluation) -> str:
    """Describe the recommendation in a sentence."""
    best = _best(evaluation)
    if best is None:
        return f"{evaluation}: nothing is better than the overlay in force."
    return f"{evaluation}: {best.title}, net benefit {best.net_benefit or 0.0:,.0f}."


def again(request: Again) -> dict[str, Any]:
    """Return what a schedule or trigger asks for."""
    return {
        "methods": [{"name": request.method}] if request.method else None,
        "time_limit_s": request.time_limit_s or DEFAULT_TIME_LIMIT_S,
        "note": request.note[:2000],
    }


def plan(
    evaluation: Evaluation,
    *,
    actor: User | None,
    answerable: User | None,
    least_benefit: float,
    asked_by: str,
) -> Plan:
    """Make the plan of the best candidate. Raises Conflict where doing nothing is better."""
    best = _best(evaluation)
    if best is None:
        raise Conflict("nothing_to_change", describe(evaluation))
    benefit = best.net_benefit or 0.0
    if benefit <= least_benefit:
        raise Conflict(
            "nothing_to_change",
            f"{evaluation}: {best.title} has a net benefit of {benefit:,.0f} link messages; "
            f"{asked_by} asks for more than {least_benefit:,.0f}.",
        )
    return candidate_plan(candidate=best, actor=actor, answerable=answerable)


EVALUATION = Computation(
    kind=KIND,
    title="The overlay tree",
    noun="evaluation",
    address="/api/v1/overlay-evaluations",
    job="evaluate",
    model=Evaluation,
    row_first=True,
    freeze=freeze,
    store=store,
    clear=clear,
    topic="overlay",
    audited_as="overlay_evaluation",
    describe=describe,
    methods=designers,
    find_method=designer,
    again=again,
    plan=plan,
    plan_again="Evaluate the overlay again and make a new plan.",
    watched={"broker_overload": broker_overload, "routing_drift": routing_drift},
    weighs_benefit=True,
)
