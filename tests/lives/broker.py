"""The model of a broker: streams on its disk, subjects in its memory, what neighbours want.

As the NATS driver uses its server, so that whoever runs on this meets the same surprises:
- a stream numbers its messages in one life (`created`), refuses what is too much, is purged up to
  a number, and knows the last position of an origin only as long as it holds that message;
- an outbox, an ingress or a delivery stream exists when somebody has made it, and no sooner;
- best effort reaches whoever is subscribed at that moment;
- a stopped broker forgets connections and keeps streams; its data can be lost or set back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.drivers.base import Channel, Interest, Message, Place
from weir.coordination.wire import Delivery

MAX_PAYLOAD = 1_024
"""Bytes of one message, headers included; small, so that lives can fill it."""
HEADERS = 160
"""What Weir adds to a reliable message: origin, position, id."""

Copy = tuple[int, list[Message]]


class Refusal(Exception):
    """The broker says no; the text says why."""


class Stream:
    """Messages on disk under rising numbers."""

    def __init__(self, created: str) -> None:
        self.created = created
        self.last = 0
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
        copy = Stream(self.created)
        copy.last = self.last
        copy.waiting = deque(self.waiting)
        copy._high = dict(self._high)
        return copy


@dataclass(frozen=True, slots=True)
class Data:
    """What a broker's disk holds."""

    streams: Mapping[Channel, Stream]
    interests: Mapping[str, Interest]
    fenced: int = 0
    lives: int = 0


@dataclass(slots=True)
class ModelBroker:
    """One server."""

    name: str
    up: bool = True
    boots: int = 0
    """Connections are of one boot."""
    streams: dict[Channel, Stream] = field(default_factory=dict)
    interests: dict[str, Interest] = field(default_factory=dict)
    fenced: int = 0
    """The incarnation that may act; older ones are cut off."""
    entries: int = 0
    acting: int = 0
    """The entry of the newest session; those before it are cut off."""
    fences_data: bool = True
    """False: fencing cuts off admission alone."""
    lives: int = 0
    """Streams ever made here, as the clock of the server would number them."""
    listeners: list[Callable[[], None]] = field(default_factory=list)
    """Who is told when interest changed."""
    subscribers: dict[Channel, list[Callable[[list[Message]], None]]] = field(default_factory=dict)
    on_delivered: Callable[[ModelBroker, str, list[Message]], None] = lambda *_: None
    """Told of whatever a delivery stream or subject takes."""
    on_reset: Callable[[ModelBroker], None] = lambda _: None

    # --- the server's life

    def stop(self) -> None:
        """The process ends: connections and subscriptions are gone, streams stay."""
        self.up = False
        self.boots += 1
        self.subscribers.clear()
        self.wake_all()

    def start(self) -> None:
        """It is back."""
        self.up = True

    def wake_all(self) -> None:
        """Whoever waits for something of this broker looks again."""
        for stream in self.streams.values():
            stream.notify()
        listeners, self.listeners = self.listeners, []
        for listener in listeners:
            listener()

    def data(self) -> Data:
        """A copy of the disk."""
        return Data(
            {channel: stream.copy() for channel, stream in self.streams.items()},
            dict(self.interests),
            self.fenced,
            self.lives,
        )

    def set_back(self, data: Data) -> None:
        """The disk is what it was once, or empty; only while it is stopped."""
        assert not self.up
        self.streams = {channel: stream.copy() for channel, stream in data.streams.items()}
        self.interests = dict(data.interests)
        self.fenced = data.fenced
        # The server's clock goes on: what is made from now on has another life.
        self.on_reset(self)

    # --- what agents ask

    def enter(self) -> int:
        """An agent opens its connections; what `check` needs to tell it from others."""
        self.entries += 1
        return self.entries

    def check(self, entry: int) -> None:
        """Raises Replaced for whoever was there before the newest session and is not it."""
        if self.fences_data and entry < self.acting and entry:
            raise Replaced(f"session {self.fenced} acts for {self.name}")

    def fence(self, entry: int, incarnation: int) -> None:
        """Cut off whoever was there before this entry. Raises Replaced for an older session."""
        if incarnation < self.fenced:
            raise Replaced(f"session {self.fenced} acts for {self.name}")
        self.fenced = incarnation
        self.acting = max(self.acting, entry)

    def ensure(self, channel: Channel) -> None:
        """The stream exists."""
        if channel.delivery is Delivery.RELIABLE and channel not in self.streams:
            self.lives += 1
            self.streams[channel] = Stream(f"{self.lives}")

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
        """Reliable messages or marks, each once, all or none."""
        for message in messages:
            if len(message.payload) + (0 if message.mark else HEADERS) > MAX_PAYLOAD:
                raise TooLarge(f"{len(message.payload)} bytes and headers: Maximum Payload")
        taken = self.stream(channel).append(messages)
        if channel.place is Place.DELIVERY and taken:
            self.on_delivered(self, channel.flow, taken)

    def send(self, channel: Channel, messages: list[Message]) -> None:
        """Best effort, to whoever is subscribed now."""
        if channel.place is Place.DELIVERY:
            self.on_delivered(self, channel.flow, messages)
            return
        for subscriber in self.subscribers.get(channel, ()):
            subscriber(messages)

    # --- what publishers ask

    def publish(self, flow: str, delivery: Delivery, payload: bytes) -> int:
        """The number under which it was acknowledged; 0 when it was not."""
        channel = Channel(place=Place.INGRESS, delivery=delivery, flow=flow)
        if not self.up:
            return 0
        message = Message(flow, payload)
        if delivery is Delivery.BEST_EFFORT:
            self.send(channel, [message])
            return 1
        stream = self.streams.get(channel)
        if stream is None or len(payload) > self.largest:
            return 0
        stream.append([message], identified=False)
        return stream.last

    @property
    def largest(self) -> int:
        """Bytes of a payload that an ingress takes: what can be carried to its end."""
        return MAX_PAYLOAD - HEADERS


class Replaced(Exception):
    """A newer incarnation acts for this broker."""


class TooLarge(Exception):
    """The server closes the connection that sent this."""
