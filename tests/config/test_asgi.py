"""What the ASGI entry adds to Django's own: requests leave no connection behind."""

import asyncio
import gc
from collections.abc import Iterator

import httpx
import pytest
from django.db import connection


def sessions_of_postgres() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


@pytest.fixture
def _nothing_collected() -> Iterator[None]:
    """A large heap is collected so rarely that a busy server does not notice."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_nothing_collected")
def test_requests_leave_no_connection_behind() -> None:
    from config.asgi import application

    async def ask(times: int) -> None:
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for _ in range(times):
                answer = await client.get("/readyz")
                assert answer.json()["parts"]["postgres"] == "ok"

    before = sessions_of_postgres()
    asyncio.run(ask(12))
    assert sessions_of_postgres() <= before + 1
