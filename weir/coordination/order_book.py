"""Keep all actions that one agent takes part in; the agent's runtime talks to it.

A broker takes part in one attempt at a time. A second order (an older action that waits for its
outcome, then the next) stays in the document and begins when the first has ended. Commits are
carried out before anything is prepared. Marks that overtake their order are kept for it.

A kind of action that this agent does not know is refused by name and changes nothing: the agent is
older than the control plane, not broken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from weir.coordination.effects import Effect, Mark, Say, SwapTables
from weir.coordination.participant import (
    BUSY,
    RESEND_S,
    Here,
    Participant,
    ParticipantState,
    Phase,
)
from weir.coordination.parts import is_known
from weir.coordination.termination import Answer, Question, Termination
from weir.coordination.wire import Order, OrderPhase, Report, ReportPhase

_EARLY_MARKS = 64
"""How many marks of unknown actions are kept; older ones are sent again by their origin."""


class OrderBook:
    """Route each input to the participant that it concerns and collect the effects."""

    participant: type[Participant] = Participant
    termination: type[Termination] = Termination

    def __init__(self, states: Iterable[ParticipantState] = (), *, remembers: bool = True) -> None:
        """`states`: what was persisted. Call `on_restart` before anything is forwarded.
        `remembers` False: nothing was, since the state directory is new."""
        self._participants = {state.action: self.participant(state) for state in states}
        self.doubts = self.termination(self._participants, self.participant, remembers=remembers)
        """The termination protocol for attempts without an outcome."""
        self._remembers = remembers
        self._orders: tuple[Order, ...] = ()
        self._early: dict[Mark, None] = {}
        self._again_at = float("inf")
        """When to look again at an order that waits until the agent knows its links."""

    @property
    def orders(self) -> tuple[Order, ...]:
        """Return the orders of the last document."""
        return self._orders

    @property
    def states(self) -> tuple[ParticipantState, ...]:
        """Return the state of every participant, to be persisted."""
        return tuple(p.state for p in self._participants.values())

    @property
    def busy(self) -> frozenset[str]:
        """Brokers that take part in an attempt which has no outcome yet, or one that the control
        plane does not know; links to them stay."""
        return frozenset(
            broker
            for p in self._participants.values()
            if p.state.phase in BUSY or (p.state.phase is Phase.SWITCHED and p.state.by_hand)
            for broker in p.state.peers.values()
        )

    @property
    def next_tick(self) -> float:
        """Return the time at which `tick` has something to do; infinity for never."""
        ticks = (p.next_tick for p in self._participants.values())
        return min((self._again_at, self.doubts.next_tick, *ticks))

    def on_restart(self, here: Here) -> list[Effect]:
        """Restore pauses, links and votes from the persisted states."""
        return [e for p in self._participants.values() for e in p.on_restart(here)]

    def on_orders(self, orders: Iterable[Order], here: Here) -> list[Effect]:
        """The orders of a document that this process fetched after every one it gave before.

        Documents must not go back in time, since an order that is missing is over. So: one
        request for a document under way, late answers to earlier ones forgotten, and never a
        document from the disk (its gates and classes hold, its orders do not).
        """
        self._orders = tuple(orders)
        present = {order.action for order in self._orders}
        effects: list[Effect] = []
        for action, participant in [*self._participants.items()]:
            if action not in present and self.doubts.may_forget(participant):
                effects += self._end(participant, here)
        for order in self._orders:
            if order.phase is not OrderPhase.PREPARE:
                done = self._hear(order, here)
                effects += done
                here = _after(done, here)
        effects += self._doubt_votes(here)
        return [*effects, *self._start(here)]

    def _doubt_votes(self, here: Here) -> list[Effect]:
        """An agent without a memory may have voted in the attempts that its first document names;
        those of later documents began after its memory was lost."""
        effects: list[Effect] = []
        first, self._remembers = not self._remembers, True
        for order in self._orders if first else ():
            participant = self._participants.get(order.action)
            known = participant is not None and participant.state.phase is not Phase.PREPARING
            same = participant is not None and participant.state.attempt == order.attempt
            if order.phase is not OrderPhase.PREPARE or (known and same):
                continue
            if is_known(order.kind, order.role, order.peers):
                begun = self.participant.begin_forgotten(order, here)
                self._participants[order.action] = begun[0]
                effects += begun[1]
        return effects

    def on_unchanged(self, here: Here) -> list[Effect]:
        """The control plane answered that the document is the one that it gave before."""
        present = {order.action for order in self._orders}
        return [
            e
            for action, p in [*self._participants.items()]
            if action not in present and p.state.unheard and self.doubts.may_forget(p)
            for e in self._end(p, here)
        ]

    def _end(self, participant: Participant, here: Here) -> list[Effect]:
        effects = participant.on_absent(here)
        self.doubts.forget(participant)
        del self._participants[participant.state.action]
        return effects

    def on_mark(self, mark: Mark, here: Here) -> list[Effect]:
        """Pass a mark to its participant. Keep it where its order has not come yet: the newest
        `_EARLY_MARKS` marks are kept."""
        participant = self._participants.get(mark.action)
        if participant is not None:
            return participant.on_mark(mark, here)
        self._early.pop(mark, None)
        self._early[mark] = None
        while len(self._early) > _EARLY_MARKS:
            del self._early[next(iter(self._early))]
        return []

    def on_drained(self, action: str, attempt: int, here: Here) -> list[Effect]:
        """Tell the participant that its link is drained; ignore an unknown action."""
        participant = self._participants.get(action)
        return participant.on_drained(attempt, here) if participant else []

    def on_link_ready(self, broker: str, here: Here) -> list[Effect]:
        """Tell every participant with this peer that the link to it is ready."""
        return [
            e
            for p in self._participants.values()
            if broker in p.state.peers.values()
            for e in p.on_link_ready(broker, here)
        ]

    def on_link_failed(self, broker: str, why: str, here: Here) -> list[Effect]:
        """Tell every participant with this peer why the link to it failed, then begin waiting
        orders."""
        return [
            e
            for p in self._participants.values()
            if broker in p.state.peers.values()
            for e in p.on_link_failed(broker, why, here)
        ] + self._start(here)

    def on_carried(self, action: str, attempt: int, to: str, why: str, here: Here) -> list[Effect]:
        """Tell the participant that the messages for the brokers that are gone now wait for `to` as
        well, or in `why` that they never will; then begin waiting orders."""
        participant = self._participants.get(action)
        if participant is None:
            return []
        return participant.on_carried(attempt, to, why, here) + self._start(here)

    def tick(self, here: Here) -> list[Effect]:
        """Advance all timers, and begin orders that waited until the agent knew its links."""
        effects = [e for p in self._participants.values() for e in p.tick(here)]
        effects += self.doubts.tick(here)
        return effects + self._start(here) if self._again_at <= here.now else effects

    def on_question(self, question: Question, here: Here) -> tuple[list[Effect], Answer]:
        """Answer another broker's question about an attempt without an outcome."""
        return self.doubts.on_question(question, here)

    def on_answer(self, answer: Answer, here: Here) -> list[Effect]:
        """Apply another broker's answer about an attempt without an outcome."""
        return self.doubts.on_answer(answer, here)

    def _start(self, here: Here) -> list[Effect]:
        """Begin the orders that wait in the document, unless this broker takes part in an attempt
        already."""
        effects: list[Effect] = []
        self._again_at = float("inf")
        if not here.known:
            if any(order.phase is OrderPhase.PREPARE for order in self._orders):
                self._again_at = here.now + RESEND_S
            return effects
        for order in self._orders:
            busy = {a for a, p in self._participants.items() if p.state.phase in BUSY}
            if order.phase is OrderPhase.PREPARE and not busy - {order.action}:
                effects += self._hear(order, here)
        return effects

    def _hear(self, order: Order, here: Here) -> list[Effect]:
        if not is_known(order.kind, order.role, order.peers):
            return [Say(_not_known(order))]
        participant = self._participants.get(order.action)
        if participant is not None:
            return participant.on_order(order, here)
        participant, effects = self.participant.begin(order, here)
        self._participants[order.action] = participant
        for mark in [m for m in self._early if m.action == order.action]:
            del self._early[mark]
            effects += participant.on_mark(mark, here)
        return effects


def _not_known(order: Order) -> Report:
    """Report that this agent cannot carry out the order and has begun nothing."""
    return Report(
        action=order.action,
        attempt=order.attempt,
        phase=ReportPhase.RELEASED if order.phase is OrderPhase.ABORT else ReportPhase.REFUSED,
        detail=f"this agent does not know the action {order.kind!r} with a role {order.role!r}; "
        "update the agent",
    )


def _after(effects: list[Effect], here: Here) -> Here:
    for effect in effects:
        if isinstance(effect, SwapTables):
            here = replace(here, tables=effect.tables)
    return here
