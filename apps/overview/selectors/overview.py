"""Read every system with its size, what is in force, what is proposed, and what runs."""

from typing import Any

from django.db.models import Count, F, QuerySet, Window
from django.db.models.functions import RowNumber

from apps.allocations.models import Allocation
from apps.allocations.selectors.in_force import allocations_in_force
from apps.catalog.models import ConsumerClass, Topic
from apps.overview.selectors.levels import levels_of
from apps.runs.models import Run
from apps.runs.selectors import run_rows
from apps.systems.models import System
from apps.telemetry.domain.backlog import Growth
from apps.telemetry.selectors.backlog import backlogs
from apps.topology.models import Broker
from weir.lifecycle.runs import ENDED


def systems_overview() -> list[dict[str, Any]]:
    """Return one row per system, by name."""
    systems = list(System.objects.order_by("name"))
    brokers, topics, classes = (_counted(model) for model in (Broker, Topic, ConsumerClass))
    active = dict(
        Run.objects.exclude(state__in=list(ENDED))
        .values_list("system")
        .annotate(n=Count("id"))
        .order_by()
    )
    proposed = {row.system_id: row for row in _proposed() if row.system_id}
    standing = {row.system_id: row for row in allocations_in_force(_rows()) if row.system_id}
    latest_runs = run_rows().order_by("system_id", "-id").distinct("system_id")
    runs = {row.system_id: row for row in latest_runs}
    levels = levels_of(systems, standing, proposed)
    waiting = backlogs()
    overview = []
    for system in systems:
        latest, level = proposed.get(system.pk), levels[system.pk]
        overview.append(
            {
                "system": system,
                "brokers": brokers.get(system.pk, 0),
                "topics": topics.get(system.pk, 0),
                "consumer_classes": classes.get(system.pk, 0),
                "active_runs": active.get(system.pk, 0),
                "latest_run": runs.get(system.pk),
                "latest_allocation": latest,
                "allocation_in_force": standing.get(system.pk),
                "model_moved": latest is not None
                and latest.run.snapshot.model_version != system.model_version,
                "loads": {
                    "basis": level.basis.value,
                    "detail": level.detail,
                    "allocation": level.allocation,
                },
                "backlogs": [
                    row
                    for row in waiting.get(system.pk, [])
                    if row.growth in (Growth.ALARM, Growth.GROWING)
                ],
                "node_loads": [
                    {"name": name, "utilisation": share} for name, share in level.brokers
                ],
            }
        )
    return overview


def _counted(model: Any) -> dict[int, int]:
    return dict(model.objects.values_list("system").annotate(n=Count("id")).order_by())


def _rows() -> QuerySet[Allocation]:
    large = Allocation.LARGE
    return Allocation.objects.select_related(
        "system", "run__snapshot", "run__asked_by", "run__starts_from__allocation"
    ).defer(
        *("run__snapshot__payload", *large),
        *(f"run__starts_from__allocation__{name}" for name in large),
    )


def _proposed() -> QuerySet[Allocation]:
    """Return for each system the best allocation of the snapshot that was computed last.

    A comparison of methods leaves one allocation per method of one snapshot: the last of them is
    no better a proposal than the others.
    """
    newest = Window(
        RowNumber(),
        partition_by=[F("system")],
        order_by=[F("run__snapshot__model_version").desc(), F("run__snapshot").desc()],
    )
    ranked = Allocation.objects.filter(system__isnull=False).annotate(place=newest)
    snapshots = ranked.filter(place=1).values("run__snapshot")
    return (
        _rows()
        .filter(run__snapshot__in=snapshots)
        .order_by("system_id", "-utility", "-number")
        .distinct("system_id")
    )
