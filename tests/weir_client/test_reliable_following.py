"""Nothing of a reliable flow is lost, doubled or reordered, however it moves and whoever ends."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.suites import effort
from tests.weir_client.kept_world import FLOWS, PLACES, Overlap, World
from weir_client.frames import Place
from weir_client.keeping import (
    Course,
    Courses,
    Kind,
    Signal,
    Stay,
    courses_from_bytes,
    courses_to_bytes,
    signal_from_bytes,
    signal_to_bytes,
)
from weir_client.kept_following import (
    KEPT,
    NEWEST,
    Following,
    Lost,
    Reading,
    Wanted,
    most_bytes,
)

A, B, C, *_ = PLACES


def check(world: World) -> None:
    """Every message came once and in order."""
    for flow in FLOWS:
        assert world.reader.got[flow] == list(range(1, world.agent.published[flow] + 1)), flow
    assert not world.reader.lost


def check_many(**options: Any) -> None:
    for seed in range(300):
        check(World(seed, **options))


def test_every_message_comes_once_and_in_order() -> None:
    moved = 0
    for seed in effort(range(300), range(5_000)):
        world = World(seed)
        check(world)
        moved += sum(len(course) for course in world.agent.courses.values())
    assert moved > 1_000


def test_what_retention_removes_is_reported_and_nothing_else_is_missing() -> None:
    missed = 0
    for seed in effort(range(300), range(5_000)):
        world = World(seed, is_forgetful=True)
        reported = {flow for lost in world.reader.lost for flow in lost.flows}
        for flow in FLOWS:
            got = world.reader.got[flow]
            assert got == sorted(set(got))
            missing = set(range(1, world.agent.published[flow] + 1)) - set(got)
            assert missing <= world.agent.removed[flow]
            assert not missing or flow in reported
            missed += len(missing)
    assert missed > 100


def check_stored(worlds: Iterable[World]) -> None:
    for world in worlds:
        for flow in FLOWS:
            assert world.agent.stored(flow) <= set(world.reader.got[flow])


def test_an_older_disk_is_noticed_and_all_that_it_has_and_gets_comes() -> None:
    restored = repeated = 0
    for seed in effort(range(300), range(5_000)):
        world = World(seed, is_restored=True)
        restored += world.restored
        check_stored([world])
        for flow in FLOWS:
            got = world.reader.got[flow]
            again = sum(later <= earlier for earlier, later in itertools.pairwise(got))
            reports = sum(flow in lost.flows for lost in world.reader.lost)
            assert again <= reports, (seed, flow)
            repeated += again
    assert restored > 100
    assert repeated > 100


def test_what_is_not_there_has_no_numbers() -> None:
    following = Following()
    gone = Courses({}, {A: (2**63, 0), B: (2**63, 0)})
    following.begin("f", (Stay(1, A, 7),), gone, KEPT)
    following.begin("g", (Stay(1, B, 3, 9), Stay(2, A, 8)), gone, KEPT)
    following.begin("h", (Stay(1, B, 3),), gone, NEWEST)
    assert following.flows["f"] == Wanted(A, 1, 6)
    assert following.flows["g"].place == A
    assert following.flows["h"] == Wanted(B, 1, 2)
    assert all(reading.position < 10 for reading in following.streams.values())
    # A stream that is not there is none of an older disk either.
    known = following.known()
    assert following.compare(Courses({"f": (Stay(1, A, 7),)}, gone.bounds), {}, known) == []
    assert following.flows["f"] == Wanted(A, 1, 6)


def test_an_answer_from_before_what_was_read_is_no_older_disk() -> None:
    following = Following()
    course: Course = (Stay(1, A, 1),)
    following.begin("f", course, Courses({}, {A: (1, 10)}), NEWEST)
    known = following.known()
    following.finish(A, 20, "", following.streams[A].generation)
    following.take_signal(A, 21, "f", Signal(Kind.LAST, 2, B, 5))
    before = following.to_json()
    assert following.compare(Courses({"f": course}, {A: (1, 10)}), {}, known) == []
    assert following.to_json() == before
    assert following.compare(Courses({"f": course}, {A: (1, 10)}), {}, following.known()) == [
        Lost(B, 5, None, ("f",))
    ]
    assert following.flows["f"].place == A


def test_what_was_in_hand_of_another_history_says_nothing_of_the_next() -> None:
    following = Following()
    courses = Courses({"f": (Stay(1, A, 1),)}, {A: (1, 100)})
    following.begin("f", courses.flows["f"], courses, KEPT)
    former = following.streams[A].generation
    following.finish(A, 90, "", former)
    assert following.forget(A) == [Lost(A, 91, None, ("f",))]
    following.compare(Courses(courses.flows, {A: (1, 50)}), {}, following.known())
    following.finish(A, 91, "f", former)
    assert following.is_wanted(A, 1, "f")
    following.begin_anew(A)
    following.finish(A, 2, "f", following.streams[A].generation - 1)
    assert not following.is_wanted(A, 2, "f")


def test_a_record_is_never_larger_than_what_is_reckoned_with() -> None:
    flows = ["f", "", "\u00e9" * 40, "\U0001f600" * 9, "\ud800", '"' * 30, *map(str, range(500))]
    most = 2**63 - 1
    following = Following(generation=most)
    for number, flow in enumerate(flows):
        place = Place(2**32 - 1 - number, 2**32 - 1)
        following.flows[flow] = Wanted(place, most, most)
        following.streams[place] = Reading(most, most, 1)
        following.torn.add(flow)
    size = len(json.dumps({"reader": following.to_json()}, separators=(",", ":")))
    assert 0.95 * most_bytes(flows) < size <= most_bytes(flows)
    assert Following.from_json(json.loads(json.dumps(following.to_json()))) == Following(
        following.flows, following.streams, set(flows), set(flows), most
    )


@pytest.mark.parametrize(
    "state",
    [None, [], "x", {}, {"flows": {}}, {"flows": {"f": [1]}, "streams": [], "generation": 1}],
)
def test_a_record_that_no_reader_has_written_is_refused(state: Any) -> None:
    with pytest.raises(ValueError, match=r"not what a reader keeps|unpack"):
        Following.from_json(state)


class NeverForgetting(Following):
    """It takes an older disk for the one that it has read."""

    def forget(self, place: Place) -> list[Lost]:
        return []

    def forget_all(self) -> list[Lost]:
        return []


def test_a_reader_that_forgets_nothing_misses_what_an_older_disk_gets() -> None:
    worlds = (World(seed, is_restored=True, kind=NeverForgetting) for seed in range(300))
    with pytest.raises(AssertionError):
        check_stored(worlds)


class NeverWaiting(Following):
    """It reads on at First."""

    def holds(self, place: Place, number: int, flow: str, signal: Signal | None) -> bool:
        return False


class NeverBack(Following):
    """It goes on where a stream was read to, although the flow came before."""

    def _enter(self, flow: str, stay: Stay) -> None:
        reading = self.streams.get(stay.place)
        position = 0 if reading is None else reading.position
        super()._enter(flow, Stay(stay.move, stay.place, max(stay.first, position + 1)))


class Doubling(Following):
    """It forgets what it has of the others when it reads a stream again."""

    def _enter(self, flow: str, stay: Stay) -> None:
        had = {name: wanted.after for name, wanted in self.flows.items()}
        super()._enter(flow, stay)
        for name, wanted in self.flows.items():
            if name != flow:
                wanted.after = had[name]


@pytest.mark.parametrize("kind", [NeverWaiting, NeverBack, Doubling])
def test_a_reader_that_leaves_a_rule_out_is_caught(kind: type[Following]) -> None:
    with pytest.raises(AssertionError):
        check_many(kind=kind)


def test_hand_overs_that_overlap_would_make_streams_wait_for_each_other() -> None:
    with pytest.raises(AssertionError, match="stuck"):
        check_many(overlap=Overlap.ANY)


@pytest.mark.parametrize("is_restored", [False, True])
@pytest.mark.parametrize("is_forgetful", [False, True])
def test_hand_overs_that_share_no_stream_may_overlap(is_forgetful: bool, is_restored: bool) -> None:
    at_once = 0
    for seed in effort(range(300), range(5_000)):
        # Raises where a reader is stuck.
        world = World(
            seed,
            overlap=Overlap.APART,
            places=PLACES,
            is_forgetful=is_forgetful,
            is_restored=is_restored,
        )
        at_once = max(at_once, world.agent.at_once)
        if not is_forgetful and not is_restored:
            check(world)
    assert at_once > 1


def test_flows_that_change_places_do_not_wait_for_each_other() -> None:
    following = Following()
    bounds = Courses({}, {place: (1, 10) for place in PLACES})
    following.begin("f", (Stay(1, A, 1),), bounds, NEWEST)
    following.begin("g", (Stay(1, B, 1),), bounds, NEWEST)
    # f goes from A to B, then g from B to A; B is read first.
    first = Signal(Kind.FIRST, 2, A)
    assert following.holds(B, 11, "f", first)
    following.take_signal(A, 11, "f", Signal(Kind.LAST, 2, B, 11))
    assert following.flows["f"] == Wanted(B, 2, 10)
    assert not following.holds(B, 11, "f", first)
    following.take_signal(B, 11, "f", first)
    assert following.holds(A, 12, "g", Signal(Kind.FIRST, 2, B))
    following.take_signal(B, 12, "g", Signal(Kind.LAST, 2, A, 12))
    assert following.flows["g"] == Wanted(A, 2, 11)
    assert set(following.streams) == {A, B}


def test_a_stream_that_was_read_past_is_read_again_for_one_flow_alone() -> None:
    following = Following()
    bounds = Courses({}, {place: (1, 10) for place in PLACES})
    following.begin("f", (Stay(1, A, 1),), bounds, NEWEST)
    following.begin("g", (Stay(1, B, 1),), bounds, NEWEST)
    following.finish(B, 30, "", following.streams[B].generation)
    before = following.streams[B].generation
    following.take_signal(A, 11, "f", Signal(Kind.LAST, 2, B, 20))
    assert following.streams[B].position == 19
    assert following.streams[B].generation > before
    assert not following.is_wanted(B, 30, "g")
    assert following.is_wanted(B, 31, "g")
    assert following.is_wanted(B, 20, "f")
    # What the application had in hand meanwhile does not come again either.
    following.finish(B, 31, "g", before)
    assert following.streams[B].position == 19
    assert not following.is_wanted(B, 31, "g")


def test_a_last_that_was_removed_is_waited_for_until_its_stream_was_read_to_there() -> None:
    following = Following()
    following.begin("f", (Stay(1, A, 1),), Courses({}, {A: (1, 10)}), NEWEST)
    course: Course = (Stay(1, A, 1, 14), Stay(2, B, 5, 9), Stay(3, C, 7))
    there = Courses({"f": course}, {A: (3, 20), B: (1, 9), C: (1, 7)})
    assert following.compare(there, {}, following.known()) == []
    assert following.flows["f"].place == A
    gone = Courses({"f": course}, {A: (18, 20), B: (1, 9), C: (1, 7)})
    assert following.compare(gone, {A: 12}, following.known()) == [], "what has come is read first"
    following.finish(A, 12, "", following.streams[A].generation)
    assert following.compare(gone, {A: 12}, following.known()) == [Lost(A, 13, 14, ("f",))]
    assert following.flows["f"] == Wanted(B, 2, 4)
    assert set(following.streams) == {B}


def test_what_is_written_is_read_and_nonsense_is_refused() -> None:
    signals = (Signal(Kind.FIRST, 3, None), Signal(Kind.LAST, 2**40, Place(7, 2**31), 2**60))
    for signal in signals:
        assert signal_from_bytes(signal_to_bytes(signal)) == signal
    courses = Courses({"f": (Stay(1, A, 2, 3), Stay(2, B, 4)), "\u00e9.*": ()}, {A: (1, 2)})
    assert courses_from_bytes(courses_to_bytes(courses)) == courses
    for junk in (
        b"",
        b"\xff",
        b"{}",
        b"[" * 100_000,
        b'["first", 1, [0], 1]',
        b'["third", 1, null, 1]',
        b'{"flows": {"f": [1]}, "streams": []}',
        b'{"flows": {"f": 1}, "streams": []}',
        b'{"flows": {}, "streams": [[1, 2]]}',
        b'{"flows": {}, "streams": [1]}',
    ):
        for read in (signal_from_bytes, courses_from_bytes):
            assert is_refused(read, junk), (read, junk)


def is_refused(read: Callable[[bytes], object], data: bytes) -> bool:
    try:
        read(data)
    except ValueError:
        return True
    return False
