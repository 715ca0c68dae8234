"""What was accepted and did not get further: counted by flow and reason, the last of each named."""

from __future__ import annotations

from collections.abc import Mapping

NOT_CONNECTED = "broker_away"
"""Our broker was not there when a best-effort message was to be written."""
TOO_LARGE = "too_large"
"""With what Weir adds it exceeds what the broker takes."""
INGRESS_FULL = "ingress_full"
"""Too many waited before the gate."""
LINK_FULL = "link_full"
"""Too many waited at the end of a link."""
LINK_AWAY = "link_away"
"""The neighbour's agent was not connected to our broker when a message for it was written."""
NOT_READ = "not_read"
"""It waited in this agent for a source that is none any more."""
UNREADABLE = "unreadable"
"""It stands in an outbox, and Weir did not write it."""


class Losses:
    """Counts only rise. `said`: sentences for people, one for each flow and reason."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, int]] = {}
        self._said: dict[tuple[str, str], str] = {}

    def add(self, flow: str, reason: str, count: int = 1, said: str = "") -> None:
        """`flow` empty: nobody knows of which it was."""
        counts = self._counts.setdefault(flow, {})
        counts[reason] = counts.get(reason, 0) + count
        if said:
            self._said[flow, reason] = said

    @property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Flow -> reason -> messages."""
        return {flow: dict(counts) for flow, counts in self._counts.items()}

    @property
    def said(self) -> tuple[str, ...]:
        """The last word about each."""
        return tuple(self._said.values())
