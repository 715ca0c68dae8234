"""Virtual brokers for the contract test of drivers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from agent.drivers.base import Driver
from agent.drivers.simulated.broker import VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from weir.coordination.wire import Delivery


class _Network:
    """A network of virtual brokers and the drivers that were opened in it."""

    make = SimulatedDriver

    def __init__(self, directory: Path) -> None:
        self._network = VirtualNetwork()
        self._open: list[Driver] = []

    def address(self, name: str) -> str:
        return f"sim://{name}"

    async def _opened(self, name: str) -> Driver:
        driver = self.make(network=self._network, address=self.address(name), broker=name)
        await driver.open()
        self._open.append(driver)
        return driver

    async def end(self) -> None:
        for driver in self._open:
            await driver.close()


class System(_Network):
    """See `tests.agent.drivers.products.System`."""

    nobody = "sim://nobody"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        for name in "ab":
            self._network.at(self.address(name))

    async def driver(self, name: str) -> Driver:
        return await self._opened(name)

    async def publish(self, name: str, flow: str, delivery: Delivery, count: int) -> None:
        payloads = [b"%d" % number for number in range(1, count + 1)]
        self._network.at(self.address(name)).publish(flow, delivery, payloads)

    def stop(self, name: str) -> None:
        self._network.at(self.address(name)).away = True


class Guarded(_Network):
    """See `tests.agent.drivers.products.Guarded`."""

    async def driver(self) -> Driver:
        return await self._opened("a")

    async def publish(self, flow: str, payloads: Sequence[bytes]) -> int:
        return self._network.at(self.address("a")).publish(flow, Delivery.RELIABLE, payloads)

    async def ask(self, name: str, consumer: str) -> bool:
        now = asyncio.get_running_loop().time()
        return self._network.at(self.address("a")).ask(name, consumer, now) is not None
