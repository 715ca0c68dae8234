"""An agent that has lost its memory lets nothing go before it knows where everything belongs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from agent.drivers.base import Channel, Interest, Place
from agent.drivers.simulated.broker import VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from agent.enforcement import Enforcer
from agent.router import Router
from tests.agent.planes import Plane, client, stored, stored_count, until
from tests.nats_server import NatsServer
from weir.coordination.tables import Tables
from weir.coordination.wire import KEEP_S, ClassSpec, Delivery, Document, FlowSpec, Neighbour

pytestmark = pytest.mark.asyncio

FLOWS = tuple(f"f{number}" for number in range(12))


def document(
    broker: str,
    neighbours: Mapping[str, str],
    *,
    ingress: bool = False,
    consumers: tuple[str, ...] = (),
    delivery: Delivery = Delivery.RELIABLE,
) -> Document:
    return Document(
        system="s",
        broker=broker,
        version="v1",
        flows={flow: FlowSpec(delivery=delivery, ingress=ingress) for flow in FLOWS},
        classes={f"class-{flow}": ClassSpec(flow=flow) for flow in consumers},
        neighbours={name: Neighbour(address=address) for name, address in neighbours.items()},
    )


class Slow(SimulatedDriver):
    """Every channel takes a while, as at a real broker: what may move does so meanwhile."""

    async def ensure_channel(
        self, channel: Channel, *, max_message_bytes: int = 0, keep_s: int = KEEP_S
    ) -> None:
        await super().ensure_channel(channel)
        for _ in range(50):
            await asyncio.sleep(0)


class Agent:
    """Router and enforcer of one broker, as the runtime has them; no memory."""

    def __init__(self, network: VirtualNetwork, name: str) -> None:
        self.broker = network.at(f"sim://{name}")
        self.driver = Slow(network=network, address=f"sim://{name}", broker=name)
        self.router = Router(self.driver)
        self.enforcer = Enforcer(driver=self.driver, router=self.router, busy=frozenset)

    async def start(self, document: Document, *, fetched: bool = True) -> None:
        self.router.start()
        await asyncio.sleep(0.01)
        assert await self.enforcer.apply(document, current=lambda: fetched)

    @property
    def waiting(self) -> int:
        return sum(
            len(line)
            for channel, line in self.broker.lines.items()
            if channel.place is Place.INGRESS and channel.flow in FLOWS
        )


async def settled(agent: Agent) -> None:
    for _ in range(500):
        await asyncio.sleep(0)


@pytest_asyncio.fixture
async def agents() -> AsyncIterator[list[Agent]]:
    network = VirtualNetwork()
    agents = [Agent(network, name) for name in "ab"]
    agents[1].broker.keep_delivered = True
    yield agents
    for agent in agents:
        await agent.router.close()


def publish(agent: Agent, delivery: Delivery = Delivery.RELIABLE) -> None:
    for flow in FLOWS:
        agent.broker.publish(flow, delivery, [b"%d" % number for number in range(10)])


async def test_nothing_is_let_go_while_the_document_is_being_carried_out(
    agents: list[Agent],
) -> None:
    a, b = agents
    publish(a)
    await a.start(document("a", {"b": "sim://b"}, ingress=True))
    await settled(a)
    assert a.waiting == 120
    await b.start(document("b", {"a": "sim://a"}, consumers=FLOWS))
    await until(lambda: sum(map(len, b.broker.delivered.values())) == 120, "all arrive")


async def test_a_neighbour_whose_agent_never_came_is_waited_for(agents: list[Agent]) -> None:
    a, b = agents
    publish(a)
    await a.start(document("a", {"b": ""}, ingress=True))
    await settled(a)
    assert (a.waiting, a.router.tables.links) == (120, {"b"})
    await a.enforcer.apply(document("a", {"b": "sim://b"}, ingress=True), current=lambda: True)
    await b.start(document("b", {"a": "sim://a"}, consumers=FLOWS))
    await until(lambda: sum(map(len, b.broker.delivered.values())) == 120, "all arrive")


async def test_what_a_neighbour_said_before_is_not_believed_without_tables(
    agents: list[Agent],
) -> None:
    """It may be of before an action that was forgotten: the neighbour is asked, and waited for."""
    a, b = agents
    a.broker.interests["b"] = Interest(
        neighbour="b", flows=frozenset({"f0"}), epoch="old", revision="1"
    )
    publish(a)
    await a.start(document("a", {"b": "sim://b"}, ingress=True))
    await until(lambda: "a" in b.broker.interests, "a asks")
    assert b.broker.interests["a"].asks
    await settled(a)
    assert a.waiting == 120
    b.router.swap(Tables(complete=False).with_link("a", (), "new"))
    await b.start(document("b", {"a": "sim://a"}, consumers=FLOWS))
    await until(lambda: sum(map(len, b.broker.delivered.values())) == 120, "all arrive")
    assert a.router.tables.epoch("b") == "new"
    await until(lambda: not b.broker.interests["a"].asks, "and nobody asks any more")


async def test_who_asks_is_told_at_once_what_he_was_told_before(agents: list[Agent]) -> None:
    a, b = agents
    await a.start(document("a", {"b": "sim://b"}, ingress=True))
    await b.start(document("b", {"a": "sim://a"}, consumers=FLOWS))
    await until(lambda: a.router.ready and b.router.ready, "they know each other")
    await settled(a)
    said = a.broker.interests["b"].revision
    await a.driver.interest("b", frozenset(), "", asks=True)
    await until(lambda: a.broker.interests["b"].revision != said, "b says it again")


async def test_a_document_from_the_disk_does_not_make_the_tables_complete(
    agents: list[Agent],
) -> None:
    a, _ = agents
    publish(a)
    await a.start(document("a", {"b": "sim://b"}, ingress=True), fetched=False)
    await settled(a)
    assert a.waiting == 120


async def test_own_consumers_are_known_before_anything_is_let_go(agents: list[Agent]) -> None:
    """Complete tables of a broker without neighbours, and no document yet."""
    a, _ = agents
    await a.router.know((), ())
    assert a.router.tables.complete
    publish(a)
    await a.router.flows.ensure_flow("f0", FlowSpec(delivery=Delivery.RELIABLE, ingress=True))
    a.router.start()
    await settled(a)
    assert a.waiting == 120
    await a.router.flows.set_local(())
    await settled(a)
    assert a.waiting == 110, "nobody wants f0: it may go"


async def test_who_does_not_know_what_is_wanted_behind_it_asks_for_everything(
    agents: list[Agent],
) -> None:
    """b has another neighbour that has said nothing yet: a must not let go what that one wants."""
    a, b = agents
    publish(a)
    await b.start(document("b", {"a": "sim://a", "c": ""}))
    await a.start(document("a", {"b": "sim://b"}, ingress=True))
    await until(lambda: a.router.tables.interest.get("b") == set(FLOWS), "everything is wanted")
    await until(lambda: a.waiting == 0, "a hands it all on")
    assert await b.driver.waiting("a") == 120, "and there it waits"


async def test_an_agent_that_knows_nothing_yet_says_nothing(agents: list[Agent]) -> None:
    a, b = agents
    b.router.start()
    await b.router.add_link("a", "sim://a")
    await settled(b)
    assert a.broker.interests == {}
    await b.router.flows.set_local(())
    await b.router.know(FLOWS, ["a"])
    await until(lambda: "b" in a.broker.interests, "b says what it wants")


async def test_best_effort_that_went_before_a_neighbour_had_said_what_it_wants_is_counted(
    agents: list[Agent],
) -> None:
    a, _ = agents
    await a.start(document("a", {"b": "sim://b"}, ingress=True, delivery=Delivery.BEST_EFFORT))
    publish(a, Delivery.BEST_EFFORT)
    await until(lambda: sum(a.router.counters().passed.values()) == 120, "passed")
    assert a.router.counters().lost == dict.fromkeys(FLOWS, 10)


async def test_links_are_saved_before_they_are_gone_by(agents: list[Agent]) -> None:
    a, _ = agents
    saved: list[Tables] = []
    seen: list[frozenset[str]] = []

    async def save(change) -> None:  # type: ignore[no-untyped-def]
        seen.append(a.router.tables.links)
        saved.append(change(saved[-1] if saved else Tables(complete=False)))

    a.router._save = save
    await a.start(document("a", {"b": "sim://b", "c": ""}, ingress=True))
    assert seen[:2] == [frozenset(), frozenset({"b"})]
    assert [(t.links, t.complete) for t in saved[:3]] == [
        ({"b"}, False),
        ({"b", "c"}, False),
        ({"b", "c"}, True),
    ]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[NatsServer]]:
    servers = [NatsServer(tmp_path / name) for name in "ab"]
    for server in servers:
        server.start()
    yield servers
    for server in servers:
        server.stop()


@pytest.mark.slow
async def test_twelve_flows_that_waited_in_the_broker_survive_a_lost_state_directory(
    servers: list[NatsServer],
) -> None:
    """Acknowledged by the broker, the agent's directory gone; every message arrives, in order."""
    async with asyncio.timeout(60):
        a = Plane("a", servers[0], tables=None)
        await a.driver.open()
        for flow in FLOWS:
            await a.driver.ensure_channel(
                Channel(place=Place.INGRESS, delivery=Delivery.RELIABLE, flow=flow)
            )
        here = await client(servers[0])
        for flow in FLOWS:
            for number in range(50):
                await here.jetstream().publish(f"weir.in.{flow}", b"%d" % number)
        enforcer = Enforcer(driver=a.driver, router=a.router, busy=frozenset)
        a.router.start()
        while not await enforcer.apply(
            document("a", {"b": servers[1].url}, ingress=True), current=lambda: True
        ):
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        b = await Plane("b", servers[1], tables=None).open()
        other = Enforcer(driver=b.driver, router=b.router, busy=frozenset)
        await other.apply(
            document("b", {"a": servers[0].url}, consumers=FLOWS), current=lambda: True
        )
        there = await client(servers[1])
        for flow in FLOWS:
            while await stored_count(there, flow) < 50:
                await asyncio.sleep(0.02)
            assert await stored(there, flow) == [b"%d" % number for number in range(50)]
        for connection in (here, there):
            await connection.close()
        for plane in (a, b):
            await plane.close()
