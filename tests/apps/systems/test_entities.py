"""What every kind of object of a system can do over REST: one suite, run over all of them."""

from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.systems.models import System
from tests.conftest import tagged_version
from tests.factories import make_system
from tests.factories.kinds import KINDS, Kind, World, make_world

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.path),
]


def create(api: Any, kind: Kind, world: World, name: str = "alpha", **values: Any) -> Any:
    if kind.path in ("groups", "streams"):
        values.setdefault("number", 1 + kind.model._default_manager.count())
    answer = api.post(f"/api/v1/{kind.path}", kind.new(world, name, **values), format="json")
    assert answer.status_code == 201, answer.content
    return answer


def at(kind: Kind, body: dict[str, Any]) -> str:
    return f"/api/v1/{kind.path}/{body['id']}"


def match(version: int) -> dict[str, str]:
    return {"if-match": f'"{version}"'}


def model_version(world: World) -> int:
    return System.objects.get(pk=world.system.pk).model_version


def names(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [row["name"] for row in answer.json()["results"]]


def comparable(value: Any) -> Any:
    """Child rows as the request wrote them: without the names that the answer adds."""
    if isinstance(value, list):
        return [{k: v for k, v in row.items() if not k.endswith("_name")} for row in value]
    return value


def test_create_answers_what_was_sent_and_where_it_is(api, world, kind):
    sent = kind.new(world)
    answer = api.post(f"/api/v1/{kind.path}", sent, format="json")
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert {name: comparable(body[name]) for name in sent} == sent
    assert answer["Location"] == at(kind, body)
    assert answer["ETag"] == f'"{body["version"]}"'
    read = api.get(answer["Location"])
    assert read.json() == body
    assert tagged_version(read) == body["version"]


def test_edit_changes_only_what_is_given(api, world, kind):
    before = create(api, kind, world).json()
    answer = api.patch(at(kind, before), kind.edit, format="json", headers=match(1))
    assert answer.status_code == 200, answer.content
    after = answer.json()
    assert {name: after[name] for name in kind.edit} == kind.edit
    assert after["version"] == 2
    assert answer["ETag"] == '"2"'
    untouched = set(before) - set(kind.edit) - {"version", "updated_at"}
    assert {name: after[name] for name in untouched} == {name: before[name] for name in untouched}


def test_delete_leaves_nothing_to_read(api, world, kind):
    body = create(api, kind, world).json()
    assert api.delete(at(kind, body), headers=match(1)).status_code == 204
    assert api.get(at(kind, body)).status_code == 404
    assert "alpha" not in names(api.get(f"/api/v1/{kind.path}"))


def test_writes_must_say_which_version_they_edit(api, world, kind):
    body = create(api, kind, world).json()
    for answer in (api.patch(at(kind, body), kind.edit, format="json"), api.delete(at(kind, body))):
        assert answer.status_code == 428
        assert answer.json()["code"] == "if_match_required"


def test_a_stale_version_is_refused(api, world, kind):
    body = create(api, kind, world).json()
    assert api.patch(at(kind, body), kind.edit, format="json", headers=match(1)).status_code == 200
    for answer in (
        api.patch(at(kind, body), {"name": "late"}, format="json", headers=match(1)),
        api.delete(at(kind, body), headers=match(1)),
        api.delete(at(kind, body), headers={"if-match": "nonsense"}),
    ):
        assert answer.status_code == 412
        assert answer.json()["code"] == "version_mismatch"
    assert api.get(at(kind, body)).json()["name"] == "alpha"


def test_each_edit_advances_the_model_version_by_one_and_a_refused_one_does_not(api, world, kind):
    start = model_version(world)
    body = create(api, kind, world).json()
    assert model_version(world) == start + 1
    twin = api.post(f"/api/v1/{kind.path}", kind.new(world), format="json")
    assert twin.status_code in (400, 409)
    unnamed = api.post(f"/api/v1/{kind.path}", kind.new(world, name=""), format="json")
    assert unnamed.status_code == 400
    assert api.delete(at(kind, body), headers=match(9)).status_code == 412
    assert model_version(world) == start + 1
    api.patch(at(kind, body), kind.edit, format="json", headers=match(1))
    assert model_version(world) == start + 2
    api.delete(at(kind, body), headers=match(2))
    assert model_version(world) == start + 3


def test_history_says_who_what_why_and_only_what_changed(api, admin, world, kind):
    body = create(api, kind, world, reason="spring plan").json()
    api.patch(at(kind, body), {**kind.edit, "reason": "more load"}, format="json", headers=match(1))
    api.delete(at(kind, body) + "?reason=no+longer+used", headers=match(2))
    made, edited, deleted = AuditEntry.objects.filter(object_id=body["id"]).order_by("id")
    assert [e.action for e in (made, edited, deleted)] == ["create", "update", "delete"]
    assert [e.reason for e in (made, edited, deleted)] == [
        "spring plan",
        "more load",
        "no longer used",
    ]
    assert {e.actor_name for e in (made, edited, deleted)} == {admin.display_name}
    assert {e.system_id for e in (made, edited, deleted)} == {world.system.public_id}
    assert deleted.model_version == made.model_version + 2
    assert (made.before, made.after["name"]) == (None, "alpha")
    assert set(edited.before) == set(edited.after) == set(kind.edit)
    assert edited.after == kind.edit
    assert edited.before == {name: made.after[name] for name in kind.edit}
    assert (deleted.before["name"], deleted.after) == ("alpha", None)


def test_search_finds_by_every_word_of_the_name(api, world, kind):
    create(api, kind, world, "north gate")
    create(api, kind, world, "south gate")
    find = f"/api/v1/{kind.path}?search="
    assert names(api.get(f"{find}north+gate")) == ["north gate"]
    assert names(api.get(f"{find}gate&ordering=-name")) == ["south gate", "north gate"]
    assert names(api.get(f"{find}nowhere")) == []


def test_list_is_narrowed_to_a_system(api, world, kind):
    elsewhere = make_world("elsewhere")
    create(api, kind, world, "here")
    create(api, kind, elsewhere, "there")
    here = names(api.get(f"/api/v1/{kind.path}", {"system": str(world.system.public_id)}))
    assert "here" in here
    assert "there" not in here


def test_name_is_unique_in_its_system_and_free_in_another(api, world, kind):
    create(api, kind, world)
    values = {"number": 77} if kind.path in ("groups", "streams") else {}
    answer = api.post(f"/api/v1/{kind.path}", kind.new(world, **values), format="json")
    assert answer.status_code in (400, 409)
    assert [error["field"] for error in answer.json()["errors"]] == ["name"]
    create(api, kind, make_world("elsewhere"))


def test_bad_name_is_refused_at_its_field(api, world, kind):
    for name in ("", "   ", "x" * 201, None, ["a"], {"a": 1}, "nul\x00"):
        answer = api.post(f"/api/v1/{kind.path}", kind.new(world, name=name), format="json")
        assert answer.status_code == 400, answer.content
        assert [error["field"] for error in answer.json()["errors"]] == ["name"], name


def test_unknown_system_is_refused_at_its_field(api, world, kind):
    for system in ("nonsense", 12, None, [], "00000000-0000-0000-0000-000000000000"):
        body = {**kind.new(world), "system": system}
        answer = api.post(f"/api/v1/{kind.path}", body, format="json")
        assert answer.status_code == 400, answer.content
        assert "system" in [error["field"] for error in answer.json()["errors"]], system


def test_an_object_stays_in_its_system(api, world, kind):
    body = create(api, kind, world).json()
    other = make_system("elsewhere")
    move = {"system": str(other.public_id)}
    answer = api.patch(at(kind, body), move, format="json", headers=match(1))
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "system"


def test_a_body_that_is_no_object_is_refused(api, world, kind):
    for body in ("text", 5, [], [1], True):
        answer = api.post(f"/api/v1/{kind.path}", body, format="json")
        assert answer.status_code == 400, answer.content
        assert answer.json()["code"] in ("invalid", "parse_error")


def test_references_lead_only_to_known_objects_of_the_same_system(api, world, kind):
    elsewhere = make_world("elsewhere")
    for member, target in kind.references.items():
        for wrong in (elsewhere.reference(target), "nonsense", 7, {"a": 1}, "0" * 400):
            body = kind.new(world)
            field = member
            if "." in member:
                rows, inner = member.split(".")
                body[rows] = [{**body[rows][0], inner: wrong}]
                field = f"{rows}[0].{inner}"
            else:
                body[member] = wrong
            answer = api.post(f"/api/v1/{kind.path}", body, format="json")
            assert answer.status_code == 400, (member, wrong, answer.content)
            assert [error["field"] for error in answer.json()["errors"]] == [field], wrong


def test_lists_ask_no_more_of_the_database_when_they_grow(
    api, world, kind, django_assert_max_num_queries
):
    for index in range(2):
        create(api, kind, world, f"first {index}")
    with django_assert_max_num_queries(12) as captured:
        api.get(f"/api/v1/{kind.path}")
    few = len(captured)
    for index in range(6):
        create(api, kind, world, f"more {index}")
    with django_assert_max_num_queries(few):
        assert api.get(f"/api/v1/{kind.path}").json()["count"] >= 8


def test_pages_hold_every_row_once_in_every_order(api, world, kind):
    """Also where values repeat or are missing."""
    from config.urls import router

    view: Any = next(v for prefix, v, _ in router.registry if prefix == kind.path)
    for index in range(5):
        create(api, kind, world, f"row {index}")
    fields = [*view.ordering_fields, "-" + view.ordering_fields[0]]
    fields += [f"-{name}" for name in view.ordering_fields[1:]]
    total = kind.model._default_manager.count()
    for ordering in fields:
        for step in ("next", "previous"):
            seen, link = [], f"/api/v1/{kind.path}?page_size=2&ordering={ordering}"
            pages = []
            while link:
                page = api.get(link)
                assert page.status_code == 200, (ordering, page.content)
                pages.append([row["name"] for row in page.json()["results"]])
                seen += pages[-1]
                last, link = link, page.json()["next"]
                assert len(pages) <= total, (ordering, pages)
            assert len(seen) == total, (ordering, pages)
            assert len(set(seen)) == total, (ordering, pages)
            if step == "previous":
                backwards = []
                while last:
                    page = api.get(last).json()
                    backwards.insert(0, [row["name"] for row in page["results"]])
                    last = page["previous"]
                assert [n for p in backwards for n in p] == seen, ordering


def test_repeat_under_an_idempotency_key_gets_the_first_answer(api, world, kind):
    headers = {"idempotency-key": "k-1"}
    first = api.post(f"/api/v1/{kind.path}", kind.new(world), format="json", headers=headers)
    again = api.post(f"/api/v1/{kind.path}", kind.new(world), format="json", headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again["Idempotency-Replayed"] == "true"
    assert again["Location"] == first["Location"]
    other = api.post(
        f"/api/v1/{kind.path}", kind.new(world, "beta"), format="json", headers=headers
    )
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert names(api.get(f"/api/v1/{kind.path}?search=alpha")) == ["alpha"]
