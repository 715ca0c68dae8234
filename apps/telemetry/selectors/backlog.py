"""Read how many messages of reliable topics wait, how fast that grows, and when they are full."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import IntegerField
from django.db.models.functions import Cast, Extract, Floor
from django.utils import timezone

from apps.catalog.models import Delivery, Topic
from apps.systems.models import System
from apps.telemetry.domain.backlog import (
    CELL_S,
    WINDOW_S,
    Backlog,
    Point,
    Trend,
    backlog_of,
    message_bytes,
    rooms_of,
    trend_of,
    worst_first,
)
from apps.telemetry.models import Sample
from apps.telemetry.selectors.agents import FRESH_S, latest_samples


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """Hold what one sample says about backlogs."""

    at: datetime
    flows: Mapping[str, Mapping[str, Any]]
    broker: Mapping[str, Any]
    began_at: float | None


def backlogs_of(system: System) -> dict[str, Backlog]:
    """Return what waits of each reliable topic that is measured now, by its name."""
    return {row.topic: row for row in backlogs([system.pk]).get(system.pk, [])}


def backlogs(systems: Collection[int] | None = None) -> dict[int, list[Backlog]]:
    """Return the same for these systems, or all, by key, the worst first; two queries."""
    now = timezone.now()
    looks = _looks(now, systems)
    if not looks:
        return {}
    topics = Topic.objects.filter(
        delivery=Delivery.RELIABLE, system__in={system for system, _ in looks}
    ).values_list("system_id", "name", "public_id")
    reliable: dict[int, dict[str, str]] = defaultdict(dict)
    for system, name, public_id in topics:
        reliable[system][name] = str(public_id)
    rows: dict[int, dict[str, Backlog]] = defaultdict(dict)
    for (system, broker), seen in looks.items():
        if seen[-1].at < now - timedelta(seconds=FRESH_S):
            continue
        for row in _at_broker(broker, seen, reliable[system]):
            other = rows[system].get(row.topic)
            rows[system][row.topic] = row if other is None else _together(row, other)
    return {system: sorted(found.values(), key=worst_first) for system, found in rows.items()}


def forecast(system: System, growth_per_s: Mapping[str, float]) -> dict[str, Backlog]:
    """Return what would become of these topics' backlogs if they grew by so many messages a second
    from now on; without topics that are not measured now."""
    rows: dict[str, Backlog] = {}
    for sample in latest_samples(system):
        flows, load = sample.payload.get("flows", {}), sample.payload.get("broker", {})
        here = {name: growth for name, growth in growth_per_s.items() if name in flows}
        stored = sum(growth * message_bytes(flows[name]) for name, growth in here.items())
        for name, growth in here.items():
            row = backlog_of(
                topic=name,
                topic_id="",
                broker=sample.broker.name,
                waiting=int(flows[name].get("backlog") or 0),
                trend=Trend(slope_per_s=growth, grows=True, throughout=True),
                rooms=list(
                    rooms_of(flows[name], load, growth_per_s=growth, stored_growth_per_s=stored)
                ),
            )
            rows[name] = row if name not in rows else _together(row, rows[name])
    return rows


def _looks(
    now: datetime, systems: Collection[int] | None
) -> dict[tuple[int, str], Sequence[_Look]]:
    """Return the newest sample of every few seconds of the window, by system and broker."""
    rows = Sample.objects.filter(at__gte=now - timedelta(seconds=WINDOW_S))
    if systems is not None:
        rows = rows.filter(broker__system__in=systems)
    cell = Cast(Floor(Extract("at", "epoch") / CELL_S), IntegerField())
    thinned = (
        rows.annotate(cell=cell)
        .order_by("broker_id", "cell", "-at", "-id")
        .distinct("broker_id", "cell")
    )
    looks: dict[tuple[int, str], list[_Look]] = defaultdict(list)
    for _, system, name, at, flows, broker, began_at in thinned.values_list(
        *("cell", "broker__system_id", "broker__name", "at"),
        *("payload__flows", "payload__broker", "payload__agent__began_at"),
    ):
        look = _Look(at=at, flows=flows or {}, broker=broker or {}, began_at=began_at)
        looks[system, name].append(look)
    return {key: _of_one_life(seen) for key, seen in looks.items()}


def _of_one_life(looks: Sequence[_Look]) -> Sequence[_Look]:
    """Return the samples of the newest process: the first ones of another may lack what waits."""
    return [look for look in looks if look.began_at == looks[-1].began_at]


def _at_broker(broker: str, looks: Sequence[_Look], reliable: Mapping[str, str]) -> list[Backlog]:
    latest = looks[-1]
    trends = {flow: trend_of(_points(looks, flow)) for flow in latest.flows if flow in reliable}
    stored = sum(
        (trend.slope_per_s or 0.0) * message_bytes(latest.flows[flow])
        for flow, trend in trends.items()
        if trend.grows
    )
    return [
        backlog_of(
            topic=flow,
            topic_id=reliable[flow],
            broker=broker,
            waiting=int(latest.flows[flow].get("backlog") or 0),
            trend=trend,
            rooms=list(
                rooms_of(
                    latest.flows[flow],
                    latest.broker,
                    growth_per_s=_growth(trend),
                    stored_growth_per_s=stored if trend.grows else 0.0,
                )
            ),
        )
        for flow, trend in trends.items()
    ]


def _growth(trend: Trend) -> float:
    return (trend.slope_per_s or 0.0) if trend.grows else 0.0


def _points(looks: Sequence[_Look], flow: str) -> list[Point]:
    return [
        (look.at.timestamp(), float(look.flows[flow]["backlog"]))
        for look in looks
        if "backlog" in look.flows.get(flow, {})
    ]


def _together(one: Backlog, other: Backlog) -> Backlog:
    """Return one row for a topic that waits at two brokers: the worse, with what waits at both."""
    worse = min(one, other, key=worst_first)
    slopes = [row.slope_per_s for row in (one, other) if row.slope_per_s is not None]
    return replace(
        worse,
        waiting=one.waiting + other.waiting,
        slope_per_s=sum(slopes) if slopes else None,
    )
