"""A participant's part in removing a broker that is gone: carry over what waits for it.

The participant's own broker still holds every message that the gone one had not settled. While
everybody who takes part is paused, they are copied to the outboxes for the new neighbours, which
nobody reads before the commit: they stand in front of everything that follows it. An abort drops
the copies with the new links, the commit drops the originals.
"""

from __future__ import annotations

from collections.abc import Set

from weir.coordination.effects import CarryOver, Effect, LiftBound
from weir.coordination.participant_state import Here, ParticipantState
from weir.coordination.parts import Part


class Carrying:
    """Track what one attempt has copied so far. Without a broker that is gone nothing is copied."""

    def __init__(self, state: ParticipantState, part: Part) -> None:
        self._state = state
        self._gone = frozenset(state.peers[role] for role in part.gone)
        self._new = frozenset(state.peers[role] for role in part.new)
        self._asked: frozenset[str] = frozenset()
        self._done: frozenset[str] = frozenset()

    def prepared(self, here: Here) -> list[Effect]:
        """Before the pause: a full outbox must not keep what is on its way to it from draining."""
        return [LiftBound(broker) for broker in sorted(self._gone & here.tables.links)]

    def ready(self, drained: bool, links: Set[str], here: Here) -> list[Effect]:
        """Whatever can be copied now: the outbox is whole, and the new one is there."""
        wanted = (self._new & links) - self._asked if drained and self._gone else frozenset()
        self._asked |= wanted
        return [
            CarryOver(self._state.action, self._state.attempt, gone, to)
            for gone in sorted(self._gone & here.tables.links)
            for to in sorted(wanted)
        ]

    def carried(self, to: str) -> None:
        """Note that every message for the brokers that are gone waits for `to` as well."""
        self._done |= {to}

    @property
    def complete(self) -> bool:
        """Return whether nothing is left to copy."""
        return not self._gone or self._done >= self._new

    def objection(self, here: Here) -> str:
        """Why nobody may be removed: who is said to be gone answers. Empty when nobody does."""
        back = sorted(self._gone & here.tables.links & here.answering)
        return f"the broker of {back[0]} answers here, so it is not gone" if back else ""
