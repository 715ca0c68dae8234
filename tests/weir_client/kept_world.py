"""An agent that keeps flows on streams and a reader that follows them, without network and clock.

Each turn something happens somewhere: a message is published, a flow handed over by one step more,
the agent or the reader ends and begins again, the reader goes on in one of its streams.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from weir_client.frames import Place
from weir_client.keeping import Course, Courses, Kind, Signal, Stay, is_there, moves_of
from weir_client.kept_following import KEPT, Following, Lost

FLOWS = ("f", "g", "h", "i")
PLACES = (Place(0, 0), Place(0, 1), Place(1, 2), Place(1, 3), Place(2, 4))


class Overlap(Enum):
    """Which hand-overs are under way at a time."""

    NONE = auto()
    APART = auto()
    """Those that share no stream."""
    ANY = auto()


@dataclass
class Stream:
    """A kept stream: number -> flow, and its message's position or its signal."""

    begins: int
    entries: dict[int, tuple[str, int | Signal]] = field(default_factory=dict)
    last: int = 0
    high: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Flow -> the position up to which messages are known here."""

    def __post_init__(self) -> None:
        self.last = self.begins

    def append(self, flow: str, what: int | Signal) -> int:
        """Store it; a message that is known is left out."""
        if isinstance(what, int):
            if what <= self.high[flow]:
                return 0
            self.high[flow] = what
        self.last += 1
        self.entries[self.last] = flow, what
        return self.last

    @property
    def first(self) -> int:
        return next(iter(self.entries), self.last + 1)


class Agent:
    """What `agent.drivers.nats.kept_streams` does, one step at a time."""

    def __init__(
        self, chance: random.Random, *, places: tuple[Place, ...], overlap: Overlap
    ) -> None:
        self.streams = {place: Stream(chance.randrange(1_000)) for place in places}
        self.courses: dict[str, Course] = dict.fromkeys(FLOWS, ())
        self.going: dict[str, Place | None] = {}
        """What is recorded as begun."""
        self.published: dict[str, int] = defaultdict(int)
        self.removed: dict[str, set[int]] = defaultdict(set)
        """Messages that retention has removed."""
        self.revision = 0
        self.record = ""
        """What the reader has kept, and how often."""
        self.acknowledged: dict[int, int] = {}
        """Generation -> the number up to which its consumer was acknowledged."""
        self._chance = chance
        self._overlap = overlap
        self._steps: dict[str, Iterator[None]] = {}
        self._ways: dict[str, set[Place | None]] = {}
        """Flow that is being handed over -> its streams."""
        self.at_once = 0
        """The most hand-overs that were under way."""
        self._copy: dict[str, object] = {}

    def place(self, flow: str) -> Place | None:
        return self.courses[flow][-1].place if is_there(self.courses[flow]) else None

    def publish(self, flow: str) -> None:
        place = self.place(flow)
        if flow not in self.going and place is not None:
            self.published[flow] += 1
            self.streams[place].append(flow, self.published[flow])

    def go_on(self) -> None:
        """Take one step of a hand-over, or begin one."""
        if self._steps and (self._overlap is Overlap.NONE or self._chance.random() < 0.8):
            flow = self._chance.choice(list(self._steps))
            if next(self._steps[flow], "done") == "done":
                del self._steps[flow]
            return
        flow = self._chance.choice(FLOWS)
        goal = self._chance.choice([*self.streams, *self.streams, None])
        way = {self.place(flow), goal} - {None}
        others = (self._ways[other] for other in self._steps)
        is_apart = self._overlap is Overlap.ANY or all(way.isdisjoint(other) for other in others)
        if flow not in self._steps and goal != self.place(flow) and is_apart:
            self._steps[flow], self._ways[flow] = self._hand_over(flow, goal), way
            self.at_once = max(self.at_once, len(self._steps))

    def complete(self) -> None:
        while self._steps:
            for flow, steps in list(self._steps.items()):
                if next(steps, "done") == "done":
                    del self._steps[flow]

    def crash(self) -> None:
        """End in the middle, and repeat what was not settled."""
        self._steps = {flow: self._hand_over(flow, to) for flow, to in self.going.items()}
        self.complete()
        for flow in FLOWS:
            place = self.place(flow)
            if place is not None:
                for position in range(max(1, self.published[flow] - 3), self.published[flow] + 1):
                    # Stored while the flow was on no stream, it is not stored later either.
                    self.streams[place].append(flow, position)

    def stored(self, flow: str) -> set[int]:
        """The positions of the flow's messages on the disk."""
        entries = (entry for stream in self.streams.values() for entry in stream.entries.values())
        return {what for name, what in entries if name == flow and isinstance(what, int)}

    def copy_disk(self) -> None:
        """Take a copy of the disk, which may come back."""
        disk = ("streams", "courses", "going", "revision", "record", "acknowledged")
        self._copy = {name: copy.deepcopy(getattr(self, name)) for name in disk}

    def restore_disk(self) -> bool:
        """Go on with the copy, if there is one; what was stored since is gone."""
        for name, value in self._copy.items():
            setattr(self, name, copy.deepcopy(value))
        self._steps = {flow: self._hand_over(flow, to) for flow, to in self.going.items()}
        self.complete()
        return bool(self._copy)

    def retain(self) -> None:
        """Let the oldest of a stream be removed."""
        stream = self.streams[self._chance.choice(list(self.streams))]
        for number in list(stream.entries)[: self._chance.randrange(12)]:
            flow, what = stream.entries.pop(number)
            if isinstance(what, int):
                self.removed[flow].add(what)

    def answer(self) -> Courses:
        flows = {f: course for f, course in self.courses.items() if f not in self.going}
        return Courses(flows, {place: (s.first, s.last) for place, s in self.streams.items()})

    def _hand_over(self, flow: str, target: Place | None) -> Iterator[None]:
        course, source = self.courses[flow], self.place(flow)
        move = moves_of(course) + 1
        self.going[flow] = target
        yield
        first = last = 0
        if target is not None:
            stream = self.streams[target]
            if course:
                former = self.streams[course[-1].place].high[flow]
                stream.high[flow] = max(stream.high[flow], former)
            first = stream.append(flow, Signal(Kind.FIRST, move, source))
            yield
        if source is not None:
            last = self.streams[source].append(flow, Signal(Kind.LAST, move, target, first))
            yield
            left = course[-1]
            course = (*course[:-1], Stay(left.move, left.place, left.first, last))
        if target is not None:
            course = (*course, Stay(move, target, first))
        self.courses[flow] = course
        del self.going[flow]


class Reader:
    """What `weir_client.reliable` does with one `Following`, one step at a time."""

    def __init__(self, agent: Agent, chance: random.Random, kind: type[Following]) -> None:
        self.got: dict[str, list[int]] = defaultdict(list)
        self.lost: list[Lost] = []
        self._agent, self._chance, self._kind = agent, chance, kind
        self._following = kind()
        self._buffers: dict[tuple[Place, int], list[int]] = defaultdict(list)
        self._revision = 0
        self._following.is_changed = True
        self._save()

    def want(self, *flows: str) -> None:
        courses = self._agent.answer()
        for flow in flows:
            if flow in courses.flows and flow not in self._following.flows:
                self._following.begin(flow, courses.flows[flow], courses, KEPT)
        self._save()

    def crash(self) -> None:
        """Go on from what is kept."""
        self._following = self._kind.from_json(json.loads(self._agent.record))
        self._revision = self._agent.revision
        for place, reading in list(self._following.streams.items()):
            floor = self._agent.acknowledged.get(reading.generation, 0)
            reading.position = max(reading.position, floor)
            self._following.begin_anew(place)
        self._buffers.clear()
        self._save()

    def reconnect(self) -> None:
        for place in list(self._following.streams):
            self._following.begin_anew(place)
        self._buffers.clear()
        self._following.is_changed = True
        self._save()
        for place, reach in self._following.reaches().items():
            if self._agent.streams[place].last < reach:
                self.lost += self._following.forget(place)
        self._save()

    @property
    def is_ahead(self) -> bool:
        """Whether the disk does not have what this reader has kept last."""
        return self._revision > self._agent.revision

    def ask(self) -> None:
        received = {
            place: max(self._buffers[place, reading.generation], default=0)
            for place, reading in self._following.streams.items()
        }
        self.lost += self._following.compare(
            self._agent.answer(), received, self._following.known()
        )
        self._save()

    def step(self, place: Place | None = None) -> bool:
        """Go on in one stream; return whether anything moved."""
        following = self._following
        if not following.streams:
            return False
        place = place or self._chance.choice(list(following.streams))
        reading = following.streams.get(place)
        if reading is None:
            return False
        stream, generation = self._agent.streams[place], reading.generation
        buffer = self._buffers[place, generation]
        newest = max(buffer, default=reading.position)
        for number in [n for n in stream.entries if n > newest][: self._chance.randrange(1, 6)]:
            buffer.append(number)
            self._contents[place, number] = stream.entries[number]
        if not buffer:
            return False
        number = buffer[0]
        flow, what = self._contents[place, number]
        lost = following.lost_before(place, number)
        if lost is not None:
            self.lost.append(lost)
        following.finish(place, number - 1, "", generation)
        signal = what if isinstance(what, Signal) else None
        if following.holds(place, number, flow, signal):
            return lost is not None
        buffer.pop(0)
        if signal is not None:
            following.take_signal(place, number, flow, signal)
            if self._chance.random() < 0.05:
                self.crash()
                return True
            self._save()
            if self._chance.random() < 0.05:
                self.crash()
                return True
        elif following.is_wanted(place, number, flow):
            assert isinstance(what, int)
            self.got[flow].append(what)
            if self._chance.random() < 0.05:
                self.reconnect()  # while the application has it
        following = self._following
        following.finish(place, number, flow, generation)
        self._agent.acknowledged[generation] = max(
            self._agent.acknowledged.get(generation, 0), number
        )
        self._save()
        return True

    _contents: dict[tuple[Place, int], tuple[str, int | Signal]]

    def _save(self) -> None:
        if self._following.is_changed:
            if 0 < self._agent.revision < self._revision:
                self.lost += self._following.forget_all()
            self._agent.record = json.dumps(self._following.to_json())
            self._agent.revision += 1
            self._revision = self._agent.revision
            self._following.is_changed = False


class World:
    """An agent and a reader. Raises AssertionError where the reader is stuck."""

    def __init__(
        self,
        seed: int,
        *,
        kind: type[Following] = Following,
        overlap: Overlap = Overlap.NONE,
        places: tuple[Place, ...] = PLACES[:3],
        is_forgetful: bool = False,
        is_restored: bool = False,
        turns: int = 400,
    ) -> None:
        self.chance = random.Random(seed)
        self.restored = 0
        self.agent = Agent(self.chance, places=places, overlap=overlap)
        self.reader = Reader(self.agent, self.chance, kind)
        self.reader._contents = {}
        for flow in FLOWS:
            self.agent._steps[flow] = self.agent._hand_over(flow, self.chance.choice(places))
            self.agent.complete()
        self.reader.want(*FLOWS)
        for _ in range(turns):
            self._turn(is_forgetful)
            if is_restored:
                self._lose_disk()
        self.agent.complete()
        for _ in itertools.count():
            moved = [self.reader.step(place) for place in places]
            if any(moved):
                continue
            before = self.reader._following.to_json()
            self.reader.ask()
            if self.reader._following.to_json() == before:
                break
        stuck = {
            flow: wanted
            for flow, wanted in self.reader._following.flows.items()
            if wanted.move != moves_of(self.agent.courses[flow])
        }
        assert not stuck, f"stuck: {stuck}"

    def _lose_disk(self) -> None:
        event = self.chance.random()
        if event < 0.02:
            self.agent.copy_disk()
        elif event < 0.03 and self.agent.restore_disk():
            self.restored += 1
            if self.reader.is_ahead:
                # Otherwise it has to come back before streams are what they were.
                for _ in range(self.chance.randrange(12)):
                    self.agent.publish(self.chance.choice(FLOWS))
                    self.agent.go_on()
            self.reader.reconnect()

    def _turn(self, is_forgetful: bool) -> None:
        event = self.chance.random()
        if event < 0.35:
            self.agent.publish(self.chance.choice(FLOWS))
        elif event < 0.60:
            self.agent.go_on()
        elif event < 0.62:
            self.agent.crash()
        elif event < 0.64:
            self.reader.crash()
        elif event < 0.66:
            self.reader.reconnect()
        elif event < 0.68:
            self.reader.ask()
        elif event < 0.70 and is_forgetful:
            self.agent.retain()
        else:
            self.reader.step()
