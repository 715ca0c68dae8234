"""Files of attempts that are over go, whoever was killed before it could delete them."""

import os
import time
import uuid

import pytest

from apps.runs.services import gateway, run_fail, run_lost
from apps.runs.services.leftovers import IDLE_S, Sweep, leftovers_sweep
from tests.factories.runs import claim, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def data(settings, tmp_path):
    settings.WEIR_DATA_DIR = tmp_path / "Daten der Möwen"
    return settings.WEIR_DATA_DIR / "runs"


def leave(data, key, *, idle_s=0.0):
    """Leave the files of an attempt."""
    (data / key / "output-parts").mkdir(parents=True)
    (data / key / "output-parts" / "times-0").write_bytes(b"gulls")
    then = time.time() - idle_s
    for each in (data / key / "output-parts" / "times-0", data / key / "output-parts", data / key):
        os.utime(each, (then, then))


def left(data):
    return sorted(each.name for each in data.iterdir())


def test_files_stay_while_their_attempt_is_under_way(data, world):
    run = claim(make_run(world.system))
    leave(data, f"{run.public_id}-1", idle_s=2 * IDLE_S)
    assert leftovers_sweep() == 0
    assert left(data) == [f"{run.public_id}-1"]


def test_files_of_runs_that_ended_or_wait_and_of_earlier_attempts_go(data, world):
    ended, waits, again = (claim(make_run(world.system)) for _ in range(3))
    for run in (ended, waits, again):
        leave(data, f"{run.public_id}-1")
    run_fail(run=ended, code="job_failed", reason="The job failed.")
    for run in (waits, again):
        run_lost(run=run, code="spark_lost", reason="The Spark server did not answer.")
    leave(data, f"{claim(again).public_id}-2")
    assert leftovers_sweep() == 3
    assert left(data) == [f"{again.public_id}-2"]


def test_files_of_commands_go_a_day_after_they_were_written(data):
    old, new, gone = (f"command-{uuid.uuid4()}" for _ in range(3))
    leave(data, old, idle_s=IDLE_S + 60)
    leave(data, new, idle_s=IDLE_S - 60)
    # Its folder is old, a file in it is not.
    leave(data, gone, idle_s=IDLE_S + 60)
    (data / gone / "output-parts" / "times-0").touch()
    assert leftovers_sweep() == 1
    assert left(data) == sorted([new, gone])


def test_process_sweeps_before_its_first_run_and_not_before_each(data):
    leave(data, "command-a", idle_s=IDLE_S + 60)
    sweep = Sweep()
    sweep()
    leave(data, "command-b", idle_s=IDLE_S + 60)
    sweep()
    assert left(data) == ["command-b"]


def test_nothing_to_sweep_and_storage_elsewhere_are_fine(settings, tmp_path):
    settings.WEIR_DATA_DIR = tmp_path / "none"
    assert leftovers_sweep() == 0
    settings.WEIR_DATA_DIR = "s3://bucket/weir"
    assert gateway.exchanged() == {}
