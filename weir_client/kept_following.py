"""Follow reliable flows from kept stream to kept stream: what to read, and in which order.

Nothing here knows a network. A reader reads each of its streams in the order of the numbers there,
and hands out what is wanted. For each wanted flow it knows on which stream it reads it, by which
move that came, and up to which number it has it there. Two rules keep the order of every flow:

- *Last* of a flow on its stream sends the flow on to the stream that it names, from First's number
  there: that stream is opened there. If it is open and has been read further, for other flows, it
  is read again from there, and what those others have already is left out.
- *First* of a move that the reader has not come to stops its stream until it has: until Last was
  read where the flow is.

**Streams that wait for each other.** Each hand-over writes First, then Last, and at one broker no
two that share a stream overlap, unless they go the same way. A stream that waits is at First of a
hand-over H, and what it waits for is Last of a hand-over L on another stream: L is H, or an earlier
one of the same flow, and ended no later than H. If that other stream waits, too, then before that
Last, at First of a hand-over H'. H' goes to the stream that L leaves. They share it, and H' began
before that Last was written, so H' had ended before L began, and before H ended. So whoever waits
is of a hand-over that ended later than the one it waits for, and the first one waits for nobody.
Hand-overs that share no stream may be written in any order: these are never H' and L.

A Last that retention has removed never comes. The agent knows the course of each flow, so
`compare` goes on from the next stay that is left, once the stream was read to where Last was. Where
something is missing in a stream, what comes of its flows behind that waits for the agent's word:
they may have left and come back in between.

**An older disk.** A stream that is made again goes on above all that it has had, and so do moves.
So a stream whose last number is below what was read of it, or a flow with fewer moves than it had,
is as it was at an earlier time, and goes on differently. What was read there says nothing of what
is there now: its flows are begun anew, with all that is kept. Where what a reader knows of moves is
not on the disk, what it has kept there is not, either: then all of its flows are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from weir_client.frames import Place
from weir_client.keeping import Course, Courses, Kind, Signal, Stay, moves_of

NEWEST = "newest"
KEPT = "kept"
ANEW = -1
"""In place of a move: the flow is begun anew as soon as the agent says where it is."""
ANEW_FROM_NOWHERE = -2
"""The same of one that was on no stream: what is lost with that is not reported yet."""
_MOST = 2**63
_FLOW_BYTES = len(json.dumps([[2**32, 2**32], _MOST, _MOST, 1], separators=(",", ":"))) + 2
_STREAM_BYTES = len(json.dumps([2**32, 2**32, _MOST, _MOST, 1], separators=(",", ":"))) + 1
_BYTES = 100


@dataclass(frozen=True, slots=True)
class Lost:
    """Numbers of a kept stream that were removed before this reader had read them. Messages of
    these flows may have been among them."""

    place: Place
    first: int
    last: int | None
    """None: it is not known any more."""
    flows: tuple[str, ...]


@dataclass(slots=True)
class Wanted:
    """Where a flow is read."""

    place: Place | None
    """None: it is on no stream."""
    move: int
    after: int
    """The reader has, or does not want, what the stream holds of it up to this number."""
    since: int = 0
    """Generations up to this one were of another history: what is done of those is not done now."""


@dataclass(slots=True)
class Reading:
    """How far a stream was read."""

    position: int
    """Everything up to this number is done."""
    generation: int
    """It rises whenever reading begins anew."""
    lane: int
    """0 or 1: which of the reader's two consumers reads it."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a reader knows when it asks; it may know more when the answer comes."""

    moves: Mapping[str, int]
    reaches: Mapping[Place, int]
    """Stream -> the last number that is known of it."""


@dataclass(slots=True)
class Following:
    """What one reader wants, and how far it is."""

    flows: dict[str, Wanted] = field(default_factory=dict)
    streams: dict[Place, Reading] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)
    """Flows whose Last may have been removed."""
    torn: set[str] = field(default_factory=set)
    """Those of which something may be missing before what comes next: it may be of a later stay on
    the same stream, so it waits for the agent's word."""
    generation: int = 0
    is_changed: bool = False
    """Whether something is to be kept that is not yet: all but positions."""

    # --- what is wanted

    def begin(
        self, flow: str, course: Course, courses: Courses, start: str, *, since: int = 0
    ) -> None:
        """Want a flow, from the newest message or from all that is kept. Generations of reading up
        to `since` are of another history."""
        self.flows[flow] = Wanted(None, moves_of(course), 0, since)
        self.is_changed = True
        for stay in course:
            oldest, newest = courses.bounds[stay.place]
            if stay.last is not None and (start == NEWEST or stay.last < oldest):
                continue
            begin = max(stay.first, oldest if start == KEPT else newest + 1)
            # Where there is no such stream now, these are no numbers.
            is_there = oldest <= newest + 1
            self._enter(flow, Stay(stay.move, stay.place, begin if is_there else stay.first))
            break

    def end(self, flow: str) -> None:
        """Want a flow no more."""
        if self.flows.pop(flow, None) is not None:
            self._make_sure(flow)
            self._close_unneeded()
            self.is_changed = True

    # --- what is read

    def holds(self, place: Place, number: int, flow: str, signal: Signal | None) -> bool:
        """Return whether a stream has to wait at this message."""
        wanted = self.flows.get(flow)
        if signal is None:
            return flow in self.torn and self.is_wanted(place, number, flow)
        if wanted is None or signal.kind is not Kind.FIRST:
            return False
        if wanted.place is None and signal.other is None and signal.move == wanted.move + 1:
            return False
        return signal.move > wanted.move

    def lost_before(self, place: Place, number: int) -> Lost | None:
        """Return what is missing between what was read of a stream and this number."""
        first = self.streams[place].position + 1
        if number <= first:
            return None
        flows = [f for f, w in self.flows.items() if w.place == place and w.after < number - 1]
        if flows:
            self.doubtful.update(flows)
            self.torn.update(flows)
            self.is_changed = True
        return Lost(place, first, number - 1, tuple(sorted(flows))) if flows else None

    def is_wanted(self, place: Place, number: int, flow: str) -> bool:
        """Return whether a message that is no signal is to be handed out."""
        wanted = self.flows.get(flow)
        return wanted is not None and wanted.place == place and number > wanted.after

    def take_signal(self, place: Place, number: int, flow: str, signal: Signal) -> None:
        """Take a signal that does not hold up its stream."""
        wanted = self.flows.get(flow)
        if wanted is None or signal.move <= wanted.move:
            return
        if signal.kind is Kind.FIRST:
            self._enter(flow, Stay(signal.move, place, number))
        elif wanted.place == place and signal.move == wanted.move + 1:
            if signal.other is None:
                self._rest(flow, signal.move)
            else:
                self._enter(flow, Stay(signal.move, signal.other, signal.number))

    def finish(self, place: Place, number: int, flow: str, generation: int) -> None:
        """Take note that everything up to this message is done. If reading has begun anew since it
        was read, it alone is."""
        reading, wanted = self.streams.get(place), self.flows.get(flow)
        if reading is not None and reading.generation == generation:
            reading.position = max(reading.position, number)
        elif (
            wanted is not None
            and wanted.place == place
            and wanted.after < number
            and wanted.since < generation
        ):
            wanted.after = number
            self.is_changed = True

    def begin_anew(self, place: Place) -> None:
        """Read a stream with another consumer, from where it was done."""
        self._read_from(place, self.streams[place].position)

    def reaches(self) -> dict[Place, int]:
        """Return for each stream the last number that is known to have been given there."""
        reaches = {place: reading.position for place, reading in self.streams.items()}
        for wanted in self.flows.values():
            if wanted.place is not None:
                reaches[wanted.place] = max(reaches[wanted.place], wanted.after)
        return reaches

    def forget(self, place: Place) -> list[Lost]:
        """Begin all flows of a stream anew, which has another history than was read. Return what
        is lost with that."""
        if place not in self.streams:
            return []
        reach = self.reaches()[place]
        flows = sorted(flow for flow, wanted in self.flows.items() if wanted.place == place)
        for flow in flows:
            self._make_sure(flow)
            self.flows[flow] = Wanted(None, ANEW, 0, self.generation)
        self._close_unneeded()
        self.is_changed = True
        return [Lost(place, reach + 1, None, tuple(flows))]

    def forget_all(self) -> list[Lost]:
        """Begin all flows anew: no stream has the history that was read."""
        losses = [lost for place in list(self.streams) for lost in self.forget(place)]
        for flow, wanted in self.flows.items():
            if wanted.move >= 0:
                self.flows[flow] = Wanted(None, ANEW_FROM_NOWHERE, 0, self.generation)
        self.is_changed = True
        return losses

    # --- what the agent knows

    def known(self) -> Known:
        """Return what is known now, to compare an answer with."""
        return Known(
            {flow: wanted.move for flow, wanted in self.flows.items()},
            self.reaches(),
        )

    def compare(
        self,
        courses: Courses,
        received: Mapping[Place, int],
        known: Known,
        held: Mapping[Place, str] = MappingProxyType({}),
    ) -> list[Lost]:
        """Go on with flows whose Last was removed; `received`: the last number that has come of
        each stream, done or not; `known`: what was known when the agent was asked; `held`: streams
        that wait at a message of a flow. Return what is lost with that."""
        losses: list[Lost] = []
        for place, (oldest, newest) in courses.bounds.items():
            # Where there is no stream, the oldest number is above all.
            if oldest <= newest + 1 and newest < known.reaches.get(place, 0):
                losses += self.forget(place)
        for flow in courses.flows.keys() & self.flows.keys():
            course, wanted = courses.flows[flow], self.flows[flow]
            if wanted.move < 0 or moves_of(course) < known.moves.get(flow, 0):
                losses += self._begin_again(flow, course, courses)
                continue
            if moves_of(course) <= wanted.move:
                self._make_sure(flow)
                continue
            if wanted.place is not None:
                reading = self.streams[wanted.place]
                arrived = max(reading.position, received.get(wanted.place, 0))
                last = next((s.last for s in course if s.move == wanted.move), None)
                if last is None:
                    # Nothing is known of the stay any more. What has come of it is read first; what
                    # waits at the flow's own First is of a later one.
                    is_read = held.get(wanted.place) == flow or arrived <= reading.position
                    if not is_read and flow not in self.torn:
                        continue
                    if is_read:
                        arrived = reading.position
                    losses.append(Lost(wanted.place, arrived + 1, None, (flow,)))
                elif reading.position < last:
                    first = courses.bounds[wanted.place][0]
                    if first <= last or arrived > reading.position:
                        self._make_sure(flow)
                        continue
                    losses.append(Lost(wanted.place, arrived + 1, last, (flow,)))
            following = next((stay for stay in course if stay.move > wanted.move), None)
            if following is None:
                self._rest(flow, moves_of(course))
            else:
                self._enter(flow, following)
        return losses

    # --- what is kept over restarts

    def to_json(self) -> dict[str, Any]:
        """Return all that a later life needs, but for what its consumers know."""
        return {
            "generation": self.generation,
            "flows": {
                flow: [wanted.place, wanted.move, wanted.after, int(flow in self.torn)]
                for flow, wanted in self.flows.items()
            },
            "streams": [
                [*place, r.position, r.generation, r.lane] for place, r in self.streams.items()
            ],
        }

    @classmethod
    def from_json(cls, state: Any) -> Following:
        """Return what an earlier life has kept; everything is in doubt. Raises ValueError for what
        no reader has kept."""
        try:
            flows = {
                flow: Wanted(None if place is None else Place(*place), move, after)
                for flow, (place, move, after, _) in state["flows"].items()
            }
            torn = {flow for flow, (*_, is_torn) in state["flows"].items() if is_torn}
            streams = {
                Place(group, stream): Reading(position, generation, lane)
                for group, stream, position, generation, lane in state["streams"]
            }
            return cls(flows, streams, set(flows), torn, state["generation"])
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not what a reader keeps: {error}") from error

    # --- helpers

    def _begin_again(self, flow: str, course: Course, courses: Courses) -> list[Lost]:
        """Begin with all that is kept of a flow that has another history than was read. Return what
        is lost with that."""
        before = self.flows[flow]
        reach = 0 if before.place is None else self.reaches()[before.place]
        self._make_sure(flow)
        self.begin(flow, course, courses, KEPT, since=self.generation)
        wanted = self.flows[flow]
        if before.place is not None:
            return [Lost(before.place, reach + 1, None, (flow,))]
        if before.move == ANEW or wanted.place is None:
            return []
        return [Lost(wanted.place, wanted.after + 1, None, (flow,))]

    def _enter(self, flow: str, stay: Stay) -> None:
        """Read a flow on the stream of a stay, from its beginning."""
        wanted = self.flows[flow]
        reading = self.streams.get(stay.place)
        if reading is None:
            self._read_from(stay.place, stay.first - 1)
        elif reading.position >= stay.first:
            for name, other in self.flows.items():
                if name != flow and other.place == stay.place:
                    other.after = max(other.after, reading.position)
            self._read_from(stay.place, stay.first - 1)
        if self.streams[stay.place].generation <= wanted.since:
            self.begin_anew(stay.place)
        wanted.place, wanted.move, wanted.after = stay.place, stay.move, stay.first - 1
        self._make_sure(flow)
        self._close_unneeded()
        self.is_changed = True

    def _make_sure(self, flow: str) -> None:
        self.doubtful.discard(flow)
        if flow in self.torn:
            self.torn.discard(flow)
            self.is_changed = True

    def _rest(self, flow: str, move: int) -> None:
        wanted = self.flows[flow]
        wanted.place, wanted.move, wanted.after = None, move, 0
        self._make_sure(flow)
        self._close_unneeded()
        self.is_changed = True

    def _read_from(self, place: Place, position: int) -> None:
        reading = self.streams.get(place)
        self.generation += 1
        lane = 0 if reading is None else 1 - reading.lane
        self.streams[place] = Reading(position, self.generation, lane)
        self.is_changed = True

    def _close_unneeded(self) -> None:
        needed = {wanted.place for wanted in self.flows.values()}
        for place in self.streams.keys() - needed:
            del self.streams[place]


def most_bytes(flows: Iterable[str]) -> int:
    """Return the most bytes that the state of a reader of these flows takes, as JSON without
    spaces, wherever they are."""
    return _BYTES + sum(len(json.dumps(flow)) + _FLOW_BYTES + _STREAM_BYTES for flow in flows)


def unsettled(following: Following, held: Iterable[str]) -> set[str]:
    """Return the flows that the agent is to be asked about."""
    resting = {flow for flow, wanted in following.flows.items() if wanted.place is None}
    return following.doubtful | resting | set(held)
