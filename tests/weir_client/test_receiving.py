"""What a receiver makes of frames in orders that a network, or an attacker, may give them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.suites import effort
from weir_client.frames import Answer, Frame, Kind, Place
from weir_client.receiving import FlowReceiver, Quality, Received

A, B, C = Place(0, 0), Place(0, 1), Place(1, 0)


def receiver(*places: Place, quality: Quality = Quality.ORDERED) -> FlowReceiver:
    return FlowReceiver("f", "r", places=frozenset(places), quality=quality)


def data(number: int, place: Place, move: int = 0, life: int = 1) -> tuple[Place, Frame]:
    return place, Frame(Kind.DATA, "f", "s", life, move, number, place)


def signal(
    kind: Kind, on: Place, to: Place, number: int, move: int = 1, life: int = 1
) -> tuple[Place, Frame]:
    return on, Frame(kind, "f", "s", life, move, number, to)


def numbers(received: Received) -> list[int]:
    return [frame.number for frame in received.messages]


def lost(received: Received) -> list[tuple[int, int]]:
    return [(each.first, each.last) for each in received.lost]


def answers(received: Received) -> list[tuple[Answer, int]]:
    return [(each.answer, each.move) for each in received.replies]


def test_a_second_hand_over_is_ready_only_when_its_own_stream_is_heard():
    each = receiver(A)
    each.take(*data(1, A), 0)
    each.take(*signal(Kind.BEACON, B, B, 0), 0)
    each.take(*signal(Kind.LAST, A, B, 1), 0)
    assert answers(each.take(*signal(Kind.CHANGE, B, C, 1, 2), 0)) == []
    assert answers(each.take(*signal(Kind.BEACON, C, C, 0, 2), 0)) == [(Answer.READY, 2)]


@pytest.mark.parametrize("quality", list(Quality))
def test_a_beacon_before_change_makes_it_ready_and_the_old_stream_goes_on(quality):
    each = receiver(A, quality=quality)
    assert answers(each.take(*signal(Kind.BEACON, B, B, 0), 0)) == [(Answer.READY, 1)]
    assert numbers(each.take(*data(1, A), 0)) == [1]
    assert each.places(0) == {A, B}
    assert answers(each.take(*signal(Kind.CHANGE, A, B, 1), 0)) == [(Answer.READY, 1)]
    assert answers(each.take(*signal(Kind.LAST, A, B, 1), 0))[-1] == (Answer.DONE, 1)
    each.mapped = frozenset()
    assert each.places(0) == {B}


def test_who_begins_with_the_beacon_waits_for_the_old_stream_which_the_map_names():
    each = receiver(A, B)
    each.take(*signal(Kind.BEACON, B, B, 0), 0)
    assert answers(each.take(*signal(Kind.FIRST, B, B, 3), 0)) == [(Answer.READY, 1)]
    assert numbers(each.take(*data(3, B, 1), 0)) == []
    assert numbers(each.take(*data(1, A), 0)) == [1]
    assert numbers(each.take(*data(2, A), 0)) == [2, 3]


def test_who_begins_with_the_beacon_waits_for_no_stream_that_it_does_not_hear():
    each = receiver(B)
    each.take(*signal(Kind.BEACON, B, B, 0), 0)
    assert answers(each.take(*signal(Kind.FIRST, B, B, 3), 0))[-1] == (Answer.DONE, 1)
    assert lost(each.take(*data(5, B, 1), 0)) == [(3, 4)]


def test_who_begins_with_first_is_done_and_loses_nothing_that_was_before_it():
    each = receiver(B)
    assert answers(each.take(*signal(Kind.FIRST, B, B, 3), 0)) == [(Answer.DONE, 1)]
    received = each.take(*data(9, B, 1), 0)  # First was a repeated one
    assert (numbers(received), lost(received)) == ([9], [])


def test_who_begins_with_last_goes_to_the_new_stream():
    each = receiver(A)
    assert answers(each.take(*signal(Kind.LAST, A, B, 7), 0)) == [(Answer.DONE, 1)]
    assert B in each.places(0)
    assert lost(each.take(*data(9, B, 1), 0)) == [(8, 8)]


def test_where_first_and_last_are_lost_nothing_waits_if_nothing_is_missing():
    each = receiver(A, B)
    each.take(*data(1, A), 0)
    assert numbers(each.take(*data(2, B, 1), 0)) == [2]
    assert each.wake_at() is None


@pytest.mark.parametrize("quality", list(Quality))
def test_what_is_given_up_without_first_and_last_is_reported_once(quality):
    each = receiver(A, B, quality=quality)
    each.take(*data(1, A), 0)
    taken = each.take(*data(4, B, 1), 0)
    assert each.wake_at() == 0.5
    woken = each.wake(0.5)
    assert lost(taken) + lost(woken) == [(2, 3)]
    assert numbers(taken) + numbers(woken) == [4]
    late = each.take(*data(2, A), 0.6)
    assert (numbers(late), lost(late)) == ([], [])
    assert answers(each.take(*signal(Kind.LAST, A, B, 3), 0.6)) == [(Answer.DONE, 1)]
    assert numbers(each.take(*data(5, B, 1), 0.6)) == [5]


def test_a_later_hand_over_ends_the_one_that_is_waited_for():
    each = receiver(A, B, C)
    each.take(*data(1, A), 0)
    each.take(*data(3, B, 1), 0)
    received = each.take(*signal(Kind.CHANGE, B, C, 4, 2), 0)
    assert (numbers(received), lost(received)) == ([3], [(2, 2), (4, 4)])
    assert numbers(each.take(*data(5, C, 2), 0)) == [5]


def test_a_hand_over_of_which_nothing_was_heard_is_one_gap():
    each = receiver(A, C)
    each.take(*data(1, A), 0)
    assert numbers(each.take(*data(9, C, 2), 0)) == []
    assert lost(each.wake(0.5)) == [(2, 8)]
    assert each.places(0.5) == {A, C}


def test_back_and_forth_quickly_keeps_the_order():
    each = receiver(A)
    arrived = [
        data(1, A),
        signal(Kind.CHANGE, A, B, 1, 1),
        signal(Kind.BEACON, B, B, 0, 1),
        signal(Kind.FIRST, B, B, 3, 1),
        data(3, B, 1),
        data(2, A),
        signal(Kind.LAST, A, B, 2, 1),
        signal(Kind.BEACON, A, A, 0, 2),
        signal(Kind.CHANGE, A, B, 1, 1),  # repeated, and late
        signal(Kind.FIRST, A, A, 4, 2),
        data(4, A, 2),
        signal(Kind.LAST, B, A, 3, 2),
        data(5, A, 2),
    ]
    delivered = [number for frame in arrived for number in numbers(each.take(*frame, 0))]
    assert delivered == [1, 2, 3, 4, 5]


def test_a_new_life_in_a_hand_over_cuts_nothing_of_the_old_one():
    each = receiver(A, B)
    each.take(*data(1, A), 0)
    each.take(*signal(Kind.FIRST, B, B, 3), 0)
    each.take(*data(3, B, 1), 0)
    assert numbers(each.take(*data(1, C, life=2), 0.1)) == [1]
    assert numbers(each.take(*data(2, A), 0.2)) == [2, 3]
    assert each.places(0.2) == {A, B, C}
    each.wake(0.6)
    each.mapped = frozenset()
    assert each.places(0.6) == {C}
    assert numbers(each.take(*data(4, B, 1), 0.7)) == []


def test_what_a_new_life_leaves_missing_of_the_old_one_is_reported_once():
    each = receiver(A, B)
    each.take(*data(1, A), 0)
    each.take(*signal(Kind.FIRST, B, B, 3), 0)
    each.take(*data(3, B, 1), 0)
    each.take(*data(1, A, life=2), 0.2)
    received = each.wake(0.5)
    assert (numbers(received), lost(received)) == ([3], [(2, 2)])
    assert lost(each.wake(0.7)) == []
    assert each.wake_at() is None


def test_a_life_whose_first_sign_comes_late_is_received_and_once_over_not_again():
    each = receiver(A)
    each.take(*data(1, A, life=2), 0)
    assert numbers(each.take(*data(1, A, life=1), 0.1)) == [1]
    each.wake(0.5)
    assert numbers(each.take(*data(2, A, life=1), 0.5)) == []
    assert numbers(each.take(*data(2, A, life=2), 0.5)) == [2]


def test_a_sender_whose_clock_was_set_back_is_heard_again_after_silence():
    each = receiver(A)
    each.take(*data(1, A, life=9), 0)
    assert numbers(each.take(*data(1, A, life=3), 10)) == []
    assert numbers(each.take(*data(5, A, life=3), 31)) == [5]
    assert numbers(each.take(*data(6, A, life=3), 32)) == [6]


def test_silent_senders_keep_no_stream_but_their_losses_are_seen():
    each = receiver(A)
    each.take(*data(1, B), 0)
    assert each.wake_at() == 30
    assert each.wake(30).is_changed
    assert each.places(30) == {A}
    assert each.wake_at() is None
    received = each.take(*data(4, B), 40)
    assert received.is_changed
    assert lost(received) == [(2, 3)]
    assert each.places(40) == {A, B}


FRAMES = st.tuples(
    st.sampled_from([A, B, C]),
    st.builds(
        Frame,
        kind=st.sampled_from(Kind),
        flow=st.just("f"),
        sender=st.sampled_from(["s", "t"]),
        life=st.integers(0, 3),
        move=st.integers(0, 4),
        number=st.integers(0, 8),
        place=st.sampled_from([A, B, C]),
    ),
)


@settings(max_examples=effort(300, 20_000), deadline=None)
@given(
    st.lists(st.tuples(FRAMES, st.sampled_from([0.0, 0.1, 0.6, 31.0])), max_size=30),
    st.sampled_from(Quality),
)
def test_any_frames_double_and_reorder_nothing_and_end(arrivals, quality):
    """Whoever may write to a stream may send nonsense; what comes out holds to the rules."""
    each, now = receiver(A, quality=quality), 0.0
    numbers_of: dict[tuple[str, int], list[int]] = {}
    for (place, frame), pause_s in arrivals:
        now += pause_s
        for received in (each.wake(now), each.take(place, frame, now)):
            for message in received.messages:
                numbers_of.setdefault((message.sender, message.life), []).append(message.number)
            assert all(gap.first <= gap.last for gap in received.lost)
    for seen in numbers_of.values():
        if quality is Quality.ORDERED and max(arrivals, key=lambda a: a[1])[1] < 31.0:
            assert seen == sorted(set(seen))
    for _ in range(100):
        wake_at = each.wake_at()
        if wake_at is None:
            break
        now = max(now, wake_at)
        each.wake(now)
    assert each.wake_at() is None
    assert each.places(now + 100) == {A}
