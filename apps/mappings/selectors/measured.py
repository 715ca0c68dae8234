"""Read what the map in force makes receivers filter at the rates that agents measure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.utils import timezone

from apps.catalog.models import Topic
from apps.common.formatting import figure
from apps.mappings.models import FilteringCell, Mapping
from apps.mappings.selectors.in_force import present
from apps.runs.selectors import Reading
from apps.systems.models import System
from apps.telemetry.selectors.measured import measured
from weir.clustering.answer import costs_to_dict
from weir.clustering.cost import exact_dot, filtering_cost, map_in_force

WINDOW_S = 60.0
"""The time over which measured rates are averaged."""
DAY = timedelta(days=1)


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
    rates_per_s = np.array([now.passed.get(flow, 0.0) for flow in modelled.problem.flows])
    problem = replace(modelled.problem, rates_per_s=rates_per_s)
    costs = filtering_cost(problem, flow_map.stream_of, flow_map.group_of)
    return Filtering(
        costs=costs_to_dict(costs),
        wanted_per_s=float(exact_dot(rates_per_s, problem.interests.audiences)),
    )


def filtering_drift(system: System) -> Reading:
    """Return by how much filtering a wanted message costs more than by the last mapping, at
    measured rates."""
    last = Mapping.objects.filter(system=system).order_by("-number").first()
    wanted_per_s = 0.0 if last is None else last.outcome.get("wanted_per_s", 0.0)
    if last is None:
        return Reading(value=None, detail="Its flows were not mapped yet.")
    if last.cost <= 0 or wanted_per_s <= 0:
        detail = f"By {last} nothing is filtered, so nothing can be compared with it."
        return Reading(value=None, detail=detail)
    now = filtering_now(system)
    if isinstance(now, str):
        return Reading(value=None, detail=now)
    if now.per_message is None:
        return Reading(value=None, detail="Nothing that somebody wants is sent now.")
    then = last.cost / wanted_per_s
    return Reading(
        value=now.per_message / then - 1.0,
        detail=f"Filtering costs receivers {figure(now.per_message)} work per wanted message, "
        f"{figure(then)} by {last}.",
    )


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
