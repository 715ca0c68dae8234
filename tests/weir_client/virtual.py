"""Senders and receivers in virtual time: streams with delays, losses, slow joins and deaths."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from weir_client.frames import Frame, Kind, Place, Reply
from weir_client.receiving import FlowReceiver, Lost, Quality, Received
from weir_client.sending import FlowSender, HandOver, HandOverTimes, Phase, Sent

FLOW = "trades"


@dataclass(kw_only=True)
class Weather:
    """What the network does, in seconds and parts."""

    least_delay_s: float = 0.0001
    most_delay_s: float = 0.02
    join_s: float = 0.03
    """The most that a stream takes to be heard."""
    lag_s: float = 0.0
    """The most by which one stream is always later than another."""
    lags: dict[Place, float] = field(default_factory=dict)
    """By how much these are, in seconds."""
    loss: float = 0.0
    reply_loss: float = 0.0


@dataclass
class Heard:
    """What came to one receiver, and what it made of that."""

    arrived: set[tuple[str, int, int]] = field(default_factory=set)
    """Sender, life and number of messages on streams that it listened to."""
    messages: list[tuple[str, int, int]] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    is_early: bool = True
    """Whether it was there before anything was sent."""
    is_alive: bool = True


class World:
    """Streams between senders and receivers of one flow."""

    def __init__(
        self,
        seed: int,
        *,
        weather: Weather | None = None,
        times: HandOverTimes | None = None,
        sender_class: type[FlowSender] = FlowSender,
        receiver_class: type[FlowReceiver] = FlowReceiver,
    ) -> None:
        self.random = random.Random(seed)
        self.weather = weather or Weather()
        self.times = times or HandOverTimes()
        self.now = 0.0
        self.sent: dict[tuple[str, int], dict[int, list[Place]]] = {}
        """Sender and life -> number -> the streams on which the message went."""
        self.senders: dict[str, FlowSender] = {}
        self.goals: dict[str, Place] = {}
        """Sender -> where it was last sent to."""
        self.receivers: dict[str, FlowReceiver] = {}
        self.known: set[str] = set()
        """Receivers that senders wait for."""
        self.heard: dict[str, Heard] = {}
        self.joined: dict[tuple[str, Place], float] = {}
        """Receiver and stream -> from when on it hears it."""
        self.hand_overs: list[HandOver] = []
        self._sender_class, self._receiver_class = sender_class, receiver_class
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._last_at: dict[Any, float] = {}
        self._lags = dict(self.weather.lags)
        self._lives = itertools.count(1)

    # --- time

    def at(self, time: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(time, self.now), next(self._numbers), do))

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, do = heapq.heappop(self._events)
            do()
        self.now = until

    def _in_turn(self, *channel: Any, lag_s: float = 0.0) -> float:
        """Return when what is sent now arrives: after all that was sent before on the channel."""
        delay_s = self.random.uniform(self.weather.least_delay_s, self.weather.most_delay_s)
        at = max(self.now + delay_s + lag_s, self._last_at.get(channel, 0.0))
        self._last_at[channel] = at
        return at

    # --- people

    def add_sender(self, name: str, place: Place) -> FlowSender:
        life = next(self._lives)
        sender = self._sender_class(
            FLOW,
            name,
            life=life,
            place=place,
            times=self.times,
            receivers=lambda: tuple(self.known),
        )
        self.senders[name], self.goals[name] = sender, place
        self.sent[name, life] = {}
        return sender

    def add_receiver(
        self, name: str, quality: Quality = Quality.ORDERED, *, is_early: bool = True
    ) -> None:
        """Let a receiver listen where the map says; once it does, senders know it."""
        places = self.mapped()
        self.receivers[name] = self._receiver_class(FLOW, name, places=places, quality=quality)
        self.heard[name] = Heard(is_early=is_early)
        self._join(name)
        known_s = 0.0 if is_early else self.random.uniform(0.0, self.weather.join_s)
        self.at(self.now + known_s, lambda: self.known.add(name))

    def kill_sender(self, name: str) -> None:
        del self.senders[name], self.goals[name]

    def kill_receiver(self, name: str) -> None:
        """End a receiver; senders hear of that a little later."""
        del self.receivers[name]
        self.heard[name].is_alive = False
        for joined in [each for each in self.joined if each[0] == name]:
            del self.joined[joined]
        gone_s = self.random.uniform(0.0, 0.05)
        self.at(self.now + gone_s, lambda: self.known.discard(name))

    # --- what they do

    def publish(self, name: str) -> None:
        sender = self.senders.get(name)
        if sender is not None:
            self._transmit(sender, sender.send(b"%d" % sender.number))

    def move(self, name: str, place: Place) -> None:
        sender = self.senders.get(name)
        if sender is not None:
            self.goals[name] = place
            self._transmit(sender, sender.move_to(place, self.now))

    def mapped(self) -> frozenset[Place]:
        """Return what a map names: where senders go, where they are, and where they come from."""
        places = set()
        for sender in self.senders.values():
            places |= {sender.goal, sender.place}
            if sender.phase is Phase.DRAINING:
                places.add(sender.hand_over.source)
        return frozenset(places)

    def publish_map(self) -> None:
        """Let every receiver hear at some time soon what the map names now."""
        places = self.mapped()
        for name in self.receivers:
            self.at(self._in_turn("map", name), lambda name=name: self._map(name, places))

    def _map(self, name: str, places: frozenset[Place]) -> None:
        receiver = self.receivers.get(name)
        if receiver is not None:
            receiver.mapped = places
            self._join(name)

    def _transmit(self, sender: FlowSender, frames: list[Sent]) -> None:
        if sender.hand_over is not None and sender.hand_over not in self.hand_overs[-4:]:
            self.hand_overs.append(sender.hand_over)
        for place, frame in frames:
            if frame.kind is Kind.DATA:
                self.sent[sender.sender, sender.life].setdefault(frame.number, []).append(place)
            at = self._in_turn("up", sender.sender, sender.life, place)
            self.at(at, lambda place=place, frame=frame: self._relay(place, frame))
        wake_at = sender.wake_at()
        if wake_at is not None:
            self.at(wake_at, lambda: self._wake_sender(sender))

    def _wake_sender(self, sender: FlowSender) -> None:
        due = sender.wake_at()
        if self.senders.get(sender.sender) is sender and due is not None and due <= self.now:
            self._transmit(sender, sender.wake(self.now))

    def _relay(self, place: Place, frame: Frame) -> None:
        for name in self.receivers:
            joined = self.joined.get((name, place), float("inf"))
            if joined > self.now or self.random.random() < self.weather.loss:
                continue
            at = self._in_turn("down", name, place, lag_s=self._lag_s(place))
            self.at(at, lambda name=name, joined=joined: self._arrive(name, place, frame, joined))

    def _lag_s(self, place: Place) -> float:
        if place not in self._lags:
            self._lags[place] = self.random.uniform(0.0, self.weather.lag_s)
        return self._lags[place]

    def _arrive(self, name: str, place: Place, frame: Frame, joined: float) -> None:
        receiver = self.receivers.get(name)
        # Who left a stream and came back does not hear what was under way then.
        if receiver is not None and self.joined.get((name, place)) == joined:
            if frame.kind is Kind.DATA:
                self.heard[name].arrived.add((frame.sender, frame.life, frame.number))
            self._act(name, receiver, receiver.take(place, frame, self.now))

    def _act(self, name: str, receiver: FlowReceiver, received: Received) -> None:
        for frame in received.messages:
            self.heard[name].messages.append((frame.sender, frame.life, frame.number))
        self.heard[name].lost += received.lost
        for reply in received.replies:
            if self.random.random() >= self.weather.reply_loss:
                self.at(self._in_turn("reply", name), lambda reply=reply: self._answer(reply))
        self._join(name)
        wake_at = receiver.wake_at()
        if wake_at is not None:
            self.at(wake_at, lambda: self._wake_receiver(name, receiver))

    def _wake_receiver(self, name: str, receiver: FlowReceiver) -> None:
        due = receiver.wake_at()
        if self.receivers.get(name) is receiver and due is not None and due <= self.now:
            self._act(name, receiver, receiver.wake(self.now))

    def _answer(self, reply: Reply) -> None:
        sender = self.senders.get(reply.sender)
        if sender is not None:
            self._transmit(sender, sender.take(reply, self.now))

    def _join(self, name: str) -> None:
        wanted = self.receivers[name].places(self.now)
        for receiver, place in list(self.joined):
            if receiver == name and place not in wanted:
                del self.joined[name, place]
        for place in wanted:
            if (name, place) not in self.joined:
                late_s = self.random.uniform(0.0, self.weather.join_s)
                self.joined[name, place] = self.now + late_s
