"""Kept streams where something fails: streams that cannot be made or are deleted, other disks.
Whatever has to wait is named; all else goes on."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent.drivers.base import Retryable
from agent.drivers.nats import course_records, jetstream, kept_hand_over, kept_moving, names
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.server_config import BrokerSecrets
from tests.agent.brokers import Broker
from tests.agent.kept_site import (
    FLOWS,
    PASSING,
    STREAMS,
    Desk,
    Publisher,
    Sender,
    Site,
    connection_of,
    contents,
    kept,
    log_in_again,
    problems,
    received,
    record_of,
)
from tests.agent.planes import until
from tests.agent.publishing import log_in
from tests.suites import effort
from weir.coordination.wire import HandOverPhase, StreamPlace
from weir_client.frames import Place
from weir_client.keeping import Kind, Signal
from weir_client.reliable import KEPT

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker("a", tmp_path / "a", BrokerSecrets.generate())
    broker.start()
    yield broker
    broker.kill()


@pytest_asyncio.fixture
async def site(broker: Broker) -> AsyncIterator[Site]:
    site = await Site(broker).open()
    await site.map({**dict.fromkeys(FLOWS, STREAMS[0]), PASSING: STREAMS[0]})
    await site.settle()
    yield site
    await site.close()


async def rival_of(site: Site, at: StreamPlace) -> None:
    """A foreign stream that has the subjects of a place, so that its stream cannot be made."""
    rival = {"name": "RIVAL", "subjects": [f"weir.kept.{at.group}.{at.stream}.>"]}
    await jetstream.ensure_stream(await connection_of(site), rival)


# --- streams that cannot be made


async def test_flows_whose_next_stream_cannot_be_made_go_on_where_they_are(site: Site) -> None:
    bad, good = STREAMS[2], STREAMS[3]
    await rival_of(site, bad)
    desk = await Desk(site.broker, "desk", *FLOWS[:3]).open()
    sender = Sender(await log_in(site.broker, "p"))
    await site.map({**site.places, FLOWS[0]: bad})
    await until(lambda: bool(site.plane.driver._kept.problems), "it fails")
    await sender.send(0, *FLOWS[:3])
    for flow in FLOWS[:3]:
        await received(desk, flow, 1)
    assert (await record_of(site, FLOWS[0])).state.going is None
    # Others are handed over all the same, also one that is asked for in the same document.
    await site.map({**site.places, FLOWS[1]: good, FLOWS[3]: bad})
    await until(lambda: site.hand_overs()[FLOWS[1]].phase is HandOverPhase.DONE, "the other goes")
    await sender.send(1, *FLOWS[:3])
    for flow in FLOWS[:3]:
        await received(desk, flow, 2)
    entry = site.hand_overs()[FLOWS[0]]
    assert (entry.phase, entry.target, entry.took_s) == (HandOverPhase.PREPARING, bad, None)
    while not all(FLOWS[3] in problem for problem in await problems(site)):
        await asyncio.sleep(0.02)
    (problem,) = await problems(site)
    assert all(word in problem for word in (FLOWS[0], FLOWS[3], "overlap"))
    assert FLOWS[1] not in problem
    # A newer document is obeyed at once, as nothing had begun.
    await site.move(FLOWS[0], to=good)
    await until(lambda: site.hand_overs()[FLOWS[0]].phase is HandOverPhase.DONE, "it goes")
    assert site.hand_overs()[FLOWS[0]].source == STREAMS[0]
    await jetstream.delete_stream(await connection_of(site), "RIVAL")
    await site.settle()
    assert not await problems(site)
    await sender.send(2, *FLOWS[:3])
    for flow in FLOWS[:3]:
        await received(desk, flow, 3)
    assert not desk.lost
    await sender.close()
    await desk.close()


async def make_full(site: Site, at: StreamPlace) -> str:
    """Have the stream of a place that takes nothing; return its name."""
    name = f"WEIR_ON_{at.group}_{at.stream}"
    subject = f"weir.kept.{at.group}.{at.stream}.*.*"
    await jetstream.ensure_stream(
        await connection_of(site),
        {"name": name, "subjects": [subject], "max_bytes": 1, "discard": "new"},
    )
    return name


async def make_room(site: Site, name: str, most: int = -1) -> None:
    connection = await connection_of(site)
    state = await jetstream.stream_state(connection, name)
    assert state is not None
    await jetstream.change_stream(connection, state, {"max_bytes": most, "discard": "new"})


@pytest.mark.parametrize("at_once", [1, 8])
async def test_a_hand_over_that_has_begun_holds_up_those_that_share_a_stream_alone(
    site: Site, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(kept_moving, "AT_ONCE", at_once)
    monkeypatch.setattr(kept_hand_over, "STORE_S", 0.3)
    full, other, good = STREAMS[2], STREAMS[1], STREAMS[3]
    stuck, sharing, apart = FLOWS[0], FLOWS[1], FLOWS[4]
    await site.move(apart, to=other)
    await site.settle()
    name = await make_full(site, full)
    desk = await Desk(site.broker, "desk", stuck, sharing, apart).open()
    sender = Sender(await log_in(site.broker, "p"))
    await site.move(stuck, to=full)
    while (await record_of(site, stuck)).state.going is None:
        await asyncio.sleep(0.02)
    # Again in lives of the agent that find the one that is stuck.
    turns = (good, other, good)
    for turn, to in enumerate(turns):
        await site.move(sharing, apart, to=to)
        place = Place(to.group, to.stream)
        while (await record_of(site, apart)).state.place != place:
            await asyncio.sleep(0.02)
        await sender.send(turn, stuck, sharing, apart)
        await received(desk, apart, turn + 1)
        await received(desk, sharing, turn + 1)
        assert (await record_of(site, stuck)).state.going is not None
        assert (await record_of(site, sharing)).state.place == Place(0, 0), "it shares a stream"
        await site.kill()
        await site.open()
        await site.map(site.places)
    assert not desk.numbers[stuck]
    # It does not come to the stream that the other one leaves.
    await site.move(apart, to=STREAMS[0])
    await asyncio.sleep(0.6)
    assert (await record_of(site, apart)).state.place == Place(good.group, good.stream)
    await make_room(site, name)
    await site.settle()
    for flow in (stuck, sharing, apart):
        await received(desk, flow, len(turns))
    assert not await problems(site)
    assert not desk.lost
    await sender.close()
    await desk.close()


async def test_a_flow_goes_one_way_at_a_time_whatever_documents_come_meanwhile(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow, (_, here, there, *_) = FLOWS[0], STREAMS
    await site.map({name: at for name, at in site.places.items() if name != flow})
    await until(lambda: flow not in site.hand_overs(), "it leaves")
    may_write, write = asyncio.Event(), course_records.write
    writes, loads = [], []

    async def write_later(connection: Connection, changes: Any) -> None:
        writes.append(len(changes))
        await may_write.wait()
        await write(connection, changes)

    monkeypatch.setattr(course_records, "write", write_later)
    monkeypatch.setattr(course_records, "read_all", loads.append)
    # From no stream to two different ones: these ways share no stream.
    await site.map({**site.places, flow: here})
    await until(lambda: len(writes) == 1, "it is about to begin")
    await site.map({**site.places, flow: there})
    await asyncio.sleep(0.3)
    assert writes == [1]
    may_write.set()
    await site.settle()
    assert await contents(site, here, flow) == [Kind.FIRST, Kind.LAST]
    assert await contents(site, there, flow) == [Kind.FIRST]
    assert not loads, "records are in doubt"
    assert not await problems(site)


async def test_flows_keep_their_order_while_streams_fill_up_and_hand_overs_overlap(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_hand_over, "STORE_S", 0.2)
    monkeypatch.setattr(kept_moving, "DRAIN_S", 0.2)
    pick = random.Random(5)
    places = [StreamPlace(group=2, stream=number) for number in range(6)]
    await site.map({**site.places, **dict(zip(FLOWS, places, strict=True))})
    await site.settle()
    desks = [
        await Desk(site.broker, f"desk-{n}", *FLOWS[n : n + 4], start=KEPT).open() for n in range(3)
    ]
    publisher = Publisher(await log_in(site.broker, "p"))
    moving = site.plane.driver._kept._moving
    at_once = 0
    for _ in effort(range(15), range(150)):
        name = f"WEIR_ON_2_{pick.randrange(6)}"
        await make_room(site, name, 1)
        for _ in range(3):
            await site.move(*pick.sample(FLOWS, pick.randrange(1, 3)), to=pick.choice(places))
            for _ in range(10):
                at_once = max(at_once, len(moving._running))
                await asyncio.sleep(pick.uniform(0, 0.02))
        await make_room(site, name)
    await site.settle()
    await publisher.stop()
    assert at_once > 1
    for desk in desks:
        for flow in desk.flows:
            await received(desk, flow, publisher.sent[flow])
        assert not desk.lost
        await desk.close()
    assert not await problems(site)


async def test_a_hand_over_that_has_begun_is_completed_before_a_newer_document_is_obeyed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_hand_over, "STORE_S", 0.3)
    full, good = STREAMS[2], STREAMS[3]
    name = await make_full(site, full)
    desk = await Desk(site.broker, "desk", *FLOWS[:3]).open()
    sender = Sender(await log_in(site.broker, "p"))
    await site.move(FLOWS[0], to=full)
    while (await record_of(site, FLOWS[0])).state.going is None:
        await asyncio.sleep(0.02)
    await site.move(FLOWS[1], to=good)
    await sender.send(0, *FLOWS[:3])
    for flow in FLOWS[1:3]:
        await received(desk, flow, 1)
    while not any(name in problem for problem in await problems(site)):
        await asyncio.sleep(0.1)
    assert not desk.numbers[FLOWS[0]], "it waits"
    assert (await record_of(site, FLOWS[1])).state.place == Place(0, 0), "nothing overlaps it"
    # A newer document does not take back what is begun, and is obeyed afterwards.
    await site.move(FLOWS[0], to=STREAMS[1])
    assert site.hand_overs()[FLOWS[0]].next == STREAMS[1]
    await make_room(site, name)
    await site.settle()
    await received(desk, FLOWS[0], 1)
    entry = site.hand_overs()[FLOWS[0]]
    assert (entry.source, entry.target) == (full, STREAMS[1])
    assert await contents(site, full, FLOWS[0]) == [Kind.FIRST, b"0", Kind.LAST]
    assert not await problems(site)
    await sender.close()
    await desk.close()


# --- streams that are deleted


@pytest.mark.parametrize("noticed_by", ["a message", "a reader"])
async def test_a_stream_that_was_deleted_is_made_again_and_its_flows_come_to_it_anew(
    site: Site, noticed_by: str
) -> None:
    sender = Sender(await log_in(site.broker, "p"))
    await site.move(FLOWS[1], to=STREAMS[3])
    await site.settle()
    await sender.send(0, *FLOWS[:2])
    while b"0" not in await contents(site, STREAMS[0], FLOWS[0]):
        await asyncio.sleep(0.02)
    former = await kept(site, STREAMS[0], FLOWS[0])
    before, elsewhere = [(await record_of(site, flow)).state for flow in FLOWS[:2]]
    connection = await connection_of(site)
    await jetstream.delete_stream(connection, "WEIR_ON_0_0")
    if noticed_by == "a reader":
        site.plane.driver._kept.stream_is_missing(Place(0, 0))
    else:
        await sender.send(1, *FLOWS[:2])
    while (state := (await record_of(site, FLOWS[0])).state).moves == before.moves:
        await asyncio.sleep(0.02)
    await site.settle()
    await sender.send(2, *FLOWS[:2])
    numbers = [b"2"] if noticed_by == "a reader" else [b"1", b"2"]
    while (found := await contents(site, STREAMS[0], FLOWS[0])) != [Kind.FIRST, *numbers]:
        assert len(found) <= len(numbers), found
        await asyncio.sleep(0.02)
    first = (await kept(site, STREAMS[0], FLOWS[0]))[0]
    assert first.number > former[-1].number
    assert first.content == Signal(Kind.FIRST, before.moves + 1, None)
    assert (state.course[-1].move, state.course[-1].first) == (before.moves + 1, first.number)
    # Every flow that was there has come to it, and the others have not moved.
    for flow in FLOWS[2:]:
        assert (await record_of(site, flow)).state.going is None
        assert await contents(site, STREAMS[0], flow) == [Kind.FIRST]
    assert await contents(site, STREAMS[0], FLOWS[1]) == []
    assert (await record_of(site, FLOWS[1])).state == elsewhere
    desk = await Desk(site.broker, "desk", FLOWS[0], FLOWS[1]).open()
    last = [int(number) for number in numbers]
    await until(lambda: desk.numbers[FLOWS[0]] == last, f"{desk.numbers}")
    assert not await problems(site)
    await sender.close()
    await desk.close()


async def test_messages_wait_while_a_deleted_stream_cannot_be_made_again(site: Site) -> None:
    sender = Sender(await log_in(site.broker, "p"))
    await site.move(FLOWS[1], to=STREAMS[3])
    await site.settle()
    connection = await connection_of(site)
    await jetstream.delete_stream(connection, "WEIR_ON_0_0")
    await rival_of(site, STREAMS[0])
    await sender.send(0, *FLOWS[:3])
    while not any("WEIR_ON_0_0" in problem for problem in await problems(site)):
        await asyncio.sleep(0.05)
    # Those elsewhere go on, and are handed over.
    while b"0" not in await contents(site, STREAMS[3], FLOWS[1]):
        await asyncio.sleep(0.02)
    await site.move(FLOWS[1], FLOWS[2], to=STREAMS[1])
    while (found := await contents(site, STREAMS[1], FLOWS[2])) != [Kind.FIRST, b"0"]:
        assert len(found) < 2, found
        await asyncio.sleep(0.02)
    await jetstream.delete_stream(connection, "RIVAL")
    await site.settle()
    while await contents(site, STREAMS[0], FLOWS[0]) != [Kind.FIRST, b"0"]:
        await asyncio.sleep(0.02)
    assert not await problems(site)
    await sender.close()


async def test_records_that_were_deleted_are_written_again(site: Site) -> None:
    await site.move(FLOWS[1], to=STREAMS[1])
    await site.settle()
    before = {flow: (await record_of(site, flow)).state for flow in FLOWS}
    await jetstream.delete_stream(await connection_of(site), names.COURSES_STREAM)
    desk = await Desk(site.broker, "desk", *FLOWS[:2]).open()
    await site.move(FLOWS[0], to=STREAMS[3])
    await site.settle()
    after = {flow: (await record_of(site, flow)).state for flow in FLOWS}
    assert {flow: after[flow] for flow in FLOWS[1:]} == {flow: before[flow] for flow in FLOWS[1:]}
    assert after[FLOWS[0]].course[-2].first == before[FLOWS[0]].course[-1].first
    assert after[FLOWS[0]].moves == before[FLOWS[0]].moves + 1
    sender = Sender(await log_in(site.broker, "p"))
    await sender.send(0, *FLOWS[:2])
    for flow in FLOWS[:2]:
        await received(desk, flow, 1)
    assert not desk.lost
    await sender.close()
    await desk.close()


# --- other disks


async def test_an_empty_disk_begins_anew_above_all_that_was(site: Site) -> None:
    sender = Sender(await log_in(site.broker, "p"))
    await sender.send(0, *FLOWS[:2])
    while b"0" not in await contents(site, STREAMS[0], FLOWS[0]):
        await asyncio.sleep(0.02)
    before = (await record_of(site, FLOWS[0])).state
    newest = (await kept(site, STREAMS[0], FLOWS[0]))[-1].number
    # A hand-over that has begun, and cannot end, on the former disk.
    await make_full(site, STREAMS[2])
    await site.move(FLOWS[0], to=STREAMS[2])
    while (await record_of(site, FLOWS[0])).state.going is None:
        await asyncio.sleep(0.02)
    await sender.send(1, FLOWS[0])
    waiting = site.plane.driver._kept._flows[FLOWS[0]].waiting
    await until(lambda: len(waiting) == 1, "a message waits")
    await sender.close()
    site.broker.kill()
    shutil.rmtree(site.broker.directory / "store")
    site.broker.start()
    await site.settle()
    after = (await record_of(site, FLOWS[0])).state
    assert after.going is None
    (stay,) = after.course
    assert (stay.place, stay.last) == (Place(1, 10), None)
    assert stay.move > before.moves
    # Nothing of what was under way on the former disk is on this one.
    assert await contents(site, STREAMS[0], FLOWS[0]) == []
    first = (await kept(site, STREAMS[2], FLOWS[0]))[0]
    assert first.content == Signal(Kind.FIRST, stay.move, None)
    assert (await kept(site, STREAMS[0], FLOWS[1]))[0].number > newest
    sender = Sender(await log_in_again(site.broker))
    await sender.send(2, *FLOWS[:2])
    while await contents(site, STREAMS[2], FLOWS[0]) != [Kind.FIRST, b"1", b"2"]:
        await asyncio.sleep(0.02)
    while await contents(site, STREAMS[0], FLOWS[1]) != [Kind.FIRST, b"2"]:
        await asyncio.sleep(0.02)
    await sender.close()


async def test_what_waits_for_a_stream_goes_to_where_the_flow_is_on_an_older_disk(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, flow = site.broker, FLOWS[0]
    for at in (STREAMS[1], STREAMS[0]):
        await site.move(flow, to=at)
        await site.settle()
    broker.kill()
    shutil.copytree(broker.directory / "store", broker.directory / "older")
    broker.start()
    await site.move(flow, to=STREAMS[1])
    await until(lambda: site.plane.driver._kept.places([flow])[flow] == (Place(0, 1),), "it moves")
    # Its stream takes nothing, so that a message waits for it in the agent, and a hand-over waits
    # for that while the disk is put in the place of this one.
    await make_room(site, "WEIR_ON_0_1", 1)
    sender = Sender(await log_in_again(broker))
    await sender.send(0, flow)
    known = site.plane.driver._kept._flows[flow]
    await until(lambda: len(known.given) == 1, "it waits")
    await sender.close()
    monkeypatch.setattr(kept_moving, "DRAIN_S", 5.0)
    await site.move(flow, to=STREAMS[2])
    await until(lambda: known.is_paused, "it is about to be handed over")
    await asyncio.sleep(2.5)
    await until(lambda: known.is_paused, "it is about to be handed over")
    broker.kill()
    shutil.rmtree(broker.directory / "store")
    (broker.directory / "older").rename(broker.directory / "store")
    broker.start()
    # There it was on the first stream.
    back = [Kind.FIRST, Kind.LAST, Kind.FIRST]
    found: list[list[Any]] = []
    while not found or Kind.LAST not in found[0][3:]:
        with contextlib.suppress(Retryable):
            found = [await contents(site, at, flow) for at in STREAMS[:3]]
        await asyncio.sleep(0.02)
    await until(lambda: not known.given and not known.waiting, "it is stored")
    found = [await contents(site, at, flow) for at in STREAMS[:3]]
    assert found[1] == [Kind.FIRST, Kind.LAST]
    assert (found[0], found[2]) in (
        ([*back, b"0", Kind.LAST], [Kind.FIRST]),
        ([*back, Kind.LAST], [Kind.FIRST, b"0"]),
    )


# --- all of it at once


async def test_messages_keep_their_order_however_often_records_are_read_again(site: Site) -> None:
    pick = random.Random(11)
    desks = [
        await Desk(site.broker, f"desk-{n}", *FLOWS[n : n + 4], start=KEPT).open() for n in range(2)
    ]
    publisher = Publisher(await log_in(site.broker, "p"))
    running = site.plane.driver._kept
    for _ in effort(range(40), range(300)):
        await site.move(*pick.sample(FLOWS, 2), to=pick.choice(STREAMS))
        await asyncio.sleep(pick.uniform(0, 0.1))
        match pick.randrange(3):
            case 0:
                running._appending.forget()
                running._changed.set()
            case 1:
                at = pick.choice(STREAMS)
                await running._appending.end_writer(Place(at.group, at.stream))
            case _:
                at = pick.choice(STREAMS)
                running.stream_is_missing(Place(at.group, at.stream))
    await site.settle()
    await publisher.stop()
    for desk in desks:
        for flow in desk.flows:
            await received(desk, flow, publisher.sent[flow])
        assert not desk.lost
        await desk.close()
