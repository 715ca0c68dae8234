"""All agents of a fleet in one process, as `python -m agent run` is each, with an eye on queues.

    python -m benchmarks.transformation_fleet.agents --control-plane URL --fleet FOLDER

The folder is that of `benchmarks.fleet.fleet`. Every 10 ms a line of `queues.csv` says how many
best-effort messages wait at each broker's agent: seconds since the epoch, then one number each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import uvloop

from agent.client import ControlPlane, transport
from agent.drivers.base import Batch, Source
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.link_access import LinkKey
from agent.drivers.nats.server_config import BrokerSecrets
from agent.runtime import Runtime
from agent.store import Store

LOOK_S = 0.01
REPORT_S = 1.0
START_S = 0.05
"""Between the first words of two agents."""


class WatchedDriver(NatsDriver):
    """Counts what has arrived and has not been handed on: in its queues and in a pump's hands."""

    def __init__(self, *, url: str, broker: str, secrets: BrokerSecrets) -> None:
        super().__init__(url=url, broker=broker, secrets=secrets)
        self._in_hand: dict[Source, int] = {}

    @property
    def waiting(self) -> int:
        """Messages."""
        links = sum(link.core.waiting for link in self._links.values())
        ingress = sum(reader.waiting for reader in self._ingress.values())
        return links + ingress + sum(self._in_hand.values())

    async def read(self, source: Source) -> AsyncIterator[Batch]:
        """As the driver's, noting the batch that is not done with."""
        async with aclosing(super().read(source)) as batches:  # type: ignore[type-var]
            async for batch in batches:
                self._in_hand[source] = sum(not message.mark for message in batch.messages)
                try:
                    yield batch
                finally:
                    self._in_hand.pop(source, None)


async def watch(drivers: dict[str, WatchedDriver], path: Path) -> None:
    """Write a line of queues for ever."""
    with path.open("w", buffering=1) as file:
        file.write(",".join(("at", *drivers)) + "\n")
        while True:
            counts = ",".join(str(driver.waiting) for driver in drivers.values())
            file.write(f"{time.time():.4f},{counts}\n")
            await asyncio.sleep(LOOK_S)


async def live(control_plane: str, folder: Path) -> None:
    """Until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    brokers: dict[str, str] = json.loads((folder / "brokers.json").read_text())
    drivers: dict[str, WatchedDriver] = {}
    stores = {name: Store(folder / f"agent-{name}" / "state") for name in brokers}
    async with AsyncExitStack() as connections, asyncio.TaskGroup() as group:
        for name, url in brokers.items():
            # Each its own, as where each is a process: a pool looks through all of its connections.
            http = await connections.enter_async_context(transport())
            home = folder / f"agent-{name}"
            secrets = BrokerSecrets.load(home / "secrets.json")
            drivers[name] = WatchedDriver(url=url, broker=name, secrets=secrets)
            control = ControlPlane(control_plane, (home / "credential").read_text(), http)
            agent = Runtime(
                control=control,
                store=stores[name],
                driver=drivers.__getitem__,
                product="nats",
                address=url,
                key=LinkKey(secrets.link_seed).public,
                report_every_s=REPORT_S,
            )
            group.create_task(agent.run(stop), name=f"agent {name}")
            await asyncio.sleep(START_S)
        watching = group.create_task(watch(drivers, folder / "queues.csv"))
        await stop.wait()
        watching.cancel()
    for store in stores.values():
        store.close()


def main() -> None:
    """Run until asked to end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--control-plane", required=True)
    parser.add_argument("--fleet", type=Path, required=True)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    uvloop.run(live(options.control_plane, options.fleet))


if __name__ == "__main__":
    main()
