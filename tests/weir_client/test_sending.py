"""What a sender does with quick moves, old replies, receivers that come and go, and time."""

from __future__ import annotations

import pytest

from weir_client.frames import Answer, Frame, Kind, Place, Reply
from weir_client.sending import FlowSender, HandOverTimes, Phase, Sent

A, B, C = Place(0, 0), Place(0, 1), Place(1, 0)


class Desk:
    """A sender, and the receivers that it knows."""

    def __init__(self, *receivers: str, **times) -> None:
        self.receivers = set(receivers)
        times = {"prepare_s": 5.0, "drain_s": 5.0, **times}
        self.sender = FlowSender(
            "f",
            "s",
            life=7,
            place=A,
            times=HandOverTimes(**times),
            receivers=lambda: self.receivers,
        )

    def reply(self, answer: Answer, move: int, receiver: str = "r", now: float = 0.0) -> list[Sent]:
        return self.sender.take(Reply(answer, "f", "s", 7, move, receiver), now)


def brief(sent: list[Sent]) -> list[tuple[Kind, Place, int, int]]:
    return [(frame.kind, place, frame.move, frame.number) for place, frame in sent]


def test_back_before_it_was_ready_goes_there_and_back():
    desk = Desk("r")
    desk.sender.move_to(B, 0)
    assert desk.sender.move_to(A, 0) == []
    assert desk.sender.goal == A
    desk.reply(Answer.READY, 1)
    sent = desk.reply(Answer.DONE, 1)
    assert brief(sent) == [(Kind.CHANGE, B, 2, 0), (Kind.BEACON, A, 2, 0)]
    desk.reply(Answer.READY, 2)
    desk.reply(Answer.DONE, 2)
    assert (desk.sender.place, desk.sender.phase) == (A, Phase.STEADY)


def test_of_many_moves_that_wait_the_last_one_counts():
    desk = Desk("r")
    desk.sender.move_to(B, 0)
    for place in (C, A, C, B, C):
        desk.sender.move_to(place, 0)
    desk.reply(Answer.READY, 1)
    assert brief(desk.reply(Answer.DONE, 1))[0] == (Kind.CHANGE, B, 2, 0)
    assert desk.sender.goal == C
    desk.sender.move_to(C, 0)
    desk.reply(Answer.READY, 2)
    desk.reply(Answer.DONE, 2)
    assert desk.sender.hand_over.move == 2


def test_a_move_back_to_where_it_goes_takes_back_what_waits():
    desk = Desk("r")
    desk.sender.move_to(B, 0)
    desk.sender.move_to(C, 0)
    desk.sender.move_to(B, 0)
    desk.reply(Answer.READY, 1)
    assert desk.reply(Answer.DONE, 1) == []
    assert desk.sender.place == desk.sender.goal == B


def test_replies_to_other_hand_overs_and_lives_mean_nothing():
    desk = Desk("r")
    desk.sender.move_to(B, 0)
    for life, move in ((6, 1), (8, 1), (7, 0), (7, 2)):
        assert desk.sender.take(Reply(Answer.READY, "f", "s", life, move, "r"), 0) == []
    assert desk.reply(Answer.READY, 1, "somebody else") == []
    assert desk.sender.phase is Phase.PREPARING


def test_done_before_the_switch_is_no_more_than_ready():
    desk = Desk("r")
    desk.sender.move_to(B, 0)
    desk.reply(Answer.DONE, 1)
    assert desk.sender.phase is Phase.DRAINING
    desk.reply(Answer.READY, 1)
    assert desk.sender.phase is Phase.DRAINING
    desk.reply(Answer.DONE, 1)
    assert desk.sender.phase is Phase.STEADY


def test_a_receiver_that_is_gone_is_waited_for_no_more():
    desk = Desk("r", "gone")
    desk.sender.move_to(B, 0)
    desk.reply(Answer.READY, 1)
    assert desk.sender.phase is Phase.PREPARING
    desk.receivers.discard("gone")
    desk.sender.wake(0.001)
    assert desk.sender.phase is Phase.DRAINING


def test_a_receiver_that_comes_while_it_prepares_is_waited_for_and_named_if_late():
    desk = Desk("r")
    desk.sender.move_to(B, 0)
    desk.receivers.add("new")
    desk.reply(Answer.READY, 1)
    desk.sender.wake(4.9)
    assert desk.sender.phase is Phase.PREPARING
    desk.sender.wake(5.0)
    assert desk.sender.hand_over.unready == ("new",)
    desk.reply(Answer.DONE, 1, now=5.0)
    desk.sender.wake(10.0)
    assert desk.sender.hand_over.undone == ("new",)
    assert desk.sender.phase is Phase.STEADY


def test_without_receivers_a_move_is_over_at_once_with_each_signal_sent_once():
    desk = Desk()
    desk.sender.send(b"")
    assert brief(desk.sender.move_to(B, 0)) == [
        (Kind.CHANGE, A, 1, 1),
        (Kind.BEACON, B, 1, 0),
        (Kind.LAST, A, 1, 1),
        (Kind.FIRST, B, 1, 2),
    ]
    assert desk.sender.phase is Phase.STEADY
    assert desk.sender.wake_at() is None


def test_signals_are_repeated_after_pauses_that_double():
    desk = Desk("r", repeat_s=0.02)
    desk.sender.move_to(B, 0)
    at = []
    while (now := desk.sender.wake_at()) < 1.0:
        assert brief(desk.sender.wake(now)) == [(Kind.CHANGE, A, 1, 0), (Kind.BEACON, B, 1, 0)]
        at.append(round(now, 2))
    assert at == [0.02, 0.06, 0.14, 0.3, 0.62]


def test_timed_it_waits_for_time_alone():
    desk = Desk("r", prepare_s=0.3, drain_s=0.2, acknowledged=False)
    desk.sender.move_to(B, 0)
    desk.reply(Answer.READY, 1)
    desk.sender.wake(0.29)
    assert desk.sender.phase is Phase.PREPARING
    desk.sender.wake(0.3)
    desk.reply(Answer.DONE, 1, now=0.3)
    assert desk.sender.phase is Phase.DRAINING
    desk.sender.wake(0.5)
    assert desk.sender.phase is Phase.STEADY
    assert desk.sender.hand_over.unready == desk.sender.hand_over.undone == ()


def test_messages_carry_the_hand_over_that_was_switched():
    desk = Desk("r")
    steps = [lambda: desk.sender.move_to(B, 0), lambda: desk.reply(Answer.READY, 1)]
    sent = desk.sender.send(b"1")
    for step in (*steps, lambda: desk.reply(Answer.DONE, 1)):
        step()
        sent += desk.sender.send(b"x")
    assert [(place, frame.move, frame.number) for place, frame in sent] == [
        (A, 0, 1),
        (A, 0, 2),
        (B, 1, 3),
        (B, 1, 4),
    ]
    assert sent[0][1] == Frame(Kind.DATA, "f", "s", 7, 0, 1, A, b"1")


@pytest.mark.parametrize("times", [{"repeat_s": 0.0}, {"prepare_s": -1.0}, {"drain_s": -0.1}])
def test_times_with_which_nothing_comes_to_rest_are_refused(times):
    with pytest.raises(ValueError, match="at least 0"):
        HandOverTimes(**times)
