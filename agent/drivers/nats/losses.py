"""Count messages that were accepted and did not get further, by flow and reason, with a sentence
for each."""

from __future__ import annotations

from collections.abc import Mapping

NOT_CONNECTED = "broker_away"
"""Our broker was not connected when a best-effort message was to be written."""
TOO_LARGE = "too_large"
"""The message, with Weir's headers, exceeds what the broker takes."""
INGRESS_FULL = "ingress_full"
"""Too many messages waited before the gate."""
LINK_FULL = "link_full"
"""Too many messages waited at the end of a link."""
LINK_AWAY = "link_away"
"""The neighbour's agent was not connected to our broker when a message for it was written."""
NOT_READ = "not_read"
"""The message waited in this agent for a source that is no longer read."""
UNREADABLE = "unreadable"
"""The message is in an outbox, but Weir did not write it."""


class Losses:
    """Count losses; counts only rise, and `sentences` has one for each flow and reason."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, int]] = {}
        self._sentences: dict[tuple[str, str], str] = {}

    def add(self, flow: str, reason: str, count: int = 1, sentence: str = "") -> None:
        """Count a loss; an empty `flow` means that it is unknown."""
        counts = self._counts.setdefault(flow, {})
        counts[reason] = counts.get(reason, 0) + count
        if sentence:
            self._sentences[flow, reason] = sentence

    @property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Return the lost messages: flow -> reason -> count."""
        return {flow: dict(counts) for flow, counts in self._counts.items()}

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the last sentence about each loss."""
        return tuple(self._sentences.values())
