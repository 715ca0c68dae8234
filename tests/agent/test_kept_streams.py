"""Reliable mapped flows at a real broker: readers follow them, whoever is killed meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import nats
import nats.errors
import pytest
import pytest_asyncio

from agent.drivers.nats import course_records, jetstream, kept_hand_over
from agent.drivers.nats.server_config import BrokerSecrets
from agent.tasks import Died
from tests.agent.brokers import Broker
from tests.agent.kept_site import FLOWS, PASSING, STREAMS, Desk, Publisher, Site, received
from tests.agent.planes import until
from tests.agent.publishing import log_in
from tests.suites import effort
from weir_client import subjects
from weir_client.frames import Place
from weir_client.keeping import courses_from_bytes
from weir_client.reliable import KEPT, Superseded
from weir_client.subscriber_login import SUBSCRIBER_USER

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


async def test_flows_move_under_load_and_every_message_comes_once_in_order(site: Site) -> None:
    pick = random.Random(3)
    desks = [await Desk(site.broker, f"desk-{n}", *FLOWS[n : n + 4]).open() for n in range(3)]
    publisher = Publisher(await log_in(site.broker, "p"))
    for turn in effort(range(25), range(200)):
        await site.move(*pick.sample(FLOWS, 3), to=pick.choice(STREAMS))
        if pick.random() < 0.5:
            await site.settle()
            assert all(each.took_s is not None for each in site.hand_overs().values())
        if turn % 8 == 3:
            victim = pick.choice(desks)
            await victim.close()
            await site.move(*pick.sample(FLOWS, 3), to=pick.choice(STREAMS))
            await victim.open()
    await site.settle()
    await publisher.stop()
    for desk in desks:
        for flow in desk.flows:
            await received(desk, flow, publisher.sent[flow])
        assert not desk.lost
        assert set(desk.numbers) == set(desk.flows)
        await desk.close()


async def test_an_agent_that_ends_between_any_two_steps_goes_on_from_there(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = await Desk(site.broker, "desk", *FLOWS).open()
    publisher = Publisher(await log_in(site.broker, "p"))
    goals = itertools.cycle(STREAMS[1:] + STREAMS[:1])
    for name, number, is_done in [
        (name, number, is_done)
        for name in ("write", "append_signals")
        for number in (1, 2)
        for is_done in (False, True)
    ]:
        module, reached = course_records if name == "write" else kept_hand_over, asyncio.Event()
        step, calls = getattr(module, name), itertools.count(1)

        async def crashing(
            *args: Any,
            step: Any = step,
            calls: Iterator[int] = calls,
            at: tuple[int, bool] = (number, is_done),
            reached: asyncio.Event = reached,
            **options: Any,
        ) -> Any:
            is_here = next(calls) == at[0]
            if is_here and not at[1]:
                reached.set()
                await asyncio.Event().wait()
            answer = await step(*args, **options)
            if is_here:
                reached.set()
                await asyncio.Event().wait()
            return answer

        monkeypatch.setattr(module, name, crashing)
        await site.move(FLOWS[0], FLOWS[1], to=next(goals))
        await asyncio.wait_for(reached.wait(), 20)
        assert not site.settled()
        await site.kill()
        monkeypatch.setattr(module, name, step)
        await site.open()
        # Another goal than the one that the hand-over was about.
        await site.move(FLOWS[0], to=next(goals))
        await site.settle()
    await publisher.stop()
    for flow in FLOWS:
        await received(desk, flow, publisher.sent[flow])
    assert not desk.lost
    await desk.close()


async def test_a_killed_reader_goes_on_where_it_was_and_repeats_what_it_had_not_acknowledged(
    site: Site,
) -> None:
    pick = random.Random(5)
    desk = await Desk(site.broker, "desk", *FLOWS[:3]).open()
    publisher = Publisher(await log_in(site.broker, "p"))
    ends: list[dict[str, int]] = []
    for _ in range(6):
        await site.move(*pick.sample(FLOWS[:3], 2), to=pick.choice(STREAMS))
        await asyncio.sleep(pick.uniform(0, 0.2))
        await desk.kill()
        ends.append({flow: len(desk.numbers[flow]) for flow in desk.flows})
        for _ in range(2):
            await site.move(*pick.sample(FLOWS[:3], 2), to=pick.choice(STREAMS))
            await site.settle()
        await desk.open()
    await publisher.stop()
    for flow in desk.flows:
        last = publisher.sent[flow] - 1
        await until(lambda: desk.numbers[flow][-1:] == [last], f"{flow}", 30)  # noqa: B023
        numbers, stops = desk.numbers[flow], [0, *(end[flow] for end in ends), None]
        assert sorted(set(numbers)) == list(range(last + 1))
        for begin, stop in itertools.pairwise(stops):
            piece = numbers[begin:stop]
            if piece:
                assert piece == list(range(piece[0], piece[-1] + 1))
    assert not desk.lost
    await desk.close()


async def test_a_broker_that_is_killed_loses_and_doubles_nothing(site: Site) -> None:
    desk = await Desk(site.broker, "desk", *FLOWS[:2]).open()
    client = await log_in(site.broker, "p", allow_reconnect=True)
    js = client.jetstream(timeout=5)
    for number in range(40):
        if number in (10, 25):
            await site.move(FLOWS[0], to=STREAMS[1 + number % 3])
            site.broker.kill()
            site.broker.start()
            await until(lambda: client.is_connected, "the publisher is back")
        for flow in FLOWS[:2]:
            while True:
                with contextlib.suppress(nats.errors.Error, TimeoutError):
                    await js.publish(
                        f"weir.in.{subjects.token(flow)}",
                        b"%d" % number,
                        headers={"Nats-Msg-Id": f"{flow} {number}"},
                    )
                    break
                await asyncio.sleep(0.1)
    for flow in FLOWS[:2]:
        await received(desk, flow, 40)
        assert len(desk.numbers[flow]) == 40
    assert not desk.lost
    await client.close()
    await desk.close()


async def test_new_wants_begin_at_the_newest_or_at_the_oldest_kept_message(site: Site) -> None:
    client = await log_in(site.broker, "p")
    js = client.jetstream(timeout=5)

    async def publish(*numbers: int) -> None:
        for number in numbers:
            for flow in FLOWS[:2]:
                await js.publish(f"weir.in.{subjects.token(flow)}", b"%d" % number)
        await until(lambda: site.plane.router.ready, "ready")
        await asyncio.sleep(0.3)

    await publish(0, 1)
    newest = await Desk(site.broker, "newest", FLOWS[0], start="newest").open()
    await site.move(FLOWS[0], to=STREAMS[2])
    await site.settle()
    await publish(2, 3)
    await until(lambda: newest.numbers[FLOWS[0]] == [2, 3], f"{newest.numbers}")
    # The second flow begins where its stream was read past, for the first one.
    await newest.reader.want(FLOWS[0], FLOWS[1], start=KEPT)
    await received(newest, FLOWS[1], 4)
    kept = await Desk(site.broker, "kept", FLOWS[0], start=KEPT).open()
    await received(kept, FLOWS[0], 4)
    await newest.reader.want(FLOWS[1])
    await until(lambda: newest.reader._streams.places() == [Place(0, 0)], "it is closed")
    while await consumers(site, Place(1, 10)) != {"reader-kept-a"}:
        await asyncio.sleep(0.02)
    await publish(4)
    await received(newest, FLOWS[1], 5)
    assert newest.numbers[FLOWS[0]] == [2, 3]
    assert newest.reader.filtered.malformed == 0
    await client.close()
    await newest.close()
    await kept.close()


async def consumers(site: Site, place: Place) -> set[str]:
    """The readers' consumers of a stream."""
    connection = await site.plane.driver._own.connection()
    frame = await connection.request(f"$JS.API.CONSUMER.NAMES.{subjects.kept_stream(place)}")
    return {name for name in json.loads(frame[3])["consumers"] or () if name.startswith("reader-")}


async def test_a_flow_that_leaves_the_map_rests_until_it_is_back(site: Site) -> None:
    flow = FLOWS[3]
    desk = await Desk(site.broker, "desk", flow, "never mapped").open()
    js = (client := await log_in(site.broker, "p")).jetstream(timeout=5)
    subject = f"weir.in.{subjects.token(flow)}"
    await js.publish(subject, b"0")
    await received(desk, flow, 1)
    without = {name: place for name, place in site.places.items() if name != flow}
    await site.map(without)
    await until(lambda: flow not in site.hand_overs(), "it leaves")
    await until(lambda: desk.reader._following.flows[flow].place is None, "it was not followed")
    await js.publish(subject, b"7")
    await asyncio.sleep(0.2)
    await desk.close()
    await site.kill()
    await site.open()
    await site.map({**without, flow: STREAMS[3]})
    await site.settle()
    await js.publish(subject, b"1")
    await desk.open()
    await received(desk, flow, 2)
    await client.close()
    await desk.close()


async def test_what_retention_removed_is_reported_and_the_flow_is_followed(site: Site) -> None:
    flow, other = FLOWS[0], FLOWS[1]
    desk = await Desk(site.broker, "desk", flow, other).open()
    js = (client := await log_in(site.broker, "p")).jetstream(timeout=5)

    async def publish(number: int) -> None:
        for name in (flow, other):
            await js.publish(f"weir.in.{subjects.token(name)}", b"%d" % number)
        await asyncio.sleep(0.2)

    await publish(0)
    await received(desk, other, 1)
    await received(desk, flow, 1)
    await desk.close()
    await publish(1)
    await site.move(flow, to=STREAMS[1])
    await site.settle()
    await publish(2)
    connection = await site.plane.driver._own.connection()
    state = await jetstream.stream_state(connection, "WEIR_ON_0_0")
    assert state is not None
    # Messages and Last grow too old, and nothing is left.
    await jetstream.change_stream(connection, state, {"max_age": jetstream.NANOSECONDS})
    while state.messages:
        await asyncio.sleep(0.1)
        state = await jetstream.stream_state(connection, "WEIR_ON_0_0")
        assert state is not None
    await desk.open()
    await until(lambda: desk.numbers[flow] == [0, 2], f"{desk.numbers} {desk.reader._following}")
    await publish(3)
    await until(lambda: desk.numbers[flow] == [0, 2, 3], f"{desk.numbers}")
    await until(lambda: desk.numbers[other] == [0, 3], f"{desk.numbers}")
    assert {name for lost in desk.lost for name in lost.flows} == {flow, other}
    assert {lost.place for lost in desk.lost} == {Place(0, 0)}
    await client.close()
    await desk.close()


async def test_an_internal_error_ends_the_life_of_the_agent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    fenced = asyncio.create_task(site.plane.driver.fenced())

    async def failing(*_: Any) -> None:
        raise ZeroDivisionError("one over none")

    monkeypatch.setattr(site.plane.driver._kept._moving, "_hand_over", failing)
    await site.move(FLOWS[0], to=STREAMS[1])
    with pytest.raises(
        Died, match="a hand-over between kept streams died: ZeroDivisionError: one over none"
    ):
        await asyncio.wait_for(fenced, 20)


async def test_many_flows_move_at_once_and_their_places_are_answered(site: Site) -> None:
    many = tuple(f"many.{number}" for number in range(450))
    await site.map({**site.places, **dict.fromkeys(many, STREAMS[0])}, *many)
    await site.settle()
    await site.map({**site.places, **dict.fromkeys(many, STREAMS[3])}, *many)
    await site.settle()
    spy = await nats.connect(
        site.broker.url,
        name="spy",
        user=SUBSCRIBER_USER,
        password=site.broker.secrets.client_key,
        inbox_prefix=subjects.INBOX,
    )
    question = json.dumps([*many, FLOWS[0], PASSING, "nothing"]).encode()
    answer = json.loads((await spy.request(subjects.PLACE, question, timeout=5)).data)
    place = [STREAMS[3].group, STREAMS[3].stream]
    assert answer == {**{flow: [place] for flow in many}, FLOWS[0]: [[0, 0]], PASSING: [[0, 0]]}
    for junk in (b"", b"{", b"[1]", b"[" * 100_000, b"{}", b"\xff"):
        await spy.publish(subjects.COURSE, junk, reply=f"{subjects.INBOX}.x")
        await spy.publish(subjects.COURSE, junk, reply="weir.in.x")
    courses = courses_from_bytes((await spy.request(subjects.COURSE, question, timeout=5)).data)
    assert set(courses.flows) == {*many, FLOWS[0], PASSING, "nothing"}
    assert [len(courses.flows[flow]) for flow in (many[0], FLOWS[0], PASSING)] == [2, 1, 0]
    await spy.close()


async def test_there_is_one_reader_of_a_name(site: Site) -> None:
    one = await Desk(site.broker, "desk", FLOWS[0]).open()
    other = await Desk(site.broker, "desk", FLOWS[0]).open()
    with pytest.raises(Superseded):
        await asyncio.wait_for(one._task, 20)
    js = (client := await log_in(site.broker, "p")).jetstream(timeout=5)
    await js.publish(f"weir.in.{subjects.token(FLOWS[0])}", b"0")
    await received(other, FLOWS[0], 1)
    await client.close()
    await one.close()
    await other.close()
