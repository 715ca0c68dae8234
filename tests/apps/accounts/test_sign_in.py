"""Guesses are counted where nobody can hide; who signed in is kept; one's own password."""

from typing import Any

import pytest
from django.contrib.auth import authenticate
from rest_framework.test import APIClient

from apps.accounts.api import throttle, views
from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import token_create
from apps.audit.models import AuditEntry
from tests.conftest import client_of
from tests.factories import PASSWORD, make_user

pytestmark = pytest.mark.django_db
ANOTHER = "an entirely different secret"


@pytest.fixture
def erik(db: None) -> User:
    erik = make_user("erik", Role.EDITOR)
    erik.last_name = "Eriksson"
    erik.save()
    return erik


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whose passwords were looked at, which is what costs."""
    seen: list[str] = []

    def count(request: Any, **given: str) -> Any:
        seen.append(given["username"])
        return authenticate(request, **given)

    monkeypatch.setattr(views, "authenticate", count)
    return seen


def sign_in(username: str, password: str, **options: Any) -> Any:
    body = {"username": username, "password": password}
    return APIClient().post("/api/v1/session", body, format="json", **options)


def test_a_forged_header_gives_no_fresh_count(hashed: list[str]) -> None:
    most = throttle.PER_ADDRESS.tries
    answers = [
        sign_in(f"guess{i}", "x", headers={"x-forwarded-for": f"10.0.0.{i}"}).status_code
        for i in range(most + 5)
    ]
    assert answers == [403] * most + [429] * 5
    assert len(hashed) == most


def test_only_what_trusted_proxies_added_counts(settings: Any) -> None:
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
    for i in range(throttle.PER_ADDRESS.tries):
        sign_in(f"g{i}", "x", headers={"x-forwarded-for": f"10.0.0.{i}, 192.0.2.1"})
    refused = sign_in("g", "x", headers={"x-forwarded-for": "10.9.9.9, 192.0.2.1"})
    assert refused.status_code == 429
    other = sign_in("g", "x", headers={"x-forwarded-for": "10.9.9.9, 192.0.2.2"})
    assert other.status_code == 403


def test_an_account_is_not_guessed_from_many_addresses(erik: User, hashed: list[str]) -> None:
    most = throttle.PER_ACCOUNT.tries
    answers = [
        sign_in("ERIK" if i % 2 else "erik", "x", REMOTE_ADDR=f"10.0.0.{i}")
        for i in range(most + 3)
    ]
    assert [answer.status_code for answer in answers] == [403] * most + [429] * 3
    assert int(answers[-1]["Retry-After"]) > 0
    assert len(hashed) == most


def test_strangers_do_not_shut_out_whom_we_know(erik: User) -> None:
    assert sign_in("erik", PASSWORD, REMOTE_ADDR="192.0.2.7").status_code == 200
    for i in range(throttle.PER_ACCOUNT.tries + 1):
        sign_in("erik", "x", REMOTE_ADDR=f"10.0.0.{i}")
    assert sign_in("erik", PASSWORD, REMOTE_ADDR="10.0.1.1").status_code == 429
    assert sign_in("erik", PASSWORD, REMOTE_ADDR="192.0.2.7").status_code == 200


def test_signing_in_rightly_does_not_use_up_the_account(erik: User) -> None:
    for i in range(throttle.PER_ACCOUNT.tries + 5):
        assert sign_in("erik", PASSWORD, REMOTE_ADDR=f"10.0.0.{i}").status_code == 200


def test_without_valkey_each_process_counts_for_itself(erik: User, settings: Any) -> None:
    settings.WEIR_BROKER_URL = "redis://127.0.0.1:1/0"
    throttle._client.cache_clear()
    throttle._local.clear()
    try:
        answers = [sign_in("erik", "x").status_code for _ in range(throttle.PER_ACCOUNT.tries + 1)]
    finally:
        throttle._client.cache_clear()
        throttle._local.clear()
    assert answers[-1] == 429
    assert set(answers[:-1]) == {403}


def test_who_signed_in_or_was_refused_is_kept(erik: User) -> None:
    sign_in("erik", "wrong", REMOTE_ADDR="192.0.2.7")
    sign_in("no such name", "wrong", REMOTE_ADDR="192.0.2.8")
    client = APIClient()
    client.post("/api/v1/session", {"username": "erik", "password": PASSWORD}, format="json")
    client.delete("/api/v1/session")
    rows = AuditEntry.objects.filter(object_kind="session").order_by("id")
    assert [(row.actor_name, row.action, row.object_name) for row in rows] == [
        ("somebody", "refuse_sign_in", "erik"),
        ("somebody", "refuse_sign_in", "an account that does not exist"),
        ("Eriksson", "sign_in", "erik"),
        ("Eriksson", "sign_out", "erik"),
    ]
    assert [row.after["address"] for row in rows][:2] == ["192.0.2.7", "192.0.2.8"]
    assert "no such name" not in str(list(rows.values()))


def test_only_administrators_read_who_signed_in(api: APIClient, erik: User) -> None:
    sign_in("erik", "wrong")
    assert api.get("/api/v1/audit?object_kind=session").json()["count"] == 1
    assert client_of(erik).get("/api/v1/audit?object_kind=session").json()["count"] == 0


class TestOwnPassword:
    """Everybody may change it; who knew the old one is out."""

    def change(self, client: APIClient, current: str, password: str) -> Any:
        body = {"current": current, "password": password}
        return client.post("/api/v1/session/password", body, format="json")

    def test_ends_other_sessions_and_tokens_but_not_this_one(self, erik: User) -> None:
        here, there = client_of(erik), client_of(erik)
        _, secret = token_create(owner=erik, name="deploy", roles=[])
        machine = APIClient(headers={"authorization": f"Bearer {secret}"})
        assert machine.get("/api/v1/systems").status_code == 200
        assert self.change(here, PASSWORD, ANOTHER).status_code == 204
        assert here.get("/api/v1/systems").status_code == 200
        assert there.get("/api/v1/systems").status_code == 401
        assert machine.get("/api/v1/systems").status_code == 401
        assert sign_in("erik", ANOTHER).status_code == 200
        assert AuditEntry.objects.filter(action="change_password", actor=erik).exists()

    def test_needs_the_old_one(self, erik: User) -> None:
        answer = self.change(client_of(erik), "wrong", ANOTHER)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "current")

    @pytest.mark.parametrize("password", ["short", "password", "erik-eriksson"])
    def test_refuses_a_weak_one(self, erik: User, password: str) -> None:
        answer = self.change(client_of(erik), PASSWORD, password)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "password")

    def test_is_not_for_tokens(self, erik: User) -> None:
        _, secret = token_create(owner=erik, name="deploy", roles=[])
        machine = APIClient(headers={"authorization": f"Bearer {secret}"})
        assert self.change(machine, PASSWORD, ANOTHER).status_code == 403

    def test_is_not_guessed_from_a_stolen_session(self, erik: User) -> None:
        client = client_of(erik)
        for _ in range(throttle.PER_ACCOUNT.tries):
            assert self.change(client, "wrong", ANOTHER).status_code == 400
        assert self.change(client, PASSWORD, ANOTHER).status_code == 429
