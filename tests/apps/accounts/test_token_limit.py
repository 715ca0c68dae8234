"""How often tokens may ask: said in every answer, and refused beyond it."""

import asyncio
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import AsyncClient
from rest_framework.test import APIClient

from apps.accounts.api import token_limit
from apps.accounts.domain.roles import Role
from apps.accounts.models import ApiToken
from apps.accounts.services import token_create, token_revoke
from apps.systems.models import System
from tests.conftest import client_of
from tests.factories import make_user
from tests.schema import SCHEMA

pytestmark = pytest.mark.django_db
LIST = "/api/v1/systems"


IN_PRODUCTION_S = token_limit.ANSWERS_WITHIN_S


@pytest.fixture(autouse=True)
def _valkey_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On a busy machine an answer may take longer than production waits, and nothing is counted."""
    monkeypatch.setattr(token_limit, "ANSWERS_WITHIN_S", 60.0)
    token_limit._script.cache_clear()
    yield
    token_limit._script.cache_clear()
    token_limit._left_alone_until.clear()


@pytest.fixture
def silent(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A Valkey that takes connections and says nothing, waited for as in production, and then left
    alone for longer than any test lasts."""
    monkeypatch.setattr(token_limit, "ANSWERS_WITHIN_S", IN_PRODUCTION_S)
    monkeypatch.setattr(token_limit, "LEFT_ALONE_S", 3600.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        settings.WEIR_BROKER_URL = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        yield server


def connections(server: socket.socket) -> int:
    """How many connections were made since the last time."""
    count = 0
    while True:
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


def token_of(*roles: Role, name: str = "deploy") -> tuple[ApiToken, APIClient]:
    owner = make_user(f"owner-of-{name}", *roles)
    token, secret = token_create(owner=owner, name=name, roles=list(roles))
    client = client_of(None)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return token, client


def left(answer: Any) -> int:
    """How many requests the answer says are left; both fields are structured as in the draft."""
    per_minute = django_settings.WEIR_API_REQUESTS_PER_MINUTE
    assert answer["RateLimit-Policy"] == f'"token";q={per_minute};w=60'
    match = re.fullmatch(r'"token";r=(\d+);t=([1-9]\d*)', answer["RateLimit"])
    assert match, answer["RateLimit"]
    return int(match[1])


def test_a_burst_uses_the_minute_up_and_the_wait_that_is_named_is_enough(settings: Any) -> None:
    settings.WEIR_API_REQUESTS_PER_MINUTE = 60
    _, client = token_of(Role.EDITOR)
    began = time.monotonic()
    answers = [client.get(LIST) for _ in range(60)]
    assert {answer.status_code for answer in answers} == {200}
    # It fills while the burst lasts.
    while (refused := client.get(LIST)).status_code == 200:
        assert time.monotonic() - began < 30.0, "nothing is refused"
    assert left(refused) == 0
    assert left(answers[0]) == 59
    assert (refused.status_code, refused["Content-Type"]) == (429, "application/problem+json")
    problem = refused.json()
    assert (problem["code"], problem["status"]) == ("too_many_requests", 429)
    assert "60 requests a minute" in problem["detail"]
    wait = int(refused["Retry-After"])
    assert wait == 1
    assert problem["detail"].endswith("Try again in 1 second.")
    time.sleep(wait)
    assert client.get(LIST).status_code == 200


def test_a_refused_request_does_nothing_and_puts_nothing_off(settings: Any) -> None:
    settings.WEIR_API_REQUESTS_PER_MINUTE = 2
    _, client = token_of(Role.EDITOR)
    answers = [client.post(LIST, {"name": name}, format="json") for name in ("one", "two", "three")]
    assert [answer.status_code for answer in answers] == [201, 201, 429]
    assert not System.objects.filter(name="three").exists()
    waits = [int(client.get(LIST)["Retry-After"]) for _ in range(5)]
    assert max(waits) <= 30


def test_the_wait_that_is_named_is_the_least_on_the_clock_that_counts(settings: Any) -> None:
    settings.WEIR_API_REQUESTS_PER_MINUTE = 7
    token, client = token_of(Role.VIEWER)
    script = token_limit._script(settings.WEIR_BROKER_URL)
    valkey, key = script.registered_client, f"{token_limit.PREFIX}{token.public_id}"

    def now_us() -> int:
        seconds, microseconds = valkey.time()
        return int(seconds) * 1_000_000 + int(microseconds)

    while True:
        before = now_us()
        if (refused := client.get(LIST)).status_code != 200:
            break
    after = now_us()
    each_us = 60_000_000 // 7
    # One more is taken once no more than six are missing.
    room_us = float(valkey.get(key)) - 6 * each_us
    wait_us = int(refused["Retry-After"]) * 1_000_000
    assert room_us - after <= wait_us < room_us - before + 1_000_000
    # What is stored is a time: to move it is to move the clock.
    valkey.set(key, f"{float(valkey.get(key)) - wait_us:.0f}")
    assert client.get(LIST).status_code == 200
    assert 0 < valkey.ttl(key) <= 60, "a token that is silent leaves nothing behind"


def test_every_kind_of_answer_says_what_is_left() -> None:
    _, client = token_of(Role.EDITOR)
    first = client.get(LIST)
    made = client.post(LIST, {"name": "new"}, format="json")
    answers = {
        200: first,
        304: client.get(LIST, headers={"If-None-Match": "*"}),
        201: made,
        400: client.post(LIST, {"name": ""}, format="json"),
        403: client.get("/api/v1/users"),
        404: client.get(f"{LIST}/00000000-0000-4000-8000-000000000000"),
        405: client.put(LIST, {}, format="json"),
        415: client.post(LIST, "x", content_type="text/plain"),
        428: client.patch(made["Location"], {}, format="json"),
    }
    assert {status: answer.status_code for status, answer in answers.items()} == {
        status: status for status in answers
    }
    counts = [left(answer) for answer in answers.values()]
    assert max(counts) < django_settings.WEIR_API_REQUESTS_PER_MINUTE
    assert min(counts) > 0


@pytest.mark.django_db(transaction=True)
def test_a_stream_says_it_at_its_beginning_and_is_refused_like_all(settings: Any) -> None:
    settings.WEIR_API_REQUESTS_PER_MINUTE = 1
    _, secret = token_create(owner=make_user("erik", Role.VIEWER), name="s", roles=["viewer"])

    async def follow() -> tuple[Any, Any]:
        headers = {"Authorization": f"Bearer {secret}", "Accept": "text/event-stream"}
        answer: Any = await AsyncClient().get("/api/v1/event-stream", headers=headers)
        await answer.streaming_content.aclose()
        return answer, await AsyncClient().get("/api/v1/event-stream", headers=headers)

    began = time.monotonic()
    begun, refused = asyncio.run(follow())
    elapsed_s = time.monotonic() - began
    assert (begun.status_code, left(begun)) == (200, 0)
    assert refused.status_code == 429
    assert refused.json()["code"] == "too_many_requests"
    assert 60 - elapsed_s <= int(refused["Retry-After"]) <= 60


def test_each_token_has_a_budget_of_its_own_and_sessions_have_none(settings: Any) -> None:
    settings.WEIR_API_REQUESTS_PER_MINUTE = 1
    (token, one), (_, other) = token_of(Role.VIEWER), token_of(Role.VIEWER, name="other")
    assert [client.get(LIST).status_code for client in (one, one, other)] == [200, 429, 200]
    for client, status in ((client_of(token.owner), 200), (client_of(None), 401)):
        for _ in range(3):
            answer = client.get(LIST)
            assert (answer.status_code, "RateLimit" in answer) == (status, False)


def test_a_token_that_lets_nobody_in_is_not_counted(settings: Any) -> None:
    settings.WEIR_API_REQUESTS_PER_MINUTE = 1
    token, client = token_of(Role.VIEWER)
    token_revoke(token=token, actor=token.owner)
    unknown = client_of(None)
    unknown.credentials(HTTP_AUTHORIZATION="Bearer weir_unknown")
    for each in (client, unknown):
        for _ in range(3):
            answer = each.get(LIST)
            assert (answer.status_code, "RateLimit" in answer) == (401, False)


def test_without_a_limit_nothing_is_counted(settings: Any) -> None:
    settings.WEIR_API_REQUESTS_PER_MINUTE = 0
    _, client = token_of(Role.VIEWER)
    assert "RateLimit" not in client.get(LIST)


def test_another_limit_holds_at_once(settings: Any) -> None:
    settings.WEIR_API_REQUESTS_PER_MINUTE = 3
    _, client = token_of(Role.VIEWER)
    began = time.monotonic()
    assert [client.get(LIST).status_code for _ in range(4)] == [200, 200, 200, 429]
    settings.WEIR_API_REQUESTS_PER_MINUTE = 4
    refused = client.get(LIST)
    elapsed_s = time.monotonic() - began
    assert (refused.status_code, left(refused)) == (429, 0)
    # There is room for one in a quarter of a minute, where it was a third.
    assert 15 - elapsed_s <= int(refused["Retry-After"]) <= 15


def test_of_requests_at_the_same_moment_no_more_are_taken_than_there_are() -> None:
    token, _ = token_of(Role.VIEWER)
    with ThreadPoolExecutor(8) as threads:
        budgets = list(threads.map(lambda _: token_limit._take(token, 5), range(60)))
    taken = [budget.left for budget in budgets if budget and budget.taken]
    assert sorted(taken) == list(range(5))


def test_without_valkey_requests_pass(settings: Any, silent: socket.socket) -> None:
    silent.close()
    settings.WEIR_API_REQUESTS_PER_MINUTE = 1
    _, client = token_of(Role.VIEWER)
    for _ in range(5):
        answer = client.get(LIST)
        assert (answer.status_code, "RateLimit" in answer) == (200, False)


def test_one_request_waits_a_moment_for_a_valkey_that_is_silent(
    settings: Any, silent: socket.socket
) -> None:
    """It would wait for ever if it did not give up; no other one waits at all."""
    settings.WEIR_API_REQUESTS_PER_MINUTE = 1
    _, client = token_of(Role.VIEWER)
    began = time.monotonic()
    assert client.get(LIST).status_code == 200
    assert time.monotonic() - began >= token_limit.ANSWERS_WITHIN_S
    assert connections(silent) == 1
    answers = [client.get(LIST) for _ in range(5)]
    assert {(answer.status_code, "RateLimit" in answer) for answer in answers} == {(200, False)}
    assert connections(silent) == 0


def test_a_valkey_that_was_silent_is_tried_again_after_a_while(
    settings: Any, silent: socket.socket
) -> None:
    token, _ = token_of(Role.VIEWER)
    for _ in range(2):
        assert token_limit._take(token, 5) is None
    assert connections(silent) == 1
    # What is stored is a time: to move it is to move the clock.
    token_limit._left_alone_until[settings.WEIR_BROKER_URL] -= token_limit.LEFT_ALONE_S
    assert token_limit._take(token, 5) is None
    assert connections(silent) == 1


def test_the_schema_names_the_fields_wherever_a_token_is_answered() -> None:
    names = {"RateLimit", "RateLimit-Policy"}
    assert set(SCHEMA["components"]["headers"]) == names
    shared = SCHEMA["components"]["responses"]
    assert all(names <= set(response["headers"]) for response in shared.values())
    session_only = set()
    for path, item in SCHEMA["paths"].items():
        for method, operation in item.items():
            assert "429" in operation["responses"], (method, path)
            for status, response in operation["responses"].items():
                fields = names & set(response.get("headers", {}))
                if status[0] == "2" and {"token": []} not in operation["security"]:
                    session_only.add((method, path))
                    assert not fields, (method, path)
                elif "$ref" not in response:
                    assert fields == names, (method, path, status)
    assert session_only == {
        ("post", "/api/v1/session/password"),
        ("post", "/api/v1/tokens"),
        ("post", "/api/v1/users"),
    }
