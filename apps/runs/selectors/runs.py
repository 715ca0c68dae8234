"""Read runs with all that their pages show."""

from collections import defaultdict
from typing import Any

from django.db.models import Count, Prefetch, QuerySet, prefetch_related_objects

from apps.runs.models import OPENED, Run
from apps.runs.selectors.computations import computations
from weir.lifecycle.runs import ENDED


class RunRows(QuerySet[Run]):
    """Runs that come with what they computed, and what the runs did from which they start.

    It is read kind by kind, of the kinds that are among them: to plan one statement over all tables
    of computations, twice, takes Postgres longer than to carry out one for each.
    """

    def _fetch_all(self) -> None:
        is_new = self._result_cache is None
        super()._fetch_all()
        if is_new:
            self._read_computed()

    def _read_computed(self) -> None:
        by_kind: dict[str, list[Run]] = defaultdict(list)
        for run in self._result_cache or ():
            # Of rows that are read as values there is nothing to add to.
            if isinstance(run, Run):
                by_kind[run.kind].append(run)
                if run.starts_from is not None:
                    by_kind[run.starts_from.kind].append(run.starts_from)
        for one in computations().values():
            if one.kind in by_kind:
                rows = one.model._default_manager.defer(*one.model.LARGE)
                prefetch_related_objects(by_kind[one.kind], Prefetch(one.path, queryset=rows))


def run_rows() -> QuerySet[Run]:
    """Return the runs with all that their representation shows, what they computed included."""
    return (
        RunRows(Run)
        .select_related(
            "system", "snapshot__demand", "result", "asked_by", "rerun_of", "starts_from"
        )
        .defer("snapshot__payload", "result__payload")
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
