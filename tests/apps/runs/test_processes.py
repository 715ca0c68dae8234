"""What computes runs is said to answer only while it does."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache

from apps.common.tasks_by_name import queues_taken

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0


def answering(api: Any) -> dict[str, bool]:
    cache.clear()
    rows = api.get("/api/v1/processes").json()["results"]
    return {row["name"]: row["answers"] for row in rows}


def test_spark_answers_while_something_listens_at_its_address(api: Any, settings: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings.WEIR_SPARK_REMOTE = f"sc://127.0.0.1:{server.getsockname()[1]}"
        assert answering(api)["Spark"] is True
    assert answering(api)["Spark"] is False


def test_one_missed_answer_is_no_news(api: Any, settings: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings.WEIR_SPARK_REMOTE = f"sc://127.0.0.1:{server.getsockname()[1]}"
        assert answering(api)["Spark"] is True
    cache.delete("runs.processes")
    rows = api.get("/api/v1/processes").json()["results"]
    assert {row["name"]: row["answers"] for row in rows}["Spark"] is True


def test_whoever_serves_pages_imports_only_what_pages_need() -> None:
    """Each of five processes would pay seconds and 100 MB; only a worker needs it."""
    text = (
        "import sys, django; django.setup(); import config.urls, apps.runs.tasks; "
        "print(sorted({'pyspark', 'grpc', 'pandas', 'scipy.stats'} & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_nobody_learns_it_without_a_sign_in(client: Any) -> None:
    assert client.get("/api/v1/processes").status_code == 401


@pytest.mark.slow
def test_only_a_worker_of_its_queue_counts(sent: Any, api: Any, tmp_path: Path) -> None:
    workers = {"worker", "imports worker", "control worker"}
    before = answering(api)
    assert not any(before[name] for name in workers)
    for queue, names in (
        (f"other-{sent.queue}", set()),
        ("imports", {"imports worker"}),
        (f"{sent.queue},control", {"worker", "control worker"}),
    ):
        with (tmp_path / "worker.log").open("w") as log:
            worker = subprocess.Popen(
                [
                    *(sys.executable, "-m", "celery", "-A", "config.celery", "worker"),
                    *(
                        "--queues",
                        queue,
                        "--pool",
                        "solo",
                        "--hostname",
                        f"{len(names)}@{os.getpid()}",
                    ),
                    *("--without-gossip", "--without-mingle", "--loglevel", "INFO"),
                ],
                cwd=ROOT,
                env={**os.environ, "WEIR_BROKER_URL": django_settings.WEIR_BROKER_URL},
                stdout=log,
                stderr=log,
            )
        try:
            deadline = time.monotonic() + PATIENCE_S
            # A busy machine may miss one question, of either.
            while not (taken := queues_taken(within_s=1.0)) >= set(queue.split(",")):
                text = (tmp_path / "worker.log").read_text()
                assert time.monotonic() < deadline, f"it takes from {taken}: {text}"
            counted: set[str] | None = None
            while counted != names:
                assert time.monotonic() < deadline, f"{counted} while it takes from {taken}"
                now = answering(api)
                counted = {name for name in workers if now[name]}
                assert counted <= names
        finally:
            worker.terminate()
            worker.wait(PATIENCE_S)
