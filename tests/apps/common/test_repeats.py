"""A request that is sent again under its Idempotency-Key is carried out once."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import ApiToken, User
from apps.accounts.services import requests_forget
from apps.audit.models import AuditEntry
from apps.common.models import IDEMPOTENCY_KEYS_KEPT, IdempotencyKey
from apps.executions.models import Execution
from apps.systems.models import System
from apps.webhooks.models import Webhook
from tests.at_once import at_once
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.fleet import Harbour, make_harbour, rate
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    edit_model,
    envelope,
    make_plan,
    seen,
)
from tests.schema import SCHEMA
from weir.lifecycle.plans import PlanState

pytestmark = pytest.mark.django_db

ONLY_ANSWER = {
    # They compute what is asked and store nothing.
    *("/allocations/{id}/trials", "/overlay-transformations", "/placements/{id}/what-if"),
    *("/plans/{id}/dry-run", "/studies/check", "/systems/{id}/preview"),
    *("/utility-curves", "/utility-kinds/curve"),
    # It asks another server, which must not happen within a transaction.
    "/connections/{id}/test",
    # A browser's own session: there is no caller before, and another one after.
    *("/session", "/session/password"),
}


@pytest.fixture
def harbour(db: None) -> Harbour:
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    return harbour


def send(client: Any, path: str, body: Any = None, key: str = "k", **headers: str) -> Any:
    headers = {"Idempotency-Key": key, **headers}
    return client.post(f"/api/v1{path}", body or {}, format="json", headers=headers)


def twice(client: Any, path: str, body: Any = None, **headers: str) -> Any:
    """Send a request two times; the second changes nothing, and is answered as the first was."""
    key = f"key of {path}"
    first = send(client, path, body, key, **headers)
    assert first.status_code in (200, 201, 202), first.content
    assert "Idempotency-Replayed" not in first
    entries = AuditEntry.objects.count()
    again = send(client, path, body, key, **headers)
    assert again["Idempotency-Replayed"] == "true"
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again.get("Location") == first.get("Location")
    assert AuditEntry.objects.count() == entries
    return first.json()


def test_every_post_that_changes_something_takes_a_key() -> None:
    without = {
        path.removeprefix("/api/v1")
        for path, item in SCHEMA["paths"].items()
        if "post" in item
        and "Idempotency-Key" not in {one["name"] for one in item["post"].get("parameters", ())}
    }
    assert without == ONLY_ANSWER


def test_the_life_of_a_plan(harbour: Harbour) -> None:
    editor, approver, operator = (
        client_of(make_user(role.value, role))
        for role in (Role.EDITOR, Role.APPROVER, Role.OPERATOR)
    )
    plan = make_plan(harbour.system, User.objects.get(username="editor"), [rate(None, 5.0)])
    path = f"/plans/{plan.public_id}"
    approval = {"content_hash": plan.content_hash, "comment": "Looks well."}
    twice(editor, f"{path}/submit", **seen(plan))
    twice(editor, f"{path}/withdraw", **seen(plan))
    # Another key, another request.
    assert send(editor, f"{path}/submit", key="second", **seen(plan)).status_code == 200
    twice(approver, f"{path}/approve", approval, **seen(plan))
    agents_look(harbour, agents_come(harbour))
    execution = twice(operator, f"{path}/execute", **seen(plan))
    at = f"/executions/{execution['id']}"
    twice(operator, f"{at}/pause")
    twice(operator, f"{at}/resume")
    twice(operator, f"{at}/stop", {"reason": "enough"})
    assert Execution.objects.count() == 1


def test_other_decisions_about_plans(harbour: Harbour) -> None:
    editor = make_user("editor", Role.EDITOR)
    approver = client_of(make_user("approver", Role.APPROVER))
    first = make_plan(harbour.system, editor)
    assert (
        send(client_of(editor), f"/plans/{first.public_id}/submit", **seen(first)).status_code
        == 200
    )
    twice(approver, f"/plans/{first.public_id}/reject", {"comment": "Not now."}, **seen(first))
    second = make_plan(harbour.system, editor)
    path = f"/plans/{second.public_id}/discard"
    twice(client_of(editor), path, {"reason": "Old."}, **seen(second))


def test_what_was_refused_is_not_remembered(harbour: Harbour) -> None:
    editor = make_user("editor", Role.EDITOR)
    approver = client_of(make_user("approver", Role.APPROVER))
    plan = make_plan(harbour.system, editor)
    path = f"/plans/{plan.public_id}/approve"
    approval = {"content_hash": plan.content_hash}
    assert send(approver, path, approval, **seen(plan)).status_code == 409, "it is a draft"
    assert not IdempotencyKey.objects.exists()
    assert (
        send(client_of(editor), f"/plans/{plan.public_id}/submit", **seen(plan)).status_code == 200
    )
    assert send(approver, path, approval, **seen(plan)).status_code == 200
    other = send(approver, path, {**approval, "comment": "Another body."}, **seen(plan))
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_a_plan_that_a_refused_request_found_stale_is_stale(harbour: Harbour) -> None:
    editor = make_user("editor", Role.EDITOR)
    plan = make_plan(harbour.system, editor)
    edit_model(harbour)
    before = AuditEntry.objects.filter(object_kind="plan").count()
    answer = send(client_of(editor), f"/plans/{plan.public_id}/submit", **seen(plan))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_is_stale")
    plan.refresh_from_db()
    assert plan.state == PlanState.STALE
    assert AuditEntry.objects.filter(object_kind="plan").count() == before + 1
    assert not IdempotencyKey.objects.exists()


def test_a_load_outside_the_envelope_ends_the_plan_for_good(harbour: Harbour) -> None:
    editor, approver = make_user("editor", Role.EDITOR), make_user("approver", Role.APPROVER)
    steps = [rate(None, 5.0)]
    plan = approved(
        make_plan(harbour.system, editor, steps, envelope=envelope(10.0, 40.0)), editor, approver
    )
    agents = agents_come(harbour)
    agents_look(harbour, agents, offered=90.0)
    operator = client_of(make_user("operator", Role.OPERATOR))
    answer = send(operator, f"/plans/{plan.public_id}/execute", **seen(plan))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_is_stale")
    plan.refresh_from_db()
    assert plan.state == PlanState.STALE
    agents_look(harbour, agents, offered=30.0)
    again = send(operator, f"/plans/{plan.public_id}/execute", **seen(plan))
    assert again.status_code == 409
    assert not Execution.objects.exists()


@pytest.mark.parametrize("key", ["", "  ", "x" * 201])
def test_a_key_has_one_to_two_hundred_characters(api: Any, key: str) -> None:
    answer = send(api, "/systems", {"name": "quay"}, key)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_idempotency_key")
    assert not System.objects.exists()


def test_a_key_is_of_the_credential_and_the_version_that_it_was_sent_with(admin: User) -> None:
    session = client_of(admin)
    body = {"name": "desk", "address": "https://example.org/hook", "types": ["*"]}
    webhook = send(session, "/webhooks", body).json()
    path = f"/webhooks/{webhook['id']}/rotate"
    assert send(session, path, {}, "nightly", **{"If-Match": '"1"'}).status_code == 200
    answer = send(session, path, {}, "nightly", **{"If-Match": '"2"'})
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert send(session, "/systems", {"name": "quay"}, "both").status_code == 201
    token = send(session, "/tokens", {"name": "x", "roles": ["editor"]}, "t").json()["secret"]
    headers = {"Authorization": f"Bearer {token}"}
    answer = send(APIClient(), "/systems", {"name": "quay"}, "both", **headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")


def test_a_form_is_refused_as_without_a_key(admin: User) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(admin)
    client.get("/api/v1/session")
    given = {"X-CSRFToken": client.cookies["csrftoken"].value, "Idempotency-Key": "k"}
    answer = client.post("/api/v1/systems", {"name": "quay"}, format="multipart", headers=given)
    assert answer.status_code == 415, answer.content


@pytest.mark.django_db(transaction=True)
def test_twins_execute_a_plan_once() -> None:
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    editor, approver = make_user("editor", Role.EDITOR), make_user("approver", Role.APPROVER)
    plan = make_plan(harbour.system, editor, [rate(None, 5.0)])
    path = f"/plans/{plan.public_id}"
    assert send(client_of(editor), f"{path}/submit", **seen(plan)).status_code == 200
    approval = {"content_hash": plan.content_hash}
    assert send(client_of(approver), f"{path}/approve", approval, **seen(plan)).status_code == 200
    agents_look(harbour, agents_come(harbour))
    operator = make_user("operator", Role.OPERATOR)
    execute = partial(send, path=f"{path}/execute", **seen(plan))
    answers = at_once(*(partial(execute, client_of(operator)) for _ in range(3)))
    assert {answer.status_code for answer in answers} == {202}, [a.content for a in answers]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("Idempotency-Replayed" in answer for answer in answers) == 2
    assert Execution.objects.count() == 1
    assert AuditEntry.objects.filter(object_kind="plan", action="execute").count() == 1


class TestSecrets:
    """What is shown once is not kept to be shown again."""

    def refused(self, answer: Any, secret: str) -> None:
        assert (answer.status_code, answer.json()["code"]) == (409, "secret_shown_once")
        assert secret not in answer.content.decode()
        kept = IdempotencyKey.objects.values_list("body", "request_hash", "location")
        assert secret not in str(list(kept))

    def test_of_a_webhook(self, api: Any) -> None:
        body = {"name": "desk", "address": "https://example.org/hook", "types": ["*"]}
        first = send(api, "/webhooks", body)
        secret = first.json()["secret"]
        again = send(api, "/webhooks", body)
        self.refused(again, secret)
        assert first["Location"] in again.json()["detail"]
        assert Webhook.objects.count() == 1
        path = f"/webhooks/{first.json()['id']}/rotate"
        rotated = send(api, path, {}, "other", **{"If-Match": '"1"'})
        assert rotated.status_code == 200, rotated.content
        again = send(api, path, {}, "other", **{"If-Match": '"1"'})
        self.refused(again, rotated.json()["secret"])
        assert "Rotate it again" in again.json()["detail"]
        assert Webhook.objects.get().generation == 2

    def test_of_a_token(self, admin: User) -> None:
        client = client_of(admin)
        body = {"name": "pipeline", "roles": ["viewer"]}
        first = send(client, "/tokens", body)
        assert first.status_code == 201, first.content
        self.refused(send(client, "/tokens", body), first.json()["secret"])
        assert ApiToken.objects.count() == 1

    def test_of_an_agent(self, api: Any, harbour: Harbour) -> None:
        body = {"broker": str(harbour.brokers["a"].public_id)}
        first = send(api, "/agents", body)
        assert first.status_code == 201, first.content
        self.refused(send(api, "/agents", body), first.json()["credential"])
        assert AuditEntry.objects.filter(object_kind="agent", action="enrol").count() == 1

    def test_of_a_person(self, api: Any, admin: User, settings: Any) -> None:
        body = {"username": "erik", "password": "correct horse battery", "roles": ["viewer"]}
        twice(api, "/users", body)
        kept = str(list(IdempotencyKey.objects.values()))
        assert "correct horse" not in kept
        # Whoever reads the table cannot try passwords: the hash needs the key of the installation.
        before = IdempotencyKey.objects.get().request_hash
        IdempotencyKey.objects.all().delete()
        User.objects.filter(username="erik").delete()
        settings.SECRET_KEY = "another"
        assert send(client_of(admin), "/users", body).status_code == 201
        assert IdempotencyKey.objects.get().request_hash != before


def test_old_keys_and_sessions_are_forgotten(api: Any) -> None:
    now, mine = timezone.now(), set(Session.objects.values_list("session_key", flat=True))
    for name in ("old", "young"):
        assert send(api, "/systems", {"name": name}, name).status_code == 201
        expire = now + timedelta(hours=1 if name == "young" else -1)
        Session.objects.create(session_key=name, session_data="", expire_date=expire)
    old = IdempotencyKey.objects.filter(key="old")
    old.update(created_at=now - IDEMPOTENCY_KEYS_KEPT - timedelta(minutes=1))
    assert requests_forget() == 2
    assert list(IdempotencyKey.objects.values_list("key", flat=True)) == ["young"]
    assert set(Session.objects.values_list("session_key", flat=True)) == {"young", *mine}
    assert send(api, "/systems", {"name": "young"}, "young")["Idempotency-Replayed"] == "true"
