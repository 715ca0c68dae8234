"""Tasks end, also those that lose a cancellation."""

from __future__ import annotations

import asyncio

import pytest

from agent.tasks import end


@pytest.mark.asyncio
async def test_a_task_that_loses_its_first_cancellation_is_told_again() -> None:
    lost = 0

    async def deaf() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if lost:
                    raise
                lost += 1

    task = asyncio.create_task(deaf())
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await end(task, again_s=0.01)
    assert task.cancelled()
    assert lost == 1


@pytest.mark.asyncio
async def test_what_has_ended_is_left_alone() -> None:
    async def fails() -> None:
        raise ValueError

    task = asyncio.create_task(fails())
    await asyncio.wait((task,))
    await end(task)
    await end()
