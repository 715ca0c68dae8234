"""Points of a running study: what a job may post, what survives a worker's death."""

import json

import pytest
from django.core import signing

from apps.common.errors import Conflict
from apps.runs.models import Run
from apps.runs.services import (
    CancelWasAsked,
    RunTakenAway,
    progress_token,
    run_cancel,
    run_fail,
    run_lost,
)
from apps.runs.services.computations import run_again, run_job_inputs, run_store
from apps.runs.services.gateway import JobFailed
from apps.studies.models import Study, StudyPoint
from apps.studies.services.points import row_of
from spark_tasks.jobs.sweep import answer_of
from tests.factories.kinds import World
from tests.factories.runs import claim
from tests.factories.studies import held, make_study, rows_of, sweep_spec

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(world: World) -> Study:
    return make_study(world.system, sweep_spec(world.broker.name))


@pytest.fixture
def run(study: Study) -> Run:
    return held(study)


def send(client, token: str, body):
    text = body if isinstance(body, str) else json.dumps(body)
    return client.post(
        "/internal/studies/points",
        text,
        content_type="application/json",
        headers={"authorization": f"Bearer {token}"},
    )


def kept(study: Study) -> list[int]:
    return list(StudyPoint.objects.filter(study=study).values_list("index", flat=True))


def test_points_are_kept_once_and_counted_in_the_run(client, study, run):
    rows = rows_of(run)
    for batch in (rows[:2], rows[1:3]):
        answer = send(client, progress_token(run), {"points": batch})
        assert answer.json() == {"continue": True}
    assert kept(study) == [0, 1, 2]
    run.refresh_from_db()
    assert run.progress == {"done": 3, "total": 4}
    point = StudyPoint.objects.get(study=study, index=1)
    assert row_of(point) == json.loads(json.dumps(rows[1]))


def test_empty_batch_asks_whether_to_go_on(client, study, run, admin):
    assert send(client, progress_token(run), {"points": []}).json() == {"continue": True}
    run_cancel(run=run, actor=admin)
    assert send(client, progress_token(run), {"points": []}).json() == {"continue": False}


def test_job_whose_attempt_was_taken_away_leaves_nothing(client, study, run):
    old, rows = progress_token(run), rows_of(run)
    run_lost(run=run, code="spark_lost", reason="Away.")
    claim(run)
    assert send(client, old, {"points": rows}).json() == {"continue": False}
    assert kept(study) == []


def test_token_of_nobody_is_refused(client, study, run):
    for token in ("", "nonsense", signing.dumps([run.pk, run.attempt], salt="another door")):
        assert send(client, token, {"points": rows_of(run)}).status_code == 403
    assert kept(study) == []


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "{}", {"points": 3}, {"points": [3]}, {"points": [{"index": 0}]}]
)
def test_body_that_is_none_is_refused(client, study, run, body):
    answer = send(client, progress_token(run), body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


@pytest.mark.parametrize(
    "change", [{"index": 4}, {"index": -1}, {"utility": "much"}, {"utility": float("nan")}]
)
def test_point_that_cannot_be_is_refused_and_the_batch_with_it(client, study, run, change):
    rows = rows_of(run)
    answer = send(client, progress_token(run), {"points": [rows[0], {**rows[1], **change}]})
    assert answer.status_code == 400
    assert kept(study) == []


def test_next_attempt_is_told_what_the_lost_one_left(client, study, run):
    assert run_job_inputs(run)["done"] == []
    rows = rows_of(run)
    send(client, progress_token(run), {"points": rows[:2]})
    run_lost(run=run, code="worker_lost", reason="Killed.")
    second = claim(run)
    inputs = run_job_inputs(second)
    assert inputs["done"] == [0, 1]
    assert inputs["points_url"].endswith("/internal/studies/points")
    run_store(second, answer_of(rows[2:]))
    assert kept(study) == [0, 1, 2, 3]
    second.refresh_from_db()
    assert (second.state, second.progress) == ("succeeded", {"done": 4, "total": 4})


def test_answer_with_a_point_missing_is_not_kept(study, run):
    with pytest.raises(ValueError, match="3 of 4 points"):
        run_store(run, answer_of(rows_of(run)[:3]))
    assert kept(study) == []


def test_answer_cut_short_by_a_cancel_is_not_kept(study, run, admin):
    run_cancel(run=run, actor=admin)
    with pytest.raises(CancelWasAsked):
        run_store(run, answer_of(rows_of(run)[:3]))


def test_answer_of_an_attempt_that_was_taken_away_is_dropped(study, run):
    rows = rows_of(run)
    run_lost(run=run, code="worker_lost", reason="Killed.")
    claim(run)
    with pytest.raises(RunTakenAway):
        run_store(run, answer_of(rows))
    assert kept(study) == []


def test_run_repeated_in_the_list_of_runs_takes_the_study_along(study, run, admin):
    run_fail(run=run, code="job_failed", reason="Broken.")
    run.refresh_from_db()
    again = claim(run_again(run=run, actor=admin))
    run_job_inputs(again)
    study.refresh_from_db()
    assert study.run == again
    run_store(again, answer_of(rows_of(again)))
    assert kept(study) == [0, 1, 2, 3]


def test_run_that_is_not_the_studys_latest_is_not_repeated(study, run, admin):
    run_fail(run=run, code="job_failed", reason="Broken.")
    run.refresh_from_db()
    run_again(run=run, actor=admin)
    with pytest.raises(Conflict, match="not the latest run of its study"):
        run_again(run=run, actor=admin)
    assert Run.objects.count() == 2


def test_job_of_a_study_that_was_deleted_is_not_started(study, run):
    study.delete()
    with pytest.raises(JobFailed, match="study was deleted"):
        run_job_inputs(run)
