"""Make a plan of a candidate, and another one from where an interrupted execution stopped."""

from collections.abc import Iterable
from typing import Any, cast

from django.db import transaction

from apps.accounts.models import User
from apps.common.errors import ApplicationError, Conflict
from apps.common.formatting import counted
from apps.evaluations.domain import sentences
from apps.evaluations.domain.executable_plans import executable, transformation_of, tree_plan_of
from apps.evaluations.models import Candidate, Evaluation
from apps.evaluations.selectors.problem import evaluation_problem
from apps.evaluations.selectors.readings import SOURCE, candidates_in_full
from apps.evaluations.selectors.traffic import traffic_now
from apps.evaluations.services.transform import planned
from apps.executions.models import ACTIVE_NAMES, Execution
from apps.plans.models import Plan
from apps.plans.services import plan_create
from apps.systems.models import System
from apps.telemetry.selectors.measured import measured
from apps.topology.services import edges_of, overlay_in_force
from weir.codec.evaluation import evaluation_from_json
from weir.codec.transformation import steps_from_list
from weir.errors import InvalidProblem
from weir.model.plan import Plan as Document
from weir.model.plan import Source
from weir.model.transformation import Edge, Objective
from weir.planners import DEFAULT, planner

KIND = "overlay"
AGAIN_S = 3.0
"""The time limit for planning again after an interrupted execution, while somebody waits."""

TITLE_LENGTH = Plan._meta.get_field("title").max_length or 0


@transaction.atomic
def candidate_plan(
    *,
    candidate: Candidate,
    actor: User | None,
    title: str = "",
    objective: str = "",
    answerable: User | None = None,
) -> Plan:
    """Make a draft of the plan that leads from the overlay in force to the candidate.

    `objective`: of the plans on the candidate's frontier, the one with the fewest actions or
    steps; left out, the one that the evaluation ranked. Raises Conflict: `plan_is_stale` (the
    model moved), `nothing_to_change` (it is the overlay in force, or no plan for it was found), and
    what `plan_create` refuses.
    """
    system = System.objects.select_for_update().get(pk=candidate.evaluation.system_id)
    row = candidates_in_full().get(pk=candidate.pk)
    evaluation = row.evaluation
    made_for = evaluation.run.snapshot.model_version
    if made_for != system.model_version:
        raise Conflict(
            "plan_is_stale",
            f"{evaluation} was computed on version {made_for} of the model, which is at version "
            f"{system.model_version} now. Evaluate again and plan one of the new candidates.",
        )
    steps = steps_from_list(_steps_of(row, objective))
    if not steps:
        raise Conflict(
            "nothing_to_change",
            f"No plan leads to {row.title}: {row.reason}"
            if row.actions is None
            else f"{row.title} is the overlay in force already; there is nothing to change.",
        )
    problem = evaluation_from_json(bytes(evaluation.run.snapshot.payload))
    goal = _edges(row.edges)
    return _create(
        evaluation=evaluation,
        candidate=row,
        system=system,
        actor=actor,
        answerable=answerable,
        title=title,
        tree_plan=tree_plan_of(
            overlay_name=evaluation.overlay_name,
            goal_title=row.title,
            problem=problem,
            goal=goal,
            steps=executable(problem, goal, steps),
            bounds=(row.lower_bound_actions or 0, row.lower_bound_steps or 0),
            planner_name=row.planner,
            detail=str(evaluation.traffic["detail"]),
            subscribers=evaluation.subscribers,
        ),
    )


def _steps_of(row: Candidate, objective: str) -> Any:
    """Return the plain steps that were ranked, or those of the frontier that the objective
    names."""
    if not objective or not row.frontier:
        return row.steps
    key = "actions" if objective == "actions" else "steps_count"
    return min(row.frontier, key=lambda point: (point[key], point["steps_count"]))["steps"]


def _edges(pairs: Iterable[Iterable[str]]) -> frozenset[Edge]:
    return frozenset((min(pair), max(pair)) for pair in map(tuple, pairs))


@transaction.atomic
def plan_again_from_here(
    *, candidate: Candidate, actor: User | None, title: str = "", objective: str = ""
) -> Plan:
    """Plan again for the candidate's tree from the overlay that is in force now.

    Every state between two actions of a plan is a valid tree, so wherever an execution failed or
    was stopped there is a way on. Planned while somebody waits, with the evaluation's options and
    the traffic of now. Raises Conflict: `system_is_busy`, `nothing_to_change`, `no_plan_found`;
    ApplicationError where the options no longer fit.
    """
    system = System.objects.select_for_update().get(pk=candidate.evaluation.system_id)
    active = Execution.objects.filter(system=system, state__in=ACTIVE_NAMES).first()
    if active is not None:
        raise Conflict(
            "system_is_busy",
            f"{active} of {active.subject_name} is still {active.state.replace('_', ' ')}; "
            "wait for its end or stop it.",
        )
    row = candidates_in_full().get(pk=candidate.pk)
    evaluation = row.evaluation
    goal = _edges(row.edges)
    overlay = overlay_in_force(system)
    today = edges_of(overlay)
    if today == goal:
        raise Conflict(
            "nothing_to_change", f"{row.title} is the overlay in force already; nothing is left."
        )
    traffic = traffic_now(system, window_s=evaluation.window_s)
    before = evaluation_from_json(bytes(evaluation.run.snapshot.payload))
    try:
        problem = evaluation_problem(
            system=system,
            brokers={broker for pair in goal for broker in pair},
            today=today,
            traffic=traffic,
            options=evaluation.options,
            weights={
                "per_message": before.weights.per_message,
                "per_second": before.weights.per_second,
                "per_overload": before.weights.per_overload,
            },
            horizon_s=evaluation.horizon_s,
            pause_s=evaluation.shift_pause_s,
        )
        transformation = transformation_of(problem, goal)
    except InvalidProblem as error:
        raise ApplicationError.of_problem(error) from error
    result = planned(
        transformation,
        method=DEFAULT,
        params=planner(DEFAULT).Params(),
        objective=cast("Objective", objective or evaluation.objective),
        seed=0,
        limit_s=AGAIN_S,
    )
    if result.status == "infeasible":
        raise Conflict("nothing_to_change", f"No plan leads to {row.title}: {result.reason}")
    return _create(
        evaluation=evaluation,
        candidate=row,
        system=system,
        actor=actor,
        answerable=None,
        title=title or f"Go on to {row.title}",
        tree_plan=tree_plan_of(
            overlay_name=evaluation.overlay_name,
            goal_title=row.title,
            problem=problem,
            goal=goal,
            steps=executable(problem, goal, result.steps),
            bounds=(result.lower_bound_actions, result.lower_bound_steps),
            planner_name=result.planner,
            detail=traffic.detail,
            subscribers={topic: dict(by) for topic, by in traffic.subscribers.items()},
        ),
    )


def _create(
    *,
    evaluation: Evaluation,
    candidate: Candidate,
    system: System,
    actor: User | None,
    answerable: User | None,
    title: str,
    tree_plan: sentences.TreePlan,
) -> Plan:
    document = Document(
        kind=KIND,
        system=str(system.public_id),
        model_version=system.model_version,
        snapshot_hash=evaluation.run.snapshot.content_hash,
        source=Source(
            kind=SOURCE, id=str(candidate.public_id), name=f"{evaluation} {candidate.title}"[:200]
        ),
        title=(title.strip() or _title(candidate, tree_plan))[:TITLE_LENGTH],
        why=sentences.why(tree_plan),
        steps=sentences.plan_steps(tree_plan),
        envelope=sentences.envelope(tree_plan.problem, measured(system).offered),
        promise=sentences.promise(tree_plan),
    )
    return plan_create(
        system=system, actor=actor, document=document, run=evaluation.run, answerable=answerable
    )


def _title(candidate: Candidate, tree_plan: sentences.TreePlan) -> str:
    """Return a title such as `Overlay from O-3: 4 links move, 6 actions`."""
    links = len(tree_plan.goal - tree_plan.problem.today)
    moved = counted(links, "link moves", "links move")
    actions = counted(tree_plan.actions, "action")
    return f"Overlay of {candidate.evaluation}: {moved}, {actions}"
