"""No run is left to a dead worker or a lost message."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.runs.models import Run
from apps.runs.services import run_cancel, run_lost, runs_reap
from tests.factories.kinds import World
from tests.factories.runs import claim, make_run
from weir.lifecycle.runs import RunState

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(minutes=5)


@pytest.fixture
def run(world: World) -> Run:
    return make_run(world.system)


def fall_silent(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now() - LONG_AGO)


def test_a_living_run_is_left_alone(run):
    claim(run)
    assert runs_reap() == 0
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_a_silent_run_is_queued_and_sent_again(run, sent, django_capture_on_commit_callbacks):
    claim(run)
    fall_silent(run)
    with django_capture_on_commit_callbacks(execute=True):
        assert runs_reap() == 1
    run.refresh_from_db()
    assert (run.state, run.attempt, run.worker) == (RunState.QUEUED, 1, "")
    assert sent.tasks() == ["runs.execute"]
    assert "stopped answering" in run.events.last().note


def test_a_run_that_falls_silent_too_often_fails_with_a_reason(run, settings):
    settings.WEIR_RUN_MAX_ATTEMPTS = 2
    for _ in range(2):
        claim(run)
        fall_silent(run)
        runs_reap()
    run.refresh_from_db()
    assert (run.state, run.failure_code) == (RunState.FAILED, "worker_lost")
    assert "Given up after 2 attempts" in run.failure
    assert runs_reap() == 0


def test_a_silent_run_that_somebody_cancelled_ends_cancelled(run, admin):
    claim(run)
    run_cancel(run=run, actor=admin)
    fall_silent(run)
    assert runs_reap() == 1
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED


def test_a_queued_run_whose_message_was_lost_is_sent_again(
    run, sent, django_capture_on_commit_callbacks
):
    assert runs_reap() == 0
    Run.objects.update(sent_at=timezone.now() - LONG_AGO)
    with django_capture_on_commit_callbacks(execute=True):
        assert runs_reap() == 1
        assert runs_reap() == 0
    assert sent.tasks() == ["runs.execute"]


def test_a_lost_server_is_retried_and_then_fails(run, settings):
    settings.WEIR_RUN_MAX_ATTEMPTS = 2
    run_lost(run=claim(run), code="spark_lost", reason="The Spark server did not answer.")
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    run_lost(run=claim(run), code="spark_lost", reason="The Spark server did not answer.")
    run.refresh_from_db()
    assert (run.state, run.failure_code) == (RunState.FAILED, "spark_lost")
    assert run.failure.startswith("The Spark server did not answer.")


def test_the_task_of_beat_is_registered_and_reaps(run):
    from config.celery import app

    app.loader.import_default_modules()
    claim(run)
    fall_silent(run)
    assert app.tasks["runs.reap"].run() == 1
