"""Determine how full each broker is, and whether that is measured, in force, or only proposed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from django.utils import timezone

from apps.allocations.models import Allocation, Place, ResourceLoad
from apps.evaluations.models import TrafficSource
from apps.evaluations.selectors.overview import traffic_overview
from apps.evaluations.selectors.traffic import DEFAULT_WINDOW_S
from apps.systems.models import System
from apps.telemetry.models import Sample


class LoadBasis(StrEnum):
    """Name the source of the loads."""

    MEASURED = "measured"
    """Agents measured them over the last minute, on the overlay in force."""
    IN_FORCE = "in_force"
    """They are computed for the allocation whose plan was carried out last; nothing is measured."""
    PROPOSED = "proposed"
    """They are computed for an allocation that no plan has brought into force."""
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Hold the fullest resource of each broker as a share of its capacity, highest first."""

    basis: LoadBasis
    detail: str
    allocation: Allocation | None
    """The allocation for which the loads are computed; None where they are measured."""
    brokers: Sequence[tuple[str, float]]


NOTHING = Levels(
    basis=LoadBasis.NONE, detail="Nothing is measured or computed.", allocation=None, brokers=()
)


def levels_of(
    systems: Sequence[System],
    in_force: Mapping[int, Allocation],
    proposed: Mapping[int, Allocation],
) -> dict[int, Levels]:
    """Return the levels by the system's key, in a few queries, and some more for each system that
    is measured now."""
    since = timezone.now() - timedelta(seconds=DEFAULT_WINDOW_S)
    measuring = set(
        Sample.objects.filter(at__gte=since).values_list("broker__system", flat=True).distinct()
    )
    levels = {row.pk: level for row in systems if row.pk in measuring and (level := _measured(row))}
    rest = {
        row.pk: (in_force.get(row.pk) or proposed.get(row.pk), row.pk in in_force)
        for row in systems
        if row.pk not in levels
    }
    computed = _computed([row.pk for row, _ in rest.values() if row is not None])
    for pk, (allocation, in_force_now) in rest.items():
        if allocation is None:
            levels[pk] = NOTHING
            continue
        levels[pk] = Levels(
            basis=LoadBasis.IN_FORCE if in_force_now else LoadBasis.PROPOSED,
            detail=f"Computed for {allocation}, which is in force; nothing is measured now."
            if in_force_now
            else f"Computed for {allocation}, a proposal: nothing of it is in force.",
            allocation=allocation,
            brokers=computed[allocation.pk],
        )
    return levels


def _measured(system: System) -> Levels | None:
    """Return measured levels; None where not every broker of the overlay in force measures, or none
    has a capacity."""
    reading = traffic_overview(system, window_s=DEFAULT_WINDOW_S)
    if reading["source"] != TrafficSource.MEASURED:
        return None
    shares = {
        row["broker"]: row["handled_per_s"] / row["capacity_per_s"]
        for row in reading["brokers"]
        if row["capacity_per_s"]
    }
    if not shares:
        return None
    return Levels(
        basis=LoadBasis.MEASURED,
        detail=str(reading["detail"]),
        allocation=None,
        brokers=_ordered(shares),
    )


def _computed(allocations: Sequence[int]) -> dict[int, Sequence[tuple[str, float]]]:
    fullest: dict[int, dict[str, float]] = {pk: {} for pk in allocations}
    rows = ResourceLoad.objects.filter(allocation__in=allocations, place=Place.NODE, capacity__gt=0)
    for row in rows:
        levels = fullest[row.allocation_id]
        levels[row.name] = max(levels.get(row.name, 0.0), row.load / row.capacity)
    return {pk: _ordered(levels) for pk, levels in fullest.items()}


def _ordered(shares: Mapping[str, float]) -> Sequence[tuple[str, float]]:
    return sorted(shares.items(), key=lambda item: (-item[1], item[0]))
