"""Count messages by how long they waited, to be taken piece by piece and merged elsewhere.

Bins are those of `weir.queueing.wait_histogram`; what did not wait at all is in the lowest. Pure
Python, because agents have no numpy.
"""

from __future__ import annotations

from weir.queueing.wait_histogram import HIGHEST, LOWEST, Piece


class DelayCounts:
    """How long messages waited since that was last taken. Not thread-safe."""

    __slots__ = ("_bins", "_messages", "longest_s")

    def __init__(self) -> None:
        self._bins: dict[int, int] = {}
        """Of those that waited."""
        self._messages = 0
        self.longest_s = 0.0

    def count(self, piece: Piece) -> None:
        """Count messages that leave together."""
        self._messages += piece.messages
        if piece.longest_s > self.longest_s:
            self.longest_s = piece.longest_s
        bins = self._bins
        for bin_, messages in piece.bins:
            bins[bin_] = bins.get(bin_, 0) + messages

    def add(self, other: DelayCounts) -> None:
        """Count what another has counted, which is empty then."""
        longest_s, bins = other.longest_s, other.take()
        self.longest_s = max(self.longest_s, longest_s)
        for bin_, messages in bins:
            self._messages += messages
            self._bins[bin_] = self._bins.get(bin_, 0) + messages

    def take(self) -> list[tuple[int, int]]:
        """Return bin and number of the messages, ascending, and begin anew."""
        bins: dict[int, int] = {}
        if idle := self._messages - sum(self._bins.values()):
            bins[LOWEST] = idle
        for bin_, messages in self._bins.items():
            within = min(max(bin_, LOWEST), HIGHEST)
            bins[within] = bins.get(within, 0) + messages
        self._bins, self._messages, self.longest_s = {}, 0, 0.0
        return sorted(bins.items())
