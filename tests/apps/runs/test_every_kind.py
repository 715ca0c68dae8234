"""What holds for every kind of computation that is registered, and for the toy.

A new kind needs no line here: its factory is found by its name in `tests/factories/computations`.
"""

import json
from typing import Any

import pytest
from django.apps import apps

from apps.accounts.models import User
from apps.common.api.routing import routes_of
from apps.plans.models import Plan
from apps.runs.models import Run
from apps.runs.selectors import Again, Computation, computation_of, computations, computed_of
from apps.runs.services.computations import computation_start
from apps.runs.services.gateway import ONE_CALL
from spark_tasks.entry import job_of
from spark_tasks.jobs.kernel import answer_of
from tests.factories.computations import queued, succeeded
from weir.errors import UnknownMethod

KINDS = [*computations(), "tally"]

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("registered"),
    pytest.mark.parametrize("kind", KINDS),
]


@pytest.fixture
def one(registered: None, kind: str) -> Computation:
    return computation_of(kind)


@pytest.fixture
def done(registered: None, kind: str, admin: User) -> Run:
    """A run of the kind whose answer is stored."""
    run = succeeded(kind, admin)
    assert run.state == "succeeded", run.failure
    return run


def test_its_record_fits_its_table_and_its_kernel(one: Computation) -> None:
    assert callable(job_of(one.job or ONE_CALL).build)
    assert not one.kernel or callable(answer_of(one.kernel))
    assert Run._meta.get_field(one.path).related_model is one.model
    model: Any = one.model
    columns = {field.name for field in model._meta.fields}
    assert {"system", "run", "number", *model.LARGE} <= columns
    assert one.row_first == ("author" in columns)
    assert one.title[0].isupper()
    assert not one.title.endswith(".")
    assert one.noun == one.noun.lower()


def test_it_is_listed_with_its_words(api: Any, one: Computation, kind: str) -> None:
    rows = api.get("/api/v1/computations").json()["results"]
    (row,) = [row for row in rows if row["kind"] == kind]
    assert (row["title"], row["noun"], row["address"]) == (one.title, one.noun, one.address)


def test_its_snapshot_is_answered_as_it_was_frozen(api: Any, one: Computation, done: Run) -> None:
    answer = api.get(f"/api/v1/runs/{done.public_id}/snapshot")
    assert (answer.status_code, answer["Content-Type"]) == (200, one.snapshot_type)
    frozen = bytes(done.snapshot.payload)
    if one.snapshot_type == "application/json":
        assert json.loads(answer.content) == json.loads(frozen)
    else:
        assert answer.content == frozen


def test_its_result_is_answered(api: Any, done: Run) -> None:
    answer = api.get(f"/api/v1/runs/{done.public_id}/result")
    assert answer.status_code == 200
    assert answer.json()


def test_answer_names_the_row_and_the_row_is_found(
    api: Any, one: Computation, done: Run, kind: str
) -> None:
    row = computed_of(done)
    assert row is not None
    answer = api.get(f"/api/v1/runs/{done.public_id}").json()["answer"]
    assert answer == {"kind": kind, "id": str(row.public_id), "name": str(row)}
    # The toy has no API.
    if routes_of(apps.get_app_config(one.model._meta.app_label)) is not None:
        row_answer = api.get(f"{one.address}/{answer['id']}")
        assert (row_answer.status_code, row_answer.json()["id"]) == (200, answer["id"])


def test_its_result_is_described_in_a_sentence(one: Computation, done: Run) -> None:
    text = one.describe(computed_of(done))
    assert text.startswith(str(computed_of(done)))
    assert text.endswith(".")
    assert not text.endswith("..")
    assert len(text.split()) >= 3


def test_queued_run_can_be_cancelled(api: Any, kind: str, admin: User) -> None:
    run = queued(kind, admin)
    answer = api.post(f"/api/v1/runs/{run.public_id}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")


def test_ended_run_can_be_repeated_on_its_snapshot(api: Any, done: Run, kind: str) -> None:
    answer = api.post(f"/api/v1/runs/{done.public_id}/rerun")
    assert answer.status_code == 202, answer.content
    again = Run.objects.get(public_id=answer.json()["id"])
    assert (again.kind, again.state, again.rerun_of) == (kind, "queued", done)
    assert again.snapshot == done.snapshot


def test_schedules_can_ask_for_it_by_every_method_that_is_listed(
    one: Computation, done: Run, admin: User
) -> None:
    if one.again is None:
        assert not one.methods()
        return
    assert one.methods()
    assert one.find_method is not None
    assert all(one.find_method(name) for name in one.methods())
    with pytest.raises(UnknownMethod):
        one.find_method("magic")
    for name in one.methods():
        request = one.again(Again(method=name, time_limit_s=1.0, note="nightly: due."))
        run = computation_start(one.kind, system=done.system, actor=admin, **request)
        assert (run.kind, run.state, run.time_limit_s) == (one.kind, "queued", 1.0)


def test_plan_is_made_where_it_can_be(one: Computation, done: Run, admin: User) -> None:
    if one.plan is None:
        return
    plan = one.plan(
        computed_of(done), actor=admin, answerable=None, least_benefit=0.0, asked_by="nightly"
    )
    assert isinstance(plan, Plan)
    # The sentence of a stale plan is found by this.
    assert plan.kind == one.kind
    assert one.plan_again.endswith(".")
