"""One attempt of a study's run: what its job is told, what it sends early, what it ends with."""

import json
from typing import Any

from django.conf import settings
from django.db import transaction

from apps.common.events import publish
from apps.runs.models import Run
from apps.runs.services import attempt_of_token, run_finish, run_progress
from apps.runs.services.execute import run_execute
from apps.runs.services.gateway import JobFailed
from apps.studies.models import Study, StudyPoint
from apps.studies.selectors import study_news, study_points_in_order
from apps.studies.services.points import keep_points, row_of
from weir import __version__
from weir.errors import WeirError
from weir.lifecycle.runs import ENDED, RunState
from weir.scenarios import repeatable

TASK = "studies.solve"


def take_run(row: Study, run: Run) -> None:
    """Let a locked study begin again with this run; the points of the last one go."""
    StudyPoint.objects.filter(study=row).delete()
    row.run = run
    row.version += 1
    row.save(update_fields=["run", "version", "updated_at"])


def study_solve(*, run_id: int) -> None:
    """One attempt of a study's run, on Spark."""
    run_execute(run_id=run_id, task=TASK, job="sweep", store=study_store, more=study_told)


@transaction.atomic
def study_told(run: Run) -> dict[str, Any]:
    """Where the job sends its points, and which of them an attempt that was lost left behind."""
    study = Study.objects.select_for_update(of=("self",)).filter(run=run).first()
    if study is None:
        study = _adopted(run)
    done: list[int] = []
    if run.attempt > 1 and not study.spec["keep_rates"]:  # rates travel only at the end
        done = list(study_points_in_order(study).values_list("index", flat=True))
    return {"points_url": f"{settings.WEIR_WEB_URL}/internal/studies/points", "done": done}


def _adopted(run: Run) -> Study:
    """The study of a run that somebody repeated in the list of runs."""
    former = run.rerun_of
    while former is not None:
        study = (
            Study.objects.select_for_update(of=("self",))
            .select_related("run")
            .filter(run=former)
            .first()
        )
        if study is not None and study.run.state in ENDED:
            take_run(study, run)
            return study
        former = former.rerun_of
    raise JobFailed(
        "This run's study was deleted, or has a newer run. Start the study again from its page."
    )


@transaction.atomic
def study_points_arrived(*, token: str, rows: list[dict[str, Any]]) -> bool:
    """Keep what a running job sends early. False tells the job to stop.

    Raises BadSignature for a token of nobody, KeyError, TypeError or ValueError for rows that
    are none.
    """
    public_id, attempt = attempt_of_token(token)
    study = (
        Study.objects.select_for_update(of=("self",))
        .select_related("system", "run")
        .filter(run__public_id=public_id, run__attempt=attempt, run__state=RunState.RUNNING)
        .first()
    )
    if study is None:
        return False
    if not rows:
        return study.run.cancel_requested_at is None
    keep_points(study, rows)
    done = StudyPoint.objects.filter(study=study).count()
    go_on = run_progress(token=token, progress={"done": done, "total": study.points_total})
    publish("study", **study_news(study, state=study.run.state, done=done))
    return go_on


@transaction.atomic
def study_store(run: Run, answer: bytes) -> None:
    """Keep every row, see that none is missing, and end the run."""
    study = (
        Study.objects.select_for_update(of=("self",))
        .select_related("system", "run")
        .filter(run=run)
        .first()
    )
    if study is None:
        raise WeirError(f"{run}: its study was deleted while it ran")
    keep_points(study, json.loads(answer)["points"])
    points = list(study_points_in_order(study))
    # Ends as cancelled before anything is judged: a job that was stopped sends what it has.
    payload = json.dumps(
        {"points": repeatable(row_of(point) for point in points)}, sort_keys=True
    ).encode()
    run_finish(
        run=run,
        payload=payload,
        kernel_version=__version__,
        infeasible_because=None,
        progress={"done": len(points), "total": study.points_total},
    )
    if len(points) != study.points_total:
        raise ValueError(f"{study}: {len(points)} of {study.points_total} points came")
    publish("study", **study_news(study, state=RunState.SUCCEEDED, done=len(points)))
