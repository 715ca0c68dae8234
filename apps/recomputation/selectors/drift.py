"""Measure how far the load is from what the model predicts for what is in force.

Both sides are loads at the model's costs: predicted at the rates and limits in force, measured at
the rates that pass the gates and the consumers that are admitted. Their distance says that
publishers or consumers behave otherwise than was assumed.
"""

from functools import lru_cache

from apps.common.formatting import percent
from apps.demand.selectors.used import demanded_problem, estimate_in_use
from apps.executions.models import Setting
from apps.runs.selectors import Reading
from apps.systems.models import Edition, System
from apps.telemetry.selectors.measured import measured
from weir.codec import problem_from_dict
from weir.errors import InvalidProblem
from weir.model import Problem, loads

FLOOR = 0.05
"""Smaller loads are compared with this share of the capacity."""

WINDOW_S = 15.0
"""The time over which measured rates are averaged."""


def load_drift(system: System) -> Reading:
    """Return the place whose load is furthest from the predicted one."""
    rows = list(Setting.objects.filter(system=system, in_force__isnull=False))
    gates = {
        row.target["flow"]: (row.target["broker"], float(row.in_force["rate_per_s"]))
        for row in rows
        if row.kind == "set_flow_rate"
    }
    limits = {
        row.target["class"]: int(row.in_force["limit"])
        for row in rows
        if row.kind == "set_population"
    }
    if not gates:
        return Reading(value=None, detail="No rate is in force yet.")
    try:
        problem = _problem(system.edition, getattr(estimate_in_use(system), "pk", None))
    except InvalidProblem as error:
        return Reading(value=None, detail=f"The model cannot be read: {error}")
    seen = measured(system, window_s=WINDOW_S)
    silent = {broker for broker, _ in gates.values()} | {row.node for row in problem.classes}
    silent -= seen.brokers
    if silent:
        return Reading(value=None, detail=f"{', '.join(sorted(silent)[:3])} measures nothing now.")
    predicted = _loads(
        problem,
        {flow: rate for flow, (_, rate) in gates.items()},
        {
            row.id: min(limits.get(row.id, row.population_max), row.population_max)
            for row in problem.classes
        },
    )
    load = _loads(problem, {flow: seen.passed.get(flow, 0.0) for flow in gates}, seen.admitted)
    return _largest(problem, predicted, load)


@lru_cache(maxsize=4)
def _problem(edition: Edition, demand: int | None) -> Problem:
    """Return the model with the demand in use, read once per version and process."""
    return problem_from_dict(demanded_problem(System.objects.get(public_id=edition[0])))


def _loads(problem: Problem, rates: object, populations: object) -> dict[str, float]:
    nodes, links = loads(problem, rates, populations)  # type: ignore[arg-type]
    by_place = {f"{r} of {node}": load for node, of in nodes.items() for r, load in of.items()}
    return {**by_place, **{f"link {link}": load for link, load in links.items()}}


def _largest(problem: Problem, predicted: dict[str, float], measured: dict[str, float]) -> Reading:
    capacities = {
        f"{resource} of {node.id}": capacity
        for node in problem.nodes
        for resource, capacity in node.capacity.items()
    } | {f"link {link.id}": link.capacity for link in problem.links}
    drifts = {
        place: abs(measured[place] - predicted[place]) / base
        for place, capacity in capacities.items()
        if (base := max(predicted[place], FLOOR * capacity)) > 0
    }
    if not drifts:
        return Reading(value=None, detail="No resource has a capacity.")
    place = max(sorted(drifts), key=lambda name: drifts[name])
    capacity = capacities[place]
    return Reading(
        value=drifts[place],
        detail=f"{place}: {percent(measured[place] / capacity, 1)} of its capacity by what is "
        f"measured, {percent(predicted[place] / capacity, 1)} by what is in force.",
    )
