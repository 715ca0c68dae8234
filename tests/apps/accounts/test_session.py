"""Signing in and out of the visitor's session."""

import pytest
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from tests.factories import PASSWORD, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def erik(db):
    return make_user("erik", Role.EDITOR)


@pytest.fixture
def visitor():
    return APIClient(enforce_csrf_checks=True)


def post_session(client: APIClient, body: dict[str, str]):
    token = client.get("/api/v1/session").json()["csrf_token"]
    headers = {"x-csrftoken": token}
    return client.post("/api/v1/session", body, format="json", headers=headers)


def sign_in(client: APIClient, password: str = PASSWORD):
    return post_session(client, {"username": "erik", "password": password})


def test_signing_in_needs_the_csrf_token_too(erik, visitor):
    body = {"username": "erik", "password": PASSWORD}
    refused = visitor.post("/api/v1/session", body, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf_failed")
    assert visitor.get("/api/v1/session").json()["signed_in"] is False


def test_a_stranger_is_told_that_nobody_is_signed_in(visitor):
    body = visitor.get("/api/v1/session").json()
    assert body["signed_in"] is False
    assert body["allowed_commands"] == []
    assert body["csrf_token"]


def test_sign_in_names_the_person(erik, visitor):
    body = sign_in(visitor).json()
    assert (body["signed_in"], body["username"], body["roles"]) == (True, "erik", ["editor"])
    assert visitor.get("/api/v1/session").json()["user_id"] == str(erik.public_id)


@pytest.mark.parametrize(
    "body",
    [
        {"username": "erik", "password": "wrong"},
        {"username": "nobody", "password": PASSWORD},
    ],
)
def test_wrong_name_or_password_is_one_problem(erik, visitor, body):
    answer = post_session(visitor, body)
    assert answer.status_code == 403
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "sign_in_refused"
    assert visitor.get("/api/v1/session").json()["signed_in"] is False


def test_missing_password_is_named(visitor):
    answer = post_session(visitor, {"username": "erik"})
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == ["password"]


def test_inactive_person_cannot_sign_in(erik, visitor):
    erik.is_active = False
    erik.save()
    assert sign_in(visitor).status_code == 403


def test_guessing_is_slowed_down(erik, visitor):
    answers = [sign_in(visitor, f"guess {i}").status_code for i in range(31)]
    assert answers[-1] == 429
    refused = sign_in(visitor)
    assert refused.json()["code"] == "throttled"
    assert int(refused["Retry-After"]) > 0


def test_writes_need_the_csrf_token(erik, visitor):
    token = sign_in(visitor).json()["csrf_token"]
    without = visitor.post("/api/v1/systems", {"name": "harbour"}, format="json")
    assert without.status_code == 403
    assert without["Content-Type"] == "application/problem+json"
    assert "CSRF" in without.json()["detail"]
    headers = {"x-csrftoken": token}
    made = visitor.post("/api/v1/systems", {"name": "harbour"}, format="json", headers=headers)
    assert made.status_code == 201, made.content


def test_sign_out_ends_the_session(erik, visitor):
    token = sign_in(visitor).json()["csrf_token"]
    assert visitor.delete("/api/v1/session", headers={"x-csrftoken": token}).status_code == 204
    assert visitor.get("/api/v1/systems").status_code == 401


def test_body_of_somebody_who_may_not_send_one_is_not_read(visitor):
    make_user("vera", Role.VIEWER)
    post_session(visitor, {"username": "vera", "password": PASSWORD})
    token = visitor.get("/api/v1/session").json()["csrf_token"]
    for body, kind in (
        ('{"name": "a\\u0000b"}', "json"),
        ("{", "json"),
        ("x=1", "x-www-form-urlencoded"),
    ):
        refused = visitor.post(
            "/api/v1/topics",
            body,
            content_type=f"application/{kind}",
            headers={"x-csrftoken": token},
        )
        assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied"), body
