"""Hand-overs in virtual time, over seeds: nothing lost, doubled or reordered that need not be."""

from __future__ import annotations

import pytest

from tests.suites import effort
from tests.weir_client.virtual import Weather, World
from weir_client.frames import Answer, Frame, Kind, Place
from weir_client.receiving import FlowReceiver, Quality
from weir_client.sending import FlowSender, HandOverTimes, Phase, Sent

PLACES = [Place(group, stream) for group in range(2) for stream in range(3)]
SEEDS = effort(range(40), range(5_000))


def life(
    seed: int,
    *,
    weather: Weather | None = None,
    times: HandOverTimes | None = None,
    quality: Quality = Quality.ORDERED,
    messages: int = 200,
    moves: int = 12,
    **classes: type,
) -> World:
    """Two senders and three receivers; the flow is moved while messages are sent."""
    world = World(seed, weather=weather, times=times, **classes)
    pick = world.random
    for name in ("s1", "s2"):
        world.add_sender(name, PLACES[0])
    for name in ("r1", "r2", "r3"):
        world.add_receiver(name, frozenset([PLACES[0]]), quality)
    world.run(0.1)  # everybody hears the first stream
    for name in ("s1", "s2"):
        at = world.now
        for _ in range(messages):
            at += pick.expovariate(100.0)
            world.at(at, lambda name=name: world.publish(name))
    at = world.now
    for _ in range(moves):
        at += pick.expovariate(messages / 100.0 / moves * 4)
        goal = pick.choice(PLACES)
        for name in ("s1", "s2"):
            late_s = pick.choice([0.0, pick.uniform(0, 0.05)])
            world.at(at + late_s, lambda name=name, goal=goal: world.move(name, goal))
        world.at(at, lambda goal=goal: world.map_to(goal))
    world.run(60.0)
    return world


def check(world: World, *, ordered: bool = True, lossless: bool = True) -> None:
    for heard in world.heard.values():
        for (sender, sender_life), sent in world.sent.items():
            numbers = [n for s, began, n in heard.messages if (s, began) == (sender, sender_life)]
            assert len(set(numbers)) == len(numbers), "doubled"
            if ordered:
                assert numbers == sorted(numbers), "reordered"
            lost = [
                number
                for each in heard.lost
                if (each.sender, each.life) == (sender, sender_life)
                for number in range(each.first, each.last + 1)
            ]
            assert len(set(lost)) == len(lost), "reported twice"
            assert not set(lost) & set(numbers), "delivered and reported"
            known = set(numbers) | set(lost)
            if known:
                assert known == set(range(min(known), max(known) + 1)), "neither here nor reported"
            if lossless:
                assert not lost, "lost"
                assert numbers and sorted(numbers) == sorted(sent), "missing"
    for sent in world.sent.values():
        assert all(len(places) == 1 for places in sent.values()), "sent twice"
    for sender in world.senders.values():
        assert sender.phase is Phase.STEADY
        assert sender.place == sender.goal


@pytest.mark.parametrize("seed", SEEDS)
def test_acknowledged_hand_overs_lose_and_reorder_nothing(seed):
    world = life(seed, times=HandOverTimes(prepare_s=5.0, drain_s=5.0))
    check(world)
    settled = {sender.place for sender in world.senders.values()}
    assert len(settled) == 1
    for name, receiver in world.receivers.items():
        assert receiver.places(world.now) == settled | receiver.mapped
        assert {place for who, place in world.joined if who == name} == settled | receiver.mapped


@pytest.mark.parametrize("seed", SEEDS)
def test_timed_hand_overs_lose_nothing_where_the_times_suffice(seed):
    check(life(seed, times=HandOverTimes(prepare_s=0.3, drain_s=0.3, acknowledged=False)))


@pytest.mark.parametrize("seed", SEEDS)
def test_seamless_receivers_lose_and_double_nothing(seed):
    world = life(seed, quality=Quality.SEAMLESS, times=HandOverTimes(prepare_s=5.0, drain_s=5.0))
    check(world, ordered=False)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("quality", list(Quality))
def test_what_the_network_loses_is_reported_once(seed, quality):
    weather = Weather(loss=0.05, reply_loss=0.2)
    world = life(seed, weather=weather, quality=quality)
    check(world, ordered=quality is Quality.ORDERED, lossless=False)


# --- broken variants: each must be caught, or the model proves nothing


class SwitchesAtOnce(FlowSender):
    """Waits for nobody before it switches."""

    def _missing(self, answered):
        return () if self.phase is Phase.PREPARING else super()._missing(answered)


class MovesAgainAtOnce(FlowSender):
    """Begins the next hand-over before the last one is done."""

    def _missing(self, answered):
        return () if self.phase is Phase.DRAINING else super()._missing(answered)


class SendsOnBoth(FlowSender):
    """Sends messages on both streams while it prepares."""

    def send(self, payload: bytes) -> list[Sent]:
        sent = super().send(payload)
        if self.phase is Phase.PREPARING:
            sent.append((self.hand_over.target, sent[0][1]))
        return sent


class SaysTooLittle(FlowSender):
    """Names the last message but one as the last of the old stream."""

    def _signals(self) -> list[Sent]:
        return [
            (place, Frame(f.kind, f.flow, f.sender, f.life, f.move, f.number - 1, f.place))
            if f.kind in (Kind.LAST, Kind.FIRST) and f.number > 1
            else (place, f)
            for place, f in super()._signals()
        ]


class WaitsForNothing(FlowReceiver):
    """Reads the new stream as soon as it hears a message there."""

    def _wait(self, track, now, received):
        self._finish(track, received)


class ReadyTooSoon(FlowReceiver):
    """Says that it hears the new stream when it only knows of it."""

    def _signal(self, track, place, frame, now, received):
        if frame.kind is Kind.CHANGE:
            received.replies.append(self._reply(track, Answer.READY, frame.move))
        super()._signal(track, place, frame, now, received)


class LeavesTooSoon(FlowReceiver):
    """Leaves the old stream when it hears the first message of the new one."""

    def places(self, now):
        places = super().places(now)
        early = {t.place for t in self._tracks.values() if t.target is not None and t.is_heard}
        return places - early


class NeverListens(FlowReceiver):
    """Does not listen to the stream where the flow goes before the map says so."""

    def places(self, now):
        return self.mapped


class SaysNothingOfLosses(FlowReceiver):
    """Reports no message that was lost."""

    def _lose(self, track, first, last, received):
        return


class TakesWhatItGaveUp(FlowReceiver):
    """Delivers messages of the old stream that come after they were given up."""

    def _message(self, track, place, frame, now, received):
        if frame.move < track.move:
            received.messages.append(frame)
        super()._message(track, place, frame, now, received)


SLOW = Weather(most_delay_s=0.2)
SLOW_JOINS = Weather(join_s=0.5)
LOSSY = Weather(loss=0.05, most_delay_s=0.8)


@pytest.mark.parametrize(
    ("variant", "weather", "times"),
    [
        (SwitchesAtOnce, None, HandOverTimes(prepare_s=5.0, drain_s=5.0)),
        (MovesAgainAtOnce, SLOW, HandOverTimes(prepare_s=5.0, drain_s=5.0)),
        (SendsOnBoth, None, HandOverTimes(prepare_s=5.0, drain_s=5.0)),
        (SaysTooLittle, None, HandOverTimes(prepare_s=5.0, drain_s=5.0)),
        (WaitsForNothing, None, HandOverTimes(prepare_s=5.0, drain_s=5.0)),
        (ReadyTooSoon, SLOW_JOINS, HandOverTimes(prepare_s=5.0, drain_s=5.0)),
        (LeavesTooSoon, None, HandOverTimes(prepare_s=5.0, drain_s=5.0)),
        (NeverListens, None, HandOverTimes(prepare_s=5.0, drain_s=5.0)),
        (SaysNothingOfLosses, LOSSY, None),
        (TakesWhatItGaveUp, LOSSY, None),
    ],
)
def test_a_broken_variant_is_caught(variant, weather, times):
    role = "sender_class" if issubclass(variant, FlowSender) else "receiver_class"
    caught = []
    for seed in range(20):
        world = life(seed, weather=weather, times=times, **{role: variant})
        try:
            check(world, lossless=weather is not LOSSY)
        except AssertionError as error:
            caught.append(str(error).splitlines()[0])
    assert caught, f"{variant.__doc__} Nobody noticed."
    print(variant.__name__, len(caught), set(caught))
