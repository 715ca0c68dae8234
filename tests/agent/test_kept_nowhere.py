"""Brokers that keep nothing on streams: where no reliable flow is mapped, and without JetStream."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.drivers.base import Channel, Message, Place
from agent.drivers.nats import jetstream, names
from agent.drivers.nats.server_config import BrokerSecrets
from tests.agent.brokers import Broker
from tests.agent.kept_site import (
    FLOWS,
    PASSING,
    STREAMS,
    Desk,
    Sender,
    Site,
    connection_of,
    problems,
    received,
)
from tests.agent.planes import Plane, client, listen, until
from tests.agent.publishing import log_in
from tests.nats_server import NatsServer
from weir.coordination.wire import ClassSpec, Delivery, StreamPlace
from weir_client import reliable, subjects

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker("a", tmp_path / "a", BrokerSecrets.generate())
    broker.start()
    yield broker
    broker.kill()


async def of_kept_flows(site: Site) -> set[str]:
    """The streams at a broker that exist for reliable mapped flows alone."""
    every = await jetstream.stream_names(await connection_of(site), ">")
    alone = {names.COURSES_STREAM, subjects.READERS_STREAM}
    return {name for name in every if name in alone or name.startswith("WEIR_ON_")}


async def test_nothing_is_made_until_a_reliable_flow_is_mapped_and_readers_wait_for_it(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reliable, "ASK_ALL_S", 0.5)
    site = await Site(broker).open()
    site.classes = {"gold": ClassSpec(flow=FLOWS[0])}
    await site.map({PASSING: STREAMS[0]})
    sender = Sender(await log_in(broker, "p"))
    await sender.send(0, FLOWS[0])
    kept = site.plane.driver._kept
    await until(kept._appending.loaded.is_set, "it is known that nothing is recorded")
    await sender.send(1, FLOWS[0])
    connection = await connection_of(site)
    delivered = names.delivery_stream(FLOWS[0])
    while (state := await jetstream.stream_state(connection, delivered)) is None or (
        state.messages < 2
    ):
        await asyncio.sleep(0.02)
    assert not await of_kept_flows(site)
    assert not kept._flows, "messages of flows that are not mapped leave nothing behind"
    assert not kept._appending._writers
    assert not any(kept.may_hold(flow) for flow in (*FLOWS, PASSING))
    assert site.hand_overs() == {}
    # A reader is answered all the same: it may come before its flow is mapped.
    desk = await Desk(broker, "early", FLOWS[0]).open()
    assert await of_kept_flows(site) == {subjects.READERS_STREAM}
    await site.map({PASSING: STREAMS[0], FLOWS[0]: STREAMS[1]})
    await site.settle()
    assert await of_kept_flows(site) == {
        names.COURSES_STREAM,
        subjects.READERS_STREAM,
        "WEIR_ON_0_1",
    }
    assert [flow for flow in FLOWS if kept.may_hold(flow)] == [FLOWS[0]]
    for number in range(2, 5):
        await sender.send(number, *FLOWS[:2])
    await until(lambda: len(desk.numbers[FLOWS[0]]) >= 3, "it comes")
    assert desk.numbers == {FLOWS[0]: [2, 3, 4]}
    assert not desk.lost
    assert not await problems(site)
    await desk.close()
    await sender.close()
    await site.close()


async def test_flows_that_were_mapped_leave_their_streams_without_a_map(broker: Broker) -> None:
    """A life of the agent that begins when nothing is mapped any more obeys what is recorded."""
    site = await Site(broker).open()
    await site.map({FLOWS[0]: STREAMS[1]})
    await site.settle()
    desk = await Desk(broker, "desk", FLOWS[0]).open()
    sender = Sender(await log_in(broker, "p"))
    await sender.send(0, FLOWS[0])
    await received(desk, FLOWS[0], 1)
    await site.kill()
    await site.open()
    await site.map({})
    await until(lambda: not site.plane.driver._kept.places(FLOWS), "it leaves")
    await until(lambda: desk.reader._following.flows[FLOWS[0]].place is None, "readers know")
    assert not desk.lost
    assert not await problems(site)
    await desk.close()
    await sender.close()
    await site.close()


async def test_a_server_without_jetstream_sends_what_is_best_effort_and_keeps_nothing(
    tmp_path: Path,
) -> None:
    with NatsServer(tmp_path / "a", config="port: {port}\n") as server:
        driver = (plane := Plane("a", server)).driver
        await driver.open()
        places = {flow: StreamPlace(group=0, stream=0) for flow in ("core", "rel")}
        driver.map_flows(places, {"rel": 3_600})
        connection = await client(server)
        got = await listen(connection, "core")
        here = {"place": Place.DELIVERY, "delivery": Delivery.BEST_EFFORT}
        message = Message(flow="core", origin="1", position=1, payload=b"1")
        await driver.publish(Channel(**here, flow="core"), [message])
        await until(lambda: got == [b"1"], "it comes")
        assert driver.hand_overs() == {}
        assert not driver._kept.may_hold("rel")
        assert not (await driver.stats()).problems
        await connection.close()
        await plane.close()
