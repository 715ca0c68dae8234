"""Broken variants of production code and of what it stands on; the audit must catch each.

Those of the pure cores are the mistakes of `tests.simulation.mutants`, put into the agents that
production runs. One of them is none here: marks that are sent before everything is drained stay
behind it all the same, since a driver appends in the order of calls.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import agent.shift
from agent.admission import AdmissionBook, Place
from agent.store import Store, StoreError
from tests.lives.broker import MAX_PAYLOAD, ModelBroker, Record, Stream
from tests.lives.control import LivesControl
from tests.lives.world import World
from tests.simulation import mutants as cores
from tests.simulation.control import Control
from weir.coordination import effects as ask
from weir.coordination.coordinator import Coordinator
from weir.coordination.order_book import OrderBook
from weir.coordination.participant import Participant
from weir.coordination.participant_state import ParticipantState
from weir.coordination.tables import Tables


class Mutant(World):
    """A life with one part that is broken."""

    caught_by: int
    """A seed at which the audit sees it. One that does not see it any more (the code draws other
    random numbers since) is replaced by what `python -m tests.lives --mutants` names."""


MUTANTS: dict[str, type[Mutant]] = {}


def _mutant(
    caught_by: int,
    *,
    participant: type[Participant] | None = None,
    coordinator: type[Coordinator] | None = None,
    control: type[Control] | None = None,
    patches: dict[str, object] | None = None,
    **world: object,
) -> type[Mutant]:
    """A world with one part exchanged, which the seed `caught_by` shows to be broken; `world`
    overrides what such a world is like."""
    patches = dict(patches or {})
    if participant is not None:
        book = type("MutantBook", (OrderBook,), {"participant": participant})
        patches["agent.shift.OrderBook"] = book
    if coordinator is not None:
        world["control_class"] = type(
            "MutantControl", (LivesControl,), {"coordinator_class": coordinator}
        )
    if control is not None:
        world["control_class"] = type("MutantControl", (control, LivesControl), {})
    return type("MutantWorld", (Mutant,), {"patches": patches, "caught_by": caught_by, **world})


class _ResumesBeforeSwap(agent.shift.Shifts):
    """Forwards by the old tables for a moment between hearing the commit and swapping."""

    async def _do(self, effect: ask.Effect) -> None:
        if isinstance(effect, ask.SwapTables):
            self.tasks.start(self._swap(effect), "a swap that comes late")
        else:
            await super()._do(effect)

    async def _swap(self, effect: ask.SwapTables) -> None:
        await asyncio.sleep(0.1)
        await super()._do(effect)


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


MUTANTS |= {
    "votes without marks": _mutant(6, participant=cores._VotesWithoutMarks),
    "votes after one mark": _mutant(6, participant=cores._VotesAfterOneMark),
    "does not relay marks": _mutant(32, participant=cores._DoesNotRelay),
    "reads on after the marks": _mutant(6, participant=cores._ReadsOnAfterTheMarks),
    "resumes before the swap": _mutant(1, patches={"agent.runtime.Shifts": _ResumesBeforeSwap}),
    "resumes after the vote": _mutant(3, participant=cores._ResumesAfterVote),
    "mixes attempts": _mutant(47, participant=cores._MixesAttempts),
    "forgets its vote": _mutant(3, participant=cores._ForgetsItsVote),
    "forgets its pause": _mutant(6, participant=cores._ForgetsItsPause, kinds=("kill",)),
    "gives up waiting": _mutant(75, participant=cores._GivesUpWaiting),
    "drops the link early": _mutant(16, participant=cores._DropsTheLinkEarly, kinds=("links",)),
    "forgets what is behind j": _mutant(2, participant=cores._ForgetsWhatIsBehind),
    "takes interest of any epoch": _mutant(
        7, patches={"agent.interest.interest_accepted": _takes_old_interest}
    ),
    "persists too late": _mutant(0, store_class=_PersistsTooLate),
    "commits without all votes": _mutant(1, coordinator=cores._CommitsWithoutAllVotes),
    "counts votes of old attempts": _mutant(6, coordinator=cores._CountsOldVotes, rough=True),
    "aborts after the commit": _mutant(10, control=cores._AbortsAfterCommit),
    "believes old observations": _mutant(
        32, control=cores._BelievesOldObservations, rough=True, tree_share=0.0
    ),
    "forgets buried actions": _mutant(
        65, control=cores._ForgetsTheDead, buries_after_s=(3.0,), kinds=("kill",)
    ),
    "admits one too many": _mutant(1, book_class=_AdmitsOneTooMany),
    "does not evict": _mutant(1, book_class=_DoesNotEvict),
    "cuts off no predecessor": _mutant(8, broker_class=_CutsOffNobody, kinds=("twin",)),
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
        control_class=type("Hiding", (LivesControl,), {"hides_who_never_came": True}),
        cold_share=1.0,
    ),
    "says what is not on the disk": _mutant(
        22, store_class=_SaysWhatIsNotOnTheDisk, kinds=("sync", "full", "power", "sync")
    ),
    "knows no lives of an ingress": _mutant(2, broker_class=_KnowsNoLives, kinds=("set back",)),
}
