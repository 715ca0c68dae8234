"""What an answer says one may do is what the API then lets one do, for every role."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import token_create
from apps.systems.services import entity_create
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.kinds import BY_PATH, KINDS, World
from tests.factories.runs import make_allocation, make_run_in
from weir.lifecycle.runs import RunState

pytestmark = pytest.mark.django_db
NOT_EDITORS = tuple(role for role in Role if role != Role.EDITOR)
PEOPLE = [(), (Role.EDITOR,), NOT_EDITORS]


@pytest.fixture(params=PEOPLE, ids=lambda roles: "+".join(roles) or "none")
def person(request: pytest.FixtureRequest, db: None) -> User:
    return make_user("somebody", *request.param)


@pytest.fixture
def client(person: User) -> APIClient:
    return client_of(person)


def agree(shown: list[str], command: str, answer: Any) -> None:
    """A command shown is let through, one that is not shown is refused."""
    assert answer.status_code < 500
    assert (answer.status_code != 403) == (command in shown), (command, shown, answer.content)


def version_of(body: dict[str, Any]) -> dict[str, str]:
    return {"if_match": f'"{body["version"]}"'}


def patch(client: APIClient, address: str, body: dict[str, Any]) -> Any:
    return client.patch(address, {}, format="json", headers=version_of(body))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.path)
def test_objects_of_a_system(client, world: World, kind):
    if kind.path in ("correlation-keys", "groups", "overlays", "slos", "subscribers"):
        entity_create(
            model=kind.model,
            system=world.system,
            actor=None,
            values={"name": "alpha"}
            | ({"number": 7} if kind.path == "groups" else {})
            | (
                {"topic": world.topic, "quantity": "rate_per_s", "target": 1.0}
                if kind.path == "slos"
                else {}
            ),
        )
    elif kind.path == "publishers":
        values = {"name": "alpha", "topic": world.topic}
        entity_create(model=kind.model, system=world.system, actor=None, values=values)
    body = client.get(f"/api/v1/{kind.path}").json()["results"][0]
    address, shown = f"/api/v1/{kind.path}/{body['id']}", body["allowed_commands"]
    answer = patch(client, address, body)
    agree(shown, "edit", answer)
    body = client.get(address).json()
    agree(shown, "delete", client.delete(address, headers=version_of(body)))


def test_systems(client, world: World):
    address = f"/api/v1/systems/{world.system.public_id}"
    body = client.get(address).json()
    shown = body["allowed_commands"]
    new = BY_PATH["topics"].new(world)
    agree(shown, "add", client.post("/api/v1/topics", new, format="json"))
    agree(
        shown, "optimize", client.post("/api/v1/allocations", {"system": body["id"]}, format="json")
    )
    agree(shown, "edit", patch(client, address, body))
    body = client.get(address).json()
    agree(shown, "delete", client.delete(address, headers=version_of(body)))


def test_session(client, world: World):
    shown = client.get("/api/v1/session").json()["allowed_commands"]
    agree(shown, "create_system", client.post("/api/v1/systems", {"name": "new"}, format="json"))
    optimize = {"system": str(world.system.public_id)}
    agree(shown, "start_run", client.post("/api/v1/allocations", optimize, format="json"))
    agree(shown, "manage_people", client.get("/api/v1/users"))
    agree(
        shown,
        "manage_tokens",
        client.post("/api/v1/tokens", {"name": "t", "roles": []}, format="json"),
    )
    connection = {"name": "c", "product": "servicenow", "settings": {"address": "https://a.test"}}
    agree(
        shown,
        "manage_connections",
        client.post("/api/v1/connections", connection, format="json"),
    )
    webhook = {"name": "w", "address": "https://a.test/", "types": ["*"], "all_systems": True}
    agree(shown, "manage_webhooks", client.post("/api/v1/webhooks", webhook, format="json"))
    channel = {"name": "c", "shape": "slack", "credential": "env:WEIR_CREDENTIAL_CHAT"}
    agree(shown, "manage_channels", client.post("/api/v1/channels", channel, format="json"))


@pytest.mark.parametrize("state", list(RunState))
def test_runs(person, client, world: World, state):
    run = make_run_in(state, world.system, person)
    address = f"/api/v1/runs/{run.public_id}"
    shown = client.get(address).json()["allowed_commands"]
    for command in ("rerun", "cancel"):
        answer = client.post(f"{address}/{command}")
        assert (answer.status_code == 202) == (command in shown), answer.content
        assert answer.status_code in (202, 403, 409)


def test_a_run_asked_to_cancel_does_not_offer_it_again(api, admin, world: World):
    run = make_run_in(RunState.RUNNING, world.system, admin)
    first = api.post(f"/api/v1/runs/{run.public_id}/cancel")
    assert first.json()["cancel_requested"] is True
    assert first.json()["allowed_commands"] == []
    assert api.post(f"/api/v1/runs/{run.public_id}/cancel").status_code == 202


def test_allocations(client, world: World):
    allocation = make_allocation(world.system)
    body = client.get(f"/api/v1/allocations/{allocation.public_id}").json()
    listed = client.get("/api/v1/allocations").json()["results"][0]
    assert listed["allowed_commands"] == body["allowed_commands"]
    agree(body["allowed_commands"], "rerun", client.post(f"/api/v1/runs/{body['run']}/rerun"))


def test_tokens(person, client):
    token, _ = token_create(owner=person, name="deploy", roles=[])
    address = f"/api/v1/tokens/{token.public_id}"
    (body,) = client.get("/api/v1/tokens").json()["results"]
    assert body["allowed_commands"] == ["revoke"]
    assert client.delete(address).status_code == 204
    (body,) = client.get("/api/v1/tokens").json()["results"]
    assert body["allowed_commands"] == []


def test_people(api, admin):
    (body,) = api.get("/api/v1/users").json()["results"]
    agree(body["allowed_commands"], "edit", patch(api, f"/api/v1/users/{body['id']}", body))
