"""Compare the server's clock with the agent's, so that it is known how long ago a message was
stored.

A stream's messages carry the time at which the server stored them, by its own clock, which may be
another machine's. A request whose answer says the server's time puts the difference between the two
clocks into an interval as long as the round trip; its middle is wrong by half of that at most
(Cristian's algorithm). The comparison with the shortest round trip holds until another one is
better, for it grows worse by `DRIFT` with time, or contradicts it: then somebody has set a clock.

Reference: F. Cristian. Probabilistic clock synchronization. Distributed Computing 3 (1989),
https://doi.org/10.1007/BF01784024.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Sequence

from agent.drivers.base import DriverError
from agent.drivers.nats import jetstream, names
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.system_account import nanoseconds

COMPARISONS = 3
EVERY_S = 10.0
DRIFT = 100e-6
"""Seconds by which two clocks may come apart per second; a quartz is within half of that."""


class ServerClock:
    """What the server's clock shows, in seconds of the agent's."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ahead_s: float | None = None
        """What the server's clock shows at second 0 of the agent's."""
        self._error_s = math.inf
        self._compared_at = self._asked_at = -math.inf
        self._connection: Connection | None = None
        self._comparing = asyncio.Lock()

    def error_s(self, now: float) -> float:
        """Return by how much `here` may be wrong; infinite while nothing is known."""
        return self._error_s + DRIFT * max(0.0, now - self._compared_at)

    async def compare(self, connection: Connection) -> None:
        """Compare the clocks, unless that was done over this connection a moment ago."""
        async with self._comparing:
            fresh = self._clock() - self._asked_at < EVERY_S
            if fresh and connection is self._connection:
                return
            self._connection, self._asked_at = connection, self._clock()
            for _ in range(COMPARISONS):
                asked_at = self._clock()
                with contextlib.suppress(DriverError, ValueError):
                    shown = await jetstream.time_of_server(connection, names.INTEREST_STREAM)
                    self.saw(shown, asked_at, self._clock())

    def saw(self, shown: str, asked_at: float, answered_at: float) -> None:
        """Take what the server's clock showed between two moments; empty where it does not say."""
        if not shown:
            return
        ahead_s = nanoseconds(shown) / jetstream.NANOSECONDS - (asked_at + answered_at) / 2
        error_s = (answered_at - asked_at) / 2
        known_s = self.error_s(answered_at)
        is_set = self._ahead_s is None or abs(ahead_s - self._ahead_s) > error_s + known_s
        if is_set or error_s <= known_s:
            self._ahead_s, self._error_s, self._compared_at = ahead_s, error_s, answered_at

    def here(self, stored: Sequence[int]) -> Sequence[float]:
        """Return when the agent's clock showed these times of the server, in nanoseconds; nothing
        while that is not known. No message is read before it is stored."""
        if self._ahead_s is None:
            return ()
        ahead_s, now = self._ahead_s, self._clock()
        times = [each * 1e-9 - ahead_s for each in stored]
        return times if times[-1] <= now else [min(each, now) for each in times]
