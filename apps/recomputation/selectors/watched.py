"""Read what triggers watch, as one number each with a sentence."""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache

from apps.common.formatting import counted, percent
from apps.demand.domain.wanted import Subject, change_text, largest_change, relative_change
from apps.demand.selectors.used import estimate_in_use
from apps.plans.selectors.intermediate import NoModel, model_of
from apps.recomputation.models import Kind
from apps.recomputation.selectors.burning import budget_burn
from apps.recomputation.selectors.drift import load_drift
from apps.recomputation.selectors.machines import machine_load
from apps.recomputation.selectors.slo import slo_readings
from apps.runs.models import Run, Snapshot
from apps.runs.selectors import Reading, computations
from apps.systems.models import System
from weir.codec import problem_from_json
from weir.lifecycle.runs import RunState
from weir.model import Problem

LOOKED_AT = sorted(
    state.value
    for state in (RunState.QUEUED, RunState.RUNNING, RunState.SUCCEEDED, RunState.INFEASIBLE)
)
"""The runs that have seen the model, or will: what they saw needs no other run."""


def look(kind: str, system: System) -> Reading:
    """Return what a trigger of this kind sees now."""
    return watchers()[Kind(kind)](system)


def _capacity(system: System) -> Reading:
    return _against_last_run(system, _capacity_change)


def _population(system: System) -> Reading:
    return _against_last_run(system, _population_change)


def _demand(system: System) -> Reading:
    return _against_last_run(system, _demand_change)


def _against_last_run(
    system: System, change: Callable[[Problem, Problem], tuple[float, str]]
) -> Reading:
    run = (
        Run.objects.filter(system=system, kind__in=_baselines(), state__in=LOOKED_AT)
        .select_related("snapshot__demand")
        .defer("snapshot__payload")
        .order_by("-id")
        .first()
    )
    if run is None:
        return Reading(value=None, detail="Nothing was computed yet.")
    version, demand = run.snapshot.model_version, estimate_in_use(system)
    if version == system.model_version and run.snapshot.demand == demand:
        latest = ", the latest" if demand is None else f" and the demand of {demand}, the latest"
        return Reading(value=0.0, detail=f"{run} saw version {version}{latest}.")
    try:
        value, detail = change(_problem_of(run.snapshot_id), model_of(system))
    except NoModel as error:
        return Reading(value=None, detail=f"The model cannot be read: {error.__cause__}")
    return Reading(value=value, detail=f"{detail} since {run}.")


@lru_cache(maxsize=16)
def _problem_of(snapshot: int) -> Problem:
    """Return what a run saw, read once per process."""
    payload = Snapshot.objects.values_list("payload", flat=True).get(pk=snapshot)
    return problem_from_json(bytes(payload))


def _capacity_change(before: Problem, now: Problem) -> tuple[float, str]:
    """Return the largest relative change; an added or removed capacity counts 1."""
    old, new = _capacities(before), _capacities(now)
    changes = {
        name: relative_change(old.get(name, 0.0), new.get(name, 0.0)) for name in {**old, **new}
    }
    moved = {name: share for name, share in changes.items() if share > 0}
    if not moved:
        return 0.0, "No capacity changed"
    most = max(sorted(moved), key=lambda name: moved[name])
    rest = f" and {len(moved) - 1} more" if len(moved) > 1 else ""
    return moved[most], f"{most} changed by {percent(moved[most], 1)}{rest}"


def _capacities(problem: Problem) -> dict[str, float]:
    capacities = {
        f"{resource} of {node.id}": capacity
        for node in problem.nodes
        for resource, capacity in node.capacity.items()
    }
    return {**capacities, **{f"link {link.id}": link.capacity for link in problem.links}}


def _population_change(before: Problem, now: Problem) -> tuple[float, str]:
    """Return the share of consumers that were added or removed."""
    old = {row.id: row.population_max for row in before.classes}
    new = {row.id: row.population_max for row in now.classes}
    moved = sum(abs(new.get(name, 0) - old.get(name, 0)) for name in {**old, **new})
    total = max(1, sum(old.values()))
    return moved / total, f"{counted(moved, 'consumer')} came or went, of {total:,},"


def _demand_change(before: Problem, now: Problem) -> tuple[float, str]:
    """Return the largest relative change of what publishers of a topic or consumers of a class
    want; of those that are in both."""
    old, new = _wanted(before), _wanted(now)
    change, most = largest_change((key, old[key], new[key]) for key in sorted(old) if key in new)
    if most is None:
        return 0.0, "What is wanted has not changed"
    others = sum(relative_change(old[key], new[key]) > 0 for key in old if key in new) - 1
    rest = f", and {counted(others, 'other')} changed" if others else ""
    return change, f"{change_text(*most, old[most], new[most])}{rest}"


def _wanted(problem: Problem) -> dict[tuple[Subject, str], float]:
    """Return what is wanted of topics and of classes."""
    rates = {(Subject.TOPIC, flow.id): flow.rate_max for flow in problem.flows}
    return rates | {(Subject.CLASS, row.id): float(row.population_max) for row in problem.classes}


def _slo(system: System) -> Reading:
    readings = slo_readings(system)
    known = [row for row in readings if row.share_held is not None]
    if not readings:
        return Reading(value=None, detail="The system has no service-level objective.")
    if not known:
        return Reading(value=None, detail="None of the objectives is measured now.")
    missed = [row for row in known if row.missed]
    detail = f"{len(missed)} of {len(known)} measured objectives are missed"
    if missed:
        detail += f": {missed[0].sentence}"
    return Reading(value=float(len(missed)), detail=f"{detail.rstrip('.')}.")


OWN_WATCHERS: Mapping[Kind, Callable[[System], Reading]] = {
    Kind.CAPACITY_CHANGE: _capacity,
    Kind.POPULATION_CHANGE: _population,
    Kind.DEMAND_CHANGE: _demand,
    Kind.SLO_BREACH: _slo,
    Kind.BUDGET_BURN: budget_burn,
    Kind.LOAD_DRIFT: load_drift,
    Kind.MACHINE_LOAD: machine_load,
}
"""What is read here; the kinds of computation register the rest."""


@cache
def watchers() -> Mapping[Kind, Callable[[System], Reading]]:
    """Return the function that reads each kind of trigger."""
    registered = {Kind(k): read for c in computations().values() for k, read in c.watched.items()}
    return {**OWN_WATCHERS, **registered}


def _baselines() -> list[str]:
    return [one.kind for one in computations().values() if one.baseline]
