"""Count how long messages took until a client had them, and requests until they were answered.

    counted = Delays()
    await client.subscribe(subject, cb=lambda message: counted.receive(message.headers))
    with counted.request():
        ...  # send a request, and wait for its answer
    await counted.hand_over(client, "gold")  # for ever, to the agent beside the broker

What publishers of this package send carries when it was given to them, in the header `Weir-Sent`
(Unix seconds). A delay is the receiver's clock minus that, so it is as right as the clocks of both;
one below zero counts as 0, and as `skewed`. Requests are timed by one clock that is never set back,
and so are the pauses before them: the time since the last one ended. So `Delays` is for one that
asks in turn; a request that begins while another is under way has no pause.

Delays are counted in bins that merge by addition: one holds delays above 2^(bin/16) s and at most
2^((bin + 1)/16) s, the first one all up to 1 ns, the last one all above 1e6 s.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from weir_client import subjects

SENT_HEADER = "Weir-Sent"
REPORT_S = 5.0
"""Seconds between two reports to the agent."""
STEPS = 16
"""The number of bins between a delay and its double."""
SHORTEST_S, LONGEST_S = 1e-9, 1e6
LOWEST, HIGHEST = -479, 318
"""The first bin and the last one."""


def sent_now() -> str:
    """Return the time as the header of a message has it."""
    return f"{time.time():.6f}"


class DelayCounts:
    """How many delays were counted of each bin, and the longest of them."""

    __slots__ = ("_bins", "_longest_s")

    def __init__(self) -> None:
        self._bins: dict[int, int] = {}
        self._longest_s = 0.0

    def count(self, delay_s: float) -> None:
        """Count one delay, which is not negative."""
        if delay_s <= SHORTEST_S:
            bin_ = LOWEST
        elif delay_s > LONGEST_S:
            bin_ = HIGHEST
        else:
            bin_ = math.ceil(math.log2(delay_s) * STEPS) - 1
        if delay_s > self._longest_s:
            self._longest_s = delay_s
        self._bins[bin_] = self._bins.get(bin_, 0) + 1

    def take(self) -> dict[str, Any]:
        """Return bins and the longest delay, as a report has them, and begin anew."""
        bins, longest_s = sorted(self._bins.items()), self._longest_s
        self._bins, self._longest_s = {}, 0.0
        return {"bins": bins, "longest_s": longest_s} if bins else {}


class Delays:
    """What one consumer counted since that was last handed over."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        """Take the `clock` that is compared with publishers', in Unix seconds."""
        self._clock = clock
        self._delivery = DelayCounts()
        self._answer = DelayCounts()
        self._skewed = 0
        self._unanswered = 0
        self._under_way = 0
        self._ended_at: float | None = None
        """When the last request ended, by the clock that is never set back."""
        self._pauses = 0
        self._paused_s = 0.0

    def receive(self, headers: Mapping[str, str] | None) -> None:
        """Count a message that arrives now, by its headers; not one that does not say when it was
        sent."""
        if headers is None or (sent := headers.get(SENT_HEADER)) is None:
            return
        try:
            delay_s = self._clock() - float(sent)
        except ValueError:
            return
        if delay_s >= 0.0:
            if delay_s < math.inf:
                self._delivery.count(delay_s)
        elif delay_s > -math.inf:
            self._skewed += 1
            self._delivery.count(0.0)

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count what is done within as a request and its answer; where that raises or is cancelled,
        as a request without one."""
        began = time.monotonic()
        if self._ended_at is not None and not self._under_way:
            self._pauses += 1
            self._paused_s += began - self._ended_at
        self._under_way += 1
        try:
            yield
        except BaseException:
            self._unanswered += 1
            raise
        else:
            self._answer.count(time.monotonic() - began)
        finally:
            self._under_way -= 1
            self._ended_at = time.monotonic()

    def take(self) -> bytes:
        """Return what was counted, as a report to the agent, and begin anew; empty where that is
        nothing."""
        report = {
            "delivery": self._delivery.take(),
            "answer": self._answer.take(),
            "skewed": self._skewed,
            "unanswered": self._unanswered,
            "pauses": self._pauses,
            "paused_s": self._paused_s,
        }
        self._skewed = self._unanswered = self._pauses = 0
        self._paused_s = 0.0
        counted = {member: value for member, value in report.items() if value}
        return json.dumps(counted).encode() if counted else b""

    async def hand_over(
        self, client: Any, consumer_class: str, *, every_s: float = REPORT_S
    ) -> None:
        """Report to the agent every `every_s` seconds until cancelled, on the NATS connection of a
        consumer of the class. Raises what `client.publish` raises; that report is lost."""
        subject = subjects.delays_subject(consumer_class)
        while True:
            await asyncio.sleep(every_s)
            if report := self.take():
                await client.publish(subject, report)
