"""Studies over REST: ask, check, watch, cancel, repeat, rename, throw away."""

import csv
import io

import pytest

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.runs.models import Run
from apps.runs.services import run_fail
from apps.studies.models import Study, StudyPoint
from tests.factories import make_system
from tests.factories.kinds import World
from tests.factories.runs import make_allocation
from tests.factories.studies import finish, held, make_study, sweep_spec

pytestmark = pytest.mark.django_db


@pytest.fixture
def spec(world: World):
    return sweep_spec(world.broker.name)


@pytest.fixture
def study(world: World, spec, admin) -> Study:
    return make_study(world.system, spec, admin)


def post(api, path, body, **headers):
    return api.post(f"/api/v1/studies{path}", body, format="json", headers=headers)


def test_study_is_started_on_the_frozen_model(api, world, spec):
    answer = post(api, "", {"system": str(world.system.public_id), "spec": spec})
    assert answer.status_code == 202
    body = answer.json()
    assert answer.headers["Location"] == f"/api/v1/studies/{body['id']}"
    assert (body["state"], body["points_done"], body["points_total"]) == ("queued", 0, 4)
    assert body["name"] == f"Capacity of {world.broker.name}"
    world.system.refresh_from_db()
    assert body["model_version"] == world.system.model_version
    assert body["spec"]["axes"][0]["values"] == [0.5, 1.0, 1.5]
    assert set(body["allowed_commands"]) == {"cancel", "rename"}
    run = Run.objects.get(public_id=body["run"])
    assert run.kind == "study"
    entry = AuditEntry.objects.get(object_kind="study")
    assert (entry.action, str(entry.object_id)) == ("start", body["id"])


def test_same_idempotency_key_starts_one_study(api, world, spec):
    body = {"system": str(world.system.public_id), "spec": spec, "name": "Once"}
    first, second = (post(api, "", body, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert first.json()["id"] == second.json()["id"]
    assert Study.objects.count() == 1


def test_study_of_an_allocation_takes_its_snapshot(api, world, spec):
    allocation = make_allocation(world.system)
    body = {"system": str(world.system.public_id), "spec": spec}
    answer = post(api, "", {**body, "allocation": str(allocation.public_id)}).json()
    assert answer["snapshot_hash"] == allocation.run.snapshot.content_hash
    assert answer["allocation_number"] == allocation.number
    assert Run.objects.get(public_id=answer["run"]).kind == "study"


def test_allocation_of_another_system_is_refused(api, world, spec):
    allocation = make_allocation(world.system)
    other = make_system("other")
    answer = post(
        api,
        "",
        {"system": str(other.public_id), "spec": spec, "allocation": str(allocation.public_id)},
    )
    assert answer.status_code in (400, 409, 422)
    assert not Study.objects.exists()


@pytest.mark.parametrize("path", ["", "/check"])
def test_wrong_field_is_named(api, world, spec, path):
    spec["axes"][0]["edit"]["nodes"] = ["nowhere"]
    answer = post(api, path, {"system": str(world.system.public_id), "spec": spec})
    assert answer.status_code == 422
    body = answer.json()
    assert body["code"] == "invalid_study"
    assert body["errors"][0]["field"] == "spec.axes[0].edit.nodes[0]"
    assert "nowhere" in body["errors"][0]["message"]
    assert not Study.objects.exists()


def test_check_counts_and_estimates_from_former_studies(api, world, spec, study):
    body = {"system": str(world.system.public_id), "spec": spec}
    first = post(api, "/check", body).json()
    assert (first["points"], first["estimated_s"]) == (4, None)
    finish(study)
    assert post(api, "/check", body).json()["estimated_s"] >= 1.0


def test_points_are_listed_filtered_and_taken_away_as_csv(api, study):
    finish(study)
    base = f"/api/v1/studies/{study.public_id}"
    body = api.get(base).json()
    assert (body["state"], body["points_done"]) == ("succeeded", 4)
    assert body["result_hash"]
    assert set(body["allowed_commands"]) == {"rerun", "rename", "delete"}
    page = api.get(f"{base}/points", {"page_size": 3}).json()
    assert (page["count"], len(page["results"])) == (4, 3)
    assert [row["index"] for row in page["results"]] == [0, 1, 2]
    assert api.get(page["next"]).json()["results"][0]["coordinates"] == [1.5]
    assert page["results"][0]["label"] == "As is"
    only = api.get(f"{base}/points", {"status": "infeasible"}).json()
    assert only["count"] == 0
    answer = api.get(f"{base}/points/csv", headers={"accept": "text/csv"})
    assert answer.headers["Content-Type"].startswith("text/csv")
    lines = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [float(line["utility"]) for line in lines] == [
        point.utility for point in StudyPoint.objects.filter(study=study)
    ]


def test_list_is_narrowed_by_system_state_and_kind(api, world, study):
    def count(**query):
        return api.get("/api/v1/studies", query).json()["count"]

    assert count() == 1
    assert count(system=str(world.system.public_id), state="queued", kind="sweep") == 1
    assert count(state="running") == 0
    assert count(kind="schedule") == 0
    assert count(system="00000000-0000-4000-8000-000000000000") == 0


def test_queued_study_is_cancelled_and_started_again(api, study):
    base = f"/{study.public_id}"
    assert post(api, f"{base}/cancel", None).json()["state"] == "cancelled"
    again = post(api, f"{base}/rerun", None)
    assert again.status_code == 202
    assert again.json()["state"] == "queued"
    assert again.json()["run"] != str(study.run.public_id)
    assert post(api, f"{base}/rerun", None).status_code == 409


def test_rerun_clears_the_points_and_gives_the_same_result(api, study):
    first = finish(study)
    answer = post(api, f"/{study.public_id}/rerun", None).json()
    assert answer["points_done"] == 0
    again = finish(Study.objects.get(pk=study.pk))
    assert again.run.result.content_hash == first.run.result.content_hash
    assert again.run.rerun_of == first.run


def test_rename_and_delete_need_the_latest_version(api, study):
    address = f"/api/v1/studies/{study.public_id}"
    name = {"name": "More CPU"}
    assert api.patch(address, name, format="json").status_code == 428
    old = {"if-match": '"7"'}
    assert api.patch(address, name, format="json", headers=old).status_code == 412
    now = {"if-match": '"1"'}
    answer = api.patch(address, name, format="json", headers=now)
    assert (answer.json()["name"], answer.headers["ETag"]) == ("More CPU", '"2"')
    assert api.delete(address, headers={"if-match": '"2"'}).json()["code"] == "study_is_active"
    run_fail(run=held(study), code="job_failed", reason="Broken.")
    assert api.get(address).json()["failure"] == "Broken."
    assert api.delete(address, headers=now).status_code == 412
    assert api.delete(address, headers={"if-match": '"2"'}).status_code == 204
    assert api.get(address).status_code == 404
    assert Run.objects.filter(pk=study.run_id).exists()
    actions = AuditEntry.objects.filter(object_kind="study").values_list("action", flat=True)
    assert set(actions) == {"start", "rename", "delete"}


@pytest.mark.parametrize("path", ["", "/check"])
def test_viewer_may_look_but_not_start(as_role, world, spec, study, path):
    viewer = as_role(Role.VIEWER)
    body = {"system": str(world.system.public_id), "spec": spec}
    assert post(viewer, path, body).status_code == 403
    assert post(viewer, f"/{study.public_id}/cancel", None).status_code == 403
    seen = viewer.get(f"/api/v1/studies/{study.public_id}").json()
    assert seen["allowed_commands"] == []
    assert viewer.get(f"/api/v1/studies/{study.public_id}/points").status_code == 200
