"""Real NATS servers for the contract test of drivers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import nats
from nats.js.errors import APIError, NoStreamResponseError

from agent.drivers.base import Driver, Retryable
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.server_config import BrokerSecrets
from tests.agent.brokers import Broker
from tests.agent.planes import client
from tests.nats_clients import processed
from tests.nats_server import NatsServer
from weir.coordination.wire import Delivery


class System:
    """See `tests.agent.drivers.products.System`."""

    nobody = "nats://127.0.0.1:9"

    def __init__(self, directory: Path) -> None:
        self._servers = {name: NatsServer(directory / name) for name in "ab"}
        for server in self._servers.values():
            server.start()
        self._open: list[Driver] = []

    def address(self, name: str) -> str:
        return self._servers[name].url

    async def driver(self, name: str) -> Driver:
        driver = NatsDriver(url=self.address(name), broker=name)
        self._open.append(driver)
        await driver.open()
        return driver

    async def publish(self, name: str, flow: str, delivery: Delivery, count: int) -> None:
        connection = await client(self._servers[name])
        for number in range(1, count + 1):
            payload = b"%d" % number
            if delivery is Delivery.RELIABLE:
                await connection.jetstream().publish(f"weir.in.{flow}", payload)
            else:
                await connection.publish(f"weir.in.{flow}", payload)
        await processed(connection)
        await connection.close()

    def stop(self, name: str) -> None:
        self._servers[name].stop()

    async def end(self) -> None:
        for driver in self._open:
            await driver.close()
        for server in self._servers.values():
            server.stop()


class Guarded:
    """See `tests.agent.drivers.products.Guarded`."""

    def __init__(self, directory: Path) -> None:
        self._broker = Broker("a", directory / "a", BrokerSecrets.generate())
        self._broker.start()
        self._open: list[Driver] = []
        self._clients: list[Connection] = []

    async def driver(self) -> Driver:
        driver = NatsDriver(
            url=self._broker.url, broker="a", secrets=self._broker.secrets, lease_s=0
        )
        await driver.open()
        self._open.append(driver)
        return driver

    async def publish(self, flow: str, payloads: Sequence[bytes]) -> int:
        password = self._broker.secrets.agent_password
        connection = await nats.connect(self._broker.url, user="agent", password=password)
        refused = 0
        for payload in payloads:
            try:
                await connection.jetstream().publish(f"weir.in.{flow}", payload)
            except (APIError, NoStreamResponseError):
                refused += 1
        await connection.close()
        return refused

    async def ask(self, name: str, consumer: str) -> bool:
        place = self._broker.url.removeprefix("nats://")
        url = f"nats://{name}:{self._broker.secrets.client_key}@{place}"
        try:
            self._clients.append(await Connection.open(url, name=consumer, timeout_s=10))
        except Retryable:
            return False
        return True

    async def end(self) -> None:
        for connection in self._clients:
            connection.close()
        for driver in self._open:
            await driver.close()
        self._broker.kill()
