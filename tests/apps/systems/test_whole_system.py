"""The document of a whole model also makes the system, its properties and its settings."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from apps.accounts.domain.roles import Role
from apps.allocations.services import allocation_request
from apps.audit.models import AuditEntry
from apps.calibration.models import CalibrationSettings
from apps.catalog.models import Interest, Publisher, Subscriber, Topic
from apps.demo.services import harbour
from apps.mappings.models import MappingSettings
from apps.mappings.selectors.settings import settings_of as mapping_settings_of
from apps.mappings.services import mapping_request
from apps.mappings.services.settings import settings_update as mapping_settings_update
from apps.placements.services import placement_request
from apps.runs.models import Run
from apps.systems.models import System
from apps.systems.services import system_delete
from apps.telemetry.services import agent_enrol
from tests.apps.systems.test_whole_model import counts, done, refused, state
from tests.at_once import at_once
from tests.conftest import client_of
from tests.factories import make_system, make_user
from tests.factories.kinds import World, make_world

pytestmark = pytest.mark.django_db

NEW = {"name": "port", "product": "nats"}


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def address(id: Any) -> str:
    return f"/api/v1/systems/{id}/model"


def read(api: Any, id: Any) -> dict[str, Any]:
    body: dict[str, Any] = done(api.get(address(id)))
    return body


def put(api: Any, id: Any, *, dry_run: bool = False, **body: Any) -> Any:
    query = "?dry_run=true" if dry_run else ""
    return api.put(f"{address(id)}{query}", {"kinds": {}, **body}, format="json")


def made(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = answer.json()
    return body


def turned(value: Any) -> Any:
    """The same document with every list of objects or of rows in the opposite order."""
    if isinstance(value, dict):
        return {name: turned(each) for name, each in reversed(value.items())}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [turned(each) for each in reversed(value)]
    return value


# --- properties


def test_properties_are_those_of_the_system(api: Any, world: World) -> None:
    address_of_system = f"/api/v1/systems/{world.system.public_id}"
    shown = done(api.get(address_of_system))
    properties = read(api, world.system.public_id)["properties"]
    assert [*properties] == [
        "name",
        "external_id",
        "labels",
        "description",
        "product",
        "resources",
    ]
    assert properties == {name: shown[name] for name in properties}


def test_properties_are_changed_and_audited_as_by_a_patch(api: Any, world: World) -> None:
    id = world.system.public_id
    before = state(world.system)
    values = {"description": "All terminals", "labels": {"team": "port"}}
    dry = done(put(api, id, properties=values, dry_run=True))
    assert state(world.system) == before
    assert dry["rows"] == [
        {
            "kind": "system",
            "name": "harbour",
            "action": "update",
            "before": {"description": "", "labels": {}},
            "after": values,
        }
    ]
    answer = put(api, id, properties=values, change_hash=dry["change_hash"], reason="CHG-1")
    assert done(answer) == {**dry, "dry_run": False}
    assert counts(answer) == (0, 1, 0, 0)
    assert done(answer)["model_version"] == before[0] + 1
    ours = AuditEntry.objects.order_by("-id")[0]
    other = make_world("twin").system
    assert done(
        api.patch(
            f"/api/v1/systems/{other.public_id}",
            {**values, "reason": "CHG-1"},
            format="json",
            headers={"if-match": '"1"'},
        )
    )
    patched = AuditEntry.objects.order_by("-id")[0]
    for member in ("action", "object_kind", "before", "after", "reason", "model_version"):
        assert getattr(ours, member) == getattr(patched, member)
    assert System.objects.get(pk=world.system.pk).version == 2
    # Again, it changes nothing.
    assert counts(put(api, id, properties=values)) == (0, 0, 0, 1)
    assert System.objects.get(pk=world.system.pk).version == 2


def test_the_order_of_resources_is_a_part_of_what_was_seen(api: Any, world: World) -> None:
    id = world.system.public_id
    dry = done(put(api, id, properties={"resources": ["cpu", "mem", "disk"]}, dry_run=True))
    other = {"resources": ["disk", "mem", "cpu"]}
    answer = put(api, id, properties=other, change_hash=dry["change_hash"])
    refused(answer, 409, "change_differs")


def test_what_is_far_too_long_is_refused_before_anybody_waits(api: Any, world: World) -> None:
    answer = put(api, world.system.public_id, properties={"resources": ["x" * 99] * 40_000})
    assert refused(answer, 400, "invalid") == [
        ("properties.resources", "At most 100 values; these are 40,000.")
    ]


def test_ids_and_labels_of_the_system_are_outside_the_model(api: Any, world: World) -> None:
    version = state(world.system)[0]
    answer = done(put(api, world.system.public_id, properties={"external_id": "s-1"}))
    assert (answer["changed"], answer["model_version"]) == (1, version)
    assert AuditEntry.objects.order_by("-id")[0].model_version is None


def test_a_resource_comes_and_another_goes_in_one_document(api: Any, world: World) -> None:
    """Objects may begin to use what the document adds, and have to end using what it takes away."""
    id = world.system.public_id
    before = state(world.system)
    resources = {"resources": ["mem"]}
    mem = [{"resource": "mem", "capacity": 8.0}]
    kinds = {
        "broker": [{"name": "world-b1", "capacities": mem}, {"name": "world-b2", "capacities": []}],
        "topic": [{"name": "world-topic", "node_costs": []}],
    }
    answer = put(api, id, properties=resources, kinds=kinds, dry_run=True)
    assert refused(answer, 400, "invalid") == [
        ("properties.resources", '"cpu" is still used by world-class; remove it there.')
    ]
    assert state(world.system) == before
    costs = [{"resource": "mem", "cost": 1.0}]
    kinds["consumer_class"] = [{"name": "world-class", "costs": costs}]
    dry = done(put(api, id, properties=resources, kinds=kinds, dry_run=True))
    assert (dry["rows"][0]["before"], dry["rows"][0]["after"]) == (
        {"resources": ["cpu"]},
        {"resources": ["mem"]},
    )
    assert counts(put(api, id, properties=resources, kinds=kinds)) == (0, 5, 0, 0)
    now = System.objects.get(pk=world.system.pk)
    assert (now.resources, now.model_version) == (["mem"], before[0] + 1)
    # Eight is the most that a system has, also where all of them are replaced.
    eight, others = ([f"{letter}{n}" for n in range(8)] for letter in "ab")
    bare: dict[str, Any] = {
        "broker": [{"name": name, "capacities": []} for name in ("world-b1", "world-b2")],
        "consumer_class": [{"name": "world-class", "costs": []}],
    }
    done(put(api, id, properties={"resources": eight}, kinds=bare))
    done(put(api, id, properties={"resources": others}))
    assert System.objects.get(pk=world.system.pk).resources == others
    answer = put(api, id, properties={"resources": [*others, "one-more"]})
    assert refused(answer, 400, "invalid")[0][0] == "properties.resources"


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        ({"name": "taken"}, [("properties.name", "system with this name already exists.")]),
        ({"name": ""}, [("properties.name", "This field may not be blank.")]),
        (
            {"external_id": "s-1"},
            [("properties.external_id", "System with this External id already exists.")],
        ),
        ({"resources": ["cpu", "cpu"]}, [("properties.resources", "A resource is named twice.")]),
        ({"product": "mail"}, [("properties.product", '"mail" is not a valid choice.')]),
        ({"labels": {"-x": "1"}}, None),
        ({"colour": "red"}, [("properties.colour", "There is no such field.")]),
        ({"version": 7}, [("properties.version", "There is no such field.")]),
        (
            {"reason": "why"},
            [("properties.reason", "Give one reason for the whole document, beside its members.")],
        ),
    ],
)
def test_wrong_properties_are_named_for_old_systems_and_new_ones(
    api: Any, world: World, values: Any, errors: Any
) -> None:
    make_system("taken", external_id="s-1")
    before = state(world.system)
    unknown = uuid4()
    for id, given in ((world.system.public_id, values), (unknown, {**NEW, **values})):
        errors_of = refused(put(api, id, properties=given), 400, "invalid")
        if errors is None:
            assert [field for field, _ in errors_of] == ["properties.labels"]
        else:
            assert errors_of == errors
    assert state(world.system) == before
    assert not System.objects.filter(public_id=unknown).exists()


def test_a_system_that_agents_know_keeps_its_name(api: Any, world: World) -> None:
    agent_enrol(broker=world.broker, actor=None)
    answer = put(api, world.system.public_id, properties={"name": "haven"})
    ((field, message),) = refused(answer, 400, "invalid")
    assert (field, message) == (
        "properties.name",
        "1 agent is enrolled and knows harbour by this name. Revoke it first.",
    )
    assert System.objects.get(pk=world.system.pk).name == "harbour"


def test_wrong_properties_and_settings_are_all_named(api: Any, world: World) -> None:
    answer = put(
        api,
        world.system.public_id,
        properties={"resources": []},
        settings={"calibration": {"factor_min": 2}, "mapping": {"horizon_s": 0, "x": 1}},
    )
    fields = [field for field, _ in refused(answer, 400, "invalid")]
    assert sorted(fields) == [
        "properties.resources",
        "settings.calibration.factor_min",
        "settings.mapping.x",
    ]


# --- settings


def test_settings_are_the_defaults_until_somebody_changes_them(api: Any, world: World) -> None:
    id = world.system.public_id
    document = read(api, id)
    before = document["settings"]
    for member in ("calibration", "demand", "mapping"):
        path = f"{member}-settings"
        shown = done(api.get(f"/api/v1/{path}/{id}"))
        assert before[member] == {name: shown[name] for name in before[member]}
        left = shown.keys() - before[member].keys()
        assert left == {"id", "system", "system_name", "version", "updated_at", "allowed_commands"}
    objects = sum(map(len, document["kinds"].values()))
    assert counts(put(api, id, **document)) == (0, 0, 0, objects + 4)
    assert not CalibrationSettings.objects.exists()
    assert not MappingSettings.objects.exists()


def test_settings_are_changed_and_audited_as_by_a_patch(api: Any, world: World) -> None:
    id = world.system.public_id
    before = state(world.system)
    values = {"calibration": {"factor_min": 0.25, "smoothing": 0.2}, "mapping": {"horizon_s": 60}}
    dry = done(put(api, id, settings=values, dry_run=True))
    assert state(world.system) == before
    assert not CalibrationSettings.objects.exists()
    assert dry["rows"] == [
        {
            "kind": "calibration_settings",
            "name": "calibration of harbour",
            "action": "update",
            "before": {"factor_min": 0.5},
            "after": {"factor_min": 0.25},
        },
        {
            "kind": "mapping_settings",
            "name": str(MappingSettings(system=world.system)),
            "action": "update",
            "before": {"horizon_s": MappingSettings().horizon_s},
            "after": {"horizon_s": 60.0},
        },
    ]
    answer = put(api, id, settings=values, change_hash=dry["change_hash"], reason="CHG-1")
    assert done(answer) == {**dry, "dry_run": False}
    assert (counts(answer), done(answer)["kinds"]) == ((0, 2, 0, 0), {})
    # They are no part of the model.
    assert done(answer)["model_version"] == before[0]
    ours = [*AuditEntry.objects.order_by("-id")[:2]][::-1]
    other = make_world("twin").system
    for path, body in (
        ("calibration-settings", {"factor_min": 0.25}),
        ("mapping-settings", values["mapping"]),
    ):
        done(
            api.patch(
                f"/api/v1/{path}/{other.public_id}",
                {**body, "reason": "CHG-1"},
                format="json",
                headers={"if-match": '"1"'},
            )
        )
    patched = [*AuditEntry.objects.order_by("-id")[:2]][::-1]
    for mine, theirs in zip(ours, patched, strict=True):
        for member in ("action", "object_kind", "before", "after", "reason"):
            assert getattr(mine, member) == getattr(theirs, member)
    # A stored row is changed, too, and what is not given stays.
    again = put(api, id, settings={"mapping": {"horizon_s": 90, "aggregation": 3}})
    assert counts(again) == (0, 1, 0, 0)
    row = MappingSettings.objects.get(system=world.system)
    assert (row.horizon_s, row.aggregation, row.version) == (90, 3, 3)
    assert CalibrationSettings.objects.get(system=world.system).factor_min == 0.25


def test_what_is_settings_is_part_of_the_hash(api: Any, world: World) -> None:
    id = world.system.public_id
    dry = done(put(api, id, settings={"mapping": {"horizon_s": 60}}, dry_run=True))
    other = {"mapping": {"horizon_s": 61}}
    refused(put(api, id, settings=other, change_hash=dry["change_hash"]), 409, "change_differs")
    described = {"properties": {"description": "x"}, "settings": {"mapping": {"horizon_s": 60}}}
    refused(put(api, id, change_hash=dry["change_hash"], **described), 409, "change_differs")
    assert not MappingSettings.objects.exists()


def test_settings_that_are_not_there_are_named(api: Any, world: World) -> None:
    answer = put(api, world.system.public_id, settings={"mappings": {}})
    assert refused(answer, 400, "invalid") == [
        ("settings.mappings", 'There is no such settings. Is "mapping" meant?')
    ]


def test_what_only_the_service_of_settings_refuses_is_named(api: Any, world: World) -> None:
    """The smallest number that a problem may hold is a rule of the kernel."""
    answer = put(
        api,
        world.system.public_id,
        settings={"mapping": {"transport": 1e-300}},
        properties={"description": "x"},
    )
    assert refused(answer, 400, "invalid")[0][0] == "settings.mapping.transport"
    assert System.objects.get(pk=world.system.pk).description == ""


# --- a system that is not there


def test_an_unknown_id_says_what_would_create_it(api: Any) -> None:
    id = uuid4()
    for body in (
        {},
        {"properties": {"name": "port"}},
        {"properties": {"product": "nats"}},
        {"properties": "port", "kinds": 7},
    ):
        answer = put(api, id, **body)
        refused(answer, 404, "not_found")
        assert "`properties` with `name` and `product`" in answer.json()["detail"]


def test_a_document_creates_a_system_under_its_id(api: Any) -> None:
    id = uuid4()
    body: dict[str, Any] = {
        "properties": {**NEW, "resources": ["cpu", "mem"]},
        "settings": {"calibration": {"correct_errors": True}},
        "kinds": {
            "broker": [{"name": "b1", "capacities": [{"resource": "mem", "capacity": 5.0}]}],
            "topic": [{"name": "t1", "source": "b1", "rate_max_per_s": 5.0}],
        },
        "delete": "rest",
        "reason": "CHG-1",
    }
    dry = done(put(api, id, dry_run=True, **body))
    assert not System.objects.exists()
    assert not AuditEntry.objects.filter(system_id=id).exists()
    answer = put(api, id, change_hash=dry["change_hash"], **body)
    assert made(answer) == {**dry, "dry_run": False}
    assert answer["Location"] == f"/api/v1/systems/{id}"
    assert [row["kind"] for row in dry["rows"]] == [
        "system",
        "calibration_settings",
        "broker",
        "topic",
    ]
    assert dry["rows"][0]["action"] == "create"
    assert dry["rows"][0]["before"] is None
    assert dry["rows"][0]["after"] == {
        "name": "port",
        "external_id": None,
        "labels": {},
        "description": "",
        "product": "nats",
        "resources": ["cpu", "mem"],
    }
    assert (dry["created"], dry["changed"], dry["model_version"]) == (3, 1, 1)
    assert done(api.get(answer["Location"]))["model_version"] == 1
    entries = AuditEntry.objects.filter(system_id=id).order_by("id")
    assert [(one.object_kind, one.action, one.model_version, one.reason) for one in entries] == [
        ("system", "create", 1, "CHG-1"),
        ("broker", "create", 1, "CHG-1"),
        ("topic", "create", 1, "CHG-1"),
        ("calibration_settings", "update", 1, "CHG-1"),
    ]
    assert entries[0].object_id == id
    # Once it is there, the same document changes nothing, and answers 200.
    assert counts(put(api, id, **body)) == (0, 0, 0, 4)


def test_only_who_edits_models_creates_a_system(as_role: Any) -> None:
    reader = as_role(Role.VIEWER, Role.APPROVER, Role.OPERATOR)
    assert put(reader, uuid4(), properties=NEW).status_code == 403
    assert not System.objects.exists()


def test_nothing_is_created_that_nobody_has_seen(api: Any) -> None:
    """A program whose system somebody has just deleted does not bring it back by its next edit."""
    answer = put(api, uuid4(), properties=NEW)
    refused(answer, 428, "change_hash_required")
    assert 'creates the system "port"' in answer.json()["detail"]
    assert not System.objects.exists()


def test_what_a_new_system_refuses_leaves_nothing(api: Any) -> None:
    kinds = {"broker": [{"name": "b1", "capacities": [{"resource": "mem", "capacity": 5.0}]}]}
    answer = put(api, uuid4(), properties=NEW, kinds=kinds)
    assert refused(answer, 400, "invalid")[0][0] == "kinds.broker[0].capacities[0].resource"
    assert not System.objects.exists()


# --- there and back


def with_interests(document: dict[str, Any], system: System) -> dict[str, Any]:
    """The document with what each subscriber wants, which is exported apart."""
    rows = {row["name"]: row for row in document["kinds"]["subscriber"]}
    for subscriber in Subscriber.objects.filter(system=system):
        topics = subscriber.interests.order_by("topic__name").values_list("topic__name", flat=True)
        rows[subscriber.name]["interests"] = [{"topic": name} for name in topics]
    return document


def wanted(system: System) -> set[tuple[str, str]]:
    rows = Interest.objects.filter(topic__system=system)
    return {*rows.values_list("subscriber__name", "topic__name")}


def frozen(system: System) -> Iterator[tuple[str, str]]:
    """The hash of what a run of each kind computes on."""
    topic = Topic.objects.get(system=system, name="reefers.bremerhaven")
    runs: dict[str, Run] = {
        "allocation": allocation_request(system=system, actor=None),
        "mapping": mapping_request(system=system, actor=None),
        "placement": placement_request(system=system, actor=None, topic=topic),
    }
    for kind, run in runs.items():
        yield kind, run.snapshot.content_hash
        run.delete()


def enriched(api: Any) -> System:
    """The harbour with what it has none of: keys, pins, ids, labels, settings, other resources."""
    system = harbour.load()
    publishers = Publisher.objects.filter(topic__name="reefers.bremerhaven").order_by("name")
    done(
        put(
            api,
            system.public_id,
            properties={
                "external_id": "port-7",
                "labels": {"managed-by": "git"},
                # Not in the order of their names.
                "resources": ["mem", "cpu"],
            },
            settings={
                "calibration": {"correct_errors": True, "factor_max": 3.0, "cores": 4.0},
                "mapping": {"transport": 2.5, "horizon_s": 600, "flow_move_work": 7.0},
            },
            kinds={
                "broker": [
                    {
                        "name": broker,
                        "external_id": f"srv-{broker}",
                        "capacities": [
                            {"resource": "mem", "capacity": 64.0},
                            {"resource": "cpu", "capacity": cpu},
                        ],
                    }
                    for broker, _, _, _, cpu, _ in harbour.BROKERS
                ],
                "correlation_key": [{"name": "row-a", "labels": {"seen": "twice"}}],
                "publisher": [
                    {"name": one.name, "correlation_key": "row-a"} for one in publishers[:3]
                ],
                "topic": [{"name": "tides", "pinned_stream": "stream-2", "external_id": "t-1"}],
                "stream": [{"name": "stream-3", "pinned_group": "group-1"}],
            },
        )
    )
    return system


@pytest.mark.parametrize("order", [lambda document: document, turned])
def test_a_deleted_system_comes_back_as_it_was(api: Any, order: Any) -> None:
    system = enriched(api)
    id = system.public_id
    document, hashes = read(api, id), dict(frozen(system))
    sent = order(with_interests(read(api, id), system))
    interests = wanted(system)
    assert min(map(len, document["kinds"].values())) > 0
    assert len(interests) > 10
    row = System.objects.get(pk=system.pk)
    system_delete(system=row, actor=None, expected_version=row.version)
    assert api.get(address(id)).status_code == 404

    dry = done(put(api, id, dry_run=True, delete="rest", **sent))
    assert dry["deleted"] == 0
    back = made(put(api, id, delete="rest", change_hash=dry["change_hash"], **sent))
    assert back["created"] == 1 + sum(map(len, document["kinds"].values()))

    again = System.objects.get(public_id=id)
    assert again.pk != system.pk
    # It is a new system to whoever counts versions.
    assert read(api, id) == {**document, "model_version": 1}
    assert wanted(again) == interests
    assert dict(frozen(again)) == hashes
    assert counts(put(api, id, delete="rest", **sent))[:3] == (0, 0, 0)


# --- two at once


@pytest.mark.django_db(transaction=True)
def test_a_system_that_is_deleted_meanwhile_stays_deleted() -> None:
    system = make_world().system
    ana = client_of(make_user("ana", Role.EDITOR))
    sent = read(ana, system.public_id)
    sent["kinds"]["correlation_key"] = [{"name": "k1"}]

    def send() -> Any:
        try:
            return put(ana, system.public_id, **sent)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            system_delete(system=system, actor=None, expected_version=system.version)
            answer = pool.submit(send)
            until_somebody_waits()
        refused(answer.result(timeout=60), 428, "change_hash_required")
    assert not System.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_new_name_waits_for_whoever_makes_the_first_settings() -> None:
    system = make_world().system
    ana = client_of(make_user("ana", Role.EDITOR))

    def send() -> Any:
        try:
            settings = {"mapping": {"horizon_s": 60}}
            return put(ana, system.public_id, properties={"name": "haven"}, settings=settings)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            mapping_settings_update(
                settings=mapping_settings_of(system),
                actor=None,
                expected_version=1,
                values={"aggregation": 4.0},
            )
            answer = pool.submit(send)
            until_somebody_waits()
        done(answer.result(timeout=60))
    row = MappingSettings.objects.get()
    assert (row.system.name, row.horizon_s, row.aggregation) == ("haven", 60.0, 4.0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("one_id", [True, False])
def test_of_two_that_create_one_system_one_wins(one_id: bool) -> None:
    """With one id, or with one name under two ids."""
    clients = [client_of(make_user(name, Role.EDITOR)) for name in ("erik", "ana")]
    ids: list[UUID] = [uuid4()] * 2 if one_id else [uuid4(), uuid4()]
    names = ["port", "haven"] if one_id else ["port", "port"]
    kinds = {"correlation_key": [{"name": f"k{n}"} for n in range(300)]}

    def send(index: int) -> Any:
        sent = {"properties": {**NEW, "name": names[index]}, "kinds": kinds}
        dry = put(clients[index], ids[index], dry_run=True, **sent)
        if dry.status_code != 200:
            return dry
        return put(clients[index], ids[index], change_hash=dry.json()["change_hash"], **sent)

    answers = at_once(lambda: send(0), lambda: send(1))
    statuses = sorted(answer.status_code for answer in answers)
    # Whoever came after the other was done would edit its system, which nobody has seen.
    assert statuses == ([201, 409] if one_id else [201, 400]), [
        answer.content for answer in answers
    ]
    for answer in answers:
        if answer.status_code == 409:
            assert answer.json()["code"] in ("taken_meanwhile", "change_differs")
        if answer.status_code == 400:
            assert refused(answer, 400, "invalid")[0][0] == "properties.name"
    assert System.objects.get().correlationkey_set.count() == 300


def until_somebody_waits() -> None:
    """Return once another connection waits for a transaction of this one."""
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
    for _ in range(600):
        with connection.cursor() as cursor:
            cursor.execute(waiting)
            if cursor.fetchone():
                return
        time.sleep(0.05)
    raise AssertionError("nobody waits")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("one_id", [True, False])
def test_what_another_request_took_meanwhile_is_named(one_id: bool) -> None:
    """Neither sees the other's system before that one's transaction has ended."""
    ana = client_of(make_user("ana", Role.EDITOR))

    def send(id: Any) -> Any:
        try:
            return put(ana, id, properties={**NEW, "name": "haven" if one_id else "port"})
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            held = make_system("port")
            sent = pool.submit(send, held.public_id if one_id else uuid4())
            until_somebody_waits()
        answer = sent.result(timeout=60)
    if one_id:
        refused(answer, 409, "taken_meanwhile")
        assert "Send the document again" in answer.json()["detail"]
    else:
        assert refused(answer, 400, "invalid") == [
            ("properties.name", "System with this Name already exists.")
        ]
    assert [*System.objects.values_list("name", flat=True)] == ["port"]
