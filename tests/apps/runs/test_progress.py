"""What a job may report while it runs."""

import json

import pytest
from django.core import signing

from apps.runs.models import Run
from apps.runs.services import progress_token, run_cancel, run_lost
from tests.factories.kinds import World
from tests.factories.runs import claim, make_run

pytestmark = pytest.mark.django_db
STEP = {"iteration": 12, "utility": 5.5, "best_utility": 6.0}


@pytest.fixture
def held(world: World) -> Run:
    return claim(make_run(world.system))


def report(client, token: str, body=STEP):
    text = body if isinstance(body, str) else json.dumps(body)
    return client.post(
        "/internal/runs/progress",
        text,
        content_type="application/json",
        headers={"authorization": f"Bearer {token}"},
    )


def test_progress_is_kept_and_shown(client, api, held):
    assert report(client, progress_token(held)).json() == {"continue": True}
    assert api.get(f"/api/v1/runs/{held.public_id}").json()["progress"] == STEP


def test_progress_says_which_phase_it_is_of(client, api, held):
    step = {"phase": "judge pairs", "done": 3, "total": 8}
    assert report(client, progress_token(held), step).json() == {"continue": True}
    assert api.get(f"/api/v1/runs/{held.public_id}").json()["progress"] == step
    for phase in ("", "x" * 61, 7, None):
        assert report(client, progress_token(held), {**step, "phase": phase}).status_code == 400


def test_job_of_a_cancelled_run_is_told_to_stop(client, held, admin):
    run_cancel(run=held, actor=admin)
    assert report(client, progress_token(held)).json() == {"continue": False}


def test_job_of_an_attempt_that_was_taken_away_is_told_to_stop(client, held):
    old = progress_token(held)
    run_lost(run=held, code="spark_lost", reason="Away.")
    assert report(client, old).json() == {"continue": False}
    new = claim(held)
    assert report(client, old).json() == {"continue": False}
    assert report(client, progress_token(new)).json() == {"continue": True}
    new.refresh_from_db()
    assert new.progress == STEP


def test_token_of_nobody_is_refused(client, held):
    forged = signing.dumps([held.pk, held.attempt], salt="another door")
    for token in ("", "nonsense", forged):
        answer = report(client, token)
        assert (answer.status_code, answer.json()["code"]) == (403, "bad_token")
    held.refresh_from_db()
    assert held.progress == {}


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "5",
        "{}",
        {**STEP, "utility": "much"},
        {**STEP, "iteration": None},
        json.dumps({**STEP, "utility": float("nan")}),
        json.dumps({**STEP, "best_utility": float("inf")}),
        json.dumps({**STEP, "iteration": float("inf")}),
    ],
)
def test_report_that_is_none_is_refused(client, held, body):
    answer = report(client, progress_token(held), body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    held.refresh_from_db()
    assert held.progress == {}


def test_progress_is_only_posted(client, held):
    assert client.get("/internal/runs/progress").status_code == 405
