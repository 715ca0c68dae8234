"""Merge what consumers say of delays: untrusted reports, made one histogram for each class.

A consumer may report of its own class alone, which the broker sees to; there it may say what it
likes. So a report is small, and taken as a whole or not at all; and all of them together count a
bounded number of messages until the next report to the control plane, which would refuse more.
"""

from __future__ import annotations

import logging
from typing import Annotated, Any

import msgspec

from weir.queueing.delay_counts import DelayCounts
from weir.queueing.wait_histogram import HIGHEST, LONGEST_S, LOWEST, Piece

log = logging.getLogger("weir.agent.delays")

MOST_REPORT_BYTES = 32_768
"""A report of two histograms with every bin is shorter."""
MOST_REPORTED = 10**7
"""Messages, and requests, of one report."""
MOST_COUNTED = 10**9
"""Messages and requests of all classes together until they are taken."""

_Bin = Annotated[int, msgspec.Meta(ge=LOWEST, le=HIGHEST)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=MOST_REPORTED)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=MOST_REPORTED)]
_Delay = Annotated[float, msgspec.Meta(ge=0.0)]
_Pauses = Annotated[float, msgspec.Meta(ge=0.0, le=LONGEST_S * MOST_REPORTED)]


class _Histogram(msgspec.Struct, frozen=True):
    bins: list[tuple[_Bin, _Count]] = []
    longest_s: _Delay = 0.0

    def piece(self) -> Piece:
        messages = sum(count for _, count in self.bins)
        longest_s = min(self.longest_s, LONGEST_S)
        return Piece(messages=messages, bins=self.bins, total_s=0.0, longest_s=longest_s)


class _Report(msgspec.Struct, frozen=True):
    """What a client wrote; members that are not known are left out."""

    delivery: _Histogram = _Histogram()
    answer: _Histogram = _Histogram()
    skewed: _Number = 0
    unanswered: _Number = 0
    pauses: _Number = 0
    paused_s: _Pauses = 0.0


class _Counted:
    """What the consumers of one class have reported."""

    __slots__ = ("answer", "delivery", "paused_s", "pauses", "skewed", "unanswered")

    def __init__(self) -> None:
        self.delivery = DelayCounts()
        self.answer = DelayCounts()
        self.skewed = 0
        self.unanswered = 0
        self.pauses = 0
        self.paused_s = 0.0

    def take(self) -> dict[str, Any]:
        """Return it as telemetry has it, without what is nothing."""
        taken: dict[str, Any] = {}
        for kind, counts in (("delivery", self.delivery), ("answer", self.answer)):
            longest_s, bins = counts.longest_s, counts.take()
            if bins:
                taken |= {f"{kind}_delays": bins, f"{kind}_longest_s": longest_s}
        numbers = {
            "skewed": self.skewed,
            "unanswered": self.unanswered,
            "pauses": self.pauses,
            "paused_s": self.paused_s,
        }
        return taken | {name: number for name, number in numbers.items() if number}


class ClassDelays:
    """What consumers have reported since it was last taken, by class."""

    def __init__(self) -> None:
        self._classes: dict[str, _Counted] = {}
        self._messages = 0

    def add(self, name: str, report: bytes) -> None:
        """Count what a consumer of the class reports; nothing of a report that is malformed, or one
        too many."""
        try:
            if len(report) > MOST_REPORT_BYTES:
                raise ValueError("it is too long")
            plain = msgspec.json.decode(report, type=_Report)
        except ValueError as error:
            log.info("a report of delays of class %s was refused: %s", name, error)
            return
        delivery, answer = plain.delivery.piece(), plain.answer.piece()
        messages = delivery.messages + answer.messages + plain.skewed + plain.unanswered
        messages += plain.pauses
        too_many = max(delivery.messages, answer.messages) > MOST_REPORTED
        if too_many or self._messages + messages > MOST_COUNTED:
            log.info("a report of delays of class %s was refused: %d messages", name, messages)
            return
        self._messages += messages
        counted = self._classes.setdefault(name, _Counted())
        counted.delivery.count(delivery)
        counted.answer.count(answer)
        counted.skewed += plain.skewed
        counted.unanswered += plain.unanswered
        counted.pauses += plain.pauses
        counted.paused_s += plain.paused_s

    def take(self) -> dict[str, dict[str, Any]]:
        """Return class -> the members of its telemetry, and begin anew."""
        classes, self._classes, self._messages = self._classes, {}, 0
        return {name: counted.take() for name, counted in classes.items()}
