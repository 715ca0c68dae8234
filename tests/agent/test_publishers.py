"""The book of publishers' connections: who may publish, who has to leave, who may still publish."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agent.publishers import LEAVE_S, REST_S, PublisherBook
from weir.coordination.wire import Publishers

FLOWS = ("f", "g", "h")
NAMES = ("p", "q", "r", "")


def only(*names: str, **more: object) -> Publishers:
    return Publishers(here=names, **more)  # type: ignore[arg-type]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def book(clock: Clock) -> PublisherBook:
    return PublisherBook(clock=clock)


def test_without_lists_everybody_may_publish_everything(book: PublisherBook) -> None:
    assert book.log_in(name="p", connection=1) == (frozenset(), "")
    assert (book.leaving, book.held()) == (0, frozenset())


def test_a_login_is_denied_the_flows_whose_list_does_not_name_it(book: PublisherBook) -> None:
    book.rule({"f": only("p"), "g": only()})
    assert book.log_in(name="p", connection=1)[0] == {"g"}
    assert book.log_in(name="q", connection=2)[0] == {"f", "g"}
    assert book.leaving == 0


def test_who_is_in_a_list_no_more_is_notified_once_and_closed_after_the_grace(
    book: PublisherBook, clock: Clock
) -> None:
    book.log_in(name="p", connection=1)
    book.log_in(name="q", connection=2)
    book.rule({"f": only("q")})
    assert book.held() == {"f"}
    assert book.notices() == {"f"}
    assert book.notices() == frozenset()
    clock.now = LEAVE_S - 0.01
    assert book.due() == ()
    clock.now = LEAVE_S
    assert book.due() == (1,)
    book.gone(1)
    assert (book.due(), book.leaving) == ((), 0)
    assert book.held() == {"f"}, "the broker may still handle what it had read of it"
    clock.now += REST_S + 0.01
    assert book.held() == frozenset()


def test_who_may_publish_more_now_logs_in_anew_and_holds_up_nothing(book: PublisherBook) -> None:
    book.rule({"f": only()})
    book.log_in(name="p", connection=1)
    book.rule({"f": only("p")})
    assert (book.leaving, book.held()) == (1, frozenset())


def test_who_is_about_to_be_cut_off_is_asked_to_log_in_again(
    book: PublisherBook, clock: Clock
) -> None:
    book.log_in(name="p", connection=1)
    assert book.where("g", "p", enters=True) == {"state": "here"}
    book.rule({"f": only("q")})
    # It may publish f with this login, and nobody knows that it only publishes g.
    assert book.where("g", "p", enters=True) == {"state": "here", "again": True}
    assert book.where("g", "r", enters=True) == {"state": "here"}
    book.gone(1)
    book.log_in(name="p", connection=2)
    clock.now = 9.0
    assert book.where("g", "p", enters=True) == {"state": "here"}
    assert (book.leaving, book.due()) == (0, ())


def test_a_list_that_ends_cuts_nobody_off(book: PublisherBook, clock: Clock) -> None:
    book.rule({"f": only("q")})
    book.log_in(name="p", connection=1)
    book.log_in(name="q", connection=2)
    book.rule({})
    assert (book.leaving, book.notices(), book.held()) == (0, frozenset(), frozenset())
    book.rule({"f": only("p", "q")})
    assert book.leaving == 1, "p is kept out where it is listed"


def test_a_list_that_is_as_before_lets_everybody_stay(book: PublisherBook, clock: Clock) -> None:
    book.rule({"f": only()})
    book.log_in(name="p", connection=1)
    book.rule({"f": only("p")})
    book.notices()
    book.rule({"f": only()})
    clock.now = 9.0
    assert (book.due(), book.leaving) == ((), 0)
    book.rule({"f": only("p")})
    assert book.due() == (), "it is notified anew before it is closed"


def test_a_login_that_never_came_counts_until_it_is_known_not_to_come(
    book: PublisherBook, clock: Clock
) -> None:
    before = book.mark()
    book.log_in(name="p", connection=1)
    book.rule({"f": only()})
    book.present(frozenset(), as_of=before)
    clock.now = 9.0
    assert book.held() == {"f"}, "the list was requested before the login"
    book.present(frozenset(), as_of=book.mark())
    clock.now = 10.0
    assert book.held() == frozenset()


def test_a_restarted_agent_knows_rights_by_their_record(book: PublisherBook, clock: Clock) -> None:
    lists = {"f": only("p"), "g": only("q")}
    book.rule(lists)
    records = {name: book.log_in(name=name, connection=0)[1] for name in ("p", "q")}
    again = PublisherBook(clock=clock)
    for number, name in enumerate(records, 1):
        again.adopt(number, name=name, record=records[name])
    again.rule(lists)
    assert (again.leaving, again.held()) == (0, frozenset())
    again.rule({"f": only("p"), "g": only()})
    assert again.due() == ()
    assert again.notices() >= {"g"}
    assert "g" in again.held()


def test_a_record_of_unknown_rights_may_publish_everything(book: PublisherBook) -> None:
    book.rule({"f": only("p"), "g": only()})
    book.adopt(1, name="p", record="of another day")
    assert book.held() == {"g"}
    assert book.notices() == {"f", "g"}


def test_a_connection_of_an_older_agent_may_publish_everything(book: PublisherBook) -> None:
    book.adopt(1, name="p", record="")
    book.rule({"f": only()})
    assert book.held() == {"f"}


def test_says_where_a_publisher_belongs(book: PublisherBook) -> None:
    lists = {
        "f": only(
            "p",
            elsewhere={"b": ("q",), "c": ("r",)},
            addresses={"b": "nats://b:1"},
            next=("b", "c"),
        )
    }
    book.rule(lists)
    assert book.where("f", "p", enters=True) == {"state": "here"}
    assert book.where("f", "q", enters=True) == {
        "state": "elsewhere",
        "broker": "b",
        "address": "nats://b:1",
    }
    assert book.where("f", "r", enters=True)["address"] == ""
    assert book.where("f", "s", enters=True) == {"state": "wait"}
    assert book.where("g", "s", enters=True) == {"state": "here"}
    assert book.where("g", "s", enters=False) == {"state": "wait"}


def test_shows_everybody_where_a_flow_enters_that_left_this_broker(book: PublisherBook) -> None:
    book.rule({"f": Publishers(everyone=("b", "c"), addresses={"b": "nats://b:1"})})
    for name in ("p", ""):
        assert book.denied(name) == {"f"}
        assert book.where("f", name, enters=False) == {
            "state": "elsewhere",
            "broker": "b",
            "address": "nats://b:1",
        }


@dataclass
class Known:
    """What really is: the broker's view of a connection."""

    name: str
    may_not: frozenset[str] = field(default_factory=frozenset)


class Books(RuleBasedStateMachine):
    """A broker with clients, an agent that is restarted at times, and lists that change."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.book = PublisherBook(clock=self.clock)
        self.lists: dict[str, Publishers] = {}
        self.real: dict[int, Known] = {}
        self.records: dict[int, str] = {}
        self.closed: dict[int, Known] = {}
        """Closed at the broker, and not yet known here."""
        self.count = 0

    @rule(
        lists=st.dictionaries(
            st.sampled_from(FLOWS), st.sets(st.sampled_from(NAMES[:3])).map(sorted)
        )
    )
    def change(self, lists: dict[str, list[str]]) -> None:
        self.lists = {flow: only(*names) for flow, names in lists.items()}
        self.book.rule(self.lists)

    @rule(name=st.sampled_from(NAMES))
    def log_in(self, name: str) -> None:
        self.count += 1
        denied, record = self.book.log_in(name=name, connection=self.count)
        assert denied == {f for f, one in self.lists.items() if name not in one.here}
        self.real[self.count] = Known(name, denied)
        self.records[self.count] = record

    @precondition(lambda self: self.real)
    @rule(data=st.data(), seen=st.booleans())
    def leave(self, data: st.DataObject, seen: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.real)))
        self.closed[number] = self.real.pop(number)
        if seen:
            self.book.gone(number)

    @rule()
    def look(self) -> None:
        as_of = self.book.mark()
        for number in self.real:
            self.book.adopt(number, name=self.real[number].name, record=self.records[number])
        self.book.present(set(self.real), as_of=as_of)

    @rule()
    def wait(self) -> None:
        self.clock.now += LEAVE_S
        self.book.notices()

    @rule()
    def close(self) -> None:
        for number in self.book.due():
            self.real.pop(number, None)
            self.book.gone(number)

    @rule()
    def restart(self) -> None:
        self.book = PublisherBook(clock=self.clock)
        for number, known in self.real.items():
            self.book.adopt(number, name=known.name, record=self.records[number])
        self.book.rule(self.lists)

    @invariant()
    def nobody_who_may_still_publish_is_overlooked(self) -> None:
        held = self.book.held()
        for known in self.real.values():
            for flow, one in self.lists.items():
                if flow not in known.may_not and known.name not in one.here:
                    assert flow in held

    def teardown(self) -> None:
        """In the end nobody may publish what it should not, or is kept out where it is listed."""
        for _ in range(3):
            self.wait()
            self.close()
        self.look()
        self.wait()
        for known in self.real.values():
            denied = self.book.denied(known.name)
            assert denied <= known.may_not
            assert not any(known.name in self.lists[f].here for f in known.may_not & {*self.lists})
        assert self.book.held() == frozenset()


TestBooks = Books.TestCase
