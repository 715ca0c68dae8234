"""Store points that running jobs send before they end."""

from typing import Any

from django.db import transaction

from apps.common.events import publish
from apps.runs.services import attempt_of_token, run_progress
from apps.studies.models import Study, StudyPoint
from apps.studies.selectors import study_news
from apps.studies.services.points import keep_points
from weir.lifecycle.runs import RunState


@transaction.atomic
def study_points_receive(*, token: str, rows: list[dict[str, Any]]) -> bool:
    """Store what a running job sends early. Returns False to tell the job to stop.

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
