"""Systems over REST."""

import pytest

from apps.audit.models import AuditEntry
from apps.catalog.models import Topic
from apps.runs.models import Run
from apps.systems.models import Edition, System
from apps.systems.services import entity_update, one_edit
from apps.systems.services.edit import advance, lock
from apps.topology.models import Broker
from tests.factories import make_broker, make_system
from tests.factories.kinds import KINDS, World
from tests.factories.runs import make_allocation

pytestmark = pytest.mark.django_db


def match(version: int) -> dict[str, str]:
    return {"if-match": f'"{version}"'}


def fields(answer) -> list[str]:
    return [error["field"] for error in answer.json()["errors"]]


def test_create_read_edit(api):
    made = api.post("/api/v1/systems", {"name": "harbour", "reason": "pilot"}, format="json")
    assert made.status_code == 201, made.content
    body = made.json()
    assert (body["resources"], body["model_version"], body["version"]) == (["cpu"], 1, 1)
    edit = {"description": "the port", "resources": ["cpu", "memory"]}
    edited = api.patch(made["Location"], edit, format="json", headers=match(1))
    assert edited.status_code == 200, edited.content
    assert (edited.json()["model_version"], edited["ETag"]) == (2, '"2"')
    entry = AuditEntry.objects.get(action="update")
    assert entry.before == {"description": "", "resources": ["cpu"]}
    assert entry.after == edit
    assert AuditEntry.objects.get(action="create", object_kind="system").reason == "pilot"


def test_record_of_an_edit_holds_only_what_changed(api):
    system = make_system()
    edit = {"name": "harbour", "description": "new"}
    api.patch(f"/api/v1/systems/{system.public_id}", edit, format="json", headers=match(1))
    entry = AuditEntry.objects.get(action="update")
    assert (entry.before, entry.after) == ({"description": ""}, {"description": "new"})


def test_versions_are_needed_and_checked(api):
    address = f"/api/v1/systems/{make_system().public_id}"
    assert api.patch(address, {"name": "x"}, format="json").status_code == 428
    assert api.delete(address).status_code == 428
    assert api.patch(address, {"name": "x"}, format="json", headers=match(7)).status_code == 412
    assert api.delete(address, headers=match(7)).status_code == 412


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"product": "telegraph"}, "product"),
        ({"resources": []}, "resources"),
        ({"resources": ["cpu", "cpu"]}, "resources"),
        ({"resources": [""]}, "resources[0]"),
        ({"resources": ["x" * 33]}, "resources[0]"),
        ({"resources": [str(i) for i in range(9)]}, "resources"),
        ({"resources": "cpu"}, "resources"),
        ({"reason": "x" * 501}, "reason"),
    ],
)
def test_what_is_wrong_is_named(api, values, field):
    answer = api.post("/api/v1/systems", {"name": "new", **values}, format="json")
    assert answer.status_code == 400, answer.content
    assert fields(answer) == [field]


def test_name_is_taken_once(api):
    make_system("harbour")
    answer = api.post("/api/v1/systems", {"name": "harbour"}, format="json")
    assert answer.status_code in (400, 409)
    assert fields(answer) == ["name"]


def test_delete_takes_everything_but_the_history(api, world: World):
    make_allocation(world.system)
    other = make_system("elsewhere")
    broker = make_broker(other)
    before = AuditEntry.objects.filter(system_id=world.system.public_id).count()
    address = f"/api/v1/systems/{world.system.public_id}?reason=sold"
    answer = api.delete(address, headers=match(world.system.version))
    assert answer.status_code == 204, answer.content
    assert list(System.objects.all()) == [other]
    assert list(Broker.objects.all()) == [broker]
    assert not Run.objects.exists()
    for kind in KINDS:
        assert not kind.model._default_manager.filter(system=world.system.pk).exists()
    history = AuditEntry.objects.filter(system_id=world.system.public_id)
    assert history.count() == before + 1
    assert history.order_by("-id")[0].reason == "sold"


@pytest.mark.parametrize(
    ("path", "target", "user"),
    [
        ("brokers", "broker", "world-link"),
        ("links", "link", "world-topic"),
        ("utility-functions", "utility", "world-class"),
        ("groups", "group", "world-stream"),
    ],
)
def test_delete_is_refused_while_in_use_and_says_by_what(api, world: World, path, target, user):
    if target == "group":
        from apps.catalog.models import Stream

        Stream.objects.update(group=world.group)
    address = f"/api/v1/{path}/{world.reference(target)}"
    answer = api.delete(address, headers=match(getattr(world, target).version))
    assert (answer.status_code, answer.json()["code"]) == (409, "still_in_use"), answer.content
    assert user in answer.json()["detail"]
    assert api.get(address).status_code == 200


def test_edits_in_one_edit_advance_the_model_version_once(world: World):
    before = System.objects.get(pk=world.system.pk).model_version
    with one_edit():
        for broker in (world.broker, world.other_broker):
            entity_update(instance=broker, actor=None, expected_version=1, values={"region": "eu"})
    assert System.objects.get(pk=world.system.pk).model_version == before + 1


def test_one_edit_within_another_is_a_part_of_it(world: World):
    before = System.objects.get(pk=world.system.pk).model_version

    def fail(broker: Broker):
        with one_edit():
            entity_update(instance=broker, actor=None, expected_version=1, values={"region": "eu"})
            raise ZeroDivisionError

    with one_edit():
        # What was taken back has not advanced the version for what follows.
        with pytest.raises(ZeroDivisionError):
            fail(world.broker)
        for broker in (world.broker, world.other_broker):
            with one_edit():
                entity_update(
                    instance=broker, actor=None, expected_version=1, values={"region": "us"}
                )
    assert System.objects.get(pk=world.system.pk).model_version == before + 1


def test_a_failed_edit_within_one_edit_undoes_all_of_it(world: World):
    before = System.objects.get(pk=world.system.pk).model_version

    def edit_and_fail():
        with one_edit():
            entity_update(
                instance=world.broker, actor=None, expected_version=1, values={"region": "eu"}
            )
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        edit_and_fail()
    assert System.objects.get(pk=world.system.pk).model_version == before
    assert Topic.objects.count() == 1
    assert Broker.objects.get(pk=world.broker.pk).region == ""


def test_resource_in_use_is_not_taken_away(api, world: World):
    address = f"/api/v1/systems/{world.system.public_id}"
    answer = api.patch(address, {"resources": ["network"]}, format="json", headers=match(1))
    assert (answer.status_code, answer.json()["code"]) == (409, "still_in_use"), answer.content
    assert fields(answer) == ["resources"]
    more = api.patch(address, {"resources": ["cpu", "network"]}, format="json", headers=match(1))
    assert more.status_code == 200, more.content


def test_name_with_a_line_break_is_refused(api, world: World):
    body = {"system": str(world.system.public_id), "name": "two\nlines", "rate_max_per_s": 5}
    answer = api.post("/api/v1/topics", body, format="json")
    assert answer.status_code == 400, answer.content
    assert fields(answer) == ["name"]


def test_history_comes_newest_first(api, world: World):
    address = f"/api/v1/brokers/{world.broker.public_id}"
    api.patch(address, {"region": "eu"}, format="json", headers=match(1))
    told = api.get("/api/v1/audit", {"object": str(world.broker.public_id)}).json()["results"]
    assert [entry["action"] for entry in told] == ["update", "create"]


def test_an_edition_never_names_two_models() -> None:
    """The version does, where a database went back and somebody edits again."""
    system = make_system()

    def edited() -> tuple[int, Edition]:
        return advance(lock(system)), System.objects.get(pk=system.pk).edition

    before = System.objects.get(pk=system.pk)
    version, lost = edited()
    System.objects.filter(pk=system.pk).update(
        model_version=before.model_version, updated_at=before.updated_at
    )
    assert System.objects.get(pk=system.pk).edition == before.edition
    again, other = edited()
    assert again == version
    assert other != lost
