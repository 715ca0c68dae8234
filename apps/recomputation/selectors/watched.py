"""Read what triggers watch, as one number each with a sentence."""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache

from apps.catalog.selectors import system_problem
from apps.common.formatting import counted, percent
from apps.recomputation.models import Kind
from apps.recomputation.selectors.drift import load_drift
from apps.recomputation.selectors.slo import slo_readings
from apps.runs.models import Run, Snapshot
from apps.runs.selectors import Reading, computations
from apps.systems.models import Edition, System
from weir.codec import problem_from_dict, problem_from_json
from weir.errors import InvalidProblem
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


def _against_last_run(
    system: System, change: Callable[[Problem, Problem], tuple[float, str]]
) -> Reading:
    run = (
        Run.objects.filter(system=system, kind__in=_baselines(), state__in=LOOKED_AT)
        .select_related("snapshot")
        .defer("snapshot__payload")
        .order_by("-id")
        .first()
    )
    if run is None:
        return Reading(value=None, detail="Nothing was computed yet.")
    version = run.snapshot.model_version
    if version == system.model_version:
        return Reading(value=0.0, detail=f"{run} saw version {version}, the latest.")
    try:
        before, now = _problems(run.snapshot_id, system.edition)
    except InvalidProblem as error:
        return Reading(value=None, detail=f"The model cannot be read: {error}")
    value, detail = change(before, now)
    return Reading(value=value, detail=f"{detail} since {run}.")


@lru_cache(maxsize=16)
def _problems(snapshot: int, edition: Edition) -> tuple[Problem, Problem]:
    """Return what the run saw and the present model, read once per edition and process."""
    payload = Snapshot.objects.values_list("payload", flat=True).get(pk=snapshot)
    row = System.objects.get(public_id=edition[0])
    return problem_from_json(bytes(payload)), problem_from_dict(system_problem(row))


def _capacity_change(before: Problem, now: Problem) -> tuple[float, str]:
    """Return the largest relative change; an added or removed capacity counts 1."""
    old, new = _capacities(before), _capacities(now)
    changes = {name: _relative(old.get(name, 0.0), new.get(name, 0.0)) for name in {**old, **new}}
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


def _relative(a: float, b: float) -> float:
    larger = max(abs(a), abs(b))
    return abs(a - b) / larger if larger else 0.0


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
    Kind.SLO_BREACH: _slo,
    Kind.LOAD_DRIFT: load_drift,
}
"""What is read here; the kinds of computation register the rest."""


@cache
def watchers() -> Mapping[Kind, Callable[[System], Reading]]:
    """Return the function that reads each kind of trigger."""
    registered = {Kind(k): read for c in computations().values() for k, read in c.watched.items()}
    return {**OWN_WATCHERS, **registered}


def _baselines() -> list[str]:
    return [one.kind for one in computations().values() if one.baseline]
