"""Readers of kept streams at a real broker, which loses streams, records and disks under them."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import nats.errors
import pytest
import pytest_asyncio

from agent.drivers.nats import jetstream
from agent.drivers.nats.server_config import BrokerSecrets
from tests.agent.brokers import Broker
from tests.agent.kept_site import FLOWS, STREAMS, Desk, Publisher, Site, received
from tests.agent.planes import until
from tests.agent.publishing import log_in
from weir_client import subjects
from weir_client.frames import Place
from weir_client.kept_following import Following
from weir_client.kept_reading import StreamReading
from weir_client.reliable import Message, ReliableSubscriber

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

HERE, THERE = Place(0, 0), Place(0, 1)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker("a", tmp_path / "a", BrokerSecrets.generate())
    broker.start()
    yield broker
    broker.kill()


@pytest_asyncio.fixture
async def site(broker: Broker) -> AsyncIterator[Site]:
    site = await Site(broker).open()
    await site.map({flow: STREAMS[number % 2] for number, flow in enumerate(FLOWS)})
    await site.settle()
    yield site
    await site.close()


class Sender:
    """A publisher that sends what a test gives it, through every loss of the broker."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._ids = itertools.count()

    @classmethod
    async def open(cls, site: Site) -> Sender:
        return cls(await log_in(site.broker, "p", allow_reconnect=True, max_reconnect_attempts=-1))

    async def send(self, flow: str, *payloads: bytes) -> None:
        for payload in payloads:
            headers = {"Nats-Msg-Id": f"{id(self)} {next(self._ids)}"}
            while True:
                try:
                    await self.client.jetstream(timeout=2).publish(
                        f"weir.in.{subjects.token(flow)}", payload, headers=headers
                    )
                    break
                except (nats.errors.Error, TimeoutError):
                    await asyncio.sleep(0.1)

    async def numbers(self, flow: str, *numbers: int) -> None:
        await self.send(flow, *(b"%d" % number for number in numbers))


async def test_a_stream_that_is_deleted_under_readers_is_gone_on_with(site: Site) -> None:
    desk = await Desk(site.broker, "desk", *FLOWS[:4]).open()
    publisher = Publisher(await log_in(site.broker, "p"))
    await received(desk, FLOWS[0], 20)
    connection = await site.plane.driver._own.connection()
    await jetstream.delete_stream(connection, subjects.kept_stream(HERE))
    sent = dict(publisher.sent)
    await until(lambda: all(publisher.sent[f] > sent[f] + 20 for f in FLOWS), "it goes on")
    await publisher.stop()
    for flow in FLOWS[:4]:
        last = publisher.sent[flow] - 1
        await until(lambda: desk.numbers[flow][-1:] == [last], f"{flow}", 30)  # noqa: B023
    # What was in the stream and not read yet is lost, and nothing else.
    for flow in (FLOWS[1], FLOWS[3]):
        assert desk.numbers[flow] == list(range(publisher.sent[flow]))
    for flow in (FLOWS[0], FLOWS[2]):
        assert desk.numbers[flow] == sorted(set(desk.numbers[flow]))
    assert {lost.place for lost in desk.lost} == {HERE}
    assert {flow for lost in desk.lost for flow in lost.flows} == {FLOWS[0], FLOWS[2]}
    await desk.close()


async def test_a_stream_that_cannot_be_opened_holds_up_nothing_else(site: Site) -> None:
    desk = await Desk(site.broker, "desk", *FLOWS[:2]).open()
    sender = await Sender.open(site)
    await sender.numbers(FLOWS[0], 0)
    await received(desk, FLOWS[0], 1)
    await desk.close()
    connection = await site.plane.driver._own.connection()
    await jetstream.delete_stream(connection, subjects.kept_stream(HERE))
    rival = {"name": "RIVAL", "subjects": [f"{subjects.kept_subject(HERE)}.>"]}
    await jetstream.ensure_stream(connection, rival)
    await asyncio.wait_for(desk.open(), 10)
    await sender.numbers(FLOWS[1], 0, 1)
    await received(desk, FLOWS[1], 2)
    await asyncio.wait_for(desk.reader.want(FLOWS[0], FLOWS[1], FLOWS[3], start="kept"), 10)
    await sender.numbers(FLOWS[3], 0)
    await received(desk, FLOWS[3], 1)
    consumer = f"CONSUMER.INFO.{subjects.kept_stream(THERE)}.reader-desk-"
    infos = []
    for lane in subjects.LANES:
        try:
            infos.append(await jetstream.call(connection, consumer + lane))
        except jetstream.JetStreamError:
            continue
    state = await jetstream.stream_state(connection, subjects.kept_stream(THERE))
    assert state is not None
    assert len(infos) == 1
    last, name = state.last, infos[0]["name"]

    async def is_acknowledged() -> bool:
        info = await jetstream.call(
            connection, f"CONSUMER.INFO.{subjects.kept_stream(THERE)}.{name}"
        )
        return int(info["ack_floor"]["stream_seq"]) == last

    while not await is_acknowledged():
        await asyncio.sleep(0.05)
    assert not desk.lost
    # As soon as it can be made again, it is.
    await jetstream.delete_stream(connection, "RIVAL")
    await sender.numbers(FLOWS[0], 1)
    await until(lambda: desk.numbers[FLOWS[0]][-1:] == [1], "it is read again", 30)
    await sender.client.close()
    await desk.close()


async def test_an_older_disk_is_noticed_and_what_it_has_comes_again(
    site: Site, tmp_path: Path
) -> None:
    flow, other, moved = FLOWS[0], FLOWS[1], FLOWS[2]
    desk = await Desk(site.broker, "desk", flow, other, moved).open()
    sender = await Sender.open(site)
    for name in (flow, other, moved):
        await sender.numbers(name, 0, 1)
        await received(desk, name, 2)
    await asyncio.sleep(0.5)
    site.broker.kill()
    store, copy = site.broker.directory / "store", tmp_path / "copy"
    shutil.copytree(store, copy)
    site.broker.start()
    await sender.numbers(flow, 2, 3, 4)
    await received(desk, flow, 5)
    await site.move(moved, to=STREAMS[2])
    await site.settle()
    await sender.numbers(moved, 2)
    await received(desk, moved, 3)
    site.broker.kill()
    shutil.rmtree(store)
    shutil.copytree(copy, store)
    site.broker.start()
    await until(lambda: bool(desk.lost), "it is noticed", 30)
    for name in (flow, other, moved):
        await sender.numbers(name, 100, 101)
    for name in (flow, other, moved):
        await until(lambda: desk.numbers[name][-1:] == [101], f"{desk.numbers}", 30)  # noqa: B023
    assert desk.numbers[flow] == [0, 1, 2, 3, 4, 0, 1, 100, 101]
    assert desk.numbers[other] == [0, 1, 0, 1, 100, 101]
    # It was moved again, to a stream that was made anew.
    assert desk.numbers[moved] == [0, 1, 2, 0, 1, 100, 101]
    assert {name for lost in desk.lost for name in lost.flows} == {flow, other, moved}
    assert all(lost.last is None for lost in desk.lost)
    await desk.close()
    await desk.open()
    for name in (flow, other, moved):
        await sender.numbers(name, 102)
    for name in (flow, other, moved):
        await until(lambda: desk.numbers[name][-1:] == [102], f"{desk.numbers}", 30)  # noqa: B023
        assert desk.numbers[name][-3:] == [100, 101, 102]
    await sender.client.close()
    await desk.close()


async def test_an_empty_disk_is_begun_with_anew(site: Site) -> None:
    flow = FLOWS[0]
    desk = await Desk(site.broker, "desk", flow).open()
    sender = await Sender.open(site)
    await sender.numbers(flow, 0, 1)
    await received(desk, flow, 2)
    site.broker.kill()
    shutil.rmtree(site.broker.directory / "store")
    site.broker.start()
    await sender.numbers(flow, 100, 101)
    await until(lambda: desk.numbers[flow][-1:] == [101], f"{desk.numbers}", 30)
    assert desk.numbers[flow] == [0, 1, 100, 101]
    assert flow in {name for lost in desk.lost for name in lost.flows}
    await sender.client.close()
    await desk.close()


async def test_records_that_are_deleted_are_written_again(site: Site) -> None:
    desk = await Desk(site.broker, "desk", FLOWS[0]).open()
    sender = await Sender.open(site)
    connection = await site.plane.driver._own.connection()
    await jetstream.delete_stream(connection, subjects.READERS_STREAM)
    await asyncio.wait_for(desk.reader.want(*FLOWS[:2], start="kept"), 20)
    await sender.numbers(FLOWS[0], 0)
    await received(desk, FLOWS[0], 1)
    await desk.close()
    await sender.numbers(FLOWS[0], 1)
    await desk.open()
    await received(desk, FLOWS[0], 2)
    await sender.client.close()
    await desk.close()


async def test_a_consumer_that_is_gone_is_made_again(site: Site) -> None:
    desk = await Desk(site.broker, "desk", FLOWS[0]).open()
    sender = await Sender.open(site)
    await sender.numbers(FLOWS[0], 0)
    await received(desk, FLOWS[0], 1)
    connection = await site.plane.driver._own.connection()
    reading = desk.reader._streams.get(HERE)
    assert reading is not None
    name = subjects.consumer_of("desk", subjects.LANES[reading._lane])
    await jetstream.call(connection, f"CONSUMER.DELETE.{subjects.kept_stream(HERE)}.{name}")
    await sender.numbers(FLOWS[0], 1, 2)
    await received(desk, FLOWS[0], 3)
    assert not desk.lost
    await sender.client.close()
    await desk.close()


@pytest.mark.parametrize("which", [3, 19])
async def test_what_is_lost_on_the_way_is_read_again_and_not_taken_for_removed(
    site: Site, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    """One in the middle shows by the next one, the last one by a heartbeat."""
    take_in, dropped = StreamReading._take_in, []

    def losing(self: StreamReading, message: Any) -> None:
        if message.data == b"%d" % which and not dropped:
            dropped.append(message)
        else:
            take_in(self, message)

    monkeypatch.setattr(StreamReading, "_take_in", losing)
    desk = await Desk(site.broker, "desk", FLOWS[0]).open()
    sender = await Sender.open(site)
    await sender.numbers(FLOWS[0], *range(20))
    await received(desk, FLOWS[0], 20)
    assert dropped
    assert not desk.lost
    await sender.client.close()
    await desk.close()


async def test_what_waits_in_a_reader_is_bounded_in_bytes(site: Site) -> None:
    size, count = 400_000, 120
    sender = await Sender.open(site)
    await sender.send(FLOWS[0], *(b"%d" % n + bytes(size) for n in range(count)))
    await sender.numbers(FLOWS[1], 0)
    reader = await ReliableSubscriber.connect(
        site.broker.url, name="desk", key=site.broker.secrets.client_key
    )
    await reader.want(*FLOWS[:2], start="kept")
    reading = reader._streams.get(HERE)
    assert reading is not None
    # Longer than a consumer of which nothing is heard is waited for.
    await asyncio.sleep(6)
    assert reader._streams.get(HERE) is reading
    waiting = [len(item.payload) for item in reading.waiting]
    assert size < sum(waiting) < 36 << 20
    assert len(waiting) < count
    most, numbers = 0, []
    async for each in reader.messages():
        assert isinstance(each, Message)
        if each.flow == FLOWS[0]:
            numbers.append(int(each.payload.rstrip(b"\0")))
            most = max(most, sum(len(item.payload) for item in reading.waiting))
        if len(numbers) == count:
            break
    assert numbers == list(range(count))
    assert most < 36 << 20
    await sender.client.close()
    await reader.close()


async def test_more_flows_than_a_record_holds_are_refused_before_anything_changes(
    site: Site,
) -> None:
    desk = await Desk(site.broker, "desk", FLOWS[0]).open()
    sender = await Sender.open(site)
    many = [f"{number:0100}" for number in range(5_000)]
    before = desk.reader._following.to_json()
    with pytest.raises(ValueError, match=r"5,001 flows take up to 1,\d+,\d+ bytes.* 1,0\d+,\d+ b"):
        await desk.reader.want(FLOWS[0], *many)
    assert desk.reader._following.to_json() == before
    await asyncio.wait_for(desk.reader.want(FLOWS[0], *many[:3_000]), 60)
    await sender.numbers(FLOWS[0], 0)
    await received(desk, FLOWS[0], 1)
    await sender.client.close()
    await desk.close()


async def test_an_internal_error_reaches_the_application(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = await Desk(site.broker, "desk", FLOWS[0]).open()

    def failing(*_: Any) -> None:
        raise ZeroDivisionError("one over none")

    monkeypatch.setattr(Following, "compare", failing)
    desk.reader._following.doubtful.add(FLOWS[0])
    desk.reader._is_in_doubt.set()
    with pytest.raises(ZeroDivisionError, match="one over none"):
        await asyncio.wait_for(desk._task, 20)
    with pytest.raises(ZeroDivisionError, match="one over none"):
        await desk.reader.want(FLOWS[1])
    await desk.reader.close()


async def test_what_changes_while_the_record_is_written_is_written_next(site: Site) -> None:
    desk = await Desk(site.broker, "desk", FLOWS[0]).open()
    reader, keep = desk.reader, desk.reader._record.keep
    kept: list[Any] = []

    async def changing(state: Any) -> None:
        kept.append(state)
        if len(kept) == 1:
            reader._following.end(FLOWS[0])
        await keep(state)

    reader._record.keep = changing  # type: ignore[method-assign]
    await reader.want(*FLOWS[:2])
    await until(lambda: len(kept) > 1, "it is written again")
    stored = await reader._record.load()
    assert set(stored.state["reader"]["flows"]) == {FLOWS[1]}
    await desk.close()


async def test_an_application_that_stops_waiting_in_the_middle_misses_nothing(site: Site) -> None:
    sender = await Sender.open(site)
    await sender.numbers(FLOWS[0], *range(10))
    reader = await ReliableSubscriber.connect(
        site.broker.url, name="desk", key=site.broker.secrets.client_key
    )
    await reader.want(FLOWS[0], start="kept")
    numbers: list[int] = []

    async def read() -> None:
        async for each in reader.messages():
            assert isinstance(each, Message), each
            numbers.append(int(each.payload))

    for turn in range(40):
        reading = asyncio.create_task(read())
        await asyncio.sleep(0.001 * (turn % 7))
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await sender.numbers(FLOWS[0], 10 + turn)
        if turn % 10 == 5:
            await site.move(FLOWS[0], to=STREAMS[turn // 10])
    reading = asyncio.create_task(read())
    await until(lambda: numbers[-1:] == [49], f"{numbers}", 30)
    assert numbers == list(range(50))
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await sender.client.close()
    await reader.close()
