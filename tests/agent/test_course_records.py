"""Records of where reliable flows are: written by several agents, lost, deleted, unreadable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent.drivers.base import Retryable
from agent.drivers.nats import course_records, jetstream, names
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.server_config import AGENT_USER, BrokerSecrets
from tests.agent.brokers import Broker
from tests.agent.kept_site import (
    FLOWS,
    PASSING,
    STREAMS,
    Desk,
    Sender,
    Site,
    connection_of,
    contents,
    problems,
    received,
    record_of,
)
from tests.agent.planes import until
from tests.agent.publishing import log_in
from weir.coordination.wire import HandOverPhase
from weir_client.frames import Place
from weir_client.keeping import Kind

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


async def test_an_older_agent_that_stood_still_does_not_rewrite_what_a_newer_one_wrote(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = FLOWS[0]
    write, reached, go_on = course_records.write, asyncio.Event(), asyncio.Event()

    async def standing(connection: Connection, changes: Any) -> None:
        if not reached.is_set() and any(state.going is None for state in changes.values()):
            reached.set()
            await go_on.wait()
        await write(connection, changes)

    monkeypatch.setattr(course_records, "write", standing)
    await site.move(flow, to=STREAMS[1])
    await reached.wait()
    newer = await Site(site.broker).open()
    await newer.map({**site.places, flow: STREAMS[3]})
    await newer.settle()
    state = (await record_of(newer, flow)).state
    assert state.place == Place(1, 11)
    # It finds what the other one wrote, and obeys its own document from there.
    go_on.set()
    await site.settle()
    after = (await record_of(newer, flow)).state
    assert after.course[: len(state.course) - 1] == state.course[:-1]
    assert after.course[len(state.course) - 1].first == state.course[-1].first
    assert after.place == Place(0, 1)
    assert after.moves == state.moves + 1
    await newer.close()


@pytest.mark.parametrize("number", [1, 2])
async def test_a_record_whose_answer_is_lost_is_known_again(
    site: Site, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    append_all = jetstream.append_all
    calls = 0

    async def losing(*args: Any) -> list[int]:
        nonlocal calls
        calls += 1
        answer = await append_all(*args)
        if calls == number:
            raise Retryable("no answer in time")
        return answer

    desk = await Desk(site.broker, "desk", FLOWS[0]).open()
    sender = Sender(await log_in(site.broker, "p"))
    before = (await record_of(site, FLOWS[0])).state
    monkeypatch.setattr(jetstream, "append_all", losing)
    await site.move(FLOWS[0], to=STREAMS[1])
    await site.settle()
    await sender.send(0, FLOWS[0])
    await received(desk, FLOWS[0], 1)
    state = (await record_of(site, FLOWS[0])).state
    assert calls == 2
    assert [stay.place for stay in state.course] == [Place(0, 0), Place(0, 1)]
    assert state.moves == before.moves + 1
    assert await contents(site, STREAMS[0], FLOWS[0]) == [Kind.FIRST, Kind.LAST]
    assert await contents(site, STREAMS[1], FLOWS[0]) == [Kind.FIRST, b"0"]
    await sender.close()
    await desk.close()


UNREADABLE = [
    b"",
    b"{",
    b"[]",
    b"7",
    b"\xff\xfe",
    b"[" * 100_000,
    b"{}",
    b'{"stays": 7, "moves": 1, "going": null, "keep_s": 1}',
    b'{"stays": [[1, 0, 0]], "moves": 1, "going": null, "keep_s": 1}',
    b'{"stays": [[1, 0, 0, 1, "x"]], "moves": 1, "going": null, "keep_s": 1}',
    b'{"stays": [[2, 0, 0, 1, 5], [1, 0, 1, 1, null]], "moves": 9, "going": null, "keep_s": 1}',
    b'{"stays": [[1, 0, 0, 1, null], [2, 0, 1, 1, 3]], "moves": 9, "going": null, "keep_s": 1}',
    b'{"stays": [[5, 0, 0, 1, null]], "moves": 4, "going": null, "keep_s": 1}',
    b'{"stays": [], "moves": 1, "going": {"to": 3, "move": 1}, "keep_s": 1}',
    b'{"stays": [], "moves": 1, "going": {"move": 1}, "keep_s": 1}',
    b'{"stays": [], "moves": 1, "going": null, "keep_s": "long"}',
]


async def test_a_record_that_cannot_be_read_holds_up_its_flow_alone(site: Site) -> None:
    flow, other = FLOWS[0], FLOWS[1]
    subject = names.course_subject(flow)
    await site.move(flow, to=STREAMS[1])
    await site.settle()
    sender = Sender(await log_in(site.broker, "p"))
    await site.kill()
    await sender.send(0, flow, other)
    raw = await Connection.open(
        site.broker.url.replace("//", f"//{AGENT_USER}:{site.broker.secrets.agent_password}@"),
        name="somebody",
    )
    for payload in UNREADABLE:
        await jetstream.append(raw, subject, payload)
        await site.open()
        await site.map({**site.places, other: STREAMS[2 + len(payload) % 2]})
        while not (late := [text for text in await problems(site) if "cannot be read" in text]):
            await asyncio.sleep(0.02)
        assert len(late) == 1
        for word in (f"flow {flow} ", names.COURSES_STREAM, subject, "purge"):
            assert word in late[0]
        # Others are handed over, and theirs are the messages that go on.
        await until(
            lambda: (
                site.hand_overs().get(other) is None
                or site.hand_overs()[other].phase is HandOverPhase.DONE
            ),
            f"{payload[:80]!r}",
        )
        if payload is not UNREADABLE[-1]:
            await site.kill()
    while b"0" not in [each for at in STREAMS for each in await contents(site, at, other)]:
        await asyncio.sleep(0.02)
    assert [b"0" in await contents(site, at, flow) for at in STREAMS[:2]] == [False, False]
    # As the text says.
    await jetstream.call(raw, f"STREAM.PURGE.{names.COURSES_STREAM}", {"filter": subject})
    while (await contents(site, STREAMS[1], flow))[-2:] != [Kind.FIRST, b"0"]:
        await asyncio.sleep(0.02)
    await site.settle()
    assert not await problems(site)
    raw.close()
    await sender.close()


async def test_records_are_written_all_or_none_and_read_in_pieces(site: Site) -> None:
    connection = await connection_of(site)
    many = {
        course_records.Recorded(f"flow {number}"): course_records.FlowState(moves=number)
        for number in range(2 * jetstream.PAGE + 3)
    }
    await course_records.write(connection, dict(list(many.items())[:1]))
    for start in range(1, len(many), 200):
        await course_records.write(connection, dict(list(many.items())[start : start + 200]))
    every = await course_records.read_all(connection)
    assert every.keys() == {each.flow for each in many} | set(FLOWS)
    for each, state in many.items():
        assert (every[each.flow].state, every[each.flow].revision) == (state, each.revision)
    # One of the group was written by somebody else meanwhile: nothing of the group is stored.
    group = list(many)[:5]
    await course_records.write(connection, {every[group[2].flow]: many[group[2]]})
    with pytest.raises(course_records.RecordsInDoubt):
        await course_records.write(
            connection, {each: course_records.FlowState(moves=9_999) for each in group}
        )
    after = await course_records.read_all(connection)
    assert [after[each.flow].state for each in group] == [many[each] for each in group]
    assert json.loads(course_records.state_to_bytes(many[group[0]]))["moves"] == 0


async def test_a_reader_goes_on_where_a_flow_comes_anew_to_the_stream_that_it_is_on(
    site: Site,
) -> None:
    flow = FLOWS[0]
    desk = await Desk(site.broker, "desk", flow).open()
    sender = Sender(await log_in(site.broker, "p"))
    await sender.send(0, flow)
    await received(desk, flow, 1)
    await jetstream.call(
        await connection_of(site),
        f"STREAM.PURGE.{names.COURSES_STREAM}",
        {"filter": names.course_subject(flow)},
    )
    await site.kill()
    await site.open()
    await site.map(site.places)
    await site.settle()
    await sender.send(1, flow)
    await received(desk, flow, 2)
    assert [lost.flows for lost in desk.lost] == [(flow,)]
    await sender.close()
    await desk.close()
