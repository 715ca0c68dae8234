"""A participant's part in removing a broker that is gone, and the coordinator's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.weir.coordination.builders import LIMITS, Runner, execution, shift
from weir.coordination import effects as ask
from weir.coordination.coordinator import DEFAULT_LIMITS
from weir.coordination.decisions import AdoptAction
from weir.coordination.effects import Effect
from weir.coordination.order_book import OrderBook
from weir.coordination.participant import Here, Participant, Phase
from weir.coordination.tables import Tables, tables_after
from weir.coordination.termination import DOUBT_S, Answer, Outcome, Question, Stance
from weir.coordination.views import ActionView, ExecutionView, orders_of
from weir.coordination.wire import Order, OrderPhase, Report, ReportPhase
from weir.errors import InvalidProblem
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.steps import ActionState

PEERS = {"gone1": "D", "n1": "A", "n2/n1": "B", "n3/n2": "C"}
INTERESTS = {"n1": ("fa",), "n2/n1": ("fb",), "n3/n2": ("fc",)}
AT_B = Tables().with_link("D", {"fa", "fc", "fd"}).with_link("X", {"fb"})
PREPARE, COMMIT, ABORT = OrderPhase.PREPARE, OrderPhase.COMMIT, OrderPhase.ABORT


def order(phase: OrderPhase = PREPARE, role: str = "n2/n1", attempt: int = 1) -> Order:
    return Order(
        action="x",
        attempt=attempt,
        kind="remove_broker",
        phase=phase,
        role=role,
        peers=PEERS,
        interests=INTERESTS if phase is COMMIT else {},
    )


def here(tables: Tables = AT_B, *answering: str) -> Here:
    return Here(local=frozenset(), tables=tables, now=0.0, answering=frozenset(answering))


def said(effects: list[Effect]) -> list[Report]:
    return [effect.report for effect in effects if isinstance(effect, ask.Say)]


def carrying(effects: list[Effect]) -> set[tuple[str, str]]:
    return {(e.gone, e.to) for e in effects if isinstance(e, ask.CarryOver)}


def begun() -> Participant:
    return Participant.begin(order(), here())[0]


def test_room_is_made_before_the_pause_and_the_new_links_are_tried() -> None:
    _, effects = Participant.begin(order(), here())
    kinds = [type(effect) for effect in effects]
    assert kinds == [ask.Persist, ask.LiftBound, ask.PauseIntake, ask.EnsureLink, ask.EnsureLink]
    assert effects[1] == ask.LiftBound("D")
    assert effects[2] == ask.PauseIntake("x", 1, frozenset())


def test_what_waits_is_copied_once_it_is_whole_and_the_vote_follows_the_last_copy() -> None:
    participant = begun()
    assert carrying(participant.on_link_ready("A", here())) == set()
    assert carrying(participant.on_drained(1, here())) == {("D", "A")}
    assert carrying(participant.on_link_ready("C", here())) == {("D", "C")}
    assert participant.on_carried(1, "A", "", here()) == []
    report = said(participant.on_carried(1, "C", "", here()))[0]
    assert (report.phase, report.interest) == (ReportPhase.READY, ("fb",))


@pytest.mark.parametrize(
    ("to", "why"), [("A", "it has read meanwhile"), ("C", "the outbox cannot be read")]
)
def test_a_copy_that_fails_is_a_refusal(to: str, why: str) -> None:
    participant = begun()
    participant.on_drained(1, here())
    report = said(participant.on_carried(1, to, why, here()))[0]
    assert (report.phase, report.detail) == (ReportPhase.REFUSED, why)


def test_a_copy_of_an_earlier_attempt_counts_for_nothing() -> None:
    participant = begun()
    participant.on_order(order(ABORT), here())
    participant.on_order(order(PREPARE, attempt=2), here())
    participant.on_drained(2, here())
    for broker in ("A", "C"):
        participant.on_link_ready(broker, here())
        participant.on_carried(1, broker, "", here())
    assert participant.state.phase is Phase.PREPARING


def test_whoever_answers_is_not_removed() -> None:
    _, effects = Participant.begin(order(), here(AT_B, "D"))
    assert said(effects)[0].detail == "the broker of D answers here, so it is not gone"
    participant = begun()
    participant.on_drained(1, here())
    for broker in ("A", "C"):
        participant.on_link_ready(broker, here())
    participant.on_carried(1, "A", "", here())
    late = said(participant.on_carried(1, "C", "", here(AT_B, "D")))[0]
    assert late.phase is ReportPhase.REFUSED


def test_whoever_has_no_link_to_it_refuses() -> None:
    _, effects = Participant.begin(order(), here(Tables().with_link("X")))
    assert said(effects)[0].detail == "has no link to D"


def test_after_the_commit_each_link_leads_to_everybody_behind_it() -> None:
    tables = tables_after(order(COMMIT), AT_B)
    assert tables.links == {"A", "C", "X"}
    assert tables.interest["A"] == {"fa"}
    assert tables.interest["C"] == {"fc"}
    end = tables_after(order(COMMIT, "n3/n2"), Tables().with_link("D", {"fa"}))
    assert end.interest == {"B": frozenset({"fa", "fb"})}
    assert end.epochs == {"B": "x"}
    assert tables_after(order(COMMIT), tables) == tables


def test_the_commit_drops_the_link_to_who_is_gone_the_abort_the_new_ones() -> None:
    assert ask.DropLink("D") in begun().on_order(order(COMMIT), here())
    dropped = [e for e in begun().on_order(order(ABORT), here()) if isinstance(e, ask.DropLink)]
    assert dropped == [ask.DropLink("A"), ask.DropLink("C")]


def test_a_restart_before_the_vote_begins_the_copies_again() -> None:
    participant = begun()
    participant.on_drained(1, here())
    again = Participant(participant.state)
    effects = again.on_restart(here())
    assert ask.LiftBound("D") in effects
    for broker in ("A", "C"):
        again.on_link_ready(broker, here())
    assert carrying(again.on_drained(1, here())) == {("D", "A"), ("D", "C")}


def test_nobody_has_the_part_of_who_is_gone() -> None:
    with pytest.raises(InvalidProblem):
        Participant.begin(order(role="gone1"), here())
    with pytest.raises(InvalidProblem):
        tables_after(order(COMMIT, "gone1"), Tables())


# --- no outcome is heard


def voted() -> OrderBook:
    book = OrderBook()
    book.on_orders([order()], here())
    book.on_drained("x", 1, here())
    for broker in ("A", "C"):
        book.on_link_ready(broker, here())
        book.on_carried("x", 1, broker, "", here())
    book.tick(here())
    return book


def test_an_agent_carries_out_a_removal_that_it_hears_of_in_a_document() -> None:
    assert [state.phase for state in voted().states] == [Phase.READY]
    effects = OrderBook().on_orders([order(role="gone1")], here())
    assert [report.phase for report in said(effects)] == [ReportPhase.REFUSED]


def test_who_is_gone_is_not_asked_for_the_outcome_nor_waited_for() -> None:
    book, late = voted(), replace(here(), now=DOUBT_S + 1.0)
    peers = [e.broker for e in book.tick(late) if isinstance(e, ask.AskPeer)]
    assert peers == ["A", "C"]
    assert [wait.silent for wait in book.doubts.waits(late.now)] == [("A", "C")]


def test_a_person_may_commit_without_the_vote_of_who_is_gone() -> None:
    book, late = voted(), replace(here(), now=DOUBT_S + 1.0)
    book.tick(late)
    for broker, flows in (("A", ("fa",)), ("C", ("fc",))):
        vote = Answer(action="x", attempt=1, broker=broker, stance=Stance.READY, interest=flows)
        book.on_answer(vote, late)
    (report,) = said(book.doubts.decide("x", Outcome.COMMIT, "Weir is gone", late))
    assert (report.phase, report.interests) == (ReportPhase.SWITCHED, INTERESTS)


def test_nobody_is_asked_in_the_name_of_who_is_gone() -> None:
    question = Question(
        action="x", attempt=1, kind="remove_broker", peers=PEERS, role="gone1", asker="A"
    )
    with pytest.raises(InvalidProblem):
        OrderBook().on_question(question, here())


def test_what_neighbours_that_stay_want_has_to_be_known_and_of_who_is_gone_not() -> None:
    unheard = Tables().with_unheard("D").with_link("X", {"fb"})
    participant = Participant.begin(order(), here(unheard))[0]
    for broker in ("A", "C"):
        participant.on_link_ready(broker, here(unheard))
    participant.on_drained(1, here(unheard))
    participant.on_carried(1, "A", "", here(unheard))
    blind = here(unheard.with_unheard("Y"))
    assert participant.on_carried(1, "C", "", blind) == []
    late = replace(here(unheard), now=1.0)
    assert [report.phase for report in said(participant.tick(late))] == [ReportPhase.READY]


# --- the coordinator


def action(**more: object) -> ActionView:
    return replace(
        shift("x"),
        kind="remove_broker",
        participants={"gone1": "d", "n1": "a", "n2/n1": "b"},
        final=True,
        **more,  # type: ignore[arg-type]
    )


def silent_d(*steps: list[ActionView]) -> ExecutionView:
    return execution(*steps, live=frozenset({"a", "b", "c"}))


def test_who_is_gone_is_asked_nothing() -> None:
    run = Runner(silent_d([action()]))
    run.advance(0.0)
    assert orders_of(run.action("x"), {}).get("d") is None
    assert orders_of(run.action("x"), {}).get("a") is not None
    run.say("x", ReportPhase.READY, "a", "b")
    run.advance(1.0)
    run.say("x", ReportPhase.SWITCHED, "a", "b")
    run.advance(1.1)
    assert run.view.state is ExecutionState.SUCCEEDED


def test_nothing_is_removed_when_it_speaks_again() -> None:
    run = Runner(silent_d([action()]))
    run.advance(0.0)
    run.view = replace(run.view, live=run.view.live | {"d"})
    run.say("x", ReportPhase.READY, "a", "b")
    run.advance(1.0)
    assert run.action("x").state is ActionState.ABORTING
    assert "the agent of d speaks again" in run.action("x").detail


def test_copying_gets_more_time_than_a_shift() -> None:
    run = Runner(silent_d([action()]))
    run.advance(0.0)
    run.advance(LIMITS.prepare_timeout_s + 1.0)
    assert run.action("x").state is ActionState.PREPARING
    run.advance(DEFAULT_LIMITS.carry_timeout_s)
    assert run.action("x").state is ActionState.ABORTING


def test_nobody_pauses_longer_than_in_a_shift_for_somebody_who_is_silent() -> None:
    run = Runner(execution([action()], live=frozenset({"a"})))
    run.advance(0.0)
    run.say("x", ReportPhase.READY, "a")
    run.advance(LIMITS.prepare_timeout_s - 0.1)
    assert run.action("x").state is ActionState.PREPARING
    run.advance(LIMITS.prepare_timeout_s)
    assert run.action("x").state is ActionState.ABORTING


def test_a_rollback_leaves_it_as_it_is() -> None:
    run = Runner(silent_d([shift("s")], [action()]))
    run.advance(0.0)
    run.carry_out("s", 1.0)
    run.carry_out("x", 2.0)
    assert run.view.state is ExecutionState.SUCCEEDED
    run.view = replace(run.view, state=ExecutionState.ROLLING_BACK)
    run.advance(3.0)
    undone = [a.inverts for s in run.view.steps for a in s.actions if a.inverts]
    assert undone == ["s"]


def test_nobody_waits_any_more_for_who_was_removed() -> None:
    run = Runner(silent_d([shift("s", "a", "b", "d")]))
    run.view = replace(run.view, live=run.view.live | {"d"})
    run.advance(0.0)
    run.say("s", ReportPhase.READY)
    run.advance(1.0)
    run.say("s", ReportPhase.SWITCHED, "a", "b")
    run.view = replace(run.view, live=frozenset({"a", "b"}))
    run.advance(LIMITS.bury_after_s + 2.0)
    assert run.action("s").state is ActionState.DEAD
    run.view = replace(run.view, removed=frozenset({"d"}))
    run.advance(LIMITS.bury_after_s + 3.0)
    assert run.action("s").state is ActionState.DONE


def test_a_commit_by_hand_needs_nothing_of_who_is_gone() -> None:
    run = Runner(silent_d([action()]))
    run.advance(0.0)
    interests = {"n1": ("fa",), "n2/n1": ()}
    run.say("x", ReportPhase.SWITCHED, "a", by_hand="Weir is gone", interests=interests)
    assert isinstance(run.advance(1.0)[0], AdoptAction)
    assert run.action("x").state is ActionState.COMMITTED


def test_a_removal_that_everybody_released_by_hand_is_not_reverted() -> None:
    run = Runner(silent_d([action()]))
    run.advance(0.0)
    run.say("x", ReportPhase.READY, "a", "b")
    run.advance(1.0)
    run.say("x", ReportPhase.RELEASED, "a", "b", by_hand="it will come back")
    run.advance(2.0)
    assert run.action("x").state is ActionState.DEAD
    assert "this cannot be rolled back" in run.action("x").detail
