"""A publisher that goes where it is sent, as docs/agent.md asks of every client."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Any

import nats
import nats.errors

from agent.drivers.nats.server_config import PUBLISHER_USER
from tests.agent.brokers import Broker
from tests.nats_clients import processed

WAIT_S = 60.0


async def log_in(broker: Broker, name: str, **more: Any) -> Any:
    """A publisher's connection. Raises nats.errors.Error, OSError, TimeoutError."""
    options = {"allow_reconnect": False, **more}
    return await asyncio.wait_for(
        nats.connect(
            broker.url,
            user=PUBLISHER_USER,
            password=broker.secrets.client_key,
            name=name,
            **options,
        ),
        WAIT_S,
    )


async def where(client: Any, flow: str, name: bytes) -> dict[str, str]:
    """What a broker answers. Raises nats.errors.Error when its agent is away."""
    answer = await client.request(f"weir.where.{flow}", name, timeout=1.0)
    return dict(json.loads(answer.data))


class Publisher:
    """Sends numbers in order, each reliable one until it is acknowledged."""

    def __init__(self, brokers: Mapping[str, Broker], name: str, at: str) -> None:
        self.name = name
        self.at = at
        self.moved = asyncio.Event()
        self.answers: list[str] = []
        self.closed_by_broker = 0
        self._brokers = brokers
        self._client: Any = None

    async def send(self, flow: str, number: int, *, reliable: bool) -> None:
        """Returns once it is acknowledged, or written where this publisher belongs."""
        while True:
            client = await self._placed(flow)
            try:
                if not reliable:
                    await client.publish(f"weir.in.{flow}", b"%d" % number)
                    await processed(client)
                    return
                await client.jetstream(timeout=1.0).publish(
                    f"weir.in.{flow}",
                    b"%d" % number,
                    headers={"Nats-Msg-Id": f"{self.name} {number}"},
                )
                return
            except (nats.errors.Error, OSError, TimeoutError):
                await self.leave()

    async def leave(self) -> None:
        """Disconnect, once the broker has taken everything."""
        client, self._client = self._client, None
        if client is not None:
            self.closed_by_broker += client.is_closed
            with contextlib.suppress(nats.errors.Error, OSError, TimeoutError):
                await client.close()

    async def _placed(self, flow: str) -> Any:
        while True:
            if self._client is None:
                try:
                    await self._connect()
                except (nats.errors.Error, OSError, TimeoutError):
                    await asyncio.sleep(0.1)
                    continue
            elif not self.moved.is_set() and self._client.is_connected:
                return self._client
            self.moved.clear()
            try:
                answer = await where(self._client, flow, self.name.encode())
            except (nats.errors.Error, OSError, TimeoutError):
                await self.leave()
                await asyncio.sleep(0.1)
                continue
            self.answers.append(answer["state"])
            if answer["state"] == "here":
                return self._client
            if answer["state"] == "elsewhere":
                self.at = answer["broker"]
                assert answer["address"] in ("", self._brokers[self.at].url)
            else:
                await asyncio.sleep(0.3)
            # Rights are of the login.
            await self.leave()

    async def _connect(self) -> None:
        async def moved(_: Any) -> None:
            self.moved.set()

        self._client = await log_in(self._brokers[self.at], self.name)
        await self._client.subscribe("weir.moved.*", cb=moved)
        await processed(self._client)
