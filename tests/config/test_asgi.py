"""What the ASGI entry adds to Django's own: requests share threads and their connections."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections

from config.request_threads import RequestThreads


def sessions_of_postgres() -> set[int]:
    with connection.cursor() as cursor:
        # Postgres' own workers, which vacuum tables, connect to the database, too.
        cursor.execute(
            "SELECT pid FROM pg_stat_activity "
            "WHERE datname = current_database() AND backend_type = 'client backend'"
        )
        return {pid for (pid,) in cursor.fetchall()}


@pytest.fixture
def application() -> Iterator[Any]:
    """The entry itself; what its threads leave open would keep the test database from going."""
    from config import asgi

    application: Any = asgi.application
    yield application
    for executor in application.inner.executors:
        executor.submit(connections.close_all).result()


NOBODY = {"Authorization": "Bearer weir_nobody", "Cookie": "sessionid=nobody"}


async def ask(
    application: Any, path: str, times: int, *, at_once: bool, headers: Any = None
) -> list[httpx.Response]:
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", headers=headers
    ) as client:
        if at_once:
            return list(await asyncio.gather(*(client.get(path) for _ in range(times))))
        return [await client.get(path) for _ in range(times)]


@pytest.mark.django_db(transaction=True)
def test_requests_one_after_another_share_one_connection(application: Any) -> None:
    before = sessions_of_postgres()
    asyncio.run(ask(application, "/readyz", 1, at_once=False))
    opened = sessions_of_postgres() - before
    answers = asyncio.run(ask(application, "/readyz", 11, at_once=False))
    assert all(answer.json()["parts"]["postgres"] == "ok" for answer in answers)
    assert len(opened) == 1
    assert sessions_of_postgres() - before == opened


@pytest.mark.django_db(transaction=True)
def test_no_number_of_requests_takes_more_connections_than_threads(application: Any) -> None:
    before = sessions_of_postgres()
    threads = len(application.inner.executors)
    answers = asyncio.run(ask(application, "/readyz", 3 * threads, at_once=True))
    assert {answer.status_code for answer in answers} == {200}
    assert len(sessions_of_postgres() - before) <= threads


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("address", ["/api/v1/events", "/api/v1/event-stream"])
def test_a_stream_keeps_no_connection_and_no_thread_of_the_others(
    application: Any, address: str
) -> None:
    before = sessions_of_postgres()
    answers = asyncio.run(ask(application, address, 3, at_once=True, headers=NOBODY))
    assert {answer.status_code for answer in answers} == {401}
    assert sessions_of_postgres() - before == set()


class Slow:
    """An application whose work in its thread ends when it is told to."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.began = threading.Event()
        self.threads: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await sync_to_async(self.work)(scope["path"])

    def work(self, path: str) -> None:
        self.threads.append(threading.current_thread().name)
        if path == "/slow":
            self.began.set()
            self.may_end.wait()


def test_a_thread_that_somebody_left_at_work_is_not_given_to_the_next() -> None:
    slow = Slow()
    both = RequestThreads(slow, threads=2, besides=())

    async def get(path: str) -> None:
        await both({"type": "http", "path": path}, None, None)  # type: ignore[arg-type]

    async def leave_early() -> None:
        leaving = asyncio.create_task(get("/slow"))
        await asyncio.to_thread(slow.began.wait)
        leaving.cancel()
        for _ in range(3):
            await get("/next")
        slow.may_end.set()
        await asyncio.gather(leaving, return_exceptions=True)
        await asyncio.gather(get("/next"), get("/next"))

    asyncio.run(leave_early())
    first, *others = slow.threads
    assert first not in others[:3]
    assert first in others[3:]
