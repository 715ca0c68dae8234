"""Tokens let nobody in; names pass for nobody else; every deed is in the record with its deed."""

# ruff: noqa: RUF001 - names that look like others are what is tested

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import AccountGrant, ApiToken, User
from apps.accounts.services import automatic_account, token_create, user_create
from apps.audit.models import AuditEntry
from apps.common.errors import ApplicationError
from tests.factories import PASSWORD, make_user

pytestmark = pytest.mark.django_db
NEW = {"username": "nina", "password": "a long enough secret", "roles": ["approver"]}
ANOTHER = "an entirely different secret"


def machine(owner: User, *roles: Role, name: str = "deploy") -> tuple[APIClient, ApiToken]:
    token, secret = token_create(owner=owner, name=name, roles=list(roles))
    return APIClient(headers={"authorization": f"Bearer {secret}"}), token


def change(api: APIClient, user: User, body: dict[str, Any]) -> Any:
    user.refresh_from_db()
    return api.patch(
        f"/api/v1/users/{user.public_id}",
        body,
        format="json",
        headers={"if-match": f'"{user.version}"'},
    )


def test_a_token_makes_no_person(admin: User) -> None:
    client, _ = machine(admin, Role.ADMIN)
    answer = client.post("/api/v1/users", NEW, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "token_cannot_grant")
    assert not User.objects.filter(username="nina").exists()


@pytest.mark.parametrize(
    "body", [{"roles": ["approver"]}, {"password": ANOTHER}, {"is_active": True}]
)
def test_a_token_gives_nobody_the_means_to_act(admin: User, body: dict[str, Any]) -> None:
    client, _ = machine(admin, Role.ADMIN)
    answer = change(client, make_user("nina"), body)
    assert (answer.status_code, answer.json()["code"]) == (403, "token_cannot_grant")


def test_a_token_may_end_an_account_and_change_names(admin: User) -> None:
    client, _ = machine(admin, Role.ADMIN)
    nina = make_user("nina")
    assert change(client, nina, {"first_name": "Nina", "is_active": False}).status_code == 200


def test_who_made_the_account_and_gave_each_role_is_kept(api: APIClient, admin: User) -> None:
    api.post("/api/v1/users", NEW, format="json")
    nina = User.objects.get(username="nina")
    grants = {(row.what, row.by) for row in nina.grants.all()}
    assert grants == {("password", admin), ("approver", admin)}
    change(api, nina, {"roles": []})
    assert [row.what for row in nina.grants.all()] == ["password"]


def test_nobody_is_kept_as_their_own_giver(api: APIClient, admin: User) -> None:
    before = set(AccountGrant.objects.values_list("person", "what", "by"))
    assert change(api, admin, {"password": ANOTHER}).status_code == 200
    assert set(AccountGrant.objects.values_list("person", "what", "by")) == before


def test_a_new_password_ends_the_tokens_of_the_account(api: APIClient) -> None:
    nina = make_user("nina")
    client, _ = machine(nina)
    assert client.get("/api/v1/systems").status_code == 200
    change(api, nina, {"password": ANOTHER})
    assert client.get("/api/v1/systems").status_code == 401


@pytest.mark.parametrize(
    "username",
    [*("weir:schedule", "weir:schedule2", "Weir", "SCHEDULE", "ԝeir"), "dеmo", "a b", "-x", ".."],
)
def test_names_that_pass_for_others_are_refused(api: APIClient, username: str) -> None:
    answer = api.post("/api/v1/users", {**NEW, "username": username}, format="json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["errors"][0]["field"] == "username"


@pytest.mark.parametrize(
    "names",
    [
        {"first_name": "Weir"},
        {"first_name": "Wеir"},
        {"last_name": " weir "},
        {"first_name": "Ann\u202e"},
    ],
)
def test_display_names_that_pass_for_weir_are_refused(
    api: APIClient, names: dict[str, str]
) -> None:
    answer = api.post("/api/v1/users", {**NEW, **names}, format="json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["errors"][0]["field"] == next(iter(names))


def test_one_name_whatever_its_case(api: APIClient) -> None:
    make_user("demo")
    answer = api.post("/api/v1/users", {**NEW, "username": "DEMO"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "username_taken")
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(username="DEMO")


def test_a_person_never_becomes_the_account_of_weir() -> None:
    User.objects.create(username="weir:schedule", is_active=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        automatic_account("schedule")


def test_the_command_line_is_named_in_the_record() -> None:
    user_create(username="nina", password=PASSWORD, roles=["admin"])
    entry = AuditEntry.objects.get(object_kind="user", action="create")
    assert (entry.actor, entry.actor_name) == (None, "the command line")
    assert entry.after["roles"] == ["admin"]
    assert PASSWORD not in str(entry.after)


def test_a_change_tells_what_was_before(api: APIClient) -> None:
    nina = make_user("nina", Role.VIEWER)
    change(api, nina, {"roles": ["approver"], "username": "nina"})
    entry = AuditEntry.objects.filter(object_kind="user", action="update").get()
    assert (entry.before, entry.after) == ({"roles": ["viewer"]}, {"roles": ["approver"]})


def test_no_record_no_deed(api: APIClient, admin: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry and what it tells stand or fall together."""

    def broken(**_: Any) -> None:
        raise ApplicationError("disk_full", "The record cannot be written.", status=503)

    nina = make_user("nina")
    _, token = machine(nina)
    monkeypatch.setattr("apps.accounts.services.record", broken)
    assert change(api, nina, {"roles": ["admin"]}).status_code == 503
    assert api.post("/api/v1/users", {**NEW, "username": "otto"}, format="json").status_code == 503
    assert api.delete(f"/api/v1/tokens/{token.public_id}").status_code == 503
    body = {"name": "new", "roles": []}
    assert api.post("/api/v1/tokens", body, format="json").status_code == 503
    nina.refresh_from_db()
    token.refresh_from_db()
    assert (nina.roles, token.revoked_at) == ([], None)
    assert not User.objects.filter(username="otto").exists()
    assert not ApiToken.objects.filter(name="new").exists()


def test_a_token_revokes_itself_and_no_sibling() -> None:
    erik = make_user("erik", Role.EDITOR)
    client, token = machine(erik)
    _, sibling = machine(erik, Role.EDITOR, name="sibling")
    answer = client.delete(f"/api/v1/tokens/{sibling.public_id}")
    assert (answer.status_code, answer.json()["code"]) == (403, "token_cannot_revoke_others")
    assert client.delete(f"/api/v1/tokens/{token.public_id}").status_code == 204
    sibling.refresh_from_db()
    assert sibling.revoked_at is None
