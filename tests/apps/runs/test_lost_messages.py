"""A queued run whose message is gone is sent again, whatever took the message."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from apps.runs.models import Run
from apps.runs.services import run_claim, runs_reap
from tests.factories.kinds import make_world
from tests.factories.runs import make_run
from weir.lifecycle.runs import RunState

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0
LONG_AGO = timedelta(minutes=5)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


@contextmanager
def unfinished(deed: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """A process that stands still in the middle of a transaction, as a frozen one does."""
    begun, end = threading.Event(), threading.Event()

    def work() -> None:
        try:
            with transaction.atomic():
                deed()
                begun.set()
                end.wait(PATIENCE_S)
                transaction.set_rollback(True)
        finally:
            begun.set()
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(PATIENCE_S)
    try:
        yield end.set
    finally:
        end.set()
        thread.join(PATIENCE_S)


def names(run: Run) -> Callable[[], object]:
    """The commit of a row that names this run: the database holds the run's key while it checks."""

    def deed() -> object:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM runs_run WHERE id = %s FOR KEY SHARE", [run.pk])
        return run

    return deed


def test_a_run_that_somebody_only_names_is_claimed(sent: Any) -> None:
    run = make_run(make_world().system)
    with unfinished(names(run)):
        assert run_claim(run=run.public_id) is not None
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_a_run_that_somebody_only_names_is_sent_again(sent: Any) -> None:
    run = make_run(make_world().system)
    Run.objects.update(sent_at=timezone.now() - LONG_AGO)
    with unfinished(names(run)):
        assert runs_reap() == 1
    assert sent.tasks() == ["runs.execute", "runs.execute"]


def test_a_claim_waits_for_whoever_writes_the_run(sent: Any) -> None:
    """A message is gone once its claim has returned: `busy` must not pass for `nothing to do`."""
    run = make_run(make_world().system)

    def write() -> object:
        return Run.objects.filter(pk=run.pk).update(sent_at=timezone.now())

    with unfinished(write) as end:
        threading.Timer(0.3, end).start()
        assert run_claim(run=run.public_id) is not None


def test_the_coordinator_sends_again_without_beat_and_worker(sent: Any) -> None:
    make_run(make_world().system)
    Run.objects.update(sent_at=timezone.now() - LONG_AGO)
    sent.client.delete(sent.queue)
    call_command("coordinate", "--once")
    assert sent.tasks() == ["runs.execute"]


def test_one_message_that_cannot_be_sent_keeps_no_other(
    sent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.common import tasks_by_name

    system = make_world().system
    first, second = make_run(system), make_run(system)
    sent.client.delete(sent.queue)
    Run.objects.update(sent_at=timezone.now() - LONG_AGO)
    real = tasks_by_name._client().send_task

    def send(name: str, kwargs: dict[str, Any], **options: Any) -> Any:
        if kwargs["run"] == str(first.public_id):
            raise ValueError("a message that cannot be written")
        return real(name, kwargs=kwargs, **options)

    monkeypatch.setattr(tasks_by_name._client(), "send_task", send)
    assert runs_reap() == 2
    assert len(sent.tasks()) == 1
    assert second.pk > first.pk


def test_a_run_without_a_time_of_sending_is_sent(sent: Any) -> None:
    make_run(make_world().system)
    Run.objects.update(sent_at=None)
    assert runs_reap() == 1


def _database() -> str:
    row = connection.settings_dict
    user, password, name = (quote(str(row[key]), safe="") for key in ("USER", "PASSWORD", "NAME"))
    return f"postgres://{user}:{password}@{row['HOST']}:{row['PORT']}/{name}"


@pytest.fixture
def worker(sent: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A worker of Celery with one child; its first task is killed where the parameter says."""
    mark = tmp_path / "killed"
    environment = {
        **os.environ,
        "DATABASE_URL": _database(),
        "WEIR_BROKER_URL": django_settings.WEIR_BROKER_URL,
        "KILL_AT": request.param,
        "KILL_MARK": str(mark),
    }
    log = (tmp_path / "worker.log").open("w")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "celery", "-A", "tests.apps.runs.lossy_worker", "worker"),
            *("--queues", sent.queue, "--concurrency", "1", "--loglevel", "INFO"),
            *("--without-gossip", "--without-mingle", "--hostname", f"lossy@{sent.queue}"),
        ],
        cwd=ROOT,
        env=environment,
        stdout=log,
        stderr=log,
    )
    try:
        yield mark
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        log.close()


@pytest.mark.slow
@pytest.mark.parametrize("worker", ["before the claim", "after the claim"], indirect=True)
def test_a_child_killed_with_its_message_loses_no_run(
    sent: Any, worker: Path, settings: Any
) -> None:
    settings.WEIR_RUN_SILENCE_S = 1.0
    run = make_run(make_world().system)
    sent.client.delete(sent.queue)

    def taken_after_the_kill() -> bool:
        # The coordinator's loop; between two calls it rests much longer than this.
        runs_reap()
        run.refresh_from_db()
        return worker.exists() and run.state == RunState.RUNNING

    until(taken_after_the_kill)
    assert run.attempt >= 1


@pytest.mark.slow
@pytest.mark.parametrize("worker", ["never"], indirect=True)
def test_messages_lost_in_valkey_lose_no_run(sent: Any, worker: Path, settings: Any) -> None:
    settings.WEIR_RUN_SILENCE_S = 1.0
    run = make_run(make_world().system)
    # As a Valkey that was killed comes back: without what it held.
    sent.client.delete(sent.queue)

    def taken() -> bool:
        runs_reap()
        run.refresh_from_db()
        return run.attempt >= 1

    until(taken)
