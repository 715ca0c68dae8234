"""Receive one flow from whatever streams its senders have it on, while they hand it over.

A receiver follows each life of each sender by itself: it hears Change on the old stream, listens to
the new one, replies that it hears it once a Beacon came through, and needs the old one no more once
its last message is here. A stream is first in, first out, so on one stream a missing number is a
lost message. Between two streams nothing is known: what comes on the new one before the old one's
last message is here waits (`ORDERED`), or is delivered at once (`SEAMLESS`). Nor is anything known
between two lives of a sender: what the earlier one sent may come for `wait_s` after the first sign
of the later one, and no message waits for that.

Failures are detected by time alone. Whatever is waited for and does not come within `wait_s` counts
as lost, is reported once, and would not be delivered if it came later. A receiver begins with the
first message that it hears: what was before is not lost. Nor can it know of messages after the last
one of a life that ended.

Pure: time is an argument, and what to do is returned.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

from weir_client.frames import Answer, Frame, Kind, Place, Reply


class Quality(StrEnum):
    """What a receiver wants while a flow changes its stream."""

    ORDERED = "ordered"
    """Messages of a sender come in the order in which it sent them."""
    SEAMLESS = "seamless"
    """No message waits for one on another stream; the first ones of the new stream may come before
    the last ones of the old one."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Messages of one life of a sender that did not come, from the first number to the last."""

    flow: str
    sender: str
    life: int
    first: int
    last: int


@dataclass(slots=True)
class Received:
    """What a call brought: messages to deliver, in this order; replies to send; what was lost."""

    messages: list[Frame] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    is_changed: bool = False
    """Whether `places` or `wake_at` may have other answers than before."""


@dataclass(slots=True, kw_only=True)
class _Track:
    """What is known of one life of one sender."""

    sender: str
    life: int
    place: Place
    """The stream that its messages are read from."""
    move: int
    next: int | None = None
    """The number of the next message; None before the first, which may have any."""
    target: Place | None = None
    """Where the flow goes; None while nothing is under way."""
    target_move: int = 0
    first: int | None = None
    """The number of the first message on the target, once that is known."""
    ahead: deque[Frame] = field(default_factory=deque)
    """Messages of the target that wait (`ORDERED`)."""
    ahead_from: int | None = None
    """The number of the first message that came on the target."""
    next_ahead: int | None = None
    """The number of the next message on the target, once one came."""
    is_heard: bool = False
    """Whether something came on the target."""
    waits_until: float | None = None
    """Until when the rest of the old stream is waited for; None while nothing is."""
    began_at: float
    """When the first sign of it came."""
    heard_at: float = 0.0
    is_silent: bool = False
    """Whether nothing came for so long that no stream is kept for it."""
    ends_at: float | None = None
    """Until when messages of it may come, once there is a later life."""


class FlowReceiver:
    """One flow, from all of its senders."""

    def __init__(
        self,
        flow: str,
        receiver: str,
        *,
        places: frozenset[Place] = frozenset(),
        quality: Quality = Quality.ORDERED,
        wait_s: float = 0.5,
        forget_s: float = 30.0,
    ) -> None:
        """Take `places`, the streams that the map names for the flow: where it is, and while it
        moves where it comes from; `wait_s`, for how long messages of one stream wait for another;
        `forget_s`, after which a sender that says nothing keeps no stream that the map does not
        name."""
        self.flow = flow
        self.receiver = receiver
        self.mapped = places
        self._quality = quality
        self._wait_s = wait_s
        self._forget_s = forget_s
        self._tracks: dict[str, _Track] = {}
        """Sender -> its newest life."""
        self._ending: list[_Track] = []
        """Lives after which another one began, while messages of them may come."""
        self._over: dict[str, int] = {}
        """Sender -> the latest life of which messages come no more."""

    def places(self, now: float) -> frozenset[Place]:
        """Return the streams that have to be listened to: those that the map names, and those that
        senders are on, or go to."""
        needed = set(self.mapped)
        for track in self._tracks.values():
            if now < track.heard_at + self._forget_s:
                needed.update(_streams(track))
        for track in self._ending:
            needed.update(_streams(track))
        return frozenset(needed)

    def take(self, place: Place, frame: Frame, now: float) -> Received:
        """Take a frame of the flow that came on the stream `place`."""
        received = Received()
        track = self._track(place, frame, now, received)
        if track is None:
            return received
        received.is_changed |= track.is_silent
        track.heard_at, track.is_silent = now, False
        if frame.kind is Kind.DATA:
            self._message(track, place, frame, now, received)
        elif frame.move <= track.move:
            self._repeated(track, frame, received)
        else:
            self._signal(track, place, frame, now, received)
        return received

    def wake(self, now: float) -> Received:
        """Give up what was waited for too long, and streams of senders that fell silent."""
        received = Received()
        for track in (*self._ending, *self._tracks.values()):
            is_over = track.ends_at is not None and now >= track.ends_at
            if is_over or (track.waits_until is not None and now >= track.waits_until):
                self._finish(track, received)
            if is_over:
                self._ending.remove(track)
                self._over[track.sender] = max(track.life, self._over.get(track.sender, -1))
                received.is_changed = True
            elif not track.is_silent and now >= track.heard_at + self._forget_s:
                track.is_silent = received.is_changed = True
        return received

    def wake_at(self) -> float | None:
        """Return when `wake` has something to do next; None while nothing is waited for."""
        times = [t.ends_at for t in self._ending]
        for track in (*self._ending, *self._tracks.values()):
            times.append(track.waits_until)
            if not track.is_silent and not self.mapped.issuperset(_streams(track)):
                times.append(track.heard_at + self._forget_s)
        return min((time for time in times if time is not None), default=None)

    # --- what frames do

    def _track(self, place: Place, frame: Frame, now: float, received: Received) -> _Track | None:
        """Return what is known of the sender's life; None where that is over."""
        newest = self._tracks.get(frame.sender)
        if newest is not None and newest.life != frame.life:
            for track in self._ending:
                if (track.sender, track.life) == (frame.sender, frame.life):
                    return track
            # Of a sender that fell silent any other life is a later one: its clock was set back.
            if frame.life < newest.life and now < newest.heard_at + self._forget_s:
                return self._earlier(newest, place, frame, now, received)
            newest.ends_at = now + self._wait_s
            self._ending.append(newest)
        elif newest is not None:
            return newest
        track = self._tracks[frame.sender] = self._begin(place, frame, now, received)
        if newest is not None:
            # Whoever was there before a life began misses what it does not hear of its beginning.
            track.next = 1
        return track

    def _earlier(
        self, newest: _Track, place: Place, frame: Frame, now: float, received: Received
    ) -> _Track | None:
        """Begin with a life of which the first sign comes after one of the next life."""
        ends_at = newest.began_at + self._wait_s
        over = self._over.get(frame.sender, -1)
        if now >= ends_at or frame.life <= over:
            return None
        track = self._begin(place, frame, now, received)
        track.ends_at = ends_at
        before = [each.life for each in self._ending if each.sender == frame.sender]
        if over >= 0 or min(before, default=frame.life) < frame.life:
            track.next = 1  # as above: this receiver was there before the life began
        self._ending.append(track)
        return track

    def _begin(self, place: Place, frame: Frame, now: float, received: Received) -> _Track:
        received.is_changed = True
        is_ahead = frame.kind in (Kind.BEACON, Kind.CHANGE, Kind.LAST)
        return _Track(
            sender=frame.sender,
            life=frame.life,
            place=place,
            # Who hears of a hand-over first by one of these is still before it.
            move=frame.move - 1 if is_ahead else frame.move,
            began_at=now,
        )

    def _message(
        self, track: _Track, place: Place, frame: Frame, now: float, received: Received
    ) -> None:
        if frame.move < track.move:
            return  # it comes after it was given up, and was reported as lost then
        if frame.move == track.move:
            received.is_changed |= track.place != place
            track.place = place
            self._read(track, frame, received)
            if self._is_complete(track):
                self._finish(track, received)
            return
        self._go(track, frame.move, place, received)
        track.is_heard = True
        if track.next_ahead is not None and frame.number < track.next_ahead:
            return
        if track.ahead_from is None:
            track.ahead_from = frame.number
        if self._quality is Quality.ORDERED:
            track.ahead.append(frame)
        else:
            self._lose(track, track.next_ahead, frame.number - 1, received)
            received.messages.append(frame)
        track.next_ahead = frame.number + 1
        self._wait(track, now, received)

    def _signal(
        self, track: _Track, place: Place, frame: Frame, now: float, received: Received
    ) -> None:
        received.is_changed = True
        self._go(track, frame.move, frame.place, received)
        if frame.kind in (Kind.CHANGE, Kind.LAST):
            # On one stream nothing overtakes: what was sent before the signal is here or lost.
            track.place = place
            self._lose(track, track.next, frame.number, received)
            track.next = max(track.next or 0, frame.number + 1)
        if frame.kind in (Kind.BEACON, Kind.FIRST):
            track.is_heard = True
        if track.is_heard:
            received.replies.append(self._reply(track, Answer.READY, frame.move))
        if frame.kind in (Kind.LAST, Kind.FIRST):
            track.first = frame.number + (frame.kind is Kind.LAST)
            self._wait(track, now, received)

    def _repeated(self, track: _Track, frame: Frame, received: Received) -> None:
        """Answer again: the sender repeats what it has no answer to."""
        if frame.move == track.move and frame.kind in (Kind.LAST, Kind.FIRST):
            received.replies.append(self._reply(track, Answer.DONE, frame.move))

    def _go(self, track: _Track, move: int, target: Place, received: Received) -> None:
        """Take note of where the flow goes. What was before is over at the sender, if it is not at
        this receiver: hand-overs of which nothing was heard, too."""
        if track.target is not None and track.target_move < move:
            self._finish(track, received)
        track.move = max(track.move, move - 1)
        if track.target is None:
            track.target, track.target_move = target, move
            received.is_changed = True

    def _wait(self, track: _Track, now: float, received: Received) -> None:
        """Finish the hand-over if nothing is missing of the old stream, else wait for that."""
        if self._is_complete(track):
            self._finish(track, received)
        elif track.waits_until is None:
            track.waits_until = now + self._wait_s
            received.is_changed = True

    def _is_complete(self, track: _Track) -> bool:
        """Return whether all that came on the old stream is here, or nothing can come there."""
        first = track.first if track.first is not None else track.ahead_from
        if first is None:
            return False
        if track.next is None and self.mapped <= {track.target}:
            return True  # the old stream is not listened to
        return (track.next or 1) >= first

    def _finish(self, track: _Track, received: Received) -> None:
        """Read the new stream from now on; what did not come of the old one is lost."""
        if track.target is None:
            return
        first = track.first if track.first is not None else track.ahead_from
        if first is not None:
            self._lose(track, track.next, first - 1, received)
            if track.next is not None or track.first is not None:
                # Who was there before First begins with that at the latest.
                track.next = max(track.next or 0, first)
        received.is_changed = True
        track.place, track.move = track.target, track.target_move
        ahead, track.ahead = track.ahead, deque()
        if self._quality is Quality.SEAMLESS and track.next_ahead is not None:
            self._lose(track, track.next, (track.ahead_from or 0) - 1, received)
            track.next = track.next_ahead
        track.target = track.first = track.ahead_from = track.next_ahead = None
        track.waits_until, track.is_heard = None, False
        for frame in ahead:
            self._read(track, frame, received)
        received.replies.append(self._reply(track, Answer.DONE, track.move))

    def _read(self, track: _Track, frame: Frame, received: Received) -> None:
        """Deliver the next message of a stream; what is missing before it is lost."""
        if track.next is not None and frame.number < track.next:
            return
        self._lose(track, track.next, frame.number - 1, received)
        track.next = frame.number + 1
        received.messages.append(frame)

    def _lose(self, track: _Track, first: int | None, last: int, received: Received) -> None:
        if first is not None and first <= last:
            received.lost.append(Lost(self.flow, track.sender, track.life, first, last))

    def _reply(self, track: _Track, answer: Answer, move: int) -> Reply:
        return Reply(
            answer=answer,
            flow=self.flow,
            sender=track.sender,
            life=track.life,
            move=move,
            receiver=self.receiver,
        )


def _streams(track: _Track) -> tuple[Place, ...]:
    return (track.place,) if track.target is None else (track.place, track.target)
