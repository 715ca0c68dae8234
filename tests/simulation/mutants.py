"""Deliberately broken variants. Each is a mistake somebody could make; the audit must catch it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.simulation.agents import INGRESS, SimAgent
from tests.simulation.consumers import Consumers
from tests.simulation.control import Control, Setting
from tests.simulation.world import World
from weir.coordination import effects as ask
from weir.coordination import removal
from weir.coordination.coordinator import Coordinator
from weir.coordination.decisions import CommitAction, Decision
from weir.coordination.effects import Effect, Mark
from weir.coordination.order_book import OrderBook
from weir.coordination.participant import Carrying, Here, Participant, Phase
from weir.coordination.termination import Answer, Question, Stance, Termination
from weir.coordination.views import ActionView, ExecutionView
from weir.coordination.wire import Order, OrderPhase, Report, ReportPhase


class Mutant(World):
    """A run with one part that is broken."""

    caught_by: int
    """A seed at which the audit sees it. One that does not see it any more (the code draws other
    random numbers since) is replaced by what `python -m tests.simulation --mutants` names."""


MUTANTS: dict[str, type[Mutant]] = {}


def _mutant(
    caught_by: int,
    *,
    participant: type[Participant] | None = None,
    termination: type[Termination] | None = None,
    agent: type[SimAgent] | None = None,
    coordinator: type[Coordinator] | None = None,
    control: type[Control] | None = None,
    consumers: type[Consumers] | None = None,
    **world: object,
) -> type[Mutant]:
    """A world with one part exchanged, which the seed `caught_by` shows to be broken; `world`
    overrides what such a world is like."""
    if participant is not None:
        book = type("MutantBook", (OrderBook,), {"participant": participant})
        agent = type("MutantAgent", (SimAgent,), {"book_class": book})
    if termination is not None:
        book = type("MutantBook", (OrderBook,), {"termination": termination})
        agent = type("MutantAgent", (SimAgent,), {"book_class": book})
    if coordinator is not None:
        control = type("MutantControl", (Control,), {"coordinator_class": coordinator})
    parts: dict[str, object] = {
        **world,
        "caught_by": caught_by,
        "agent_class": agent or SimAgent,
        "control_class": control or Control,
        "consumers_class": consumers or Consumers,
    }
    return type("MutantWorld", (Mutant,), parts)


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


class _VotesBeforeDrained(Participant):
    """Marks are sent at once, ahead of messages that are being forwarded."""

    def _prepare(self, order: Order, here: Here) -> list[Effect]:
        effects = super()._prepare(order, here)
        return [*effects, *self.on_drained(order.attempt, here)]


class _DoesNotRelay(Participant):
    """j keeps the marks of i and k to itself."""

    def _relay(self, origin: str) -> list[Effect]:
        return []


class _ReadsOnAfterTheMarks(Participant):
    """Messages of the new order are forwarded by the old tables."""

    def _hold(self) -> list[Effect]:
        return []


class _ResumesBeforeSwap(SimAgent):
    """Forwards by the old tables for a moment between hearing the commit and swapping."""

    def carry_out_one(self, effect: Effect) -> None:
        if isinstance(effect, ask.SwapTables):
            self.clock.after(0.1, self._swap, self.life, effect)
        else:
            super().carry_out_one(effect)

    def _swap(self, life: int, effect: ask.SwapTables) -> None:
        if life == self.life:
            super().carry_out_one(effect)
            self.settle()


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


class _TakesOldInterest(SimAgent):
    """Interest of any epoch counts."""

    def read_interest(self, neighbour: str) -> None:
        if neighbour in self.broker.interest and neighbour in self.tables.links:
            flows = self.broker.interest[neighbour][1]
            self.tables = self.tables.with_link(neighbour, flows, self.tables.epoch(neighbour))


class _PersistsTooLate(SimAgent):
    """What is to be on the disk gets there a while after it was promised to others."""

    def carry_out_one(self, effect: Effect) -> None:
        if isinstance(effect, ask.Persist | ask.Forget):
            self.clock.after(0.3, self._write, self.life, effect)
        else:
            super().carry_out_one(effect)

    def _write(self, life: int, effect: Effect) -> None:
        if life == self.life:
            super().carry_out_one(effect)


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

    def document(self, broker: str):  # type: ignore[no-untyped-def]
        document = super().document(broker)
        orders = tuple(
            replace(order, phase=OrderPhase.ABORT)
            if order.phase is OrderPhase.COMMIT and order.role == "k" and self.late(order.action)
            else order
            for order in document.orders
        )
        return replace(document, orders=orders)

    def late(self, action: str) -> bool:
        for view in self.executions:
            for step in view.steps:
                for a in step.actions:
                    if a.id == action and a.deadline is not None:
                        return self.world.clock.now > a.deadline - self.world.bury_after_s + 0.3
        return False


class _BelievesOldObservations(Control):
    """A setting is confirmed by anything that shows its value, however old."""

    checks_order_of_reports = False

    def _recent(self, version: int, setting: Setting) -> bool:
        return True


class _ForgetsTheDead(Control):
    """The order of a buried action is taken out of the documents."""

    def _apply(self, number: int, view: ExecutionView, decision: Decision, now: float):  # type: ignore[no-untyped-def]
        view = super()._apply(number, view, decision, now)
        if type(decision).__name__ == "BuryAction":
            self.buried = {*getattr(self, "buried", ()), decision.action}  # type: ignore[union-attr]
        return view

    def document(self, broker: str):  # type: ignore[no-untyped-def]
        document = super().document(broker)
        gone = getattr(self, "buried", ())
        return replace(document, orders=tuple(o for o in document.orders if o.action not in gone))


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


class _AdmitsOneTooMany(Consumers):
    """Off by one."""

    def admits(self, admitted: int, limit: int | None) -> bool:
        return limit is None or admitted <= limit


class _DoesNotEvict(Consumers):
    """A smaller limit stops newcomers only."""

    def limit_changed(self, broker: str, name: str, limit: int | None) -> None:
        return


class _CarriesNothing(SimAgent):
    """What waits for a broker that is gone is dropped with its link."""

    def carry_out_one(self, effect: Effect) -> None:
        if isinstance(effect, ask.CarryOver):
            self.clock.after(0.01, self._pretend, self.life, effect)
        else:
            super().carry_out_one(effect)

    def _pretend(self, life: int, effect: ask.CarryOver) -> None:
        if life == self.life:
            self.carry_out(
                self.book.on_carried(effect.action, effect.attempt, effect.to, "", self.here)
            )
            self.settle()


class _CarriesBehind(SimAgent):
    """New messages stand in front of those that have waited for a broker that is gone."""

    def carry_out_one(self, effect: Effect) -> None:
        super().carry_out_one(
            replace(effect, keep=frozenset({INGRESS, *self.tables.links}))
            if isinstance(effect, ask.PauseIntake) and self._removing()
            else effect
        )

    def _removing(self) -> bool:
        return any(state.kind == removal.KIND for state in self.book.states)


class _VotesBeforeItHasCarried(Carrying):
    """Ready while the copies are still being made."""

    complete = True


class _ParticipantInAHurry(Participant):
    """Takes it for granted that copying succeeds."""

    def _prepared(self) -> bool:
        self._carrying.__class__ = _VotesBeforeItHasCarried
        return super()._prepared()


MUTANTS |= {
    "carries nothing over": _mutant(3, agent=_CarriesNothing, gone_share=1.0),
    "goes on while it carries over": _mutant(29, agent=_CarriesBehind, gone_share=1.0),
    "votes before it has carried over": _mutant(
        120, participant=_ParticipantInAHurry, gone_share=1.0
    ),
    "votes without marks": _mutant(0, participant=_VotesWithoutMarks),
    "votes after one mark": _mutant(0, participant=_VotesAfterOneMark),
    "votes before it is drained": _mutant(2, participant=_VotesBeforeDrained),
    "does not relay marks": _mutant(32, participant=_DoesNotRelay),
    "reads on after the marks": _mutant(0, participant=_ReadsOnAfterTheMarks),
    "resumes before the swap": _mutant(1, agent=_ResumesBeforeSwap),
    "resumes after the vote": _mutant(0, participant=_ResumesAfterVote),
    "mixes attempts": _mutant(0, participant=_MixesAttempts),
    "forgets its vote": _mutant(4, participant=_ForgetsItsVote),
    "forgets its pause": _mutant(331, participant=_ForgetsItsPause, doubts_s=(6.0,)),
    "gives up waiting": _mutant(2, participant=_GivesUpWaiting),
    "drops the link early": _mutant(29, participant=_DropsTheLinkEarly),
    "forgets what is behind j": _mutant(14, participant=_ForgetsWhatIsBehind),
    "takes interest of any epoch": _mutant(1, agent=_TakesOldInterest),
    "persists too late": _mutant(22, agent=_PersistsTooLate),
    "commits without all votes": _mutant(1, coordinator=_CommitsWithoutAllVotes),
    "counts votes of old attempts": _mutant(38, coordinator=_CountsOldVotes, rough=True),
    "aborts after the commit": _mutant(0, control=_AbortsAfterCommit),
    "believes old observations": _mutant(
        49, control=_BelievesOldObservations, rough=True, tree_share=0.0
    ),
    "forgets buried actions": _mutant(4, control=_ForgetsTheDead, buries_after_s=(3.0,)),
    "answers without refusing": _mutant(
        177, termination=_AnswersWithoutRefusing, doubts_s=(0.5,), append_share=0.5
    ),
    "takes ready for released": _mutant(20, termination=_TakesReadyForReleased),
    "hands over its own side only": _mutant(
        48, termination=_HandsOverItsOwnSideOnly, doubts_s=(0.5,)
    ),
    "never asks": _mutant(10, termination=_NeverAsks),
    "admits one too many": _mutant(0, consumers=_AdmitsOneTooMany),
    "does not evict": _mutant(1, consumers=_DoesNotEvict),
}
