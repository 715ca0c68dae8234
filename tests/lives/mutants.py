"""Broken variants of production code and of what it stands on; the audit must catch each.

One mistake that a model of the agents could make is none here: marks that are sent before
everything is drained stay behind it all the same, since a driver appends in the order of calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agent.admission import AdmissionBook, Place
from agent.drivers.base import Batch, Message
from agent.pump import Pump
from agent.router import Router
from agent.shift import Shifts
from agent.store import Store, StoreError
from tests.lives.broker import MAX_PAYLOAD, ModelBroker, Record, Stream
from tests.lives.control import Control, Setting
from tests.lives.driver import ModelDriver
from tests.lives.world import World
from weir.coordination import effects as ask
from weir.coordination import removal
from weir.coordination.coordinator import Coordinator
from weir.coordination.decisions import BuryAction, CommitAction, Decision
from weir.coordination.effects import Effect, Mark
from weir.coordination.order_book import OrderBook
from weir.coordination.participant import Carrying, Here, Participant, Phase
from weir.coordination.participant_state import ParticipantState
from weir.coordination.tables import Tables
from weir.coordination.termination import Answer, Question, Stance, Termination
from weir.coordination.views import ActionView, ExecutionView
from weir.coordination.wire import Document, Order, OrderPhase, Report, ReportPhase


class Mutant(World):
    """A life with one part that is broken."""

    caught_by: int
    """A seed at which the audit sees it. One that does not see it any more (the code draws other
    random numbers since) is replaced by what `python -m tests.lives --mutants` names."""


def _mutant(
    caught_by: int,
    *,
    participant: type[Participant] | None = None,
    termination: type[Termination] | None = None,
    coordinator: type[Coordinator] | None = None,
    patches: dict[str, object] | None = None,
    **world: object,
) -> type[Mutant]:
    """A world with one part exchanged, which the seed `caught_by` shows to be broken; `world`
    overrides what such a world is like."""
    patches = dict(patches or {})
    parts = {"participant": participant, "termination": termination}
    if chosen := {name: part for name, part in parts.items() if part is not None}:
        patches["agent.shift.OrderBook"] = type("MutantBook", (OrderBook,), chosen)
    if coordinator is not None:
        world["control_class"] = type(
            "MutantControl", (Control,), {"coordinator_class": coordinator}
        )
    return type("MutantWorld", (Mutant,), {"patches": patches, "caught_by": caught_by, **world})


class _VotesWithoutMarks(Participant):
    """Ready as soon as its own intake is drained."""

    def _prepared(self) -> bool:
        return self._drained and self._links_ready >= self._brokers(self.part.new)


class _VotesAfterOneMark(Participant):
    """The mark of the neighbour is taken for the marks of both others."""

    def _prepared(self) -> bool:
        marks = self._seen() & self._brokers(self.part.marks_of)
        return (
            self._drained
            and self._links_ready >= self._brokers(self.part.new)
            and (bool(marks) or not self.part.marks_of)
        )


class _DoesNotRelay(Participant):
    """j keeps the marks of i and k to itself."""

    def _relay(self, origin: str) -> list[Effect]:
        return []


class _ReadsOnAfterTheMarks(Participant):
    """Messages of the new order are forwarded by the old tables."""

    def _hold(self) -> list[Effect]:
        return []


class _ResumesBeforeSwap(Shifts):
    """Forwards by the old tables for a moment between hearing the commit and swapping."""

    async def _do(self, effect: Effect) -> None:
        if isinstance(effect, ask.SwapTables):
            self.tasks.start(self._swap(effect), "a swap that comes late")
        else:
            await super()._do(effect)

    async def _swap(self, effect: ask.SwapTables) -> None:
        await asyncio.sleep(0.1)
        await super()._do(effect)


class _ResumesAfterVote(Participant):
    """Does not wait for the outcome."""

    def _vote(self, here: Here) -> list[Effect]:
        effects = super()._vote(here)
        return [*effects, ask.ResumeIntake()] if effects else []


class _MixesAttempts(Participant):
    """A mark of any attempt counts."""

    def on_mark(self, mark: Mark, here: Here) -> list[Effect]:
        return super().on_mark(replace(mark, attempt=self.state.attempt), here)


class _ForgetsItsVote(Participant):
    """A restart begins as if nothing had been promised."""

    def on_restart(self, here: Here) -> list[Effect]:
        if self.state.phase is not Phase.READY:
            return super().on_restart(here)
        self.state = replace(self.state, phase=Phase.RELEASED)
        return [ask.Persist(self.state)]


class _ForgetsItsPause(Participant):
    """A restart while preparing forwards on, though marks may have been sent."""

    def on_restart(self, here: Here) -> list[Effect]:
        effects = super().on_restart(here)
        if self.state.phase is not Phase.PREPARING:
            return effects
        self._drained = True
        return [e for e in effects if not isinstance(e, ask.PauseIntake)]


class _GivesUpWaiting(Participant):
    """After a while without an outcome a ready participant goes back by itself."""

    def tick(self, here: Here) -> list[Effect]:
        if (
            self.state.phase is Phase.READY
            and self.state.paused_at is not None
            and here.now > self.state.paused_at + 2.0
        ):
            return self._released(here)
        return super().tick(here)


class _DropsTheLinkEarly(Participant):
    """i removes its outbox for j when it has voted: j may not have read it all."""

    def _vote(self, here: Here) -> list[Effect]:
        effects = super()._vote(here)
        if effects and self.state.kind == "shift_link" and self.state.role == "i":
            j = self.state.peers["j"]
            return [*effects, ask.DropLink(j), ask.EnsureLink(j, "")]
        return effects


class _ForgetsWhatIsBehind(Participant):
    """i takes k's own interest for all that is behind k."""

    def _switch(self, order: Order, here: Here) -> list[Effect]:
        if order.kind == "shift_link" and order.role == "i":
            order = replace(order, interests={**order.interests, "j": ()})
        return super()._switch(order, here)


def _takes_old_interest(tables: Tables, neighbour: str, epoch: str, flows: Any) -> Tables:
    """Interest of any epoch counts."""
    if neighbour not in tables.links:
        return tables
    return tables.with_link(neighbour, flows, tables.epoch(neighbour))


class _PersistsTooLate(Store):
    """What is to be on the disk gets there a while after it was promised to others."""

    async def persist(self, state: ParticipantState, tables: Tables | None = None) -> None:
        self._begin(self._later(state, tables))

    async def _later(self, state: ParticipantState, tables: Tables | None) -> None:
        await asyncio.sleep(0.3)
        await super().persist(state, tables)


class _SaysWhatIsNotOnTheDisk(Store):
    """A vote that could not be written counts as written."""

    async def persist(self, state: ParticipantState, tables: Tables | None = None) -> None:
        try:
            await super().persist(state, tables)
        except StoreError:
            kept = self._saved.tables if tables is None else tables
            states = {**self._saved.states, state.action: state}
            self._saved = replace(self._saved, states=states, tables=kept)


class _CommitsWithoutAllVotes(Coordinator):
    """A majority is enough."""

    def _missing(self, action: ActionView, *phases: ReportPhase) -> frozenset[str]:
        missing = super()._missing(action, *phases)
        if ReportPhase.READY in phases and len(missing) == 1 and len(action.brokers) == 3:
            return frozenset()
        return missing

    def _commit(self, action: ActionView, now: float) -> CommitAction:
        commit = super()._commit(action, now)
        return replace(
            commit, interests={role: () for role in action.participants} | dict(commit.interests)
        )


class _CountsOldVotes(Coordinator):
    """Votes of earlier attempts count."""

    def _reports(self, action: ActionView, broker: str) -> Iterator[Report]:
        return (
            report
            for report in action.reports.get(broker, ())
            if report.attempt == action.attempt or report.phase is ReportPhase.READY
        )


class _AbortsAfterCommit(Control):
    """A committed action that takes long is taken for aborted: its orders change."""

    def document(self, broker: str) -> Document:
        document = super().document(broker)
        orders = tuple(
            replace(order, phase=OrderPhase.ABORT)
            if order.phase is OrderPhase.COMMIT and order.role == "k" and self._late(order.action)
            else order
            for order in document.orders
        )
        return replace(document, orders=orders)

    def _late(self, action: str) -> bool:
        for view in self.executions:
            for step in view.steps:
                for a in step.actions:
                    if a.id == action and a.deadline is not None:
                        return self.world.clock.now > a.deadline - self.world.bury_after_s + 0.3
        return False


class _BelievesOldObservations(Control):
    """A setting is confirmed by anything that shows its value, however old."""

    checks_order_of_reports = False

    def _recent(self, number: int, setting: Setting) -> bool:
        return True


class _ForgetsTheDead(Control):
    """The order of a buried action is taken out of the documents."""

    def _apply(
        self, number: int, view: ExecutionView, decision: Decision, now: float
    ) -> ExecutionView:
        view = super()._apply(number, view, decision, now)
        if isinstance(decision, BuryAction):
            self._buried = self._buried | {decision.action}
        return view

    _buried: frozenset[str] = frozenset()

    def document(self, broker: str) -> Document:
        document = super().document(broker)
        orders = tuple(o for o in document.orders if o.action not in self._buried)
        return replace(document, orders=orders)


class _AnswersWithoutRefusing(Termination):
    """Says that it has not voted, and may still vote."""

    def on_question(self, question: Question, here: Here) -> tuple[list[Effect], Answer]:
        participant = self._participants.get(question.action)
        if participant is None or participant.state.phase is Phase.PREPARING:
            return [], self._answer(question, Stance.RELEASED)
        return super().on_question(question, here)


class _TakesReadyForReleased(Termination):
    """A peer that waits for the outcome, too, is taken for one that does not take part."""

    def on_answer(self, answer: Answer, here: Here) -> list[Effect]:
        if answer.stance is Stance.READY:
            answer = replace(answer, stance=Stance.RELEASED)
        return super().on_answer(answer, here)


class _HandsOverItsOwnSideOnly(Termination):
    """A peer that switched names no flows of the third."""

    def on_question(self, question: Question, here: Here) -> tuple[list[Effect], Answer]:
        effects, answer = super().on_question(question, here)
        return effects, replace(answer, interests=dict.fromkeys(answer.interests, ()))


class _NeverAsks(Termination):
    """Waits for the control plane, however long it is away."""

    def _doubtful(self, participant: Participant, here: Here) -> list[Effect]:
        return []


async def _carries_nothing(router: Router, gone: str, to: str) -> None:
    """What waits for a broker that is gone is dropped with its link."""


class _GoesOnWhileItCarries(Shifts):
    """New messages stand in front of those that have waited for a broker that is gone."""

    async def _do(self, effect: Effect) -> None:
        removing = any(state.kind == removal.KIND for state in self._book.states)
        if removing and isinstance(effect, ask.PauseIntake):
            self._start_task(self._drain(effect.action, effect.attempt))
        else:
            await super()._do(effect)


class _VotesBeforeItHasCarried(Carrying):
    """Ready while the copies are still being made."""

    complete = True


class _CopiesSlowly(ModelDriver):
    """No mistake, but what shows one: copying takes longer than votes and their commit."""

    async def carry_over(self, gone: str, to: str) -> int:
        await asyncio.sleep(0.3)
        return await super().carry_over(gone, to)


class _GoesOnReading(Router):
    """Participants of an action never pause."""

    def pause(self, keep: frozenset[str]) -> None:
        return

    def hold(self, neighbour: str) -> None:
        return


class _SettlesFirst(Pump):
    """The source lets go before the targets hold."""

    async def _hand_on(self, batch: Batch) -> None:
        await self._driver.settle(batch)
        await super()._hand_on(batch)


class _KnowsNoPositions(Stream):
    """Nobody asks what a stream holds already."""

    def append(self, messages: Sequence[Message], *, identified: bool = True) -> list[Message]:
        return super().append(messages, identified=False)


class _AdmitsOneTooMany(AdmissionBook):
    """Off by one."""

    def _taken(self, name: str) -> int:
        return max(0, super()._taken(name) - 1)


class _DoesNotEvict(AdmissionBook):
    """A smaller limit stops newcomers only."""

    def excess(self) -> tuple[Place, ...]:
        return ()


class _CutsOffNobody(ModelBroker):
    """A new session fences admission, but not what its predecessor reads, writes and settles."""

    def check(self, mine: Record) -> None:
        return


class _TakesWhatCannotBeCarried(ModelBroker):
    """The ingress takes a message that has no room for the headers of its way."""

    def takes(self, stream: Stream, payload: bytes) -> bool:
        return len(payload) <= MAX_PAYLOAD


class _KnowsNoLives(ModelBroker):
    """Messages of an ingress are told apart by the stream's creation and their numbers alone."""

    def origin(self, stream: Stream) -> str:
        return f"{self.name}-{stream.made}"


MUTANTS: dict[str, type[Mutant]] = {
    "votes without marks": _mutant(12, participant=_VotesWithoutMarks),
    "votes after one mark": _mutant(50, participant=_VotesAfterOneMark),
    "does not relay marks": _mutant(32, participant=_DoesNotRelay),
    "reads on after the marks": _mutant(13, participant=_ReadsOnAfterTheMarks),
    "resumes before the swap": _mutant(1, patches={"agent.runtime.Shifts": _ResumesBeforeSwap}),
    "resumes after the vote": _mutant(7, participant=_ResumesAfterVote),
    "mixes attempts": _mutant(22, participant=_MixesAttempts, kinds=("links", "broker")),
    "forgets its vote": _mutant(3, participant=_ForgetsItsVote),
    "forgets its pause": _mutant(6, participant=_ForgetsItsPause, kinds=("kill",)),
    "gives up waiting": _mutant(105, participant=_GivesUpWaiting, kinds=("silence",)),
    "drops the link early": _mutant(16, participant=_DropsTheLinkEarly, kinds=("links",)),
    "forgets what is behind j": _mutant(2, participant=_ForgetsWhatIsBehind),
    "takes interest of any epoch": _mutant(
        7, patches={"agent.interest.interest_accepted": _takes_old_interest}
    ),
    "persists too late": _mutant(0, store_class=_PersistsTooLate),
    "commits without all votes": _mutant(1, coordinator=_CommitsWithoutAllVotes),
    "counts votes of old attempts": _mutant(
        29, coordinator=_CountsOldVotes, kinds=("cut", "silence"), doubts_s=(6.0,)
    ),
    "aborts after the commit": _mutant(11, control_class=_AbortsAfterCommit),
    "believes old observations": _mutant(
        14, control_class=_BelievesOldObservations, kinds=("cut",), tree_share=0.0
    ),
    "forgets buried actions": _mutant(
        65, control_class=_ForgetsTheDead, buries_after_s=(3.0,), kinds=("kill",)
    ),
    "admits one too many": _mutant(1, book_class=_AdmitsOneTooMany),
    "does not evict": _mutant(1, book_class=_DoesNotEvict),
    "cuts off no predecessor": _mutant(12, broker_class=_CutsOffNobody, kinds=("twin",)),
    "takes what cannot be carried": _mutant(
        5, broker_class=_TakesWhatCannotBeCarried, kinds=("oversize",)
    ),
    "goes without knowing its links": _mutant(
        2,
        patches={"agent.router.Router.known": property(lambda self: True)},
        cold_share=1.0,
    ),
    "hides brokers that never came": _mutant(
        17,
        control_class=type("Hiding", (Control,), {"hides_who_never_came": True}),
        cold_share=1.0,
    ),
    "says what is not on the disk": _mutant(
        22, store_class=_SaysWhatIsNotOnTheDisk, kinds=("sync", "full", "power", "sync")
    ),
    "knows no lives of an ingress": _mutant(2, broker_class=_KnowsNoLives, kinds=("set back",)),
    "answers without refusing": _mutant(
        3, termination=_AnswersWithoutRefusing, kinds=("slow", "cut"), doubts_s=(0.5,)
    ),
    "takes ready for released": _mutant(7, termination=_TakesReadyForReleased),
    "hands over its own side only": _mutant(
        86, termination=_HandsOverItsOwnSideOnly, doubts_s=(0.5,)
    ),
    "never asks": _mutant(1, termination=_NeverAsks, kinds=("silence",)),
    "carries nothing over": _mutant(
        6, patches={"agent.router.Router.carry_over": _carries_nothing}, kinds=("destroyed",)
    ),
    "goes on while it carries over": _mutant(
        6, patches={"agent.runtime.Shifts": _GoesOnWhileItCarries}, kinds=("destroyed",)
    ),
    "votes before it has carried over": _mutant(
        6,
        patches={"weir.coordination.participant.Carrying": _VotesBeforeItHasCarried},
        driver_class=_CopiesSlowly,
        kinds=("destroyed",),
    ),
    "goes on reading": _mutant(2, patches={"agent.runtime.Router": _GoesOnReading}),
    "settles before it has handed on": _mutant(81, patches={"agent.router.Pump": _SettlesFirst}),
    "knows no positions": _mutant(1, patches={"tests.lives.broker.Stream": _KnowsNoPositions}),
}
