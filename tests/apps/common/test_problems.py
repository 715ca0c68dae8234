"""Every refusal is a problem document with a stable code."""

import uuid

import pytest

from tests.factories import make_system

pytestmark = pytest.mark.django_db


def problem(answer, status: int, code: str):
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["code"] == code
    assert body["status"] == status
    assert body["type"] == f"urn:weir:problem:{code}"
    assert body["title"]
    assert body["detail"]
    return body


def post(api, text: bytes, content_type="application/json"):
    return api.post("/api/v1/systems", text, content_type=content_type)


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"name": }', b'{"name": NaN}', b"\xff\xfe", b'{"name": "a"} x']
)
def test_malformed_json(api, text):
    answer = post(api, text)
    if text == b"":
        assert problem(answer, 400, "invalid")["errors"][0]["field"] == "name"
    else:
        problem(answer, 400, "parse_error")


def test_a_member_that_is_there_twice(api):
    body = b'{"name": "a", "product": "nats", "labels": {"k": "1", "k": "2"}}'
    (error,) = problem(post(api, body), 400, "invalid")["errors"]
    assert error == {"field": "labels.k", "message": "Is there more than once; send it once."}


def test_json_nested_without_end(api):
    problem(post(api, b'{"name":' + b"[" * 200_000), 400, "parse_error")


def test_too_large_a_body(api, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    body = b'{"name": "' + b"x" * 2000 + b'"}'
    detail = problem(post(api, body), 413, "too_large")["detail"]
    assert "manage.py allocate" in detail


def test_too_large_a_body_under_an_idempotency_key(api, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = api.post(
        "/api/v1/systems",
        b'{"name": "' + b"x" * 2000 + b'"}',
        content_type="application/json",
        headers={"idempotency-key": "k"},
    )
    problem(answer, 413, "too_large")


def test_unknown_object(api):
    problem(api.get(f"/api/v1/topics/{uuid.uuid4()}"), 404, "not_found")


@pytest.mark.parametrize("address", ["/api/v1/nothing", "/api/v1/topics/", "/api/v1/topics/12"])
def test_unknown_address(api, address):
    problem(api.get(address), 404, "not_found")


def test_method_that_is_not_offered(api):
    problem(api.put("/api/v1/systems", {}, format="json"), 405, "method_not_allowed")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded"])
def test_media_type_that_is_not_read(api, content_type):
    problem(post(api, b"name=a", content_type), 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "cursor", ["nonsense", "AAAA", "W3t9XQ==", "%00", "bnVsbA==", "W2ZhbHNlLCBbIngiXV0="]
)
def test_unknown_cursor(api, cursor):
    make_system()
    problem(api.get(f"/api/v1/systems?cursor={cursor}"), 404, "not_found")


def test_cursor_of_another_order(api):
    for name in ("a", "b", "c"):
        make_system(name)
    link = api.get("/api/v1/systems?page_size=1&ordering=created_at").json()["next"]
    cursor = link.split("cursor=")[1].split("&")[0]
    answer = api.get(f"/api/v1/runs?page_size=1&cursor={cursor}&ordering=-created_at,state,method")
    problem(answer, 404, "not_found")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("topics?system=nonsense", "system"),
        ("topics?pattern=gossip", "pattern"),
        ("runs?state=asleep", "state"),
        ("audit?since=yesterday", "since"),
        ("topics?name=%00", "name"),
    ],
)
def test_unknown_filter_value_is_named(api, query, field):
    body = problem(api.get(f"/api/v1/{query}"), 400, "invalid")
    assert body["errors"][0]["field"] == field


def test_unknown_page_size_falls_back(api):
    make_system()
    assert api.get("/api/v1/systems?page_size=x").json()["count"] == 1


@pytest.mark.parametrize("order", ["password", "system__name", "name,-pasword", "--name"])
def test_unknown_order_is_refused(api, order):
    make_system()
    body = problem(api.get(f"/api/v1/systems?ordering={order}"), 400, "invalid")
    assert body["errors"][0]["field"] == "ordering"


def test_search_for_what_no_name_holds(api):
    assert api.get("/api/v1/systems?search=%00").status_code in (200, 400)


def test_idempotency_key_that_is_too_long(api):
    answer = api.post(
        "/api/v1/systems", {"name": "a"}, format="json", headers={"idempotency-key": "k" * 201}
    )
    problem(answer, 400, "invalid_idempotency_key")
