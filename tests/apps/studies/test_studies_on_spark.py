"""Studies on a real Spark Connect server: answers while it runs, an end when somebody asks."""

import json
import threading
import time
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.db import connection

from apps.runs.services import run_cancel
from apps.runs.services.execute import run_execute
from apps.studies.models import Study, StudyPoint
from tests.factories import make_base_workload, make_user
from tests.factories.runs import GOLDEN
from tests.factories.studies import make_study, sweep_spec
from weir.lifecycle.runs import RunState

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ENDLESS = [{"method": "lrgp", "parameters": {"max_iterations": 1_000_000, "patience": 1_000_000}}]


@pytest.fixture(autouse=True)
def _data_in_the_test_folder(settings, tmp_path: Path) -> None:
    settings.WEIR_DATA_DIR = tmp_path / "data"


@pytest.fixture
def all_answered(transactional_db):
    """Before the database is emptied: no post of a task that the cancel ended is still being read.

    Emptying locks all tables in an order of its own; a request at work would meet it halfway.
    """
    at_work: set[int] = set()
    last = [0.0]

    def begins(**_: object) -> None:
        at_work.add(threading.get_ident())
        last[0] = time.monotonic()

    def ends(**_: object) -> None:
        at_work.discard(threading.get_ident())

    request_started.connect(begins)
    request_finished.connect(ends)
    yield
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (at_work or time.monotonic() - last[0] < 2.5):
        time.sleep(0.05)
    request_started.disconnect(begins)
    request_finished.disconnect(ends)


def in_background(study: Study) -> threading.Thread:
    def work() -> None:
        try:
            run_execute(public_id=study.run.public_id)
        finally:
            connection.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.mark.django_db
def test_study_ends_with_the_rows_of_the_kernel(spark_server, settings, tmp_path):
    study = make_study(make_base_workload(), sweep_spec("S2"))
    run_execute(public_id=study.run.public_id)
    study = Study.objects.select_related("run__snapshot").get(pk=study.pk)
    assert study.run.state == RunState.SUCCEEDED, study.run.failure
    (tmp_path / "spec.json").write_text(json.dumps(study.spec))
    (tmp_path / "in.json").write_bytes(bytes(study.run.snapshot.payload))
    call_command(
        *("study", str(tmp_path / "spec.json"), "--problem", str(tmp_path / "in.json")),
        *("--out", str(tmp_path / "out.json")),
    )
    local = json.loads((tmp_path / "out.json").read_text())["points"]
    stored = StudyPoint.objects.filter(study=study).values_list("utility", flat=True)
    assert list(stored) == [point["utility"] for point in local]
    assert not list(Path(settings.WEIR_DATA_DIR).rglob("*.parquet"))


def test_command_gives_the_same_points_on_both_engines(spark_server, tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps(sweep_spec("S2")))
    answers = []
    for engine in ("local", "spark"):
        out = tmp_path / engine
        call_command(
            *("study", str(tmp_path / "spec.json"), "--problem", str(GOLDEN)),
            *("--out", str(out), "--engine", engine),
        )
        document = json.loads(out.read_text())
        for point in document["points"]:
            del point["runtime_s"]
        answers.append(document)
    assert answers[0] == answers[1]


@pytest.mark.django_db(transaction=True)
def test_points_are_seen_while_it_runs_and_stay_after_a_cancel(
    spark_server, settings, live_server, all_answered
):
    settings.WEIR_WEB_URL = live_server.url
    spec = sweep_spec("S2", count=60, time_limit_s=0.5) | {"methods": ENDLESS}
    study = make_study(make_base_workload(), spec)
    worker = in_background(study)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not StudyPoint.objects.filter(study=study).exists():
        time.sleep(0.05)
    study.run.refresh_from_db()
    assert study.run.state == RunState.RUNNING
    assert 0 < study.run.progress["done"] < study.run.progress["total"] == 61
    run_cancel(run=study.run, actor=make_user("erik"))
    worker.join(10)
    assert not worker.is_alive()
    study.run.refresh_from_db()
    assert study.run.state == RunState.CANCELLED
    assert 0 < StudyPoint.objects.filter(study=study).count() < 61
