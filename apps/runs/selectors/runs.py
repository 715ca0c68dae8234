"""Read runs with all that their pages show."""

from typing import Any

from django.db.models import Count, Prefetch, QuerySet

from apps.runs.models import OPENED, Run
from apps.runs.selectors.computations import computations
from weir.lifecycle.runs import ENDED


def run_rows() -> QuerySet[Run]:
    """Return the runs with all that their representation shows, what they computed included.

    What they computed is read table by table: to plan one statement over all tables of
    computations, twice, takes Postgres longer than to carry out one for each.
    """
    computed = [
        Prefetch(prefix + one.path, queryset=one.model._default_manager.defer(*one.model.LARGE))
        for prefix in ("", "starts_from__")
        for one in computations().values()
    ]
    return (
        Run.objects.select_related(
            "system", "snapshot", "result", "asked_by", "rerun_of", "starts_from"
        )
        .defer("snapshot__payload", "result__payload")
        .prefetch_related(*computed)
    )


def run_news(run: Run) -> dict[str, Any]:
    """Return what a browser needs at once when a run changes; the event's own `kind` is `run`."""
    return {
        "id": run.public_id,
        "number": run.pk,
        "run_kind": run.kind,
        "system": run.system.public_id if run.system else None,
        "method": run.method,
        "state": run.state,
        "attempt": run.attempt,
        "progress": {key: row for key, row in run.progress.items() if key != "moments"},
        "cancel_requested": run.cancel_requested_at is not None,
        "failure": run.failure,
    }


def run_note(run: Run) -> str:
    """Return why the run is computed, as who asked for it said; empty where nobody said."""
    opened = run.events.filter(command=OPENED).values_list("note", flat=True)
    return opened.first() or ""


def active_run_news() -> list[dict[str, Any]]:
    """Return every run that has not ended, for a browser that has just connected."""
    runs = Run.objects.exclude(state__in=list(ENDED)).select_related("system").order_by("id")[:200]
    return [run_news(run) for run in runs]


def run_count_by_state() -> dict[str, int]:
    """Return how many runs are in each state, for metrics."""
    return dict(Run.objects.values_list("state").annotate(n=Count("id")).order_by())
