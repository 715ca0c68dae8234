"""Objects have ids and labels of other systems, by which they are found, and no plan minds them."""

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from apps.audit.models import AuditEntry
from apps.catalog.models import CorrelationKey
from apps.plans.models import Plan
from apps.plans.selectors.staleness import has_moved, moved_because
from apps.systems.models import System
from apps.topology.models import Broker
from tests.factories import make_broker, make_system, make_user
from tests.factories.fleet import make_harbour
from tests.factories.kinds import KINDS, Kind, World
from tests.factories.plans import edit_model, make_plan, submitted
from weir.lifecycle.plans import PlanState

pytestmark = pytest.mark.django_db

EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.path)
KNOWN = {"external_id": "crn:port/1", "labels": {"team": "port", "tier": "1"}}


def create(api: Any, kind: Kind, world: World, name: str = "alpha", **values: Any) -> Any:
    if kind.path in ("groups", "streams"):
        values.setdefault("number", 1 + kind.model._default_manager.count())
    return api.post(f"/api/v1/{kind.path}", kind.new(world, name, **values), format="json")


def edit(api: Any, row: Any, path: str, **values: Any) -> Any:
    headers = {"if-match": f'"{row["version"]}"'}
    return api.patch(f"/api/v1/{path}/{row['id']}", values, format="json", headers=headers)


def names(api: Any, path: str, query: str) -> list[str]:
    answer = api.get(f"/api/v1/{path}?{query}")
    assert answer.status_code == 200, answer.content
    return [row["name"] for row in answer.json()["results"]]


def error(answer: Any) -> tuple[int, list[tuple[str, str]]]:
    rows = answer.json().get("errors", [])
    return answer.status_code, [(one["field"], one["message"]) for one in rows]


def model_version(system: System) -> int:
    return System.objects.get(pk=system.pk).model_version


@EVERY_KIND
def test_what_others_call_it_is_kept_changed_and_taken_away(
    api: Any, world: World, kind: Kind
) -> None:
    row = create(api, kind, world, **KNOWN).json()
    assert {name: row[name] for name in KNOWN} == KNOWN
    version = model_version(world.system)
    answer = edit(api, row, kind.path, external_id="crn:port/2", labels={"team": "ops"})
    assert answer.status_code == 200, answer.content
    changed = answer.json()
    assert (changed["external_id"], changed["labels"]) == ("crn:port/2", {"team": "ops"})
    assert changed["version"] == row["version"] + 1
    assert edit(api, changed, kind.path, labels={"team": "ops"}).json() == changed
    gone = edit(api, changed, kind.path, external_id="", labels={}).json()
    assert (gone["external_id"], gone["labels"]) == (None, {})
    assert model_version(world.system) == version, "the model is as it was"
    entry = AuditEntry.objects.filter(object_id=row["id"]).order_by("-id")[0]
    assert (entry.action, entry.model_version) == ("update", None)
    assert entry.before == {"external_id": "crn:port/2", "labels": {"team": "ops"}}
    assert entry.after == {"external_id": None, "labels": {}}


@EVERY_KIND
def test_an_external_id_is_one_objects_of_its_kind_in_its_system(
    api: Any, world: World, kind: Kind
) -> None:
    assert create(api, kind, world, "alpha", **KNOWN).status_code == 201
    status, errors = error(create(api, kind, world, "beta", external_id=KNOWN["external_id"]))
    assert status == 400
    assert [field for field, _ in errors] == ["external_id"]
    for name in ("beta", "gamma"):
        row = create(api, kind, world, name)
        assert (row.status_code, row.json()["external_id"]) == (201, None)
    status, errors = error(edit(api, row.json(), kind.path, external_id=KNOWN["external_id"]))
    message = f'"{KNOWN["external_id"]}" is the external id of alpha.'
    assert (status, errors) == (400, [("external_id", message)])


def test_kinds_and_systems_may_share_an_external_id(api: Any) -> None:
    for name in ("here", "there"):
        system = make_system(name)
        for path in ("correlation-keys", "groups"):
            body = {"system": str(system.public_id), "name": "a", "external_id": "7"}
            number = {"number": 1} if path == "groups" else {}
            answer = api.post(f"/api/v1/{path}", body | number, format="json")
            assert answer.status_code == 201, answer.content


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ({"": "x"}, '"" is no key of a label'),
        ({"-team": "x"}, '"-team" is no key'),
        ({"team ": "x"}, '"team " is no key'),
        ({"größe": "x"}, '"größe" is no key'),
        ({"k" * 64: "x"}, "1 to 63 letters"),
        ({"team": 7}, "The value of team is no text"),
        ({"team": None}, "The value of team is no text"),
        ({"team": ["x"]}, "The value of team is no text"),
        ({"team": "x" * 201}, "201 characters; at most 200"),
        ({"team": "a\nb"}, "control character"),
        ({"team": " port"}, "begins or ends with a space"),
        ({"team": "a\u2028b"}, "control character"),
        ({f"k{number}": "" for number in range(33)}, "33 labels; an object has at most 32"),
        (["team"], "Labels are texts by key"),
        ("team=port", "Labels are texts by key"),
    ],
)
def test_labels_that_no_object_can_have_are_refused(
    api: Any, world: World, labels: Any, sentence: str
) -> None:
    body = {"system": str(world.system.public_id), "name": "quay", "labels": labels}
    status, errors = error(api.post("/api/v1/correlation-keys", body, format="json"))
    assert (status, [field for field, _ in errors]) == (400, ["labels"])
    assert sentence in errors[0][1]
    assert not CorrelationKey.objects.filter(name="quay").exists()


def test_labels_at_their_limits_are_kept(api: Any, world: World) -> None:
    labels = {f"k.{number}/x_y-{'z' * 20}": "ü" * 200 for number in range(32)}
    body = {"system": str(world.system.public_id), "name": "quay", "labels": labels}
    assert api.post("/api/v1/correlation-keys", body, format="json").json()["labels"] == labels


@pytest.mark.parametrize("external_id", ["x" * 201, "a\nb", "a\u2029b", 2**70, True, {"id": 1}])
def test_an_external_id_is_one_short_line(api: Any, world: World, external_id: Any) -> None:
    body = {"system": str(world.system.public_id), "name": "quay", "external_id": external_id}
    answer = api.post("/api/v1/correlation-keys", body, format="json")
    if external_id == 2**70:
        # As every text member: a number is the text of its digits.
        assert answer.json()["external_id"] == str(2**70)
        return
    assert [field for field, _ in error(answer)[1]] == ["external_id"]


def test_lists_are_narrowed_by_what_others_call_objects(api: Any) -> None:
    system = make_system()
    rows = {
        "a": {"team": "port", "tier": "1"},
        "b": {"team": "port", "tier": "2"},
        "c": {"team": "rail", "x": "1=2"},
        "d": {},
    }
    for name, labels in rows.items():
        broker = make_broker(system, name)
        Broker.objects.filter(pk=broker.pk).update(labels=labels, external_id=f"srv/{name}")
    assert names(api, "brokers", "external_id=srv/b") == ["b"]
    assert names(api, "brokers", "external_id=srv") == []
    assert names(api, "brokers", "search=srv/c") == ["c"]
    assert names(api, "brokers", "label=team=port") == ["a", "b"]
    assert names(api, "brokers", "label=team%3Dport&label=tier=2") == ["b"]
    assert names(api, "brokers", "label=team") == ["a", "b", "c"]
    assert names(api, "brokers", "label=team=") == []
    assert names(api, "brokers", "label=x=" + quote("1=2")) == ["c"]
    assert names(api, "brokers", "label=") == ["a", "b", "c", "d"]
    wrongs = ("%20team", "=port", "gr%C3%B6%C3%9Fe=1", "%00", "team=%00", "team=%20x")
    for wrong in (*wrongs, "team=" + "x" * 201):
        status, errors = error(api.get(f"/api/v1/brokers?label={wrong}"))
        assert (status, [field for field, _ in errors]) == (400, ["label"]), wrong


def test_lists_say_what_changed_since(api: Any) -> None:
    system = make_system()
    old, new = make_broker(system, "old"), make_broker(system, "new")
    Broker.objects.filter(pk=old.pk).update(updated_at=new.updated_at - timedelta(hours=1))
    since = quote(new.updated_at.isoformat())
    assert names(api, "brokers", f"updated_since={since}") == ["new"]
    row = api.get(f"/api/v1/brokers/{old.public_id}").json()
    assert edit(api, row, "brokers", labels={"team": "port"}).status_code == 200
    assert names(api, "brokers", f"updated_since={since}") == ["new", "old"]
    assert error(api.get("/api/v1/brokers?updated_since=soon"))[1][0][0] == "updated_since"


def test_systems_have_them_too(api: Any) -> None:
    body = {"name": "harbour", **KNOWN}
    row = api.post("/api/v1/systems", body, format="json").json()
    assert {name: row[name] for name in KNOWN} == KNOWN
    other = {"name": "canal", "external_id": KNOWN["external_id"]}
    answer = api.post("/api/v1/systems", other, format="json")
    assert [field for field, _ in error(answer)[1]] == ["external_id"]
    changed = edit(api, row, "systems", labels={"team": "ops"}).json()
    assert (changed["version"], changed["model_version"]) == (2, row["model_version"])
    assert AuditEntry.objects.order_by("-id")[0].model_version is None
    both = edit(api, changed, "systems", labels={}, description="All of it.").json()
    assert both["model_version"] == row["model_version"] + 1
    assert names(api, "systems", "label=team") == []
    assert names(api, "systems", f"external_id={KNOWN['external_id']}") == ["harbour"]


def test_the_history_of_a_deleted_system_says_what_others_called_it(api: Any) -> None:
    row = api.post("/api/v1/systems", {"name": "harbour", **KNOWN}, format="json").json()
    headers = {"if-match": f'"{row["version"]}"'}
    assert api.delete(f"/api/v1/systems/{row['id']}", headers=headers).status_code == 204
    before = AuditEntry.objects.get(object_id=row["id"], action="delete").before
    assert {name: before[name] for name in KNOWN} == KNOWN


def test_no_plan_goes_stale_by_a_label_and_none_blames_it(api: Any) -> None:
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    author = make_user("author")
    plan = submitted(make_plan(harbour.system, author), author)
    broker = harbour.brokers["a"]
    row = api.get(f"/api/v1/brokers/{broker.public_id}").json()
    assert edit(api, row, "brokers", labels={"team": "port"}).status_code == 200
    plan = Plan.objects.get(pk=plan.pk)
    assert (plan.state, has_moved(plan)) == (PlanState.PENDING_REVIEW, False)
    edit_model(harbour)
    row = api.get(f"/api/v1/brokers/{broker.public_id}").json()
    assert edit(api, row, "brokers", labels={"team": "ops"}).status_code == 200
    plan = Plan.objects.get(pk=plan.pk)
    assert has_moved(plan)
    assert "labels" not in moved_because(plan)


class TestImports:
    """Tables have them as columns."""

    def send(self, api: Any, system: System, rows: Any, path: str = "brokers") -> Any:
        address = f"/api/v1/{path}/import?system={system.public_id}"
        if isinstance(rows, str):
            return api.generic("POST", address, rows, content_type="text/csv")
        return api.post(address, {"rows": rows}, format="json")

    def test_what_was_exported_is_imported_without_a_change(self, api: Any) -> None:
        system = make_system()
        broker = make_broker(system, "a")
        labels = {"team": "port, north", "x": '"=1"'}
        Broker.objects.filter(pk=broker.pk).update(labels=labels, external_id="=srv/a")
        make_broker(system, "b")
        version = model_version(system)
        table = api.get(f"/api/v1/brokers/export?system={system.public_id}").content.decode()
        done = self.send(api, system, table).json()
        assert (done["created"], done["changed"], done["unchanged"]) == (0, 0, 2)
        Broker.objects.filter(pk=broker.pk).update(labels={}, external_id=None)
        done = self.send(api, system, table).json()
        assert (done["changed"], done["unchanged"]) == (1, 1)
        assert done["model_version"] == version == model_version(system)
        broker.refresh_from_db()
        assert (broker.labels, broker.external_id) == (labels, "=srv/a")

    def test_one_edit_of_the_model_among_them_advances_it_once(self, api: Any) -> None:
        system = make_system()
        make_broker(system, "a")
        make_broker(system, "b")
        version = model_version(system)
        rows = [{"name": "a", "labels": {"team": "port"}}, {"name": "b", "region": "north"}]
        assert self.send(api, system, rows).json()["model_version"] == version + 1
        versions = dict(
            AuditEntry.objects.filter(action="update").values_list("object_name", "model_version")
        )
        assert versions == {"a": None, "b": version + 1}

    @pytest.mark.parametrize(
        "rows",
        [
            [("a", "2"), ("b", "1")],
            [("b", "1"), ("a", None)],
            [("a", None), ("b", "1")],
            [("a", ""), ("c", "1")],
            [("c", "1"), ("a", "3")],
        ],
    )
    def test_an_external_id_may_go_from_one_object_to_another(
        self, api: Any, rows: list[tuple[str, str | None]]
    ) -> None:
        system = make_system()
        for name, number in (("a", "1"), ("b", "2")):
            row = make_broker(system, name)
            Broker.objects.filter(pk=row.pk).update(external_id=number)
        given = [
            {"name": name, "external_id": external_id, "capacities": []}
            for name, external_id in rows
        ]
        answer = self.send(api, system, given)
        assert answer.status_code == 200, answer.content
        stored = dict(Broker.objects.values_list("name", "external_id"))
        assert stored == {"a": "1", "b": "2"} | {name: value or None for name, value in rows}

    def test_an_external_id_that_is_taken_names_its_row(self, api: Any) -> None:
        system = make_system()
        first, second = make_broker(system, "a"), make_broker(system, "b")
        Broker.objects.filter(pk=first.pk).update(external_id="1")
        rows = [
            {"name": "b", "external_id": "1"},
            {"name": "c", "external_id": "3", "capacities": []},
        ]
        status, errors = error(self.send(api, system, rows))
        assert (status, [field for field, _ in errors]) == (400, ["rows[0].external_id"])
        rows = [
            {"name": "b", "external_id": "2"},
            {"name": "c", "external_id": "2", "capacities": []},
        ]
        status, errors = error(self.send(api, system, rows))
        assert status == 400
        assert [field for field, _ in errors] == ["rows[1].external_id"]
        second.refresh_from_db()
        assert second.external_id is None
