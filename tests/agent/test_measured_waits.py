"""How long messages really waited at a gate, beside what the test's own clock says of each."""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.drivers.base import Channel, DriverError, Message, Place, Source, Stats
from agent.drivers.nats.server_clock import DRIFT, ServerClock
from agent.drivers.simulated.broker import VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from agent.pump import Pump
from agent.router import Router
from agent.telemetry import Meter, Tally
from apps.telemetry.domain.payload import telemetry_checked
from tests.agent.gated_broker import flow_telemetry
from tests.agent.planes import Plane, TimedDriver, client, flows, until
from tests.nats_server import NatsServer
from weir.coordination.tables import Tables
from weir.coordination.wire import Bucket, Delivery, FlowSpec, Gate
from weir.queueing.counting_bucket import CountingBucket
from weir.queueing.wait_histogram import RATIO, quantile_s

LIMIT_S = 90
PART = Gate(rate_per_s=105.0, burst=3.0)
OFFERED_PER_S = 100.0
ARRIVALS = 400
CLOCKS_S = 0.01
"""How far the agent's and the test's idea of one moment may lie apart on a busy machine."""

Span = tuple[float, float]
"""A moment lies between these two."""


def arrivals(seed: int) -> Iterator[tuple[float, int]]:
    """Poisson arrivals of one message, some of five: the pause before each, and how many come."""
    draw = random.Random(seed)
    for _ in range(ARRIVALS):
        count = draw.choices((1, 5), (9, 1))[0]
        yield draw.expovariate(OFFERED_PER_S / 1.4), count


def exact_p99(waits: Sequence[float]) -> float:
    """What 1 % of the waits exceed at most."""
    return sorted(waits, reverse=True)[math.floor(0.01 * len(waits))]


def agrees(measured: dict[str, Any], arrived: Sequence[Span], left: Sequence[float]) -> None:
    """The telemetry of a flow says what can be computed from when each message came and left."""
    least = [max(0.0, then - came[1]) for came, then in zip(arrived, left, strict=True)]
    most = [then - came[0] for came, then in zip(arrived, left, strict=True)]
    assert measured["wait_messages"] == len(arrived)
    p99_s, mean_s = measured["wait_p99_s"], measured["wait_mean_s"]
    assert exact_p99(least) - CLOCKS_S <= p99_s <= (exact_p99(most) + CLOCKS_S) * RATIO
    assert sum(least) / len(least) - CLOCKS_S <= mean_s <= sum(most) / len(most) + CLOCKS_S
    assert max(least) - CLOCKS_S <= measured["wait_longest_s"] <= max(most) + CLOCKS_S
    # Nobody took the histogram before: it has all of them, and says the same.
    bins = dict(measured["gate_delays"])
    assert sum(bins.values()) == len(arrived)
    assert measured["gate_longest_s"] == measured["wait_longest_s"]
    longest_s = measured["gate_longest_s"]
    counted_s = quantile_s(bins, probability=0.99, messages=len(arrived), longest_s=longest_s)
    assert counted_s == p99_s
    # Nothing is proven where nobody waited, or where the bounds are as wide as the waits.
    assert exact_p99(least) > 15 * CLOCKS_S
    assert exact_p99(most) - exact_p99(least) < 0.2 * exact_p99(least)


class Leaving(TimedDriver):
    """Writes down when each message left, by its payload."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.left_at: dict[bytes, float] = {}

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        if channel.place is Place.DELIVERY:
            now = time.monotonic()
            for message in messages:
                self.left_at.setdefault(message.payload, now)
        await super().publish(channel, messages)


@pytest.mark.slow
@pytest.mark.asyncio
@pytest.mark.parametrize("flow", ["core", "rel"])
async def test_waits_at_a_real_broker_are_those_of_the_test(server: NatsServer, flow: str) -> None:
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server, driver=Leaving).open()
        plane.router.flows.set_gate(flow, PART)
        await flows(plane, ingress=(flow,), local=(flow,))
        publisher = await client(server)
        driver = plane.driver
        assert isinstance(driver, Leaving)
        arrived: list[Span] = []
        due = time.monotonic()
        for pause_s, count in arrivals(seed=7):
            due += pause_s
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            before = time.monotonic()
            for number in range(count):
                await publisher.publish(f"weir.in.{flow}", b"%d" % (len(arrived) + number))
            # The broker has processed them when it answers.
            await publisher.flush()
            arrived += [(before, time.monotonic())] * count
        await until(lambda: len(driver.left_at) == len(arrived), "all have left")
        left = [driver.left_at[b"%d" % number] for number in range(len(arrived))]
        agrees(flow_telemetry(plane.router, flow), arrived, left)
        plane.router.flows.set_gate(flow, None)
        assert not {"wait_p99_s", "gate_delays"} & flow_telemetry(plane.router, flow).keys()
        # Without a gate nobody waits for it, and how long messages took to leave is counted.
        for number in range(3):
            await publisher.publish(f"weir.in.{flow}", b"free %d" % number)
        await until(lambda: b"free 2" in driver.left_at, "all have left")
        freely = flow_telemetry(plane.router, flow)
        assert sum(messages for _, messages in freely["gate_delays"]) == 3
        assert "wait_messages" not in freely
        await publisher.close()
        await plane.close()


@pytest.mark.slow
@pytest.mark.asyncio
async def test_what_waited_while_no_agent_was_there_waited_as_long(server: NatsServer) -> None:
    """By the time at which the broker stored it, not by when the agent reads it."""
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server).open()
        await flows(plane, ingress=("rel",), local=("rel",))
        await plane.close()
        publisher = await client(server)
        for _ in range(5):
            await publisher.jetstream().publish("weir.in.rel", b"early")
        stored = time.monotonic()
        await asyncio.sleep(1.5)
        plane = await Plane("a", server).open()
        plane.router.flows.set_gate("rel", Gate(rate_per_s=1_000.0, burst=10.0))
        plane.router.flows.count({"rel": Bucket(rate_per_s=1_000.0, size=1.0, count_only=True)})
        await flows(plane, ingress=("rel",), local=("rel",))
        await until(lambda: plane.router.counters().passed.get("rel") == 5, "all have left")
        waited = flow_telemetry(plane.router, "rel")
        assert waited["wait_messages"] == 5
        assert 1.5 - CLOCKS_S <= waited["wait_p99_s"] <= time.monotonic() - stored + 0.5
        # They came before the part was counted.
        assert waited["bucket_messages"] == 0
        await publisher.close()
        await plane.close()


class Sink(SimulatedDriver):
    """Writes down when each message left, by its position; refuses the first `refusals`."""

    def __init__(self, *, refusals: int = 0, **options: Any) -> None:
        super().__init__(**options)
        self.left_at: dict[int, float] = {}
        self.refusals = refusals
        self.clock: Callable[[], float] = time.monotonic

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        if self.refusals:
            self.refusals -= 1
            raise DriverError("Not now.")
        now = self.clock()
        for message in messages:
            self.left_at.setdefault(message.position, now)
        await super().publish(channel, messages)


@pytest.mark.slow
@pytest.mark.asyncio
@pytest.mark.parametrize("delivery", list(Delivery))
async def test_waits_at_a_simulated_broker_are_those_of_the_test(delivery: Delivery) -> None:
    network = VirtualNetwork()
    broker, driver = network.at("sim://a"), Sink(network=network, address="sim://a", broker="a")
    router = Router(driver, tables=Tables())
    await router.flows.set_local(("f",))
    await router.flows.ensure_flow("f", FlowSpec(delivery=delivery, ingress=True))
    router.flows.set_gate("f", PART)
    router.start()
    arrived: list[Span] = []
    due = time.monotonic()
    for pause_s, count in arrivals(seed=11):
        due += pause_s
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        before = time.monotonic()
        broker.publish("f", delivery, [b""] * count)
        arrived += [(before, time.monotonic())] * count
    await until(lambda: len(driver.left_at) == len(arrived), "all have left")
    left = [driver.left_at[number + 1] for number in range(len(arrived))]
    agrees(flow_telemetry(router, "f"), arrived, left)
    await router.close()


async def _ignore(source: Source, mark: bytes) -> None:
    """Take a mark."""


@pytest.mark.asyncio
async def test_marks_and_second_readings_count_as_nothing() -> None:
    network = VirtualNetwork()
    driver = Sink(network=network, address="sim://a", broker="a", refusals=2)
    broker = network.at("sim://a")
    source = Source(delivery=Delivery.RELIABLE, flow="f")
    channel = Channel(place=Place.DELIVERY, delivery=Delivery.RELIABLE, flow="f")
    pump = Pump(driver, source, route=lambda *_: [channel], on_mark=_ignore, gated=True)
    pump.set_gate(Gate(rate_per_s=100.0, burst=2.0), time.monotonic())
    pump.counting = CountingBucket(rate_per_s=100.0, size=2.0, now=time.monotonic())
    mark = [Message("", json.dumps({"flush": "f"}).encode(), mark=True)]
    ingress = broker.line(Channel(place=Place.INGRESS, delivery=Delivery.RELIABLE, flow="f"))
    broker.publish("f", Delivery.RELIABLE, [b""] * 20)
    ingress.append(mark)
    broker.publish("f", Delivery.RELIABLE, [b""] * 10)
    pump.open()
    await until(lambda: len(driver.left_at) == 30 and not len(ingress), "all have left")
    assert driver.refusals == 0, "the pump began again, twice"
    assert pump.passed > 30
    now = time.monotonic()
    assert pump.waits is not None
    assert pump.waits.messages(now) == 30
    assert pump.counting.messages == 30
    assert pump.delays.longest_s == pump.waits.longest_s(now)
    assert sum(messages for _, messages in pump.delays.take()) == 30
    assert pump.waits.longest_s(now) > 0.2
    await pump.close()


@pytest.mark.asyncio
async def test_what_a_pump_counted_before_it_ended_is_reported_once() -> None:
    network = VirtualNetwork()
    driver = Sink(network=network, address="sim://a", broker="a")
    tally, meter, total = Tally(), Meter(time.monotonic()), 0
    channel = Channel(place=Place.DELIVERY, delivery=Delivery.BEST_EFFORT, flow="f")
    source = Source(delivery=Delivery.BEST_EFFORT, flow="f")

    def reported(*running: Pump) -> int:
        sample = meter.measure(time.monotonic(), tally.read(running), Stats())
        bins = telemetry_checked(sample)["flows"]["f"].get("gate_delays", [])
        return sum(messages for _, messages in bins)

    for count in (3, 5):
        pump = Pump(driver, source, route=lambda *_: [channel], on_mark=_ignore, gated=True)
        pump.open()
        total += count
        network.at("sim://a").publish("f", Delivery.BEST_EFFORT, [b""] * count)
        await until(lambda: len(driver.left_at) == total, "all have left")  # noqa: B023
        if count == 3:
            assert reported(pump) == 3
            network.at("sim://a").publish("f", Delivery.BEST_EFFORT, [b""] * 2)
            total += 2
            await until(lambda: len(driver.left_at) == total, "all have left")  # noqa: B023
        await tally.end(pump)
    assert reported() == 2 + 5
    assert reported() == 0


# --- the server's clock


def shown(nanoseconds: int) -> str:
    """A moment as the server writes it."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:09}Z"


@given(
    ahead_s=st.integers(1_000_000_000, 2_000_000_000),
    trips=st.lists(
        st.tuples(st.floats(0.0, 8.0), st.floats(0.0, 0.1), st.floats(0.0, 0.1)), min_size=1
    ),
    drift=st.floats(-DRIFT, DRIFT),
)
def test_the_server_s_clock_is_known_to_within_its_bound(
    ahead_s: int, trips: list[tuple[float, float, float]], drift: float
) -> None:
    now = 0.0
    clock = ServerClock(lambda: now + 1e9)
    shows = lambda at: ahead_s + at * (1 + drift)  # noqa: E731
    for pause_s, there_s, back_s in trips:
        sent = now + pause_s
        now = sent + there_s + back_s
        clock.saw(shown(int(shows(sent + there_s) * 1e9)), sent, now)
        stored = int(shows(now - 3.0) * 1e9)
        # A message of three seconds ago: the bound, and what drifted since then.
        assert abs(clock.here([stored])[0] - (now - 3.0)) <= clock.error_s(now) + 4 * DRIFT + 1e-6


def test_a_clock_that_was_set_is_believed() -> None:
    clock = ServerClock(lambda: 1e9)
    assert clock.here([5]) == ()
    clock.saw(shown(1_000_000_000_000), 10.0, 10.001)
    clock.saw(shown(1_000_000_000_000), 10.0, 12.0)
    assert clock.error_s(12.0) < 0.001, "a slower answer says less"
    clock.saw(shown(2_000_000_000_000), 20.0, 20.1)
    assert clock.here([1_999_000_000_000])[0] == pytest.approx(19.05)
    clock.saw("", 21.0, 21.0)
    assert clock.error_s(20.1) == pytest.approx(0.05)


def test_no_message_is_stored_after_it_is_read() -> None:
    clock = ServerClock(lambda: 50.0)
    clock.saw(shown(1_000_000_000_000), 10.0, 10.0)
    assert clock.here([1_020_000_000_000, 1_060_000_000_000]) == pytest.approx([30.0, 50.0])
