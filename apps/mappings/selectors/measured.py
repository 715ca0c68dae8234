"""Read what the map in force makes receivers filter at the rates that agents measure."""

import hashlib
from collections import Counter
from collections.abc import Mapping as Members
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.utils import timezone

from apps.catalog.models import Group, Stream, Topic
from apps.common.formatting import figure
from apps.mappings.models import FilteringCell, Mapping
from apps.mappings.selectors.in_force import map_in_force as in_force_by_model
from apps.mappings.selectors.in_force import present
from apps.mappings.selectors.settings import settings_of
from apps.plans.domain.parts import Carried
from apps.plans.models import Plan
from apps.runs.selectors import Reading
from apps.systems.models import System
from apps.telemetry.selectors.measured import measured
from weir.actions.move_flow import KIND as FLOW
from weir.actions.move_stream import KIND as STREAM
from weir.clustering.answer import costs_to_dict
from weir.clustering.cost import exact_dot, filtering_cost, map_in_force
from weir.lifecycle.plans import PlanState
from weir.model.mapping import NOWHERE, FlowMap, FormerMap, MappingProblem

WINDOW_S = 60.0
"""The time over which measured rates are averaged."""
NOW_S = 10.0
"""The same where somebody watches: a move shows soon, and a slow flow has sent something."""
DAY = timedelta(days=1)
WEIGHTS = ("transport", "messaging", "aggregation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtering:
    """What receivers want, and what they filter, by the map in force at measured rates."""

    costs: dict[str, float]
    """As of a map: `cost` and its layers in work/s, unwanted and dropped msg/s."""
    wanted_per_s: float
    """Messages per second that receivers get and asked for, of all receivers together."""

    @property
    def per_message(self) -> float | None:
        """Return the work of filtering per wanted message; None where nothing wanted is sent."""
        return self.costs["cost"] / self.wanted_per_s if self.wanted_per_s > 0 else None


def filtering_now(system: System, *, window_s: float = WINDOW_S) -> Filtering | str:
    """Return what receivers filter by the rates of the last seconds, or why that is not known."""
    now = measured(system, window_s=window_s)
    if not now.brokers:
        return f"No agent of {system} measures what its topics send."
    modelled = present(system)
    if modelled.problem is None:
        return str(modelled.counts["because"])
    flow_map = map_in_force(modelled.problem)
    if flow_map is None:
        return f"No topic of {system} is in a stream with a group yet."
    return _filtering_at(modelled.problem, flow_map, now.passed)


def _filtering_at(
    problem: MappingProblem, flow_map: FlowMap, passed_per_s: Members[str, float]
) -> Filtering:
    """Return what receivers filter by a map where so much of each topic passes."""
    rates_per_s = np.array([passed_per_s.get(flow, 0.0) for flow in problem.flows])
    problem = replace(problem, rates_per_s=rates_per_s)
    costs = filtering_cost(problem, flow_map.stream_of, flow_map.group_of)
    return Filtering(costs=costs_to_dict(costs), wanted_per_s=wanted_by(problem, flow_map))


class FilteringCosts:
    """What receivers filter by the map as a plan leaves it, or as it was before."""

    def costs(self, plan: Plan, rates: Sequence[Members[str, float]], *, was: bool) -> Carried:
        """Return the work of filtering per second, and how many messages per second receivers get
        and wanted, at each of some rates in msg/s by topic."""
        modelled = present(plan.system)
        problem = modelled.problem
        if problem is None:
            return Carried(because=str(modelled.counts["because"]))
        flow_map = map_in_force(replace(problem, former=_map_of(plan, problem, was=was)))
        if flow_map is None or (flow_map.stream_of == NOWHERE).all():
            when = "before it began" if was else "after it ended"
            return Carried(because=f"No map was in force {when}, so no change can be compared.")
        readings = [_filtering_at(problem, flow_map, passed_per_s) for passed_per_s in rates]
        return Carried(
            amounts=[reading.costs["cost"] for reading in readings],
            came=[reading.wanted_per_s for reading in readings],
            basis=_basis(problem),
        )


def _basis(problem: MappingProblem) -> str:
    """Return what identifies the topics, interests and weights of a problem."""
    digest = hashlib.sha256(repr((problem.weights, problem.flows)).encode())
    digest.update(problem.interests.starts.tobytes())
    digest.update(problem.interests.users.tobytes())
    return digest.hexdigest()


def _map_of(plan: Plan, problem: MappingProblem, *, was: bool) -> FormerMap | None:
    """Return the map that was in force before a plan, or that it leaves, however much of it is
    carried out: what it moves is where it says, all else where it lies now."""
    if problem.former is None:
        return None
    stream_of, group_of = problem.former.stream_of.copy(), problem.former.group_of.copy()
    streams, groups = (
        dict(model.objects.filter(system=plan.system).values_list("name", "number"))
        for model in (Stream, Group)
    )
    place_of = {flow: place for place, flow in enumerate(problem.flows)}
    actions = [action for step in plan.content.steps for action in step.actions]
    # Of several moves of one flow the first says where it was, the last where it is.
    for action in reversed(actions) if was else actions:
        value = action.before if was else action.after
        if action.kind == FLOW and action.target["flow"] in place_of:
            stream = NOWHERE if value is None else streams.get(value["stream"], NOWHERE)
            stream_of[place_of[action.target["flow"]]] = stream
        elif action.kind == STREAM and action.target["stream"] in streams:
            group = NOWHERE if value is None else groups.get(value["group"], NOWHERE)
            group_of[streams[action.target["stream"]]] = group
    return FormerMap(stream_of=stream_of, group_of=group_of)


def in_force_now(system: System) -> dict[str, Any]:
    """Return what the map in force costs by the rates of the model, and `measured`: by those of the
    last seconds, None where nobody measures. Raises ApplicationError where others are read before
    it."""
    modelled = in_force_by_model(system)
    now = None if modelled["costs"] is None else filtering_now(system, window_s=NOW_S)
    measured = None
    if isinstance(now, Filtering):
        measured = {**now.costs, "wanted_per_s": now.wanted_per_s, "seconds": NOW_S}
    return {**modelled, "measured": measured}


def wanted_by(problem: MappingProblem, flow_map: FlowMap) -> float:
    """Return how many messages per second receivers get and asked for, by a map."""
    audiences = np.where(flow_map.stream_of != NOWHERE, problem.interests.audiences, 0)
    return float(exact_dot(problem.rates_per_s, audiences))


def filtering_drift(system: System) -> Reading:
    """Return by how much filtering a wanted message costs more, at measured rates, than by the map
    in force as it was last mapped."""
    last = Mapping.objects.filter(system=system).order_by("-number").first()
    if last is None:
        return Reading(value=None, detail="Its flows were not mapped yet.")
    if "wanted_per_s" not in last.outcome:
        detail = f"{last} was made before its traffic was kept with it. Map the flows again."
        return Reading(value=None, detail=detail)
    settings, weights = settings_of(system), last.outcome["weights"]
    if any(getattr(settings, name) != weights[name] for name in WEIGHTS):
        detail = f"The weights are others than those of {last}. Map the flows again."
        return Reading(value=None, detail=detail)
    carried_out = _carried_out(last)
    cost = last.former_cost if carried_out is None else carried_out["cost"]
    # Every map of a mapping carries all that is wanted.
    wanted_per_s = last.outcome["former_wanted_per_s" if carried_out is None else "wanted_per_s"]
    if cost is None:
        return Reading(value=None, detail=f"No map was in force when {last} was made.")
    if cost <= 0 or wanted_per_s <= 0:
        detail = f"By {last} nothing was filtered, so nothing can be compared with it."
        return Reading(value=None, detail=detail)
    now = filtering_now(system)
    if isinstance(now, str):
        return Reading(value=None, detail=now)
    if now.per_message is None:
        return Reading(value=None, detail="Nothing that somebody wants is sent now.")
    then = cost / wanted_per_s
    return Reading(
        value=now.per_message / then - 1.0,
        detail=f"Filtering costs receivers {figure(now.per_message)} work per wanted message, "
        f"{figure(then)} when {last} was made.",
    )


def _carried_out(mapping: Mapping) -> dict[str, Any] | None:
    """Return which of the mapping's maps is in force by the latest of its plans that was executed,
    and not rolled back; None where none was."""
    executed = Plan.objects.filter(system=mapping.system_id, state=PlanState.EXECUTED)
    for plan in executed.filter(source_id=mapping.public_id).order_by("-number"):
        if not executed.filter(source_id=plan.public_id).exists():
            return _map_of_plan(mapping, plan)
    return None


def _map_of_plan(mapping: Mapping, plan: Plan) -> dict[str, Any] | None:
    """Return the map that moves as much as the plan does; of several, the one that costs what is
    nearest to its promise, which is of the rates of when it was made."""
    kinds = Counter(action.kind for step in plan.content.steps for action in step.actions)
    points: list[dict[str, Any]] = [
        point
        for point in mapping.outcome["points"]
        if point["moved"] + point["placed"] + point["retired"] == kinds[FLOW]
        and point["moved_streams"] + point.get("opened_streams", 0) == kinds[STREAM]
    ]
    promised = next((each.after for each in plan.content.promise), mapping.cost)
    return min(points, key=lambda point: abs(point["cost"] - promised), default=None)


def filtering_of_day(system: System, now: datetime | None = None) -> dict[str, Any]:
    """Return what receivers filtered in each quarter of an hour of the last day, and why there is
    nothing to show."""
    since = (now or timezone.now()) - DAY
    cells = list(FilteringCell.objects.filter(system=system, at__gte=since).order_by("at"))
    because = ""
    if not cells:
        mapped = Topic.objects.filter(system=system, stream__group__isnull=False).exists()
        because = (
            f"No agent of {system} measured what its topics send in the last day."
            if mapped
            else f"No topic of {system} is in a stream with a group yet."
        )
    return {"because": because, "cells": cells}
