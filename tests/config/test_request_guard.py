"""What stands before Django: credentials before bodies, sizes while they come."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import httpx
import pytest
from django.db import connections
from django.test import Client

from apps.accounts.domain.roles import Role
from apps.accounts.services import token_create
from apps.catalog.services.import_execute import import_execute
from apps.executions.api import agents, messages
from apps.executions.services.pool import pool_close
from apps.runs.services import progress_token
from apps.telemetry.services import agent_by_secret, agent_enrol
from config import request_guard
from config.asgi import application
from tests.factories import make_user
from tests.factories.fleet import make_harbour
from tests.factories.interest_imports import address, make_catalog, table
from tests.factories.kinds import make_world
from tests.factories.runs import claim, make_run

pytestmark = pytest.mark.django_db(transaction=True)
CHUNK = b"x" * 65_536


class Body:
    """A body that is sent piece by piece and counts how much of it was taken."""

    def __init__(self, chunks: int, chunk: bytes = CHUNK) -> None:
        self.chunks, self.chunk, self.taken = chunks, chunk, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(self.chunks):
            self.taken += len(self.chunk)
            yield self.chunk


@pytest.fixture(autouse=True)
def _pool() -> Iterator[None]:
    yield
    pool_close()


def ask(method: str, path: str, **options: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **options)

    return asyncio.run(send())


def problem(answer: httpx.Response, status: int, code: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == code


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/agent/v1/session", 401, "unknown_credential"),
        ("/agent/v1/report", 401, "unknown_credential"),
        ("/internal/runs/progress", 403, "bad_token"),
        ("/internal/studies/points", 403, "bad_token"),
    ],
)
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nobody"}])
def test_a_stranger_is_refused_before_the_body_is_read(
    path: str, status: int, code: str, headers: dict[str, str]
) -> None:
    body = Body(4)
    problem(ask("POST", path, content=body, headers=headers), status, code)
    assert body.taken == 0


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/agent/v1/session", 401, "unknown_credential"),
        ("/agent/v1/report", 401, "unknown_credential"),
        ("/internal/runs/progress", 403, "bad_token"),
        ("/internal/studies/points", 403, "bad_token"),
    ],
)
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nobody"}])
def test_a_stranger_with_a_small_body_is_refused_whatever_it_holds(
    path: str, status: int, code: str, headers: dict[str, str]
) -> None:
    for body in (b"{}", b"{", b"x" * request_guard.STRANGERS_BYTES):
        problem(ask("POST", path, content=body, headers=headers), status, code)


def test_a_caller_is_looked_up_once_where_the_body_is_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, secret = agent_enrol(broker=make_harbour().brokers["a"], actor=None)
    looks: list[str] = []

    def look(secret: str) -> Any:
        looks.append(secret)
        return agent_by_secret(secret)

    monkeypatch.setattr(agents, "agent_by_secret", look)
    headers = {"Authorization": f"Bearer {secret}"}
    assert ask("POST", "/agent/v1/session", json={}, headers=headers).status_code == 200
    assert looks == [secret]
    padding = {"padding": "x" * request_guard.STRANGERS_BYTES}
    assert ask("POST", "/agent/v1/session", json=padding, headers=headers).status_code == 200
    assert looks == 3 * [secret]


def test_a_body_that_says_two_lengths_is_no_small_one() -> None:
    """Where it comes in pieces, the length that it declares need not be its own."""
    body = Body(4)
    headers = {"Content-Length": "2", "Transfer-Encoding": "chunked"}
    answer = ask("POST", "/agent/v1/report", content=body, headers=headers)
    problem(answer, 401, "unknown_credential")
    assert body.taken == 0


def test_work_on_what_an_agent_sent_is_not_done_on_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reading and checking a report happens where it stops nobody else."""
    _, secret = agent_enrol(broker=make_harbour().brokers["a"], actor=None)
    on_loop: list[bool] = []
    real = messages.body

    def body(request: Any) -> Any:
        try:
            asyncio.get_running_loop()
            on_loop.append(True)
        except RuntimeError:
            on_loop.append(False)
        return real(request)

    monkeypatch.setattr(messages, "body", body)
    headers = {"Authorization": f"Bearer {secret}"}
    assert ask("POST", "/agent/v1/session", json={}, headers=headers).status_code == 200
    report = {"incarnation": 1}
    assert ask("POST", "/agent/v1/report", json=report, headers=headers).status_code == 200
    assert on_loop == [False, False]


@pytest.mark.parametrize(
    ("path", "headers", "most"),
    [
        ("/api/v1/session", {}, request_guard.STRANGERS_BYTES),
        ("/api/v1/systems", {}, request_guard.STRANGERS_BYTES),
        ("/api/v1/systems", {"Authorization": "Bearer weir_x"}, request_guard.LARGEST_BYTES),
    ],
)
@pytest.mark.parametrize("declared", [True, False])
def test_a_body_is_refused_while_it_comes(
    path: str, headers: dict[str, str], most: int, declared: bool
) -> None:
    body = Body(4 * request_guard.LARGEST_BYTES // len(CHUNK))
    if declared:
        headers = {**headers, "Content-Length": str(4 * request_guard.LARGEST_BYTES)}
    problem(ask("POST", path, content=body, headers=headers), 413, "too_large")
    assert body.taken <= (0 if declared else most + 2 * len(CHUNK))


@pytest.mark.parametrize("declared", [True, False])
def test_an_import_of_interests_is_refused_beyond_a_limit_of_its_own(
    settings: Any, declared: bool
) -> None:
    settings.WEIR_LARGEST_IMPORT_BYTES = most = 40 * request_guard.KIB**2
    body = Body(2 * most // len(CHUNK))
    headers = {"Authorization": "Bearer weir_x"}
    if declared:
        headers["Content-Length"] = str(2 * most)
    problem(ask("POST", request_guard.IMPORT_PATH, content=body, headers=headers), 413, "too_large")
    assert body.taken <= (0 if declared else most + 2 * len(CHUNK))
    assert declared or body.taken > request_guard.LARGEST_BYTES


def test_an_import_above_the_limit_of_other_bodies_comes_in_and_goes_out() -> None:
    """The whole way through the server: a body of 33 MiB, and the export as a stream."""
    try:
        system = make_catalog({}, ["x"])
        _, secret = token_create(
            owner=make_user("ines", Role.EDITOR), name="t", roles=[Role.EDITOR.value]
        )
        headers = {"Authorization": f"Bearer {secret}"}
        names = [f"{k:03d}{'n' * 197}" for k in range(900)]
        raw = table((name, "x") for _ in range(190) for name in names)
        assert len(raw) > request_guard.LARGEST_BYTES
        sent = ask(
            "POST",
            address(system, "add", create_missing="subscribers"),
            content=raw,
            headers={**headers, "Content-Type": "text/csv"},
        )
        assert sent.status_code == 202, sent.text
        assert sent.json()["size_bytes"] == len(raw)
        import_execute(public_id=UUID(sent.json()["id"]))
        row = ask("GET", sent.headers["location"], headers=headers).json()
        assert (row["state"], row["added"]) == ("succeeded", 900)
        assert row["repeated"] == 189 * 900
        where = f"/api/v1/interests/export?system={system.public_id}"
        answer = ask("GET", where, headers=headers)
        assert answer.content == table((name, "x") for name in names)
    finally:
        for executor in application.inner.executors:  # type: ignore[attr-defined]
            executor.submit(connections.close_all).result()


def test_a_machine_that_is_known_sends_no_more_than_its_view_takes() -> None:
    token = progress_token(claim(make_run(make_world().system)))
    body = Body(100)
    headers = {"Authorization": f"Bearer {token}"}
    problem(ask("POST", "/internal/runs/progress", content=body, headers=headers), 413, "too_large")
    assert body.taken < 20 * len(CHUNK)


@pytest.mark.parametrize("path", ["/internal/runs/progress", "/internal/studies/points"])
@pytest.mark.parametrize(
    "raw", [b"[" * 200_000, rb'{"points": "\ud800"}', b"null", b"[]", b"{", b'{"points": 1}']
)
def test_what_no_job_sends_is_400(path: str, raw: bytes) -> None:
    token = progress_token(claim(make_run(make_world().system)))
    answer = ask("POST", path, content=raw, headers={"Authorization": f"Bearer {token}"})
    problem(answer, 400, "invalid")


MANY = "&".join(f"p{i}=1" for i in range(1500))


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (f"/api/v1/session?{MANY}", {}),
        (f"/api/v1/systems?{MANY}", {}),
        ("/api/v1/session", {"Host": "evil.example"}),
        ("/livez", {"Host": "a b"}),
    ],
)
def test_what_django_itself_refuses_is_a_problem(path: str, headers: dict[str, str]) -> None:
    answer = ask("GET", path, headers=headers)
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"


def test_an_agent_that_sends_1500_parameters_is_told_so() -> None:
    _, secret = agent_enrol(broker=make_harbour().brokers["a"], actor=None)
    headers = {"Authorization": f"Bearer {secret}"}
    problem(ask("GET", f"/agent/v1/document?{MANY}", headers=headers), 400, "bad_request")


def test_the_schema_is_built_once_and_known_by_its_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    from drf_spectacular.generators import SchemaGenerator

    from config import schema_view

    built = 0
    real = SchemaGenerator.get_schema

    def count(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal built
        built += 1
        return real(self, *args, **kwargs)

    monkeypatch.setattr(SchemaGenerator, "get_schema", count)
    schema_view._schema.cache_clear()
    schema_view._rendered.clear()
    client = Client()
    first = client.get("/api/v1/schema?format=json")
    assert json.loads(first.content)["openapi"].startswith("3.")
    assert first["Content-Type"].startswith("application/vnd.oai.openapi+json")
    again = client.get("/api/v1/schema?format=json", headers={"if-none-match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    text = client.get("/api/v1/schema")
    assert text.content.startswith(b"openapi:")
    assert built == 1
