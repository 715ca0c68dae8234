"""One participant, one input at a time: what it does, what it promises, what it ignores."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.weir.coordination.builders import order
from weir.coordination import effects as ask
from weir.coordination.effects import Effect, Mark
from weir.coordination.order_book import OrderBook
from weir.coordination.participant import Here, Participant, Phase
from weir.coordination.participant_state import state_from_dict, state_to_dict
from weir.coordination.tables import Tables
from weir.coordination.wire import Order, OrderPhase, Report, ReportPhase
from weir.errors import InvalidProblem

PREPARE, COMMIT, ABORT = OrderPhase.PREPARE, OrderPhase.COMMIT, OrderPhase.ABORT
INTERESTS = {"i": ("f1",), "j": ("f2",), "k": ("f3",)}

TABLES = {
    "i": Tables().with_link("J", {"f2", "f3"}).with_link("X", {"f9"}),
    "j": Tables().with_link("I", {"f1", "f9"}).with_link("K", {"f3"}),
    "k": Tables().with_link("J", {"f1", "f2", "f9"}),
}


def here(role: str = "i", now: float = 0.0) -> Here:
    return Here(local=frozenset({"f1"}), tables=TABLES[role], now=now)


def begun(role: str = "i") -> tuple[Participant, list[Effect]]:
    return Participant.begin(order(PREPARE, role), here(role))


def mark(origin: str, attempt: int = 1) -> Mark:
    return Mark("x", attempt, origin)


def said(effects: list[Effect]) -> list[Report]:
    return [e.report for e in effects if isinstance(e, ask.Say)]


def ready(role: str = "i") -> Participant:
    participant, _ = begun(role)
    participant.on_drained(1, here(role))
    for origin in sorted({"I", "J", "K"} - {role.upper()}):
        participant.on_mark(mark(origin), here(role))
    for broker in ("K", "I"):
        participant.on_link_ready(broker, here(role))
    assert participant.state.phase is Phase.READY
    return participant


def test_prepare_persists_before_it_pauses() -> None:
    _, effects = begun("i")
    assert [type(e) for e in effects] == [ask.Persist, ask.PauseIntake, ask.EnsureLink]
    assert effects[1] == ask.PauseIntake("x", 1, frozenset({"J"}))
    assert effects[2] == ask.EnsureLink("K", "")


def test_marks_go_out_when_the_intake_is_drained_and_not_before() -> None:
    participant, effects = begun("j")
    assert not [e for e in effects if isinstance(e, ask.SendMark)]
    assert participant.on_drained(1, here("j")) == [
        ask.SendMark("I", mark("J")),
        ask.SendMark("K", mark("J")),
    ]


def test_j_relays_between_i_and_k() -> None:
    participant, _ = begun("j")
    assert participant.on_mark(mark("I"), here("j")) == [
        ask.SendMark("K", mark("I")),
        ask.HoldLink("I"),
    ]
    assert ask.SendMark("I", mark("K")) in participant.on_mark(mark("K"), here("j"))


def test_i_reads_on_until_it_has_seen_both_marks() -> None:
    participant, _ = begun("i")
    assert participant.on_mark(mark("J"), here()) == []
    assert participant.on_mark(mark("K"), here()) == [ask.HoldLink("J")]


@pytest.mark.parametrize("left_out", ["drained", "J", "K", "link"])
def test_votes_only_when_everything_is_there(left_out: str) -> None:
    participant, _ = begun("i")
    effects: list[Effect] = []
    if left_out != "drained":
        effects += participant.on_drained(1, here())
    for origin in {"J", "K"} - {left_out}:
        effects += participant.on_mark(mark(origin), here())
    if left_out != "link":
        effects += participant.on_link_ready("K", here())
    assert said(effects) == []
    assert participant.state.phase is Phase.PREPARING


def test_the_vote_is_persisted_before_it_is_said_and_names_the_own_side() -> None:
    participant, _ = begun("i")
    participant.on_drained(1, here())
    participant.on_mark(mark("J"), here())
    participant.on_mark(mark("K"), here())
    effects = participant.on_link_ready("K", here())
    assert [type(e) for e in effects] == [ask.Persist, ask.Say]
    assert said(effects)[0].interest == ("f1", "f9")


def test_commit_swaps_in_one_durable_write_then_resumes() -> None:
    participant = ready("i")
    effects = participant.on_order(order(COMMIT, interests=INTERESTS), here(now=0.5))
    assert [type(e) for e in effects] == [
        ask.Persist,
        ask.SwapTables,
        ask.DropLink,
        ask.ResumeIntake,
        ask.Say,
    ]
    persist, swap = effects[0], effects[1]
    assert isinstance(persist, ask.Persist)
    assert isinstance(swap, ask.SwapTables)
    assert persist.tables == swap.tables
    assert swap.tables.links == {"K", "X"}
    assert swap.tables.interest["K"] == {"f2", "f3"}
    assert swap.tables.epoch("K") == "x"
    assert said(effects)[0].pause_s == 0.5


def test_the_same_commit_again_changes_nothing() -> None:
    participant = ready("i")
    commit = order(COMMIT, interests=INTERESTS)
    participant.on_order(commit, here())
    assert participant.on_order(commit, here()) == []


def test_abort_gives_the_old_tables_back() -> None:
    participant = ready("i")
    effects = participant.on_order(order(ABORT), here(now=2.0))
    assert [type(e) for e in effects] == [
        ask.DropLink,
        ask.ResumeIntake,
        ask.Say,
        ask.Persist,
    ]
    assert effects[0] == ask.DropLink("K")
    assert said(effects)[0].phase is ReportPhase.RELEASED
    assert participant.on_order(order(ABORT), here()) == []


def test_abort_before_the_prepare_was_heard_is_answered() -> None:
    participant, effects = Participant.begin(order(ABORT, attempt=2), here())
    assert [r.phase for r in said(effects)] == [ReportPhase.RELEASED]
    assert not any(isinstance(e, ask.ResumeIntake) for e in effects)
    assert participant.on_order(order(PREPARE, attempt=2), here()) == []


def test_a_new_attempt_starts_over() -> None:
    participant = ready("i")
    effects = participant.on_order(order(PREPARE, attempt=2), here())
    assert ask.ResumeIntake() in effects
    assert effects[-2:] == [
        ask.PauseIntake("x", 2, frozenset({"J"})),
        ask.EnsureLink("K", ""),
    ]
    assert participant.state.phase is Phase.PREPARING
    participant.on_drained(1, here())
    participant.on_mark(mark("J", 1), here())
    participant.on_mark(mark("K", 1), here())
    participant.on_link_ready("K", here())
    assert participant.state.phase is Phase.PREPARING


def test_marks_that_come_before_their_attempt_are_kept() -> None:
    participant, _ = begun("i")
    participant.on_mark(mark("J", 2), here())
    participant.on_mark(mark("K", 2), here())
    effects = participant.on_order(order(PREPARE, attempt=2), here())
    assert ask.HoldLink("J") in effects
    participant.on_drained(2, here())
    assert said(participant.on_link_ready("K", here()))[0].attempt == 2


def test_orders_of_an_older_attempt_are_ignored() -> None:
    participant, _ = Participant.begin(order(PREPARE, attempt=3), here())
    assert participant.on_order(order(ABORT, attempt=2), here()) == []
    assert participant.on_order(order(COMMIT, attempt=1, interests=INTERESTS), here()) == []


@pytest.mark.parametrize(
    ("role", "tables", "why"),
    [
        ("i", Tables(), "has no link to J"),
        ("i", TABLES["i"].with_link("K"), "already has a link to K"),
        ("j", Tables().with_link("I"), "has no link to K"),
        ("k", TABLES["k"].with_link("I"), "already has a link to I"),
    ],
)
def test_refuses_what_does_not_fit_its_tables(role: str, tables: Tables, why: str) -> None:
    participant, effects = Participant.begin(order(PREPARE, role), replace(here(), tables=tables))
    assert participant.state.phase is Phase.REFUSED
    assert said(effects)[0].detail == why


def test_refuses_when_the_new_link_cannot_be_made() -> None:
    participant, _ = begun("i")
    effects = participant.on_link_failed("K", "timed out", here())
    assert [type(e) for e in effects] == [
        ask.Persist,
        ask.DropLink,
        ask.ResumeIntake,
        ask.Say,
    ]
    assert said(effects)[0].detail == "cannot reach K: timed out"


def test_repeats_marks_relays_and_the_vote_until_it_hears_the_outcome() -> None:
    participant = ready("j")
    effects = participant.tick(here("j", now=100.0))
    assert ask.SendMark("I", mark("J")) in effects
    assert ask.SendMark("K", mark("I")) in effects
    assert ask.SendMark("I", mark("K")) in effects
    assert [r.phase for r in said(effects)] == [ReportPhase.READY]
    assert participant.tick(here("j", now=100.1)) == []
    assert participant.tick(here("j", now=participant.next_tick)) != []


def restarted(participant: Participant) -> Participant:
    """From the disk, by way of JSON."""
    return Participant(state_from_dict(json.loads(json.dumps(state_to_dict(participant.state)))))


def test_a_restart_in_preparing_stays_paused_and_reads_on_inside() -> None:
    participant, _ = begun("i")
    effects = restarted(participant).on_restart(here())
    assert effects[0] == ask.PauseIntake("x", 1, frozenset({"J"}))


def test_a_restart_after_the_vote_stays_paused_and_says_it_again() -> None:
    participant = restarted(ready("i"))
    effects = participant.on_restart(here())
    assert effects[0] == ask.PauseIntake("x", 1, frozenset())
    assert [r.phase for r in said(effects)] == [ReportPhase.READY]
    assert participant.on_order(order(PREPARE), here()) == []
    switched = participant.on_order(order(COMMIT, interests=INTERESTS), here())
    assert said(switched)[0].phase is ReportPhase.SWITCHED


def test_j_relays_again_after_a_restart_that_forgot_the_marks() -> None:
    effects = restarted(ready("j")).on_restart(here("j"))
    assert ask.SendMark("K", mark("I")) in effects


def test_a_restart_after_the_switch_says_so_and_forwards() -> None:
    participant = ready("i")
    participant.on_order(order(COMMIT, interests=INTERESTS), here())
    new = Tables().with_link("K").with_link("X")
    effects = restarted(participant).on_restart(replace(here(), tables=new))
    assert [type(e) for e in effects] == [ask.DropLink, ask.Say]
    assert effects[0] == ask.DropLink("J")


def test_a_missing_order_means_aborted() -> None:
    participant = ready("i")
    assert participant.on_absent(here()) == [
        ask.DropLink("K"),
        ask.ResumeIntake(),
        ask.Forget("x"),
    ]


def test_a_commit_is_carried_out_even_by_an_agent_that_lost_its_memory() -> None:
    participant, effects = Participant.begin(order(COMMIT, interests=INTERESTS), here())
    assert participant.state.phase is Phase.SWITCHED
    assert any(isinstance(e, ask.SwapTables) for e in effects)


def append(role: str, phase: OrderPhase = PREPARE) -> Order:
    return Order(
        action="a",
        attempt=1,
        kind="append_broker",
        phase=phase,
        role=role,
        peers={"i": "I", "k": "K"},
        interests={"i": ("f1",), "k": ("f2",)} if phase is COMMIT else {},
    )


def test_append_checks_the_link_and_pauses_nothing() -> None:
    empty = Here(local=frozenset({"f1"}), tables=Tables(), now=0.0)
    participant, effects = Participant.begin(append("i"), empty)
    assert [type(e) for e in effects] == [ask.Persist, ask.EnsureLink]
    assert said(participant.on_link_ready("K", empty))[0].interest == ("f1",)
    effects = participant.on_order(append("i", COMMIT), empty)
    assert ask.SwapTables(Tables().with_link("K", {"f2"}, "a")) in effects
    assert ask.ResumeIntake() not in effects


def test_a_broker_with_links_is_not_appended() -> None:
    participant, effects = Participant.begin(append("i"), here())
    assert participant.state.phase is Phase.REFUSED
    assert said(effects)[0].detail == "still has a link to J, X"


def test_detach_drains_both_ends_and_refuses_an_inner_broker() -> None:
    detach = Order(
        action="d",
        attempt=1,
        kind="detach_broker",
        phase=PREPARE,
        role="i",
        peers={"i": "I", "j": "J"},
    )
    leaf = Here(local=frozenset({"f1"}), tables=Tables().with_link("J", {"f2"}), now=0.0)
    participant, _ = Participant.begin(detach, leaf)
    assert participant.on_drained(1, leaf) == [ask.SendMark("J", Mark("d", 1, "I"))]
    effects = participant.on_mark(Mark("d", 1, "J"), leaf)
    assert effects[0] == ask.HoldLink("J")
    assert said(effects)[0].phase is ReportPhase.READY
    commit = replace(detach, phase=COMMIT)
    assert ask.SwapTables(Tables()) in participant.on_order(commit, leaf)
    inner, _ = Participant.begin(detach, here())
    assert inner.state.phase is Phase.REFUSED


def test_an_unknown_kind_or_role_is_named() -> None:
    with pytest.raises(InvalidProblem, match="no role q in an action shift_link"):
        Participant.begin(order(PREPARE, "q"), here())


def test_a_damaged_state_file_is_named() -> None:
    with pytest.raises(InvalidProblem, match="not a participant's state"):
        state_from_dict({"action": "x"})


# --- the book of all orders


def test_the_book_keeps_marks_that_overtake_their_order() -> None:
    book = OrderBook()
    assert book.on_mark(mark("J"), here()) == []
    assert book.on_mark(mark("K"), here()) == []
    effects = book.on_orders([order()], here())
    assert ask.HoldLink("J") in effects
    book.on_drained("x", 1, here())
    assert said(book.on_link_ready("K", here()))[0].phase is ReportPhase.READY


def test_the_book_takes_one_action_at_a_time() -> None:
    book = OrderBook()
    later = replace(order(), action="y")
    book.on_orders([order(), later], here())
    assert [s.action for s in book.states] == ["x"]
    assert book.busy == {"I", "J", "K"}
    book.on_orders([order(ABORT), later], here())
    assert [(s.action, s.phase) for s in book.states] == [("x", "released"), ("y", "preparing")]


def test_the_book_prepares_by_the_tables_that_a_commit_before_left() -> None:
    book = OrderBook()
    after = Order(
        action="y",
        attempt=1,
        kind="shift_link",
        phase=PREPARE,
        role="i",
        peers={"i": "I", "j": "K", "k": "Z"},
    )
    effects = book.on_orders([after, order(COMMIT, interests=INTERESTS)], here())
    assert ReportPhase.REFUSED not in [r.phase for r in said(effects)]
    assert {s.action: s.phase for s in book.states} == {"x": "switched", "y": "preparing"}


def test_the_book_forgets_what_the_document_does_not_name() -> None:
    book = OrderBook()
    book.on_orders([order()], here())
    effects = book.on_orders([], here())
    assert effects[-2:] == [ask.ResumeIntake(), ask.Forget("x")]
    assert book.states == ()
    assert book.next_tick == float("inf")


def test_a_link_that_failed_after_it_was_ready_refuses_nothing() -> None:
    """A late answer of an earlier try; the link is there."""
    participant, _ = begun("i")
    participant.on_link_ready("K", here())
    assert participant.on_link_failed("K", "timed out", here()) == []
    assert participant.state.phase is Phase.PREPARING


def test_nobody_votes_before_every_neighbour_outside_has_said_what_it_wants() -> None:
    unheard = replace(TABLES["i"], interest={"J": frozenset({"f2", "f3"})})
    participant, _ = Participant.begin(order(PREPARE, "i"), replace(here(), tables=unheard))
    participant.on_drained(1, replace(here(), tables=unheard))
    participant.on_link_ready("K", replace(here(), tables=unheard))
    for origin in "JK":
        participant.on_mark(mark(origin), replace(here(), tables=unheard))
    assert participant.state.phase is Phase.PREPARING
    effects = participant.tick(here(now=1.0))
    assert [r.phase for r in said(effects)] == [ReportPhase.READY]
    assert "f9" in said(effects)[0].interest


def test_an_agent_that_does_not_know_its_links_begins_nothing_and_then_does() -> None:
    book = OrderBook()
    lost = replace(here(), known=False)
    assert book.on_orders([order(PREPARE, "i")], lost) == []
    assert book.next_tick < float("inf")
    assert book.tick(replace(lost, now=book.next_tick)) == []
    effects = book.tick(here(now=book.next_tick))
    assert isinstance(effects[0], ask.Persist)
    assert book.busy == {"I", "J", "K"}


def test_an_order_that_waits_begins_when_the_one_before_it_is_refused() -> None:
    """Both are in one document; the first fails by its link."""
    book = OrderBook()
    second = replace(order(PREPARE, "i"), action="y")
    book.on_orders([order(PREPARE, "i"), second], here())
    effects = book.on_link_failed("K", "timed out", here())
    assert {e.state.action for e in effects if isinstance(e, ask.Persist)} == {"x", "y"}


@pytest.mark.parametrize(
    ("phase", "says"),
    [
        (PREPARE, ReportPhase.REFUSED),
        (COMMIT, ReportPhase.REFUSED),
        (ABORT, ReportPhase.RELEASED),
    ],
)
def test_an_action_of_a_newer_control_plane_is_refused_by_name(
    phase: OrderPhase, says: ReportPhase
) -> None:
    book = OrderBook()
    strange = replace(order(phase, "i"), kind="split_broker")
    effects = book.on_orders([strange, replace(order(PREPARE, "i"), action="y")], here())
    report = said(effects)[0]
    assert (report.action, report.phase) == ("x", says)
    assert "does not know the action 'split_broker'" in report.detail
    assert "y" in {state.action for state in book.states}, "the others go on"
