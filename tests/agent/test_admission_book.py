"""The admission book against a broker whose news comes late, and an agent that dies."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from agent.admission import AdmissionBook, Admitted, Place, Waits
from weir.coordination.wire import ClassSpec


def book_of(limit: int | None, **options: float) -> AdmissionBook:
    book = AdmissionBook(**options)
    book.rule({"gold": ClassSpec(flow="f", limit=limit)})
    return book


def ask(book: AdmissionBook, consumer: str, connection: int, now: float) -> bool:
    return isinstance(
        book.ask(name="gold", consumer=consumer, connection=connection, now=now), Admitted
    )


def test_admits_exactly_the_limit() -> None:
    book = book_of(3)
    assert [ask(book, f"c{i}", i, 0.0) for i in range(5)] == [True, True, True, False, False]
    assert (book.admitted("gold"), book.waiting("gold", 0.0)) == (3, 2)


def test_without_a_limit_everybody_is_admitted() -> None:
    book = book_of(None)
    assert all(ask(book, f"c{i}", i, 0.0) for i in range(50))


def test_limit_zero_admits_nobody() -> None:
    assert not ask(book_of(0), "c", 1, 0.0)


def test_unknown_class_is_an_error_of_the_caller() -> None:
    with pytest.raises(KeyError):
        book_of(1).ask(name="silver", consumer="c", connection=1, now=0.0)


def test_who_waited_longest_comes_first() -> None:
    book = book_of(1)
    assert ask(book, "first", 1, 0.0)
    assert not ask(book, "second", 2, 1.0)
    assert not ask(book, "third", 3, 2.0)
    book.gone(1, 3.0)
    answer = book.ask(name="gold", consumer="third", connection=4, now=3.0)
    assert answer == Waits(name="gold", ahead=1, limit=1)
    assert ask(book, "second", 5, 3.5)
    assert not ask(book, "third", 6, 4.0)


def test_who_stopped_asking_loses_the_turn() -> None:
    book = book_of(1, wait_s=6.0)
    assert ask(book, "first", 1, 0.0)
    assert not ask(book, "second", 2, 1.0)
    assert not ask(book, "third", 3, 2.0)
    book.gone(1, 3.0)
    assert not ask(book, "third", 4, 6.9)
    assert ask(book, "third", 5, 7.1)


def test_a_lower_limit_releases_the_newest_and_keeps_their_places_until_they_left() -> None:
    book = book_of(3)
    for i in range(3):
        assert ask(book, f"c{i}", i, float(i))
    out = book.rule({"gold": ClassSpec(flow="f", limit=1)})
    assert [place.consumer for place in out] == ["c2", "c1"]
    assert book.admitted("gold") == 3
    assert not ask(book, "new", 9, 3.0)
    book.gone(2, 4.0)
    assert [place.consumer for place in book.excess()] == ["c1"]
    book.gone(1, 4.0)
    assert book.excess() == ()
    assert [place.consumer for place in book.places("gold")] == ["c0"]


def test_a_class_that_is_gone_or_reads_another_flow_releases_everybody() -> None:
    book = book_of(5)
    assert ask(book, "c", 1, 0.0)
    assert [p.connection for p in book.rule({"gold": ClassSpec(flow="g", limit=5)})] == [1]
    assert [p.connection for p in book.rule({})] == [1]


def test_a_place_is_held_while_its_lease_is_renewed() -> None:
    book = book_of(1, hold_s=5.0)
    assert isinstance(
        book.ask(name="gold", consumer="c", connection=1, now=0.0, expires=60.0), Admitted
    )
    assert book.renew(10.0, margin_s=6.0) == ()
    assert [place.connection for place in book.renew(55.0, margin_s=6.0)] == [1]
    book.gone(1, 55.0)
    assert not ask(book, "other", 2, 56.0)
    assert ask(book, "c", 3, 57.0)


def test_a_held_place_is_given_on_when_nobody_comes() -> None:
    book = book_of(1, hold_s=5.0)
    book.ask(name="gold", consumer="c", connection=1, now=0.0, expires=60.0)
    book.renew(55.0, margin_s=6.0)
    book.gone(1, 55.0)
    assert not ask(book, "other", 2, 59.9)
    assert ask(book, "other", 3, 60.1)
    assert not ask(book, "c", 4, 60.2)


def test_a_held_place_does_not_outlive_a_lower_limit() -> None:
    book = book_of(2, hold_s=5.0)
    book.ask(name="gold", consumer="c", connection=1, now=0.0, expires=60.0)
    assert ask(book, "d", 2, 0.0)
    book.renew(55.0, margin_s=6.0)
    book.gone(1, 55.0)
    book.rule({"gold": ClassSpec(flow="f", limit=1)})
    assert not ask(book, "c", 3, 56.0)


def test_a_snapshot_frees_only_places_taken_before_it() -> None:
    book = book_of(2)
    assert ask(book, "early", 1, 0.0)
    as_of = book.mark()
    assert ask(book, "late", 2, 0.0)
    book.present(set(), as_of=as_of, now=1.0)
    assert [place.consumer for place in book.places("gold")] == ["late"]


class Broker(RuleBasedStateMachine):
    """A broker, its clients, news in flight, and an agent that is killed now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.limit = 3
        self.peers: dict[int, Place] = {}
        """Connections that the broker has let in."""
        self.news: list[int] = []
        self.snapshots: list[tuple[set[int], int]] = []
        self.next = 0
        self.kicked: set[int] = set()
        self.book = self.fresh()

    def fresh(self) -> AdmissionBook:
        book = AdmissionBook(wait_s=4.0, hold_s=3.0)
        book.rule({"gold": ClassSpec(flow="f", limit=self.limit)})
        return book

    @rule(consumer=st.integers(0, 9), lease=st.sampled_from([None, 2.0, 20.0]))
    def connects(self, consumer: int, lease: float | None) -> None:
        self.next += 1
        expires = None if lease is None else self.now + lease
        answer = self.book.ask(
            name="gold",
            consumer=f"c{consumer}",
            connection=self.next,
            now=self.now,
            expires=expires,
        )
        if isinstance(answer, Admitted):
            self.peers[self.next] = answer.place
            # Nobody is let in while the broker has as many as the limit.
            assert len(self.peers) <= self.limit

    @rule(data=st.data())
    def leaves(self, data: st.DataObject) -> None:
        if self.peers:
            number = data.draw(st.sampled_from(sorted(self.peers)))
            del self.peers[number]
            self.news.append(number)

    @rule()
    def news_arrives(self) -> None:
        if self.news:
            self.book.gone(self.news.pop(0), self.now)

    @rule()
    def news_is_lost(self) -> None:
        if self.news:
            self.news.pop(0)

    @rule()
    def asks_who_is_there(self) -> None:
        self.snapshots.append((set(self.peers), self.book.mark()))

    @rule()
    def hears_who_is_there(self) -> None:
        if self.snapshots:
            here, as_of = self.snapshots.pop(0)
            self.book.present(here, as_of=as_of, now=self.now)

    @rule(limit=st.integers(0, 5))
    def limit_changes(self, limit: int) -> None:
        self.limit = limit
        self.kicked |= {
            place.connection for place in self.book.rule({"gold": ClassSpec(flow="f", limit=limit)})
        }

    @rule()
    def kicks_are_carried_out(self) -> None:
        for number in self.kicked & set(self.peers):
            del self.peers[number]
            self.news.append(number)
        self.kicked.clear()

    @rule()
    def leases_are_renewed(self) -> None:
        self.kicked |= {p.connection for p in self.book.renew(self.now, margin_s=1.0)}

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def agent_is_killed_and_restarted(self) -> None:
        self.book = self.fresh()
        self.snapshots.clear()
        self.news.clear()
        self.book.adopt(self.peers.values())
        self.kicked = {place.connection for place in self.book.excess()}

    @invariant()
    def the_book_counts_everybody_who_is_in(self) -> None:
        assert all(self.book.place(number) is not None for number in self.peers)

    @invariant()
    def nobody_stays_above_the_limit_unless_told_to_leave(self) -> None:
        told = {place.connection for place in self.book.excess()}
        assert len(set(self.peers) - told) <= self.limit


TestBroker = Broker.TestCase
TestBroker.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
