"""Convert the kernel's answer to the rows of candidates: values in, column values out."""

from collections.abc import Mapping
from typing import Any

from apps.evaluations.domain.executable_plans import transformation_of
from apps.evaluations.domain.figures import Subscribers, disturbed, moments
from apps.evaluations.models import CandidateKind
from weir.codec.transformation import steps_to_list
from weir.errors import InvalidProblem, WeirError
from weir.model.evaluation import Candidate as KernelCandidate
from weir.model.evaluation import EvaluationProblem, EvaluationResult, PlanRow
from weir.routing.cost import loads
from weir.topologies import designers
from weir.transformation.frontier import non_dominated
from weir.transformation.validation import check

KEEP_TODAY = "keep_today"
GOAL = "goal"


def candidate_values(
    problem: EvaluationProblem,
    result: EvaluationResult,
    *,
    objective: str,
    goals: Mapping[str, int],
    measured_links: frozenset[tuple[str, str]],
    subscribers: Subscribers,
) -> list[dict[str, Any]]:
    """Return the columns of each candidate, ranked by net benefit.

    `goals`: keys of the stored goal topologies by name. Raises WeirError for a plan that the
    independent validator refuses.
    """
    rows = [
        _values(problem, result, candidate, objective, measured_links, subscribers)
        for candidate in result.candidates
    ]
    for index, (row, candidate) in enumerate(zip(rows, result.candidates, strict=True)):
        row["index"] = index
        row["goal_id"] = goals.get(candidate.name) if row["kind"] == CandidateKind.GOAL else None
    chosen = result.recommended or next(
        (row["name"] for row in rows if row["kind"] == CandidateKind.TODAY), ""
    )
    order = sorted(rows, key=_rank)
    for place, row in enumerate(order, start=1):
        row["rank"], row["chosen"] = place, row["name"] == chosen
    return rows


def _rank(row: Mapping[str, Any]) -> tuple[bool, float, bool, int]:
    """Rank the best net benefit first; of equals the tree in force; those without a figure last."""
    benefit = row["net_benefit"]
    unknown = benefit is None or bool(row["same_as"])
    return unknown, -(benefit or 0.0), row["kind"] != CandidateKind.TODAY, row["index"]


def _values(
    problem: EvaluationProblem,
    result: EvaluationResult,
    candidate: KernelCandidate,
    objective: str,
    measured_links: frozenset[tuple[str, str]],
    subscribers: Subscribers,
) -> dict[str, Any]:
    row = _plan_row(result, candidate.name, objective)
    return {
        "name": candidate.name,
        "method": candidate.method,
        "seed": candidate.seed,
        "kind": _kind(candidate),
        "title": _title(candidate),
        "status": candidate.status,
        "reason": candidate.reason or (row.reason if row is not None else ""),
        "same_as": candidate.same_as,
        "edges": [list(pair) for pair in sorted(candidate.edges)],
        "links_changed": candidate.links_changed,
        **_routed(problem, candidate, measured_links),
        **_planned(problem, candidate, row, subscribers),
        "frontier": _frontier(result, candidate.name),
    }


def _kind(candidate: KernelCandidate) -> CandidateKind:
    if candidate.method == KEEP_TODAY:
        return CandidateKind.TODAY
    return CandidateKind.GOAL if candidate.method == GOAL else CandidateKind.METHOD


def _title(candidate: KernelCandidate) -> str:
    if candidate.method == GOAL:
        return f"Goal topology {candidate.name}"
    module = designers().get(candidate.method)
    title = module.TITLE if module else candidate.method
    return f"{title}, seed {candidate.seed}" if candidate.seed else title


def _plan_row(result: EvaluationResult, name: str, objective: str) -> PlanRow | None:
    """Return the best plan for the requested objective, else for the other one."""
    best = result.best.get(name, {})
    index = best.get(objective, next(iter(best.values()), None))
    if index is not None:
        return result.rows[index]
    return next((row for row in result.rows if row.candidate == name), None)


def _routed(
    problem: EvaluationProblem,
    candidate: KernelCandidate,
    measured_links: frozenset[tuple[str, str]],
) -> dict[str, Any]:
    if candidate.routing is None:
        return {}
    routing, there = candidate.routing, loads(problem, candidate.edges)
    now = loads(problem, problem.today)
    options = {(link.a, link.b): link.latency_s for link in problem.links}
    usual = problem.missing_links.latency_s if problem.missing_links else 0.0
    capacity = {site.broker: site.capacity_per_s for site in problem.brokers}
    return {
        "routing_cost_per_s": routing.cost_per_s,
        "traffic_per_s": routing.link_messages_per_s,
        "in_flight": routing.in_flight,
        "busiest_broker": routing.highest_broker,
        "busiest_share": routing.highest_load if routing.highest_broker else None,
        "overloaded": list(routing.overloaded),
        "max_degree": routing.degree,
        "saved_per_s": candidate.saved_per_s,
        "links": [
            {
                "a": a,
                "b": b,
                "traffic_per_s": load,
                "latency_s": options.get((a, b), usual),
                "measured": (a, b) in measured_links,
            }
            for (a, b), load in there.links.items()
        ],
        "brokers": [
            {
                "broker": name,
                "now_per_s": now.brokers[name].handled if name in now.brokers else 0.0,
                "then_per_s": load.handled,
                "capacity_per_s": capacity.get(name),
            }
            for name, load in there.brokers.items()
        ],
    }


def _planned(
    problem: EvaluationProblem,
    candidate: KernelCandidate,
    row: PlanRow | None,
    subscribers: Subscribers,
) -> dict[str, Any]:
    if row is None or row.plan is None or not candidate.edges:
        # Whether there is a plan is not known; doing nothing needs none.
        nothing = candidate.method == KEEP_TODAY and candidate.edges == problem.today
        zero = {"actions": 0, "lower_bound_actions": 0, "steps_count": 0, "lower_bound_steps": 0}
        figures = {"transformation_cost": 0.0, "held_messages": 0.0, "pause_s": 0.0}
        none = {"net_benefit": 0.0, "disturbed_subscribers": 0, "moments": moments(problem, ())}
        return (
            {**zero, **figures, **none}
            if nothing
            else {
                "net_benefit": None,
                "plan_status": row.status if row else "",
            }
        )
    plan = row.plan
    try:
        check(transformation_of(problem, candidate.edges), plan.steps)
    except InvalidProblem as error:
        raise WeirError(
            f"{candidate.name}: the plan of {row.planner} is not valid: {error}"
        ) from error
    return {
        "planner": row.planner,
        "plan_status": plan.status,
        "steps": steps_to_list(plan.steps),
        "moments": moments(problem, plan.steps),
        "actions": plan.actions,
        "lower_bound_actions": plan.lower_bound_actions,
        "steps_count": len(plan.steps),
        "lower_bound_steps": plan.lower_bound_steps,
        "transformation_cost": row.transformation_cost,
        "held_messages": row.held_messages,
        "pause_s": row.duration_s,
        "disturbed_subscribers": disturbed(problem, plan.steps, subscribers),
        "net_benefit": row.net_benefit,
        "runtime_s": row.runtime_s,
    }


def _frontier(result: EvaluationResult, name: str) -> list[dict[str, Any]]:
    """Return the plans of the candidate that no other beats in actions and steps at once, fewest
    first."""
    rows = [row for row in result.rows if row.candidate == name and row.plan is not None]
    kept = non_dominated(rows, lambda row: (row.actions, row.steps, -row.net_benefit))
    return [
        {
            "actions": row.actions,
            "steps_count": row.steps,
            "transformation_cost": row.transformation_cost,
            "net_benefit": row.net_benefit,
            "planner": row.planner,
            "objective": row.objective,
            "steps": steps_to_list(row.plan.steps if row.plan else ()),
        }
        for row in kept
    ]
