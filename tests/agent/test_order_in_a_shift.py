"""What a pause, a held link and a mark mean for the order of messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from agent import pump
from agent.drivers.base import Channel, Message, Place, Source
from agent.drivers.simulated.broker import Line, VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from agent.router import Router
from agent.shift import _Marks
from tests.agent.planes import until
from weir.coordination.effects import Mark
from weir.coordination.tables import Tables
from weir.coordination.wire import Delivery, FlowSpec, Gate

pytestmark = pytest.mark.asyncio

RELIABLE = Delivery.RELIABLE


class Held(SimulatedDriver):
    """Holds back what is published to consumers until a test lets it go."""

    def __init__(self, network: VirtualNetwork) -> None:
        super().__init__(network=network, address="sim://b", broker="b")
        self.go = asyncio.Event()

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        if channel.place is Place.DELIVERY:
            await self.go.wait()
        await super().publish(channel, messages)


class Here:
    """Broker b, where consumers want flow f; it comes in here and over the link from a."""

    def __init__(self) -> None:
        network = VirtualNetwork()
        self.a, self.b = network.at("sim://a"), network.at("sim://b")
        self.b.keep_delivered = True
        self.driver = Held(network)
        tables = Tables().with_link("a")
        self.now = 0.0
        self.router = Router(self.driver, tables=tables, clock=lambda: self.now)
        self.marked: list[int] = []

        async def mark(source: Source, payload: bytes) -> None:
            self.marked.append(len(self.outbox))

        self.router.on_mark = mark

    @property
    def outbox(self) -> Line:
        """Of a, for b."""
        return self.a.line(Channel(place=Place.OUTBOX, delivery=RELIABLE, neighbour="b"))

    def sends(self, *payloads: bytes, mark: bool = False) -> None:
        messages = [Message("f", p, "a", int(p)) for p in payloads]
        self.outbox.append([Message("", b"mark", mark=True)] if mark else messages)

    @property
    def got(self) -> list[bytes]:
        return [m.payload for m in self.b.delivered.get("f", ())]


@pytest_asyncio.fixture
async def here() -> AsyncIterator[Here]:
    here = Here()
    await here.router.flows.ensure_flow("f", FlowSpec(delivery=RELIABLE, ingress=True))
    await here.router.flows.set_local(["f"])
    here.router.start()
    here.router.set_addresses({"a": "sim://a"})
    await until(lambda: "b" in here.a.interests, "linked")
    yield here
    await here.router.close()


async def rest() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


async def test_a_mark_is_heard_when_all_before_it_is_held_and_settled(here: Here) -> None:
    here.sends(b"1", b"2")
    here.sends(mark=True)
    await rest()
    assert here.marked == []
    here.driver.go.set()
    await until(lambda: here.marked != [], "marked")
    assert here.marked == [1], "of the outbox only the mark was left"
    assert here.got == [b"1", b"2"]


async def test_a_paused_source_moves_nothing_more_when_there_is_room_again(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "IN_FLIGHT", 0)
    here.sends(b"1")
    await rest()
    here.sends(b"2")
    await rest()
    assert here.router.counters().received == {"a": 1}, "the second waits for room"
    here.router.pause(frozenset())
    here.driver.go.set()
    await here.router.drained()
    await rest()
    assert (here.router.counters().received, here.got) == ({"a": 1}, [b"1"])
    here.router.resume()
    await until(lambda: here.got == [b"1", b"2"], "goes on")


async def test_a_paused_gate_lets_nothing_through_when_tokens_have_come(here: Here) -> None:
    gate = Gate(rate_per_s=1.0, burst=5.0)
    here.driver.go.set()
    here.router.flows.set_gate("f", gate)
    ingress = here.b.line(Channel(place=Place.INGRESS, delivery=RELIABLE, flow="f"))
    ingress.append([Message("f", p, "b", int(p)) for p in (b"1", b"2", b"3")])
    await rest()
    here.now = 1.0
    here.router.flows.set_gate("f", gate)  # the pump looks at its tokens again
    await until(lambda: here.got == [b"1"], "the first has a token")
    here.router.pause(frozenset())
    here.now = 4.0
    here.router.flows.set_gate("f", gate)
    await rest()
    assert here.got == [b"1"], "of one batch, which it had begun"
    here.router.resume()
    await until(lambda: here.got == [b"1", b"2", b"3"], "goes on")


async def test_a_held_link_moves_nothing_although_it_is_kept(here: Here) -> None:
    here.driver.go.set()
    here.router.pause(frozenset({"a"}))
    here.sends(b"1")
    await until(lambda: here.got == [b"1"], "a kept link is read while paused")
    here.router.hold("a")
    here.sends(b"2")
    await rest()
    assert here.got == [b"1"]
    here.router.resume()
    await until(lambda: here.got == [b"1", b"2"], "goes on")


async def test_a_mark_counts_when_it_has_come_through_every_class_of_its_link() -> None:
    marks, mark = _Marks(frozenset(Delivery)), Mark("x", 1, "a")
    assert not marks.complete(Source(delivery=Delivery.BEST_EFFORT, neighbour="a"), mark)
    assert not marks.complete(Source(delivery=RELIABLE, neighbour="c"), mark)
    assert not marks.complete(Source(delivery=Delivery.BEST_EFFORT, neighbour="a"), mark)
    assert marks.complete(Source(delivery=RELIABLE, neighbour="a"), mark)


async def test_a_link_outside_an_action_goes_when_nothing_waits_on_it(here: Here) -> None:
    """What is for a waits in our outbox, what comes from a still comes; then the link goes."""
    here.driver.go.set()
    for_a = here.b.line(Channel(place=Place.OUTBOX, delivery=RELIABLE, neighbour="a"))
    for_a.append([Message("g", b"1", "b", 1), Message("g", b"2", "b", 2)])
    here.sends(b"1")
    assert await here.router.remove_link("a") >= 2
    assert here.router.tables.links == {"a"}
    await until(lambda: here.got == [b"1"], "what comes still comes")
    assert await here.router.remove_link("a") == 2
    for_a.settle(2)
    assert await here.router.remove_link("a") == 0
    assert here.router.tables.links == frozenset()


async def test_nothing_new_is_sent_over_a_link_that_is_to_go(here: Here) -> None:
    here.driver.go.set()
    here.router.swap(here.router.tables.with_link("a", {"f"}))
    for_a = here.b.line(Channel(place=Place.OUTBOX, delivery=RELIABLE, neighbour="a"))
    here.b.publish("f", RELIABLE, [b"1"])
    await until(lambda: len(for_a) == 1, "sent")
    assert await here.router.remove_link("a") == 1
    here.b.publish("f", RELIABLE, [b"2"])
    await until(lambda: here.got == [b"1", b"2"], "delivered here")
    assert len(for_a) == 1
    await here.router.add_link("a", "sim://a")
    here.b.publish("f", RELIABLE, [b"3"])
    await until(lambda: len(for_a) == 2, "it stays after all, and is used again")
