"""What every driver does, whatever product it speaks to: run over all of them."""

from __future__ import annotations

import asyncio
import contextlib
import pkgutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

import agent.drivers
from agent.drivers.base import (
    Channel,
    Driver,
    Message,
    NotGone,
    Place,
    Retryable,
    Source,
    Unsupported,
)
from tests.agent.drivers.contract import LIMIT_S, PRODUCTS, numbers, payloads, read_batches
from tests.agent.drivers.products import System
from weir.coordination.wire import Delivery

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

BOTH = list(Delivery)


@pytest_asyncio.fixture(params=PRODUCTS)
async def system(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[System]:
    system = PRODUCTS[request.param].System(tmp_path)
    yield system
    await system.end()


async def _linked(system: System) -> tuple[Driver, Driver]:
    a, b = await system.driver("a"), await system.driver("b")
    # Each end makes its outbox and waits for the other's.
    first = asyncio.create_task(_insist(lambda: a.ensure_link("b", system.address("b"))))
    await _insist(lambda: b.ensure_link("a", system.address("a")))
    await first
    return a, b


async def _insist(call: Callable[[], object]) -> None:
    while True:
        try:
            await call()
        except Retryable:
            await asyncio.sleep(0.05)
        else:
            return


def _messages(first: int, last: int, flow: str = "f") -> list[Message]:
    headers = b"Weir-Position: %d\r\n"
    return [
        Message(flow, b"%d" % n, "a-1", n, headers % n if flow else b"")
        for n in range(first, last + 1)
    ]


def _plain(delivery: Delivery, messages: list[Message]) -> list[Message]:
    if delivery is Delivery.RELIABLE:
        return messages
    return [Message(m.flow, m.payload) for m in messages]


async def test_every_product_has_a_driver_and_is_tested_here(tmp_path):
    drivers = {module.name for module in pkgutil.iter_modules(agent.drivers.__path__)} - {"base"}
    assert drivers == set(PRODUCTS)


async def test_says_its_product(system):
    driver = await system.driver("a")
    assert PRODUCTS[driver.capabilities.product].System is type(system)


async def test_is_a_driver_and_says_what_it_can(system):
    driver = await system.driver("a")
    assert isinstance(driver, Driver)
    assert set(driver.capabilities.deliveries) == set(BOTH)


@pytest.mark.parametrize("delivery", BOTH)
async def test_what_is_published_to_an_outbox_is_read_at_its_other_end_in_order(system, delivery):
    async with asyncio.timeout(LIMIT_S):
        a, b = await _linked(system)
        outbox = Channel(place=Place.OUTBOX, delivery=delivery, neighbour="b")
        source = Source(delivery=delivery, neighbour="a")
        reading = asyncio.create_task(read_batches(b, source, 30))
        await asyncio.sleep(0)
        await a.publish(outbox, _plain(delivery, _messages(1, 20)))
        await a.publish(outbox, _plain(delivery, _messages(21, 30)))
        batches = await reading
        assert payloads(batches) == numbers(1, 30)
        assert all(message.flow == "f" for batch in batches for message in batch.messages)


@pytest.mark.parametrize("delivery", BOTH)
async def test_a_mark_keeps_its_place_among_messages_of_all_flows(system, delivery):
    async with asyncio.timeout(LIMIT_S):
        a, b = await _linked(system)
        outbox = Channel(place=Place.OUTBOX, delivery=delivery, neighbour="b")
        reading = asyncio.create_task(read_batches(b, Source(delivery=delivery, neighbour="a"), 31))
        await asyncio.sleep(0)
        await a.publish(outbox, _plain(delivery, _messages(1, 10)))
        await a.publish(outbox, _plain(delivery, _messages(1, 10, "g")))
        await a.publish(outbox, [Message("", b"mark", mark=True)])
        await a.publish(outbox, _plain(delivery, _messages(11, 20)))
        batches = await reading
        place = next(i for i, batch in enumerate(batches) if batch.messages[0].mark)
        assert batches[place].messages[0].payload == b"mark"
        assert len(batches[place].messages) == 1
        before = payloads(batches[:place])
        assert sorted(before) == sorted(numbers(1, 10) * 2)
        assert payloads(batches[place + 1 :]) == numbers(11, 20)


async def test_reliable_messages_stay_until_settled_and_are_appended_once(system):
    async with asyncio.timeout(LIMIT_S):
        a, b = await _linked(system)
        outbox = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="b")
        source = Source(delivery=Delivery.RELIABLE, neighbour="a")
        await a.publish(outbox, _messages(1, 20))
        await a.publish(outbox, _messages(11, 25))
        batches = await read_batches(b, source, 25)
        assert payloads(batches) == numbers(1, 25)
        # Nobody settled, so whoever comes next gets all of it again.
        again = await read_batches(b, source, 25)
        assert payloads(again) == numbers(1, 25)
        for batch in again:
            await b.settle(batch)
        await a.publish(outbox, _messages(26, 30))
        rest: list[bytes] = []
        for _ in range(100):
            rest = payloads(await read_batches(b, source, 5))
            if rest[0] == b"26":
                break
            await asyncio.sleep(0.05)
        assert rest == numbers(26, 30)


@pytest.mark.parametrize("delivery", BOTH)
async def test_an_ingress_gives_reliable_messages_an_identity(system, delivery):
    async with asyncio.timeout(LIMIT_S):
        a = await system.driver("a")
        await a.ensure_channel(Channel(place=Place.INGRESS, delivery=delivery, flow="f"))
        source = Source(delivery=delivery, flow="f")
        reading = asyncio.create_task(read_batches(a, source, 20))
        await asyncio.sleep(0.2)
        await system.publish("a", "f", delivery, 20)
        messages = [message for batch in await reading for message in batch.messages]
        assert [m.payload for m in messages] == numbers(1, 20)
        if delivery is Delivery.RELIABLE:
            assert len({m.origin for m in messages}) == 1
            positions = [m.position for m in messages]
            assert positions == sorted(set(positions))
            assert positions[0] > 0


async def test_interest_is_kept_at_the_neighbours_broker(system):
    async with asyncio.timeout(LIMIT_S):
        a, b = await _linked(system)
        heard = b.interests()
        assert await anext(heard) == {}
        await a.interest("b", frozenset({"f", "g.h"}), "shift-1")
        said = (await anext(heard))["a"]
        assert (said.flows, said.epoch) == ({"f", "g.h"}, "shift-1")
        await a.interest("b", frozenset(), "shift-2")
        assert (await anext(heard))["a"].flows == frozenset()
        # Somebody who comes later hears the last word, and it alone.
        late = (await anext((await system.driver("b")).interests()))["a"]
        assert (late.flows, late.epoch) == (frozenset(), "shift-2")


async def test_a_dropped_link_cannot_be_used_and_comes_back_empty(system):
    async with asyncio.timeout(LIMIT_S):
        a, b = await _linked(system)
        outbox = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="b")
        await a.publish(outbox, _messages(1, 5))
        await a.drop_link("b")
        await b.drop_link("a")
        with pytest.raises(Retryable):
            await a.interest("b", frozenset(), "")
        a, b = await _linked(system)
        await a.publish(outbox, _messages(6, 8))
        batches = await read_batches(b, Source(delivery=Delivery.RELIABLE, neighbour="a"), 3)
        assert payloads(batches) == numbers(6, 8)


async def test_a_closed_link_cannot_be_used_and_keeps_what_waits(system):
    async with asyncio.timeout(LIMIT_S):
        a, b = await _linked(system)
        outbox = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="b")
        await a.publish(outbox, _messages(1, 5))
        for _ in range(2):
            await a.close_link("b")
            await b.close_link("a")
        with pytest.raises(Retryable):
            await a.interest("b", frozenset(), "")
        await a.publish(outbox, _messages(6, 8))
        await asyncio.gather(
            a.ensure_link("b", system.address("b")), b.ensure_link("a", system.address("a"))
        )
        batches = await read_batches(b, Source(delivery=Delivery.RELIABLE, neighbour="a"), 8)
        assert payloads(batches) == numbers(1, 8)


async def test_what_waits_for_one_neighbour_is_carried_over_to_another(system):
    """For one that is gone: in order, each message once, marks and what was settled left out."""
    async with asyncio.timeout(LIMIT_S):
        a, b = await _linked(system)
        gone = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="gone")
        outbox = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="b")
        await a.ensure_channel(gone)
        await a.publish(gone, _messages(1, 700))
        await a.publish(gone, [Message("", b"{}", mark=True)])
        await a.publish(gone, _messages(1, 9, flow="g"))
        await a.publish(gone, _messages(701, 1200))
        await a.lift_bound("gone")
        assert await a.carry_over("gone", "b") == 1209
        assert await a.carry_over("gone", "b") == 1209
        await a.publish(outbox, _messages(1201, 1203))
        batches = await read_batches(b, Source(delivery=Delivery.RELIABLE, neighbour="a"), 1212)
        for flow, count in (("f", 1203), ("g", 9)):
            got = [m for batch in batches for m in batch.messages if m.flow == flow]
            assert [m.payload for m in got] == numbers(1, count)
            assert [m.position for m in got] == list(range(1, count + 1))


async def test_what_waits_for_somebody_who_reads_is_not_carried_over(system):
    async with asyncio.timeout(LIMIT_S):
        a, b = await _linked(system)
        outbox = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="b")
        other = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="c")
        await a.ensure_channel(other)
        await a.publish(outbox, _messages(1, 20))
        await a.lift_bound("b")
        batches = await read_batches(b, Source(delivery=Delivery.RELIABLE, neighbour="a"), 20)
        await b.settle(batches[-1])
        while (await a.stats()).outbox_backlog["b"]:
            await asyncio.sleep(0.05)
        with pytest.raises(NotGone, match="not gone"):
            await a.carry_over("b", "c")


async def test_knows_whether_a_neighbour_answers(system):
    async with asyncio.timeout(LIMIT_S):
        a, _ = await _linked(system)
        assert a.answers("b")
        assert not a.answers("nobody")
        system.stop("b")
        while a.answers("b"):
            await asyncio.sleep(0.02)


async def test_says_retryable_of_a_neighbour_that_is_not_there(system):
    async with asyncio.timeout(LIMIT_S):
        a = await system.driver("a")
        with pytest.raises(Retryable):
            await a.ensure_link("nobody", system.nobody)


async def test_only_publishers_write_to_an_ingress(system):
    async with asyncio.timeout(LIMIT_S):
        a = await system.driver("a")
        with pytest.raises(Unsupported):
            await a.publish(
                Channel(place=Place.INGRESS, delivery=Delivery.RELIABLE, flow="f"), _messages(1, 1)
            )


@pytest.mark.parametrize("delivery", BOTH)
async def test_a_mark_in_an_ingress_comes_behind_what_publishers_had_sent(system, delivery):
    async with asyncio.timeout(LIMIT_S):
        a = await system.driver("a")
        channel = Channel(place=Place.INGRESS, delivery=delivery, flow="f")
        await a.ensure_channel(channel)
        source = Source(delivery=delivery, flow="f")
        batches = a.read(source)
        first = asyncio.ensure_future(anext(batches))
        await asyncio.sleep(0.3)  # a best-effort source is read while it is subscribed
        await system.publish("a", "f", delivery, 3)
        await a.publish(channel, [Message("", b"mark", mark=True)])
        read = [await first]
        while not read[-1].messages[0].mark:
            read.append(await anext(batches))
        await system.publish("a", "f", delivery, 2)
        while sum(len(batch.messages) for batch in read) < 6:
            read.append(await anext(batches))
        assert payloads(read) == [*numbers(1, 3), b"mark", *numbers(1, 2)]
        (mark,) = (batch for batch in read if batch.messages[0].mark)
        assert len(mark.messages) == 1
        if delivery is Delivery.RELIABLE:
            await a.settle(mark)
            while (await a.stats()).ingress_backlog["f"] > 2:
                await asyncio.sleep(0.05)
            again = await read_batches(await system.driver("a"), source, 2)
            assert payloads(again) == numbers(1, 2), "the mark and all before it are settled"


async def test_a_flow_without_a_list_takes_every_publisher(system):
    async with asyncio.timeout(LIMIT_S):
        a = await system.driver("a")
        assert await a.assign({}) == frozenset()


async def test_tells_what_waits(system):
    async with asyncio.timeout(LIMIT_S):
        a, _ = await _linked(system)
        ingress = Channel(place=Place.INGRESS, delivery=Delivery.RELIABLE, flow="f")
        await a.ensure_channel(ingress)
        await system.publish("a", "f", Delivery.RELIABLE, 7)
        outbox = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="b")
        await a.publish(outbox, _messages(1, 5))
        stats = await a.stats()
        assert stats.ingress_backlog["f"] == 7
        assert stats.outbox_backlog["b"] == 5


async def test_a_question_is_answered_by_the_agent_of_the_broker(system: System) -> None:
    async with asyncio.timeout(LIMIT_S):
        a, b = await system.driver("a"), await system.driver("b")
        await asyncio.gather(
            a.ensure_link("b", system.address("b")), b.ensure_link("a", system.address("a"))
        )
        with pytest.raises(Retryable):
            await a.ask("b", b"nobody listens")

        askers: set[str] = set()

        async def answer() -> None:
            async for inquiry in b.inquiries():
                askers.add(inquiry.neighbour)
                await b.answer(inquiry, b"to " + inquiry.payload)

        answering = asyncio.create_task(answer())
        reply = b""
        while not reply:
            await asyncio.sleep(0.01)
            with contextlib.suppress(Retryable):
                reply = await a.ask("b", b"one")
            await asyncio.sleep(0)
        assert reply == b"to one"
        assert await asyncio.gather(*(a.ask("b", b"%d" % n) for n in range(20))) == [
            b"to %d" % n for n in range(20)
        ]
        assert askers == {"a"}
        with pytest.raises(Retryable):
            await a.ask("c", b"no link")
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)
