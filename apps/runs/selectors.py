"""Reads of runs."""

from typing import Any

from django.db.models import Count

from apps.runs.models import Run
from weir.lifecycle.runs import ENDED


def run_news(run: Run) -> dict[str, Any]:
    """What a browser needs at once when a run changes."""
    return {
        "id": run.public_id,
        "number": run.pk,
        "system": run.system.public_id if run.system else None,
        "method": run.method,
        "state": run.state,
        "attempt": run.attempt,
        "progress": run.progress,
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
