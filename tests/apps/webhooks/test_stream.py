"""Programs follow what happens by a stream, and go on where they ended."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from cloudevents.core.bindings.http import HTTPMessage, from_structured_event
from django.db import connection
from django.test import AsyncClient

from apps.accounts.domain.roles import Role
from apps.accounts.services import token_create, token_revoke, user_update
from apps.audit.services import events_number
from apps.systems.models import System
from apps.systems.services import system_update
from apps.webhooks.api import stream
from apps.webhooks.services.queue import last_event
from tests.factories import make_system, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

T = TypeVar("T")


@pytest_asyncio.fixture(autouse=True)
async def _close_thread_connection() -> AsyncIterator[None]:
    """The database connection that the view used lives in asgiref's thread."""
    yield
    await sync_to_async(lambda: connection.close())()


async def do(work: Callable[[], T]) -> T:
    return await sync_to_async(work)()


def token_of(*roles: Role, name: str = "erik") -> Any:
    """A token with all roles of its owner, and its secret."""
    return token_create(owner=make_user(name, *roles), name="follow", roles=list(roles))


def rename(system: System, name: str) -> None:
    """Something happens, and the coordinator numbers it."""
    fresh = System.objects.get(pk=system.pk)
    system_update(
        system=fresh, actor=None, expected_version=fresh.version, values={"description": name}
    )
    events_number()


class Follower:
    """Reads a stream as libraries for server-sent events do."""

    def __init__(self, chunks: Any) -> None:
        self.chunks = chunks
        self.last_id = ""
        self.text = ""

    async def next(self, within_s: float = 60.0) -> dict[str, Any]:
        """The next message that holds data."""
        async with asyncio.timeout(within_s):
            while True:
                while "\n\n" not in self.text:
                    self.text += (await anext(self.chunks)).decode()
                block, _, self.text = self.text.partition("\n\n")
                lines = dict(line.split(": ", 1) for line in block.split("\n") if line[0] != ":")
                self.last_id = lines.get("id", self.last_id)
                if "data" in lines:
                    return json.loads(lines["data"])

    async def described(self, number: int) -> list[str]:
        """What the next events say of systems' descriptions."""
        events = [await self.next() for _ in range(number)]
        return [event["data"]["after"]["description"] for event in events]


@contextlib.asynccontextmanager
async def following(secret: str, query: str = "", *, last_id: str = "") -> AsyncIterator[Follower]:
    headers = {"Authorization": f"Bearer {secret}"} | (
        {"Last-Event-ID": last_id} if last_id else {}
    )
    answer: Any = await AsyncClient().get(f"/api/v1/event-stream?{query}", headers=headers)
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == "text/event-stream"
    try:
        yield Follower(answer.streaming_content)
    finally:
        await answer.streaming_content.aclose()


async def refused(secret: str, query: str = "", **headers: str) -> dict[str, Any]:
    sent = {"Authorization": f"Bearer {secret}", "Accept": "text/event-stream", **headers}
    answer = await AsyncClient().get(f"/api/v1/event-stream?{query}", headers=sent)
    assert answer["Content-Type"] == "application/problem+json"
    return answer.json()


async def test_who_connects_again_misses_nothing_and_hears_nothing_twice() -> None:
    system, (_, secret) = await do(lambda: (make_system(), token_of(Role.VIEWER)))
    await do(events_number)
    async with following(secret) as follower:
        await do(lambda: rename(system, "one"))
        await do(lambda: rename(system, "two"))
        event = await follower.next()
        assert (event["type"], event["data"]["after"]) == (
            "weir.system.update",
            {"description": "one"},
        )
        assert int(event["sequence"]) == int(follower.last_id)
        assert await follower.described(1) == ["two"]
    await do(lambda: rename(system, "three"))
    await do(lambda: rename(system, "four"))
    async with following(secret, last_id=follower.last_id) as again:
        assert await again.described(2) == ["three", "four"]
        await do(lambda: rename(system, "five"))
        assert await again.described(1) == ["five"]
    async with following(secret, "after=0&type=weir.system.update") as whole:
        assert await whole.described(5) == ["one", "two", "three", "four", "five"]
    headers = {"content-type": "application/cloudevents+json"}
    parsed = from_structured_event(HTTPMessage(headers, json.dumps(event).encode()))
    assert parsed.get_type() == "weir.system.update"


async def test_a_stream_tells_what_was_chosen_and_passes_on_the_numbers_of_the_rest() -> None:
    one, other = await do(lambda: (make_system("one"), make_system("other")))
    _, secret = await do(lambda: token_of(Role.VIEWER))
    await do(events_number)
    query = f"system={one.public_id}&type=weir.system.update&type=weir.plan.*"
    async with following(secret, query) as follower:
        await do(lambda: rename(one, "mine"))
        await do(lambda: rename(other, "theirs"))
        assert await follower.described(1) == ["mine"]
        last = await do(last_event)
        with pytest.raises(TimeoutError):
            await follower.next(within_s=3.0)
        assert follower.last_id == str(last)


async def test_more_events_than_are_read_at_once_come_all_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "AT_ONCE", 3)
    system, (_, secret) = await do(lambda: (make_system(), token_of(Role.VIEWER)))
    for number in range(8):
        await do(lambda number=number: rename(system, str(number)))  # type: ignore[misc]
    async with following(secret, "after=0&type=weir.system.update") as follower:
        assert await follower.described(8) == [str(number) for number in range(8)]


async def test_sign_ins_are_for_administrators_who_name_them() -> None:
    def prepare() -> tuple[str, str]:
        (_, viewer), (_, admin) = token_of(Role.VIEWER), token_of(Role.ADMIN, name="root")
        return viewer, admin

    viewer, admin = await do(prepare)
    client = AsyncClient()
    wrong = {"username": "erik", "password": "wrong"}
    await client.post("/api/v1/session", wrong, content_type="application/json")
    await do(events_number)
    query = "after=0&type=weir.session.*&type=weir.token.*"
    async with following(admin, query) as follower:
        kinds = [(await follower.next())["data"]["object_kind"] for _ in range(3)]
    async with following(viewer, query) as follower:
        assert [(await follower.next())["data"]["object_kind"] for _ in range(2)] == ["token"] * 2
        with pytest.raises(TimeoutError):
            await follower.next(within_s=2.0)
    assert sorted(kinds) == ["session", "token", "token"]


@pytest.mark.parametrize("by", ["revocation", "fewer roles"])
async def test_a_stream_ends_with_its_token(monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.2)

    def prepare() -> Any:
        return token_of(Role.VIEWER, Role.EDITOR), make_user("root", Role.ADMIN)

    (token, secret), root = await do(prepare)
    async with following(secret) as follower:
        if by == "revocation":
            await do(lambda: token_revoke(token=token, actor=root))
        else:
            change = {"expected_version": token.owner.version, "values": {"roles": ["viewer"]}}
            await do(lambda: user_update(user=token.owner, actor=root, **change))
        with pytest.raises(StopAsyncIteration):
            await follower.next()


async def test_a_stream_that_is_far_behind_ends_with_its_token_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.0)
    monkeypatch.setattr(stream, "AT_ONCE", 1)

    def prepare() -> Any:
        system = make_system()
        for number in range(5):
            rename(system, str(number))
        return token_of(Role.VIEWER), make_user("root", Role.ADMIN)

    (token, secret), root = await do(prepare)
    async with following(secret, "after=0&type=weir.system.update") as follower:
        await follower.next()
        await do(lambda: token_revoke(token=token, actor=root))
        with pytest.raises(StopAsyncIteration):
            await follower.described(4)


async def test_a_process_has_so_many_streams_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = await do(lambda: token_of(Role.VIEWER))
    monkeypatch.setattr(stream, "MOST_STREAMS", 0)
    assert (await refused(secret))["code"] == "too_many_streams"


async def test_a_head_does_not_go_on() -> None:
    _, secret = await do(lambda: token_of(Role.VIEWER))
    headers = {"Authorization": f"Bearer {secret}"}
    answer = await AsyncClient().head("/api/v1/event-stream", headers=headers)
    assert answer.status_code == 405


async def test_a_stream_lasts_no_longer_than_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(stream, "LIFE_S", 0.5)
    _, secret = await do(lambda: token_of(Role.VIEWER))
    async with following(secret) as follower:
        with pytest.raises(StopAsyncIteration):
            await follower.next()


async def test_what_cannot_be_followed_is_refused_by_name() -> None:
    _, secret = await do(lambda: token_of(Role.VIEWER))
    for query, field in (
        ("type=plan", "type"),
        ("type=weir.ship.sail", "type"),
        ("system=7", "system"),
        ("after=-1", "after"),
        ("after=x", "after"),
        ("after=99999", "after"),
        ("types=weir.plan.*", "types"),
    ):
        problem = await refused(secret, query)
        assert [one["field"] for one in problem["errors"]] == [field], problem
    problem = await refused(secret, **{"Last-Event-ID": "99999"})
    assert "There is no event 99999 yet" in problem["detail"]
    assert (await refused("weir_nobody"))["code"] == "authentication_failed"
