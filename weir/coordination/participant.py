"""An agent's part in ONE action that changes the tree.

    (nothing) --PREPARE--> preparing --drained, marks, links--> ready --COMMIT--> switched
                  |            |                                  |
                  '--refused <-'-------------- ABORT -------------'--> released

An agent whose memory is new may have voted already in an attempt that it finds being prepared. It
is `forgotten` there: it refuses, and stays paused until COMMIT or ABORT, as if it were `ready`.

Every input may come twice, late, out of order or not at all; every attempt has a number, and
inputs of another attempt change nothing. `tick` repeats what may have been lost. A `ready` vote is
persisted before it is said and holds until the outcome is heard, however long that takes.

Losing the order without having heard the outcome means ABORT: a commit stays in the document
until every participant has reported `switched`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from weir.coordination.effects import (
    CarryOver,
    DropLink,
    Effect,
    EnsureLink,
    Forget,
    HoldLink,
    LiftBound,
    Mark,
    PauseIntake,
    Persist,
    ResumeIntake,
    Say,
    SendMark,
    SwapTables,
)
from weir.coordination.participant_state import (
    BUSY,
    SAYS,
    Here,
    ParticipantState,
    Phase,
    after_switch,
    report_of,
    state_of,
)
from weir.coordination.parts import Part, part_of, refusal, whole_links
from weir.coordination.tables import own_side_interest, tables_after
from weir.coordination.wire import Order, OrderPhase

__all__ = [
    "BUSY",
    "RESEND_S",
    "Here",
    "Participant",
    "ParticipantState",
    "Phase",
]

RESEND_S = 0.25
"""First wait before marks and reports are repeated; it doubles up to RESEND_MAX_S."""
RESEND_MAX_S = 4.0


class Participant:
    """Run the state machine of one participant; every method returns effects, to be carried out in
    order."""

    def __init__(self, state: ParticipantState) -> None:
        self.state = state
        self.part: Part = part_of(state.kind, state.role, state.peers)
        self._drained = False
        self._links_ready: set[str] = set()
        self._carrying = Carrying(state, self.part)
        self._marks: dict[int, set[str]] = {}
        self._resend_at, self._resend_s = float("inf"), RESEND_S

    # --- the control plane

    @classmethod
    def begin(cls, order: Order, here: Here) -> tuple[Participant, list[Effect]]:
        """Create a participant from the first order about an action."""
        participant = cls(replace(state_of(order, Phase.RELEASED), attempt=0))
        return participant, participant.on_order(order, here)

    @classmethod
    def begin_forgotten(cls, order: Order, here: Here) -> tuple[Participant, list[Effect]]:
        """A participant of an attempt in which this broker may have voted before its memory was
        lost. Its marks may be on their way, so nothing may follow them before the outcome."""
        participant = cls(state_of(order, Phase.FORGOTTEN))
        participant.state = replace(
            participant.state,
            paused_at=here.now if participant.part.pauses else None,
            detail="lost its state directory, so it cannot say whether it has voted",
        )
        effects = [Persist(participant.state), *participant._pause(frozenset())]
        return participant, [*effects, *participant._said(here)]

    def on_order(self, order: Order, here: Here) -> list[Effect]:
        """Follow the document's order for this action; a repeated order changes nothing."""
        state = self.state
        if order.attempt < state.attempt:
            return []
        same = order.attempt == state.attempt
        self.state = state = replace(state, unheard=False) if same and state.unheard else state
        if state.phase is Phase.SWITCHED:
            self.state, effects = after_switch(state, order)
            return [] if effects is None else [*effects, *self._said(here)]
        match order.phase:
            case OrderPhase.PREPARE:
                return [] if same else self._prepare(order, here)
            case OrderPhase.COMMIT:
                if same and state.by_hand and state.phase is Phase.RELEASED:
                    # A person has released this attempt: it may not be switched any more, since
                    # messages have moved by the old tables. The control plane has to find a way.
                    return self._said(here)
                return self._switch(order, here)
            case OrderPhase.ABORT:
                return [] if same and state.phase is Phase.RELEASED else self._release(order, here)

    def on_absent(self, here: Here) -> list[Effect]:
        """End the action: the document has no order for it any more."""
        effects: list[Effect] = []
        if self.state.phase in BUSY:
            effects = self._released(here)
        return [*effects, Forget(self.state.action)]

    def refuse(self, why: str, here: Here) -> list[Effect]:
        """Take no part in the running attempt, which has no vote of this broker yet."""
        return self._refuse(why, here) if self.state.phase is Phase.PREPARING else []

    def refuse_unheard(self, attempt: int, why: str, here: Here) -> list[Effect]:
        """Never take part in an attempt that a peer has heard of and this broker has not."""
        busy = self.state.phase in BUSY
        self.state = replace(
            self.state,
            attempt=attempt,
            phase=Phase.REFUSED,
            detail=why,
            interest=(),
            pause_s=self._paused_for(here),
            unheard=True,
        )
        undo = [*self._drop_new(here), *self._resume()] if busy else []
        return [Persist(self.state), *undo, *self._said(here)]

    def on_restart(self, here: Here) -> list[Effect]:
        """Resume from the persisted state. Call it once, before anything is forwarded."""
        state = self.state
        effects: list[Effect] = []
        match state.phase:
            case Phase.PREPARING:
                effects += self._carrying.prepared(here)
                effects += self._pause(self._brokers(self.part.inside))
                effects += self._ensure_links()
            case Phase.READY:
                # The marks of the others were seen: behind them are messages of the new order.
                effects += self._pause(frozenset())
                effects += self._ensure_links()
            case Phase.FORGOTTEN:
                effects += self._pause(frozenset())
            case Phase.SWITCHED:
                effects += self._drop(self._leaving(), here)
            case Phase.REFUSED | Phase.RELEASED:
                effects += self._drop_new(here)
        self._resend_at, self._resend_s = here.now, RESEND_S
        return [*effects, *self.tick(here)]

    # --- the data plane

    def on_drained(self, attempt: int, here: Here) -> list[Effect]:
        """Note that everything read before the pause has been published and settled."""
        preparing = attempt == self.state.attempt and self.state.phase is Phase.PREPARING
        if not preparing or self._drained:
            return []
        self._drained = True
        self._resend_at, self._resend_s = here.now + RESEND_S, RESEND_S
        return [*self._own_marks(), *self._carry(here), *self._vote(here)]

    def on_mark(self, mark: Mark, here: Here) -> list[Effect]:
        """Note a mark: everything before it on its link has been published and settled."""
        state = self.state
        if mark.action != state.action or mark.attempt < state.attempt:
            return []
        self._marks.setdefault(mark.attempt, set()).add(mark.origin)
        if mark.attempt != state.attempt or state.phase is not Phase.PREPARING:
            return []
        return [*self._relay(mark.origin), *self._hold(), *self._vote(here)]

    def on_link_ready(self, broker: str, here: Here) -> list[Effect]:
        """Note that both directions of a new link can be used."""
        if self.state.phase is not Phase.PREPARING:
            return []
        self._links_ready.add(broker)
        return [*self._carry(here), *self._vote(here)]

    def on_carried(self, attempt: int, to: str, why: str, here: Here) -> list[Effect]:
        """Note that the messages for the brokers that are gone now wait for `to` as well; `why`
        says why they never will, and refuses the action."""
        if attempt != self.state.attempt or self.state.phase is not Phase.PREPARING:
            return []
        self._carrying.carried(to)
        return self._refuse(why, here) if why else self._vote(here)

    def on_link_failed(self, broker: str, why: str, here: Here) -> list[Effect]:
        """Refuse the action, unless the new link that failed was ready already."""
        if self.state.phase is not Phase.PREPARING or broker in self._links_ready:
            return []
        return self._refuse(f"cannot reach {broker}: {why}", here)

    def tick(self, here: Here) -> list[Effect]:
        """Repeat effects that may have been lost. Call it at `next_tick`, or more often."""
        if here.now < self._resend_at:
            return []
        self._resend_at = here.now + self._resend_s
        self._resend_s = min(2 * self._resend_s, RESEND_MAX_S)
        effects: list[Effect] = []
        if self.state.phase is Phase.READY or (
            self.state.phase is Phase.PREPARING and self._drained
        ):
            effects += self._own_marks()
            for origin in sorted(self._seen()):
                effects += self._relay(origin)
        if self.state.phase in SAYS:
            effects.append(Say(report_of(self.state)))
        # A neighbour outside the action may have said by now what it wants.
        return [*effects, *self._vote(here)]

    @property
    def next_tick(self) -> float:
        """Return the time at which `tick` has something to do."""
        return self._resend_at

    # --- steps

    def _prepare(self, order: Order, here: Here) -> list[Effect]:
        effects: list[Effect] = []
        if self.state.phase in BUSY:
            # The attempt before was aborted while this agent did not listen.
            effects += self._released(here)
        self._marks = {a: seen for a, seen in self._marks.items() if a >= order.attempt}
        self._drained, self._links_ready = False, set()
        self._resend_at, self._resend_s = here.now + RESEND_S, RESEND_S
        paused_at = here.now if self.part.pauses else None
        self.state = replace(state_of(order, Phase.PREPARING), paused_at=paused_at)
        self._carrying = Carrying(self.state, self.part)
        why = refusal(order.kind, order.role, order.peers, here.tables)
        why = why or self._carrying.objection(here)
        if why:
            return [*effects, *self._refuse(why, here)]
        effects.append(Persist(self.state))
        effects += self._carrying.prepared(here)
        effects += self._pause(self._brokers(self.part.inside))
        effects += self._ensure_links()
        for origin in sorted(self._seen()):
            effects += self._relay(origin)
        if not self.part.pauses:
            self._drained = True
        return [*effects, *self._hold(), *self._vote(here)]

    def _vote(self, here: Here) -> list[Effect]:
        if self.state.phase is not Phase.PREPARING or not self._prepared():
            return []
        why = self._carrying.objection(here)
        if why:
            return self._refuse(why, here)
        if here.tables.unheard - self._brokers(self.state.peers):
            return []  # the vote would say that nobody there wants anything
        interest = own_side_interest(here.local, here.tables, self._brokers(self.state.peers))
        self.state = replace(self.state, phase=Phase.READY, interest=tuple(sorted(interest)))
        return [Persist(self.state), Say(report_of(self.state))]

    def _prepared(self) -> bool:
        return (
            self._drained
            and self._links_ready >= self._brokers(self.part.new)
            and self._seen() >= self._brokers(self.part.marks_of)
            and self._carrying.complete
        )

    def _refuse(self, why: str, here: Here) -> list[Effect]:
        self.state = replace(
            self.state, phase=Phase.REFUSED, detail=why, pause_s=self._paused_for(here)
        )
        return [
            Persist(self.state),
            *self._drop_new(here),
            *self._resume(),
            *self._said(here),
        ]

    def _switch(self, order: Order, here: Here) -> list[Effect]:
        tables = tables_after(order, here.tables)
        self.state = replace(
            self.state,
            attempt=order.attempt,
            kind=order.kind,
            role=order.role,
            peers=dict(order.peers),
            phase=Phase.SWITCHED,
            pause_s=self._paused_for(here),
            interests=dict(order.interests),
            by_hand=self.state.by_hand if order.attempt == self.state.attempt else "",
        )
        return [
            Persist(self.state, tables),
            SwapTables(tables),
            *(DropLink(b) for b in self._leaving() if b not in tables.links),
            *self._resume(),
            *self._said(here),
        ]

    def _release(self, order: Order, here: Here) -> list[Effect]:
        same = order.attempt == self.state.attempt or self.state.phase in BUSY
        paused_for = self._paused_for(here) if same else None
        effects: list[Effect] = []
        if self.state.phase in BUSY:
            effects = self._released(here)
        self.state = replace(
            self.state,
            attempt=order.attempt,
            peers=dict(order.peers),
            phase=Phase.RELEASED,
            pause_s=paused_for,
        )
        # The outcome is known: who forgets it over a crash is paused until it is said again.
        return [*effects, *self._said(here), Persist(self.state)]

    def _released(self, here: Here) -> list[Effect]:
        """Undo the attempt as if it had never begun."""
        self.state = replace(
            self.state, phase=Phase.RELEASED, pause_s=self._paused_for(here), interest=()
        )
        return [*self._drop_new(here), *self._resume()]

    def _said(self, here: Here) -> list[Effect]:
        self._resend_at, self._resend_s = here.now + RESEND_S, RESEND_S
        return [Say(report_of(self.state))]

    # --- parts of steps

    def _brokers(self, roles: tuple[str, ...] | Mapping[str, str]) -> frozenset[str]:
        return frozenset(self.state.peers[role] for role in roles)

    def _pause(self, keep: frozenset[str]) -> list[Effect]:
        if not self.part.pauses:
            return []
        return [PauseIntake(self.state.action, self.state.attempt, keep)]

    def _resume(self) -> list[Effect]:
        return [ResumeIntake()] if self.part.pauses else []

    def _ensure_links(self) -> list[Effect]:
        return [
            EnsureLink(broker, self.state.addresses.get(broker, ""))
            for broker in sorted(self._brokers(self.part.new))
        ]

    def _drop_new(self, here: Here) -> list[Effect]:
        return self._drop(self._brokers(self.part.new), here)

    def _drop(self, brokers: Iterable[str], here: Here) -> list[Effect]:
        """Drop those that are no neighbours. Tables that are not complete do not say who is one,
        and dropping takes an outbox with all that waits in it: the agent looks once they are."""
        if not here.tables.complete:
            return []
        return [DropLink(broker) for broker in sorted(brokers) if broker not in here.tables.links]

    def _leaving(self) -> list[str]:
        """Neighbours in the action before the commit; those that stay are in the new tables."""
        return sorted(self._brokers(self.part.inside) | self._brokers(self.part.gone))

    def _seen(self) -> frozenset[str]:
        if self.state.phase is Phase.READY:
            # What the vote was given on, also when a restart forgot the marks themselves.
            return self._brokers(self.part.marks_of)
        return frozenset(self._marks.get(self.state.attempt, ()))

    def _own_marks(self) -> list[Effect]:
        mark = Mark(self.state.action, self.state.attempt, self.state.peers[self.state.role])
        return [SendMark(to, mark) for to in sorted(self._brokers(self.part.inside))]

    def _relay(self, origin: str) -> list[Effect]:
        mark = Mark(self.state.action, self.state.attempt, origin)
        return [
            SendMark(self.state.peers[to], mark)
            for role, to in self.part.relays.items()
            if self.state.peers[role] == origin
        ]

    def _carry(self, here: Here) -> list[Effect]:
        return self._carrying.ready(self._drained, self._links_ready, here)

    def _hold(self) -> list[Effect]:
        return [HoldLink(b) for b in whole_links(self.part, self.state.peers, self._seen())]

    def _paused_for(self, here: Here) -> float | None:
        paused_at = self.state.paused_at
        if paused_at is None or self.state.phase not in BUSY:
            return self.state.pause_s
        return max(0.0, here.now - paused_at)


class Carrying:
    """Track what one attempt to remove a broker that is gone has copied so far.

    The participant's own broker still holds every message that the gone one had not settled. While
    everybody who takes part is paused, they are copied to the outboxes for the new neighbours,
    which nobody reads before the commit: they stand in front of everything that follows it. An
    abort drops the copies with the new links, the commit drops the originals. Without a broker that
    is gone nothing is copied.
    """

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
