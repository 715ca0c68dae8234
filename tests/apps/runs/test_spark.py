"""Runs on a real Spark Connect server: the whole road of a number, and what may go wrong on it."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from apps.runs.models import Run, Snapshot
from apps.runs.services import run_cancel
from apps.runs.services.computations import run_again
from apps.runs.services.execute import run_execute
from spark_tasks.session import session
from tests.factories import make_base_workload, make_user
from tests.factories.runs import GOLDEN, PUBLISHED_UTILITY, make_run
from weir.lifecycle.runs import RunState

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ENDLESS = {"max_iterations": 1_000_000, "patience": 1_000_000}


@pytest.fixture(autouse=True)
def _data_in_the_test_folder(settings: Any, tmp_path: Path) -> None:
    settings.WEIR_DATA_DIR = tmp_path / "data"


def solved(run: Run) -> Run:
    run_execute(public_id=run.public_id)
    return Run.objects.select_related("result", "allocation").get(pk=run.pk)


def until(true: Callable[[], bool], within_s: float) -> bool:
    """Whether it comes true in time."""
    deadline = time.monotonic() + within_s
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.django_db
def test_base_workload_and_its_rerun_give_the_published_utility_to_the_last_bit(
    spark_server, settings, admin
):
    first = solved(make_run(make_base_workload()))
    assert first.state == RunState.SUCCEEDED, first.failure
    assert first.allocation.utility >= 0.999 * PUBLISHED_UTILITY
    again = solved(run_again(run=first, actor=admin))
    assert again.result.content_hash == first.result.content_hash
    assert not list(Path(settings.WEIR_DATA_DIR).rglob("*.parquet"))


def test_command_gives_the_same_bytes_on_both_engines(spark_server, tmp_path):
    for engine in ("local", "spark"):
        call_command("allocate", str(GOLDEN), "--out", str(tmp_path / engine), "--engine", engine)
    assert (tmp_path / "local").read_bytes() == (tmp_path / "spark").read_bytes()


def test_command_on_spark_reports_an_infeasible_problem_alike(spark_server, tmp_path):
    problem = json.loads(GOLDEN.read_bytes())
    problem["nodes"][0]["capacity"] = {"cpu": 0}
    source = tmp_path / "in.json"
    source.write_text(json.dumps(problem))
    for engine in ("local", "spark"):
        with pytest.raises(SystemExit) as end:
            call_command(
                "allocate", str(source), "--out", str(tmp_path / engine), "--engine", engine
            )
        assert end.value.code == 1
    assert (tmp_path / "local").read_bytes() == (tmp_path / "spark").read_bytes()


@pytest.mark.django_db
def test_job_that_fails_is_a_failed_run_with_a_sentence(spark_server):
    run = make_run(make_base_workload())
    Snapshot.objects.filter(pk=run.snapshot_id).update(payload=b'{"resources": [')
    failed = solved(run)
    assert (failed.state, failed.failure_code) == (RunState.FAILED, "job_failed")
    assert "not JSON at line 1" in failed.failure


@pytest.mark.django_db
def test_answer_to_something_else_is_a_fault_that_is_recorded(spark_server):
    run = make_run(make_base_workload())
    Snapshot.objects.filter(pk=run.snapshot_id).update(
        payload=GOLDEN.read_bytes().replace(b"900000", b"800000")
    )
    failed = solved(run)
    assert (failed.state, failed.failure_code) == (RunState.FAILED, "internal_error")
    assert "fault of Weir" in failed.failure


@pytest.mark.django_db
@pytest.mark.filterwarnings("ignore:.*RETRIES_EXCEEDED")
def test_spark_that_is_away_is_retried_and_then_a_failed_run(settings):
    settings.WEIR_SPARK_PATIENCE_S = 0.3
    settings.WEIR_SPARK_REMOTE = "sc://127.0.0.1:1"
    settings.WEIR_RUN_MAX_ATTEMPTS = 2
    run = make_run(make_base_workload())
    assert solved(run).state == RunState.QUEUED
    failed = solved(run)
    assert (failed.state, failed.failure_code) == (RunState.FAILED, "spark_lost")
    assert "Given up after 2 attempts" in failed.failure


class InBackground:
    """A worker that carries out one attempt in a thread of its own."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        try:
            run_execute(public_id=self.run.public_id)
        finally:
            connection.close()

    def ended(self, within_s: float) -> bool:
        self.thread.join(within_s)
        return not self.thread.is_alive()


@pytest.mark.django_db(transaction=True)
def test_cancel_stops_the_spark_job(spark_server, settings, live_server):
    settings.WEIR_WEB_URL = live_server.url
    run = make_run(make_base_workload(), method="lrgp", parameters=ENDLESS)
    worker = InBackground(run)

    def moving() -> bool:
        run.refresh_from_db()
        return bool(run.progress)

    assert until(moving, within_s=60), "no progress came from inside the Spark job"
    assert run.progress["iteration"] > 0
    run_cancel(run=run, actor=make_user("erik"))
    # The promise to people is two seconds; the machine of a test may be busy.
    assert worker.ended(within_s=60)
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    assert not session(spark_server).interruptTag(f"{run.public_id}-1")


@pytest.mark.django_db(transaction=True)
def test_two_runs_at_once_both_end_well(spark_server):
    system = make_base_workload()
    runs = [make_run(system, seed=seed) for seed in (1, 2)]
    workers = [InBackground(run) for run in runs]
    assert all(worker.ended(within_s=60) for worker in workers)
    states = set(Run.objects.values_list("state", flat=True))
    assert states == {RunState.SUCCEEDED}
