"""Virtual brokers, the crowd that uses them, and the agent's own data plane between them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from agent.assignment import PublisherLists
from agent.drivers.base import Channel, Driver, Fenced, Message, Place, Retryable, Source
from agent.drivers.simulated.broker import (
    BEST_EFFORT_WAITING,
    WORK_PER_COPY_S,
    WORK_S,
    VirtualBroker,
    VirtualNetwork,
)
from agent.drivers.simulated.driver import SimulatedDriver
from agent.fleet import Crowd, HurriedLoop
from agent.flushes import MOST_AT_A_TIME
from agent.router import Router
from weir.coordination.tables import Tables
from weir.coordination.wire import (
    ClassSpec,
    Delivery,
    FlowSpec,
    Gate,
    Publishers,
    publishers_digest,
)

pytestmark = pytest.mark.asyncio

INGRESS = Source(delivery=Delivery.RELIABLE, flow="f")


def driver_of(network: VirtualNetwork, name: str) -> SimulatedDriver:
    return SimulatedDriver(network=network, address=f"sim://{name}", broker=name)


async def until(true: Callable[[], bool], within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


class Chain:
    """Three brokers a - b - c; flow f comes in at a, consumers of class `k` read it at c."""

    def __init__(self, delivery: Delivery) -> None:
        self.network = VirtualNetwork()
        self.delivery = delivery
        self.routers: dict[str, Router] = {}
        self.links = {"a": ("b",), "b": ("a", "c"), "c": ("b",)}

    def at(self, name: str) -> VirtualBroker:
        return self.network.at(f"sim://{name}")

    async def start(self, *names: str) -> None:
        for name in names:
            self.at(name)
        for name in names:
            driver = driver_of(self.network, name)
            await driver.open()
            tables = Tables(links=frozenset(self.links[name]))
            router = Router(driver, tables=tables, broker=name)
            self.routers[name] = router
            await router.flows.ensure_flow(
                "f", FlowSpec(delivery=self.delivery, ingress=name == "a")
            )
            await router.know(["f"], None)
            await router.flows.set_local(())
            router.set_addresses({other: f"sim://{other}" for other in self.links[name]})
            if name == "c":
                await driver.admit({"k": ClassSpec(flow="f")}, unmanaged="report")
                await router.flows.set_local({"f"})
            router.start()

    async def close(self) -> None:
        for router in self.routers.values():
            await router.close()


async def test_is_a_driver() -> None:
    assert isinstance(driver_of(VirtualNetwork(), "a"), Driver)


@pytest.mark.parametrize("delivery", list(Delivery))
async def test_messages_cross_brokers_once_and_in_order(delivery: Delivery) -> None:
    chain = Chain(delivery)
    chain.at("c").keep_delivered = True
    try:
        await chain.start("a", "b", "c")
        await until(lambda: "f" in chain.routers["a"].tables.interest.get("b", ()))
        payloads = [b"%d" % i for i in range(1000)]
        for start in range(0, 1000, 100):
            chain.at("a").publish("f", delivery, payloads[start : start + 100])
            await asyncio.sleep(0)
        await until(lambda: len(chain.at("c").delivered.get("f", ())) == 1000)
        assert [m.payload for m in chain.at("c").delivered["f"]] == payloads
        assert chain.routers["b"].counters().received == {"a": 1000, "c": 0}
    finally:
        await chain.close()


@pytest.mark.parametrize("delivery", list(Delivery))
async def test_lists_of_publishers_come_into_force_behind_all_messages(delivery: Delivery) -> None:
    """Simulated publishers have no names: they go on, and executions go on all the same."""
    chain = Chain(delivery)
    chain.at("c").keep_delivered = True
    try:
        await chain.start("a", "b", "c")
        await until(lambda: "f" in chain.routers["a"].tables.interest.get("b", ()))
        router = chain.routers["a"]
        lists = PublisherLists(
            router.driver,
            router.flushes,
            problems=router.problems,
            tasks=router.tasks,
            changed=lambda: None,
        )
        chain.at("a").publish("f", delivery, [b"%d" % i for i in range(500)])
        wanted = {"f": Publishers(next=("b", "c"))}
        await lists.set(wanted)
        await until(lambda: lists.in_force == {"f": publishers_digest(())})
        assert len(chain.at("c").delivered["f"]) == 500, "all that had been published has passed"
        assert chain.at("a").publishers == wanted
        chain.at("a").publish("f", delivery, [b"500"])
        await until(lambda: len(chain.at("c").delivered["f"]) == 501)
        assert not any("f" in problem for problem in router.problems.values())
    finally:
        await chain.close()


async def test_many_flushes_take_their_turns_and_send_each_mark_once() -> None:
    chain = Chain(Delivery.RELIABLE)
    try:
        await chain.start("a", "b", "c")
        await until(lambda: all(router.ready for router in chain.routers.values()))
        flushes = chain.routers["a"].flushes
        flows = [f"flow {number}" for number in range(5 * MOST_AT_A_TIME)]
        for flow in flows:
            flushes.start(flow, ("b", "c"))
        most = 0
        while not all(map(flushes.complete, flows)):
            most = max(most, sum(bool(one.ids) for one in flushes._open.values() if one.waiting))
            await asyncio.sleep(0)
        assert most == MOST_AT_A_TIME
        assert all(len(one.ids) == 1 for one in flushes._open.values())
    finally:
        await chain.close()


@pytest.mark.parametrize("delivery", list(Delivery))
async def test_counters_are_exact_while_pumps_move_and_after(delivery: Delivery) -> None:
    chain = Chain(delivery)
    try:
        await chain.start("a", "b", "c")
        routers = chain.routers
        await until(lambda: "f" in routers["a"].tables.interest.get("b", ()))
        await until(lambda: "f" in routers["b"].tables.interest.get("c", ()))
        idle = routers["a"].counters()
        assert (idle.passed, idle.waiting, idle.left) == ({"f": 0}, {"f": 0}, {})
        chain.at("a").publish("f", delivery, [b"1", b"22", b"333"])
        await until(lambda: routers["c"].counters().received["b"] == 3)
        pump = routers["a"].flows.pumps["f"]
        moving = routers["a"].counters()
        assert (moving.passed, moving.sent) == ({"f": 3}, {"b": 3})
        assert moving.sized == {"f": (6, 3)}
        assert moving.acked.get("f", (0.0, 0)) == pump.acked
        assert pump.acked[1] == (1 if delivery is Delivery.RELIABLE else 0)
        await routers["a"].flows.forget_flow("f")
        ended = routers["a"].counters()
        assert (ended.passed, ended.sent, ended.sized) == (moving.passed, moving.sent, moving.sized)
        assert (ended.acked, ended.left) == (moving.acked, {})
        # The flow comes back, and its counts go on.
        await routers["a"].flows.ensure_flow("f", FlowSpec(delivery=delivery, ingress=True))
        chain.at("a").publish("f", delivery, [b"4444"])
        await until(lambda: routers["c"].counters().received["b"] == 4)
        again = routers["a"].counters()
        assert (again.passed, again.sent) == ({"f": 4}, {"b": 4})
        assert again.sized == {"f": (10, 4)}
        if delivery is Delivery.RELIABLE:
            acked = routers["a"].flows.pumps["f"].acked
            assert again.acked == {"f": (moving.acked["f"][0] + acked[0], 1 + acked[1])}
    finally:
        await chain.close()


async def test_a_read_ends_when_its_flow_comes_in_no_more() -> None:
    driver = driver_of(VirtualNetwork(), "a")
    await driver.open()
    await driver.ensure_channel(
        Channel(place=Place.INGRESS, delivery=Delivery.RELIABLE, flow="f"), keep_s=60.0
    )

    async def read() -> list[object]:
        return [batch async for batch in driver.read(INGRESS)]

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    await driver.stop_reading(INGRESS)
    async with asyncio.timeout(5):
        assert await reading == []


async def test_counts_of_a_link_that_goes_are_never_missing() -> None:
    chain = Chain(Delivery.RELIABLE)
    try:
        await chain.start("a", "b", "c")
        router = chain.routers["b"]
        await until(lambda: "f" in chain.routers["a"].tables.interest.get("b", ()))
        chain.at("a").publish("f", Delivery.RELIABLE, [b"1", b"2", b"3"])
        await until(lambda: router.counters().received["a"] == 3)
        going = asyncio.create_task(router.remove_link("a"))
        while not going.done():
            # A count that falls reads as one that began anew, and its rate as a burst.
            assert router.counters().received["a"] == 3
            await asyncio.sleep(0)
    finally:
        await chain.close()


async def test_reliable_messages_wait_for_an_agent_that_comes_later() -> None:
    chain = Chain(Delivery.RELIABLE)
    chain.at("c").keep_delivered = True
    try:
        chain.at("a").publish("f", Delivery.RELIABLE, [b"1", b"2"])
        await chain.start("c", "b")
        await until(lambda: "f" in chain.routers["b"].tables.interest.get("c", ()))
        await until(lambda: "f" in chain.at("a").interests["b"].flows)
        await chain.start("a")
        await until(lambda: len(chain.at("c").delivered.get("f", ())) == 2)
    finally:
        await chain.close()


async def test_what_is_not_settled_is_read_again() -> None:
    network = VirtualNetwork()
    driver = driver_of(network, "a")
    network.at("sim://a").publish("f", Delivery.RELIABLE, [b"1", b"2", b"3"])
    first = await anext(driver.read(INGRESS))
    again = await anext(driver.read(INGRESS))
    assert (
        [m.payload for m in again.messages]
        == [b"1", b"2", b"3"]
        == [m.payload for m in first.messages]
    )
    await driver.settle(again)
    network.at("sim://a").publish("f", Delivery.RELIABLE, [b"4"])
    assert [m.payload for m in (await anext(driver.read(INGRESS))).messages] == [b"4"]


async def test_repeated_reliable_messages_are_left_out() -> None:
    network = VirtualNetwork()
    network.at("sim://b")
    driver, other = driver_of(network, "a"), driver_of(network, "b")
    await driver.ensure_link("b", "sim://b")
    await other.ensure_link("a", "sim://a")
    outbox = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="b")
    messages = [Message("f", b"%d" % i, "a", i) for i in range(1, 4)]
    await driver.publish(outbox, messages)
    await driver.publish(outbox, messages)
    batch = await anext(other.read(Source(delivery=Delivery.RELIABLE, neighbour="a")))
    assert [m.position for m in batch.messages] == [1, 2, 3]


async def test_best_effort_above_the_bound_is_shed_and_counted() -> None:
    network = VirtualNetwork()
    network.at("sim://a").publish("f", Delivery.BEST_EFFORT, [b""] * (BEST_EFFORT_WAITING + 5))
    stats = await driver_of(network, "a").stats()
    assert (stats.ingress_backlog, stats.ingress_shed) == ({"f": BEST_EFFORT_WAITING}, {"f": 5})


async def test_what_consumers_get_is_counted_copy_by_copy() -> None:
    network = VirtualNetwork()
    driver, broker = driver_of(network, "a"), network.at("sim://a")
    classes = {"k": ClassSpec(flow="f"), "l": ClassSpec(flow="f"), "m": ClassSpec(flow="g")}
    await driver.admit(classes, unmanaged="report")
    consumers = [("k", "ann"), ("k", "bob"), ("l", "cy"), ("m", "di")]
    connections = [broker.ask(name, consumer, 0.0) for name, consumer in consumers]
    assert len({*connections} - {None}) == 4

    messages = [Message("f", b"", "sim://b", n) for n in (1, 2, 3)]
    broker.deliver("f", messages, reliable=False)
    broker.deliver("f", messages[:1], reliable=False)
    assert broker.got == {"k": 8, "l": 4}
    stats = await driver.stats()
    assert stats.out_messages == 12
    assert stats.delivered == {"k": 8, "l": 4}
    work, copy = WORK_S[Delivery.BEST_EFFORT], WORK_PER_COPY_S[Delivery.BEST_EFFORT]
    assert broker.worked_s == pytest.approx(4 * work + 12 * copy)
    assert broker.delivered == {}


async def test_a_broker_is_as_busy_as_its_work_since_the_last_look() -> None:
    network, now = VirtualNetwork(), asyncio.get_running_loop().time
    driver, broker = driver_of(network, "a"), network.at("sim://a")
    broker.worked_s = 1e6
    begin = now()
    assert (await driver.stats()).cpu_ratio is None
    broker.worked_s += 0.5
    until_first = now()
    while now() == until_first:
        await asyncio.sleep(0)
    from_second = now()
    ratio = (await driver.stats()).cpu_ratio
    assert ratio is not None
    assert 0.5 / (now() - begin) <= ratio <= 0.5 / (from_second - until_first)


async def test_a_broker_that_is_away_is_retryable() -> None:
    network = VirtualNetwork()
    driver = driver_of(network, "a")
    network.at("sim://a").away = True
    with pytest.raises(Retryable):
        await driver.open()
    network.at("sim://a").away = False
    with pytest.raises(Retryable):
        await driver.ensure_link("b", "sim://nowhere")


async def test_an_older_session_is_fenced() -> None:
    network = VirtualNetwork()
    older, newer = driver_of(network, "a"), driver_of(network, "a")
    await older.fence(1)
    await newer.fence(2)
    with pytest.raises(Fenced):
        await older.ensure_channel(Channel(place=Place.INGRESS, delivery=Delivery.RELIABLE))
    with pytest.raises(Fenced):
        await older.fence(1)


async def test_limits_hold_and_release_at_once() -> None:
    network = VirtualNetwork()
    driver, broker = driver_of(network, "a"), network.at("sim://a")
    crowd = Crowd(broker, seed=3, offered_per_s=10, crowd=10)
    await driver.admit({"k": ClassSpec(flow="f", limit=2)}, unmanaged="report")
    wanted = crowd.consumer_count("k")
    assert wanted > 2
    for second in range(5):
        crowd.ask_admission(float(second))
    assert broker.book.admitted("k") == 2
    await driver.admit({"k": ClassSpec(flow="f", limit=1)}, unmanaged="report")
    assert (await driver.stats()).classes["k"].admitted == 1
    await driver.admit({"k": ClassSpec(flow="f")}, unmanaged="report")
    crowd.ask_admission(6.0)
    assert broker.book.admitted("k") == wanted


async def test_the_same_seed_gives_the_same_crowd() -> None:
    def crowd(seed: int) -> tuple[float, int]:
        made = Crowd(VirtualNetwork().at("sim://a"), seed=seed, offered_per_s=10, crowd=50)
        return made.rate_of("f"), made.consumer_count("k")

    assert crowd(1) == crowd(1) != crowd(2)


async def _gated() -> tuple[int, float, int]:
    loop = asyncio.get_running_loop()
    network = VirtualNetwork()
    driver, broker = driver_of(network, "a"), network.at("sim://a")
    router = Router(driver, tables=Tables(), clock=loop.time)
    await router.flows.set_local(())
    await router.flows.ensure_flow("f", FlowSpec(delivery=Delivery.BEST_EFFORT, ingress=True))
    router.flows.set_gate("f", Gate(rate_per_s=50.0, burst=10.0))
    router.start()
    start, sent = loop.time(), 0
    while loop.time() - start < 10.0:
        broker.publish("f", Delivery.BEST_EFFORT, [b""] * 20)
        sent += 20
        await asyncio.sleep(0.1)
    passed, seconds = router.counters().passed["f"], loop.time() - start
    await router.close()
    return passed, seconds, sent


async def test_gates_keep_their_rate_in_the_fleets_seconds() -> None:
    def hurried() -> tuple[int, float, int]:
        with asyncio.Runner(loop_factory=lambda: HurriedLoop(10.0)) as runner:
            return runner.run(_gated())

    start = time.monotonic()
    passed, seconds, sent = await asyncio.to_thread(hurried)
    assert seconds > time.monotonic() - start, "more seconds pass for the fleet than for us"
    assert sent > passed
    # A busy machine wakes the gate late, so only the bound is exact.
    assert 10.0 < passed <= 10.0 + 50.0 * seconds + 1
