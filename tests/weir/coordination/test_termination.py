"""Cooperative termination: who asks whom, what may be answered, what follows from the answers."""

from __future__ import annotations

import json

import pytest

from tests.weir.coordination.builders import order
from weir.coordination import effects as ask
from weir.coordination.effects import Effect, Mark
from weir.coordination.order_book import OrderBook
from weir.coordination.participant import Here, ParticipantState, Phase
from weir.coordination.participant_state import state_from_dict, state_to_dict
from weir.coordination.tables import Tables
from weir.coordination.termination import (
    ASK_S,
    DOUBT_S,
    PATIENCE_S,
    Answer,
    Outcome,
    Question,
    Stance,
    answer_from_dict,
    answer_to_dict,
    question_from_dict,
    question_to_dict,
)
from weir.coordination.wire import OrderPhase, ReportPhase
from weir.errors import InvalidProblem

PREPARE, COMMIT, ABORT = OrderPhase.PREPARE, OrderPhase.COMMIT, OrderPhase.ABORT
PEERS = {"i": "I", "j": "J", "k": "K"}
INTERESTS = {"i": ("f1",), "j": ("f2",), "k": ("f3",)}
LATE = DOUBT_S + 0.5

TABLES = {
    "i": Tables().with_link("J", {"f2", "f3"}),
    "j": Tables().with_link("I", {"f1"}).with_link("K", {"f3"}),
    "k": Tables().with_link("J", {"f1", "f2"}),
}


def here(role: str = "i", now: float = 0.0) -> Here:
    return Here(local=frozenset({"f1"}), tables=TABLES[role], now=now)


def question(role: str = "i", asker: str = "J", attempt: int = 1) -> Question:
    return Question(
        action="x", attempt=attempt, kind="shift_link", peers=PEERS, role=role, asker=asker
    )


def answer(stance: Stance, broker: str = "J", attempt: int = 1, **more: object) -> Answer:
    return Answer(**{"action": "x", "attempt": attempt, "broker": broker, "stance": stance, **more})


def preparing(role: str = "i", attempt: int = 1) -> OrderBook:
    book = OrderBook()
    book.on_orders([order(PREPARE, role, attempt)], here(role))
    return book


def ready(role: str = "i") -> OrderBook:
    book = preparing(role)
    book.on_drained("x", 1, here(role))
    for origin in sorted({"I", "J", "K"} - {PEERS[role]}):
        book.on_mark(Mark("x", 1, origin), here(role))
    for broker in ("K", "I"):
        book.on_link_ready(broker, here(role))
    assert book.states[0].phase is Phase.READY
    book.tick(here(role))
    return book


def doubtful(role: str = "i") -> OrderBook:
    """Has voted, has heard nothing for long, and has asked."""
    book = ready(role)
    assert asked(book.tick(here(role, LATE))) == sorted(set(PEERS.values()) - {PEERS[role]})
    return book


def asked(effects: list[Effect]) -> list[str]:
    return sorted(e.broker for e in effects if isinstance(e, ask.AskPeer))


def phases(effects: list[Effect]) -> list[ReportPhase]:
    return [e.report.phase for e in effects if isinstance(e, ask.Say)]


def state(book: OrderBook) -> ParticipantState:
    (one,) = book.states
    return one


# --- when


def test_nobody_is_asked_while_the_control_plane_answers() -> None:
    book = ready()
    for second in range(1, 60):
        book.doubts.heard(second)
        assert asked(book.tick(here(now=second + 0.5))) == []


def test_peers_are_asked_when_the_control_plane_has_been_silent_and_again_each_second() -> None:
    book = ready()
    assert asked(book.tick(here(now=DOUBT_S - 0.1))) == []
    assert asked(book.tick(here(now=DOUBT_S))) == ["J", "K"]
    assert asked(book.tick(here(now=DOUBT_S + ASK_S / 2))) == []
    assert asked(book.tick(here(now=DOUBT_S + ASK_S))) == ["J", "K"]


def test_an_outcome_that_never_comes_is_asked_for_although_the_control_plane_answers() -> None:
    book = ready()
    book.doubts.heard(PATIENCE_S - 1)
    assert asked(book.tick(here(now=PATIENCE_S))) == ["J", "K"]


def test_the_book_says_when_it_wants_to_ask() -> None:
    book = ready()
    book.doubts.heard(3.0)
    book.tick(here(now=4.9))
    assert book.doubts.next_tick == pytest.approx(3.0 + DOUBT_S)


def test_who_has_not_voted_refuses_by_itself_and_goes_on() -> None:
    book = preparing()
    book.tick(here())
    effects = book.tick(here(now=LATE))
    persisted = next(e for e in effects if isinstance(e, ask.Persist))
    assert persisted.state.phase is Phase.REFUSED
    assert effects.index(persisted) < effects.index(ask.ResumeIntake())
    assert phases(effects)[0] is ReportPhase.REFUSED
    # The document still says PREPARE: it has refused, and stays so.
    assert book.on_orders([order(PREPARE)], here(now=LATE)) == []


def test_a_restart_begins_the_doubt_anew() -> None:
    book = OrderBook([state(ready())])
    book.on_restart(here(now=1000.0))
    assert asked(book.tick(here(now=1000.1))) == []
    assert asked(book.tick(here(now=1000.1 + DOUBT_S))) == ["J", "K"]


# --- what is answered


def test_who_has_not_voted_refuses_on_disk_before_it_answers() -> None:
    book = preparing("j")
    effects, said = book.on_question(question("j", asker="I"), here("j"))
    assert said.stance is Stance.RELEASED
    persisted = next(e for e in effects if isinstance(e, ask.Persist))
    assert (persisted.state.phase, persisted.state.attempt) == (Phase.REFUSED, 1)
    # Whatever comes now, there is no vote any more.
    book.on_drained("x", 1, here("j"))
    for origin in ("I", "K"):
        assert ReportPhase.READY not in phases(book.on_mark(Mark("x", 1, origin), here("j")))
    assert state(book).phase is Phase.REFUSED


def test_who_has_never_heard_of_the_attempt_refuses_it_before_it_answers() -> None:
    book = OrderBook()
    effects, said = book.on_question(question("i"), here())
    assert said.stance is Stance.RELEASED
    assert isinstance(effects[0], ask.Persist)
    assert effects[0].state.phase is Phase.REFUSED
    assert book.on_orders([order(PREPARE)], here()) == []
    assert state(book).phase is Phase.REFUSED
    # The next attempt is another matter.
    book.on_orders([order(PREPARE, attempt=2)], here())
    assert state(book).phase is Phase.PREPARING


def test_an_attempt_that_is_ahead_of_the_documents_is_refused_and_the_old_one_left() -> None:
    book = preparing("j")
    effects, said = book.on_question(question("j", asker="I", attempt=2), here("j"))
    assert said.stance is Stance.RELEASED
    assert ask.ResumeIntake() in effects
    assert (state(book).attempt, state(book).phase) == (2, Phase.REFUSED)
    assert book.on_orders([order(PREPARE, "j", attempt=2)], here("j")) == []


def test_a_refusal_given_to_a_peer_outlives_one_document_from_before_the_attempt() -> None:
    book = OrderBook()
    book.on_question(question("i"), here())
    assert book.on_orders([], here()) == []
    assert book.on_orders([order(PREPARE)], here()) == []
    assert state(book).phase is Phase.REFUSED
    assert ask.Forget("x") in book.on_orders([], here())


def test_a_refusal_of_an_attempt_that_is_over_is_forgotten_in_the_end() -> None:
    book = OrderBook()
    book.on_question(question("i"), here())
    assert book.on_orders([], here()) == []
    assert ask.Forget("x") in book.on_unchanged(here())
    assert book.states == ()


def test_who_has_voted_says_so_and_with_which_flows() -> None:
    effects, said = ready("j").on_question(question("j", asker="I"), here("j"))
    assert effects == []
    assert (said.stance, said.interest) == (Stance.READY, ("f1",))


def test_who_has_switched_hands_the_commit_over() -> None:
    book = ready("j")
    book.on_orders([order(COMMIT, "j", interests=INTERESTS)], here("j"))
    effects, said = book.on_question(question("j", asker="I"), here("j"))
    assert effects == []
    assert (said.stance, dict(said.interests)) == (Stance.SWITCHED, INTERESTS)
    # Also after a restart.
    again = OrderBook([state_from_dict(json.loads(json.dumps(state_to_dict(state(book)))))])
    assert again.on_question(question("j", asker="I"), here("j"))[1] == said


def test_an_attempt_before_the_present_one_was_aborted() -> None:
    book = preparing("j", attempt=2)
    effects, said = book.on_question(question("j", asker="I"), here("j"))
    assert (effects, said.stance) == ([], Stance.RELEASED)
    assert state(book).phase is Phase.PREPARING


def test_who_lost_its_memory_cannot_say() -> None:
    book = OrderBook(remembers=False)
    effects, said = book.on_question(question("i"), here())
    assert (effects, said.stance) == ([], Stance.UNSURE)
    assert book.states == ()


def test_a_late_question_about_an_action_that_is_over_leaves_no_trace() -> None:
    book = ready("j")
    book.on_orders([order(COMMIT, "j", interests=INTERESTS)], here("j"))
    book.on_orders([], here("j"))
    effects, said = book.on_question(question("j", asker="I"), here("j"))
    assert (effects, said.stance, book.states) == ([], Stance.UNSURE, ())


def test_strangers_get_no_answer() -> None:
    with pytest.raises(InvalidProblem):
        preparing("j").on_question(question("j", asker="X"), here("j"))


# --- what follows


def test_a_peer_that_has_switched_is_followed() -> None:
    book = doubtful()
    effects = book.on_answer(answer(Stance.SWITCHED, interests=INTERESTS), here(now=LATE))
    assert [type(e) for e in effects[:2]] == [ask.Persist, ask.SwapTables]
    assert effects[1].tables.interest["K"] == {"f2", "f3"}
    assert phases(effects) == [ReportPhase.SWITCHED]
    # The order that comes after all changes nothing.
    orders = [order(COMMIT, interests=INTERESTS)]
    assert [e for e in book.on_orders(orders, here()) if not isinstance(e, ask.Say)] == []


def test_a_peer_that_will_never_vote_releases() -> None:
    book = doubtful()
    effects = book.on_answer(answer(Stance.RELEASED), here(now=LATE))
    assert any(isinstance(effect, ask.Persist) for effect in effects)
    assert ask.ResumeIntake() in effects
    assert state(book).phase is Phase.RELEASED


def test_peers_that_have_voted_leave_it_waiting_and_it_says_for_whom() -> None:
    book = doubtful()
    assert book.on_answer(answer(Stance.READY, "J"), here(now=LATE)) == []
    (wait,) = book.doubts.waits(LATE)
    assert (wait.voted, wait.silent, wait.since) == (("J",), ("K",), 0.0)
    assert book.on_answer(answer(Stance.UNSURE, "K"), here(now=LATE)) == []
    assert book.doubts.waits(LATE)[0].silent == ("K",)
    assert state(book).phase is Phase.READY


def test_answers_to_another_attempt_or_too_late_change_nothing() -> None:
    book = doubtful()
    assert book.on_answer(answer(Stance.RELEASED, attempt=2), here(now=LATE)) == []
    assert book.on_answer(answer(Stance.RELEASED, broker="X"), here(now=LATE)) == []
    book.on_orders([order(COMMIT, interests=INTERESTS)], here(now=LATE))
    assert book.on_answer(answer(Stance.RELEASED), here(now=LATE)) == []
    assert state(book).phase is Phase.SWITCHED


# --- people


def test_a_person_may_abort_where_nobody_knows() -> None:
    book = doubtful()
    book.on_answer(answer(Stance.READY, "J"), here(now=LATE))
    effects = book.doubts.decide("x", Outcome.ABORT, "Weir is gone", here(now=LATE))
    assert state(book).phase is Phase.RELEASED
    assert isinstance(effects[0], ask.Persist)
    assert [e.report.by_hand for e in effects if isinstance(e, ask.Say)] == ["Weir is gone"]


def test_what_a_person_released_is_not_switched_by_a_late_commit_of_the_same_attempt() -> None:
    book = doubtful()
    book.doubts.decide("x", Outcome.ABORT, "Weir is gone", here(now=LATE))
    effects = book.on_orders([order(COMMIT, interests=INTERESTS)], here(now=LATE))
    assert phases(effects) == [ReportPhase.RELEASED]
    assert state(book).phase is Phase.RELEASED
    # A commit of a later attempt says that somebody knows of it.
    book.on_orders([order(COMMIT, attempt=2, interests=INTERESTS)], here(now=LATE))
    assert (state(book).phase, state(book).by_hand) == (Phase.SWITCHED, "")


def test_a_person_may_commit_when_every_peer_has_voted() -> None:
    book = doubtful()
    with pytest.raises(InvalidProblem, match="J, K does not answer"):
        book.doubts.decide("x", Outcome.COMMIT, "go on", here(now=LATE))
    book.on_answer(answer(Stance.READY, "J", interest=("f2",)), here(now=LATE))
    book.on_answer(answer(Stance.READY, "K", interest=("f3",)), here(now=LATE))
    effects = book.doubts.decide("x", Outcome.COMMIT, "go on", here(now=LATE))
    (report,) = [e.report for e in effects if isinstance(e, ask.Say)]
    assert (report.phase, report.by_hand) == (ReportPhase.SWITCHED, "go on")
    assert dict(report.interests) == INTERESTS


def test_a_commit_by_hand_spreads_to_peers_with_its_reason() -> None:
    book = doubtful()
    for broker, flow in (("J", "f2"), ("K", "f3")):
        book.on_answer(answer(Stance.READY, broker, interest=(flow,)), here(now=LATE))
    book.doubts.decide("x", Outcome.COMMIT, "go on", here(now=LATE))
    _, said = book.on_question(question("i"), here(now=LATE))
    peer = doubtful("j")
    peer.on_answer(said, here("j", LATE))
    assert (state(peer).phase, state(peer).by_hand) == (Phase.SWITCHED, "go on")


def test_a_commit_by_hand_is_kept_until_the_control_plane_has_it() -> None:
    book = doubtful()
    for broker, flow in (("J", "f2"), ("K", "f3")):
        book.on_answer(answer(Stance.READY, broker, interest=(flow,)), here(now=LATE))
    book.doubts.decide("x", Outcome.COMMIT, "go on", here(now=LATE))
    assert ask.Forget("x") not in book.on_orders([], here(now=LATE))
    assert book.busy == {"I", "J", "K"}
    for other in (ABORT, PREPARE):
        effects = book.on_orders([order(other, attempt=2)], here(now=LATE))
        assert set(phases(effects)) == {ReportPhase.REFUSED, ReportPhase.SWITCHED}
        assert state(book).phase is Phase.SWITCHED
    effects = book.on_orders([order(COMMIT, attempt=2, interests=INTERESTS)], here(now=LATE))
    assert not [e for e in effects if isinstance(e, ask.SwapTables)]
    assert (state(book).attempt, state(book).by_hand) == (2, "")
    assert book.busy == frozenset()
    assert ask.Forget("x") in book.on_orders([], here(now=LATE))


def test_a_person_decides_at_the_execution_while_the_control_plane_answers() -> None:
    book = ready()
    book.doubts.heard(LATE)
    with pytest.raises(InvalidProblem, match="page of the execution"):
        book.doubts.decide("x", Outcome.ABORT, "impatient", here(now=LATE + 1))
    with pytest.raises(InvalidProblem, match="does not wait"):
        book.doubts.decide("y", Outcome.ABORT, "what is y", here(now=LATE + 1))


# --- between agents


def test_questions_and_answers_survive_the_wire() -> None:
    plain = json.loads(json.dumps(question_to_dict(question())))
    assert question_from_dict(plain) == question()
    said = answer(Stance.SWITCHED, interests=INTERESTS, by_hand="go on")
    assert answer_from_dict(json.loads(json.dumps(answer_to_dict(said)))) == said


@pytest.mark.parametrize("plain", [None, [], {}, {"action": 1}, {"action": "x", "peers": 3}])
def test_what_is_neither_is_refused(plain: object) -> None:
    with pytest.raises(InvalidProblem):
        question_from_dict(plain)
    with pytest.raises(InvalidProblem):
        answer_from_dict(plain)
