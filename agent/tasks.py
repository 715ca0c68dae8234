"""Ending tasks for sure."""

from __future__ import annotations

import asyncio
from typing import Any


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
