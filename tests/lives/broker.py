"""The model of a broker: streams on its disk, subjects in its memory, who acts for it.

As the NATS driver uses its server, so that whoever runs on this meets the same surprises:
- a stream numbers its messages in one life (`created`), refuses what is too much, is purged up to
  a number, and knows the last position of an origin only as long as it holds that message;
- an outbox, an ingress or a delivery stream exists when somebody has made it, and no sooner;
- what an ingress stores belongs to the life of the server that stored it: a disk that was set back
  gives its numbers again, in another life;
- one incarnation acts for it: `claim` closes the connections of every other process;
- best effort reaches whoever is subscribed at that moment;
- a stopped broker forgets connections and keeps streams; its data can be lost or set back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from agent.admission import AdmissionBook, Admitted
from agent.drivers.base import Channel, Interest, Message, Place
from weir.coordination.wire import ClassSpec, Delivery

MAX_PAYLOAD = 1_024
"""Bytes of one message, headers included; small, so that lives can fill it."""
HEADERS = 160
"""What Weir adds to a reliable message: origin, position, id."""


class Record(NamedTuple):
    """Who acts for a broker: the newest incarnation, and the process that claimed it."""

    incarnation: int = 0
    life: str = ""


NOBODY = Record()


class Refusal(Exception):
    """The broker says no; the text says why."""


class Stream:
    """Messages on disk under rising numbers."""

    def __init__(self, made: int) -> None:
        """`made`: a number that no other stream of this broker ever has."""
        self.made = made
        self.last = made * 10_000
        self.most_bytes = MAX_PAYLOAD
        """An ingress refuses to publishers what is larger with what Weir adds."""
        self.closed = False
        """An ingress refuses all publishers."""
        self.waiting: deque[tuple[int, Message]] = deque()
        self._high: dict[tuple[str, str], tuple[int, int]] = {}
        """(flow, origin) -> position and number of its last message that is still here."""
        self.watchers: list[Callable[[], None]] = []

    @property
    def first(self) -> int:
        """The number of the first message there is."""
        return self.waiting[0][0] if self.waiting else self.last + 1

    def position(self, flow: str, origin: str) -> int:
        """Of the last message of an origin that is here; 0 when none is."""
        return self._high.get((flow, origin), (0, 0))[0]

    def append(self, messages: Sequence[Message], *, identified: bool = True) -> list[Message]:
        """Those that were not here: positions of an origin rise, marks are always new."""
        taken = []
        for message in messages:
            key = (message.flow, message.origin)
            known = identified and not message.mark
            if known and message.position <= self.position(*key):
                continue
            self.last += 1
            self.waiting.append((self.last, message))
            if not message.mark:
                self._high[key] = (message.position, self.last)
            taken.append(message)
        if taken:
            self.notify()
        return taken

    def notify(self) -> None:
        """Whoever waits for messages looks again."""
        watchers, self.watchers = self.watchers, []
        for watcher in watchers:
            watcher()

    def purge(self, before: int) -> None:
        """Remove everything below a number."""
        waiting = self.waiting
        while waiting and waiting[0][0] < before:
            number, message = waiting.popleft()
            key = (message.flow, message.origin)
            if not message.mark and self._high[key][1] == number:
                del self._high[key]

    def since(self, number: int, most: int) -> list[tuple[int, Message]]:
        """Up to `most` messages from a number on."""
        skip = max(0, number - self.first)
        return [self.waiting[i] for i in range(skip, min(len(self.waiting), skip + most))]

    def copy(self) -> Stream:
        """As it stands on the disk."""
        copy = Stream(self.made)
        copy.most_bytes = self.most_bytes
        copy.closed = self.closed
        copy.last = self.last
        copy.waiting = deque(self.waiting)
        copy._high = dict(self._high)
        return copy


@dataclass(frozen=True, slots=True)
class Data:
    """What a broker's disk holds."""

    streams: Mapping[Channel, Stream]
    interests: Mapping[str, tuple[Interest, int]]
    record: Record = NOBODY
    noted_state: int = 0


@dataclass(slots=True)
class ModelBroker:
    """One server."""

    name: str
    up: bool = True
    boots: int = 1
    """Connections are of one boot, and so is what is stored."""
    streams: dict[Channel, Stream] = field(default_factory=dict)
    interests: dict[str, tuple[Interest, int]] = field(default_factory=dict)
    """Neighbour -> what it said last, and the boot that stored it."""
    revisions: int = 0
    """How often neighbours have said what they want; no disk sets it back, like the clock."""
    record: Record = NOBODY
    noted_state: int = 0
    """How far the agent's state directory has come."""
    made: int = 0
    """Streams ever made here; no disk sets it back, as the server's clock counts them."""
    listeners: list[Callable[[], None]] = field(default_factory=list)
    """Who is told when interest or the record changed, or connections are gone."""
    subscribers: dict[Channel, list[Callable[[list[Message]], None]]] = field(default_factory=dict)
    book: AdmissionBook = field(default_factory=AdmissionBook)
    admitting: str = ""
    """The process that answers whoever wants to be let in; it comes back after each stop."""
    connections: int = 0
    asked: list[Callable[[str, bytes, Callable[[bytes], None]], None]] = field(default_factory=list)
    """Who answers questions to the agent of this broker."""
    set_aside: dict[str, int] = field(default_factory=dict)
    """Flow -> messages that cannot be carried."""
    carried: int = 0
    """Copies of what waited for neighbours that were gone."""
    on_delivered: Callable[[ModelBroker, str, list[Message]], None] = lambda *_: None
    """Told of whatever a delivery stream or subject takes."""
    on_closed: Callable[[str, str], None] = lambda *_: None
    """Told of a class and its consumer whose connection the server closed."""

    # --- the server's life

    def stop(self) -> None:
        """The process ends: connections and subscriptions are gone, streams stay."""
        self.up = False
        self.boots += 1
        self.subscribers.clear()
        self.asked.clear()
        self.book.clear()
        for stream in self.streams.values():
            stream.notify()
        self._news()

    def start(self) -> None:
        """It is back."""
        self.up = True

    def _news(self) -> None:
        listeners, self.listeners = self.listeners, []
        for listener in listeners:
            listener()

    def data(self) -> Data:
        """A copy of the disk."""
        return Data(
            {channel: stream.copy() for channel, stream in self.streams.items()},
            dict(self.interests),
            self.record,
            self.noted_state,
        )

    def set_back(self, data: Data) -> None:
        """The disk is what it was once, or empty; only while it is stopped."""
        assert not self.up
        self.streams = {channel: stream.copy() for channel, stream in data.streams.items()}
        self.interests = dict(data.interests)
        self.record = data.record
        self.noted_state = data.noted_state

    # --- who acts

    def claim(self, incarnation: int, life: str) -> None:
        """Act for this broker; whoever did is cut off. Raises Replaced for an older session."""
        if incarnation < self.record.incarnation:
            raise Replaced(self.record)
        if self.record != (incarnation, life):
            self.record = Record(incarnation, life)
            self._news()

    def note_state(self, number: int) -> None:
        """Remember the largest number of the agent's state directory."""
        self.noted_state = max(self.noted_state, number)

    def check(self, mine: Record) -> None:
        """Raises Replaced when somebody else acts; a disk that was set back has forgotten us."""
        if not mine.life or mine == self.record or mine.life == self.record.life:
            return
        if mine.incarnation > self.record.incarnation:
            self.claim(*mine)
            return
        raise Replaced(self.record)

    # --- what agents ask

    def ensure(self, channel: Channel, max_message_bytes: int = 0) -> None:
        """The stream exists."""
        if channel.delivery is not Delivery.RELIABLE:
            return
        if channel not in self.streams:
            self.made += 1
            self.streams[channel] = Stream(self.made)
        if channel.place is Place.INGRESS:
            self.streams[channel].most_bytes = min(MAX_PAYLOAD, max_message_bytes or MAX_PAYLOAD)
            self.streams[channel].closed = False

    def close_ingress(self, but: Collection[str]) -> None:
        """Publishers of all other flows are refused."""
        for channel, stream in self.streams.items():
            if channel.place is Place.INGRESS and channel.flow not in but:
                stream.closed = True

    def stream(self, channel: Channel) -> Stream:
        """Raises Refusal when there is none."""
        try:
            return self.streams[channel]
        except KeyError:
            raise Refusal(f"the stream {channel} does not exist") from None

    def drop(self, channel: Channel) -> None:
        """The stream is gone, with everything in it."""
        stream = self.streams.pop(channel, None)
        if stream is not None:
            stream.notify()

    def append(self, channel: Channel, messages: Sequence[Message]) -> None:
        """Reliable messages or marks, each once; what cannot be carried is set aside."""
        stream = self.stream(channel)
        fit = [message for message in messages if self._fits(message)]
        taken = stream.append(fit)
        if channel.place is Place.DELIVERY and taken:
            self.on_delivered(self, channel.flow, taken)

    def _fits(self, message: Message) -> bool:
        if message.mark or len(message.payload) + HEADERS <= MAX_PAYLOAD:
            return True
        self.set_aside[message.flow] = self.set_aside.get(message.flow, 0) + 1
        return False

    def send(self, channel: Channel, messages: list[Message]) -> None:
        """Best effort, to whoever is subscribed now."""
        if channel.place is Place.DELIVERY:
            self.on_delivered(self, channel.flow, messages)
            return
        for subscriber in self.subscribers.get(channel, ()):
            subscriber(messages)

    def keep(self, said: Interest) -> None:
        """What a neighbour wants."""
        self.revisions += 1
        revision = f"{self.boots} {self.revisions}"
        self.interests[said.neighbour] = (replace(said, revision=revision), self.boots)
        self._news()

    def wanted(self) -> dict[str, Interest]:
        """What neighbours want; stale: what was stored before this server began."""
        return {
            name: replace(said, stale=boot < self.boots)
            for name, (said, boot) in self.interests.items()
        }

    def rule(self, life: str, classes: Mapping[str, ClassSpec], now: float) -> None:
        """Admit by these limits; whoever is above one is released."""
        self.admitting = life
        for place in self.book.rule(classes):
            self.book.gone(place.connection, now)
            self.on_closed(place.name, place.consumer)

    # --- what clients ask

    def publish(self, flow: str, delivery: Delivery, payload: bytes) -> int:
        """The number under which it was acknowledged; 0 when it was not."""
        channel = Channel(place=Place.INGRESS, delivery=delivery, flow=flow)
        if not self.up:
            return 0
        if delivery is Delivery.BEST_EFFORT:
            self.send(channel, [Message(flow, payload)])
            return 1
        stream = self.streams.get(channel)
        if stream is None or stream.closed or not self.takes(stream, payload):
            return 0
        stream.append([Message(flow, payload, self.origin(stream))], identified=False)
        return stream.last

    def takes(self, stream: Stream, payload: bytes) -> bool:
        """Whether an ingress takes a payload: what can be carried to its end."""
        return len(payload) + HEADERS <= stream.most_bytes

    def origin(self, stream: Stream) -> str:
        """Of what an ingress stores now."""
        return f"{self.name}-{stream.made}-{self.boots}"

    def ask(self, name: str, consumer: str, now: float) -> bool:
        """A consumer of a class wants to be let in."""
        if not self.up or not self.admitting or name not in self.book.classes:
            return False
        self.connections += 1
        answer = self.book.ask(name=name, consumer=consumer, connection=self.connections, now=now)
        return isinstance(answer, Admitted)


class Replaced(Exception):
    """Another process acts for this broker."""

    def __init__(self, record: Record) -> None:
        super().__init__(f"incarnation {record.incarnation} acts for this broker")
        self.incarnation = record.incarnation
