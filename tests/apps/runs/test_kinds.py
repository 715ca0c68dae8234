"""Kinds of computation over the API: listed, filtered by, and named by the runs' answers."""

import pytest

from apps.runs.selectors import computations, kind_choices
from config.api_meanings import MEANINGS
from tests.factories.runs import make_allocation, make_run
from tests.factories.studies import make_study, sweep_spec
from tests.schema import SCHEMA

pytestmark = pytest.mark.django_db
OLD_FIELDS = ("allocation", "study", "overlay_evaluation", "computed")


def test_every_kind_is_listed_with_its_words_and_methods(api):
    rows = {row["kind"]: row for row in api.get("/api/v1/computations").json()["results"]}
    assert list(rows) == list(computations())
    study, allocation = rows["study"], rows["allocation"]
    assert study == {
        "kind": "study",
        "title": "What-if studies",
        "noun": "study",
        "address": "/api/v1/studies",
        "snapshot_type": "application/json",
        "schedulable": False,
        "plannable": False,
        "weighs_benefit": False,
        "methods": [],
    }
    assert (allocation["schedulable"], allocation["plannable"]) == (True, True)
    assert {row["name"] for row in allocation["methods"]} >= {"certified", "greedy", "lrgp"}
    assert all(row["title"] and row["summary"] for row in allocation["methods"])
    assert rows["overlay"]["weighs_benefit"]


def test_runs_are_filtered_by_kind(api, world, admin):
    study = make_study(world.system, sweep_spec(world.broker.name), admin)
    make_run(world.system)
    rows = api.get("/api/v1/runs?kind=study").json()["results"]
    assert [row["id"] for row in rows] == [str(study.run.public_id)]
    assert api.get("/api/v1/runs?kind=calibration").json()["results"] == []
    refused = api.get("/api/v1/runs?kind=magic")
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "kind"


def test_answer_is_the_row_that_waits_or_that_came_out(api, world, admin):
    study = make_study(world.system, sweep_spec(world.broker.name), admin)
    waiting = api.get(f"/api/v1/runs/{study.run.public_id}").json()
    assert waiting["answer"] == {"kind": "study", "id": str(study.public_id), "name": str(study)}
    allocation = make_allocation(world.system)
    done = api.get(f"/api/v1/runs/{allocation.run.public_id}").json()
    assert done["answer"] == {
        "kind": "allocation",
        "id": str(allocation.public_id),
        "name": str(allocation),
    }
    queued = api.get(f"/api/v1/runs/{make_run(world.system).public_id}").json()
    assert queued["answer"] is None


def test_fields_of_single_kinds_are_deprecated_and_say_what_to_use():
    for component in ("Run", "RunDetail"):
        fields = SCHEMA["components"]["schemas"][component]["properties"]
        assert {name for name, one in fields.items() if one.get("deprecated")} == set(OLD_FIELDS)
        assert all(fields[name]["description"].endswith("Use `answer`.") for name in OLD_FIELDS)


def test_published_kinds_are_described_by_their_titles():
    assert MEANINGS["RunKindEnum"] == {kind: f"{title}." for kind, title in kind_choices()}
    assert MEANINGS["SubjectEnum"].items() < MEANINGS["RunKindEnum"].items()
