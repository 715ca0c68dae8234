"""Reads of runs."""

import json
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Count

from apps.catalog.models import Topic
from apps.runs.models import Run, RunResult
from apps.systems.models import System
from apps.topology.models import Broker, Link
from weir.lifecycle.runs import ENDED, RunState

Named = Mapping[tuple[str, str], UUID]
"""Kind (`node`, `link`, `flow`) and name in a problem -> the object of that name."""


def run_news(run: Run) -> dict[str, Any]:
    """What a browser needs at once when a run changes."""
    return {
        "id": run.public_id,
        "number": run.pk,
        "system": run.system.public_id if run.system else None,
        "method": run.method,
        "state": run.state,
        "attempt": run.attempt,
        "progress": {key: row for key, row in run.progress.items() if key != "moments"},
        "cancel_requested": run.cancel_requested_at is not None,
        "failure": run.failure,
    }


def active_run_news() -> list[dict[str, Any]]:
    """Every run that has not ended, for a browser that has just connected."""
    runs = Run.objects.exclude(state__in=list(ENDED)).select_related("system").order_by("id")[:200]
    return [run_news(run) for run in runs]


def run_count_by_state() -> dict[str, int]:
    """How many runs stand in each state, for metrics."""
    return dict(Run.objects.values_list("state").annotate(n=Count("id")).order_by())


def run_infeasibility(run: Run) -> dict[str, Any] | None:
    """What the kernel said is short and what would help; None unless it found nothing feasible."""
    if run.state != RunState.INFEASIBLE:
        return None
    stored = RunResult.objects.filter(run=run).values_list("payload", flat=True).first()
    if stored is None:
        return None
    explained: dict[str, Any] | None = json.loads(bytes(stored)).get("infeasibility")
    return explained


def objects_named(system: System | None, names: Mapping[str, Collection[str]]) -> Named:
    """The brokers, links and topics that bear these names now. They may have changed meanwhile."""
    if system is None:
        return {}
    kinds = {"node": Broker, "link": Link, "flow": Topic}
    return {
        (kind, name): public_id
        for kind, wanted in names.items()
        for name, public_id in kinds[kind]
        ._default_manager.filter(system=system, name__in=wanted)
        .values_list("name", "public_id")
    }
