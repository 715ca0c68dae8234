"""The model broker does what real ones do: the drivers' contract, on the simulated network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from random import Random
from typing import Any, cast

import pytest
import pytest_asyncio

from agent.drivers.base import Driver
from tests.agent.drivers import test_contract, test_contract_guarded
from tests.agent.drivers.test_contract_guarded import INGRESS
from tests.lives.broker import HEADERS, MAX_PAYLOAD, ModelBroker
from tests.lives.driver import ModelDriver
from tests.lives.network import Network
from weir.coordination.wire import Delivery

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

_OF_THE_PRODUCTS = {
    # Which drivers there are; the model is none of a product.
    "test_every_product_has_a_driver_and_is_tested_here",
    "test_says_its_product",
    # Its sizes are those of real brokers; below with the model's.
    "test_refuses_to_publishers_what_is_too_large_for_the_way",
}
for _contract in (test_contract, test_contract_guarded):
    for _name in dir(_contract):
        if _name.startswith("test_") and _name not in _OF_THE_PRODUCTS:
            globals()[_name] = getattr(_contract, _name)


class System:
    """Brokers a and b, and any number of drivers."""

    product = "model"
    nobody = "model://nobody"

    def __init__(self) -> None:
        loop = cast("Any", asyncio.get_running_loop())
        self._network = Network(loop, Random(1), hop_s=0.005)
        self._brokers = {name: ModelBroker(name) for name in "ab"}
        self._open: list[Driver] = []
        self._hosts = 0

    def address(self, name: str) -> str:
        return f"model://{name}"

    async def driver(self, name: str = "a") -> Driver:
        self._hosts += 1
        driver = ModelDriver(
            network=self._network,
            brokers=self._brokers,
            broker=name,
            host=f"{name}{self._hosts}",
        )
        self._open.append(driver)
        await driver.open()
        return driver

    async def publish(
        self, name: str, flow: str, delivery: Delivery | Sequence[bytes], count: int = 0
    ) -> None:
        for number in range(1, count + 1):
            assert isinstance(delivery, Delivery)
            assert self._brokers[name].publish(flow, delivery, b"%d" % number)

    def stop(self, name: str) -> None:
        self._brokers[name].stop()

    async def end(self) -> None:
        for driver in self._open:
            await driver.close()


class Guarded(System):
    """Broker a alone."""

    async def publish(self, flow: str, payloads: Sequence[bytes]) -> int:  # type: ignore[override]
        taken = [self._brokers["a"].publish(flow, Delivery.RELIABLE, p) for p in payloads]
        return sum(not number for number in taken)

    async def ask(self, name: str, consumer: str) -> bool:
        return self._brokers["a"].ask(name, consumer, asyncio.get_running_loop().time())


@pytest_asyncio.fixture
async def system() -> AsyncIterator[System]:
    system = System()
    yield system
    await system.end()


@pytest_asyncio.fixture
async def guarded() -> AsyncIterator[Guarded]:
    guarded = Guarded()
    yield guarded
    await guarded.end()


async def test_refuses_to_publishers_what_is_too_large_here(guarded: Guarded) -> None:
    driver = await guarded.driver()
    await driver.fence(1)
    room = MAX_PAYLOAD - HEADERS
    await driver.ensure_channel(INGRESS)
    assert await guarded.publish("f", [b"x" * room, b"x" * (room + 1), b"y"]) == 1
    await driver.ensure_channel(INGRESS, max_message_bytes=MAX_PAYLOAD - 100)
    assert await guarded.publish("f", [b"x" * room]) == 1
