"""Everybody chooses for themselves what they are told, and when."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import token_create
from apps.notifications.models import NotificationSettings
from tests.conftest import client_of
from tests.factories import make_user

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/session/notifications"


@pytest.fixture
def person(db: None) -> User:
    return make_user("ines", Role.VIEWER)


@pytest.fixture
def client(person: User) -> APIClient:
    return client_of(person)


def patch(client: APIClient, body: Any, version: int = 0) -> Any:
    return client.patch(ADDRESS, body, format="json", headers={"if-match": f'"{version}"'})


def test_defaults_hold_until_somebody_chooses(client: APIClient, person: User) -> None:
    body = client.get(ADDRESS).json()
    assert body["by_email"] is True
    assert "plan_to_review" in body["kinds"]
    assert "execution_paused" not in body["kinds"]
    assert (body["timezone"], body["digest_at"], body["version"]) == ("UTC", None, 0)
    assert (body["email"], body["email_works"], body["last_sent_at"]) == ("", False, None)
    assert not NotificationSettings.objects.exists()


def test_what_is_chosen_is_kept(client: APIClient, person: User) -> None:
    chosen = {
        "kinds": ["agent_silent", "plan_to_review"],
        "timezone": "Europe/Berlin",
        "digest_at": "09:30:00",
        "quiet_from": "22:00:00",
        "quiet_until": "07:00:00",
    }
    answer = patch(client, chosen)
    assert answer.status_code == 200, answer.content
    assert answer["ETag"] == '"1"'
    assert {name: answer.json()[name] for name in chosen} == chosen
    assert client.get(ADDRESS).json() == answer.json()
    assert client_of(make_user("jon", Role.VIEWER)).get(ADDRESS).json()["version"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"timezone": "Mars"}, "timezone"),
        ({"kinds": ["storm"]}, "kinds[0]"),
        ({"digest_at": "25:00"}, "digest_at"),
        ({"quiet_from": "22:00"}, "quiet_until"),
        ({"quiet_until": "07:00"}, "quiet_from"),
        ({"by_mail": True}, "by_mail"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(
    client: APIClient, body: dict[str, Any], field: str
) -> None:
    answer = patch(client, body)
    assert answer.status_code == 400, answer.content
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert not NotificationSettings.objects.exists()


def test_two_windows_do_not_overwrite_each_other(client: APIClient) -> None:
    assert patch(client, {"by_email": False}).status_code == 200
    assert patch(client, {"by_email": True}).status_code == 412
    assert client.patch(ADDRESS, {}, format="json").status_code == 428


def test_tokens_read_and_change_nothing(person: User) -> None:
    _, secret = token_create(owner=person, name="deploy", roles=[Role.VIEWER])
    machine = client_of(None)
    headers = {"authorization": f"Bearer {secret}"}
    assert machine.get(ADDRESS, headers=headers).status_code == 200
    answer = machine.patch(ADDRESS, {}, format="json", headers={**headers, "if-match": '"0"'})
    assert answer.status_code == 403


def test_strangers_see_nothing() -> None:
    assert client_of(None).get(ADDRESS).status_code == 401
