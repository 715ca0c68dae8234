"""Connections over the API: settings are checked at their field, credentials are references."""

from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.integrations.models import Connection
from apps.plans.services import plan_withdraw
from tests.apps.integrations.conftest import SECRET, tick
from tests.apps.integrations.faulty_server import Fault
from tests.apps.integrations.servicenow_server import FakeServiceNow
from tests.factories.fleet import Harbour
from tests.factories.plans import make_plan, submitted

GOOD: dict[str, Any] = {
    "name": "ServiceNow",
    "product": "servicenow",
    "settings": {"address": "https://example.service-now.com"},
    "credential": "env:WEIR_CREDENTIAL_SERVICENOW",
}


def send(api: APIClient, **changed: Any) -> Any:
    return api.post("/api/v1/connections", {**GOOD, **changed}, format="json")


def errors(answer: Any) -> dict[str, str]:
    assert answer.status_code == 400, answer.content
    return {error["field"]: error["message"] for error in answer.json()["errors"]}


def test_connection_is_made_shown_changed_and_deleted(api: APIClient, harbour: Harbour) -> None:
    system = str(harbour.system.public_id)
    made = send(api, systems=[system])
    assert made.status_code == 201, made.content
    body = made.json()
    assert body["systems"] == [system]
    assert body["system_names"] == ["harbour"]
    assert (body["enabled"], body["approval_needed"], body["window_from_change"]) == (
        *(True, True, False),
    )
    assert body["allowed_commands"] == ["edit", "delete", "test"]
    address = f"/api/v1/connections/{body['id']}"
    assert made["Location"] == address
    assert [row["name"] for row in api.get("/api/v1/connections").json()["results"]] == [
        "ServiceNow"
    ]
    changed = api.patch(
        address,
        {"systems": [], "approval_needed": False, "reason": "On trial"},
        format="json",
        headers={"If-Match": made["ETag"]},
    )
    assert changed.json()["systems"] == []
    assert changed.json()["settings"] == GOOD["settings"]
    stale = api.patch(address, {}, format="json", headers={"If-Match": made["ETag"]})
    assert stale.status_code == 412
    entry = AuditEntry.objects.filter(object_kind="connection").last()
    assert entry is not None
    assert entry.before == {"approval_needed": True, "systems": ["harbour"]}
    assert entry.after == {"approval_needed": False, "systems": []}
    assert entry.reason == "On trial"
    gone = api.delete(address, headers={"If-Match": changed["ETag"]})
    assert gone.status_code == 204
    assert not Connection.objects.exists()


@pytest.mark.parametrize(
    ("settings", "field", "words"),
    [
        ({}, "settings.address", "needed"),
        ({"address": ""}, "settings.address", "https://"),
        ({"address": "example.service-now.com"}, "settings.address", "https://"),
        ({"address": "ftp://example.org"}, "settings.address", "https://"),
        ({"address": "http://example.org"}, "settings.address", "Only https://"),
        ({"address": "https://me:pw@example.org"}, "settings.address", "credential"),
        ({"address": "https://example.org/?a=b"}, "settings.address", "follows the path"),
        ({"address": "https://example.org:0"}, "settings.address", "Port 0"),
        ({"address": "https://[::1"}, "settings.address", "no address"),
        ({"address": "https://e.org", "kind": "urgent"}, "settings.kind", "emergency"),
        ({"address": "https://e.org", "kind": "standard"}, "settings.template", "sys_id"),
        ({"address": "https://e.org", "template": "0" * 32}, "settings.template", "leave it out"),
        (
            {"address": "https://e.org", "authentication": "ntlm"},
            "settings.authentication",
            "basic",
        ),
        ({"address": "https://e.org", "kint": "x"}, "settings.kint", "kind"),
        ({"address": 7}, "settings.address", "string"),
        ({"address": "https://e.org", "headers": {"a b": "c"}}, "settings.headers", "a b"),
        ({"address": "https://e.org", "headers": {"X-A": "c\r\nd: e"}}, "settings.headers", "X-A"),
        (
            {"address": "https://e.org", "headers": {"Authorization": "Basic x"}},
            "settings.headers",
            "Authorization",
        ),
    ],
)
def test_wrong_setting_is_refused_at_its_field(
    api: APIClient, settings: dict[str, Any], field: str, words: str
) -> None:
    assert words in errors(send(api, settings=settings))[field]


@pytest.mark.parametrize(
    ("credential", "words"),
    [
        ("", "Say where"),
        (f"weir:{SECRET}", "never stored"),
        ("env:WEIR_SECRET_KEY", "begin with WEIR_CREDENTIAL_"),
        ("env:WEIR_CREDENTIAL_", "begin with WEIR_CREDENTIAL_"),
        ("env:WEIR_CREDENTIAL_A B", "begin with WEIR_CREDENTIAL_"),
        ("file:/etc/passwd", "Only files below"),
        ("file:{folder}/../passwd", "Only files below"),
        ("file:{folder}", "Only files below"),
        ("file:{folder}/link", "Only files below"),
        ("file:relative", "Only files below"),
    ],
)
def test_credential_is_a_reference_within_what_is_allowed(
    api: APIClient, tmp_path: Path, settings: Any, credential: str, words: str
) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    (tmp_path / "passwd").write_text("x")
    (folder / "link").symlink_to(tmp_path / "passwd")
    settings.WEIR_CREDENTIALS_DIR = folder
    answer = send(api, credential=credential.format(folder=folder))
    assert words in errors(answer)["credential"]
    assert SECRET not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize(
    ("servers", "is_allowed"),
    [
        ("example.service-now.com", True),
        ("other.example.org, Example.Service-Now.com:443", True),
        ("example.service-now.com:8443", False),
        ("service-now.com", False),
        ("evil-example.service-now.com", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("kind", ["variable", "file", "alias"])
def test_credential_goes_to_the_servers_that_are_named_beside_it(
    api: APIClient,
    tmp_path: Path,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    servers: str,
    is_allowed: bool,
    kind: str,
) -> None:
    settings.WEIR_CREDENTIALS_DIR = tmp_path
    (tmp_path / "snow").write_text(SECRET)
    (tmp_path / "alias").symlink_to(tmp_path / "snow")
    if kind == "variable":
        monkeypatch.setenv("WEIR_CREDENTIAL_SNOW_HOSTS", servers)
    else:
        (tmp_path / "snow.hosts").write_text(f"{servers}\n")
    reference = {
        "variable": "env:WEIR_CREDENTIAL_SNOW",
        "file": f"file:{tmp_path}/snow",
        "alias": f"file:{tmp_path}/alias",
    }[kind]
    answer = send(api, credential=reference)
    if is_allowed:
        assert answer.status_code == 201
    else:
        assert "snow" in errors(answer)["credential"].lower()
        assert SECRET not in str(answer.content)
    ending = "_HOSTS" if kind == "variable" else ".hosts"
    answer = send(api, name="Other", credential=f"{reference}{ending}")
    assert "names the servers" in errors(answer)["credential"]


def test_credential_that_is_bound_later_is_not_sent_elsewhere(
    connection: Connection,
    servicenow: FakeServiceNow,
    harbour: Harbour,
    ines: User,
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WEIR_CREDENTIAL_SERVICENOW_HOSTS", "example.service-now.com")
    submitted(make_plan(harbour.system, ines), ines)
    tick(connection)
    row = api.get(f"/api/v1/connections/{connection.public_id}").json()
    assert "is for example.service-now.com, not for 127.0.0.1:" in row["problem"]
    assert servicenow.requests == []
    monkeypatch.setenv("WEIR_CREDENTIAL_SERVICENOW_HOSTS", "127.0.0.1")
    tick(connection)
    assert len(servicenow.rows) == 1


def test_no_file_is_read_where_the_installation_names_no_folder(api: APIClient) -> None:
    assert "WEIR_CREDENTIALS_DIR" in errors(send(api, credential="file:/etc/passwd"))["credential"]


def test_names_and_systems_are_taken_once(api: APIClient, harbour: Harbour) -> None:
    system = str(harbour.system.public_id)
    assert send(api, systems=[system]).status_code == 201
    assert send(api).json()["code"] == "name_taken"
    taken = errors(send(api, name="Other", systems=[system]))
    assert taken == {"systems": "harbour is connected to ServiceNow; take it off there first."}


def test_connection_that_opened_changes_is_kept(
    connection: Connection, api: APIClient, harbour: Harbour, ines: User
) -> None:
    submitted(make_plan(harbour.system, ines), ines)
    tick(connection)
    address = f"/api/v1/connections/{connection.public_id}"
    read = api.get(address)
    assert read.json()["allowed_commands"] == ["edit", "test"]
    answer = api.delete(address, headers={"If-Match": read["ETag"]})
    assert answer.json()["code"] == "still_in_use"


def test_edit_tries_again_at_once(
    connection: Connection, servicenow: FakeServiceNow, api: APIClient, harbour: Harbour, ines: User
) -> None:
    submitted(make_plan(harbour.system, ines), ines)
    servicenow.faults.append(Fault(status=429, headers={"Retry-After": "3000"}))
    tick(connection)
    address = f"/api/v1/connections/{connection.public_id}"
    read = api.get(address).json()
    assert read["problem"] == "The server answers 429. It says: fault 429"
    assert read["waiting"] == 1
    changed = api.patch(
        address, {"window_from_change": False}, format="json", headers={"If-Match": '"1"'}
    )
    assert (changed.json()["problem"], changed.json()["retry_at"]) == ("", None)


def test_what_waits_is_listed_with_its_reason(
    connection: Connection, servicenow: FakeServiceNow, api: APIClient, harbour: Harbour, ines: User
) -> None:
    plan = submitted(make_plan(harbour.system, ines), ines)
    servicenow.read_only.add("backout_plan")
    tick(connection)
    for query in ({}, {"connection": connection.public_id}, {"plan": plan.public_id}):
        (row,) = api.get("/api/v1/waiting-messages", query).json()["results"]
        assert (row["kind"], row["attempts"], row["plan_name"]) == ("open", 1, "P-1")
        assert "backout_plan" in row["problem"]
    assert api.get("/api/v1/waiting-messages", {"plan": connection.public_id}).json()["count"] == 0


def test_exchanges_are_listed_newest_first(
    connection: Connection, servicenow: FakeServiceNow, api: APIClient, harbour: Harbour, ines: User
) -> None:
    plan = submitted(make_plan(harbour.system, ines), ines)
    tick(connection)
    change = plan.changes.get()
    rows = api.get("/api/v1/exchanges", {"change": change.public_id}).json()["results"]
    assert [(row["method"], row["answer_status"]) for row in rows][-2:] == [
        ("PATCH", 200),
        ("POST", 200),
    ]
    some = [
        api.get("/api/v1/exchanges", {"change": change.public_id, "writes": writes}).json()
        for writes in ("true", "false")
    ]
    assert "GET" not in {row["method"] for row in some[0]["results"]}
    assert {row["method"] for row in some[1]["results"]} == {"GET"}
    assert sum(page["count"] for page in some) == len(rows)
    assert "Spring tide" in rows[-1]["request"]
    assert '"number"' in rows[-1]["response"]
    assert SECRET not in str(rows)


def test_connection_is_tested(
    connection: Connection, servicenow: FakeServiceNow, api: APIClient, monkeypatch: Any
) -> None:
    address = f"/api/v1/connections/{connection.public_id}/test"
    assert api.post(address).json() == {
        "works": True,
        "detail": "ServiceNow answers and shows no change: there is none it may read.",
    }
    servicenow.away = True
    answer = api.post(address).json()
    assert answer["works"] is False
    assert answer["detail"].startswith("127.0.0.1: ")
    servicenow.away = False
    monkeypatch.setenv("WEIR_CREDENTIAL_SERVICENOW", "weir:wrong")
    assert api.post(address).json()["detail"].startswith("The credential was refused (401).")
    monkeypatch.delenv("WEIR_CREDENTIAL_SERVICENOW")
    assert api.post(address).json()["detail"] == (
        "WEIR_CREDENTIAL_SERVICENOW is not set where this process runs."
    )
    assert len(api.get("/api/v1/exchanges").json()["results"]) == 3


def test_address_of_this_machine_is_refused_when_dialled(
    connection: Connection, servicenow: FakeServiceNow, api: APIClient, settings: Any
) -> None:
    settings.WEIR_PRIVATE_NETWORKS = (ip_network("10.0.0.0/8"),)
    port = connection.settings["address"].rpartition(":")[2]
    Connection.objects.update(settings={"address": f"http://localhost:{port}"})
    answer = api.post(f"/api/v1/connections/{connection.public_id}/test").json()
    assert answer["works"] is False
    assert "is no public address" in answer["detail"]
    assert servicenow.requests == []


def test_redirection_is_not_followed(
    connection: Connection, servicenow: FakeServiceNow, api: APIClient
) -> None:
    servicenow.faults.append(Fault(status=307, headers={"Location": "http://169.254.169.254/"}))
    answer = api.post(f"/api/v1/connections/{connection.public_id}/test").json()
    assert "not followed" in answer["detail"]
    assert servicenow.requests == []


def test_plan_shows_its_change_and_what_it_waits_for(
    connection: Connection,
    servicenow: FakeServiceNow,
    as_role: Any,
    harbour: Harbour,
    ines: User,
) -> None:
    plan = make_plan(harbour.system, ines)
    api = as_role(Role.VIEWER)
    address = f"/api/v1/plans/{plan.public_id}/change"
    assert api.get(address).json() == {
        "connection": str(connection.public_id),
        "connection_name": "ServiceNow",
        "change": None,
        "allows": True,
        "because": "",
        "waiting": [],
    }
    submitted(plan, ines)
    assert (
        api.get(address).json()["because"] == "The change of P-1 in ServiceNow is not opened yet."
    )
    servicenow.faults.append(Fault(status=503))
    tick(connection)
    shown = api.get(address).json()
    assert (shown["allows"], shown["change"]["state"]) == (False, "opening")
    assert [row["kind"] for row in shown["waiting"]] == ["open"]
    assert shown["because"] == (
        "The change of P-1 is not opened yet. The server answers 503. It says: fault 503"
    )
    tick(connection)
    tick(connection)
    shown = api.get(address).json()
    change = shown["change"]
    assert (change["number"], change["state_there"]) == ("CHG0030052", "Assess")
    assert change["link"].endswith(f"change_request.do?sys_id={servicenow.only()['sys_id']}")
    assert shown["because"] == "Change CHG0030052 is not approved yet (state Assess)."
    plan_withdraw(plan=plan, actor=ines)
    tick(connection)
    shown = api.get(address).json()
    assert (shown["allows"], shown["change"]["ending"]) == (True, "cancelled")


def test_products_describe_their_settings(api: APIClient) -> None:
    rows = {row["name"]: row for row in api.get("/api/v1/connection-products").json()["results"]}
    described = {one["name"]: one for one in rows["servicenow"]["settings"]}
    assert described["address"]["required"]
    assert described["kind"]["default"] == "normal"
    assert described["kind"]["choices"] == ["normal", "emergency", "standard"]
    assert described["cmdb_ci"]["label"] == "CMDB item"
    assert list(rows) == ["http", "jira", "servicenow"]
    for row in rows.values():
        choices = {one["name"]: one["choices"] for one in row["settings"]}
        assert choices["authentication"] == ["basic", "bearer", "oauth", "none"]
        assert choices["address"] == []
        assert all(one["help"].endswith(".") for one in row["settings"])
