"""Messages of flows that have come, until the application takes them, and what of them is lost."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from weir_client.receiving import Lost

MOST_WAITING = 100_000
"""Messages that wait for whoever iterates over them; more are dropped, and reported as lost."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a flow."""

    flow: str
    sender: str
    life: int
    number: int
    """It counts the messages of the flow by one life of one sender, from 1."""
    payload: bytes


class Arrivals:
    """What waits for the application, at most so many messages; what finds no room is reported as
    lost before the next message of the same life, or when all that waits was taken."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: deque[Message | Lost] = deque()
        self._dropped: dict[tuple[str, str, int], list[Lost]] = {}
        self._is_some = asyncio.Event()
        self._is_closed = False

    def message(self, message: Message) -> None:
        life = (message.flow, message.sender, message.life)
        if len(self._waiting) < self._most:
            self._report(life)
            self._waiting.append(message)
        else:
            self._drop(life, message.number, message.number)
        self._is_some.set()

    def lost(self, lost: Lost) -> None:
        life = (lost.flow, lost.sender, lost.life)
        self._drop(life, lost.first, lost.last)
        if len(self._waiting) < self._most:
            self._report(life)
        self._is_some.set()

    def close(self) -> None:
        self._is_closed = True
        self._is_some.set()

    async def next(self) -> Message | Lost | None:
        """Wait for the next one; None once this is closed and empty."""
        while not self._waiting:
            for life in list(self._dropped):
                self._report(life)
            if self._waiting:
                break
            if self._is_closed:
                return None
            self._is_some.clear()
            await self._is_some.wait()
        return self._waiting.popleft()

    def _drop(self, life: tuple[str, str, int], first: int, last: int) -> None:
        dropped = self._dropped.setdefault(life, [])
        if dropped and dropped[-1].last + 1 == first:
            first = dropped.pop().first
        dropped.append(Lost(*life, first, last))

    def _report(self, life: tuple[str, str, int]) -> None:
        self._waiting.extend(self._dropped.pop(life, ()))
