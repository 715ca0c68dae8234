"""An evaluation whose attempt was killed begins again, and is never left standing."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.evaluations.models import Candidate, Evaluation
from apps.evaluations.services import evaluation_request
from apps.runs.models import Run
from apps.runs.services import runs_reap
from apps.runs.services.computations import run_store
from tests.factories.overlays import kernel_answer, make_row
from tests.factories.runs import claim
from weir.lifecycle.runs import RunState

pytestmark = pytest.mark.django_db


@pytest.fixture
def evaluation() -> Evaluation:
    row = make_row()
    return evaluation_request(
        system=row.system, actor=None, goals=[row.goal], methods=[], time_limit_s=5.0
    )


def lose_attempt(run: Run) -> None:
    """A worker takes the run and is never heard of again."""
    claim(run)
    Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now() - timedelta(minutes=5))
    assert runs_reap() == 1
    run.refresh_from_db()


def test_a_lost_attempt_is_sent_again_and_the_next_one_answers(
    evaluation, sent, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        lose_attempt(evaluation.run)
    assert evaluation.run.state == RunState.QUEUED
    assert sent.tasks() == ["runs.execute"]
    again = claim(evaluation.run)
    run_store(again, kernel_answer(again))
    again.refresh_from_db()
    assert (again.state, again.attempt) == (RunState.SUCCEEDED, 2)
    assert Candidate.objects.filter(evaluation=evaluation, chosen=True).count() == 1


def test_attempts_that_are_lost_too_often_end_it_with_a_reason(evaluation, settings):
    settings.WEIR_RUN_MAX_ATTEMPTS = 2
    for _ in range(2):
        lose_attempt(evaluation.run)
    assert evaluation.run.state == RunState.FAILED
    assert "Given up after 2 attempts" in evaluation.run.failure
    assert runs_reap() == 0
    assert not Candidate.objects.filter(evaluation=evaluation).exists()
