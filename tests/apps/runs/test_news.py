"""Live news leaves with the commit and only then; the stream of a browser."""

import asyncio
import contextlib
import json
import uuid
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.db import connection, transaction
from django.test import AsyncClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import user_update
from apps.common.events import CHANNEL, publish
from apps.runs.api import events as stream
from apps.runs.services import progress_token, run_cancel, run_progress
from tests.factories import make_user
from tests.factories.kinds import make_world
from tests.factories.runs import claim, make_run

pytestmark = pytest.mark.django_db(transaction=True)


def test_news_of_a_run_leave_on_commit(news, sent):
    system = make_world().system
    with transaction.atomic():
        run = make_run(system)
        assert news.about(run.public_id, within_s=0.3) == []
    (message,) = news.about(run.public_id)
    assert (message["kind"], message["state"]) == ("run", "queued")
    assert message["system"] == str(system.public_id)
    assert message["run_kind"] == "allocation"


def test_nothing_is_told_of_what_was_rolled_back(news, sent):
    system = make_world().system
    opened = []

    def fail_after_opening():
        with transaction.atomic():
            opened.append(make_run(system))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_opening()
    (run,) = opened
    assert news.about(run.public_id, within_s=0.5) == []
    assert sent.tasks() == []


def test_every_step_of_a_run_is_told(news, sent):
    run = make_run(make_world().system)
    held = claim(run)
    step = {"iteration": 1, "utility": 2.0, "best_utility": 2.0}
    run_progress(token=progress_token(held), progress=step)
    run_cancel(run=run, actor=make_user("erik"))
    told = news.about(run.public_id, enough=4)
    assert [m["state"] for m in told] == ["queued", "running", "running", "running"]
    assert told[2]["progress"] == step
    assert [m["cancel_requested"] for m in told] == [False, False, False, True]


def test_an_edit_tells_the_new_model_version(news):
    system = make_world().system
    versions = [m["model_version"] for m in news.about(system.public_id, within_s=1.0, enough=99)]
    system.refresh_from_db()
    assert versions == list(range(1, system.model_version + 1))


def test_valkey_that_is_away_costs_news_and_nothing_else(settings):
    from apps.common.events import _client

    settings.WEIR_BROKER_URL = "redis://127.0.0.1:1/0"
    _client.cache_clear()
    try:
        publish("system", id=uuid.uuid4())
    finally:
        _client.cache_clear()


class Browser:
    """Reads one stream of events, as EventSource would."""

    def __init__(self, response):
        self.chunks = response.streaming_content
        self.first = None

    async def next(self, within_s: float = 60.0):
        """The next message."""
        chunk = await asyncio.wait_for(anext(self.chunks), within_s)
        text = chunk.decode()
        assert text.endswith("\n\n")
        if text.startswith("retry:"):
            return await self.next(within_s)
        assert text.startswith("data: ")
        return json.loads(text.removeprefix("data: "))

    async def end(self, within_s: float = 60.0):
        """Wait until the stream ends."""
        with contextlib.suppress(StopAsyncIteration):
            while True:
                await self.next(within_s)


@contextlib.asynccontextmanager
async def open_stream(user):
    client = AsyncClient()
    await client.aforce_login(user)
    response: Any = await client.get("/api/v1/events")
    assert response.status_code == 200
    assert response["Content-Type"] == "text/event-stream"
    try:
        yield Browser(response)
    finally:
        await response.streaming_content.aclose()


@pytest_asyncio.fixture
async def _close_thread_connection():
    """The database connection that the asynchronous view used lives in asgiref's thread."""
    yield
    await sync_to_async(lambda: connection.close())()


stream_test = pytest.mark.usefixtures("_close_thread_connection")


@stream_test
@pytest.mark.asyncio
async def test_stream_needs_a_session():
    answer = await AsyncClient().get("/api/v1/events")
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "not_authenticated"


@stream_test
@pytest.mark.asyncio
async def test_stream_begins_with_what_is_true_and_goes_on_with_what_changes(valkey):
    def prepare():
        return make_user("erik"), make_run(make_world().system)

    user, run = await sync_to_async(prepare)()
    async with open_stream(user) as browser:
        snapshot = await browser.next()
        assert snapshot["kind"] == "snapshot"
        assert [r["id"] for r in snapshot["runs"]] == [str(run.public_id)]
        assert (await browser.next())["kind"] == "resync"
        held = await sync_to_async(claim)(run)
        async with asyncio.timeout(3):
            while (message := await browser.next()).get("id") != str(held.public_id):
                pass
        assert (message["kind"], message["state"]) == ("run", "running")


@stream_test
@pytest.mark.asyncio
async def test_stream_beats_in_silence(monkeypatch):
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.05)
    user = await sync_to_async(make_user)("erik")
    async with open_stream(user) as browser:
        async with asyncio.timeout(3):
            while (await browser.next())["kind"] != "heartbeat":
                pass


@stream_test
@pytest.mark.asyncio
async def test_stream_ends_by_itself_so_that_the_session_is_proved_again(monkeypatch):
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(stream, "LIFE_S", 0.3)
    user = await sync_to_async(make_user)("erik")
    async with open_stream(user) as browser:
        async with asyncio.timeout(3):
            async for _ in browser.chunks:
                pass


@stream_test
@pytest.mark.asyncio
async def test_two_browsers_hear_the_same(valkey):
    user = await sync_to_async(make_user)("erik")
    async with open_stream(user) as one, open_stream(user) as two:
        for browser in (one, two):
            assert (await browser.next())["kind"] == "snapshot"
        assert (await one.next())["kind"] == "resync"
        valkey.publish(CHANNEL, json.dumps({"kind": "system", "id": "told-to-both"}))
        for browser in (one, two):
            async with asyncio.timeout(3):
                while (await browser.next()).get("id") != "told-to-both":
                    pass


@stream_test
@pytest.mark.asyncio
@pytest.mark.parametrize("by", ["sign out", "deactivation", "another password"])
async def test_stream_ends_with_its_session(monkeypatch, by):
    monkeypatch.setattr(stream, "HEARTBEAT_S", 600.0)

    def prepare():
        return make_user("erik"), make_user("root", Role.ADMIN)

    erik, root = await sync_to_async(prepare)()
    client = AsyncClient()
    await client.aforce_login(erik)
    response = await client.get("/api/v1/events")
    browser = Browser(response)
    assert (await browser.next())["kind"] == "snapshot"
    if by == "sign out":
        assert (await client.delete("/api/v1/session")).status_code == 204
    else:
        values = (
            {"is_active": False} if by == "deactivation" else {"password": "entirely different"}
        )
        await sync_to_async(user_update)(user=erik, expected_version=1, values=values, actor=root)
    # At the news itself, not at a heartbeat.
    await browser.end()


@stream_test
@pytest.mark.asyncio
async def test_stream_ends_at_a_heartbeat_where_news_were_lost(monkeypatch):
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.2)
    erik = await sync_to_async(make_user)("erik")
    async with open_stream(erik) as browser:
        assert (await browser.next())["kind"] == "snapshot"
        await sync_to_async(User.objects.filter(pk=erik.pk).update)(is_active=False)
        await browser.end()
