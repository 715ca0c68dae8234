"""Keep when flows are to be woken, and wait for it."""

from __future__ import annotations

import asyncio
import heapq
from contextlib import suppress


class WakeUps:
    """When which flows are to be woken. A flow may be woken too early, never too late."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        """What is not in `_at` any more counts no more."""
        self._at: dict[str, float] = {}
        self._is_changed = asyncio.Event()

    def wake(self, flow: str, at: float) -> None:
        """Have a flow woken at this moment, unless it is to be woken earlier."""
        if at < self._at.get(flow, float("inf")):
            self._at[flow] = at
            heapq.heappush(self._heap, (at, flow))
            self._is_changed.set()

    def remove(self, flow: str) -> None:
        """Wake a flow no more."""
        self._at.pop(flow, None)

    def next_due(self, now: float) -> str | None:
        """Take the next flow that is to be woken by now; None where there is none."""
        while self._heap and self._heap[0][0] <= now:
            at, flow = heapq.heappop(self._heap)
            if self._at.get(flow) == at:
                del self._at[flow]
                return flow
        return None

    def interrupt(self) -> None:
        """End the wait that is under way, or the next one."""
        self._is_changed.set()

    async def wait(self, now: float) -> None:
        """Wait until a flow may be due; `now` is the time by the clock of all moments."""
        pause_s = max(0.0, self._heap[0][0] - now) if self._heap else None
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._is_changed.wait()
        self._is_changed.clear()
