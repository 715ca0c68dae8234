"""Determine to which life of an ingress stream a message belongs, to distinguish messages of one
number.

A message's identity is its origin and its number in the ingress stream. The stream's creation is
part of the origin, as a stream made anew counts anew. That is not enough: a server that comes up
with an older copy of its disk, or with one whose tail is gone, goes on under the same creation with
numbers it has given before, and everybody further on would leave its new messages out as known.

Such a disk appears between two processes of the server, never within one. So every start of the
process that finds the stream there begins a life, and a message belongs to the last one that began
before it was stored, both by the server's own clock. A message keeps its life for ever, whoever
reads it and how often the agent or the server are restarted meanwhile, because the beginnings are
kept in the stream's metadata: beside the messages, on the disk that may be restored, and written
before the first message of a life is read. What an old copy brings back has the origin it had, and
is known further on; what is published after it has one that nobody has met.

Beginnings never fall: a clock that was set back between two processes puts what comes next into
the life before, where its numbers go on. Only a clock set back *and* a restored disk give one
identity twice.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable

from agent.drivers.nats import jetstream
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.jetstream import StreamState
from agent.drivers.nats.system_account import nanoseconds

KEY = "weir.lives"
KEPT = 100
"""The number of beginnings to keep: as many restarts as unsettled messages may have seen."""

Started = Callable[[Connection], Awaitable[int | None]]
"""A function that returns when the process behind a connection began, or None when that is
unknown."""


class Lives:
    """Keep the lives of one ingress stream, as its reader finds them."""

    def __init__(self, started: Started, lock: asyncio.Lock) -> None:
        """Take `lock`, which protects changes of the stream's settings."""
        self._started = started
        self._lock = lock
        self._beginnings: list[int] = []

    async def meet(self, connection: Connection, stream: str) -> None:
        """Learn the lives before the first message is read over a connection. Raises
        DriverError."""
        began = await self._started(connection)
        async with self._lock:
            state = await jetstream.stream_state(connection, stream)
            if state is None:
                self._beginnings = []
                return
            known = _read(state)
            self._beginnings = _with(known, began, state) if began is not None else known
            if self._beginnings != known:
                metadata = {KEY: ",".join(str(moment) for moment in self._beginnings)}
                await jetstream.change_stream(connection, state, {"metadata": metadata})

    @property
    def newest(self) -> int:
        """Return when the last life began; 0 while the stream is in its first."""
        return self._beginnings[-1] if self._beginnings else 0

    def of(self, stored: int) -> int:
        """Return the beginning of the life in which a message was stored; 0 for the first."""
        place = bisect_right(self._beginnings, stored)
        return self._beginnings[place - 1] if place else 0


def _with(known: list[int], began: int, state: StreamState) -> list[int]:
    """Return the beginnings with that of this process, without those that have no messages left."""
    if began > nanoseconds(state.created) and began > max(known, default=0):
        known = [*known, began]
    if state.messages:
        first = nanoseconds(state.first_time)
        past = bisect_right(known, first) - 1
    else:
        past = len(known) - 1
    return known[max(0, past) :][-KEPT:]


def _read(state: StreamState) -> list[int]:
    text = str(state.config.get("metadata", {}).get(KEY, ""))
    return sorted(int(word) for word in text.split(",") if word.isdigit())
