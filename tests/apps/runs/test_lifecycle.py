"""The life of a run without Spark: opened, claimed, answered, cancelled, fenced."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.allocations.models import Allocation
from apps.audit.models import AuditEntry
from apps.common.errors import Conflict
from apps.runs.models import Run, RunResult
from apps.runs.services import (
    CancelWasAsked,
    RunTakenAway,
    run_cancel,
    run_cancelled,
    run_claim,
    run_fail,
    run_heartbeat,
    run_lost,
    runs_reap,
)
from apps.runs.services.computations import run_again, run_store
from tests.factories.kinds import World
from tests.factories.runs import claim, kernel_answer, make_run, make_run_in
from weir.lifecycle.runs import ENDED, RunState

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(world: World) -> Run:
    return make_run(world.system)


def silence(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now() - timedelta(minutes=5))


def history(run: Run) -> list[tuple[str, str, int]]:
    return list(run.events.values_list("command", "state", "attempt"))


def state(run: Run) -> str:
    return Run.objects.get(pk=run.pk).state


def test_a_run_is_sent_when_it_is_opened(world, sent, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        run = make_run(world.system)
    assert sent.tasks() == ["runs.execute"]
    assert (run.state, run.attempt) == (RunState.QUEUED, 0)


def test_a_message_broker_that_is_away_leaves_the_run_queued(
    world, settings, django_capture_on_commit_callbacks
):
    from apps.common.tasks_by_name import _client

    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    _client.cache_clear()
    try:
        with django_capture_on_commit_callbacks(execute=True):
            run = make_run(world.system)
    finally:
        _client.cache_clear()
    assert state(run) == RunState.QUEUED


def test_claim_starts_the_first_attempt(run):
    held = claim(run)
    assert (held.state, held.attempt) == (RunState.RUNNING, 1)
    assert held.worker
    assert held.heartbeat_at is not None
    assert history(run) == [("open", "queued", 0), ("start", "running", 1)]


@pytest.mark.parametrize("ended", sorted(ENDED | {RunState.RUNNING}))
def test_only_a_queued_run_can_be_claimed(world, admin, ended):
    run = make_run_in(ended, world.system, admin)
    assert run_claim(run=run.public_id) is None


def test_claim_of_a_run_that_is_gone_is_nothing_to_do(run):
    gone = run.public_id
    run.delete()
    assert run_claim(run=gone) is None


def test_answer_ends_the_run_and_keeps_the_bytes(run):
    held = claim(run)
    answer = kernel_answer(held)
    run_store(held, answer)
    run.refresh_from_db()
    assert run.state == RunState.SUCCEEDED
    assert run.finished_at is not None
    assert run.kernel_version
    assert bytes(run.result.payload) == answer
    assert run.allocation.utility > 0
    assert history(run)[-1] == ("succeed", "succeeded", 1)


def test_infeasible_run_says_why_and_keeps_no_allocation(world, admin):
    run = make_run_in(RunState.INFEASIBLE, world.system, admin)
    assert (run.failure_code, run.failure) == ("infeasible", "Nothing fits.")
    assert not Allocation.objects.exists()


def test_answer_to_another_problem_is_not_stored(run):
    held = claim(run)
    answer = kernel_answer(held).replace(run.snapshot.content_hash.encode(), b"0" * 64)
    with pytest.raises(ValueError, match="answer to 0000"):
        run_store(held, answer)
    assert not RunResult.objects.exists()
    assert state(run) == RunState.RUNNING


def test_cancel_of_a_queued_run_ends_it_now(run, admin):
    run_cancel(run=run, actor=admin)
    assert state(run) == RunState.CANCELLED
    assert run_claim(run=run.public_id) is None
    entry = AuditEntry.objects.get(object_id=run.public_id, action="cancel")
    assert entry.actor_name == admin.display_name


def test_cancel_of_a_running_run_is_heard_at_the_next_heartbeat(run, admin):
    held = claim(run)
    assert run_heartbeat(run=held) is True
    run_cancel(run=run, actor=admin)
    assert state(run) == RunState.RUNNING
    assert run_heartbeat(run=held) is False
    run_cancelled(run=held)
    assert state(run) == RunState.CANCELLED


def test_answer_that_comes_after_an_accepted_cancel_is_not_kept(run, admin):
    held = claim(run)
    run_cancel(run=run, actor=admin)
    with pytest.raises(CancelWasAsked):
        run_store(held, kernel_answer(held))
    assert not Allocation.objects.filter(run=run).exists()
    run_cancelled(run=held)
    assert state(run) == RunState.CANCELLED


@pytest.mark.parametrize("ended", sorted(ENDED))
def test_cancel_of_an_ended_run_is_refused(world, admin, ended):
    run = make_run_in(ended, world.system, admin)
    with pytest.raises(Conflict, match="already ended") as caught:
        run_cancel(run=run, actor=admin)
    assert caught.value.code == "run_has_ended"


def test_rerun_has_the_same_snapshot_method_parameters_and_seed(world, admin):
    first = make_run(world.system, parameters={"max_iterations": 30}, seed=7, time_limit_s=9.0)
    run_store(held := claim(first), kernel_answer(held))
    first.refresh_from_db()
    again = run_again(run=first, actor=admin)
    for name in ("snapshot_id", "method", "parameters", "seed", "time_limit_s", "system_id"):
        assert getattr(again, name) == getattr(first, name)
    assert again.rerun_of == first
    run_store(held := claim(again), kernel_answer(held))
    assert again.result.content_hash == first.result.content_hash


def test_old_attempt_is_fenced_off(run):
    """A worker that was thought dead comes back after another one took its run."""
    old = claim(run)
    answer = kernel_answer(old)
    silence(run)
    assert runs_reap() == 1
    new = claim(run)
    assert new.attempt == 2
    for late in (
        lambda: run_heartbeat(run=old),
        lambda: run_store(old, answer),
        lambda: run_fail(run=old, code="x", reason="late"),
        lambda: run_lost(run=old, code="x", reason="late"),
        lambda: run_cancelled(run=old),
    ):
        with pytest.raises(RunTakenAway):
            late()
    assert state(run) == RunState.RUNNING
    assert not RunResult.objects.exists()
    run_store(new, answer)
    assert state(run) == RunState.SUCCEEDED


def test_old_attempt_is_fenced_off_while_nobody_has_taken_the_run_yet(run):
    old = claim(run)
    silence(run)
    runs_reap()
    with pytest.raises(RunTakenAway):
        run_store(old, kernel_answer(old))
    assert state(run) == RunState.QUEUED


def test_worker_of_a_deleted_run_notices(run):
    held = claim(run)
    run.delete()
    with pytest.raises(RunTakenAway):
        run_heartbeat(run=held)


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING])
def test_cancelling_says_why_in_the_history_and_in_the_audit(api, admin, world: World, state):
    run = make_run_in(state, world.system, admin)
    answer = api.post(f"/api/v1/runs/{run.public_id}/cancel", {"reason": "Typo."}, format="json")
    assert answer.status_code == 202, answer.content
    events = api.get(f"/api/v1/runs/{run.public_id}").json()["events"]
    assert events[-1]["note"] == "admin: Typo."
    query = {"object": str(run.public_id), "action": "cancel"}
    (entry,) = api.get("/api/v1/audit", query).json()["results"]
    assert entry["reason"] == "Typo."
    refused = api.post(f"/api/v1/runs/{run.public_id}/cancel", {"reasn": "x"}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "reasn")
