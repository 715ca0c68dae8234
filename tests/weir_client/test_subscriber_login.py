"""What waits for a subscriber's client at a real broker may be cancelled at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.nats_server import NatsServer
from weir_client.subscriber_login import PersistentClient

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncIterator[PersistentClient]:
    with NatsServer(tmp_path / "nats") as server:
        client = PersistentClient()
        await client.connect(server.url)

        async def answer(message: Any) -> None:
            await message.respond(b"yes")

        await client.subscribe("question", cb=answer)
        yield client
        await client.close()


async def ask(client: PersistentClient) -> None:
    answer = await client.request("question", b"", timeout=5)
    assert answer.data == b"yes"


async def ask_nobody(client: PersistentClient) -> None:
    await client.request("nobody", b"", timeout=5)


async def flush(client: PersistentClient) -> None:
    await client.flush(5)


@pytest.mark.parametrize("wait", [ask, ask_nobody, flush])
async def test_a_task_that_is_cancelled_as_its_answer_comes_ends(
    client: PersistentClient, wait: Callable[[PersistentClient], Awaitable[None]]
) -> None:
    await ask(client)
    going_on = asyncio.Event()

    async def work() -> None:
        await wait(client)
        await going_on.wait()

    task = asyncio.create_task(work())
    while not (waiting := [*client._resp_map.values(), *client._pongs]):
        await asyncio.sleep(0)
    waiting[-1].add_done_callback(lambda _: task.cancel())
    await asyncio.wait([task], timeout=5)
    is_ended = task.cancelled()
    going_on.set()
    assert is_ended
    await ask(client)


async def test_a_timeout_around_an_answer_is_one(client: PersistentClient) -> None:
    async def never(_: Any) -> None:
        pass

    await client.subscribe("silence", cb=never)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.request("silence", b"", timeout=5)
    await ask(client)
