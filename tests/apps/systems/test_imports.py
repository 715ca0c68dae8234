"""Many objects are created and changed by name as one edit, from JSON and from CSV."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.catalog.models import (
    ConsumerClass,
    CorrelationKey,
    Publisher,
    Stream,
    Topic,
    UtilityFunction,
)
from apps.systems.models import System
from apps.topology.models import Broker
from tests.factories.kinds import KINDS, Kind, World, make_world
from tests.suites import effort

pytestmark = pytest.mark.django_db


def address(world: World, kind: str = "publishers", **query: Any) -> str:
    more = "".join(f"&{name}={value}" for name, value in query.items())
    return f"/api/v1/{kind}/import?system={world.system.public_id}{more}"


def send(api: Any, world: World, rows: Any, kind: str = "publishers", **query: Any) -> Any:
    """Import rows of JSON, or a CSV."""
    headers = {"idempotency-key": query.pop("key")} if "key" in query else {}
    if isinstance(rows, str | bytes):
        return api.generic(
            "POST", address(world, kind, **query), rows, content_type="text/csv", headers=headers
        )
    body = rows if isinstance(rows, dict) else {"rows": rows}
    return api.post(address(world, kind, **query), body, format="json", headers=headers)


def done(answer: Any) -> Any:
    assert answer.status_code == 200, answer.content
    return answer.json()


def counts(answer: Any) -> tuple[int, int, int]:
    body = done(answer)
    return body["created"], body["changed"], body["unchanged"]


def errors(answer: Any) -> list[tuple[int | None, str]]:
    assert answer.status_code == 400, answer.content
    return [(one.get("line"), one["field"]) for one in answer.json()["errors"]]


def export(api: Any, world: World, kind: str, **query: str) -> str:
    answer = api.get(f"/api/v1/{kind}/export", {"system": str(world.system.public_id), **query})
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def state(world: World) -> tuple[int, list[Any], int]:
    rows = Publisher.objects.filter(system=world.system).order_by("name")
    values = list(rows.values_list("name", "topic", "broker", "rate_per_s", "pinned", "version"))
    version = System.objects.get(pk=world.system.pk).model_version
    return version, values, AuditEntry.objects.count()


PUBLISHERS = "name,topic,broker,rate_per_s\np1,world-topic,world-b1,4.5\np2,world-topic,,\n"


def test_creates_what_is_new_changes_what_differs_and_leaves_the_rest(
    api: Any, world: World
) -> None:
    assert counts(send(api, world, PUBLISHERS)) == (2, 0, 0)
    before = System.objects.get(pk=world.system.pk).model_version
    changed = PUBLISHERS.replace("4.5", "7") + "p3,world-topic,world-b2,1\n"
    body = done(send(api, world, changed, reason="moved in"))
    assert (body["created"], body["changed"], body["unchanged"]) == (1, 1, 1)
    assert body["model_version"] == before + 1
    assert body["rows"] == [
        {
            "name": "p1",
            "action": "update",
            "before": {"rate_per_s": 4.5},
            "after": {"rate_per_s": 7.0},
        },
        {
            "name": "p3",
            "action": "create",
            "before": None,
            "after": {
                "name": "p3",
                "topic": "world-topic",
                "broker": "world-b2",
                "correlation_key": None,
                "rate_per_s": 1.0,
                "pinned": False,
                "external_id": None,
                "labels": {},
            },
        },
    ]
    first = Publisher.objects.get(name="p1")
    assert (first.rate_per_s, first.broker, first.version) == (7.0, world.broker, 2)
    entries = AuditEntry.objects.filter(reason="moved in").order_by("id")
    assert [(e.action, e.object_name, e.model_version) for e in entries] == [
        ("update", "p1", before + 1),
        ("create", "p3", before + 1),
    ]
    assert (entries[0].before, entries[0].after) == ({"rate_per_s": 4.5}, {"rate_per_s": 7.0})


def test_columns_that_are_not_given_stay(api: Any, world: World) -> None:
    done(send(api, world, PUBLISHERS))
    assert counts(send(api, world, [{"name": "p1", "pinned": True}])) == (0, 1, 0)
    first = Publisher.objects.get(name="p1")
    assert (first.rate_per_s, first.broker, first.pinned) == (4.5, world.broker, True)


def test_a_recorded_bucket_is_a_column_of_topics(api: Any, world: World) -> None:
    table = (
        "name,rate_max_per_s,token_rate_per_s,token_bucket,recorded_bucket\n"
        "periodic,5,6,9,2.5\nrandom,5,6,9,\n"
    )
    assert counts(send(api, world, table, "topics")) == (2, 0, 0)
    recorded = dict(Topic.objects.values_list("name", "recorded_bucket"))
    assert recorded == {"periodic": 2.5, "random": None, "world-topic": None}
    assert counts(send(api, world, export(api, world, "topics"), "topics")) == (0, 0, 3)
    late = "name,recorded_bucket\nrandom,3\nworld-topic,3\n"
    assert errors(send(api, world, late, "topics")) == [(3, "recorded_bucket")]


def test_nothing_that_differs_leaves_no_trace(api: Any, world: World) -> None:
    done(send(api, world, PUBLISHERS))
    before = state(world)
    body = done(send(api, world, PUBLISHERS))
    assert (body["unchanged"], body["rows"], body["model_version"]) == (2, [], before[0])
    assert state(world) == before


def test_a_dry_run_answers_the_same_and_changes_nothing(api: Any, world: World) -> None:
    done(send(api, world, PUBLISHERS))
    before = state(world)
    rows = [
        {"name": "p1", "rate_per_s": 9},
        {"name": "p4", "topic": "world-topic", "correlation_key": "open"},
    ]
    query = {"create_missing": "correlation_key"}
    tried = done(send(api, world, rows, dry_run="true", key="k", **query))
    assert state(world) == before
    assert not CorrelationKey.objects.filter(name="open").exists()
    assert tried.pop("dry_run") is True
    real = done(send(api, world, rows, key="k", **query))
    assert real.pop("dry_run") is False
    assert real == tried


def test_wrong_rows_are_named_by_line_and_column_and_nothing_changes(
    api: Any, world: World
) -> None:
    table = (
        "name;topic;broker;rate_per_s\n"
        "p1;world-topic;world-b1;1\n"
        "p2;nowhere;;1\n"
        "\n"
        "p3;world-topic;;-2\n"
        "p1;world-topic;;3\n"
        '"a\nb";world-topic;;4\n'
        ";world-topic;;5\n"
    )
    before = state(world)
    answer = send(api, world, table)
    assert errors(answer) == [
        (3, "topic"),
        (5, "rate_per_s"),
        (6, "name"),
        (7, "name"),
        (9, "name"),
    ]
    assert 'line 3, topic: There is no topic "nowhere" in this system.' in answer.json()["detail"]
    assert "line 2" in answer.json()["errors"][2]["message"]
    assert state(world) == before
    rows = [{"name": "p1", "topic": "world-topic", "rat": 1}, {"name": "p2"}, {"topic": "x"}]
    assert errors(send(api, world, rows)) == [
        (None, "rows[0].rat"),
        (None, "rows[1].topic"),
        (None, "rows[2].name"),
        (None, "rows[2].topic"),
    ]


@pytest.mark.parametrize(
    ("table", "line", "field", "says"),
    [
        ("name,topik\np,t\n", 1, "topik", 'Is "topic" meant?'),
        ("topic\nworld-topic\n", 1, "name", "needs the column"),
        ("name,topic,topic\np,t,t\n", 1, "topic", "twice"),
        ("", 1, "", "empty"),
        ("name,topic\np\n", 2, "", "1 cells"),
        ('name,topic\n"p"x,t\n', 2, "", "not CSV"),
        ("name;topic;rate_per_s\np;world-topic;1,5\n", 2, "rate_per_s", '"1.5"'),
        ("name,topic\np,\n", 2, "topic", "may not be empty"),
        ("name,topic,pinned\np,world-topic,true\n", 2, "pinned", "needs a broker"),
        ("name,topic,rate_per_s\np,world-topic,1e999\n", 2, "rate_per_s", "valid number"),
        ("name,id\np,1\n", 1, "id", "no such column"),
    ],
)
def test_a_table_that_cannot_be_read_says_where(
    api: Any, world: World, table: str, line: int, field: str, says: str
) -> None:
    answer = send(api, world, table)
    assert errors(answer) == [(line, field)]
    assert says in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("name,topic\np\u00e9,t\n".encode("latin-1"), "line 2 holds the byte 0xE9"),
        ("name,topic\np,t\n".encode("utf-16"), "UTF-16"),
        (b"name,topic\np\0,t\n", "null character"),
    ],
)
def test_another_encoding_is_named(api: Any, world: World, raw: bytes, says: str) -> None:
    answer = send(api, world, raw)
    assert answer.status_code == 400
    assert says in answer.json()["detail"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_marks_separators_and_quotes_are_read(
    api: Any, world: World, mark: bytes, separator: str
) -> None:
    lines = [["name", "topic", "rate_per_s"], ['"p ""1"", \u00e9"', "world-topic", "1.5"]]
    table = "\r\n".join(separator.join(line) for line in lines)
    assert counts(send(api, world, mark + table.encode())) == (1, 0, 0)
    assert Publisher.objects.get(name='p "1", \u00e9').rate_per_s == 1.5


def test_an_empty_cell_means_none_or_the_default(api: Any, world: World) -> None:
    done(send(api, world, PUBLISHERS))
    assert counts(send(api, world, "name,broker,rate_per_s\np1,,\n")) == (0, 1, 0)
    first = Publisher.objects.get(name="p1")
    assert (first.broker, first.rate_per_s) == (None, 0.0)


def test_references_are_names_or_ids_of_this_system_alone(api: Any, world: World) -> None:
    other = make_world("elsewhere")
    done(send(api, other, [{"name": "only-there", "rate_max_per_s": 1}], "topics"))
    foreign = Topic.objects.get(name="only-there")
    for reference in ("only-there", str(foreign.public_id)):
        answer = send(api, world, [{"name": "p", "topic": reference}])
        assert errors(answer) == [(None, "rows[0].topic")]
    rows = [{"name": "p", "topic": world.reference("topic")}, {"name": "q", "topic": "world-topic"}]
    assert counts(send(api, world, rows)) == (2, 0, 0)
    assert {p.topic for p in Publisher.objects.all()} == {world.topic}
    foreign_row = {"name": "p", "topic": "world-topic", "system": str(other.system.public_id)}
    assert errors(send(api, world, [foreign_row])) == [(None, "rows[0].system")]


def test_a_new_correlation_key_is_created_only_where_that_is_asked_for(
    api: Any, world: World
) -> None:
    table = "name,topic,correlation_key\np,world-topic,open\nq,world-topic,open\n"
    answer = send(api, world, table)
    assert errors(answer) == [(2, "correlation_key"), (3, "correlation_key")]
    assert "create_missing=correlation_key" in answer.json()["detail"]
    before = System.objects.get(pk=world.system.pk).model_version
    body = done(send(api, world, table, create_missing="correlation_key"))
    assert body["also"] == [{"kind": "correlation_key", "name": "open"}]
    assert (body["created"], body["also_created"]) == (2, 1)
    assert body["model_version"] == before + 1
    key = CorrelationKey.objects.get(name="open")
    assert [p.correlation_key for p in Publisher.objects.all()] == [key, key]
    assert AuditEntry.objects.filter(object_id=key.public_id, action="create").count() == 1
    answer = send(api, world, table, create_missing="topic")
    assert errors(answer) == [(None, "create_missing")]


def test_what_only_the_database_refuses_is_named_too(api: Any, world: World) -> None:
    done(send(api, world, "name,number\n" + "".join(f"s{n},{n}\n" for n in range(20)), "streams"))
    rows = [{"name": f"s{n}", "number": n + 40} for n in range(20)]
    rows[3]["number"], rows[11]["number"] = 100, 41
    before = list(Stream.objects.order_by("id").values_list("number", "version"))
    answer = send(api, world, rows, "streams")
    assert errors(answer) == [(None, "rows[3].number"), (None, "rows[11].number")]
    assert list(Stream.objects.order_by("id").values_list("number", "version")) == before


def test_a_hundred_errors_are_named_and_the_rest_counted(api: Any, world: World) -> None:
    answer = send(api, world, [{"name": f"p{n}", "topic": "none"} for n in range(130)])
    assert len(errors(answer)) == 100
    assert answer.json()["more_errors"] == 30
    assert "129 other errors" in answer.json()["detail"]


def test_more_rows_than_one_import_takes_are_refused(api: Any, world: World) -> None:
    answer = send(api, world, [{"name": str(n)} for n in range(20_001)], "correlation-keys")
    assert errors(answer) == [(None, "rows")]
    assert "20,000" in answer.json()["detail"]


def test_only_editors_import_and_everybody_exports(as_role: Any, world: World) -> None:
    viewer = as_role(Role.VIEWER)
    assert send(viewer, world, PUBLISHERS).status_code == 403
    assert send(viewer, world, PUBLISHERS, dry_run="true").status_code == 403
    assert export(viewer, world, "topics").startswith("name,description,pattern")
    assert counts(send(as_role(Role.EDITOR), world, PUBLISHERS)) == (2, 0, 0)


def test_a_repeat_with_the_same_key_answers_as_before(api: Any, world: World) -> None:
    first = send(api, world, PUBLISHERS, key="k")
    again = send(api, world, PUBLISHERS, key="k")
    assert again["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    other = send(api, world, PUBLISHERS, key="k", reason="another")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_a_browser_repeats_with_the_same_key(admin: User, world: World) -> None:
    """The check against forged requests reads the body before the view does."""
    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(admin)
    token = browser.get("/api/v1/session").json()["csrf_token"]
    browser.credentials(HTTP_X_CSRFTOKEN=token)
    first = send(browser, world, PUBLISHERS, key="k")
    assert counts(first) == (2, 0, 0)
    again = send(browser, world, PUBLISHERS, key="k")
    assert again["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    assert send(browser, world, PUBLISHERS + "p3,world-topic,,\n", key="k").status_code == 422


@pytest.mark.parametrize(
    "content_type", ["TEXT/CSV", "Text/Csv; Charset=UTF-8", 'text/csv;charset="utf-8"', "text/*"]
)
def test_capitals_of_the_type_say_nothing(api: Any, world: World, content_type: str) -> None:
    answer = api.generic("POST", address(world), PUBLISHERS, content_type=content_type)
    assert counts(answer) == (2, 0, 0)


@pytest.mark.parametrize("text", ["a\0x", "\ud800", "a\udfff"])
@pytest.mark.parametrize("member", ["name", "topic", "broker", "correlation_key"])
def test_text_that_the_database_cannot_hold_is_named(
    api: Any, world: World, member: str, text: str
) -> None:
    row = {"name": "p", "topic": "world-topic", "rate_per_s": 1, member: text}
    body = json.dumps({"rows": [row]})
    for more in ({}, {"create_missing": "correlation_key"}):
        answer = api.generic("POST", address(world, **more), body, content_type="application/json")
        assert errors(answer) == [(None, f"rows[0].{member}")]
    line = ",".join(str(value) for value in row.values())
    table = f"{','.join(row)}\n{line}\n".encode(errors="surrogatepass")
    answer = send(api, world, table, create_missing="correlation_key")
    assert answer.status_code == 400
    assert "ine 2 holds" in answer.json()["detail"]


@pytest.mark.parametrize(
    "cell",
    [
        r'{"weight": 1, "x": "\u0000"}',
        r'{"\ud800": 1}',
        '{"weight": NaN}',
        '{"weight": 1, "weight": 2}',
        '{"a":' * 99,
    ],
)
def test_a_cell_of_json_is_read_as_a_body_is(api: Any, world: World, cell: str) -> None:
    quoted = cell.replace('"', '""')
    table = f'name,kind,parameters\nu,log,"{quoted}"\n'
    assert errors(send(api, world, table, "utility-functions")) == [(2, "parameters")]


def test_what_stays_as_it_is_is_not_checked_again(api: Any, world: World) -> None:
    """A rule that came later, or a target that was changed, refuses no row that changes nothing."""
    UtilityFunction.objects.filter(pk=world.utility.pk).update(
        kind="latency",
        parameters={
            "max_utility": 900,
            "threshold_s": 0.5,
            "senders": 20,
            "think_s": 0.1,
            "exec_s": 0.008,
        },
    )
    Topic.objects.filter(pk=world.topic.pk).update(
        pattern="request_response", rate_min_per_s=34, rate_max_per_s=250
    )
    for kind in ("topics", "consumer-classes"):
        created, changed, _ = counts(send(api, world, export(api, world, kind), kind))
        assert (created, changed) == (0, 0)
    path = f"/api/v1/topics/{world.reference('topic')}"
    now = api.get(path)
    headers = {"if-match": now["ETag"]}
    rates = {"rate_max_per_s": 250, "pattern": "request_response"}
    assert api.patch(path, rates, format="json", headers=headers).status_code == 200
    wrong = send(api, world, "name,rate_max_per_s\nworld-topic,251\n", "topics")
    assert errors(wrong) == [(2, "rate_max_per_s")]
    another = "name,topic,broker,utility,population_max\nc,world-topic,world-b1,world-utility,1\n"
    assert errors(send(api, world, another, "consumer-classes")) == [(2, "utility")]


def test_lists_are_replaced_where_json_gives_them(api: Any, world: World) -> None:
    costs = [
        {"broker": "world-b2", "resource": "cpu", "cost": 2},
        {"broker": "world-b1", "resource": "cpu", "cost": 3},
    ]
    rows = [{"name": "world-topic", "node_costs": costs}, {"name": "t", "rate_max_per_s": 5}]
    assert counts(send(api, world, rows, "topics")) == (1, 1, 0)
    stored = {str(row.broker): row.cost for row in world.topic.node_costs.all()}
    assert stored == {"world-b1": 3, "world-b2": 2}
    # The order of a list says nothing.
    assert counts(send(api, world, [{**rows[0], "node_costs": costs[::-1]}], "topics")) == (0, 0, 1)
    twice = [{"name": "u", "rate_max_per_s": 5, "node_costs": [costs[0], costs[0]]}]
    assert errors(send(api, world, twice, "topics")) == [(None, "rows[0].node_costs[1]")]


def test_lists_by_resource_are_columns(api: Any, world: World) -> None:
    table = "name,region,capacities.cpu\nworld-b1,eu,1000\nworld-b3,us,20.5\n"
    assert counts(send(api, world, table, "brokers")) == (1, 1, 0)
    (capacity,) = Broker.objects.get(name="world-b3").capacities.all()
    assert (capacity.resource, capacity.capacity) == ("cpu", 20.5)
    answer = send(api, world, "name,capacities.cpu\nworld-b1,much\n", "brokers")
    assert errors(answer) == [(2, "capacities.cpu")]
    assert counts(send(api, world, "name,costs.cpu\nworld-class,\n", "consumer-classes")) == (
        0,
        1,
        0,
    )
    assert not ConsumerClass.objects.get(name="world-class").costs.exists()
    System.objects.filter(pk=world.system.pk).update(resources=["cpu", "mem"])
    answer = send(api, world, "name,capacities.cpu\nworld-b1,1\n", "brokers")
    assert errors(answer) == [(1, "capacities.mem")]


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.path != "overlays"], ids=lambda kind: kind.path
)
def test_what_is_exported_imports_as_nothing_changed(api: Any, world: World, kind: Kind) -> None:
    for number, name in enumerate(("=alpha", "'+beta", 'ga"mma, ;\u00fc')):
        more = {"number": number} if kind.path in ("groups", "streams") else {}
        body = kind.new(world, name, **more)
        assert api.post(f"/api/v1/{kind.path}", body, format="json").status_code == 201
    table = export(api, world, kind.path)
    assert "'=alpha" in table
    assert "''+beta" in table
    created, changed, unchanged = counts(send(api, world, table, kind.path))
    assert (created, changed) == (0, 0)
    assert unchanged >= 3
    rows = api.get(f"/api/v1/{kind.path}", {"system": str(world.system.public_id)}).json()
    sent_back = send(api, world, rows["results"], kind.path)
    assert counts(sent_back)[:2] == (0, 0)


def test_an_export_into_an_empty_system_makes_the_same_objects(api: Any, world: World) -> None:
    done(send(api, world, PUBLISHERS))
    other = make_world("elsewhere")
    table = export(api, world, "publishers")
    assert counts(send(api, other, table)) == (2, 0, 0)
    assert export(api, other, "publishers") == table
    filtered = export(api, world, "publishers", broker=world.reference("broker"))
    assert filtered.splitlines()[1:] == ["p1,world-topic,world-b1,,4.5,false,,"]


def test_an_export_names_its_system(api: Any, world: World) -> None:
    answer = api.get("/api/v1/publishers/export")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert answer.json()["errors"][0]["field"] == "system"


def test_overlays_are_not_imported(api: Any, world: World) -> None:
    assert send(api, world, [], "overlays").status_code == 404


@pytest.mark.parametrize("kind", ["publishers", "topics"])
def test_thousands_of_rows_take_as_many_statements_as_ten(
    api: Any, world: World, kind: str
) -> None:
    def table(count: int, rate: int) -> str:
        if kind == "topics":
            return "name,pattern,rate_min_per_s,rate_max_per_s\n" + "".join(
                f"t{n},request_response,1,{rate}\n" for n in range(count)
            )
        return "name,topic,broker,rate_per_s\n" + "".join(
            f"p{n},world-topic,world-b1,{rate}\n" for n in range(count)
        )

    few, many = (10, effort(3_000, 10_000)) if kind == "publishers" else (10, 300)
    spent = []
    for count in (few, many):
        for rate in (3, 4):
            with CaptureQueriesContext(connection) as statements:
                created, changed, _ = counts(send(api, world, table(count, rate), kind))
            assert created + changed == count
            spent.append(len(statements))
    assert max(spent) <= 30
