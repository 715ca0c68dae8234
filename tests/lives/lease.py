"""Who may act in a broker's name: numbered sessions and leases.

Every session of a broker gets the next *incarnation*; whatever comes from an older one is refused,
so that an agent that was taken for dead cannot undo what its successor did. A *lease* says that the
agent was heard of recently. It governs new actions only: an agent whose lease has lapsed goes on
forwarding, gating and keeping its votes. Times are seconds of the control plane's clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent.client import Superseded


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The newest session of one broker, and until when it counts as heard of."""

    incarnation: int = 0
    """Of the newest session; 0 before the first."""
    until: float | None = None

    def opened(self, now: float, lease_s: float) -> Lease:
        """After a new session was granted."""
        return Lease(incarnation=self.incarnation + 1, until=now + lease_s)

    def renewed(self, incarnation: int, now: float, lease_s: float) -> Lease:
        """After the session was heard of. Raises Superseded when it is not the newest."""
        self.check(incarnation)
        until = now + lease_s
        return replace(self, until=until if self.until is None else max(self.until, until))

    def check(self, incarnation: int) -> None:
        """Raises Superseded unless this is the newest session."""
        if incarnation != self.incarnation:
            raise Superseded(
                f"session {incarnation} has been replaced by session {self.incarnation}"
                if incarnation < self.incarnation
                else f"session {incarnation} was never opened"
            )

    def live(self, now: float) -> bool:
        """Whether the agent was heard of within its lease."""
        return self.until is not None and now < self.until
