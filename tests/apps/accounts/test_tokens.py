"""Tokens of machines: hashed, shown once, never more than their owner."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.api.authentication import USE_RECORDED_EVERY
from apps.accounts.domain.roles import Role
from apps.accounts.models import ApiToken, User
from apps.accounts.services import token_create, token_revoke
from apps.audit.models import AuditEntry
from tests.conftest import client_of
from tests.factories import make_system, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def editor(db):
    return make_user("erik", Role.VIEWER, Role.EDITOR)


def bearer(secret: str) -> APIClient:
    return APIClient(headers={"authorization": f"Bearer {secret}"})


def machine(owner, *roles: Role, name: str = "deploy") -> tuple[APIClient, ApiToken]:
    token, secret = token_create(owner=owner, name=name, roles=list(roles))
    return bearer(secret), token


def new_system(client: APIClient, name: str = "made by a machine"):
    return client.post("/api/v1/systems", {"name": name}, format="json")


def test_secret_is_shown_once_and_stored_nowhere(editor):
    client = client_of(editor)
    made = client.post("/api/v1/tokens", {"name": "deploy", "roles": ["editor"]}, format="json")
    assert made.status_code == 201, made.content
    secret = made.json()["secret"]
    assert secret.startswith("weir_")
    listed = client.get("/api/v1/tokens").json()["results"]
    assert [row["name"] for row in listed] == ["deploy"]
    assert "secret" not in listed[0]
    random_part = secret[len(listed[0]["prefix"]) :]
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(
                f'SELECT count(*) FROM "{table}" AS row WHERE row::text LIKE %s',
                [f"%{random_part}%"],
            )
            assert cursor.fetchone() == (0,), table
    assert new_system(bearer(secret)).status_code == 201


def test_wrong_secret_is_401_with_a_reason(db):
    answer = bearer("weir_nonsense").get("/api/v1/systems")
    assert answer.status_code == 401
    assert answer.json()["code"] == "authentication_failed"
    assert "Make a new one" in answer.json()["detail"]


def test_revoked_token_is_refused_at_once(editor):
    client, token = machine(editor, Role.EDITOR)
    assert client.get("/api/v1/systems").status_code == 200
    answer = client_of(editor).delete(f"/api/v1/tokens/{token.public_id}")
    assert answer.status_code == 204
    assert client.get("/api/v1/systems").status_code == 401


def test_revoking_twice_keeps_the_first_time(editor):
    _, token = machine(editor)
    token_revoke(token=token, actor=editor)
    token.refresh_from_db()
    first = token.revoked_at
    token_revoke(token=token, actor=editor)
    token.refresh_from_db()
    assert token.revoked_at == first


def test_expired_token_is_refused(editor):
    client, token = machine(editor, Role.EDITOR)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.get("/api/v1/systems").status_code == 401


def test_a_token_ends_at_the_moment_of_its_expiry(monkeypatch):
    now, second = timezone.now(), timedelta(seconds=1)
    monkeypatch.setattr("apps.accounts.models.timezone.now", lambda: now)
    owner = User(username="nina")
    assert ApiToken(owner=owner).usable
    assert ApiToken(owner=owner, expires_at=now + second).usable
    assert not ApiToken(owner=owner, expires_at=now).usable
    assert not ApiToken(owner=owner, expires_at=now + second, revoked_at=now - second).usable


def test_expiry_in_the_past_is_refused_at_its_field(editor):
    body = {"name": "late", "roles": [], "expires_at": "2001-01-01T00:00:00Z"}
    answer = client_of(editor).post("/api/v1/tokens", body, format="json")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "expires_at"


def test_token_of_an_inactive_owner_is_refused(editor):
    client, _ = machine(editor)
    editor.is_active = False
    editor.save()
    assert client.get("/api/v1/systems").status_code == 401


def test_who_edits_may_let_a_machine_send_records_and_no_more(editor, db):
    harbour = make_system("harbour")
    answer = client_of(editor).post(
        "/api/v1/tokens", {"name": "collector", "roles": ["sender"]}, format="json"
    )
    assert answer.status_code == 201, answer.content
    collector = client_of(None)
    collector.credentials(HTTP_AUTHORIZATION=f"Bearer {answer.json()['secret']}")
    assert collector.get("/api/v1/session").json()["roles"] == ["sender"]
    at_s = timezone.now().timestamp()
    sent = collector.post(
        f"/api/v1/record-batches?system={harbour.public_id}&table=messages",
        f'{{"at_s": {at_s}, "topic": "t", "publisher": "p"}}',
        content_type="application/x-ndjson",
    )
    assert (sent.status_code, sent.json()["accepted"]) == (201, 1)
    for address in ("/api/v1/topics", "/api/v1/set-aside-records/discard", "/api/v1/runs"):
        assert collector.post(address, {}, format="json").status_code in (403, 405)
    editor.roles = ["viewer"]
    editor.save()
    assert collector.get("/api/v1/session").json()["roles"] == []


def test_roles_cannot_exceed_the_owners(editor):
    answer = client_of(editor).post(
        "/api/v1/tokens", {"name": "root", "roles": ["admin"]}, format="json"
    )
    assert answer.status_code == 400
    assert answer.json()["code"] == "roles_exceed_owner"
    assert answer.json()["errors"][0]["field"] == "roles"


def test_token_without_a_role_only_reads_though_its_owner_edits(editor):
    client, _ = machine(editor)
    assert client.get("/api/v1/systems").status_code == 200
    assert new_system(client).status_code == 403


def test_token_loses_the_role_that_its_owner_loses(editor):
    client, _ = machine(editor, Role.EDITOR)
    assert new_system(client, "before").status_code == 201
    editor.roles = [Role.VIEWER.value]
    editor.save()
    assert new_system(client, "after").status_code == 403


def test_token_cannot_make_tokens(editor):
    client, _ = machine(editor, Role.EDITOR)
    answer = client.post("/api/v1/tokens", {"name": "child", "roles": []}, format="json")
    assert answer.status_code == 403
    assert answer.json()["code"] == "token_cannot_make_tokens"
    assert ApiToken.objects.count() == 1


def test_name_is_taken_once_per_owner(editor):
    client = client_of(editor)
    machine(editor, name="deploy")
    answer = client.post("/api/v1/tokens", {"name": "deploy", "roles": []}, format="json")
    assert answer.status_code == 409
    assert answer.json()["errors"][0]["field"] == "name"
    other = client_of(make_user("olga"))
    assert (
        other.post("/api/v1/tokens", {"name": "deploy", "roles": []}, format="json").status_code
        == 201
    )


def test_own_tokens_only_unless_admin(editor):
    _, token = machine(editor)
    stranger, admin = (
        client_of(make_user("sven", Role.EDITOR)),
        client_of(make_user("a", Role.ADMIN)),
    )
    assert stranger.get("/api/v1/tokens").json()["count"] == 0
    assert stranger.delete(f"/api/v1/tokens/{token.public_id}").status_code == 404
    assert admin.get("/api/v1/tokens").json()["count"] == 1
    assert admin.delete(f"/api/v1/tokens/{token.public_id}").status_code == 204


def test_making_and_revoking_are_recorded(editor):
    client = client_of(editor)
    client.post("/api/v1/tokens", {"name": "deploy", "roles": ["editor"]}, format="json")
    client.delete(f"/api/v1/tokens/{ApiToken.objects.get().public_id}")
    entries = AuditEntry.objects.filter(object_kind="token").order_by("id")
    assert [entry.action for entry in entries] == ["create", "revoke"]
    assert entries[0].actor_name == "erik"


def test_last_use_is_kept(editor):
    client, token = machine(editor)
    client.get("/api/v1/systems")
    token.refresh_from_db()
    assert token.last_used_at is not None


def test_use_is_recorded_again_only_after_a_while(editor):
    client, token = machine(editor)
    for ago, recorded in ((USE_RECORDED_EVERY / 2, False), (USE_RECORDED_EVERY * 2, True)):
        before = timezone.now() - ago
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=before)
        client.get("/api/v1/systems")
        token.refresh_from_db()
        assert (token.last_used_at != before) is recorded


def test_the_session_of_a_token_has_the_roles_of_the_token(db: None) -> None:
    owner = make_user("ines", Role.EDITOR, Role.OPERATOR)
    client, _ = machine(owner, Role.OPERATOR)
    session = client.get("/api/v1/session").json()
    assert (session["username"], session["roles"]) == ("ines", ["operator"])
    assert "create_system" not in session["allowed_commands"]
    assert client_of(owner).get("/api/v1/session").json()["roles"] == ["editor", "operator"]
