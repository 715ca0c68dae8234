"""What every driver does for one agent and no older one, and whom it admits to the broker."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from agent.drivers.base import Channel, DriverError, Fenced, Place, Source
from tests.agent.drivers.contract import LIMIT_S, PRODUCTS, numbers, payloads, read_batches
from tests.agent.drivers.products import Guarded
from weir.coordination.wire import ClassSpec, Delivery

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

INGRESS = Channel(place=Place.INGRESS, delivery=Delivery.RELIABLE, flow="f")
DELIVERY = Channel(place=Place.DELIVERY, delivery=Delivery.RELIABLE, flow="f")
AT_INGRESS = Source(delivery=Delivery.RELIABLE, flow="f")


@pytest_asyncio.fixture(params=PRODUCTS)
async def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Guarded]:
    guarded = PRODUCTS[request.param].Guarded(tmp_path)
    yield guarded
    await guarded.end()


async def _in_vain(call: Callable[[], Awaitable[object]]) -> None:
    """What a fenced driver is asked fails or waits; it must only have no effect."""
    with contextlib.suppress(DriverError, TimeoutError):
        async with asyncio.timeout(0.5):
            await call()


async def test_an_older_incarnation_is_told_that_a_newer_one_acts(guarded):
    async with asyncio.timeout(LIMIT_S):
        newer = await guarded.driver()
        await newer.fence(5)
        older = await guarded.driver()
        with pytest.raises(Fenced) as told:
            await older.fence(4)
        assert told.value.incarnation == 5
        # The broker remembers it when the newer one is gone.
        await newer.close()
        with pytest.raises(Fenced):
            await older.fence(4)
        await older.fence(6)


async def test_a_broker_remembers_how_far_the_state_directory_has_come(guarded):
    async with asyncio.timeout(LIMIT_S):
        driver = await guarded.driver()
        await driver.fence(1)
        assert await driver.noted_state() == 0
        await driver.note_state(7)
        await driver.note_state(5)
        await driver.fence(2)
        assert await driver.noted_state() == 7
        await driver.close()
        after = await guarded.driver()
        await after.fence(3)
        assert await after.noted_state() == 7
        await after.note_state(8)
        assert await after.noted_state() == 8


async def test_a_driver_goes_on_under_its_own_next_incarnation(guarded):
    async with asyncio.timeout(LIMIT_S):
        driver = await guarded.driver()
        await driver.fence(1)
        await driver.fence(2)
        await driver.ensure_channel(INGRESS)
        await guarded.publish("f", numbers(1, 3))
        assert payloads(await read_batches(driver, AT_INGRESS, 3)) == numbers(1, 3)


@pytest.mark.parametrize("incarnation", [1, 2], ids=["a copy of it", "a newer one"])
async def test_nothing_that_a_fenced_driver_does_takes_effect(guarded, incarnation):
    async with asyncio.timeout(LIMIT_S):
        before = await guarded.driver()
        await before.fence(1)
        for channel in (INGRESS, DELIVERY):
            await before.ensure_channel(channel)
        await guarded.publish("f", numbers(1, 5))
        (held, *_) = await read_batches(before, AT_INGRESS, 5)

        after = await guarded.driver()
        await after.fence(incarnation)
        with pytest.raises(Fenced):
            await before.fenced()
        await _in_vain(lambda: before.settle(held))
        await _in_vain(lambda: before.publish(DELIVERY, held.messages))
        await _in_vain(lambda: before.drop_link("b"))

        again = await read_batches(after, AT_INGRESS, 5)
        assert payloads(again) == numbers(1, 5)
        # Nothing of the older one is in the way of the newer one's first message.
        async with asyncio.timeout(5):
            await after.publish(DELIVERY, again[0].messages)


async def test_what_was_read_before_the_fence_cannot_be_settled_after_it(guarded):
    async with asyncio.timeout(LIMIT_S):
        before = await guarded.driver()
        await before.fence(1)
        await before.ensure_channel(INGRESS)
        await guarded.publish("f", numbers(1, 5))
        batches = await read_batches(before, AT_INGRESS, 5)
        after = await guarded.driver()
        await after.fence(2)
        for batch in batches:
            await _in_vain(lambda batch=batch: before.settle(batch))
        await asyncio.sleep(0.5)  # settling may be put off, never past a fence
        assert payloads(await read_batches(after, AT_INGRESS, 5)) == numbers(1, 5)


async def test_admits_up_to_the_limit(guarded):
    async with asyncio.timeout(LIMIT_S):
        driver = await guarded.driver()
        await driver.fence(1)
        assert not await guarded.ask("gold", "early")
        await driver.admit({"gold": ClassSpec(flow="f", limit=2)}, unmanaged="refuse")
        answers = [await guarded.ask("gold", f"c{number}") for number in range(3)]
        assert answers == [True, True, False]
        state = (await driver.stats()).classes["gold"]
        assert (state.limit, state.admitted) == (2, 2)


async def test_a_lower_limit_releases_until_nobody_is_above_it(guarded):
    async with asyncio.timeout(LIMIT_S):
        driver = await guarded.driver()
        await driver.fence(1)
        await driver.admit({"gold": ClassSpec(flow="f", limit=3)}, unmanaged="refuse")
        for number in range(3):
            assert await guarded.ask("gold", f"c{number}")
        await driver.admit({"gold": ClassSpec(flow="f", limit=1)}, unmanaged="refuse")
        assert (await driver.stats()).classes["gold"].admitted == 1


async def test_a_fenced_driver_admits_nobody(guarded):
    async with asyncio.timeout(LIMIT_S):
        before = await guarded.driver()
        await before.fence(1)
        await before.admit({"gold": ClassSpec(flow="f", limit=9)}, unmanaged="refuse")
        after = await guarded.driver()
        await after.fence(2)
        await after.admit({"gold": ClassSpec(flow="f", limit=1)}, unmanaged="refuse")
        await _in_vain(
            lambda: before.admit({"gold": ClassSpec(flow="f", limit=9)}, unmanaged="refuse")
        )
        answers = [await guarded.ask("gold", f"c{number}") for number in range(4)]
        assert answers == [True, False, False, False]


async def test_refuses_to_publishers_what_is_too_large_for_the_way(guarded):
    async with asyncio.timeout(LIMIT_S):
        driver = await guarded.driver()
        await driver.fence(1)
        await driver.ensure_channel(INGRESS, max_message_bytes=10_000)
        assert await guarded.publish("f", [b"x" * 9_000, b"x" * 10_001, b"y"]) == 1
        taken = payloads(await read_batches(driver, AT_INGRESS, 2))
        assert [len(payload) for payload in taken] == [9_000, 1]
        # The way may change.
        await driver.ensure_channel(INGRESS, max_message_bytes=5_000)
        assert await guarded.publish("f", [b"x" * 9_000]) == 1


async def test_a_closed_ingress_refuses_publishers_and_keeps_what_waits(guarded):
    async with asyncio.timeout(LIMIT_S):
        driver = await guarded.driver()
        await driver.fence(1)
        await driver.ensure_channel(INGRESS)
        assert await guarded.publish("f", [b"1"]) == 0
        await driver.close_ingress(("f", "g"))
        assert await guarded.publish("f", [b"2"]) == 0
        for _ in range(2):
            await driver.close_ingress(("g",))
            assert await guarded.publish("f", [b"refused"]) == 1
        await driver.ensure_channel(INGRESS)
        assert await guarded.publish("f", [b"3"]) == 0
        assert payloads(await read_batches(driver, AT_INGRESS, 3)) == [b"1", b"2", b"3"]
