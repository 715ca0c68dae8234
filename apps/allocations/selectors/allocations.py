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

MOST_PAIRS = 5000
"""A comparison tells no more of each kind; a browser reads no more rows either."""


def previous_allocation(allocation: Allocation) -> Allocation | None:
    """The one before it in the same system."""
    if allocation.system_id is None:
        return None
    return (
        Allocation.objects.filter(system_id=allocation.system_id, number__lt=allocation.number)
        .order_by("-number")
        .first()
    )


def _values(rows: Any, value: str, *names: str) -> Keyed:
    found = rows.order_by("id").values_list(*names, value)[:MOST_PAIRS]
    return {tuple(row[:-1]): row[-1] for row in found}


def _pair(before: Keyed, after: Keyed) -> list[dict[str, Any]]:
    return [
        {
            "name": ".".join(part for part in key if part),
            "before": before.get(key),
            "after": after.get(key),
        }
        for key in dict.fromkeys([*after, *before])
    ]


def allocation_comparison(allocation: Allocation, other: Allocation) -> dict[str, Any]:
    """Former and new value of rates, populations, loads and prices, missing ones as None.

    Of each the first MOST_PAIRS: as many as a page shows.
    """

    def pairs(model: Any, value: str, *names: str, **which: Any) -> list[dict[str, Any]]:
        former, latter = (
            _values(model.objects.filter(allocation=of, **which), value, *names)
            for of in (other, allocation)
        )
        return _pair(former, latter)

    def loads(value: str, place: Place) -> list[dict[str, Any]]:
        return pairs(ResourceLoad, value, "name", "resource", place=place)

    return {
        "utility": {"name": "utility", "before": other.utility, "after": allocation.utility},
        "admitted": {"name": "admitted", "before": other.admitted, "after": allocation.admitted},
        "rates": pairs(FlowRate, "rate_per_s", "flow"),
        "populations": pairs(ClassPopulation, "admitted", "consumer_class"),
        "node_prices": loads("price", Place.NODE),
        "node_capacities": loads("capacity", Place.NODE),
        "link_prices": loads("price", Place.LINK),
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
        for row in Allocation.objects.select_related(
            "system", "run__snapshot", "run__asked_by", "run__starts_from__allocation"
        )
        .defer(
            *("run__snapshot__payload", "trace", "bounds", "moments"),
            *(f"run__starts_from__allocation__{name}" for name in ("trace", "bounds", "moments")),
        )
        .order_by("system_id", "-number")
        .distinct("system_id")
    }
    runs = {
        row.system_id: row
        for row in Run.objects.select_related(
            *("system", "snapshot", "result", "allocation", "asked_by", "rerun_of"),
            *("starts_from__allocation", "study", "overlay_evaluation"),
        )
        .defer(
            *("snapshot__payload", "result__payload", "study__spec"),
            *("overlay_evaluation__edges", "overlay_evaluation__subscribers"),
            *(f"allocation__{name}" for name in ("trace", "bounds", "moments")),
            *(f"starts_from__allocation__{name}" for name in ("trace", "bounds", "moments")),
        )
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
