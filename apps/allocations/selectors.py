"""Reads of allocations: comparison, and the state of every system at a glance."""

from typing import Any

from django.db.models import Count

from apps.allocations.models import Allocation, ClassPopulation, FlowRate, Place, ResourceLoad
from apps.catalog.models import ConsumerClass, Topic
from apps.runs.models import Run
from apps.systems.models import System
from apps.topology.models import Broker
from weir.lifecycle.runs import ENDED

Keyed = dict[tuple[str, ...], Any]


def previous_allocation(allocation: Allocation) -> Allocation | None:
    """The one before it in the same system."""
    if allocation.system_id is None:
        return None
    return (
        Allocation.objects.filter(system_id=allocation.system_id, number__lt=allocation.number)
        .order_by("-number")
        .first()
    )


def _by_key(rows: Any, *names: str) -> Keyed:
    return {tuple(getattr(row, name) for name in names): row for row in rows}


def _pair(before: Keyed, after: Keyed, value: str) -> list[dict[str, Any]]:
    return [
        {
            "name": ".".join(part for part in key if part),
            "before": getattr(before[key], value) if key in before else None,
            "after": getattr(after[key], value) if key in after else None,
        }
        for key in dict.fromkeys([*after, *before])
    ]


def allocation_comparison(allocation: Allocation, other: Allocation) -> dict[str, Any]:
    """Former and new value of every rate, population, load and price, missing ones as None."""

    def rows(model: Any, of: Allocation) -> Any:
        return model.objects.filter(allocation=of)

    def loads(of: Allocation, place: Place) -> Keyed:
        return _by_key(rows(ResourceLoad, of).filter(place=place), "name", "resource")

    old_nodes, new_nodes = loads(other, Place.NODE), loads(allocation, Place.NODE)
    old_links, new_links = loads(other, Place.LINK), loads(allocation, Place.LINK)
    old_rates = _by_key(rows(FlowRate, other), "flow")
    new_rates = _by_key(rows(FlowRate, allocation), "flow")
    old_classes = _by_key(rows(ClassPopulation, other), "consumer_class")
    new_classes = _by_key(rows(ClassPopulation, allocation), "consumer_class")
    return {
        "utility": {"name": "utility", "before": other.utility, "after": allocation.utility},
        "admitted": {"name": "admitted", "before": other.admitted, "after": allocation.admitted},
        "rates": _pair(old_rates, new_rates, "rate_per_s"),
        "populations": _pair(old_classes, new_classes, "admitted"),
        "node_prices": _pair(old_nodes, new_nodes, "price"),
        "node_capacities": _pair(old_nodes, new_nodes, "capacity"),
        "link_prices": _pair(old_links, new_links, "price"),
    }


def systems_overview() -> list[dict[str, Any]]:
    """Every system with its size, its latest allocation and what runs now."""
    systems = list(System.objects.order_by("name"))
    brokers = dict(Broker.objects.values_list("system").annotate(n=Count("id")).order_by())
    topics = dict(Topic.objects.values_list("system").annotate(n=Count("id")).order_by())
    classes = dict(ConsumerClass.objects.values_list("system").annotate(n=Count("id")).order_by())
    active = dict(
        Run.objects.exclude(state__in=list(ENDED))
        .values_list("system")
        .annotate(n=Count("id"))
        .order_by()
    )
    allocations = {
        row.system_id: row
        for row in Allocation.objects.select_related("system", "run__snapshot", "run__asked_by")
        .defer("run__snapshot__payload", "trace")
        .order_by("system_id", "-number")
        .distinct("system_id")
    }
    runs = {
        row.system_id: row
        for row in Run.objects.select_related(
            "system", "snapshot", "result", "allocation", "asked_by", "rerun_of"
        )
        .defer("snapshot__payload", "result__payload", "allocation__trace")
        .order_by("system_id", "-id")
        .distinct("system_id")
    }
    levels = _node_levels([row.pk for row in allocations.values()])
    overview = []
    for system in systems:
        latest = allocations.get(system.pk)
        overview.append(
            {
                "system": system,
                "brokers": brokers.get(system.pk, 0),
                "topics": topics.get(system.pk, 0),
                "consumer_classes": classes.get(system.pk, 0),
                "active_runs": active.get(system.pk, 0),
                "latest_run": runs.get(system.pk),
                "latest_allocation": latest,
                "model_moved": latest is not None
                and latest.run.snapshot.model_version != system.model_version,
                "node_loads": levels[latest.pk] if latest else [],
            }
        )
    return overview


def _node_levels(allocations: list[int]) -> dict[int, list[dict[str, Any]]]:
    """The fullest resource of each broker, highest first, of each of the allocations."""
    fullest: dict[int, dict[str, float]] = {pk: {} for pk in allocations}
    rows = ResourceLoad.objects.filter(allocation__in=allocations, place=Place.NODE, capacity__gt=0)
    for row in rows:
        levels = fullest[row.allocation_id]
        levels[row.name] = max(levels.get(row.name, 0.0), row.load / row.capacity)
    return {
        pk: [
            {"name": name, "utilisation": level}
            for name, level in sorted(levels.items(), key=lambda item: (-item[1], item[0]))
        ]
        for pk, levels in fullest.items()
    }
