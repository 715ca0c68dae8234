"""Number the messages of one flow by one sender, and hand the flow over from stream to stream.

A hand-over has two phases. *Prepare*: Change on the old stream and Beacon on the new one are
repeated, and messages go on on the old one. *Switch*: Last on the old stream, First on the new one,
and from then on every message goes to the new one. Each message is sent once, on one stream, and
nothing waits for anything at the sender.

When to switch, and when the old stream is forgotten, is decided in one of two ways. *Timed*, as the
slides have it: after `prepare_s` and `drain_s`, without a word of the receivers. *Acknowledged*: as
soon as every receiver that is known has said that it hears the new stream, and that it has all of
the old one; the times are what a receiver is waited for at most.

Pure: time is an argument, and what to send is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import StrEnum

from weir_client.frames import Answer, Frame, Kind, Place, Reply

Sent = tuple[Place, Frame]
"""A frame, and the stream that it goes to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOverTimes:
    """How long the phases of a hand-over may take, in seconds."""

    prepare_s: float = 0.5
    """Timed: from Change to Last. Acknowledged: the most that receivers are waited for."""
    drain_s: float = 0.5
    """The same from Last until the next hand-over of the flow may begin."""
    repeat_s: float = 0.005
    """The pause between two of the same signals; it doubles with each."""
    acknowledged: bool = True

    def __post_init__(self) -> None:
        """Raise ValueError for times with which a sender would never come to rest."""
        if min(self.prepare_s, self.drain_s) < 0 or self.repeat_s <= 0:
            raise ValueError("prepare_s and drain_s are at least 0, repeat_s is more than 0")


class Phase(StrEnum):
    """Where a flow's hand-over is."""

    STEADY = "steady"
    PREPARING = "preparing"
    """Messages are on the old stream, and receivers are to listen to the new one."""
    DRAINING = "draining"
    """Messages are on the new stream, and receivers may still read the old one."""


@dataclass(slots=True, kw_only=True)
class HandOver:
    """One hand-over of one flow by one sender."""

    move: int
    source: Place
    target: Place
    began_at: float
    switched_at: float | None = None
    last: int = 0
    """The number of the last message on the old stream, once the flow was switched."""
    done_at: float | None = None
    ready: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    unready: tuple[str, ...] = ()
    """Receivers that had not said that they hear the new stream when the flow was switched."""
    undone: tuple[str, ...] = ()
    """Receivers that had not said that they have all of the old stream when it was forgotten."""


class FlowSender:
    """The messages of one flow by one sender, in one life of it."""

    def __init__(
        self,
        flow: str,
        sender: str,
        *,
        life: int,
        place: Place,
        times: HandOverTimes | None = None,
        receivers: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """Take `receivers`, which returns the names of those that are known to want the flow now:
        they are waited for where hand-overs are acknowledged."""
        self.flow = flow
        self.sender = sender
        self.life = life
        self.place = place
        self.number = 0
        """Of the last message."""
        self.hand_over: HandOver | None = None
        """The last one; None before the first."""
        self._times = times or HandOverTimes()
        self._receivers = receivers
        self._queued: Place | None = None
        self._silent: set[str] = set()
        self._repeat_at = self._pause_s = 0.0

    @property
    def phase(self) -> Phase:
        """Return where the hand-over is."""
        current = self.hand_over
        if current is None or current.done_at is not None:
            return Phase.STEADY
        return Phase.PREPARING if current.switched_at is None else Phase.DRAINING

    @property
    def goal(self) -> Place:
        """Return the stream on which the flow will settle."""
        if self._queued is not None:
            return self._queued
        current = self._under_way()
        return self.place if current is None else current.target

    @property
    def move_number(self) -> int:
        """Return how many hand-overs have been switched in this life."""
        current = self.hand_over
        if current is None:
            return 0
        return current.move if current.switched_at is not None else current.move - 1

    def send(self, payload: bytes) -> list[Sent]:
        """Number a message; it goes to the stream that the flow is on."""
        self.number += 1
        frame = self._frame(Kind.DATA, self.number, self.place, self.move_number, payload)
        return [(self.place, frame)]

    def move_to(self, place: Place, now: float) -> list[Sent]:
        """Begin to hand the flow over, or let that wait until the running hand-over is done: of
        several that wait the last one counts."""
        current = self._under_way()
        if current is not None:
            self._queued = None if place == current.target else place
            return []
        self._queued = None
        if place == self.place:
            return []
        move = self.move_number + 1
        self.hand_over = HandOver(move=move, source=self.place, target=place, began_at=now)
        self._restart_repeating(now)
        return [*self._signals(), *self._advance(now)]

    def take(self, reply: Reply, now: float) -> list[Sent]:
        """Take a receiver's reply; one to another life or hand-over means nothing now."""
        current = self._under_way()
        if current is None or (reply.life, reply.move) != (self.life, current.move):
            return []
        current.ready.add(reply.receiver)
        if reply.answer is Answer.DONE and current.switched_at is not None:
            current.done.add(reply.receiver)
        return self._advance(now)

    def wake(self, now: float) -> list[Sent]:
        """Repeat signals that are due, and go on where the time for that has come. To be called at
        `wake_at`; earlier where a receiver is gone for which a hand-over may be waiting."""
        sent: list[Sent] = []
        if self._under_way() is not None and now >= self._repeat_at:
            sent += self._signals()
            self._pause_s *= 2
            self._repeat_at = now + self._pause_s
        return [*sent, *self._advance(now)]

    def take_silent(self) -> frozenset[str]:
        """Return the receivers that did not answer to the end of a hand-over since the last call,
        also where another one has begun at once."""
        silent, self._silent = frozenset(self._silent), set()
        return silent

    def wake_at(self) -> float | None:
        """Return when `wake` has something to do next; None while nothing is under way."""
        current = self._under_way()
        return None if current is None else min(self._repeat_at, self._ends_at(current))

    def _under_way(self) -> HandOver | None:
        current = self.hand_over
        return None if current is None or current.done_at is not None else current

    def _ends_at(self, current: HandOver) -> float:
        """Return when the running phase ends whatever receivers say."""
        if current.switched_at is None:
            return current.began_at + self._times.prepare_s
        return current.switched_at + self._times.drain_s

    def _advance(self, now: float) -> list[Sent]:
        """Go on to the next phase where that may be; return what it sends."""
        current = self._under_way()
        if current is None:
            return []
        is_over = now >= self._ends_at(current)
        if current.switched_at is None:
            missing = self._missing(current.ready)
            if not is_over and (missing or not self._times.acknowledged):
                return []
            current.switched_at, current.last, current.unready = now, self.number, missing
            self.place = current.target
            self._restart_repeating(now)
            sent = self._signals()
            # Nobody may be there to wait for.
            return [*sent, *self._advance(now)]
        missing = self._missing(current.done)
        if not is_over and (missing or not self._times.acknowledged):
            return []
        current.done_at, current.undone = now, missing
        self._silent.update(missing)
        queued, self._queued = self._queued, None
        return [] if queued is None else self.move_to(queued, now)

    def _missing(self, answered: Collection[str]) -> tuple[str, ...]:
        if not self._times.acknowledged:
            return ()
        return tuple(sorted(set(self._receivers()) - set(answered)))

    def _restart_repeating(self, now: float) -> None:
        self._pause_s = self._times.repeat_s
        self._repeat_at = now + self._pause_s

    def _signals(self) -> list[Sent]:
        """Return the two signals of the running phase."""
        current = self._under_way()
        if current is None:
            return []
        if current.switched_at is None:
            on_the_old = (Kind.CHANGE, self.number)
            on_the_new = (Kind.BEACON, 0)
        else:
            on_the_old = (Kind.LAST, current.last)
            on_the_new = (Kind.FIRST, current.last + 1)
        return [
            (current.source, self._frame(*on_the_old, current.target, current.move)),
            (current.target, self._frame(*on_the_new, current.target, current.move)),
        ]

    def _frame(
        self, kind: Kind, number: int, place: Place, move: int, payload: bytes = b""
    ) -> Frame:
        return Frame(
            kind=kind,
            flow=self.flow,
            sender=self.sender,
            life=self.life,
            move=move,
            number=number,
            place=place,
            payload=payload,
        )
