"""Ending tasks for sure, and hearing of those that ended by themselves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger("weir.agent")


async def end(*tasks: asyncio.Task[Any], again_s: float = 0.5) -> None:
    """Cancel and wait. What they raised was seen by whoever waited for them.

    Python 3.11's `wait_for`, which client libraries use, loses a cancellation that comes in the
    moment its future is done; so whoever has not ended after `again_s` is told again. A task
    that takes longer to clean up needs a longer `again_s`.
    """
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=again_s)
    await asyncio.gather(*tasks, return_exceptions=True)


class Died(Exception):
    """A task that nothing should end has raised; the text names both."""


class Watched:
    """Tasks of one life. One that raises is a fault of the agent: `fault` tells whoever keeps it
    alive, so that no part of it stands still while the others go on."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._died = asyncio.Event()
        self._why: Died | None = None

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Begin it. It may return or be cancelled, but not raise."""
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
        """Returns never; raises Died once a task has raised."""
        await self._died.wait()
        assert self._why is not None
        raise self._why

    async def close(self) -> None:
        """End all of them."""
        await end(*self._tasks)
