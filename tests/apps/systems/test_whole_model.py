"""The whole model of a system is read as one document, and made what a document says."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.catalog.models import Publisher, Slo, Topic
from apps.demo.services import harbour
from apps.systems.models import System
from apps.systems.selectors import entity_models, entity_state
from apps.telemetry.services import agent_enrol
from apps.topology.models import Broker
from tests.factories import make_system
from tests.factories.kinds import KINDS, World, make_world

pytestmark = pytest.mark.django_db


def read(api: Any, system: System, *kinds: str) -> dict[str, Any]:
    answer = api.get(f"/api/v1/systems/{system.public_id}/model", {"kind": kinds})
    assert answer.status_code == 200, answer.content
    return answer.json()


def put(api: Any, system: System, kinds: Any, *, dry_run: bool = False, **body: Any) -> Any:
    query = "?dry_run=true" if dry_run else ""
    address = f"/api/v1/systems/{system.public_id}/model{query}"
    return api.put(address, {"kinds": kinds, **body}, format="json")


def done(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.content
    return answer.json()


def counts(answer: Any) -> tuple[int, int, int, int]:
    body = done(answer)
    return body["created"], body["changed"], body["deleted"], body["unchanged"]


def reviewed(api: Any, system: System, kinds: Any, **body: Any) -> Any:
    """Read the dry run, then carry exactly that out."""
    dry = done(put(api, system, kinds, dry_run=True, **body))
    return put(api, system, kinds, change_hash=dry["change_hash"], **body)


def refused(answer: Any, status: int, code: str) -> list[tuple[str, str]]:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.content
    return [(one["field"], one["message"]) for one in answer.json().get("errors", [])]


def state(system: System) -> list[Any]:
    """Everything that an edit could change."""
    rows = [
        (model.audited_as(), row.version, entity_state(row))
        for model in entity_models()
        for row in model._default_manager.filter(system=system).order_by("name")
    ]
    version = System.objects.get(pk=system.pk).model_version
    return [version, AuditEntry.objects.count(), rows]


# --- what is read is taken back


@pytest.mark.parametrize("make", [lambda: make_world().system, harbour.load])
def test_a_document_that_is_sent_back_changes_nothing(api: Any, make: Any) -> None:
    system = make()
    before = state(system)
    document = read(api, system)
    assert document["model_version"] == before[0]
    assert sum(map(len, document["kinds"].values())) == len(before[2])
    answer = done(put(api, system, document["kinds"], delete="rest"))
    assert (answer["created"], answer["changed"], answer["deleted"]) == (0, 0, 0)
    assert answer["unchanged"] == len(before[2])
    assert (answer["rows"], answer["model_version"]) == ([], before[0])
    assert state(system) == before


def test_a_document_makes_an_empty_system_the_same(api: Any) -> None:
    system = harbour.load()
    document = read(api, system)["kinds"]
    copy = make_system("copy")
    System.objects.filter(pk=copy.pk).update(resources=system.resources)
    before = AuditEntry.objects.count()
    answer = put(api, copy, document, delete="rest")
    assert counts(answer) == (sum(map(len, document.values())), 0, 0, 0)
    assert read(api, copy)["kinds"] == document
    assert AuditEntry.objects.count() == before + done(answer)["created"]


def test_every_kind_that_there_is_can_be_in_a_document(api: Any) -> None:
    world = make_world()
    kinds = [model.audited_as() for model in entity_models()]
    assert sorted(read(api, world.system)["kinds"]) == sorted(kinds)
    assert [*read(api, world.system, "topic", "broker")["kinds"]] == ["broker", "topic"]
    assert {kind.model.audited_as() for kind in KINDS} == {*kinds}
    answer = api.get(f"/api/v1/systems/{world.system.public_id}/model?kind=brokers")
    assert refused(answer, 400, "invalid") == [
        ("kind", 'There is no such kind. Is "broker" meant?')
    ]


def test_interests_are_left_out_and_stay(api: Any, world: World) -> None:
    rows = [{"name": "s1", "interests": [{"topic": "world-topic"}]}]
    assert counts(put(api, world.system, {"subscriber": rows})) == (1, 0, 0, 0)
    (row,) = read(api, world.system, "subscriber")["kinds"]["subscriber"]
    assert "interests" not in row
    assert counts(put(api, world.system, {"subscriber": [row]}, delete="rest")) == (0, 0, 0, 1)
    assert entity_state(world.system.subscriber_set.get())["interests"] == [
        {"topic": "world-topic"}
    ]


# --- one edit, as it was reviewed


def test_what_is_used_is_not_deleted_and_says_by_whom(api: Any, world: World) -> None:
    before = state(world.system)
    answer = put(api, world.system, {"broker": [{"name": "world-b1"}]}, delete="rest", dry_run=True)
    assert refused(answer, 400, "invalid") == [
        (
            "delete",
            "broker world-b2: link world-link still uses it. Change that, too.",
        )
    ]
    assert state(world.system) == before


def test_nothing_is_deleted_along_that_the_document_does_not_name(api: Any, world: World) -> None:
    errors = refused(
        put(api, world.system, {"topic": []}, delete="rest", dry_run=True), 400, "invalid"
    )
    assert errors == [
        (
            "delete",
            "topic world-topic: consumer class world-class belongs to it, and would stay. "
            "Give its kind, too, or keep it.",
        )
    ]
    gone = reviewed(api, world.system, {"topic": [], "consumer_class": []}, delete="rest")
    assert counts(gone) == (0, 0, 2, 0)
    assert not Topic.objects.filter(system=world.system).exists()
    entries = AuditEntry.objects.filter(system_id=world.system.public_id, action="delete")
    assert {(one.object_kind, one.object_name) for one in entries} == {
        ("topic", "world-topic"),
        ("consumer_class", "world-class"),
    }


def test_a_topic_that_subscribers_want_stays_unless_they_go_or_no_longer_want_it(
    api: Any, world: World
) -> None:
    made = {
        "topic": [{"name": "t2", "rate_max_per_s": 5.0}],
        "subscriber": [{"name": "s1", "interests": [{"topic": "t2"}]}],
    }
    done(put(api, world.system, made))
    before = state(world.system)
    topics = {"topic": [{"name": "world-topic"}]}
    errors = refused(put(api, world.system, topics, delete="rest", dry_run=True), 400, "invalid")
    assert errors == [
        (
            "delete",
            "topic t2: subscriber s1 has it in its interests. Change that, too, or keep it.",
        )
    ]
    assert state(world.system) == before
    without = {**topics, "subscriber": [{"name": "s1", "interests": []}]}
    assert counts(reviewed(api, world.system, without, delete="rest")) == (0, 1, 1, 1)
    done(put(api, world.system, made))
    both = {**topics, "subscriber": []}
    assert counts(reviewed(api, world.system, both, delete="rest")) == (0, 0, 2, 1)


def test_the_hash_is_of_the_change_and_its_system_in_whichever_order(
    api: Any, world: World
) -> None:
    def sha(kinds: Any, system: System | None = None, **body: Any) -> str:
        answer = put(api, system or world.system, kinds, dry_run=True, **body)
        hashed: str = done(answer)["change_hash"]
        return hashed

    keys = {"correlation_key": [{"name": "k1"}, {"name": "k2"}]}
    groups = {"group": [{"name": "g", "number": 5}]}
    turned = {"group": groups["group"], "correlation_key": keys["correlation_key"][::-1]}
    assert sha({**keys, **groups}) == sha(turned)
    costs = [{"broker": f"world-b{n}", "resource": "cpu", "cost": 1.0 * n} for n in (1, 2)]
    one, other = (
        {"topic": [{"name": "world-topic", "node_costs": rows}]} for rows in (costs, costs[::-1])
    )
    assert sha(one) == sha(other)
    assert sha(keys) != sha(groups)
    assert sha(keys) != sha(keys, make_world("twin").system)
    assert sha({"correlation_key": [{"name": "k1", "description": "a"}]}) != sha(
        {"correlation_key": [{"name": "k1", "description": "b"}]}
    )


def test_a_list_with_defaults_left_out_stays(api: Any, world: World) -> None:
    rows = {"topic": [{"name": "world-topic", "link_costs": [{"link": "world-link"}]}]}
    assert counts(put(api, world.system, rows)) == (0, 0, 0, 1)


def test_what_deletes_needs_the_hash_of_its_dry_run(api: Any, world: World) -> None:
    before = state(world.system)
    kinds = {"correlation_key": [], "group": [{"name": "world-group", "number": 7}]}
    refused(put(api, world.system, kinds, delete="rest"), 428, "change_hash_required")
    assert state(world.system) == before
    dry = done(put(api, world.system, kinds, delete="rest", dry_run=True))
    assert [(row["kind"], row["action"], row["name"]) for row in dry["rows"]] == [
        ("group", "update", "world-group"),
        ("correlation_key", "delete", "world-key"),
    ]
    assert dry["rows"][0]["before"] == {"number": 100}
    assert dry["rows"][0]["after"] == {"number": 7}
    assert dry["rows"][1]["after"] is None
    assert dry["model_version"] == before[0] + 1
    assert state(world.system) == before
    made = done(
        put(api, world.system, kinds, delete="rest", change_hash=dry["change_hash"], reason="tidy")
    )
    assert made == {**dry, "dry_run": False}
    assert state(world.system)[0] == before[0] + 1
    assert {*AuditEntry.objects.order_by("-id")[:2].values_list("reason", flat=True)} == {"tidy"}
    # Its answer was lost, and it is sent again: nothing is left to do.
    again = put(api, world.system, kinds, delete="rest", change_hash=dry["change_hash"])
    assert counts(again) == (0, 0, 0, 1)
    assert state(world.system)[0] == before[0] + 1


def test_a_change_that_nobody_has_seen_is_refused(api: Any, world: World) -> None:
    kinds = {"topic": [{"name": "world-topic", "rate_max_per_s": 50.0}]}
    dry = done(put(api, world.system, kinds, dry_run=True))
    Topic.objects.filter(pk=world.topic.pk).update(rate_max_per_s=70.0)
    before = state(world.system)
    answer = put(api, world.system, kinds, change_hash=dry["change_hash"])
    ((field, message),) = refused(answer, 409, "change_differs")
    assert (field, message[-14:]) == ("change_hash", "read it again.")
    assert state(world.system) == before
    # What it does not touch may change meanwhile.
    dry = done(put(api, world.system, kinds, dry_run=True))
    Broker.objects.filter(pk=world.broker.pk).update(region="us")
    assert counts(put(api, world.system, kinds, change_hash=dry["change_hash"])) == (0, 1, 0, 0)


def test_what_only_adds_and_changes_needs_no_hash(api: Any, world: World) -> None:
    before = state(world.system)
    kinds = {
        # In the wrong order: what others refer to is written first all the same.
        "slo": [{"name": "s1", "topic": "t2", "quantity": "delay_p99_s", "target": 0.5}],
        "publisher": [{"name": "p1", "topic": "t2", "broker": "b3", "correlation_key": "k2"}],
        "link": [{"name": "l2", "source": "b3", "target": "world-b1", "capacity": 9.0}],
        "topic": [{"name": "t2", "source": "b3", "rate_max_per_s": 5.0}],
        "correlation_key": [{"name": "k2"}],
        "broker": [{"name": "b3", "capacities": [{"resource": "cpu", "capacity": 5.0}]}],
    }
    assert counts(put(api, world.system, kinds)) == (6, 0, 0, 0)
    assert state(world.system)[0] == before[0] + 1
    assert Publisher.objects.get(name="p1").broker.name == "b3"
    assert Slo.objects.get(name="s1").topic.name == "t2"
    answer = done(put(api, world.system, kinds))
    assert answer["kinds"]["link"] == {"created": 0, "changed": 0, "deleted": 0, "unchanged": 1}
    assert state(world.system)[0] == before[0] + 1


# --- whose row it is


def test_a_row_is_about_the_object_of_its_external_id_then_of_its_name(
    api: Any, world: World
) -> None:
    version = System.objects.get(pk=world.system.pk).model_version
    first = {"broker": [{"name": "world-b1", "external_id": "host-1"}]}
    assert counts(put(api, world.system, first)) == (0, 1, 0, 0)
    # Ids are outside the model.
    assert state(world.system)[0] == version
    renamed = {"broker": [{"name": "lisbon", "external_id": "host-1", "region": "pt"}]}
    assert counts(put(api, world.system, renamed)) == (0, 1, 0, 0)
    assert Broker.objects.get(pk=world.broker.pk).name == "lisbon"
    partial = {"broker": [{"external_id": "host-1", "region": "es"}]}
    assert counts(put(api, world.system, partial)) == (0, 1, 0, 0)
    assert Broker.objects.get(pk=world.broker.pk).region == "es"
    assert refused(
        put(api, world.system, {"broker": [{"external_id": "host-9"}]}), 400, "invalid"
    ) == [
        ("kinds.broker[0].name", "This field is required."),
        ("kinds.broker[0].capacities", "This field is required."),
    ]


def test_names_and_ids_may_go_from_one_object_to_another(api: Any, world: World) -> None:
    ids = [{"name": "world-b1", "external_id": "1"}, {"name": "world-b2", "external_id": "2"}]
    done(put(api, world.system, {"broker": ids}))
    swapped = [{"name": "world-b2", "external_id": "1"}, {"name": "world-b1", "external_id": "2"}]
    assert counts(put(api, world.system, {"broker": swapped})) == (0, 2, 0, 0)
    assert Broker.objects.get(pk=world.broker.pk).name == "world-b2"
    # The former name of an object that is renamed is free for a new one.
    capacities = [{"resource": "cpu", "capacity": 5.0}]
    rows = [
        {"name": "moved", "external_id": "1"},
        {"name": "world-b2", "external_id": "3", "capacities": capacities},
    ]
    assert counts(put(api, world.system, {"broker": rows})) == (1, 1, 0, 0)
    assert Broker.objects.get(name="world-b2").pk != world.broker.pk
    # What goes leaves its name and its id to another.
    keys = [{"name": "k1", "external_id": "1"}, {"name": "k2", "external_id": "2"}]
    done(put(api, world.system, {"correlation_key": keys}))
    left = {"correlation_key": [{"name": "k2", "external_id": "1"}]}
    assert counts(reviewed(api, world.system, left, delete="rest")) == (0, 1, 2, 0)
    assert read(api, world.system, "correlation_key")["kinds"]["correlation_key"] == [
        {"name": "k2", "external_id": "1", "labels": {}, "description": ""}
    ]


def test_ids_are_compared_as_they_are_stored(api: Any, world: World) -> None:
    keys = [{"name": "a", "external_id": 1}, {"name": "b", "external_id": 2}]
    done(put(api, world.system, {"correlation_key": keys}))
    swapped = [{"name": "b", "external_id": " 1 "}, {"name": "a", "external_id": 2}]
    assert counts(put(api, world.system, {"correlation_key": swapped})) == (0, 2, 0, 0)
    names = world.system.correlationkey_set.order_by("id").values_list("name", "external_id")
    assert [*names] == [("world-key", None), ("b", "1"), ("a", "2")]
    twins = [{"name": "c", "external_id": 7}, {"name": "d", "external_id": "7"}]
    assert refused(put(api, world.system, {"correlation_key": twins}), 400, "invalid")[0][0] == (
        "kinds.correlation_key[1].external_id"
    )
    nameless = {"correlation_key": [{"name": None}]}
    assert refused(put(api, world.system, nameless), 400, "invalid") == [
        ("kinds.correlation_key[0].name", "This field may not be null.")
    ]


def test_twins_in_a_document_are_refused_by_row(api: Any, world: World) -> None:
    rows = [{"name": "k1", "external_id": "7"}, {"name": "k1"}, {"name": "k2", "external_id": "7"}]
    assert refused(put(api, world.system, {"correlation_key": rows}), 400, "invalid") == [
        (
            "kinds.correlation_key[1].name",
            'kinds.correlation_key[0] has "k1", too; give each object once.',
        ),
        (
            "kinds.correlation_key[2].external_id",
            'kinds.correlation_key[0] has "7", too; give each object once.',
        ),
    ]


# --- of several owners


def test_within_a_label_others_are_neither_deleted_nor_brought_in(api: Any, world: World) -> None:
    rows = [{"name": name, "labels": {"managed-by": "git"}} for name in ("k1", "k2")]
    assert counts(put(api, world.system, {"correlation_key": rows}, within="managed-by=git")) == (
        2,
        0,
        0,
        0,
    )
    left = {"correlation_key": rows[:1]}
    gone = reviewed(api, world.system, left, delete="rest", within="managed-by=git")
    assert [(row["name"], row["action"]) for row in done(gone)["rows"]] == [("k2", "delete")]
    assert world.system.correlationkey_set.filter(name="world-key").exists()
    other = {"correlation_key": [{"name": "world-key"}]}
    assert refused(put(api, world.system, other, within="managed-by=git"), 400, "invalid") == [
        (
            "kinds.correlation_key[0].labels",
            "Needs managed-by=git: `within` says that the document has no others.",
        )
    ]
    assert refused(put(api, world.system, left, within="-x"), 400, "invalid")[0][0] == "within"


def test_what_is_of_others_is_taken_over_only_by_who_has_seen_it(api: Any, world: World) -> None:
    mine = {"correlation_key": [{"name": "world-key", "labels": {"managed-by": "git"}}]}
    answer = put(api, world.system, mine, within="managed-by=git")
    refused(answer, 428, "change_hash_required")
    assert "takes 1 object of others over" in answer.json()["detail"]
    assert counts(reviewed(api, world.system, mine, within="managed-by=git")) == (0, 1, 0, 0)
    assert counts(put(api, world.system, mine, within="managed-by=git")) == (0, 0, 0, 1)


def test_interests_are_not_read_where_the_document_has_none(api: Any, world: World) -> None:
    done(put(api, world.system, {"subscriber": [{"name": "s1", "broker": "world-b1"}]}))
    for send in (
        lambda: read(api, world.system, "subscriber"),
        lambda: done(put(api, world.system, {"subscriber": [{"name": "s1"}]})),
    ):
        with CaptureQueriesContext(connection) as queries:
            send()
        assert not [one for one in queries if "catalog_interest" in one["sql"]]


# --- what is wrong


def test_wrong_rows_are_named_and_nothing_is_changed(api: Any, world: World) -> None:
    before = state(world.system)
    kinds = {
        "broker": [
            {"name": "ok", "capacities": [{"resource": "cpu", "capacity": 1.0}]},
            {"name": "bad", "capacities": [{"resource": "gpu", "capacity": 1.0}]},
        ],
        # It names a broker that would be there, were its kind right: not judged.
        "link": [{"name": "l2", "source": "ok", "target": "world-b1", "capacity": -1.0}],
        "correlation_key": [{"name": "k", "colour": "red"}],
    }
    assert sorted(refused(put(api, world.system, kinds), 400, "invalid")) == [
        (
            "kinds.broker[1].capacities[0].resource",
            'No resource "gpu": cpu.',
        ),
        ("kinds.correlation_key[0].colour", "There is no such field."),
    ]
    assert state(world.system) == before


def test_what_the_database_refuses_is_named_by_row(api: Any, world: World) -> None:
    before = state(world.system)
    rows = [{"name": "g1", "number": 1}, {"name": "g2", "number": 1}]
    ((field, _),) = refused(put(api, world.system, {"group": rows}), 400, "invalid")
    assert field.startswith("kinds.group[1]")
    assert state(world.system) == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "kinds"),
        ({"kinds": {"brokers": []}}, "kinds.brokers"),
        ({"kinds": {"broker": {}}}, "kinds.broker"),
        ({"kinds": {"broker": [7]}}, "kinds.broker[0]"),
        ({"kinds": {}, "delete": "all"}, "delete"),
        ({"kinds": {}, "change_hash": "ab"}, "change_hash"),
        ({"kinds": {}, "colour": "red"}, "colour"),
        ({"kinds": {"broker": [{"name": "a", "reason": "x"}]}}, "kinds.broker[0].reason"),
    ],
)
def test_a_malformed_document_is_refused_by_member(
    api: Any, world: World, body: Any, field: str
) -> None:
    answer = api.put(f"/api/v1/systems/{world.system.public_id}/model", body, format="json")
    assert refused(answer, 400, "invalid")[0][0] == field


def test_what_is_in_force_stays(api: Any, world: World) -> None:
    overlay = [
        {"name": "tree", "in_force": True, "edges": [{"a": "world-b1", "b": "world-b2"}]},
    ]
    done(put(api, world.system, {"overlay": overlay}))
    agent_enrol(broker=world.broker, actor=None)
    moved = [{"name": "tree", "edges": []}]
    ((field, _),) = refused(put(api, world.system, {"overlay": moved}), 400, "invalid")
    assert field == "kinds.overlay[0].edges"
    ((field, message),) = refused(
        put(api, world.system, {"overlay": []}, delete="rest", dry_run=True), 400, "invalid"
    )
    assert (field, message[:12]) == ("delete", "overlay tree")
    renamed = [{"name": "other", "external_id": "1"}]
    done(put(api, world.system, {"broker": [{"name": "world-b1", "external_id": "1"}]}))
    ((field, message),) = refused(put(api, world.system, {"broker": renamed}), 400, "invalid")
    assert (field, message[:21]) == ("kinds.broker[0].name", "world-b1 keeps its na")


def test_only_who_edits_models_may(as_role: Any, world: World) -> None:
    reader = as_role(Role.VIEWER, Role.APPROVER, Role.OPERATOR)
    assert put(reader, world.system, {}, dry_run=True).status_code == 403
    assert read(reader, world.system, "group")["kinds"]["group"][0]["number"] == 100


# --- many


def test_many_rows_take_a_handful_of_statements(api: Any, world: World) -> None:
    def kinds(rate: float, number: int) -> Any:
        return {
            "topic": [{"name": f"t{n}", "rate_max_per_s": rate} for n in range(number)],
            "publisher": [{"name": f"p{n}", "topic": f"t{n}"} for n in range(number)],
        }

    def statements(rate: float, number: int) -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            done(put(api, world.system, kinds(rate, number)))
        return len(queries)

    few = statements(1.0, 3)
    assert statements(2.0, 300) <= few + 5
