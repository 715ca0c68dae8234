"""Pins of topics to streams and of streams to groups: edited, filtered, imported, kept in
history."""

from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.catalog.models import Stream, Topic
from tests.factories.kinds import World, make_world

pytestmark = pytest.mark.django_db


def match(version: int) -> dict[str, str]:
    return {"if-match": f'"{version}"'}


def pinned(api: Any, world: World) -> tuple[dict[str, Any], dict[str, Any]]:
    """The topic pinned to the stream, and the stream to the group, over the API."""
    rows = []
    for path, target in (("topics", "stream"), ("streams", "group")):
        address = f"/api/v1/{path}/{world.reference(path[:-1])}"
        body = {f"pinned_{target}": world.reference(target), "reason": "agreed"}
        answer = api.patch(address, body, format="json", headers=match(1))
        assert answer.status_code == 200, answer.content
        rows.append(answer.json())
    return rows[0], rows[1]


def test_a_pin_is_set_read_by_name_and_taken_away(api, world):
    topic, stream = pinned(api, world)
    assert (topic["pinned_stream"], topic["pinned_stream_name"]) == (
        world.reference("stream"),
        "world-stream",
    )
    assert (stream["pinned_group"], stream["pinned_group_name"]) == (
        world.reference("group"),
        "world-group",
    )
    # Neither is where it is pinned to: that is what a mapping brings.
    assert (topic["stream"], stream["group"]) == (None, None)
    for path, row in (("topics", topic), ("streams", stream)):
        (name,) = (member for member in ("pinned_stream", "pinned_group") if member in row)
        address = f"/api/v1/{path}/{row['id']}"
        answer = api.patch(address, {name: None}, format="json", headers=match(2))
        assert (answer.json()[name], answer.json()[f"{name}_name"]) == (None, None)


@pytest.mark.parametrize("path", ["topics", "streams"])
def test_lists_are_filtered_by_whether_there_is_a_pin(api, world, path):
    make_world("elsewhere")
    pinned(api, world)
    mine = {"system": str(world.system.public_id)}
    model: Any = {"topics": Topic, "streams": Stream}[path]
    total = model.objects.filter(system=world.system).count()
    extra = {"name": "free", "number": 7} if path == "streams" else {"name": "free"}
    rates = {"rate_max_per_s": 1.0} if path == "topics" else {}
    assert api.post(f"/api/v1/{path}", {**mine, **extra, **rates}, format="json").status_code == 201
    names = {
        value: [
            row["name"]
            for row in api.get(f"/api/v1/{path}", {**mine, "pinned": value}).json()["results"]
        ]
        for value in ("true", "false")
    }
    assert names == {"true": [f"world-{path[:-1]}"], "false": ["free"]}
    assert api.get(f"/api/v1/{path}", mine).json()["count"] == total + 1
    assert api.get(f"/api/v1/{path}", {"pinned": "true"}).json()["count"] == 1


def test_the_history_names_what_it_is_pinned_to(api, world):
    pinned(api, world)
    for kind, name, target in (
        ("topic", "pinned_stream", "world-stream"),
        ("stream", "pinned_group", "world-group"),
    ):
        entry = AuditEntry.objects.filter(object_kind=kind, action="update").get()
        assert (entry.before, entry.after) == ({name: None}, {name: target})
        assert entry.reason == "agreed"


@pytest.mark.parametrize(
    ("path", "target", "user"),
    [("streams", "stream", "topic world-topic"), ("groups", "group", "stream world-stream")],
)
def test_what_something_is_pinned_to_is_not_deleted(api, world, path, target, user):
    pinned(api, world)
    row = getattr(world, target)
    row.refresh_from_db()
    answer = api.delete(f"/api/v1/{path}/{row.public_id}", headers=match(row.version))
    assert (answer.status_code, answer.json()["code"]) == (409, "still_in_use")
    assert f"{target} world-{target} is still used by {user}." in answer.json()["detail"]


def test_a_system_is_deleted_with_its_pins(api, world):
    pinned(api, world)
    world.system.refresh_from_db()
    address = f"/api/v1/systems/{world.system.public_id}"
    answer = api.delete(address, headers=match(world.system.version))
    assert answer.status_code == 204, answer.content
    assert not Topic.objects.exists()


class TestImport:
    def send(self, api: Any, world: World, path: str, rows: Any) -> Any:
        address = f"/api/v1/{path}/import?system={world.system.public_id}"
        if isinstance(rows, str):
            answer = api.generic("POST", address, rows, content_type="text/csv")
        else:
            answer = api.post(address, {"rows": rows}, format="json")
        return answer

    def test_pins_are_imported_by_name_from_csv_and_from_json(self, api, world):
        table = "name,pinned_stream\nworld-topic,world-stream\n"
        assert self.send(api, world, "topics", table).json()["changed"] == 1
        rows = [{"name": "world-stream", "pinned_group": "world-group"}]
        assert self.send(api, world, "streams", rows).json()["changed"] == 1
        assert Topic.objects.get(name="world-topic").pinned_stream == world.stream
        assert Stream.objects.get(name="world-stream").pinned_group == world.group
        empty = "name,pinned_stream\nworld-topic,\n"
        assert self.send(api, world, "topics", empty).json()["changed"] == 1
        assert Topic.objects.get(name="world-topic").pinned_stream is None

    def test_a_name_that_is_not_there_is_refused_at_its_line(self, api, world):
        make_world("elsewhere")
        table = "name,pinned_stream\nworld-topic,stream-of-nobody\n"
        answer = self.send(api, world, "topics", table)
        assert answer.status_code == 400
        (error,) = answer.json()["errors"]
        assert (error["line"], error["field"]) == (2, "pinned_stream")

    @pytest.mark.parametrize("path", ["topics", "streams"])
    def test_an_export_has_the_pins_and_imports_as_nothing_changed(self, api, world, path):
        pinned(api, world)
        address = f"/api/v1/{path}/export?system={world.system.public_id}"
        table = api.get(address).content.decode()
        target = {"topics": "stream", "streams": "group"}[path]
        head, line = table.splitlines()
        cells = dict(zip(head.split(","), line.split(","), strict=True))
        assert cells[f"pinned_{target}"] == f"world-{target}"
        done = self.send(api, world, path, table).json()
        assert (done["created"], done["changed"], done["unchanged"]) == (0, 0, 1)
        other = make_world("elsewhere")
        assert self.send(api, other, path, table).json()["changed"] == 1
        assert (
            api.get(
                address.replace(str(world.system.public_id), str(other.system.public_id))
            ).content.decode()
            == table
        )
