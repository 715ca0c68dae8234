"""A new kind of computation needs a table, a record and a kernel; the rest is for all kinds."""

from dataclasses import replace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.common.errors import ApplicationError, Conflict
from apps.recomputation.services import firings_settle, firings_start, schedule_create, schedule_run
from apps.runs.models import Run
from apps.runs.selectors import computation_of, computations, run_rows
from apps.runs.services import CancelWasAsked, run_cancel, run_fail
from apps.runs.services.computations import computation_start, run_again, run_store
from apps.runs.services.execute import run_execute
from tests.apps.runs.toy import kernel
from tests.apps.runs.toy.models import Tally
from tests.factories.computations import succeeded
from tests.factories.kinds import World
from tests.factories.runs import claim, make_allocation
from weir.kernel import Call
from weir.lifecycle.runs import RunState

TEXT = "the quick brown fox"


def asked(world: World, actor: Any = None, text: str = TEXT) -> Run:
    return computation_start("tally", system=world.system, actor=actor, text=text)


def answered(run: Run) -> Run:
    held = claim(run)
    run_store(held, kernel.answer(bytes(held.snapshot.payload), Call()))
    return Run.objects.get(pk=run.pk)


@pytest.mark.django_db
@pytest.mark.usefixtures("registered")
class TestToy:
    """Started, answered, shown, repeated, cancelled, computed by a schedule; on Spark, too."""

    def test_answer_becomes_a_numbered_row_that_its_run_shows(self, api, world, admin):
        run = answered(asked(world, admin))
        assert (run.kind, run.state, run.snapshot.kind) == ("tally", "succeeded", "tally")
        tally = Tally.objects.get()
        assert (str(tally), tally.words, tally.system) == ("T-1", 4, world.system)
        body = api.get(f"/api/v1/runs/{run.public_id}").json()
        assert body["computed"] == {"id": str(tally.public_id), "name": "T-1"}
        assert body["answer"] == {"kind": "tally", **body["computed"]}
        assert body["allocation"] is None
        assert api.get("/api/v1/runs").json()["results"][0]["answer"]["name"] == "T-1"

    def test_repeated_run_gives_the_same_bytes_and_the_next_number(self, world, admin):
        first = answered(asked(world, admin))
        again = answered(run_again(run=first, actor=admin))
        assert again.result.content_hash == first.result.content_hash
        assert (again.rerun_of, again.snapshot) == (first, first.snapshot)
        assert str(again.tally) == "T-2"

    def test_numbers_are_counted_in_each_system_and_without_one_are_the_runs(self, world, admin):
        free = computation_start("tally", system=None, actor=admin, text=TEXT)
        assert answered(free).tally.number == free.pk
        assert answered(asked(world)).tally.number == 1

    def test_what_is_refused_leaves_nothing(self, world):
        with pytest.raises(ApplicationError, match="at least one word"):
            asked(world, text="")
        assert not Run.objects.exists()
        assert not AuditEntry.objects.filter(object_kind="run").exists()

    def test_answer_to_another_question_is_not_kept(self, world):
        held = claim(asked(world))
        with pytest.raises(ValueError, match="another text"):
            run_store(held, kernel.answer(b"else", Call()))
        assert not Tally.objects.exists()
        held.refresh_from_db()
        assert held.state == RunState.RUNNING

    def test_answer_after_a_cancel_is_not_kept(self, world, admin):
        held = claim(asked(world))
        run_cancel(run=held, actor=admin)
        with pytest.raises(CancelWasAsked):
            run_store(held, kernel.answer(TEXT.encode(), Call()))
        assert not Tally.objects.exists()

    def test_run_that_has_not_ended_is_not_repeated(self, world, admin):
        with pytest.raises(Conflict, match="still queued"):
            run_again(run=asked(world), actor=admin)

    @pytest.mark.parametrize(
        ("then", "outcome", "detail"),
        [("none", "computed", "T-1: 3 words."), ("draft", "drafted", "P-1 Enact T-1")],
    )
    def test_a_schedule_computes_it_and_plans_what_came_out(
        self, world, admin, then, outcome, detail
    ):
        values = {"name": "nightly", "every_s": 60, "subject": "tally", "then": then}
        schedule = schedule_create(system=world.system, actor=admin, values=values)
        firing = schedule_run(schedule=schedule, actor=admin)
        assert firings_start() == 1
        firing.refresh_from_db()
        answered(firing.run)
        assert firings_settle() == 1
        firing.refresh_from_db()
        assert (firing.outcome, firing.detail) == (outcome, detail)

    @pytest.mark.spark
    @pytest.mark.slow
    def test_a_worker_finds_its_kernel(self, spark_server, world, settings, tmp_path):
        settings.WEIR_DATA_DIR = tmp_path / "data"
        run = asked(world)
        run_execute(public_id=run.public_id)
        run.refresh_from_db()
        assert (run.state, run.tally.words) == (RunState.SUCCEEDED, 4), run.failure

    @pytest.mark.parametrize("names", [{"kernel": "", "job": ""}, {"job": "solve"}])
    def test_a_kind_names_either_a_kernel_or_a_job(self, names):
        with pytest.raises(ValueError, match="tally: name either a kernel or a job"):
            replace(computation_of("tally"), **names)

    def test_two_apps_may_not_compute_the_same_kind(self, monkeypatch):
        record = ("tests.apps.runs.toy.computation.TALLY",)
        monkeypatch.setattr(apps.get_app_config("demo"), "computations", record, raising=False)
        computations.cache_clear()
        with pytest.raises(ValueError, match="another app computes 'tally'"):
            computations()


@pytest.mark.django_db
def test_a_kind_that_nobody_registered_is_refused_and_its_run_fails(world, request, monkeypatch):
    with pytest.raises(ApplicationError, match='computes no "tally"'):
        asked(world)
    request.getfixturevalue("registered")
    run = asked(world)
    monkeypatch.setattr(apps.get_app_config("toy"), "computations", ())
    computations.cache_clear()
    run_execute(public_id=run.public_id)
    run.refresh_from_db()
    assert (run.state, run.failure_code) == (RunState.FAILED, "unknown_kind")
    with pytest.raises(ApplicationError, match="computes no"):
        run_again(run=run, actor=None)


@pytest.mark.django_db
def test_a_failed_study_is_begun_again_from_the_list_of_runs(api, world, admin):
    from tests.factories.studies import make_study, sweep_spec

    study = make_study(world.system, sweep_spec(world.broker.name), admin)
    run_fail(run=claim(study.run), code="job_failed", reason="Broken.")
    answer = api.post(f"/api/v1/runs/{study.run.public_id}/rerun")
    assert answer.status_code == 202
    study.refresh_from_db()
    assert str(study.run.public_id) == answer.json()["id"]
    entries = AuditEntry.objects.filter(object_kind="study").order_by("id")
    assert [entry.action for entry in entries] == ["start", "rerun"]
    first = Run.objects.get(reruns=study.run)
    refused = api.post(f"/api/v1/runs/{first.public_id}/rerun")
    assert (refused.status_code, refused.json()["code"]) == (409, "run_is_past")


@pytest.mark.django_db
def test_list_of_runs_is_read_in_statements_over_few_tables(
    api: Any, world: World, admin: User, django_assert_num_queries: Any
) -> None:
    """With more joins Postgres looks long for an order of them, at each request."""
    succeeded("mapping", admin)
    make_allocation(world.system)
    make_allocation(world.system)
    with CaptureQueriesContext(connection) as few:
        rows = api.get("/api/v1/runs").json()["results"]
    assert [row["answer"]["name"] for row in rows] == ["A-2", "A-1", "M-1"]
    assert [row["starts_from_name"] for row in rows] == ["A-1", None, None]
    assert max(query["sql"].count(" JOIN ") for query in few) <= 8
    make_allocation(world.system)
    with django_assert_num_queries(len(few)):
        assert api.get("/api/v1/runs").json()["count"] == 4


@pytest.mark.django_db
def test_runs_are_read_as_values_too(world: World) -> None:
    run = make_allocation(world.system).run
    assert list(run_rows().values_list("kind", flat=True)) == [run.kind]
    assert run_rows().values("pk").get() == {"pk": run.pk}
