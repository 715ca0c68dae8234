"""End tasks reliably, and report tasks that ended with an error."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger("weir.agent")


async def end(*tasks: asyncio.Task[Any], again_s: float = 0.5) -> None:
    """Cancel the tasks and wait for them; their callers have seen what they raise.

    Python 3.11's `wait_for`, which client libraries use, loses a cancellation that comes in the
    moment its future is done; so a task that has not ended after `again_s` is cancelled again. One
    that takes longer to clean up needs a longer `again_s`.
    """
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=again_s)
    await asyncio.gather(*tasks, return_exceptions=True)


async def until_one_ends(*work: Coroutine[Any, Any, None]) -> None:
    """Run all until one ends or raises, which this raises, too; then end the others."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await end(*tasks)


class Died(Exception):
    """Signal that a task that should not end has raised an error; the text names both."""


class Watched:
    """Watch the tasks of an agent. A task that raises is an error of the agent: `fault` reports it,
    so that no part of the agent stands still while the others go on."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._died = asyncio.Event()
        self._why: Died | None = None

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start a task. It may return or be cancelled, but not raise."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and self._why is None:
            log.error("%s died", task.get_name(), exc_info=error)
            self._why = Died(f"{task.get_name()} died: {type(error).__name__}: {error}")
            self._why.__cause__ = error
            self._died.set()

    async def fault(self) -> None:
        """Wait for ever, or raise Died once a task has raised."""
        await self._died.wait()
        assert self._why is not None
        raise self._why

    async def close(self) -> None:
        """End all tasks and wait for them."""
        await end(*self._tasks)
