"""A worker that outlives a database that has gone back: the keys of its rows are given again."""

import pytest
from django.db import connection

from apps.allocations.models import Allocation
from apps.runs.models import Run, RunResult
from apps.runs.services import (
    RunTakenAway,
    progress_token,
    run_cancelled,
    run_fail,
    run_heartbeat,
    run_lost,
    run_progress,
)
from apps.runs.services.computations import run_store
from apps.runs.services.execute import run_execute
from tests.factories.kinds import World
from tests.factories.runs import claim, kernel_answer, make_run
from weir.lifecycle.runs import RunState

pytestmark = pytest.mark.django_db


@pytest.fixture
def lost(world: World) -> Run:
    """As the worker holds it that has just taken it; the database knows it no more."""
    held = claim(make_run(world.system, seed=1))
    Run.objects.get(pk=held.pk).delete()
    table = Run._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setval(pg_get_serial_sequence(%s, 'id'), %s, false)", [table, held.pk]
        )
    return held


@pytest.fixture
def other(world: World, lost: Run) -> Run:
    """Another run that has got the same key, in the same attempt."""
    held = claim(make_run(world.system, seed=2))
    assert (held.pk, held.attempt) == (lost.pk, lost.attempt)
    return held


def test_an_answer_is_kept_for_no_run_but_its_own(lost, other):
    with pytest.raises(RunTakenAway):
        run_store(lost, kernel_answer(lost))
    assert not RunResult.objects.exists()
    assert not Allocation.objects.exists()
    run_store(other, kernel_answer(other))
    assert Allocation.objects.get().run == other


@pytest.mark.parametrize(
    "end",
    [
        run_heartbeat,
        run_cancelled,
        lambda run: run_fail(run=run, code="job_failed", reason="The job failed."),
        lambda run: run_lost(run=run, code="spark_lost", reason="Away."),
    ],
)
def test_nothing_is_said_of_another_run(lost, other, end):
    heard_at = other.heartbeat_at
    with pytest.raises(RunTakenAway):
        end(run=lost)
    other.refresh_from_db()
    assert (other.state, other.heartbeat_at) == (RunState.RUNNING, heard_at)


def test_a_job_is_told_to_stop(lost, other):
    step = {"iteration": 12}
    assert not run_progress(token=progress_token(lost), progress=step)
    other.refresh_from_db()
    assert other.progress == {}
    assert run_progress(token=progress_token(other), progress=step)


def test_a_message_of_a_forgotten_run_takes_no_other(world, lost):
    """Valkey keeps the messages of runs that Postgres has forgotten."""
    queued = make_run(world.system, seed=2)
    assert queued.pk == lost.pk
    run_execute(public_id=lost.public_id)
    queued.refresh_from_db()
    assert (queued.state, queued.attempt) == (RunState.QUEUED, 0)
