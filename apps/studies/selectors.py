"""Read studies: their questions, their progress, and an estimate of another one's time."""

from typing import Any

from django.db.models import Avg, Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from apps.runs.models import Run
from apps.studies.models import Study, StudyPoint
from apps.systems.models import System
from weir.lifecycle.runs import RunState
from weir.scenarios import count_cases
from weir.scenarios.spec import Study as Asked

OVERHEAD_S = 1.0
"""The time of a Spark job apart from solving: its plan, its tasks, its files."""


def study_rows() -> QuerySet[Study]:
    """Return the studies with all that their representation shows."""
    points = StudyPoint.objects.filter(study=OuterRef("pk")).order_by().values("study")
    counted = points.annotate(n=Count("pk")).values("n")
    return (
        Study.objects.select_related(
            "system", "allocation", "author", "run__snapshot", "run__system", "run__result"
        )
        .defer("run__snapshot__payload", "run__result__payload", "allocation__trace")
        .annotate(points_done=Coalesce(Subquery(counted), 0))
    )


def study_news(study: Study, *, state: str, done: int) -> dict[str, Any]:
    """Return what a browser needs at once when answers arrive."""
    return {
        "id": study.public_id,
        "system": study.system.public_id,
        "run": study.run.public_id,
        "state": state,
        "done": done,
        "total": study.points_total,
    }


def study_points_in_order(study: Study) -> QuerySet[StudyPoint]:
    """Return every point so far, by its position."""
    return StudyPoint.objects.filter(study=study).order_by("index")


def study_estimate_s(*, system: System, question: Asked) -> float | None:
    """Return the estimated seconds of the study, from the times of earlier answers; None when
    unknown.

    Preferred: the wall time per answer of finished studies of this system with the same methods,
    which includes how many were solved at once. Else: the time of single runs, one after another.
    """
    count = count_cases(question)
    labels = {choice.method for choice in question.methods}
    finished = [
        study
        for study in Study.objects.filter(
            system=system, run__state=RunState.SUCCEEDED, run__attempt=1
        )
        .select_related("run")
        .order_by("-id")[:10]
        if {choice["method"] for choice in study.spec["methods"]} == labels
    ]
    spans = [
        ((study.run.finished_at - study.run.started_at).total_seconds(), study.points_total)
        for study in finished
        if study.run.finished_at and study.run.started_at
    ]
    if spans:
        span, points = max(spans, key=lambda pair: pair[1])
        return OVERHEAD_S + count * max(0.0, span - OVERHEAD_S) / points
    single = Run.objects.filter(
        system=system,
        state=RunState.SUCCEEDED,
        attempt=1,
        method__in=labels,
        allocation__isnull=False,
    ).aggregate(mean=Avg(F("finished_at") - F("started_at")))["mean"]
    if single is None:
        return None
    return OVERHEAD_S + count * max(0.001, float(single.total_seconds()) - OVERHEAD_S)
