"""Evaluations and single plans on a real Spark Connect server: the kernel's own answers."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from apps.evaluations.models import Candidate, Evaluation
from apps.evaluations.services import evaluation_request
from apps.runs.services.execute import run_execute
from tests.factories.overlays import kernel_answer, make_row
from tests.factories.runs import claim
from weir.lifecycle.runs import RunState

pytestmark = [pytest.mark.spark, pytest.mark.slow]
PROBLEM = {
    "brokers": ["1", "2", "3", "4", "5"],
    "initial": [["1", "2"], ["1", "3"], ["2", "4"], ["4", "5"]],
    "goal": [["1", "2"], ["1", "3"], ["3", "4"], ["3", "5"]],
}


@pytest.fixture(autouse=True)
def _data_in_the_test_folder(settings, tmp_path: Path) -> None:
    settings.WEIR_DATA_DIR = tmp_path / "data"


def figures(answer: bytes) -> list[tuple[object, ...]]:
    """What does not depend on how long it took."""
    plain = json.loads(answer)
    return [
        *((each["name"], each["edges"], each["saved_per_s"]) for each in plain["candidates"]),
        *((r["candidate"], r["objective"], r["actions"], r["steps"]) for r in plain["rows"]),
        (plain["recommended"], plain["problem_hash"]),
    ]


@pytest.mark.thorough
@pytest.mark.django_db
def test_evaluation_ends_with_the_candidates_of_the_kernel(spark_server, settings):
    row = make_row()
    request = {"system": row.system, "actor": None, "goals": [row.goal], "methods": []}
    evaluation = evaluation_request(**request)
    run_execute(public_id=evaluation.run.public_id)
    done = Evaluation.objects.select_related("run__snapshot", "run__result").get(pk=evaluation.pk)
    assert done.run.state == RunState.SUCCEEDED, done.run.failure
    best = Candidate.objects.get(evaluation=done, chosen=True)
    assert best.traffic_per_s == pytest.approx(110)
    twin = claim(evaluation_request(**request).run)
    assert figures(bytes(done.run.result.payload)) == figures(kernel_answer(twin))
    assert not list(Path(settings.WEIR_DATA_DIR).rglob("*.parquet"))


def test_command_gives_the_same_steps_on_both_engines(spark_server, tmp_path):
    (tmp_path / "in.json").write_text(json.dumps(PROBLEM))
    answers = []
    for engine in ("local", "spark"):
        out = tmp_path / engine
        call_command(
            *("plan_topology", str(tmp_path / "in.json"), "--out", str(out)),
            *("--engine", engine, "--seed", "3"),
        )
        answer = json.loads(out.read_bytes())
        answers.append((answer["steps"], answer["status"], answer["lower_bound_actions"]))
    assert answers[0] == answers[1]
