"""Marks that flush an overlay: answered behind everything before them, each handed on once."""

from __future__ import annotations

from collections import deque
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.flushes import Flood, Flush, Flushed, FlushMark, read_mark, write_mark


def tree(size: int, random: Random) -> dict[str, set[str]]:
    links: dict[str, set[str]] = {"b0": set()}
    for number in range(1, size):
        name, other = f"b{number}", f"b{random.randrange(number)}"
        links[name] = {other}
        links[other].add(name)
    return links


class Overlay:
    """Brokers in a tree whose links keep their order, lose and repeat, as best-effort ones do when
    a broker goes away and reliable ones when an agent is restarted. Messages are numbers."""

    def __init__(
        self, size: int, random: Random, *, lose: float = 0.0, repeat: float = 0.0
    ) -> None:
        self.random, self.lose, self.repeat = random, lose, repeat
        self.links = tree(size, random)
        self.floods = {name: Flood(name) for name in self.links}
        self.lines: dict[tuple[str, str], deque[FlushMark | int]] = {
            (one, other): deque() for one, others in self.links.items() for other in others
        }
        self.passed: dict[str, set[int]] = {name: set() for name in self.links}
        """Broker -> messages that it holds."""
        self.answers: list[Flushed] = []
        self.marks = 0

    def send(self, name: str, what: list[tuple[str, FlushMark]]) -> None:
        for to, mark in what:
            self.marks += 1
            for _ in range(2 if self.random.random() < self.repeat else 1):
                if self.random.random() >= self.lose:
                    self.lines[name, to].append(mark)

    def publish(self, name: str, number: int, over: str = "") -> None:
        """A message that everybody wants."""
        self.passed[name].add(number)
        for to in self.links[name] - {over}:
            self.lines[name, to].append(number)

    def begin(self, mark: Flush) -> None:
        links = self.links[mark.origin]
        self.send(mark.origin, self.floods[mark.origin].begin(mark, links))

    def run(self) -> None:
        while True:
            busy = sorted(pair for pair, line in self.lines.items() if line)
            if not busy:
                return
            one, other = self.random.choice(busy)
            piece = self.lines[one, other].popleft()
            if isinstance(piece, int):
                self.publish(other, piece, one)
                continue
            if isinstance(piece, Flushed) and piece.origin == other:
                self.answers.append(piece)
                missing = self.before - self.passed[piece.by]
                assert not missing, f"{piece.by} has answered before {missing} came"
            self.send(other, self.floods[other].take(piece, one, self.links[other]))

    before: frozenset[int] = frozenset()
    """What was published before the mark."""


@given(st.integers(2, 9), st.integers(), st.sampled_from([0.0, 0.1, 0.3]), st.booleans())
def test_every_broker_answers_only_after_everything_before_has_passed(size, seed, lose, twice):
    random = Random(seed)
    overlay = Overlay(size, random, lose=lose, repeat=0.3 if twice else 0.0)
    origin, *others = random.sample(sorted(overlay.links), size)
    to = tuple(sorted(random.sample(others, random.randint(1, len(others)))))
    for number in range(random.randrange(20)):
        overlay.publish(origin, number)
    overlay.before = frozenset(overlay.passed[origin])
    rounds = 0
    while {answer.by for answer in overlay.answers} != set(to):
        rounds += 1
        assert rounds < 5_000
        overlay.begin(Flush(flow="f", id=f"{rounds}", origin=origin, to=to))
        if random.random() < 0.7:
            overlay.run()
    overlay.run()
    # Each mark goes over each link once at most, whatever is lost or repeated.
    assert overlay.marks <= rounds * (size - 1) * (1 + len(to))
    if not lose:
        assert len(set(overlay.answers)) == rounds * len(to)


def test_a_broker_forgets_old_marks_and_needs_no_more_memory() -> None:
    flood = Flood("b", remembered=10)
    for number in range(100):
        flood.take(Flush(flow="f", id=f"{number}", origin="a", to=("b",)), "a", {"a", "c"})
    assert len(flood._known) == 10


def test_an_answer_goes_everywhere_and_the_mark_everywhere_else() -> None:
    mark = Flush(flow="f", id="1", origin="a", to=("b", "d"))
    answer = Flushed(flow="f", id="1", origin="a", by="b")
    flood = Flood("b")
    assert flood.take(mark, "a", {"a", "c"}) == [("c", mark), ("a", answer), ("c", answer)]
    assert flood.take(mark, "a", {"a", "c"}) == []
    assert flood.take(answer, "c", {"a", "c"}) == [], "its own answer comes back"


@given(st.text(), st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_marks_travel_as_they_are(flow, number, origin, to):
    for mark in (
        Flush(flow=flow, id=number, origin=origin, to=tuple(to)),
        Flushed(flow=flow, id=number, origin=origin, by=flow),
    ):
        assert read_mark(write_mark(mark)) == mark


@pytest.mark.parametrize(
    "payload",
    [
        *(b"", b"{}", b"5", b'"flush"', b"[]", b"\xff", b'{"flush": "f"}', b"[" * 5_000),
        b'{"flush": 1, "id": 2}',
        b'{"action": "x", "attempt": 1, "origin": "a"}',
        b'{"flush": "f", "id": "1", "from": "a", "to": 7}',
    ],
)
def test_other_marks_are_none_of_a_flush(payload):
    assert read_mark(payload) is None
