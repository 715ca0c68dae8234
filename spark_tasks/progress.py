"""Progress from inside a running task: the latest value, and when each iteration ended."""

import time
from typing import Any

from spark_tasks.poster import Poster

EVERY_S = 0.25
TIMEOUT_S = 1.0

FIRST_MOMENTS = 200
NEXT_MOMENT = 1.01
"""After the first moments only each that is a hundredth later: few, and enough for a picture."""


class Moments:
    """Record when each iteration ended, in seconds since the kernel was called."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._kept: list[tuple[int, float]] = []

    def note(self, iteration: int) -> None:
        """Record that this iteration has just ended; work between iterations may record it
        again."""
        now_s = time.monotonic() - self._began_s
        kept = self._kept
        if kept and iteration <= kept[-1][0]:
            return
        if len(kept) < FIRST_MOMENTS or now_s >= kept[-1][1] * NEXT_MOMENT:
            kept.append((iteration, now_s))

    def until(self, iterations: int) -> list[tuple[int, float]]:
        """Return all that were kept, with the end of the last iteration."""
        now_s = time.monotonic() - self._began_s
        kept = [moment for moment in self._kept if moment[0] < iterations]
        return [*kept, (iterations, now_s)] if iterations > 0 else kept


class Reporter(Poster):
    """Posts the newest value four times a second at most, and the last one when the work ends."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token, timeout_s=TIMEOUT_S)
        self._latest: dict[str, Any] | None = None
        self._last: dict[str, Any] | None = None

    def conclude(self, *, iterations: int, utility: float, moments: Moments) -> None:
        """Say what to post when the work is done, after everything that was offered."""
        self._last = {
            "iteration": iterations,
            "utility": utility,
            "best_utility": utility,
            "moments": moments.until(iterations),
        }

    def offer(self, value: dict[str, Any]) -> None:
        """Replace the value that goes out next; costs one assignment."""
        self._latest = value

    def _loop(self) -> None:
        sent: dict[str, Any] | None = None
        while not self._closing.wait(EVERY_S):
            value = self._latest
            if value is None or value is sent:
                continue
            sent = value
            self._post(value)
        if self._last is not None:
            self._post(self._last)
