"""An agent that lost its memory while an attempt was being prepared: it may have voted."""

from __future__ import annotations

import pytest

from tests.weir.coordination.builders import order
from tests.weir.coordination.test_termination import (
    ABORT,
    COMMIT,
    INTERESTS,
    LATE,
    PREPARE,
    answer,
    asked,
    here,
    phases,
    question,
    state,
)
from weir.coordination.effects import Effect, PauseIntake, Persist, ResumeIntake
from weir.coordination.order_book import OrderBook
from weir.coordination.participant import Here, Phase
from weir.coordination.tables import Tables
from weir.coordination.termination import Outcome, Stance
from weir.coordination.wire import ReportPhase
from weir.errors import InvalidProblem

UNKNOWING = Here(local=frozenset(), tables=Tables(complete=False), now=0.0, known=False)


def forgotten() -> tuple[OrderBook, list[Effect]]:
    book = OrderBook(remembers=False)
    return book, book.on_orders([order(PREPARE, "i", 1)], UNKNOWING)


def resumes(effects: list[Effect]) -> bool:
    return ResumeIntake() in effects


def test_it_is_paused_before_it_knows_its_links_and_asks_for_another_attempt() -> None:
    # Its mark may be on its way: whatever followed it would be left behind by a commit.
    book, effects = forgotten()
    assert [type(e) for e in effects[:2]] == [Persist, PauseIntake]
    assert phases(effects) == [ReportPhase.REFUSED]
    assert state(book).phase is Phase.FORGOTTEN
    # How long it has stood still is counted from here, on the page and at its console.
    assert state(book).paused_at == UNKNOWING.now


def test_it_cannot_say_to_a_peer_that_it_will_never_vote() -> None:
    book, _ = forgotten()
    effects, said = book.on_question(question("i"), here("i", 1.0))
    assert (effects, said.stance) == ([], Stance.UNSURE)


def test_it_stays_paused_without_an_outcome_and_asks_its_peers() -> None:
    book, _ = forgotten()
    book.tick(here("i"))
    effects = book.tick(here("i", LATE))
    assert asked(effects) == ["J", "K"]
    assert not resumes(effects)
    (wait,) = book.doubts.waits(LATE)
    assert wait.silent == ("J", "K")


def test_it_never_votes_again_in_that_attempt() -> None:
    book, _ = forgotten()
    book.on_drained("x", 1, here())
    book.on_link_ready("K", here())
    book.on_orders([order(PREPARE, "i", 1)], here())
    assert set(phases(book.tick(here("i", 1.0)))) == {ReportPhase.REFUSED}


def test_it_moves_again_when_the_attempt_is_aborted_and_votes_in_the_next() -> None:
    book, _ = forgotten()
    assert resumes(book.on_orders([order(ABORT, "i", 1)], here()))
    book.on_orders([order(PREPARE, "i", 2)], here())
    assert (state(book).phase, state(book).attempt) == (Phase.PREPARING, 2)


def test_it_switches_when_its_vote_was_counted() -> None:
    book, _ = forgotten()
    effects = book.on_orders([order(COMMIT, "i", 1, interests=INTERESTS)], here())
    assert state(book).phase is Phase.SWITCHED
    assert resumes(effects)


def test_it_follows_a_peer_that_knows_the_outcome() -> None:
    book, _ = forgotten()
    book.tick(here("i"))
    book.tick(here("i", LATE))
    book.on_answer(answer(Stance.SWITCHED, interests=INTERESTS), here("i", LATE))
    assert state(book).phase is Phase.SWITCHED


def test_it_stays_paused_over_a_restart() -> None:
    book, _ = forgotten()
    again = OrderBook(book.states)
    effects = again.on_restart(here())
    assert [type(e) for e in effects] == [PauseIntake, type(effects[-1])]
    assert phases(effects) == [ReportPhase.REFUSED]


def test_an_attempt_of_a_later_document_began_after_the_loss() -> None:
    book = OrderBook(remembers=False)
    book.on_orders([], here())
    book.on_orders([order(PREPARE, "i", 1)], here())
    assert state(book).phase is Phase.PREPARING


def test_a_person_may_abort_there_and_not_commit() -> None:
    book, _ = forgotten()
    book.tick(here("i"))
    book.tick(here("i", LATE))
    with pytest.raises(InvalidProblem, match="lost its own"):
        book.doubts.decide("x", Outcome.COMMIT, "no hope", here("i", LATE))
    effects = book.doubts.decide("x", Outcome.ABORT, "no hope", here("i", LATE))
    assert resumes(effects)
    assert phases(effects) == [ReportPhase.RELEASED]
