"""Set what gates let in beside what the broker counted by itself, over the same time."""

from __future__ import annotations

import math
from collections import deque

KEPT = 16
"""Readings and reports that are kept to be compared."""


class Entries:
    """What entered at all gates between two reports, and what came to the broker around it.

    The broker is read at other moments than the gates. But what its gates let in between two
    reports has come to it between a reading before the first report and one after the second.
    """

    def __init__(self) -> None:
        self._life = ""
        self._readings: deque[tuple[float, int]] = deque(maxlen=KEPT)
        self._reports: deque[tuple[float, int]] = deque(maxlen=KEPT)
        self._entered = 0
        self._compared_s = -math.inf
        self._latest: tuple[float, float, int, int] | None = None
        """When the interval that was compared last began and ended, what entered in it, and the
        most that may have."""

    def report(self, now: float, entered: int, *, read_at: float, total: int, life: str) -> None:
        """Take the messages that `entered` since the last report, and the broker's `total`, which
        the process `life` counts and which was read at `read_at`, by the clock of `now`."""
        if life != self._life:
            self._life = life
            self._readings.clear()
            self._reports.clear()
            self._compared_s, self._latest = -math.inf, None
        self._entered += entered
        self._reports.append((now, self._entered))
        # A product that counts nothing has a total of 0.
        if total and (not self._readings or read_at > self._readings[-1][0]):
            self._readings.append((read_at, total))

    def compared(self) -> dict[str, float]:
        """Return what entered in the latest interval that can be compared and the most that may
        have, both in messages a second, and how many seconds ago the interval began; nothing
        where there is none. Intervals follow each other, so that nothing that enters is left out.
        """
        self._compare()
        if self._latest is None:
            return {}
        began, ended, entered, most = self._latest
        return {
            "entered_per_s": entered / (ended - began),
            "entered_most_per_s": most / (ended - began),
            "entered_ago_s": self._reports[-1][0] - began,
        }

    def _compare(self) -> None:
        """Compare what entered since the last interval, as far as the readings reach."""
        if not self._readings:
            return
        read_at, total = self._readings[-1]
        until = [report for report in self._reports if report[0] <= read_at]
        for began, entered in until[:-1]:
            before = [came for at, came in self._readings if at <= began]
            ended, entered_then = until[-1]
            if before and self._compared_s <= began < ended:
                self._latest = (began, ended, entered_then - entered, max(0, total - before[-1]))
                self._compared_s = ended
                return
